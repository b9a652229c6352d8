"""The (n,k)-star graph and its trees by the definitions of nk-star.md, node by node.

A node is the tuple of its k symbols, and Id is the node 12..k.
"""

from functools import cache
from itertools import permutations

from oracles.rooted_trees import Tree, rerooted, translated
from oracles.star_graph import Node, identity, shift, swap


@cache
def nodes(n: int, k: int) -> tuple[Node, ...]:
    """Return all nodes of S_{n,k} in lexicographic order."""
    return tuple(permutations(range(1, n + 1), k))


@cache
def ranks(n: int, k: int) -> dict[Node, int]:
    """Return every node's index in lexicographic order."""
    return {node: rank for rank, node in enumerate(nodes(n, k))}


def missing(v: Node, n: int) -> list[int]:
    """Return the symbols that v lacks, in ascending order."""
    return [symbol for symbol in range(1, n + 1) if symbol not in v]


def residual(v: Node, x: int) -> Node:
    """Return res_x(v), the node v with its first symbol replaced by x, a symbol that v lacks."""
    assert x not in v
    return (x, *v[1:])


def across(v: Node, port: int, n: int) -> Node:
    """Return the neighbour of v across a port.

    Ports 2..k swap the symbols in positions 1 and ``port``. Port k+s replaces the first symbol by
    the symbol s places further, cyclically, among the sorted symbols that can be first.
    """
    if port <= len(v):
        return swap(v, port)
    clique = sorted([v[0], *missing(v, n)])
    return (clique[(clique.index(v[0]) + port - len(v)) % len(clique)], *v[1:])


def port_between(a: Node, b: Node, n: int) -> int:
    """Return the port of a that leads to its neighbour b."""
    k = len(a)
    if a[1:] != b[1:]:
        (port,) = [i for i in range(2, k + 1) if swap(a, i) == b]
        return port
    clique = sorted([a[0], *missing(a, n)])
    return k + (clique.index(b[0]) - clique.index(a[0])) % len(clique)


def neighbours(v: Node, n: int) -> list[Node]:
    """Return all n-1 neighbours of v, not in the order of ports."""
    return [swap(v, i) for i in range(2, len(v) + 1)] + [residual(v, x) for x in missing(v, n)]


@cache
def distances(root: Node, n: int) -> dict[Node, int]:
    """Return every node's distance from the root, by breadth-first search."""
    result, front = {root: 0}, [root]
    for level in range(1, len(nodes(n, len(root)))):
        front = list(dict.fromkeys(b for a in front for b in neighbours(a, n) if b not in result))
        result |= dict.fromkeys(front, level)
    return result


def diameter(n: int, k: int) -> int:
    """Return the diameter: 2k-1 up to k = floor(n/2), then k + floor((n-1)/2)."""
    return 2 * k - 1 if k <= n // 2 else k + (n - 1) // 2


def extension(r: Node, n: int) -> Node:
    """Return r extended to n symbols by appending the missing symbols in ascending order."""
    return (*r, *missing(r, n))


def root_of(i: int, n: int, k: int) -> Node:
    """Return R_i(Id), the first k symbols of 12..n after a cyclic shift right by i positions."""
    return shift(identity(n), i)[:k]


def chain(v: Node, e: int) -> list[int]:
    """Return the chain j_1, .., j_m of an external symbol e (a symbol larger than k).

    Symbol e is in position j_1, symbol j_1 in position j_2, and so on; v lacks symbol j_m.
    """
    walk = [v.index(e) + 1]
    while walk[-1] in v:
        walk.append(v.index(walk[-1]) + 1)
    return walk


def externals(v: Node) -> list[int]:
    """Return the external symbols of v (the symbols larger than k), in the order of v."""
    return [symbol for symbol in v if symbol > len(v)]


def desired(v: Node, e: int) -> int:
    """Return d(e), the last position in the chain of e."""
    return chain(v, e)[-1]


def internal_cycles(v: Node) -> list[list[int]]:
    """Return the permutation cycles of v with two or more symbols, none of which is external."""
    in_chains = {j for e in externals(v) for j in chain(v, e)}
    left = {j for j in range(1, len(v) + 1) if v[j - 1] != j} - in_chains
    result = []
    while left:
        cycle = [min(left)]
        while (after := v[cycle[-1] - 1]) != cycle[0]:
            cycle.append(after)
        left -= set(cycle)
        result.append(cycle)
    return result


def distance(v: Node) -> int:
    """Return the distance of v from Id by formulas (1) and (2) of the paper.

    The formulas use the lengths of the internal cycles and of the chains of external symbols.
    """
    chains = [chain(v, e) for e in externals(v)]
    total = sum(len(cycle) + (-1 if 1 in cycle else 1) for cycle in internal_cycles(v))
    if chains:
        total += (
            sum(map(len, chains)) + len(chains) + (-1 if any(1 in first for first in chains) else 1)
        )
    return total


def others_first(v: Node) -> int:
    """Return the symbol that replaces an external first symbol (Definition 3, corrected).

    The symbol is the smallest d(f) of the other external symbols f, or d(v_1) if there are none.
    """
    e = v[0]
    return min([desired(v, f) for f in externals(v) if f != e], default=desired(v, e))


def parent(v: Node) -> Node:
    """Return the parent of v in SP(Id), the next node on a shortest path to Id."""
    if v[0] == 1:
        return swap(v, min(i for i in range(2, len(v) + 1) if v[i - 1] != i))
    if v[0] <= len(v):
        return swap(v, v[0])
    return residual(v, others_first(v))


@cache
def greedy(r: Node, n: int) -> Tree:
    """Return the tree SP(r), which is SP(Id) with all symbols relabelled by the extension of r."""
    others = nodes(n, len(r))[1:]
    return translated({v: parent(v) for v in others}, extension(r, n))


def multiple_at_identity(n: int, k: int) -> list[Tree]:
    """Return the n-1 trees MT with root Id: tree i is SP(R_i(Id)), re-rooted at Id."""
    return [rerooted(greedy(root_of(i, n, k), n), identity(n)[:k]) for i in range(1, n)]


def multiple(r: Node, n: int) -> list[Tree]:
    """Return the n-1 trees MT with root r: the trees at Id, relabelled by r's extension."""
    q = extension(r, n)
    return [translated(tree, q) for tree in multiple_at_identity(n, len(r))]
