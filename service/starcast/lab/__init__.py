"""The service from Python: a `Lab` does what the command line does, with the same code.

Nothing is printed. Results are `Table` objects or plain values; they convert themselves to data
frames, LaTeX and HTML, and show themselves in notebooks.
"""

from starcast.lab.answers import Answer, ComparisonTable, RunTable
from starcast.lab.connecting import Lab, connect
from starcast.support.table import Table

__all__ = ["Answer", "ComparisonTable", "Lab", "RunTable", "Table", "connect"]
