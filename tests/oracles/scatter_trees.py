"""The scatter trees of Fragopoulou & Akl 1993, section 5, node by node (fragopoulou-akl.md, A5)."""

from collections.abc import Callable
from functools import cache
from math import factorial

from oracles.rooted_trees import Tree, translated
from oracles.rotation import (
    Cycle,
    cycle_of,
    cycles,
    nearest_first,
    necklace,
    period,
    position,
    turned_to_end,
    v,
)
from oracles.star_graph import Node, compose, dimension_between, nodes, swap


def rank_by_ordering(k: int, symbol: int, n: int) -> int:
    """Return the position of a symbol in the order <_k, which is 1, k, k+1, .., n, 2, .., k-1."""
    return [1, *range(k, n + 1), *range(2, k)].index(symbol)


def canonical(x: Node, k: int | None = None) -> list[Cycle]:
    """Return canon(x), the cycles of x in the canonical notation for the order <_k.

    By default k is the position of symbol 1. Each cycle ends with its smallest symbol, and these
    last symbols decrease from cycle to cycle.
    """
    order = position(x, 1) if k is None else k

    def rank(symbol: int) -> int:
        return rank_by_ordering(order, symbol, len(x))

    ended = [turned_to_end(cycle, min(cycle, key=rank)) for cycle in cycles(x)]
    return sorted(ended, key=lambda cycle: rank(cycle[-1]), reverse=True)


def contest(x: Node) -> dict[Node, Cycle]:
    """Return the candidates for the generator of the necklace of x (Definition 7).

    The candidates are the nodes in which symbol 2 is displaced, each with its cycle that starts
    with 2.
    """
    return {y: cycle_of(y, 2) for y in necklace(x) if y[1] != 2}


def generator(x: Node) -> Node:
    """Return the generator of the necklace of x: the lowest node that satisfies Definition 7."""
    if x[0] != 1:
        (result,) = (y for y in necklace(x) if y[1] == 1)
        return result
    rivals = contest(x)
    return min(rivals, key=lambda y: (rivals[y], y))


@cache
def displacement(x: Node) -> int:
    """Return the displacement of x, the number of rotations from its generator (Definition 8)."""
    return necklace(generator(x)).index(x)


def parent_dimension(x: Node) -> int:
    """Return the dimension of the link to the parent, for a node that does not start with 1."""
    return x[0] if len(cycles(x)) == 1 else canonical(x)[-2][-1]


def tree(root: Node, inner: Callable[[Node], int], leaf: Callable[[Node], int]) -> Tree:
    """Return the tree with the given root and functions for the dimension of each parent link.

    Nodes that start with 1 use the function ``leaf``, all other nodes ``inner``.
    """
    across = {x: leaf(x) if x[0] == 1 else inner(x) for x in nodes(len(root))[1:]}
    return translated({x: swap(x, dimension) for x, dimension in across.items()}, root)


@cache
def near_balanced(root: Node) -> Tree:
    """Return the near-balanced tree of Definitions 13 and 14."""
    return tree(root, parent_dimension, lambda x: displacement(x) + 2)


def repeated_dimensions(x: Node) -> list[int]:
    """Return the dimensions of the links to all parents of a node that starts with 1.

    The dimensions are d + 2 + i p, where d is the displacement of the node and p the size of its
    necklace.
    """
    p = period(x)
    return [displacement(x) + 2 + i * p for i in range((len(x) - 1) // p)]


@cache
def perfectly_balanced(root: Node) -> tuple[Tree, ...]:
    """Return the n-1 subtrees of the perfectly balanced graph of Definitions 15 and 16.

    Subtree d is reached from the root across dimension d = 2..n; each tree includes the root.
    """
    n = len(root)
    trees: list[Tree] = [{} for _ in range(n - 1)]
    for x in nodes(n)[1:]:
        if x[0] == 1:
            for dimension in repeated_dimensions(x):
                trees[dimension - 2][compose(root, x)] = compose(root, swap(x, dimension))
        else:
            trees[position(x, 1) - 2][compose(root, x)] = compose(
                root, swap(x, parent_dimension(x))
            )
    return tuple(trees)


@cache
def running_numbers(n: int, first: int = 1) -> dict[Node, int]:
    """Number all nodes that start with 1, except the identity, consecutively from ``first``."""
    numbers: dict[Node, int] = {}
    m = first
    for ring in [ring for ring in nearest_first(n) if ring[0][0] == 1]:
        y = min(y for y in ring if y[v(m, n) - 1] != v(m, n))
        for x in necklace(y):
            numbers[x] = m
            m += 1
    return numbers


@cache
def balanced(root: Node, copy: int = 0) -> Tree:
    """Return the balanced tree of Algorithm 1 for the copy with this number, from 0 on.

    The nodes of a copy are numbered after those of the previous copy.
    """
    n = len(root)
    numbers = running_numbers(n, 1 + copy * (factorial(n - 1) - 1))
    return tree(root, parent_dimension, lambda x: v(numbers[x], n))


def branch_dimension(x: Node, parents: Tree, root: Node) -> int:
    """Return the dimension of the first link on the path from the root to x."""
    while parents[x] != root:
        x = parents[x]
    return dimension_between(root, x)
