"""Permutation cycles, the rotation R of nodes, and necklaces (fragopoulou-akl.md, A0).

A cycle of node x is a tuple in which symbol s is followed by x_s, the symbol in position s. A
necklace is the tuple of all rotations of a node, in the order of rotation.
"""

from collections.abc import Iterable, Sequence
from functools import cache

from oracles.star_graph import Node, distances, identity, nodes

Cycle = tuple[int, ...]


def turned_to_end(cycle: Cycle, symbol: int) -> Cycle:
    """Return the cycle, rotated so that the given symbol is last."""
    at = cycle.index(symbol) + 1
    return cycle[at:] + cycle[:at]


def cycle_of(x: Node, symbol: int) -> Cycle:
    """Return the cycle (s, x_s, ..) of a symbol s, which is (s) if s is fixed."""
    cycle = [symbol]
    while x[cycle[-1] - 1] != symbol:
        cycle.append(x[cycle[-1] - 1])
    return tuple(cycle)


def cycles(x: Node) -> list[Cycle]:
    """Return the cycles of x that have two or more symbols."""
    result = {min(cycle_of(x, symbol)): cycle_of(x, min(cycle_of(x, symbol))) for symbol in x}
    return [cycle for cycle in result.values() if len(cycle) > 1]


def distance(x: Node) -> int:
    """Return the distance of x from the identity by A0.

    The distance is the number of cycles plus the number of displaced symbols, minus 2 if symbol 1
    is displaced.
    """
    return len(cycles(x)) + sum(map(len, cycles(x))) - (0 if x[0] == 1 else 2)


def from_cycles(n: int, written: Iterable[Sequence[int]]) -> Node:
    """Return the node of S_n with the given cycles."""
    x = list(identity(n))
    for cycle in written:
        for s, follower in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
            x[s - 1] = follower
    return tuple(x)


def r(i: int, n: int, times: int = 1) -> int:
    """Return the symbol, position or dimension to which ``times`` rotations map i.

    A rotation maps 2 to 3, 3 to 4, and so on, and n to 2; 1 is fixed.
    """
    return 1 if i == 1 else (i - 2 + times) % (n - 1) + 2


def rotate(x: Node, times: int = 1) -> Node:
    """Apply R ``times`` times to x; R(x) has symbol r(x_j) in position r(j)."""
    n = len(x)
    image = {r(j, n, times): r(symbol, n, times) for j, symbol in enumerate(x, start=1)}
    return tuple(image[position] for position in identity(n))


def position(x: Node, symbol: int) -> int:
    """Return the position of a symbol in a node."""
    return x.index(symbol) + 1


@cache
def necklace(x: Node) -> tuple[Node, ...]:
    """Return x, R(x), R(R(x)), .. up to the first repetition."""
    result = [x]
    while (turned := rotate(result[-1])) != x:
        result.append(turned)
    return tuple(result)


def period(x: Node) -> int:
    """Return p(x), the number of nodes in the necklace of x."""
    return len(necklace(x))


@cache
def necklaces(n: int) -> tuple[tuple[Node, ...], ...]:
    """Return all necklaces but the root's, sorted; each necklace starts at its lowest node."""
    visited = {identity(n)}
    result = []
    for x in nodes(n):
        if x not in visited:
            result.append(necklace(x))
            visited.update(result[-1])
    return tuple(result)


@cache
def nearest_first(n: int) -> tuple[tuple[Node, ...], ...]:
    """Return the necklaces, sorted by distance, then by their lowest node."""
    return tuple(sorted(necklaces(n), key=lambda ring: (distances(identity(n))[ring[0]], ring[0])))


def necklace_distances(n: int) -> list[int]:
    """Return the distances of all necklaces in ascending order."""
    return [distances(identity(n))[ring[0]] for ring in nearest_first(n)]


def v(m: int, n: int) -> int:
    """Return the dimension that belongs to number m: 2, 3, .., n, 2, .. for m = 1, 2, .."""
    return (m - 1) % (n - 1) + 2
