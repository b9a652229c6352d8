"""Functions for the checks of Li, Chen, Xiang & Yao 2007 on (n,k)-star graphs S_{n,k}.

The functions compute labels, broadcasts on the trees SP and MT, and link loads. SP(r) is the
paper's spanning tree of shortest paths to the root r, and MT are n-1 such trees with shifted roots,
changed so that all have the root Id = 12..k. They are starcast's constructions `nk-greedy` and
`nk-multiple`. A residual link exchanges the first symbol for a symbol that the label lacks.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import CachedTopology, cached
from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number, divide, greatest
from starcast.claims.registry import Memory, allgather_by_levels, unless_symmetric
from starcast.collectives.model import Schedule
from starcast.records import checkers
from starcast.topologies import permutations
from starcast.topologies.base import find_ports
from starcast.topologies.permutations import Perms, Ranks
from starcast.trees import Forest

from ..common import stars
from ..common.closed_forms import Parameters, arrangements, floor_sqrt, nk_diameter, parameters

# Labels: cycles towards Id, right shifts, and cyclic shifts of positions
#
# The cycles are those of docs/definitions/nk-star.md: position i leads to the position that its
# symbol has in Id. A position that never leads to a symbol beyond k is on an internal cycle; any
# other position is on the external chain of that symbol.


class Cycles(NamedTuple):
    """The internal cycles and external chains of every node; positions are counted from 0.

    A position with symbol s leads to position s-1, which contains s in the identity. An internal
    cycle leads back to its start; an external chain ends at a symbol beyond k.

    Attributes:
        end: the symbol beyond k at which the chain of each position ends, int64 ``[nodes, k]``; 0
            on internal cycles.
        first: the lowest position on the internal cycle of each position; -1 on external chains.
        length: number of positions on this internal cycle; 0 on external chains.
    """

    end: NDArray[np.int64]
    first: NDArray[np.int64]
    length: NDArray[np.int64]

    @property
    def misplaced(self) -> NDArray[np.bool_]:
        """Whether each position is on an internal cycle of at least two positions."""
        return self.length > 1

    @property
    def chained(self) -> NDArray[np.int64]:
        """The number of positions on each node's external chains, called M' in the paper."""
        return np.asarray(np.count_nonzero(self.end, axis=1))

    @property
    def beta(self) -> NDArray[np.int64]:
        """The number of external chains of each node; each ends at a different symbol beyond k."""
        ordered = np.sort(self.end, axis=1)
        new = np.diff(ordered, axis=1, prepend=0) > 0
        return np.asarray(np.count_nonzero(new, axis=1))

    def count_internal(self, length: int) -> NDArray[np.int64]:
        """Return each node's number of internal cycles of the given length."""
        return np.asarray(np.count_nonzero(self.length == length, axis=1) // length)

    @property
    def internal_steps(self) -> NDArray[np.int64]:
        """Formula (1): the number of steps that bring each node's internal cycles into place."""
        begins = self.misplaced & (self.first == np.arange(self.first.shape[1]))
        steps = np.where(self.first == 0, self.length - 1, self.length + 1)
        return np.asarray(np.where(begins, steps, 0).sum(axis=1))

    @property
    def external_steps(self) -> NDArray[np.int64]:
        """Formula (2): the number of steps that bring each node's external chains into place."""
        at_first = np.where(self.end[:, 0] > 0, -1, 1)
        return np.where(self.beta > 0, self.chained + self.beta + at_first, 0)


def cycles(label_symbols: Perms) -> Cycles:
    """Return the internal cycles and external chains of nodes with the given symbols."""
    count, k = label_symbols.shape
    label_symbols = label_symbols.astype(np.int64)
    start = np.broadcast_to(np.arange(k), (count, k))
    position = start.copy()
    first = start.copy()
    end, length = np.zeros((2, count, k), dtype=np.int64)
    for step in range(1, k + 1):
        symbol = np.take_along_axis(label_symbols, position, axis=1)
        outside = (symbol > k) & (end == 0)
        end[outside] = symbol[outside]
        position = np.where(end > 0, position, symbol - 1)
        first = np.minimum(first, position)
        length = np.where((length == 0) & (position == start) & (end == 0), step, length)
    chained = end > 0
    return Cycles(end, np.where(chained, -1, first), np.where(chained, 0, length))


@cached
def right_shifts(network: CachedTopology) -> Perms:
    """Return the label 12..n rotated right by i positions, for i = 1..n, uint8 ``[n, n]``.

    The paper calls the rotated label R_i(Id).
    """
    label = np.arange(1, network.n + 1, dtype=np.uint8)
    return np.stack([np.roll(label, i) for i in range(1, network.n + 1)])


def shifted_roots(network: CachedTopology) -> list[int]:
    """Return the ranks of the shifted roots R_i(Id) of the n-1 spanning trees MT, for i = 1..n-1.

    The label of R_i(Id) consists of the first k symbols of the i-th row of `right_shifts`.
    """
    _, k = network.n_and_k
    shifts = right_shifts(network)[:-1]
    return [network.rank(label) for label in permutations.labels(shifts[:, :k])]


def shifted_places(n: int, last: int, places: int) -> NDArray[np.int64]:
    """Return the image of each number 0..n when 2..last are shifted cyclically by ``places``.

    The other numbers are unchanged.

    Returns:
        int64 ``[n+1]``.
    """
    shifted = np.arange(n + 1)
    if last > 1:
        shifted[2 : last + 1] = (np.arange(last - 1) + places) % (last - 1) + 2
    return shifted


def shift_nodes(network: CachedTopology, label_symbols: Perms, last: int, places: int) -> Ranks:
    """Return the images of nodes when positions and symbols 2..last are shifted cyclically.

    Args:
        network: S_{n,k}, of which the shift is an automorphism.
        label_symbols: symbols of the nodes.
        last: the last shifted position. It is k, or n if k = n-1; then the missing symbol is taken
            to be in position n.
        places: the number of places to shift by.
    """
    n, k = network.n_and_k
    shifted = shifted_places(n, last, places)
    if last > label_symbols.shape[1]:
        # For k = n-1 one symbol is missing: the sum of 1..n minus the other symbols.
        missing = n * (n + 1) // 2 - label_symbols.sum(axis=1, dtype=np.int64)
        label_symbols = np.column_stack([label_symbols, missing])
    image = np.empty_like(label_symbols)
    image[:, shifted[1 : label_symbols.shape[1] + 1] - 1] = shifted[label_symbols]
    return permutations.arrangement_rank(image[:, :k].astype(np.uint8), n)


# Broadcasts down the trees SP and MT
#
# The message is divided into p segments per tree. The broadcasts are executed for p up to h+2,
# where h is the largest tree height. From p = h on, each further segment adds the same steps and
# packets, so these executions determine the time for every p.


ONE_TREE = "nk-greedy"
MANY_TREES = "nk-multiple"
#: Parameter grid of m = 1, 2, 1024, T_s = 1, 2, 1024 and T_c = 1, 2.
GRID = parameters((1, 2, 1024), (1, 2, 1024), (1, 2))
#: Memory of a check that executes broadcasts of up to about 2D segments; D, the diameter, is
#: O(degree).
BROADCASTS = Memory(800, power=2)
#: Memory of a check that executes an allgather.
ALLGATHERS = Memory(200, of_pairs=unless_symmetric)


def heights(check: ClaimCheck, construction: str) -> NDArray[np.int64]:
    """Return the height of each tree of a construction rooted at Id; -1 for a non-spanning tree."""
    depths = check.depths(check.forest(construction).parent_port)
    return np.where(depths.min(axis=1) >= 0, depths.max(axis=1), -1).astype(np.int64)


def link_loads(check: ClaimCheck, construction: str) -> NDArray[np.integer]:
    """Return how many trees of a construction use each directed link, ``[nodes, ports]``."""
    return checkers.loads(check.topology, check.forest(construction).parent_port, 0)


def greatest_height(check: ClaimCheck, construction: str) -> int:
    """Return the largest height of the trees of a construction rooted at the identity Id."""
    return int(heights(check, construction).max())


@dataclass(frozen=True)
class Broadcast:
    """The executions of a broadcast with p = 1, 2, .. segments per tree.

    Attributes:
        schedule: the schedule with one segment.
        trees: number of trees that share the message.
        slot: number of steps between consecutive segments.
        steps: for each executed p, the number of steps (start-ups).
        packets: for each executed p, the sum of the largest packets of all steps, in segments.
    """

    schedule: Schedule
    trees: int
    slot: int
    steps: tuple[int, ...]
    packets: tuple[int, ...]

    @property
    def segments(self) -> NDArray[np.int64]:
        """The numbers of segments with which the broadcast was executed: 1, 2, ..."""
        return np.arange(1, len(self.steps) + 1)

    @property
    def shares(self) -> NDArray[Any]:
        """For each executed number of segments, the sum of the largest packets of all steps.

        Each sum is divided by the message size m; see `share`.
        """
        return exact_array(self.share(p) for p in range(1, len(self.steps) + 1))

    @property
    def increment(self) -> int:
        """The number by which ``packets`` grows with each segment beyond the largest executed p."""
        return self.packets[-1] - self.packets[-2]

    def start_ups(self, p: int) -> int:
        """Return the number of steps of the broadcast with p segments per tree."""
        return self.steps[0] + self.slot * (p - 1)

    def share(self, p: int) -> Fraction:
        """Return the sum of the largest packets of all steps, divided by the message size.

        The argument ``p`` is the number of segments per tree.
        """
        executed = len(self.packets)
        if p <= executed:
            packets = self.packets[p - 1]
        else:
            packets = self.packets[-1] + self.increment * (p - executed)
        return Fraction(packets, p * self.trees)

    def time(self, p: int, T_s: Fraction, b: Fraction) -> Fraction:  # noqa: N803 - as in the papers
        """Return the time with p segments per tree, start-up time T_s and transmission time b."""
        return self.start_ups(p) * T_s + self.share(p) * b

    def best(self, T_s: Fraction, b: Fraction) -> tuple[Fraction, int]:  # noqa: N803
        """Return the shortest time over all numbers of segments, and the number that attains it.

        The number of segments per tree is a positive integer. If several numbers attain the
        shortest time, the smallest of them is returned. The argument ``b`` is m T_c, the
        transmission time of the message.
        """
        executed = len(self.packets)
        # Beyond the executed p, ``packets`` is increment * p + rest.
        rest = self.packets[-1] - self.increment * executed
        below = floor_sqrt(max(0, rest) * b / (self.trees * self.slot * T_s))
        below = max(executed, below)
        # For these p, the time is a constant plus c1/p + c2 p. This is convex in p, so the best
        # integer is adjacent to the best real p.
        candidates = (*range(1, executed + 1), below, below + 1)
        return min((self.time(p, T_s, b), p) for p in candidates)

    def best_on(self, grid: Parameters) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the smallest time at each point of a grid, and the best number of segments.

        The time is the smallest over all integer numbers of segments per tree.
        """
        times, segments = zip(*(self.best(*load) for load in grid.each()), strict=True)
        return exact_array(times), np.array(segments)


def execute_broadcast(check: ClaimCheck, construction: str, ports: str) -> Broadcast:
    """Execute a broadcast with 1, 2, .., h+2 segments per tree; h is the largest tree height.

    Beyond h segments, every further segment increases `Broadcast.packets` by the same number.
    """
    trees = 1 if construction == ONE_TREE else check.degree
    slot = 1 if ports == "all" else check.degree
    p = np.arange(1, greatest_height(check, construction) + 3)
    schedules = [
        check.schedule("broadcast", construction, ports, segments=count) for count in p.tolist()
    ]
    simulations = [check.execute(schedule) for schedule in schedules]
    steps = tuple(simulation.steps for simulation in simulations)
    packets = tuple(int(simulation.packet_sizes.sum()) for simulation in simulations)
    first = schedules[0]
    check.equal("start-ups", steps, steps[0] + slot * (p - 1), p=p, of=first)
    units = [schedule.units for schedule in schedules]
    check.equal("segments of the broadcast", units, trees * p, p=p, of=first)
    last = packets[-1] - packets[-2]
    check.equal("packets that one more segment adds", last, packets[-2] - packets[-3], of=first)
    return Broadcast(first, trees, slot, steps, packets)


def exact_array(values: Iterable[Any]) -> NDArray[Any]:
    """Return numbers as an array of dtype object, in which fractions remain exact."""
    return np.array(list(values), dtype=object)


# All-to-all broadcast, level by level: link loads, computed and executed
#
# A label change (LC) moves a tree from Id to any source, for any order of the missing symbols.
# The dimension changes that S_{n,k} admits are its automorphisms that fix Id: for 2 <= k <= n-2 the
# permutations of positions 2..k, which map exchanges to exchanges and residual links to residual
# links; for k = n-1 and k = 1 all links are alike. So the links form one class or two: exchanges
# and residual links. If every message is divided evenly among these changes, all links of a class
# have the same load on a level. In messages, this load is the number of links of the class that the
# tree has on the level, divided by the number of links of the class at a node.


_ALGORITHM = "nk-greedy with dimension changes"


def link_classes(network: CachedTopology) -> tuple[tuple[int, ...], ...]:
    """Return the classes of equivalent links, each as a tuple of ports.

    Automorphisms map every link of a class to every other link of the class.
    """
    n, k = network.n_and_k
    if k in (1, n - 1):
        return (network.ports,)
    return (network.ports[: k - 1], network.ports[k - 1 :])


def class_loads(check: ClaimCheck, construction: str) -> NDArray[Any]:
    """Return the number of messages over a directed link of each class, on each level of the trees.

    The messages are those of an allgather, which divides each message evenly among all trees of the
    construction and their images under the dimension changes that S_{n,k} admits. `link_classes`
    defines the classes.

    Returns:
        fractions ``[levels, classes]``.

    Raises:
        ValueError: a tree of the construction does not reach every node.
    """
    forest = check.forest(construction)
    depth = check.depths(forest.parent_port)
    if depth.min() < 0:
        raise ValueError(f"{forest.id} does not span {check.spec}")
    classes = link_classes(check)
    links = Counter[tuple[int, int]]()
    for row, level in zip(forest.parent_port, depth, strict=True):
        for kind, ports in enumerate(classes):
            per_level = np.bincount(level[np.isin(row, ports) & (level > 0)])
            for at, count in enumerate(per_level.tolist()):
                links[at, kind] += count
    loads = np.empty((int(depth.max()), len(classes)), dtype=object)
    for at, kind in np.ndindex(loads.shape):
        shares = len(classes[kind]) * forest.trees
        loads[at, kind] = Fraction(links[at + 1, kind], shares)
    return loads


def all_port_bytes(loads: NDArray[Any]) -> Fraction:
    """Return the number of bytes of an all-port allgather as a multiple of the message size m.

    This is the sum of the largest loads of all levels. The argument ``loads`` is the result of
    `class_loads`.
    """
    return sum((max(level) for level in loads), Fraction(0))


def one_port_bytes(network: CachedTopology, loads: NDArray[Any]) -> Fraction:
    """Return the number of bytes of a one-port allgather as a multiple of the message size m.

    This is the sum of the loads over all ports and levels. The argument ``loads`` is the result of
    `class_loads`.
    """
    sizes = [len(ports) for ports in link_classes(network)]
    return sum((loads @ sizes).tolist(), Fraction(0))


def last_sub_slot(network: CachedTopology, loads: NDArray[Any]) -> int:
    """Return the number (from 1) of the last sub-slot in which a one-port allgather sends.

    Each level of the trees has n-1 sub-slots, one for each port. The argument ``loads`` is the
    result of `class_loads`.
    """
    classes = zip(loads[-1], link_classes(network), strict=True)
    last_port = max(max(ports) for load, ports in classes if load)
    return (len(loads) - 1) * network.degree + last_port - 1


def bytes_by_class(loads: NDArray[Any]) -> Fraction:
    """Return the sum of all loads that `class_loads` returns; it is at least `all_port_bytes`."""
    return sum(loads.ravel().tolist(), Fraction(0))


def bytes_formula(n: int, k: int) -> Number:
    """Return the closed form of `bytes_by_class`, which is the same for the trees SP and MT.

    The sum is at least `all_port_bytes`, with equality for k = 1 and k = n-1, where there is only
    one class. The formula follows from the numbers of links. Let N be the number of nodes. In the
    tree SP (Definition 3), each node that begins with a symbol beyond k has a residual link to its
    parent. There are N(n-k)/n residual links in SP, divided among n-k ports. The other kN/n - 1
    links exchange two symbols of the label, and are divided among k-1 ports. SP(r) is SP(Id)
    relabelled, and MT has the same undirected links.
    """
    nodes = arrangements(n, k)
    if k in (1, n - 1):
        return divide(nodes - 1, n - 1)
    return divide(nodes, n) + divide(divide(k * nodes, n) - 1, k - 1)


def optimal_bytes(n: int, k: int) -> Number:
    """Return (N-1)/(n-1), the coefficient of m T_c in the all-port bound of Lemma 2 for N nodes."""
    return divide(arrangements(n, k) - 1, n - 1)


def dimension_change_allgather(network: CachedTopology) -> Schedule:
    """Return the all-port allgather along the shortest-path tree SP and its images, level by level.

    There is one image for every cyclic shift of the dimensions 2..k, or 2..n for k = n-1; for k = 1
    there is only SP itself. Each message is divided among the images.
    """

    def create() -> Schedule:
        n, k = network.n_and_k
        last = n if k == n - 1 else k
        row = network.forest(ONE_TREE).parent_port[0]
        parent = network.parents(row)
        child = np.flatnonzero(parent >= 0)
        rows = np.zeros((max(1, last - 1), network.nodes), dtype=np.uint8)
        rows[0] = row
        for places in range(1, last - 1):
            image = shift_nodes(network, stars.symbols(network), last, places)
            tails, heads = image[child], image[parent[child]]
            rows[places, tails] = find_ports(network.topology, tails, heads)
        rows.flags.writeable = False
        return allgather_by_levels(Forest(network.topology, rows), _ALGORITHM)

    return network.build(create, "allgather", _ALGORITHM)


def height_bound(n: int, k: int) -> int:
    """Return twice the diameter, an upper bound on the height of the spanning trees MT."""
    return 2 * nk_diameter(n, k)


def greatest_quotient(*terms: tuple[Number, Number]) -> Number:
    """Return the largest quotient of a measured and a stated time, over all T_s and m T_c.

    Both times are linear in T_s and m T_c. For each of these two parameters, ``terms`` contains
    its coefficient in the measured time and its coefficient in the stated time.
    """
    return greatest(divide(measured, stated) for measured, stated in terms)


# Links shared by many of the trees MT, for all n and 2 <= k <= n-2
#
# The argument uses only Definitions 3 and 5; docs/definitions/nk-star.md explains external and
# desired symbols. Let 1 <= t <= min{k-1, n-k-1} and t <= s <= n-k. Let v be the node (e, n-t, 1,
# .., k-1-t, n-1, .., n-t+1) with e = k-1-t+s, and let w be v with n instead of e. The symbols that
# w lacks are k-t, .., n-t-1, and e is the s-th of these symbols. So port k+s leads from w to v.
# The link w -> v is in the trees MT(R_i(Id)), i = 2..t+1, for two reasons:
#
# * The link is in SP(R_i(Id)). Let i = q+1. The root is (n-q, .., n, 1, .., k-q-1) with n in
#   position q+1. Of the symbols of v, the root lacks e and n-t, .., n-q-1, so e is external. Of the
#   symbols of the root, v lacks n and k-t, .., k-q-1. For q = t, e is the only external symbol of
#   v, and n is the only desired symbol, so n replaces e. For q < t, the chain of e leads to the
#   root's first symbol n-q, in position k-t+q+1 of v, and from there to the root's symbol k-t of
#   that position, which v lacks. So e desires k-t, and another symbol desires n. Of the symbols
#   that v lacks, n has the lowest position in the root, so n replaces e. Hence the parent of v is
#   w.
# * MT reverses only the path from Id to R_i(Id), and v is not on that path. Id lacks the root's
#   first symbol n-q, since n-q > k. While n-q is missing and an external symbol is in front, the
#   chain of that symbol ends with n-q, so no other symbol is desired in position 1. Hence only the
#   last external symbol is replaced by n-q, and no external symbol returns. Since v has both n-q
#   and e, it is not on the path.
#
# So port k+s has a link of load min{s, k-1, n-k-1} or more. The node w depends only on t. In t
# trees w sends over each of the ports k+t..n, so w sends at least t(n-k-t+1) times. Every tree has
# a link of each port 2..k, since only port j changes the symbol in position j. For k = n-1 every
# tree has a link of port n, since only this port changes the missing symbol. For k = 1 the link
# from Id to R_{n-s}(Id) has port 1+s. So every port has a load of 1 or more.


def contains_shared_links(network: CachedTopology) -> NDArray[np.bool_]:
    """Return whether the n-1 spanning trees MT contain the links w -> v that a proof describes.

    The proof is in the source comment above this function. There is one entry for each link and
    each tree that contains it according to the proof. The entry is True if port k+s leads from w to
    v and the tree contains the link.

    Returns:
        bool ``[pairs of link and tree]``.
    """
    n, k = network.n_and_k
    neighbours = dict(zip(network.ports, network.neighbours, strict=True))
    rows = network.forest(MANY_TREES).parent_port
    parents_in = [network.parents(row) for row in rows]
    contained = []
    for t in range(1, min(k - 1, n - k - 1) + 1):
        for s in range(t, n - k + 1):
            v, w = _ends(n, k, t, s)
            uses_port = neighbours[k + s][w] == v
            contained += [uses_port and parents_in[i - 1][v] == w for i in range(2, t + 2)]
    return np.array(contained, dtype=bool)


def _ends(n: int, k: int, t: int, s: int) -> tuple[int, int]:
    """Return the ends v and w of the link w -> v in the proof above `contains_shared_links`."""
    rest = [n - t, *range(1, k - t), *range(n - 1, n - t, -1)]
    label_symbols = np.array([[k - 1 - t + s, *rest], [n, *rest]], dtype=np.uint8)
    v, w = permutations.arrangement_rank(label_symbols, n).tolist()
    return v, w


def least_loads(n: int, k: int) -> list[int]:
    """Return, for each port 2..n, a lower bound on the largest load of its links in the trees MT.

    The load of a directed link is the number of the n-1 spanning trees MT that use the link.
    """
    return [1] * (k - 1) + [max(1, min(s, k - 1, n - k - 1)) for s in range(1, n - k + 1)]


def least_sum(n: int, k: int) -> int:
    """Return the sum of the bounds in `least_loads`, by a closed form that is fast for huge n."""
    rest = n - k
    greatest = min(k - 1, n - k - 1)
    if greatest < 1:
        return k - 1 + rest
    return k - 1 + greatest * (greatest + 1) // 2 + (rest - greatest) * greatest


def least_sends(n: int, k: int) -> int:
    """Return a lower bound on how often the busiest node sends in all n-1 spanning trees MT.

    The source sends n-1 times. The node w in the proof above `contains_shared_links` sends
    t(n-k-t+1) times, for the value of t that maximizes this number.
    """
    t = min(k - 1, n - k - 1, (n - k + 1) // 2)
    return max(n - 1, t * (n - k - t + 1))
