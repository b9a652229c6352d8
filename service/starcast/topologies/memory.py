"""What arrays take, asked for before they are made: a size beyond the machine is refused with its estimate."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from starcast.errors import LimitError

if TYPE_CHECKING:
    from starcast.topologies.base import Topology

#: While trees grow or are judged, one array of ranks (int32) and one of distances (uint8) stand beside them.
_BESIDE = 5

_SMALLER = (
    "take a smaller topology or fewer trees; labels and neighbours of single ranks need no memory"
)


def physical() -> int:
    """The bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def available() -> int:
    """The bytes of memory that can be had now without taking them from others; Linux says, elsewhere it is what is unused."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return (
            int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) * 1024
        )
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")


def estimate(topology: "Topology", trees: int) -> int:
    """The bytes that a forest of so many trees takes while it is built: a byte a node and tree, and one working array."""
    return topology.nodes * (trees + _BESIDE)


def require(needed: int, what: str, hint: str = _SMALLER) -> None:
    """Accept what this machine can hold.

    Args:
        needed: bytes.
        what: what they are for, as the subject of a sentence in the plural.
        hint: what to do about it.

    Raises:
        LimitError: it is more than the memory of the machine.
    """
    if needed > physical():
        raise LimitError(
            f"{what} take about {needed / 1e9:,.1f} GB, and this machine has {physical() / 1e9:,.1f} GB of memory",
            hint=hint,
        )
