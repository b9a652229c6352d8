"""Checks of Fragopoulou & Akl 1993, section 3.2 and Appendix B: the tree MBST and algorithm 2.

MBST is a spanning tree built from necklaces, the orbits of the rotation R (starcast's construction
`necklace`). Algorithm 2 is an allgather along the translations of this tree. Theorem 8 states why
two messages never use the same directed link in a step.

The paper does not specify the order of necklaces at the same distance, nor which of several nodes
of a necklace comes first. So the paper's claims are checked for the numbering of nodes used by
starcast's `necklace` (derived from the schedule of algorithm 2), and for random numberings that
section 3.2 and Appendix B allow.
"""

from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import cached
from starcast.claims.check import ClaimCheck
from starcast.claims.growth import factorial
from starcast.claims.registry import check_rows, checks, forests
from starcast.collectives.model import Schedule
from starcast.topologies.permutations import Ranks
from starcast.trees.model import Forest

from ..common import stars
from ..common.closed_forms import diameter, even_share
from . import star_graph
from .hamiltonian import ONE_SOURCE

_RANDOM_NUMBERINGS = 3
#: The largest n for which the schedule of all sources is executed.
_ALL_SOURCES = 5


class Numbering(NamedTuple):
    """A numbering m(x) of the nodes, which determines the steps and links of algorithm 2.

    Attributes:
        m: number m(x) of every node x, int64 ``[nodes]``; 0 for the identity node 12..n.
        name: the numbering's name in recorded evidence.
        schedule: the schedule from which the numbering was read; "" for a random numbering.
    """

    m: NDArray[np.int64]
    name: str
    schedule: Schedule | str


class Generator(NamedTuple):
    """A node of the first necklace at distance k, and the type v of the node's link to its parent.

    A necklace is an orbit of the rotation R, and the type of a link is its dimension. Distances are
    counted from 12..n. The paper calls the first necklace N_k1. The other nodes of N_k1 are the
    rotations of this node, and the types of their links to their parents are the rotations of v.
    """

    node: int
    v: int


def algorithm_2(check: ClaimCheck) -> Schedule:
    """Return the allgather of algorithm 2 for the source 12..n, which represents all sources."""
    return check.schedule("allgather", "necklace")


@checks("FA.MBST")
def first_nodes_exist(check: ClaimCheck) -> None:
    """Check that each necklace, except {12..n}, has a possible first node for every link type.

    A necklace is an orbit of the rotation R. A node can be the first node for a link type if its
    link of this type leads closer to 12..n. Also check that starcast's numbering of the nodes
    follows section 3.2.
    """
    closer = star_graph.moves_closer(check)
    rotated = stars.rotation(check)
    types = star_graph.link_types(check)
    rotations = stars.rotations(check)
    #: The smallest rank in each necklace except {12..n}.
    leaders = np.unique(rotations.min(axis=0))[1:]
    exists = closer[rotations[:, leaders]].any(axis=0)
    place = star_graph.node_and_type(check)
    check.true("a first node exists", exists, **place | {"node": leaders[:, None]})
    rotated_types = stars.rotation_function(check.n)[types]
    image = closer[rotated][:, rotated_types - 2]
    check.equal("the rotated link leads closer", image, closer, **place)
    check_numbering(check, scheduled_numbering(check))


@checks("FA.MBST-first")
def generators_lead_to_each_other(check: ClaimCheck) -> None:
    """Check that links lead from the first necklace at distance k to the first at distance k-1.

    In the paper, these necklaces are N_k1 and N_(k-1)1. The link of type v from the generator of
    N_k1 must lead to the generator of N_(k-1)1, and each rotation of this link must lead to the
    same rotation of that generator.
    """
    neighbours = check.neighbours.T
    distance = check.distances()
    sizes = stars.return_times(check)
    rotations = stars.rotations(check)
    types = star_graph.link_types(check)
    turns = np.arange(check.n - 1)
    numbering = scheduled_numbering(check)
    before: Generator | None = None
    for k, generator in generators(check).items():
        node = generator.node
        place = {"k": k, "node": node}
        check.equal("distance of the generator from 12..n", int(distance[node]), k, **place)
        check.equal("nodes of its necklace", int(sizes[node]), check.n - 1, **place)
        if before is not None:
            members = rotations[:, node]
            members_before = rotations[:, before.node]
            v = types[(generator.v - 2 + turns) % len(types)]
            heads = neighbours[members, v - 2]
            what = "rank of the node that v leads to"
            check.equal(what, heads, members_before, k=k, node=members)
            parent = neighbours[members, types_of(check, numbering.m[members]) - 2]
            leads = np.isin(parent, members_before)
            check.true("v leads into N_(k-1)1", leads, k=k, node=members, of=numbering.schedule)
        before = generator


