"""Topologies by name: ``topology("S5")``."""

import re

from starcast.errors import InputError
from starcast.topologies import star
from starcast.topologies.base import Topology

__all__ = ["Topology", "topology"]

_STAR = re.compile(r"S(0|[1-9][0-9]{0,3})")


def topology(spec: str) -> Topology:
    """The topology of that name: ``S5`` is the star graph S_5.

    Raises:
        InputError: no topology has that name, or its size is out of range.
    """
    match = _STAR.fullmatch(str(spec))
    if match is None:
        raise InputError(f"'{spec}' names no topology", hint=f"write S{star.SMALLEST} to S{star.LARGEST} for a star graph")
    n = int(match[1])
    if not star.SMALLEST <= n <= star.LARGEST:
        raise InputError(f"the star graph S{n} is out of range", hint=f"n goes from {star.SMALLEST} to {star.LARGEST}")
    return star.Star(n)
