"""The roles of a PostgreSQL server; this module imports no driver."""

from typing import Literal

#: Migrations need the owner, work needs the writer, and reports need the reader.
Role = Literal["owner", "writer", "reader"]
ROLE_NAMES: dict[Role, str] = {
    "owner": "starcast_owner",
    "writer": "starcast_writer",
    "reader": "starcast_reader",
}