@checks("FA.MBST-clusters")
def cluster_sizes(check: ClaimCheck) -> None:
    """Check whether algorithm 2 has ceil((n!-1)/(n-1)) clusters of n-1 nodes each.

    A cluster is the set of nodes that receive the message of 12..n in the same step. In fact, the
    last cluster has only n-2 nodes.
    """
    n = check.n
    schedule = algorithm_2(check)
    steps = even_share(n)
    check.equal("clusters", len(np.unique(schedule.step)), steps, of=schedule)
    sizes = np.bincount(schedule.step)[1:]
    step = np.arange(1, len(sizes) + 1)
    check.equal("nodes of a cluster", sizes, n - 1, step=step, of=schedule)
    stated = np.where(step == steps, n - 2, n - 1)
    check.correction().equal("nodes of a cluster", sizes, stated, step=step, of=schedule)


@checks("FA.T8.1")
def links_of_a_step_differ_in_type(check: ClaimCheck) -> None:
    """Check that all links that algorithm 2 uses in a step are of different types (dimensions)."""
    for numbering in numberings(check):
        m = numbering.m[np.flatnonzero(numbering.m)]
        what = "different types of a step"
        _check_types_differ(
            check, what, clusters_of(check, m), types_of(check, m), numbering.schedule
        )
    schedule = algorithm_2(check)
    what = "different types of a step, as sent"
    _check_types_differ(check, what, schedule.step.astype(np.int64), schedule.port, schedule)


