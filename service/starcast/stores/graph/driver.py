"""The Neo4j driver, imported without pandas and pyarrow.

If they are installed, the driver imports them to accept parameters of their types. starcast passes
no such parameters, and the import would cost half a second in each command that uses the graph.
"""

import sys

_UNUSED = [name for name in ("pandas", "pyarrow") if name not in sys.modules]
# With None in sys.modules, `import pandas` raises ImportError, which the driver handles.
sys.modules.update(dict.fromkeys(_UNUSED))  # type: ignore[arg-type]
try:
    from neo4j import (
        Driver,
        GraphDatabase,
        ManagedTransaction,
        NotificationMinimumSeverity,
        Record,
        Result,
        Session,
        unit_of_work,
    )
    from neo4j.exceptions import (
        AuthError,
        ConfigurationError,
        DriverError,
        Neo4jError,
        TransientError,
        UnsupportedServerProduct,
    )
    from neo4j.graph import Node, Path, Relationship
finally:
    # Other code of the process may import them later.
    for _name in _UNUSED:
        del sys.modules[_name]

__all__ = [
    "AuthError",
    "ConfigurationError",
    "Driver",
    "DriverError",
    "GraphDatabase",
    "ManagedTransaction",
    "Neo4jError",
    "Node",
    "NotificationMinimumSeverity",
    "Path",
    "Record",
    "Relationship",
    "Result",
    "Session",
    "TransientError",
    "UnsupportedServerProduct",
    "unit_of_work",
]
