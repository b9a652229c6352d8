"""The graph store: the schema of Neo4j, the connection, writers, readers and audits."""

import sys
from importlib import import_module

# Where pandas and pyarrow are installed, the driver imports them for parameters of their types,
# which starcast does not have: half a second for each command.
_UNUSED = [name for name in ("pandas", "pyarrow") if name not in sys.modules]
sys.modules.update(dict.fromkeys(_UNUSED))  # type: ignore[arg-type]
try:
    import_module("neo4j")
finally:
    for _name in _UNUSED:
        del sys.modules[_name]
