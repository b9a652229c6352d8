"""The number of nodes at each distance, counted by cycle structure without a node array.

A polynomial is a list of coefficients: entry d counts the arrangements at distance d. The distance
is the sum of these costs (docs/definitions/nk-star.md, formulas (1) and (2)):

* Each cycle of two or more positions costs its length + 1.
* All external chains (chains that begin with a symbol that the root lacks) together cost the number
  of their positions + the number of chains + 1.
* If position 1 is on such a cycle or chain, the distance is 2 less.
"""

from collections.abc import Iterable
from itertools import zip_longest
from math import comb, perm

Polynomial = list[int]


def nk_star_profile(n: int, k: int) -> tuple[int, ...]:
    """Return the number of nodes of S_{n,k} at each distance 0, 1, .. from any node.

    k = n gives S_n, which has no external symbols.
    """
    cycles = _cycles(k)
    chains = [_chains(length, n - k) for length in range(k + 1)]
    free = [
        _sum(_times(cycles[j - i], chains[i], comb(j, i)) for i in range(j + 1)) for j in range(k)
    ]
    at_home = free[k - 1]
    in_cycle = (_shifted(free[k - m], m - 1, perm(k - 1, m - 1)) for m in range(2, k + 1))
    in_chain = (_times(cycles[k - j], chains[j][2:], comb(k - 1, j - 1)) for j in range(1, k + 1))
    counts = _sum([at_home, *in_cycle, *in_chain])
    # Trailing zeros, which stand for distances that no node has, are removed.
    return tuple(counts[: max(distance for distance, count in enumerate(counts) if count) + 1])


def _cycles(largest: int) -> list[Polynomial]:
    """Return, for each j, the polynomial that counts the permutations of j positions by cost."""
    ways: list[Polynomial] = [[1]]
    for j in range(1, largest + 1):
        # The last position is a fixed point, or it is on a cycle of m positions.
        in_cycle = (_shifted(ways[j - m], m + 1, perm(j - 1, m - 1)) for m in range(2, j + 1))
        ways.append(_sum([ways[j - 1], *in_cycle]))
    return ways


def _chains(positions: int, externals: int) -> Polynomial:
    """Return the polynomial that counts the divisions of positions into external chains by cost."""
    if positions == 0:
        return [1]
    counts = [0] * (2 * positions + 2)
    for beta in range(1, min(positions, externals) + 1):
        # Lah number: the divisions into beta sequences, each of which begins with its own
        # external symbol.
        sequences = comb(positions - 1, beta - 1) * perm(positions, positions - beta)
        counts[positions + beta + 1] = sequences * perm(externals, beta)
    return counts


def _sum(terms: Iterable[Polynomial]) -> Polynomial:
    return [sum(column) for column in zip_longest(*terms, fillvalue=0)]


def _shifted(polynomial: Polynomial, distance: int, factor: int) -> Polynomial:
    return [0] * distance + [factor * count for count in polynomial]


def _times(left: Polynomial, right: Polynomial, factor: int) -> Polynomial:
    return _sum([_shifted(right, distance, factor * count) for distance, count in enumerate(left)])