def _check_types_differ(
    check: ClaimCheck,
    what: str,
    step: NDArray[np.int64],
    port: NDArray[np.integer],
    of: Schedule | str,
) -> None:
    base = check.n + 1
    types = np.bincount(np.unique(step * base + port) // base)[1:]
    check.equal(what, types, np.bincount(step)[1:], step=np.arange(1, len(types) + 1), of=of)


@checks("FA.T8.2", given=forests("necklace"))
def parents_are_closer(check: ClaimCheck, forest: Forest) -> None:
    """Check that each node's parent is one link closer to the root 12..n.

    In the paper, x' is the parent of node x, over a link of type v(x).
    """
    distance = check.distances()
    nodes = check.ranks[1:]
    ports = forest.parent_port[0, 1:]
    parent = check.neighbours[ports.astype(np.int64) - 2, nodes]
    check.true("x has a type v(x)", ports > 0, node=nodes, of=forest)
    stated = distance[1:] - 1
    what = "distance of x' from 12..n"
    check.equal(what, distance[parent], stated, node=nodes, of=forest)
    for numbering in numberings(check):
        measured = distance[parents_of(check, numbering)[1:]]
        check.equal(
            f"{what}, {numbering.name}", measured, stated, node=nodes, of=numbering.schedule
        )


@checks("FA.T8.3")
def numbers_of_parents(check: ClaimCheck) -> None:
    """Check whether a node's number exceeds the number of its parent by n-1 or more, as stated.

    Nodes whose parent is 12..n are not compared. In fact, the difference can be smaller than n-1,
    but the parent receives the message in an earlier step than the node.
    """
    numbering = scheduled_numbering(check)
    m = numbering.m
    difference = m - m[parents_of(check, numbering)]
    others = np.flatnonzero(m > check.n - 1)
    check.at_least(
        "m(x) - m(x')", difference[others], check.n - 1, node=others, of=numbering.schedule
    )
    correction = check.correction()
    for other in numberings(check):
        cluster = clusters_of(check, other.m)
        parent_cluster = cluster[parents_of(check, other)][1:]
        what = f"cluster of x', {other.name}"
        correction.at_most(what, parent_cluster, cluster[1:] - 1, node=check.ranks[1:])


@checks("FA.T8.3-earlier")
def parents_receive_earlier(check: ClaimCheck) -> None:
    """Check that in algorithm 2, each node's parent receives the message before the node."""
    for numbering in numberings(check):
        step = clusters_of(check, numbering.m)
        parent_step = step[parents_of(check, numbering)][1:]
        place = {"node": check.ranks[1:], "found": parent_step, "stated": step[1:]}
        what = f"x' gets the message earlier, {numbering.name}"
        check.true(what, parent_step < step[1:], **place, of=numbering.schedule)


@checks("FA.A2", memory=ONE_SOURCE)
def algorithm_2_steps_and_transmissions(check: ClaimCheck) -> None:
    """Check that algorithm 2 takes ceil((n!-1)/(n-1)) steps and n!(n!-1) transmissions.

    The schedule of one source is executed and, on small graphs, the schedule of all sources.
    """
    count = factorial(check.n)
    schedules = [algorithm_2(check)]
    if check.n <= _ALL_SOURCES:
        schedules.append(schedules[0].expand())
    for schedule in schedules:
        check.takes(schedule, even_share(check.n), count * (count - 1))


def scheduled_numbering(check: ClaimCheck) -> Numbering:
    """Return the numbering of nodes that follows from starcast's schedule of algorithm 2.

    A node that receives the message in step i over a link of type v has the number
    m = (i-1)(n-1) + v - 1.
    """
    schedule = algorithm_2(check)
    m = np.zeros(check.nodes, dtype=np.int64)
    clusters_before = schedule.step.astype(np.int64) - 1
    m[schedule.receiver] = clusters_before * (check.n - 1) + schedule.port - 1
    return Numbering(m, "starcast's numbering", schedule)


def numberings(check: ClaimCheck) -> Iterator[Numbering]:
    """Yield the `scheduled_numbering`, then random numberings that the paper allows."""
    yield scheduled_numbering(check)
    for seed in range(_RANDOM_NUMBERINGS):
        m = random_numbering(check, seed)
        yield Numbering(m, f"numbering {seed + 1} drawn at random", "")


def clusters_of(check: ClaimCheck, m: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the step in which each node receives the message in algorithm 2.

    The step is ceil(m/(n-1)) for the node with number m.
    """
    return np.asarray(-(-m // (check.n - 1)))


def types_of(check: ClaimCheck, m: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the type (dimension) of each node's link to its parent, given the nodes' numbers m.

    In the paper's notation, v(x) = (m(x) - 1) mod (n-1) + 2 for a node x.
    """
    return np.asarray((m - 1) % (check.n - 1) + 2)


def parents_of(check: ClaimCheck, numbering: Numbering) -> Ranks:
    """Return each node's parent: its neighbour over the link of the type that `types_of` returns.

    The root 12..n is returned as its own parent.
    """
    index = types_of(check, numbering.m) - 2
    parents = check.neighbours.T[np.arange(check.nodes), index].copy()
    parents[0] = 0
    return parents


def generators(check: ClaimCheck) -> dict[int, Generator]:
    """Return the generators of the necklaces N_k1, by distance k; see `Generator`.

    For odd n, the largest distance has no generator. For k <= n-1, the generator has the cycle
    (k+1, k, .., 2, 1), and the link type v is the first symbol of the generator's label. For
    k >= n, the symbols n, n-1, .., 1 are divided, in this order, into k+1-n cycles of two symbols
    and one cycle of all other symbols. Then v is the smaller symbol of the last two-symbol cycle.
    """
    n = check.n
    first = stars.symbols(check)[:, 0]
    by_k = {}
    for k in range(1, diameter(n) + 1 - n % 2):
        if k <= n - 1:
            node = star_graph.node_of_cycles(n, tuple(range(k + 1, 0, -1)))
            by_k[k] = Generator(node, int(first[node]))
        else:
            pairs = [(n - 2 * i, n - 2 * i - 1) for i in range(k + 1 - n)]
            last = tuple(range(n - 2 * len(pairs), 0, -1))
            by_k[k] = Generator(star_graph.node_of_cycles(n, *pairs, last), min(pairs[-1]))
    return by_k


@cached
def random_numbering(check: ClaimCheck, seed: int) -> NDArray[np.int64]:
    """Return a random numbering of the nodes that section 3.2 allows, int64 ``[nodes]``.

    As Appendix B requires, necklaces whose nodes start with 1 come last among the necklaces at the
    same distance.
    """
    degree = check.n - 1
    rng = np.random.default_rng([1993, seed])
    rotations = stars.rotations(check)
    moves = star_graph.moves_of_rules(check)
    distance = check.distances()
    starts_with_1 = stars.symbols(check)[:, 0] == 1
    leaders = np.unique(rotations.min(axis=0))
    chosen = generators(check)
    m = np.zeros(check.nodes, dtype=np.int64)
    number = 1
    for k in range(1, diameter(check.n) + 1):
        order = rng.permutation(leaders[distance[leaders] == k])
        # A stable sort keeps the random order among necklaces that compare equal.
        order = order[np.argsort(starts_with_1[order], kind="stable")]
        if k in chosen:
            leader = rotations[:, chosen[k].node].min()
            order = np.concatenate([[leader], order[order != leader]])
        for leader in order:
            index = (number - 1) % degree
            if k in chosen and leader == order[0]:
                first = rotations[(index - (chosen[k].v - 2)) % degree, chosen[k].node]
            else:
                members = np.unique(rotations[:, leader])
                first = rng.choice(members[moves[members, index]])
            # A necklace of period p has only p nodes, after which its rotations repeat.
            size = len(np.unique(rotations[:, first]))
            m[rotations[:size, first]] = np.arange(number, number + size)
            number += size
    return m


def check_numbering(check: ClaimCheck, numbering: Numbering) -> None:
    """Check that a numbering of the nodes follows section 3.2.

    Nodes must be numbered in order of their distance from 12..n and, at each distance k, necklace
    by necklace, beginning with N_k1 (see `Generator`). Each node of a necklace must be the rotation
    of the previous node. A node's number determines the type of its link to its parent (see
    `types_of`); this link must lead closer to 12..n.
    """
    of = numbering.schedule
    m = numbering.m
    rotated = stars.rotation(check)
    order = np.argsort(m, kind="stable")
    check.equal("numbers", np.sort(m), check.ranks, of=of)
    distance = check.distances()[order]
    check.equal("distances do not fall", distance, np.sort(distance), of=of)
    leader = stars.rotations(check).min(axis=0)[order]
    continues = leader[1:] == leader[:-1]
    intervals = int(np.count_nonzero(~continues)) + 1
    check.equal("a necklace is numbered without a gap", intervals, len(np.unique(leader)), of=of)
    stated = rotated[order[:-1][continues]]
    check.equal("rank of the next node", order[1:][continues], stated, of=of)
    v = types_of(check, m)
    listed = star_graph.moves_of_rules(check)[order[1:], v[order[1:]] - 2]
    check.true("v is one of rules 2 to 4", listed, of=of)
    for k, generator in generators(check).items():
        first = int(np.flatnonzero(distance == k)[0])
        is_first = first <= m[generator.node] < first + check.n - 1
        check.true("N_k1 comes first", is_first, k=k, of=of)
        check.equal("v of the generator", int(v[generator.node]), generator.v, k=k, of=of)


# Appendix B: the number of nodes at each distance from 12..n


@checks("FA.B.D1")
def nodes_at_distance_1(check: ClaimCheck) -> None:
    """Check that n-1 nodes are at distance 1 from 12..n."""
    check.equal("nodes at distance 1", int(check.profile()[1]), check.n - 1)


@cached
def inner_profile(check: ClaimCheck) -> NDArray[np.int64]:
    """Return the number of nodes at each of the distances 2, .., diameter - 1 from 12..n."""
    return check.profile()[2:-1]


@checks("FA.B.D2")
def nodes_at_distance_2(check: ClaimCheck) -> None:
    """Check whether 2(n-1) nodes are at distance 2 from 12..n, as stated.

    In fact, (n-1)(n-2) nodes are at distance 2.
    """
    count = int(inner_profile(check)[0])
    check.equal("nodes at distance 2", count, 2 * (check.n - 1))
    check.correction().equal("nodes at distance 2", count, (check.n - 1) * (check.n - 2))


@checks("FA.B.Dk")
def nodes_at_distances_between(check: ClaimCheck) -> None:
    """Check whether at least 2(n-1) nodes are at each distance from 2 to the diameter minus 1.

    Distances are counted from 12..n. In fact, S_3 has fewer nodes at distance 2.
    """
    n = check.n
    counts = inner_profile(check)
    k = np.arange(2, len(counts) + 2)
    check.equal("the last k", int(k[-1]), diameter(n) - 1)
    check.at_least("nodes at distance k", counts, 2 * (n - 1), k=k)
    check.correction().at_least("nodes at distance k", counts, min(2, n - 2) * (n - 1), k=k)


def listed_nodes(check: ClaimCheck, last: int) -> int:
    """Count the nodes at the second largest distance in the necklaces that Appendix B lists.

    Distances are counted from 12..n. Each of these necklaces consists of the rotations of a node
    with the following cycles: one cycle of the symbols 1..last in any order, and cycles of two
    consecutive symbols above ``last``.
    """
    pairs = [(i, i + 1) for i in range(last + 1, check.n, 2)]
    orders = permutations(range(2, last + 1))
    generators = [star_graph.node_of_cycles(check.n, (1, *order), *pairs) for order in orders]
    members = np.unique(stars.rotations(check)[:, generators])
    return int(np.count_nonzero(check.distances()[members] == diameter(check.n) - 1))


def nodes_before_last(check: ClaimCheck, parity: tuple[int, str]) -> None:
    """Check the number of nodes whose distance from 12..n is the diameter minus 1.

    The paper states that there are at least (l-1)!(n-1) such nodes, where l is 4 for even n, and 3
    for odd n. The necklaces of `listed_nodes` alone must have that many nodes at this distance. In
    fact, for n = l there are only half as many.

    Args:
        check: records the results.
        parity: l, and the necklaces of `listed_nodes` as text.
    """
    n = check.n
    last, necklaces = parity
    count = int(check.profile()[diameter(n) - 1])
    stated = factorial(last - 1) * (n - 1)
    check.at_least("nodes at distance K-1", count, stated)
    check.at_least(f"those on the necklaces of {necklaces}", listed_nodes(check, last), stated)
    check.correction().at_least("nodes at distance K-1", count, stated if n > last else stated // 2)


check_rows(
    nodes_before_last,
    {
        "FA.B.even": (4, "(1 *)(5 6)..(n-1 n), * any order of 2, 3, 4"),
        "FA.B.odd": (3, "(1 *)(4 5)..(n-1 n), * any order of 2, 3"),
    },
)


@checks("FA.B.ones")
def nodes_before_last_with_leading_1(check: ClaimCheck) -> None:
    """Check whether n-1 or more nodes at the second largest distance start with 1, for odd n.

    Distances are counted from 12..n. In fact, no such node of S_3 starts with 1.
    """
    n = check.n
    before_last = check.distances() == diameter(n) - 1
    count = int((stars.symbols(check)[before_last, 0] == 1).sum())
    what = "nodes at distance K-1 that start with 1"
    check.at_least(what, count, n - 1)
    correction = check.correction()
    correction.at_least(what, count, n - 1 if n >= 5 else 0)
    correction.equal("there are some", count > 0, n >= 5)


@checks("FA.B.last")
def last_nodes_start_with_1(check: ClaimCheck) -> None:
    """Check that all nodes at the largest distance from 12..n start with 1 if n is odd."""
    last = np.flatnonzero(check.distances() == diameter(check.n))
    check.true("there are nodes at distance K", len(last) > 0)
    check.equal("first symbol", stars.symbols(check)[last, 0], 1, node=last)


#: The two necklaces listed in Appendix B, in cycle notation; each node is the rotation of the
#: previous node.
LISTED = (
    (((1, 2, 3), (4, 5)), ((1, 3, 4), (5, 2)), ((1, 4, 5), (2, 3)), ((1, 5, 2), (3, 4))),
    (((1, 3, 2), (4, 5)), ((1, 4, 3), (5, 2)), ((1, 5, 4), (2, 3)), ((1, 2, 5), (3, 4))),
)


@checks("FA.B.list")
def listed_necklaces(check: ClaimCheck) -> None:
    """Check the two necklaces that Appendix B lists for n = 5.

    The necklaces must be orbits of the rotation R, at distance 5 (the diameter minus 1) from 12..n.
    """
    rotated = stars.rotation(check)
    distance = check.distances()
    sizes = stars.return_times(check)
    ranks = [
        star_graph.node_of_cycles(check.n, *cycles) for necklace in LISTED for cycles in necklace
    ]
    rows = np.array(ranks).reshape(len(LISTED), -1)
    check.equal("rank of R(x)", rotated[rows], np.roll(rows, -1, axis=1), node=rows)
    check.equal("distance from 12..n", distance[rows], diameter(check.n) - 1, node=rows)
    check.equal("nodes of the necklace", sizes[rows], rows.shape[1], node=rows)
    check.equal("different nodes", len(np.unique(rows)), rows.size)
