"""The allgather trees of fragopoulou-akl.md (A1 to A4), with the names used on that page.

The type of a link is its dimension.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from math import factorial
from typing import NamedTuple

from oracles.rooted_trees import Tree
from oracles.rotation import distance, from_cycles, necklace, necklaces, r, v
from oracles.schedule_rows import Row
from oracles.star_graph import Node, ceil_div, diameter, identity, nodes, swap, visited


def odd(x: Node) -> bool:
    """Return whether x is an odd permutation."""
    return sum(a > b for a, b in combinations(x, 2)) % 2 == 1


def ehrlich(m: int) -> list[int]:
    """Return the link types along the Hamiltonian path of S_m from Ehrlich's Algorithm E."""
    b, c = list(range(m)), [0] * (m + 1)
    types: list[int] = []
    while True:
        k = 1
        while k < m and c[k] == k:
            c[k] = 0
            k += 1
        if k == m:
            return types
        c[k] += 1
        types.append(b[k] + 1)
        b[1:k] = b[1:k][::-1]


def depth_first(u: Node, goal: Node, free: Sequence[int]) -> list[int] | None:
    """Return the link types of the first path from u to goal by depth-first search, or None.

    The path visits all nodes that differ from u only in the free positions, each exactly once.
    """
    total = factorial(len(free))
    types: list[int] = []
    visited = {u}

    def onward(x: Node) -> bool:
        if len(visited) == total:
            return x == goal
        for i in sorted(free)[1:]:
            y = swap(x, i)
            if y not in visited and (y != goal or len(visited) == total - 1):
                visited.add(y)
                types.append(i)
                if onward(y):
                    return True
                visited.discard(y)
                types.pop()
        return False

    return types if onward(u) else None


def ham_path(u: Node, goal: Node, free: frozenset[int]) -> list[int]:
    """Return the link types of a path from u to goal, built recursively as fragopoulou-akl.md says.

    The path visits all nodes that differ from u only in the free positions, each exactly once.
    """
    m = len(free)
    if m <= 4:
        result = depth_first(u, goal, sorted(free))
        assert result is not None
        return result
    p = max(i for i in free if i > 1 and u[i - 1] != goal[i - 1])
    first, last = u[p - 1], goal[p - 1]
    symbols = [first, *sorted({u[i - 1] for i in free} - {first, last}), last]
    inner, cur, types = free - {p}, u, list[int]()
    for k in range(m):
        f = goal if k == m - 1 else leaving(cur, symbols[k + 1], inner)
        types += ham_path(cur, f, inner)
        if k < m - 1:
            types.append(p)
            cur = swap(f, p)
    return types


def leaving(cur: Node, following: int, inner: frozenset[int]) -> Node:
    """Return f, the node at which the path of `ham_path` leaves the substar entered at ``cur``.

    The first symbol of f is ``following``. The other symbols in the inner positions ascend, except
    that the last two are swapped if f and cur would otherwise have the same parity.
    """
    f = list(cur)
    rest = sorted({cur[i - 1] for i in inner} - {following})
    f[0] = following
    for i, s in zip(sorted(inner)[1:], rest, strict=True):
        f[i - 1] = s
    if odd(tuple(f)) == odd(cur):
        a, b = sorted(inner)[-2:]
        f[a - 1], f[b - 1] = f[b - 1], f[a - 1]
    return tuple(f)


@cache
def cycle_types(n: int) -> list[int]:
    """Return the n! link types along the Hamiltonian cycle that starts at the identity."""
    if n == 3:
        return [2, 3, 2, 3, 2, 3]
    e = identity(n)
    return [*ham_path(e, swap(e, 2), frozenset(e)), 2]


def cycle_tree(n: int) -> Tree:
    """Return the Hamiltonian cycle from the identity, without its last link, as a tree (A4)."""
    way = visited(identity(n), cycle_types(n)[:-1])
    return dict(zip(way[1:], way, strict=False))


def w(n: int) -> list[int]:
    """Return w, the link types along T_2, the first of the n-1 rotated Hamiltonian paths."""
    return [2, *(d + 1 for d in ehrlich(n - 1))]


def subtree(n: int, j: int) -> list[Node]:
    """Return the nodes of path T_j except the root, in the order in which they are reached."""
    return visited(identity(n), [r(i, n, j - 2) for i in w(n)])[1:]


