"""The roles of a PostgreSQL server, in a module that imports no driver and so loads fast."""

from typing import Literal

#: The owner role is needed for migrations, the writer role to store and delete, and the reader role
#: to read.
Role = Literal["owner", "writer", "reader"]
ROLE_NAMES: dict[Role, str] = {
    "owner": "starcast_owner",
    "writer": "starcast_writer",
    "reader": "starcast_reader",
}
