"""The operations of starcast, as methods of `Lab`.

The command line and notebooks call these methods, and `starcast.web` calls the methods that read
stored data. The methods print nothing: results are objects such as `Table` and `Facts`, which can
be converted to data frames, LaTeX and HTML, and which notebooks display. The names of this package
are imported on first use, because each command needs the operations of only one module.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starcast.lab.connecting import Lab, connect
    from starcast.lab.results import Answer, ComparisonTable, RunTable
    from starcast.support.table import Facts, Table

__all__ = ["Answer", "ComparisonTable", "Facts", "Lab", "RunTable", "Table", "connect"]

_MODULES = {
    "Answer": "starcast.lab.results",
    "ComparisonTable": "starcast.lab.results",
    "Facts": "starcast.support.table",
    "Lab": "starcast.lab.connecting",
    "RunTable": "starcast.lab.results",
    "Table": "starcast.support.table",
    "connect": "starcast.lab.connecting",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'starcast.lab' has no attribute '{name}'")
    return getattr(import_module(_MODULES[name]), name)
