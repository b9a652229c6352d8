"""Check that arrays fit into the memory of this machine."""

import os
from contextlib import suppress
from pathlib import Path

from starcast.support.errors import LimitError

#: Bytes per node, in addition to the trees themselves, for building or verifying trees: an array of
#: ranks (int32) and an array of distances (uint8).
_WORKING_BYTES = 5

_SMALLER = (
    "use a smaller topology or fewer trees; labels and neighbours of single nodes need little "
    "memory"
)


def physical() -> int:
    """Return the memory of this machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def available() -> int:
    """Return the memory in bytes that can be allocated without swapping.

    Linux reports this number. On other systems, the function returns the unused memory.
    """
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    # The unused memory is an underestimate, because the kernel would also release caches.
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")


def forest_bytes(nodes: int, trees: int) -> int:
    """Return an estimate of the memory, in bytes, for building a forest of ``trees`` trees."""
    return nodes * (trees + _WORKING_BYTES)


def require(needed: int, purpose: str, hint: str = _SMALLER) -> None:
    """Check that this machine has enough memory.

    Args:
        needed: the required memory in bytes.
        purpose: noun phrase for the error message, such as ``the arrivals of all units``.
        hint: advice to the user.

    Raises:
        LimitError: more bytes are needed than the machine has.
    """
    if needed > physical():
        raise LimitError(
            f"there is not enough memory for {purpose}: about {needed / 1e9:,.1f} GB are needed, "
            f"but this machine has only {physical() / 1e9:,.1f} GB",
            hint=hint,
        )
