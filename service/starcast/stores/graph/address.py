"""The address of a Neo4j server. This module does not import the driver, so it loads fast."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class GraphAddress:
    """A Neo4j server: its URI and the account to log in with.

    Attributes:
        uri: such as ``bolt://127.0.0.1:7687``.
        user: the user name.
        password: the password; never printed.
        database: the name of the database.
    """

    uri: str
    user: str
    password: str = field(repr=False)
    database: str = "neo4j"
