"""How many nodes stand at each distance, counted by cycle structure and without an array over nodes.

A polynomial is a list of coefficients: the entry at d counts arrangements that are d links away. A cycle that misses the
first position costs its length + 1; all external chains together cost their positions + their number + 1; and where the
first position is in either, two links less (docs/definitions/nk-star.md, formulas (1) and (2)).
"""

from collections.abc import Iterable
from itertools import zip_longest
from math import comb, perm

Polynomial = list[int]


def star_profile(n: int) -> tuple[int, ...]:
    """Nodes of S_n at the distances 0, 1, .. from a node."""
    return nk_star_profile(n, n)


def nk_star_profile(n: int, k: int) -> tuple[int, ...]:
    """Nodes of S_{n,k} at the distances 0, 1, .. from a node; k = n stands for S_n, which has no external symbols."""
    cycles = _cycles(k)
    chains = [_chains(length, n - k) for length in range(k + 1)]
    free = [
        _sum(_times(cycles[j - i], chains[i], comb(j, i)) for i in range(j + 1)) for j in range(k)
    ]
    at_home = free[k - 1]
    in_cycle = (_shifted(free[k - m], m - 1, perm(k - 1, m - 1)) for m in range(2, k + 1))
    in_chain = (_times(cycles[k - j], chains[j][2:], comb(k - 1, j - 1)) for j in range(1, k + 1))
    counts = _sum([at_home, *in_cycle, *in_chain])
    return tuple(counts[: max(distance for distance, count in enumerate(counts) if count) + 1])


def hypercube_profile(d: int) -> tuple[int, ...]:
    """Nodes of Q_d at the distances 0, 1, .. from a node."""
    return tuple(comb(d, distance) for distance in range(d + 1))


def _cycles(largest: int) -> list[Polynomial]:
    """For each number j of positions: all ways to fill them with their own symbols, by M + alpha."""
    ways: list[Polynomial] = [[1]]
    for j in range(1, largest + 1):  # the last position is at home, or in a cycle of m
        ways.append(
            _sum(
                [
                    ways[j - 1],
                    *(_shifted(ways[j - m], m + 1, perm(j - 1, m - 1)) for m in range(2, j + 1)),
                ]
            )
        )
    return ways


def _chains(positions: int, externals: int) -> Polynomial:
    """All ways to make so many positions into external chains, by M' + beta + [beta > 0]."""
    if positions == 0:
        return [1]
    counts = [0] * (2 * positions + 2)
    for beta in range(1, min(positions, externals) + 1):
        # Lah's number of ways into beta sequences, each of which begins with an external symbol of its own.
        sequences = comb(positions - 1, beta - 1) * perm(positions, positions - beta)
        counts[positions + beta + 1] = sequences * perm(externals, beta)
    return counts


def _sum(terms: Iterable[Polynomial]) -> Polynomial:
    return [sum(column) for column in zip_longest(*terms, fillvalue=0)]


def _shifted(polynomial: Polynomial, distance: int, factor: int) -> Polynomial:
    return [0] * distance + [factor * count for count in polynomial]


def _times(one: Polynomial, other: Polynomial, factor: int) -> Polynomial:
    return _sum([_shifted(other, distance, factor * count) for distance, count in enumerate(one)])
