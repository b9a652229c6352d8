"""The Neo4j driver, imported without pandas and pyarrow.

If they are installed, the driver imports them to accept parameters of their types. starcast passes
no such parameters, and the import would cost half a second in each command that uses the graph.
"""

import sys

_UNUSED = [name for name in ("pandas", "pyarrow") if name not in sys.modules]
# With None in sys.modules, `import pandas` raises ImportError, which the driver handles.
sys.modules.update(dict.fromkeys(_UNUSED))  # type: ignore[arg-type]
try:
    import neo4j.exceptions
    import neo4j.graph
finally:
    # Other code of the process may import them later.
    for _name in _UNUSED:
        del sys.modules[_name]

__all__ = ["neo4j"]
