"""Place the nodes of a topology, for drawings and for the explorer.

A layout is one array, float32 ``[nodes, 2]``: x to the right and y downwards. The smallest distance
between nodes is about 1. A layout depends only on the topology (and the layout of levels on the
root), so the drawings of all steps of a schedule, and of all trees of a forest, show a node in the
same position.

* Recursive substars: nodes with the same last symbol lie together, and each such group is arranged
  in the same way by the next-to-last symbol.
* Levels: the nodes at each distance from the root form a row, or several rows if they are many.
* Rings of necklaces: the nodes of a necklace, which rotations of the star graph map to one another
  (`starcast.topologies.necklaces`), are equally spaced on a ring.
* S_4 on the torus: its 24 nodes and 36 links bound 12 hexagons, four for each of the three pairs of
  dimensions. The dimensions 2, 3, 4 follow each other clockwise around even permutations and
  counterclockwise around odd permutations, so the hexagons are the faces of the torus. Unrolled
  into the plane, these faces form a honeycomb, in which every node occurs once per period.
* Grid: a node of a mesh, a HyperX network or a torus with two dimensions lies at its coordinates.
  On a torus, links between the first and the last row or column leave the drawing on one side and
  return on the other.
* Circle: nodes follow each other in the order of their ranks, clockwise from the top.
* Positions: the positions in a network file, with y upwards, as on a map.
* Spring: distances in the plane approximate distances in the graph.
* Projection of a hypercube: every bit has a direction, and the position of a node is the sum of the
  directions of the bits that are 1.
* Quotient by substars: all nodes of a substar lie at the same point.

Two functions are also used for drawings of query results: `arrange` orders the nodes on levels so
that few links cross, and `order_ring` orders nodes on a ring so that neighbours are close.
"""

import re
from collections.abc import Callable, Collection, Sequence
from math import pi, sin, sqrt

import numpy as np
from numpy.typing import NDArray

from starcast.support.arrays import Floats
from starcast.support.errors import InputError, LimitError
from starcast.support.vocabulary import LayoutName
from starcast.topologies import Topology, as_topology
from starcast.topologies.necklaces import necklaces
from starcast.topologies.permutations import arrangement_rank, arrangement_unrank

_SWEEPS = 12


def arrange(level: NDArray[np.integer], weight: Floats) -> Floats:
    """Return horizontal positions for nodes with given levels, such that few links cross.

    Repeated sweeps sort each level by the mean position of each node's neighbours (Sugiyama, Tagawa
    & Toda 1981). The order with the fewest crossings is kept. Nodes then move towards their
    neighbours as far as this order permits.

    Args:
        level: the level of each node.
        weight: symmetric matrix, ``[nodes, nodes]``: the attraction between two nodes; 0 if no link
            joins these nodes.

    Returns:
        float64 ``[nodes]``, from 0; nodes on the same level are at least 1 apart.
    """
    rows = [np.flatnonzero(level == number) for number in np.unique(level)]
    x = np.zeros(len(level))
    for row in rows:
        x[row] = np.arange(len(row)) - (len(row) - 1) / 2
    # A sweep can increase the number of crossings, so the best order so far is stored.
    best, fewest = x.copy(), _crossings(level, weight, x)
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            # The sort is stable, so that equal input gives equal drawings: nodes with equal means
            # keep their order.
            row[:] = row[np.argsort(_neighbour_means(row, weight, x), kind="stable")]
            x[row] = np.arange(len(row)) - (len(row) - 1) / 2
        crossings = _crossings(level, weight, x)
        if crossings < fewest:
            best, fewest = x.copy(), crossings
    return _move_to_neighbours([row[np.argsort(best[row])] for row in rows], weight, best)


def order_ring(adjacent: Sequence[Collection[int]], start: int = 0) -> list[int]:
    """Return all nodes in an order in which many successive nodes are neighbours.

    Each node is followed by its unvisited neighbour with the fewest unvisited neighbours
    (Warnsdorff's rule, which often finds a Hamiltonian path), or else by the first unvisited node.

    Args:
        adjacent: the neighbours of each node.
        start: the first node.
    """
    unvisited = dict.fromkeys([start, *range(len(adjacent))])
    order: list[int] = []

    def freedom(node: int) -> tuple[int, int]:
        return sum(other in unvisited for other in adjacent[node]), node

    while unvisited:
        ahead = [node for node in adjacent[order[-1]] if node in unvisited] if order else []
        node = min(ahead, key=freedom, default=next(iter(unvisited)))
        del unvisited[node]
        order.append(node)
    return order


