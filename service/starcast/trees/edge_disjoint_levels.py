"""The levels of nodes in the trees EDT, counted without building the trees.

The *detour* of a node x in tree l is its level there minus its distance. Let symbol 1 be on a cycle
of L symbols (1 x_1 .. k), L = 1 in S^1, and let q = x_p be the first symbol of x's parent in SPT,
which is across dimension p = p(x).

* S^1: a hop across dimension l, then a shortest path. The detour is 0 if l is displaced, 2 if it is
  fixed.
* L >= 2, tree k: a shortest path, detour 0.
* L >= 2, any other tree: two hops, via the neighbour with first symbol l, remove 1 from its cycle
  and move l to position k; the node of S^1 that they reach has l displaced. (In tree x_1 one hop
  does so, to a node with x_1 displaced if L >= 3.) The detour is thus 1 or 2 plus the difference of
  the distances, which are cycles + displaced symbols, less 2 outside S^1: 4 if l is fixed; 2 if it
  is on another cycle; on the cycle of 1, 2 for l = x_1, and 4 for the others except x_{x_1}.
* Tree q, if it is not tree k, is different. If L = 2, one hop reaches the node of S^1, and q is
  displaced there: 0 instead of 2. If L = 3, q is k. If L >= 4, q = x_{x_1}, and the hop leads to y
  with first symbol k, whose cycle of 1 is (1 k) and whose distance is greater by one. If q is also
  y's, the detour is 2 by the case L = 2, else 4.

The nodes of the last kind with a detour of 2 are determined by y: for a y with L = 2 and more than
1 and k displaced, only x_1 = p(y) is possible.

*Sums.* For each L >= 2 there are (n-1)! nodes, on average with one fixed symbol (none if L = n) and
n - L - 1 symbols on other cycles (again none). Hence, over all trees, the detours of all nodes
outside S^1 add up to (n-1)! times the sum over L of 4 [L < n] + 2 (n - L - [L < n]) + (4L - 10)
[L >= 3], that is (n-1)! (n-2) (2 + n-1 + 2(n-2)) = 3 (n-2) (n-1) (n-1)!, less twice
2 ((n-1)! - (n-1)): for the nodes with L = 2, and for those of the last kind, of both of which there
are as many as y. The trees are rotations of one another. In each of them, S^1 has (n-2)! - 1 nodes
with l fixed besides the root. The level sum is

    t_n + 3 (n-2) (n-1)! - 4 (n-2)! + 4 + 2 ((n-2)! - 1) = t_n + 3 (n-2) (n-1)! - 2 (n-2)! + 2.

The tests compare all this with the levels of the trees themselves, for n = 2..8.
"""

from collections.abc import Iterator
from math import comb, factorial, perm
from typing import NamedTuple

from starcast.topologies import Topology


class Detours(NamedTuple):
    """Nodes of one kind, and their detours in the n-1 trees.

    Attributes:
        nodes: the number of nodes.
        none: the number of trees in which such a node has a detour of 0.
        two: the number of trees in which it has a detour of 2.
        four: the number of trees in which it has a detour of 4.
    """

    nodes: int
    none: int
    two: int
    four: int

    def least(self, trees: int) -> int:
        """Return the sum of a node's detours in the trees where they are least."""
        fours = max(trees - self.none - self.two, 0)
        return 2 * min(max(trees - self.none, 0), self.two) + 4 * fours


def level_sum(topology: Topology) -> int:
    """Return the sum of all levels in each of the trees: t_n + 3(n-2)(n-1)! - 2(n-2)! + 2."""
    n = topology.n
    return topology.distance_sum + 3 * (n - 2) * factorial(n - 1) - 2 * factorial(n - 2) + 2


def detours(n: int) -> Iterator[Detours]:
    """Iterate over the kinds of nodes of S_n, except the root; some kinds have no nodes."""
    trees = n - 1
    for displaced in range(2, n):
        yield Detours(_deranged(trees, displaced), displaced, trees - displaced, 0)
    yield Detours(trees, 1, 0, trees - 1)
    for displaced in range(2, n - 1):
        yield Detours(trees * _deranged(n - 2, displaced), 2, displaced - 1, trees - 1 - displaced)
    for length in range(3, n + 1):
        for displaced in range(n - length + 1):
            nodes = perm(trees, length - 1) * _deranged(n - length, displaced)
            last_kind = 0
            if length > 3:
                last_kind = trees * _with_first_cycle(n - 2, length - 2, displaced)
            yield Detours(nodes - last_kind, 1, displaced + 1, trees - 2 - displaced)
            yield Detours(last_kind, 1, displaced + 2, trees - 3 - displaced)


def _deranged(symbols: int, displaced: int) -> int:
    """Return the number of permutations that displace a given number of symbols."""
    count = 1
    for size in range(1, displaced + 1):
        count = size * count + (1 if size % 2 == 0 else -1)
    return comb(symbols, displaced) * count


def _with_first_cycle(symbols: int, length: int, others: int) -> int:
    """Return the number of permutations with given cycles.

    The first displaced symbol is on a cycle of ``length``, two or more, and ``others`` symbols are
    displaced besides.
    """
    displaced = length + others
    return comb(symbols, displaced) * perm(displaced - 1, length - 1) * _deranged(others, others)
