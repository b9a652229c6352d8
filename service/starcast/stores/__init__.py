"""The graph store in Neo4j and the relational store in PostgreSQL.

This module declares only server addresses and roles. It does not import a driver, so commands that
need only an address start fast.
"""

from dataclasses import dataclass, field
from typing import Literal

#: Roles of a PostgreSQL server. The owner migrates the tables, the writer stores and deletes rows,
#: and the reader reads rows.
Role = Literal["owner", "writer", "reader"]
#: The PostgreSQL user name of each role, keyed by role.
ROLE_NAMES: dict[Role, str] = {
    "owner": "starcast_owner",
    "writer": "starcast_writer",
    "reader": "starcast_reader",
}


@dataclass(frozen=True)
class GraphAddress:
    """Address of a Neo4j database: the server's URI, an account and the database's name.

    Attributes:
        uri: the URI, such as ``bolt://127.0.0.1:7687``.
        user: the user name.
        password: the password; never printed.
        database: the name of the database.
    """

    uri: str
    user: str
    password: str = field(repr=False)
    database: str = "neo4j"
