"""Permutations and the star graph S_n: nodes, links, distances (conventions.md).

A node is the tuple of its symbols.
"""

from collections import deque
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from itertools import permutations
from math import factorial

Node = tuple[int, ...]

SYMBOLS = "123456789abcdefghijklmnopqrstuvwxyz"


def identity(n: int) -> Node:
    """Return the node 12..n."""
    return tuple(range(1, n + 1))


@cache
def nodes(n: int) -> tuple[Node, ...]:
    """Return all nodes of S_n in lexicographic order."""
    return tuple(permutations(range(1, n + 1)))


@cache
def ranks(n: int) -> dict[Node, int]:
    """Return every node's index in lexicographic order."""
    return {node: rank for rank, node in enumerate(nodes(n))}


def node_by_counting(n: int, rank: int) -> Node:
    """Return the node with a given rank, computed symbol by symbol."""
    left, node = list(range(1, n + 1)), []
    for place in range(n):
        index, rank = divmod(rank, factorial(n - 1 - place))
        node.append(left.pop(index))
    return tuple(node)


def label(node: Node) -> str:
    """Return the node as text, one character per symbol."""
    return "".join(SYMBOLS[symbol - 1] for symbol in node)


def node_of(text: str) -> Node:
    """Return the node with a given label."""
    return tuple(SYMBOLS.index(character) + 1 for character in text)


def compose(q: Node, x: Node) -> Node:
    """Return the translation of x by q, in which symbol s becomes q_s."""
    return tuple(q[symbol - 1] for symbol in x)


def inverse(q: Node) -> Node:
    """Return the inverse permutation of q."""
    return tuple(q.index(symbol) + 1 for symbol in identity(len(q)))


def shift(x: Node, j: int) -> Node:
    """Return x shifted cyclically right by j positions, or left if j is negative."""
    n = len(x)
    return tuple(x[(place - j) % n] for place in range(n))


def cyclic_roots(n: int) -> list[Node]:
    """Return all n cyclic shifts of the identity."""
    return [shift(identity(n), j) for j in range(n)]


def swap(node: Node, dimension: int) -> Node:
    """Return the neighbour across a dimension d: the symbols in positions 1 and d are swapped."""
    moved = list(node)
    moved[0], moved[dimension - 1] = moved[dimension - 1], moved[0]
    return tuple(moved)


def dimension_between(a: Node, b: Node) -> int:
    """Return the dimension of the link between two neighbours."""
    (dimension,) = [d for d in range(2, len(a) + 1) if swap(a, d) == b]
    return dimension


def diameter(n: int) -> int:
    """Return the diameter D_n = floor(3(n-1)/2)."""
    return 3 * (n - 1) // 2


@cache
def distances(root: Node) -> dict[Node, int]:
    """Return every node's distance from the root, by breadth-first search."""
    result, queue = {root: 0}, deque([root])
    while queue:
        node = queue.popleft()
        for dimension in range(2, len(root) + 1):
            neighbour = swap(node, dimension)
            if neighbour not in result:
                result[neighbour] = result[node] + 1
                queue.append(neighbour)
    return result


def distance_sum(n: int) -> int:
    """Return t_n, the sum of the distances of all nodes from 12..n, by breadth-first search."""
    return sum(distances(identity(n)).values())


def distance_sum_formula(n: int) -> int:
    """Return t_n by its closed form n!(n + 2/n + H_n - 4), where H_n is a harmonic number.

    The closed form is stated in section 2 of Fragopoulou & Akl 1993.
    """
    total = factorial(n) * mean_distance(n)
    assert total.denominator == 1
    return int(total)


def mean_distance(n: int) -> Fraction:
    """Return the mean distance t_n / n! in S_n by the closed form of t_n."""
    return n + Fraction(2, n) + sum(Fraction(1, i) for i in range(1, n + 1)) - 4


def visited(start: Node, dimensions: Iterable[int]) -> list[Node]:
    """Return the nodes, including ``start``, on a path from it across the given dimensions."""
    result = [start]
    for dimension in dimensions:
        result.append(swap(result[-1], dimension))
    return result


def ceil_div(part: int, total: int) -> int:
    """Return ``part / total``, rounded up."""
    return -(-part // total)


def ceil_log2(value: int) -> int:
    """Return the smallest e with 2^e >= value."""
    exponent = 0
    while 2**exponent < value:
        exponent += 1
    return exponent
