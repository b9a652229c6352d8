"""A complete topology: a star graph by its substars, any other topology in a ring."""

from math import pi, sin

import numpy as np
from numpy.typing import NDArray

from starcast.drawing.picture import Picture, compose, sketch
from starcast.drawing.placement import Placement
from starcast.drawing.svg import BOX_HEIGHT, READABLE, Place, box_width
from starcast.errors import LimitError
from starcast.permutations import rank, unrank
from starcast.topologies import Topology

_LINK = 44.0  # the visible part of the shortest link
_APART = 1.42  # distance of two substars, in their diameters
_TURNS = range(0, 360, 15)  # the angles among which that of a substar is chosen
_NEAR, _BEND = 12.0, 60.0  # a link that is so near to another node bends so far


def draw_topology(topology: Topology) -> str:
    """Return a topology as an SVG document, with its links coloured by dimension.

    The substars of a star graph, whose nodes have the same last symbol, lie around a circle, and
    so do their own substars. Rotating the picture adds 1 to all symbols, cyclically.

    Raises:
        LimitError: the topology has more than `READABLE` nodes.

    Example:
        >>> draw_topology(topology("S4")).startswith("<svg")
        True
    """
    if topology.nodes > READABLE:
        raise LimitError(
            f"{topology.spec} has {topology.nodes:,} nodes, and a drawing is readable up to "
            f"{READABLE}",
            hint="draw a smaller topology, such as S4, or a tree: starcast forest draw",
        )
    subtitle = f"degree {topology.degree}, diameter {topology.diameter}"
    picture = Picture(topology, topology.spec, subtitle, tuple(range(topology.nodes)), {})
    if topology.family != "star":
        return sketch(picture)
    return compose(picture, _place_by_substars(picture))


def _place_by_substars(picture: Picture) -> Placement:
    box = box_width(picture.topology)
    points = _substar_points(picture.topology.n) * (box + _LINK)
    points -= complex(points.real.min() - box / 2, points.imag.min() - BOX_HEIGHT / 2)
    places = {node: Place(point.real, point.imag) for node, point in enumerate(points.tolist())}
    width, height = points.real.max() + box / 2, points.imag.max() + BOX_HEIGHT / 2
    bends = {(link.sender, link.receiver): _bend(points, *link[::2]) for link in picture.others}
    return Placement(places, float(width), float(height), {}, bends)


def _substar_points(n: int) -> NDArray[np.complex128]:
    """Return the positions of the nodes of S_n, by rank; the nodes of S_2 are 1 apart."""
    if n == 2:
        return np.array([-0.5, 0.5], dtype=np.complex128)
    inner = _substar_points(n - 1)
    perms = unrank(n, np.arange(n * len(inner))).astype(np.int64)
    last = perms[:, -1]
    moved = (perms - 1 - last[:, None]) % n + 1  # to the substar whose last symbol is n
    index = rank(moved[:, :-1].astype(np.uint8))
    neighbour = rank(perms[:, [n - 1, *range(1, n - 1), 0]].astype(np.uint8))
    # The nodes of S_3 form a regular hexagon. Larger substars are discs that do not touch.
    radius = np.abs(inner).max() * (3**0.5 if n == 3 else _APART / sin(pi / n))
    candidates = [
        np.exp(-2j * pi * last / n) * (inner[index] * np.exp(2j * pi * turn / 360) - 1j * radius)
        for turn in ([0] if n == 3 else _TURNS)
    ]
    return min(candidates, key=lambda points: round(np.abs(points - points[neighbour]).sum(), 6))


def _bend(points: NDArray[np.complex128], sender: int, receiver: int) -> float:
    """Return how far a link bends to the left to avoid a node between its ends."""
    along = points[receiver] - points[sender]
    position = (points - points[sender]) / along  # 0 at the sender, 1 at the receiver
    between = (position.real > 0) & (position.real < 1)
    between &= np.abs(position.imag) * np.abs(along) < _NEAR
    between[[sender, receiver]] = False
    if not between.any():
        return 0.0
    # Links that are rotations of each other bend to the same side, seen from their outer ends.
    middle = points.mean()
    outwards = np.abs(points[sender] - middle) > np.abs(points[receiver] - middle)
    return _BEND if outwards else -_BEND
