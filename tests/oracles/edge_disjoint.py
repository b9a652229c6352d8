"""The shortest-path tree SPT and graph SPG, and the edge-disjoint trees EDT, node by node.

The trees follow edge-disjoint-trees.md, Definitions 6 to 8 of Fragopoulou & Akl 1996. SPG and EDT
consist of subtrees l = 2..n. I is the identity, and S^k the set of nodes with symbol 1 in
position k.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from oracles.rooted_trees import Tree, children, translated
from oracles.rotation import position, r
from oracles.star_graph import Node, identity, nodes, swap


def dimensions(x: Node) -> range:
    """Return the dimensions 2..n of the star graph that contains x."""
    return range(2, len(x) + 1)


def in_front(x: Node, symbol: int) -> Node:
    """Return nbr(x, s), the neighbour of x whose first symbol is s."""
    return swap(x, position(x, symbol))


def right_of(k: int, n: int) -> list[int]:
    """Return the positions cyclically to the right of k: k+1, .., n, 2, .., k."""
    order, at = [], k
    for _ in range(n - 1):
        at = r(at, n)
        order.append(at)
    return order


def fmr(x: Node, k: int) -> int:
    """Return the first position, cyclically to the right of k, that has a misplaced symbol."""
    return next(j for j in right_of(k, len(x)) if x[j - 1] != j)


def p(x: Node) -> int:
    """Return the dimension of the link from x to its SPT parent; x must not start with 1."""
    k = position(x, 1)
    return x[0] if x[0] != k else fmr(x, k)


def spt_parent(x: Node) -> Node | None:
    """Return the parent of x in SPT, or None if the first symbol of x is 1."""
    return None if x[0] == 1 else swap(x, p(x))


def spg_parent(x: Node, tree: int) -> Node | None:
    """Return the parent of x in a subtree of SPG; None for the root and outside the subtree."""
    if x[0] == 1:
        return None if x == identity(len(x)) else swap(x, tree)
    return spt_parent(x) if position(x, 1) == tree else None


def edt_parent(x: Node, tree: int) -> Node | None:
    """Return the parent of x in a subtree of EDT, or None if x is the identity."""
    if x == identity(len(x)):
        return None
    if x[0] == 1:
        return swap(x, tree)
    k, a = position(x, 1), x[0]
    q = x[p(x) - 1]
    if tree == k:
        symbol = q
    elif a == k:
        symbol = 1 if tree == q else tree
    elif q == k:
        symbol = 1 if tree == a else tree
    else:
        symbol = {a: 1, q: k}.get(tree, tree)
    return in_front(x, symbol)


def spt(root: Node) -> list[Tree]:
    """Return a list with one tree, SPT, which need not contain all nodes."""
    return [at_root({x: spt_parent(x) for x in nodes(len(root))}, root)]


def spg(root: Node) -> list[Tree]:
    """Return the n-1 subtrees of SPG, which need not contain all nodes."""
    return [
        at_root({x: spg_parent(x, tree) for x in nodes(len(root))}, root)
        for tree in dimensions(root)
    ]


@cache
def edt(root: Node) -> list[Tree]:
    """Return the n-1 edge-disjoint trees with the given root."""
    return [
        at_root({x: edt_parent(x, tree) for x in nodes(len(root))}, root)
        for tree in dimensions(root)
    ]


def at_root(parents: Mapping[Node, Node | None], root: Node) -> Tree:
    """Return the tree with the given parents, translated from the identity to another root.

    Nodes whose parent is None are omitted.
    """
    return translated({x: parent for x, parent in parents.items() if parent is not None}, root)


def depth_first(trees: Sequence[Tree], root: Node) -> list[list[tuple[Node, Node]]]:
    """Return the (parent, child) links of each subtree in depth-first order.

    In subtree k, children are visited by dimension in the order phi_k = k, k+1, .., n, 2, .., k-1.
    """
    orders = []
    for k, tree in enumerate(trees, start=2):
        below = children(tree)
        phi = [k, *right_of(k, len(root))[:-1]]
        order, waiting = [], [(root, root)]
        while waiting:
            link = waiting.pop()
            order.append(link)
            ends = [swap(link[1], d) for d in reversed(phi)]
            waiting += [(link[1], end) for end in ends if end in below.get(link[1], ())]
        orders.append(order[1:])
    return orders
