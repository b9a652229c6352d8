"""Positions of the nodes of a topology, for pictures and for the explorer.

A layout is one array, float32 ``[nodes, 2]``: x to the right and y downwards. The smallest distance
between nodes is about 1. A layout depends only on the topology, so the pictures of all steps of a
schedule, and of all trees of a forest, show a node in the same position.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from starcast.drawing.order import nearest_distance
from starcast.drawing.positions import (
    place_by_projection,
    place_by_substars,
    place_necklaces,
    place_on_levels,
    place_on_torus,
)
from starcast.support.errors import InputError, LimitError
from starcast.support.vocabulary import LayoutName
from starcast.topologies import Topology, as_topology

Positions = NDArray[np.float32]

#: Maximum number of nodes in a layout; S9 has 362 880.
MAX_NODES = 400_000
#: From this number of nodes on, the default layout is the quotient, in which each substar is a
#: single dot.
QUOTIENT_FROM = 40_320
_SMALLEST_QUOTIENT = 120

DESCRIPTIONS: dict[LayoutName, str] = {
    "substars": "recursive substars: nodes with the same last symbol lie together",
    "levels": "levels: rows by the distance from the identity",
    "necklaces": "rings of necklaces: a rotation of the picture is the rotation of the star graph",
    "torus": "the torus of 12 hexagons: opposite sides of the picture are joined",
    "projection": "a projection in which the links of a port are parallel",
    "quotient": "quotient by substars: a dot for all nodes with the same last symbols",
}


def layouts(topology: str | Topology) -> tuple[LayoutName, ...]:
    """Return the names of the layouts of a topology; the first is the default.

    Example:
        >>> layouts("S4")
        ('substars', 'levels', 'necklaces', 'torus')
    """
    network = as_topology(topology)
    names: list[LayoutName] = ["levels"]
    if network.family == "hypercube":
        names.insert(0, "projection")
    if network.family == "nk-star":
        names.append("substars")
    if network.family == "star":
        names.insert(0, "substars")
    if network.family == "star" and network.n > 2:
        names.append("necklaces")
    if network.spec == "S4":
        names.append("torus")
    if "substars" in names and network.nodes >= _SMALLEST_QUOTIENT:
        names.insert(0 if network.nodes >= QUOTIENT_FROM else len(names), "quotient")
    return tuple(names)


def choose_layout(topology: Topology, name: str | None) -> LayoutName:
    """Check and return the name of a layout; for None, return the topology's default layout.

    Raises:
        InputError: the topology has no such layout.
    """
    names = layouts(topology)
    if name is None:
        return names[0]
    for known in names:
        if name == known:
            return known
    raise InputError(
        f"{topology.spec} has no layout '{name}'", hint=f"its layouts are {', '.join(names)}"
    )


def layout(topology: str | Topology, name: str | None = None) -> Positions:
    """Return the positions of the nodes in a layout.

    Args:
        topology: a topology or its spec.
        name: one of `layouts`; by default the first.

    Returns:
        float32 ``[nodes, 2]``, read-only. Nodes coincide only in the quotient layout.

    Raises:
        InputError: the topology has no such layout.
        LimitError: the topology has more than `MAX_NODES` nodes.

    Example:
        >>> layout("S5", "levels").shape
        (120, 2)
    """
    network = as_topology(topology)
    chosen = choose_layout(network, name)
    if network.nodes > MAX_NODES:
        raise LimitError(
            f"{network.spec} has {network.nodes:,} nodes, but layouts have at most {MAX_NODES:,}",
            hint="choose a smaller topology, such as S9",
        )
    positions = np.ascontiguousarray(_LAYOUTS[chosen](network), dtype=np.float32)
    positions.flags.writeable = False
    return positions


def substar_groups(topology: Topology) -> NDArray[np.int64]:
    """Return, for each node, the number of its substar in the quotient layout, int64 ``[nodes]``.

    The nodes of a substar share the last symbol or, in topologies of 720 or more nodes, the last
    two symbols.
    """
    symbols = 2 if topology.nodes >= 720 else 1
    ends = [label[-symbols:] for label in topology.labels().tolist()]
    groups: NDArray[np.int64] = np.unique(ends, return_inverse=True)[1].astype(np.int64)
    return groups


def _place_quotient(topology: Topology) -> NDArray[np.float64]:
    groups = substar_groups(topology)
    nodes = place_by_substars(topology)
    sizes = np.bincount(groups)
    means = np.stack([np.bincount(groups, weights=axis) / sizes for axis in nodes.T], axis=1)
    scaled: NDArray[np.float64] = (means / nearest_distance(means @ np.array([1, 1j])))[groups]
    return scaled


_LAYOUTS: dict[LayoutName, Callable[[Topology], NDArray[np.float64]]] = {
    "substars": place_by_substars,
    "levels": place_on_levels,
    "necklaces": place_necklaces,
    "torus": place_on_torus,
    "projection": place_by_projection,
    "quotient": _place_quotient,
}