def leaves(n: int) -> list[Node]:
    """Return the nodes reached in phase 2: all nodes that start with 1, except the root."""
    return [u for u in nodes(n)[1:] if u[0] == 1]


def rotated_tree(n: int) -> Tree:
    """Return the tree that consists of the paths T_2, .., T_n and the leaves (algorithm 1).

    The link from a leaf to its parent has the position of symbol n as its dimension.
    """
    tree: Tree = {}
    for j in range(2, n + 1):
        way = [identity(n), *subtree(n, j)]
        tree |= dict(zip(way[1:], way, strict=False))
    return tree | {u: swap(u, u.index(n) + 1) for u in leaves(n)}


def phase_1(n: int) -> Iterator[Row]:
    """Yield the rows of phase 1: step t extends each path T_j by one link, j = 2..n.

    The dimension of the link is w_t after j-2 rotations.
    """
    ends = [identity(n)] * (n - 1)
    for t, i in enumerate(w(n), start=1):
        for e, tail in enumerate(ends):
            ends[e] = swap(tail, r(i, n, e))
            yield Row(t, tail, r(i, n, e), ends[e], e, 0)


def phase_2(n: int, after: int, symbols: Sequence[int] | None = None) -> Iterator[Row]:
    """Yield the rows of phase 2, after the step ``after``: one leaf per dimension and step.

    Copy c reaches leaf u over the dimension that equals the position of symbol ``symbols[c]`` in u.
    By default there is one copy, with symbol n.
    """
    for i in range(2, n + 1):
        served = [(c, u) for c, s in enumerate(symbols or [n]) for u in leaves(n) if u[i - 1] == s]
        for k, (c, u) in enumerate(served, start=1):
            yield Row(after + k, swap(u, i), i, u, c % (n - 1), c)


class Generator(NamedTuple):
    """The generator G_k of a necklace: a node, and the dimension of the link to its parent."""

    node: Node
    type: int


def generator(n: int, k: int) -> Generator | None:
    """Return the generator G_k of the first necklace at distance k, or None if it is undefined."""
    if n % 2 and k == diameter(n):
        return None
    if k <= n - 1:
        return Generator(from_cycles(n, [range(k + 1, 0, -1)]), k + 1)
    symbols = list(range(n, 0, -1))
    pairs = [(symbols.pop(0), symbols.pop(0)) for _ in range(k + 1 - n)]
    return Generator(from_cycles(n, [*pairs, symbols]), pairs[-1][1])


class Numbered(NamedTuple):
    """The tree MBST, the number of each node, and the necklaces in ascending order of numbers."""

    tree: Tree
    numbers: dict[Node, int]
    order: list[tuple[Node, ...]]


def numbered(n: int, generators: Mapping[int, Generator]) -> Numbered:
    """Number all nodes and build the tree MBST (A3), given the generators G_k that are defined."""
    order: list[tuple[Node, ...]] = []
    count = 0
    for k in range(1, diameter(n) + 1):
        at_distance = [ring for ring in necklaces(n) if distance(ring[0]) == k]
        first = [ring for ring in at_distance if k in generators and generators[k].node in ring]
        ones = [ring for ring in at_distance if ring[0][0] == 1]
        for ring in [
            *first,
            *(other for other in at_distance if other not in first + ones),
            *ones,
        ]:
            free = v(count + 1, n)
            if ring in first:
                start = necklace(generators[k].node)[(free - generators[k].type) % (n - 1)]
            else:
                start = min(y for y in ring if distance(swap(y, free)) < distance(y))
            order.append(necklace(start))
            count += len(ring)
    numbers = {x: m for m, x in enumerate((x for ring in order for x in ring), start=1)}
    tree = {x: swap(x, v(m, n)) for x, m in numbers.items()}
    return Numbered(tree, {identity(n): 0} | numbers, order)


@cache
def mbst(n: int) -> Numbered:
    """Return the tree MBST (A3), built with the generators that fragopoulou-akl.md defines."""
    defined = {k: generator(n, k) for k in range(1, diameter(n) + 1)}
    return numbered(n, {k: each for k, each in defined.items() if each})


def step(m: int, n: int) -> int:
    """Return the step in which the message reaches the node with number m."""
    return ceil_div(m, n - 1)
