"""The trees, schedules and times of Tseng & Sheu 1997 (tseng-sheu.md, A1 to A6)."""

from collections import Counter
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from oracles.rooted_trees import Tree, depths, rerooted
from oracles.rotation import r
from oracles.star_graph import (
    Node,
    diameter,
    dimension_between,
    identity,
    nodes,
    shift,
    swap,
)


def dif(v: Node, r: Node) -> int:
    """Return the smallest position k > 1 in which v and r differ (dif in A1)."""
    return min(k for k in range(2, len(r) + 1) if v[k - 1] != r[k - 1])


def alpha(v: Node, r: Node) -> int:
    """Return the dimension of the link from v to its parent in the tree L(r) (alpha in A1)."""
    return dif(v, r) if v[0] == r[0] else r.index(v[0]) + 1


@cache
def greedy(r: Node) -> Tree:
    """Return the greedy tree L(r), whose paths to the root r are shortest paths (A1)."""
    return {v: swap(v, alpha(v, r)) for v in nodes(len(r)) if v != r}


@cache
def multiple(r: Node) -> tuple[Tree, ...]:
    """Return the n-1 trees of the construction `multiple` with root r (A2).

    Tree i is the greedy tree of r shifted cyclically by i positions, re-rooted at r.
    """
    return tuple(rerooted(greedy(shift(r, i)), r) for i in range(1, len(r)))


def height_of_multiple(n: int) -> int:
    """Return the maximum height of the trees of `multiple`, by its closed form (A6).

    The height is D_n + n + g - 2, where g is the largest proper divisor of n, but 1 for n = 2.
    """
    largest = max(d for d in range(1, n) if n % d == 0)
    return 1 if n == 2 else diameter(n) + n + largest - 2


def dimension_change(i: int, tree: Tree, root: Node) -> Tree:
    """Return the i-th dimension change of a tree, which has the same root (A4).

    On every path from the root, each dimension is rotated i times.
    """
    image = {root: root}
    for node in sorted(tree, key=depths(tree, root).__getitem__):
        dimension = r(dimension_between(tree[node], node), len(root), i)
        image[node] = swap(image[tree[node]], dimension)
    return {image[child]: image[parent] for child, parent in tree.items()}


def literally_changed(i: int, tree: Tree, n: int, k: int) -> Counter[Node]:
    """Apply the dimension change i to a tree on S_{n,k}, and count the paths to each node.

    Labels are extended to n symbols; the paper writes the symbols after position k in brackets.
    """
    label = {identity(k): identity(n)}
    image = {identity(k): identity(n)}
    for node in sorted(tree, key=depths(tree, identity(k)).__getitem__):
        above = label[tree[node]]
        (dimension,) = [d for d in range(2, n + 1) if swap(above, d)[:k] == node]
        label[node] = swap(above, dimension)
        image[node] = swap(image[tree[node]], r(dimension, n, i))
    return Counter(item[:k] for item in image.values())


class Prices(NamedTuple):
    """Message size m in bytes, start-up time T_s, and time T_c per byte, as exact fractions."""

    m: Fraction
    start_up: Fraction
    byte: Fraction


def time_of_multiple(n: int, ports: str, segments: int, prices: Prices) -> Fraction:
    """Return the time of Algorithm 1 with p segments per tree by equation (3) in A6.

    The time is (h+p-1)(T_s + a/p) with a = 2m T_c/(n-1) and tree height h, times n-1 if one-port.
    """
    a = 2 * prices.m * prices.byte / (n - 1)
    slots = (height_of_multiple(n) + segments - 1) * (1 if ports == "all" else n - 1)
    return slots * (prices.start_up + a / segments)
