"""The best published value of each record, from ``records/published.toml``."""

import tomllib
from functools import cache
from typing import NamedTuple

from starcast.support import paths


class Published(NamedTuple):
    """A published value, and who has it.

    Attributes:
        source: the paper, as a key of references.bib.
        statement: what the paper states.
        read: what was read of the paper: all, the abstract, or nothing but a citation.
        also: other papers with this value.
    """

    value: int
    source: str
    statement: str
    read: str
    also: tuple[str, ...] = ()


@cache
def published_values() -> dict[str, Published]:
    """Return the published values by the ids of records.

    Example:
        >>> published_values()["one-port-broadcast:S7"].value
        14
    """
    content = tomllib.loads((paths.data_folder("records") / "published.toml").read_text("utf-8"))
    return {
        record_id: Published(
            value,
            entry["source"],
            entry["statement"],
            entry["read"],
            tuple(entry.get("also", ())),
        )
        for entry in content["published"]
        for record_id, value in entry["values"].items()
    }
