"""How far nodes are from the root in the trees EDT, counted without growing them.

The *detour* of a node x in tree l is its level there less its distance. Say that symbol 1 lies on a cycle of L symbols
(1 x_1 .. k), L = 1 in S^1, and that q = x_p is the first symbol of x's parent in SPT, which is across dimension p = p(x).

* S^1: a hop across dimension l, then a shortest path. The detour is 0 where l is displaced, 2 where it is fixed.
* L >= 2, tree k is a shortest path: 0.
* L >= 2, any other tree: two hops, over the neighbour with first symbol l, drop 1 from its cycle and bring l into position k;
  the node of S^1 that they reach has l displaced. (In tree x_1 one hop does it, to where x_1 is displaced from L = 3 on.)
  So the detour is 1 or 2 plus the difference of the distances, which are cycles + displaced symbols, less 2 outside S^1:
  4 where l is fixed; 2 where it is on another cycle; on the cycle of 1, 2 for l = x_1, 4 for others but x_{x_1}.
* Tree q, if it is not tree k, is different. If L = 2, the node of S^1 is reached in one hop, and q is displaced there: 0
  instead of 2. If L = 3, q is k. If L >= 4, q = x_{x_1}, and the hop is to y with first symbol k, whose cycle of 1 is (1 k)
  and whose distance is one more. If q is y's too, the detour is 2 by the case L = 2, else 4.

The nodes of the last kind with a detour of 2 are found from y: given y, with L = 2 and more than 1 and k displaced, only
x_1 = p(y) will do.

*Sums.* For each L from 2 on there are (n-1)! nodes, on average with one fixed symbol (none if L = n) and n - L - 1 symbols on
other cycles (also none). So, over all trees, the detours of all nodes outside S^1 sum up to (n-1)! times the sum over L of
4 [L < n] + 2 (n - L - [L < n]) + (4L - 10) [L >= 3], that is (n-1)! (n-2) (2 + n-1 + 2(n-2)) = 3 (n-2) (n-1) (n-1)!, less
twice 2 ((n-1)! - (n-1)): for the nodes with L = 2, and for those of the last kind, both of which are as many as there are y.
The trees are rotations of one another. In one, S^1 has (n-2)! - 1 nodes with l fixed beside the root. The level sum is

    t_n + 3 (n-2) (n-1)! - 4 (n-2)! + 4 + 2 ((n-2)! - 1) = t_n + 3 (n-2) (n-1)! - 2 (n-2)! + 2.

The tests compare all of this with the trees as they are grown, for n = 2..8.
"""

from collections.abc import Iterator
from math import comb, factorial, perm
from typing import NamedTuple

from starcast.topologies import Topology


class Detours(NamedTuple):
    """How many nodes have a detour of 0 in so many of the n-1 trees, of 2 in so many, and of 4 in so many."""

    nodes: int
    none: int
    two: int
    four: int

    def least(self, trees: int) -> int:
        """The sum of the least detours that a node has in some of the trees."""
        return 2 * min(max(trees - self.none, 0), self.two) + 4 * max(
            trees - self.none - self.two, 0
        )


def level_sum(topology: Topology) -> int:
    """The sum of all nodes' levels in a tree, the same for each of the n-1 trees: t_n + 3(n-2)(n-1)! - 2(n-2)! + 2."""
    n = topology.n
    return topology.distance_sum + 3 * (n - 2) * factorial(n - 1) - 2 * factorial(n - 2) + 2


def detours(n: int) -> Iterator[Detours]:
    """The detours of all nodes of S_n but the root; some kinds have no nodes."""
    trees = n - 1
    for displaced in range(2, n):
        yield Detours(_deranged(trees, displaced), displaced, trees - displaced, 0)
    yield Detours(trees, 1, 0, trees - 1)
    for displaced in range(2, n - 1):
        yield Detours(trees * _deranged(n - 2, displaced), 2, displaced - 1, trees - 1 - displaced)
    for length in range(3, n + 1):
        for displaced in range(n - length + 1):
            found = perm(trees, length - 1) * _deranged(n - length, displaced)
            again = trees * _with_first_cycle(n - 2, length - 2, displaced) if length > 3 else 0
            yield Detours(found - again, 1, displaced + 1, trees - 2 - displaced)
            yield Detours(again, 1, displaced + 2, trees - 3 - displaced)


def _deranged(symbols: int, displaced: int) -> int:
    """The permutations of some symbols that displace so many of them."""
    count = 1
    for size in range(1, displaced + 1):
        count = size * count + (1 if size % 2 == 0 else -1)
    return comb(symbols, displaced) * count


def _with_first_cycle(symbols: int, length: int, others: int) -> int:
    """Those that have the first displaced symbol on a cycle of that length, two or more, and displace so many others."""
    displaced = length + others
    return comb(symbols, displaced) * perm(displaced - 1, length - 1) * _deranged(others, others)
