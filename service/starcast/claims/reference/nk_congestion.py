"""Links of S_{n,k} that many of the trees MT share, for all n and 2 <= k <= n-2, by Definitions 3 and 5 alone.

Let 1 <= t <= min{k-1, n-k-1} and t <= s <= n-k. The nodes v = (e, n-t, 1, .., k-1-t, n-1, .., n-t+1) with e = k-1-t+s and
w, which has n in place of e, miss the symbols k-t, .., n-t-1, and n or e. So port k+s leads from w to v, and the link w -> v
is in the trees MT(R_i(Id)), i = 2..t+1:

* It is in SP(R_i(Id)). Let i = q+1. The root is (n-q, .., n, 1, .., k-q-1): n stands in its position q+1. Of v it lacks e and
  n-t, .., n-q-1, so e is external. v lacks n of the root and k-t, .., k-q-1. For q = t, e is the only external symbol of v,
  and n the only symbol to desire: it replaces e. For q < t, the chain of e goes to the root's first symbol n-q, which stands
  in position k-t+q+1 of v, and from there to the root's symbol k-t of that position, which v lacks. So e desires k-t, n is
  desired by another symbol, and of what v lacks it has the lowest position in the root: it replaces e. The parent is w.
* Reversing the path from Id to R_i(Id) leaves it as it is, since v is not on that path. Id lacks the root's first symbol n-q,
  for n-q > k. While it is missing and an external symbol is in front, that symbol's own chain ends with it: position 1 has no
  other. Hence only the last external symbol is replaced by it, and none ever comes back. v has both n-q and e.

So port k+s has a link of load min{s, k-1, n-k-1} or more. And w, the same for all s with the same t, sends in t trees over
each of the ports k+t..n: t(n-k-t+1) times or more. Every tree crosses each port 2..k, since no other exchanges that position;
for k = n-1 it crosses port n, since no other changes the missing symbol; for k = 1 the link from Id to R_{n-s}(Id) crosses
port 1+s. So every port has a load of 1 or more.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.claims.object_cache import ObjectCache
from starcast.claims.reference.bfs import parents
from starcast.claims.reference.nk_labels import size
from starcast.claims.reference.nk_pipelines import MANY_TREES
from starcast.topologies import Topology


def shared(objects: ObjectCache, topology: Topology) -> NDArray[np.bool_]:
    """Whether each of the links above, in each of its trees, is there and leaves by the port that is said."""
    n, k = topology.n, size(topology)
    across = dict(zip(topology.ports, objects.neighbours(topology.spec), strict=True))
    above = [
        parents(objects, topology, row)
        for row in objects.forest(topology.spec, MANY_TREES).parent_port
    ]
    found = []
    for t, s in _places(n, k):
        v, w = _ends(n, k, t, s)
        led = across[k + s][w] == v
        found += [led and above[i - 1][v] == w for i in range(2, t + 2)]
    return np.array(found, dtype=bool)


def _places(n: int, k: int) -> Iterator[tuple[int, int]]:
    for t in range(1, min(k - 1, n - k - 1) + 1):
        for s in range(t, n - k + 1):
            yield t, s


def _ends(n: int, k: int, t: int, s: int) -> tuple[int, int]:
    """The nodes v and w."""
    rest = [n - t, *range(1, k - t), *range(n - 1, n - t, -1)]
    rows = np.array([[k - 1 - t + s, *rest], [n, *rest]], dtype=np.uint8)
    v, w = permutations.arrangement_rank(rows, n).tolist()
    return v, w


def least_loads(n: int, k: int) -> list[int]:
    """Of the ports 2..n: no more than the load of the fullest link."""
    return [1] * (k - 1) + [max(1, min(s, k - 1, n - k - 1)) for s in range(1, n - k + 1)]


def least_sum(n: int, k: int) -> int:
    """All `least_loads` together, for huge n too."""
    rest, most = n - k, min(k - 1, n - k - 1)
    return k - 1 + (rest if most < 1 else most * (most + 1) // 2 + (rest - most) * most)


def least_sends(n: int, k: int) -> int:
    """No more than what the busiest node sends in all trees: the source n-1 times, w with the best t t(n-k-t+1) times."""
    t = min(k - 1, n - k - 1, (n - k + 1) // 2)
    return max(n - 1, t * (n - k - t + 1))
