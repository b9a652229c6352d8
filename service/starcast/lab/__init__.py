"""Every operation of starcast: the methods of `Lab`.

The command line, the HTTP API and notebooks are doors to them. Nothing is printed: results are
`Table` and `Facts`, which convert themselves to data frames, LaTeX and HTML, and show themselves in
notebooks.
"""

from starcast.lab.answers import Answer, ComparisonTable, RunTable
from starcast.lab.connecting import Lab, connect
from starcast.support.table import Facts, Table

__all__ = ["Answer", "ComparisonTable", "Facts", "Lab", "RunTable", "Table", "connect"]