def nearest_distance(points: NDArray[np.complex128]) -> float:
    """Return the smallest distance between distinct points, which sets the scale of a drawing.

    For more than 1,024 points, only the distances from a sample of the points are compared. Points
    that are closer than 1e-5 count as one point; if all points coincide, the result is 1.
    """
    sample = points if len(points) <= 1_024 else points[:: len(points) // 64]
    apart = np.abs(sample[:, None] - points)
    # Distances of 0 must not set the scale: a point has this distance from itself, and from points
    # that coincide with it in a quotient layout.
    apart[apart < 1e-5] = np.inf
    least = float(apart.min())
    return least if np.isfinite(least) else 1.0


def _neighbour_means(row: NDArray[np.integer], weight: Floats, x: Floats) -> Floats:
    """Return the weighted mean position of each node's neighbours, for the nodes of a row.

    A node without neighbours keeps its position.
    """
    total = weight[row].sum(axis=1)
    mean = weight[row] @ x / np.where(total > 0, total, 1)
    means: Floats = np.where(total > 0, mean, x[row])
    return means


def _crossings(level: NDArray[np.integer], weight: Floats, x: Floats) -> float:
    """Return the number of link crossings; each counts as the product of the two links' weights."""
    upper, lower = np.nonzero(np.where(level[:, None] < level[None, :], weight, 0))
    same = level[upper][:, None] == level[upper][None, :]
    apart = (x[upper][:, None] - x[upper]) * (x[lower][:, None] - x[lower])
    heavy = weight[upper, lower]
    return float((heavy[:, None] * heavy)[same & (apart < 0)].sum() / 2)


def _move_to_neighbours(rows: Sequence[NDArray[np.integer]], weight: Floats, x: Floats) -> Floats:
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            x[row] = _space_out(_neighbour_means(row, weight, x))
    x -= x.min()
    return x


def _space_out(wanted: Floats) -> Floats:
    """Return positions close to the wanted positions, in the same order and at least 1 apart.

    The result is a least-squares fit by the pool-adjacent-violators algorithm.
    """
    pools: list[tuple[float, int]] = []
    for value in wanted - np.arange(len(wanted)):
        mean, count = float(value), 1
        while pools and pools[-1][0] > mean:
            previous_mean, previous_count = pools.pop()
            total = previous_mean * previous_count + mean * count
            count += previous_count
            mean = total / count
        pools.append((mean, count))
    means: Floats = np.repeat([mean for mean, _ in pools], [count for _, count in pools])
    return means + np.arange(len(wanted))


Positions = NDArray[np.float32]
Points = NDArray[np.complex128]

#: Families whose labels are coordinates.
_GRIDS = ("mesh", "torus", "hyperx")
#: Families whose nodes are drawn on a circle, in the order of their ranks.
_CIRCLES = ("ring", "circulant", "complete")
#: Families with translations whose default layout is `spring` instead of `levels`.
_SPRUNG = ("cube-connected-cycles", "butterfly")
#: Maximum number of nodes in the layout `spring`, which needs the distances of all node pairs.
_MAX_SPRING = 600
_SPRING_STEPS = 200
#: Nodes that are closer than this in the layouts `spring` and `positions` are moved apart.
_APART_AT_LEAST = 0.8
#: Maximum number of nodes in a layout; S9 has 362 880.
MAX_NODES = 400_000
#: Minimum number of nodes of a star graph or (n,k)-star whose default layout is the quotient, in
#: which each substar is a single dot.
QUOTIENT_FROM = 40_320
#: Minimum number of nodes of a star graph or (n,k)-star that has the quotient layout.
_SMALLEST_QUOTIENT = 120

DESCRIPTIONS: dict[LayoutName, str] = {
    "substars": "recursive substars: nodes with the same last symbol lie together",
    "levels": "levels: rows by the distance from the first node",
    "necklaces": "rings of necklaces: rotations of the star graph are rotations of the picture",
    "torus": "the torus of 12 hexagons: opposite sides of the picture are joined",
    "projection": "a projection: the links of a port are parallel where no node is in the way",
    "quotient": "quotient by substars: a dot for all nodes with the same last symbols",
    "spring": "springs: distances in the picture are close to distances in the graph",
    "grid": "a grid of rows and columns; opposite sides of a torus are joined",
    "positions": "the positions in the file of the network",
    "circle": "a circle of all nodes",
}


def layouts(topology: str | Topology) -> tuple[LayoutName, ...]:
    """Return the names of the layouts of a topology; the first is the default.

    Example:
        >>> layouts("S4")
        ('substars', 'levels', 'necklaces', 'torus')
    """
    network = as_topology(topology)
    names: list[LayoutName] = ["levels"]
    is_sprung = network.family in _SPRUNG or not network.has_translations
    if is_sprung and network.nodes <= _MAX_SPRING:
        names.insert(0, "spring")
    if network.family in _CIRCLES:
        names.insert(0, "circle")
    if network.family in _GRIDS and len(_sides(network)) == 2:
        names.insert(0, "grid")
    if getattr(network, "positions", None) is not None:
        names.insert(0, "positions")
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
        InputError: the topology does not have this layout.
    """
    names = layouts(topology)
    if name is None:
        return names[0]
    for known in names:
        if name == known:
            return known
    raise InputError(
        f"{topology.spec} has no layout '{name}'", hint=f"choose one of {', '.join(names)}"
    )


def layout(topology: str | Topology, name: str | None = None, root: int | str = 0) -> Positions:
    """Return the positions of the nodes in a layout.

    Args:
        topology: a topology or its spec.
        name: one of `layouts`; by default the first.
        root: the node from which the layout `levels` measures distances.

    Returns:
        float32 ``[nodes, 2]``, read-only. Nodes coincide only in the quotient layout.

    Raises:
        InputError: the topology is unknown or does not have this layout, or the root is not a node.
        LimitError: the topology has more than `MAX_NODES` nodes.

    Example:
        >>> layout("S5", "levels").shape
        (120, 2)
    """
    network = as_topology(topology)
    chosen = choose_layout(network, name)
    if network.nodes > MAX_NODES:
        raise LimitError(
            f"{network.spec} has {network.nodes:,} nodes, but a layout has at most {MAX_NODES:,}",
            hint="choose a smaller topology, such as S9",
        )
    placed = place_on_levels(network, root) if chosen == "levels" else _LAYOUTS[chosen](network)
    positions = np.ascontiguousarray(placed, dtype=np.float32)
    positions.flags.writeable = False
    return positions


#: Distance between the centres of two adjacent substars, divided by the diameter of a substar.
_APART = 1.42
#: Angles, in degrees, by which a substar may be rotated to shorten the links between substars.
_TURNS = range(0, 360, 15)


def place_by_substars(topology: Topology) -> NDArray[np.float64]:
    """Return the positions of the nodes of a star graph or (n,k)-star, float64 ``[nodes, 2]``.

    The n substars lie on a circle, and their nodes are arranged recursively in the same way.
    Rotating the drawing by one substar replaces each symbol s of a label by s+1, and n by 1.
    """
    length = topology.n if topology.k is None else topology.k
    points = substar_points(topology.n, length)
    return np.stack([points.real, points.imag], axis=1)


def substar_points(n: int, length: int) -> Points:
    """Return the positions of the nodes of a star graph or (n,k)-star, complex128 ``[nodes]``.

    The nodes are at least 1 apart.

    Args:
        n: the number of symbols.
        length: the number of symbols in a label: n for a star graph, k for an (n,k)-star.
    """
    if n == length == 2:
        return np.array([-0.5, 0.5], dtype=np.complex128)
    if length == 1:
        radius = 0.5 / sin(pi / n) if n > 1 else 0.0
        return np.asarray(-1j * radius * np.exp(2j * pi * np.arange(1, n + 1) / n))
    inner = substar_points(n - 1, length - 1)
    rows = arrangement_unrank(n, length, np.arange(n * len(inner))).astype(np.int64)
    last = rows[:, -1]
    # Each node is rotated into the substar with last symbol n, whose positions `inner` contains.
    moved = (rows - 1 - last[:, None]) % n + 1
    index = arrangement_rank(moved[:, :-1].astype(np.uint8), n - 1)
    swapped = rows[:, [length - 1, *range(1, length - 1), 0]]
    neighbour = arrangement_rank(swapped.astype(np.uint8), n)
    # The nodes of S_3 form a regular hexagon. Larger substars lie in discs that do not touch.
    is_hexagon = n == length == 3
    radius = np.abs(inner).max() * (3**0.5 if is_hexagon else _APART / sin(pi / n))
    candidates = [
        np.exp(-2j * pi * last / n) * (inner[index] * np.exp(2j * pi * turn / 360) - 1j * radius)
        for turn in ([0] if is_hexagon else _TURNS)
    ]
    # Several rotations can be equally good. The sums are rounded, so that all machines choose the
    # same rotation despite different rounding errors.
    return min(candidates, key=lambda points: round(np.abs(points - points[neighbour]).sum(), 6))


#: Up to this number of nodes, each level is a single row in an order with few crossings.
_SINGLE_ROWS = 256
_BAND_SWEEPS = 8
#: Intended ratio of the width to the height of a drawing by levels.
_ASPECT = 1.6


def place_on_levels(topology: Topology, root: int | str = 0) -> NDArray[np.float64]:
    """Return the positions of nodes drawn in levels from top to bottom, float64 ``[nodes, 2]``.

    In large topologies, a level is a band of several rows, since a single row would be too wide.
    """
    level = topology.distances(root).astype(np.int64)
    neighbours = topology.table()
    if topology.nodes <= _SINGLE_ROWS:
        return _place_rows(level, neighbours)
    return _place_bands(level, neighbours)


def _place_rows(level: NDArray[np.int64], neighbours: NDArray[np.int32]) -> NDArray[np.float64]:
    nodes = len(level)
    weight = np.zeros((nodes, nodes))
    for row in neighbours:
        weight[np.arange(nodes), row] = 1
    weight[level[:, None] == level] = 0
    x = arrange(level, weight)
    for number in range(int(level.max()) + 1):
        row = level == number
        x[row] -= (x[row].min() + x[row].max()) / 2
    height = max(1.6, (x.max() - x.min()) / _ASPECT / max(int(level.max()), 1))
    return np.stack([x, level * height], axis=1)


def _place_bands(level: NDArray[np.int64], neighbours: NDArray[np.int32]) -> NDArray[np.float64]:
    rows = [np.flatnonzero(level == number) for number in range(int(level.max()) + 1)]
    is_linked = neighbours != np.arange(len(level))
    columns = int(np.ceil(np.sqrt(len(level) * 2 * _ASPECT)))
    #: The horizontal position of each node on its level, from -1 to 1.
    share = np.zeros(len(level))
    # The function `arrange` is not used, because its matrix of all node pairs would be too large.
    for sweep in range(_BAND_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            linked = is_linked[:, row]
            wanted = (share[neighbours[:, row]] * linked).sum(axis=0) / linked.sum(axis=0)
            order = row[np.argsort(wanted, kind="stable")]
            share[order] = (np.arange(len(row)) + 0.5) / len(row) * 2 - 1
    positions = np.empty((len(level), 2))
    top = 0.0
    for row in rows:
        order = row[np.argsort(share[row], kind="stable")]
        height = -(-len(row) // columns)
        width = -(-len(row) // height)
        index = np.arange(len(row))
        positions[order, 0] = index // height - (width - 1) / 2
        positions[order, 1] = top + index % height
        top += height + max(3.0, 0.05 * columns)
    return positions


#: Smallest distance between the rings of different levels.
_RING = 1.6
#: Distance between two rings of the same level.
_NARROW = 1.0
#: Up to this number of nodes, every level is a single ring.
_SINGLE_RINGS = 128


def place_necklaces(topology: Topology) -> NDArray[np.float64]:
    """Return the positions of the nodes of S_n, float64 ``[nodes, 2]``.

    The identity is at the centre. The nodes at each distance from the identity lie on a ring or, in
    large star graphs, on several rings. The nodes of a necklace, which rotations of the star graph
    map to one another, are equally spaced on their ring.
    """
    n = topology.n
    level = topology.distances().astype(np.int64)
    neighbours = topology.table()
    rings = necklaces(n)
    sector = 2 * pi / (n - 1)
    turned = 2 * pi * rings.turns / rings.period
    #: The angle of each node's necklace within a sector, which is 1/(n-1) of the circle.
    slot = np.zeros(topology.nodes)
    radius = np.zeros(topology.nodes)
    outermost = 0.0
    for number in range(1, topology.diameter + 1):
        leaders = np.flatnonzero((level == number) & (rings.turns == 0))
        ahead = neighbours[:, leaders]
        # Necklaces are sorted by the mean direction of their inner neighbours, to keep links short.
        # The angles of a sector are first stretched to the full circle, then averaged.
        angles = (slot + turned)[ahead] * (n - 1)
        means = np.where(level[ahead] < number, np.exp(1j * angles), 0).sum(axis=0)
        order = leaders[np.argsort(np.angle(means) % (2 * pi), kind="stable")]
        slot[order] = (np.arange(len(order)) + 0.5 * (number % 2)) / len(order) * sector
        count = 1
        if topology.nodes > _SINGLE_RINGS:
            count = _count_rings(outermost + _RING, len(order) * (n - 1))
        innermost = max(outermost + _RING, len(order) * (n - 1) / count / (2 * pi))
        radius[order] = innermost + np.arange(len(order)) % count * _NARROW
        outermost = innermost + (count - 1) * _NARROW
        members = level == number
        slot[members] = slot[rings.leader[members]]
        radius[members] = radius[rings.leader[members]]
    angle = slot + turned
    return np.stack([radius * np.sin(angle), -radius * np.cos(angle)], axis=1)


def _count_rings(innermost: float, nodes: int) -> int:
    """Return the number of rings needed for ``nodes`` nodes that are at least 1 apart.

    Every ring is assumed to be as long as the innermost ring, which has the radius ``innermost``.
    """
    count = 1
    while 2 * pi * innermost * count < nodes:
        count += 1
    return count


#: Two translations of the plane under which the honeycomb repeats. Together they map every image of
#: a node of S_4 to all other images of this node. Links have length 1.
PERIODS: NDArray[np.float64] = np.array([[6.0, 0.0], [3.0, 3.0 * sqrt(3)]])


def find_periods(topology: Topology, name: str) -> NDArray[np.float64]:
    """Return the two translations under which a layout repeats, float64 ``[2, 2]``.

    The array is empty for a layout in which each node has a single position.
    """
    if name == "torus":
        return PERIODS
    if name == "grid" and topology.family == "torus":
        return np.diag(_sides(topology)).astype(np.float64)
    return np.empty((0, 2))


def place_on_grid(topology: Topology) -> NDArray[np.float64]:
    """Return the coordinates of the nodes of a two-dimensional grid, float64 ``[nodes, 2]``."""
    coordinates = np.unravel_index(np.arange(topology.nodes), _sides(topology))
    return np.stack(coordinates, axis=1).astype(np.float64)


def _sides(grid: Topology) -> list[int]:
    return [int(side) for side in re.findall(r"\d+", grid.spec)]


def place_on_torus(topology: Topology) -> NDArray[np.float64]:
    """Return the positions of the nodes of S_4 on the torus, float64 ``[24, 2]``.

    In the plane, every node is repeated by the translations `PERIODS`, and a link joins the nearest
    images of two neighbours.
    """
    points: dict[int, complex] = {0: 0j}
    #: For each node, the direction of its link of dimension 2.
    first = {0: 0.0}
    sign = {0: 1}
    queue = [0]
    for node in queue:
        for index, port in enumerate(topology.ports):
            angle = first[node] + sign[node] * index * 2 * pi / 3
            other = int(topology.neighbours(port, [node])[0])
            if other in points:
                continue
            points[other] = points[node] + np.exp(1j * angle)
            sign[other] = -sign[node]
            first[other] = angle + pi - sign[other] * index * 2 * pi / 3
            queue.append(other)
    images = np.array([points[node] for node in range(topology.nodes)])
    return _centred(np.stack([images.real, images.imag], axis=1))


def _centred(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each node, its image in the plane that is nearest to the centre of one hexagon.

    The chosen images are the corners of this hexagon and of the six hexagons around it.
    """
    pairs = [(first, second) for first in range(-2, 3) for second in range(-2, 3)]
    shifts = np.array(pairs) @ PERIODS
    images = (points - points[0] - [0.5, sqrt(3) / 2]) + shifts[:, None]
    nearest = np.hypot(images[..., 0], images[..., 1]).argmin(axis=0)
    return np.asarray(images[nearest, np.arange(len(points))])


#: Ratio of the lengths of successive bits' vectors. With equal lengths, nodes would coincide.
_GROWTH = 1.37


def place_by_projection(topology: Topology) -> NDArray[np.float64]:
    """Return the positions of the nodes of a hypercube, float64 ``[nodes, 2]``.

    Each bit of a label has a vector. A node is placed at the scaled sum of its 1 bits' vectors.
    """
    bits = topology.n
    exponents = np.arange(bits)
    # Without the added angle, 0.12, the links of one dimension would be horizontal.
    directions = _GROWTH**exponents * np.exp(1j * (np.pi * exponents / bits + 0.12))
    values = (np.arange(topology.nodes)[:, None] >> exponents[::-1]) & 1
    points = values @ directions
    return np.stack([points.real, -points.imag], axis=1) / nearest_distance(points)


def substar_groups(topology: Topology) -> NDArray[np.int64]:
    """Return the index of each node's substar in the quotient layout, int64 ``[nodes]``.

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


def _place_on_circle(topology: Topology) -> NDArray[np.float64]:
    angles = 2 * pi * np.arange(topology.nodes) / topology.nodes
    points = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
    return points / (2 * sin(pi / topology.nodes))


def _place_as_given(topology: Topology) -> NDArray[np.float64]:
    given: NDArray[np.float64] = topology.positions * [1, -1]  # type: ignore[attr-defined]
    return _separate(given / nearest_distance(given @ np.array([1, 1j])))


def _place_by_springs(topology: Topology) -> NDArray[np.float64]:
    """Return positions whose distances approximate the distances in the graph.

    Each step moves every node to the weighted mean of its ideal positions relative to all other
    nodes (Gansner, Koren & North 2005). Initial positions are computed from the distances to four
    nodes that are far from each other.
    """
    distances = np.array([topology.distances(node) for node in range(topology.nodes)], dtype=float)
    far = [int(distances[0].argmax())]
    for _ in range(3):
        far.append(int(distances[far].min(axis=0).argmax()))
    turn = np.exp(2j * pi * np.arange(topology.nodes) / topology.nodes)
    points = distances[far[0]] - distances[far[1]] + 1j * (distances[far[2]] - distances[far[3]])
    # Nodes with equal distances to the four nodes are moved apart, so that they do not coincide.
    points = points + turn / 4
    np.fill_diagonal(distances, np.inf)
    weight = distances**-2
    np.fill_diagonal(distances, 0)
    total = weight.sum(axis=1)
    for _ in range(_SPRING_STEPS):
        apart = points[:, None] - points
        length = np.maximum(np.abs(apart), 1e-9)
        points = (weight * (points + distances * apart / length)).sum(axis=1) / total
    return _separate(np.stack([points.real, points.imag], axis=1))


def _separate(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the positions after moving apart nodes that are very close to each other."""
    points = positions @ np.array([1, 1j])
    turn = np.exp(2j * pi * np.arange(len(points)) / len(points))
    for _ in range(_SPRING_STEPS):
        apart = points[:, None] - points
        length = np.abs(apart)
        # Nodes in the same place are moved in different directions.
        away = np.where(length > 0, apart / np.maximum(length, 1e-9), turn[:, None])
        push = np.where(length < _APART_AT_LEAST, (_APART_AT_LEAST - length) / 2, 0)
        np.fill_diagonal(push, 0)
        if not push.any():
            break
        points = points + (push * away).sum(axis=1)
    return np.stack([points.real, points.imag], axis=1)


_LAYOUTS: dict[LayoutName, Callable[[Topology], NDArray[np.float64]]] = {
    "substars": place_by_substars,
    "levels": place_on_levels,
    "necklaces": place_necklaces,
    "torus": place_on_torus,
    "projection": place_by_projection,
    "grid": place_on_grid,
    "quotient": _place_quotient,
    "spring": _place_by_springs,
    "positions": _place_as_given,
    "circle": _place_on_circle,
}
