"""Links of S_{n,k} that many of the trees MT share, for all n and 2 <= k <= n-2.

The argument uses Definitions 3 and 5 alone. Let 1 <= t <= min{k-1, n-k-1} and t <= s <= n-k. The
nodes v = (e, n-t, 1, .., k-1-t, n-1, .., n-t+1) with e = k-1-t+s, and w, which has n instead of e,
lack the symbols k-t, .., n-t-1, and n or e. So port k+s leads from w to v, and the link w -> v is
in the trees MT(R_i(Id)), i = 2..t+1:

* It is in SP(R_i(Id)). Let i = q+1. The root is (n-q, .., n, 1, .., k-q-1) with n in position q+1.
  Of the symbols of v it lacks e and n-t, .., n-q-1, so e is external. v lacks n of the root and
  k-t, .., k-q-1. For q = t, e is the only external symbol of v, and n the only symbol to desire: it
  replaces e. For q < t, the chain of e leads to the root's first symbol n-q, in position k-t+q+1 of
  v, and from there to the root's symbol k-t of that position, which v lacks. So e desires k-t, and
  n is desired by another symbol. Of the symbols that v lacks, n has the lowest position in the
  root: it replaces e. The parent is w.
* Reversing the path from Id to R_i(Id) keeps the link, since v is not on that path. Id lacks the
  root's first symbol n-q, for n-q > k. While it is missing and an external symbol is in front, the
  chain of that symbol ends with n-q: position 1 desires no other symbol. Hence only the last
  external symbol is replaced by n-q, and no external symbol returns. v has both n-q and e.

So port k+s has a link of load min{s, k-1, n-k-1} or more. And w, the same for all s with the same
t, sends in t trees over each of the ports k+t..n: t(n-k-t+1) times or more. Every tree crosses each
port 2..k, since only this port exchanges its position. For k = n-1 it crosses port n, since only
this port changes the missing symbol; for k = 1 the link from Id to R_{n-s}(Id) crosses port 1+s. So
every port has a load of 1 or more.
"""

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import CachedTopology
from starcast.claims.reference.bfs import parents
from starcast.claims.reference.nk_pipelines import MANY_TREES
from starcast.topologies import permutations


def contains_shared_links(network: CachedTopology) -> NDArray[np.bool_]:
    """Return whether each link of the argument uses its port and is in each of its trees."""
    n, k = network.n_and_k
    neighbours = dict(zip(network.ports, network.neighbours, strict=True))
    rows = network.forest(MANY_TREES).parent_port
    parents_in = [parents(network, row) for row in rows]
    contained = []
    for t in range(1, min(k - 1, n - k - 1) + 1):
        for s in range(t, n - k + 1):
            v, w = _ends(n, k, t, s)
            uses_port = neighbours[k + s][w] == v
            contained += [uses_port and parents_in[i - 1][v] == w for i in range(2, t + 2)]
    return np.array(contained, dtype=bool)


def _ends(n: int, k: int, t: int, s: int) -> tuple[int, int]:
    """Return the nodes v and w."""
    rest = [n - t, *range(1, k - t), *range(n - 1, n - t, -1)]
    label_symbols = np.array([[k - 1 - t + s, *rest], [n, *rest]], dtype=np.uint8)
    v, w = permutations.arrangement_rank(label_symbols, n).tolist()
    return v, w


def least_loads(n: int, k: int) -> list[int]:
    """Return a lower bound for the largest load of a link, for each port 2..n."""
    return [1] * (k - 1) + [max(1, min(s, k - 1, n - k - 1)) for s in range(1, n - k + 1)]


def least_sum(n: int, k: int) -> int:
    """Return the sum of all `least_loads`, also for huge n."""
    rest = n - k
    greatest = min(k - 1, n - k - 1)
    if greatest < 1:
        return k - 1 + rest
    return k - 1 + greatest * (greatest + 1) // 2 + (rest - greatest) * greatest


def least_sends(n: int, k: int) -> int:
    """Return a lower bound for the links on which the busiest node sends, over all trees.

    The source sends n-1 times, and w with the best t sends t(n-k-t+1) times.
    """
    t = min(k - 1, n - k - 1, (n - k + 1) // 2)
    return max(n - 1, t * (n - k - t + 1))
