"""Topologies by spec: ``topology("S5")``, ``topology("S6,3")``, ``topology("Q4")``."""

import re

from starcast.errors import InputError
from starcast.topologies import hypercube, nk_star, star
from starcast.topologies.base import Topology

__all__ = ["Topology", "as_topology", "topology"]

_NUMBER = "(0|[1-9][0-9]{0,3})"
_STAR = re.compile(f"S{_NUMBER}")
_NK_STAR = re.compile(f"S{_NUMBER},{_NUMBER}")
_HYPERCUBE = re.compile(f"Q{_NUMBER}")


def topology(spec: str) -> Topology:
    """Return the topology of a spec.

    Args:
        spec: ``S5`` for the star graph S_5, ``S6,3`` for the (n,k)-star S_{6,3}, ``Q4`` for the
            hypercube Q_4.

    Raises:
        InputError: the spec has another form, or its size is out of range.

    Example:
        >>> topology("S5").diameter
        6
    """
    if match := _STAR.fullmatch(str(spec)):
        return _star(int(match[1]))
    if match := _NK_STAR.fullmatch(str(spec)):
        return _nk_star(int(match[1]), int(match[2]))
    if match := _HYPERCUBE.fullmatch(str(spec)):
        return _hypercube(int(match[1]))
    raise InputError(
        f"unknown topology '{spec}'",
        hint=f"write S{star.SMALLEST} to S{star.LARGEST} for a star graph, S6,3 for an (n,k)-star, "
        f"Q{hypercube.SMALLEST} to Q{hypercube.LARGEST} for a hypercube",
    )


def as_topology(topology_or_spec: Topology | str) -> Topology:
    """Return a topology that is given as an object or as a spec.

    Raises:
        InputError: see `topology`.
    """
    if isinstance(topology_or_spec, Topology):
        return topology_or_spec
    return topology(topology_or_spec)


def _star(n: int) -> star.Star:
    if not star.SMALLEST <= n <= star.LARGEST:
        raise InputError(
            f"the star graph S{n} is out of range",
            hint=f"n goes from {star.SMALLEST} to {star.LARGEST}",
        )
    return star.Star(n)


def _nk_star(n: int, k: int) -> nk_star.NkStar:
    if not nk_star.SMALLEST <= n <= nk_star.LARGEST:
        raise InputError(
            f"the (n,k)-star S{n},{k} is out of range",
            hint=f"n goes from {nk_star.SMALLEST} to {nk_star.LARGEST}",
        )
    if not 1 <= k <= n - 1:
        raise InputError(
            f"the (n,k)-star S{n},{k} is out of range",
            hint=f"with n = {n}, k goes from 1 to {n - 1}",
        )
    if k > nk_star.largest_k(n):
        raise InputError(
            f"the (n,k)-star S{n},{k} has more than {nk_star.MOST_NODES:,} nodes",
            hint=f"with n = {n}, k goes from 1 to {nk_star.largest_k(n)}",
        )
    return nk_star.NkStar(n, k)


def _hypercube(d: int) -> hypercube.Hypercube:
    if not hypercube.SMALLEST <= d <= hypercube.LARGEST:
        raise InputError(
            f"the hypercube Q{d} is out of range",
            hint=f"d goes from {hypercube.SMALLEST} to {hypercube.LARGEST}",
        )
    return hypercube.Hypercube(d)
