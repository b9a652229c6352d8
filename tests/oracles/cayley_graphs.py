"""Families of Cayley graphs by definition: the neighbours of a node, and level sizes.

A node is its label, a text with one character per symbol or coordinate. In the burnt
pancake graph, letters are symbols that have been turned over: ``a`` is a turned ``1``.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import comb

Neighbours = Callable[[str], Iterator[str]]


def exchange(node: str, i: int, j: int) -> str:
    """Return a node with the symbols in two positions (counted from 0) swapped."""
    symbols = list(node)
    symbols[i], symbols[j] = symbols[j], symbols[i]
    return "".join(symbols)


def pancake(node: str) -> Iterator[str]:
    """Yield the neighbours in the pancake graph: the first 2, 3, .. symbols are reversed."""
    for count in range(2, len(node) + 1):
        yield node[:count][::-1] + node[count:]


def burnt_pancake(node: str) -> Iterator[str]:
    """Yield the neighbours in the burnt pancake graph.

    The first 1, 2, .. symbols are reversed, and each of them is turned over.
    """
    turned = str.maketrans("123456789abcdefghi", "abcdefghi123456789")
    for count in range(1, len(node) + 1):
        yield node[:count][::-1].translate(turned) + node[count:]


def bubble_sort(node: str) -> Iterator[str]:
    """Yield the neighbours in the bubble-sort graph: two adjacent symbols are swapped."""
    for place in range(len(node) - 1):
        yield exchange(node, place, place + 1)


def bubble_sort_star(node: str) -> Iterator[str]:
    """Yield the neighbours in the star graph and those in the bubble-sort graph."""
    yield from {*bubble_sort(node), *(exchange(node, 0, place) for place in range(1, len(node)))}


def modified_bubble_sort(node: str) -> Iterator[str]:
    """Yield the neighbours in the modified bubble-sort graph.

    Two adjacent symbols, or the first and the last symbol, are swapped.
    """
    yield from bubble_sort(node)
    yield exchange(node, 0, len(node) - 1)


def complete_transposition(node: str) -> Iterator[str]:
    """Yield the neighbours in the complete transposition graph: any two symbols are swapped."""
    for i, j in combinations(range(len(node)), 2):
        yield exchange(node, i, j)


def alternating_group(node: str) -> Iterator[str]:
    """Yield the neighbours in the alternating group graph.

    The symbols in positions 1, 2 and one other position are rotated in either direction.
    """
    for i in range(2, len(node)):
        a, b, between, c, after = node[0], node[1], node[2:i], node[i], node[i + 1 :]
        yield c + a + between + b + after
        yield b + c + between + a + after


def torus(*sides: int) -> Neighbours:
    """Return the function that yields the neighbours in a torus with the given side lengths.

    One coordinate changes by 1, modulo its side length.
    """

    def neighbours(node: str) -> Iterator[str]:
        for place, side in enumerate(sides):
            for step in {1, side - 1}:
                moved = (int(node[place], 36) + step) % side
                yield (
                    node[:place] + "0123456789abcdefghijklmnopqrstuvwxyz"[moved] + node[place + 1 :]
                )

    return neighbours


def search(start: str, neighbours: Neighbours) -> dict[str, int]:
    """Return the distances of all reachable nodes from a node, by breadth-first search."""
    distance = {start: 0}
    queue = [start]
    for node in queue:
        for other in neighbours(node):
            if other not in distance:
                distance[other] = distance[node] + 1
                queue.append(other)
    return distance


def multiply(factors: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the coefficients of a product of polynomials, given the factors' coefficients."""
    product = [1]
    for factor in factors:
        longer = [0] * (len(product) + len(factor) - 1)
        for i, a in enumerate(product):
            for j, b in enumerate(factor):
                longer[i + j] += a * b
        product = longer
    return tuple(product)


def star_levels(n: int) -> tuple[int, ...]:
    """Return the number of nodes of S_n at each distance, by counting permutation cycles.

    A node with m displaced symbols in c cycles has distance m + c if symbol 1 is in its place, and
    m + c - 2 otherwise (Akers & Krishnamurthy 1989).
    """
    deranged = {(0, 0): 1}  # permutations of m symbols with c cycles and without fixed symbols
    for m in range(1, n + 1):
        for c in range(1, n + 1):
            fewer = deranged.get((m - 1, c), 0) + deranged.get((m - 2, c - 1), 0)
            deranged[m, c] = (m - 1) * fewer
    levels = [0] * (3 * (n - 1) // 2 + 1)
    for (m, c), count in deranged.items():
        if count and m < n:
            levels[m + c] += comb(n - 1, m) * count
        if count and m:
            levels[m + c - 2] += comb(n - 1, m - 1) * count
    return tuple(levels)
