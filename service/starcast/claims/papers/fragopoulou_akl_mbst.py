"""Fragopoulou & Akl 1993, section 3.2 and Appendix B: the tree MBST, its numbering and clusters (Theorem 8), algorithm 2.

The paper leaves the order of the necklaces of a distance free, and which of several nodes of a necklace comes first. So its
statements are looked at for the house's numbering, read off the schedule of algorithm 2, and for some that are drawn at random
from all that section 3.2 and the restriction of Appendix B allow.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.claims.declaration import Family, stars
from starcast.claims.formulas import diameter
from starcast.claims.instruments import fragopoulou_akl_nodes as nodes
from starcast.claims.instruments.searching import distances
from starcast.claims.instruments.star_labels import r, rotation, symbols
from starcast.claims.see import See
from starcast.collectives.model import Schedule
from starcast.permutations import Ranks
from starcast.support.integers import ceil_div

FAMILY = Family("fragopoulou_akl_mbst")
claim = FAMILY.claim

_DRAWN = 3  # numberings drawn at random
_FREE = (
    "The paper leaves the order of necklaces and the first of several possible nodes free: the house's choice and some drawn "
    "at random are looked at."
)


class Numbering(NamedTuple):
    """m(x) of every node x, 0 of 12..n, and of what it is."""

    m: NDArray[np.int64]
    name: str
    of: Schedule | str


class Begin(NamedTuple):
    """The generator node of N_k1, and the v that it is to have."""

    node: int
    v: int


@claim(
    "FA.MBST",
    "Section 3.2",
    stars(6, 8, 8),
    "For every necklace but {12..n} and every v = 2..n there is a node x in it that v leads closer to 12..n; v leads x closer "
    "if and only if r(v) leads R(x); and the numbering of `necklace` is one that section 3.2 describes.",
    reading="Whatever comes before a necklace, v of its first node may be any type: a first node is looked for for each.",
)
def _first_nodes(see: See) -> None:
    leads, turn, types = nodes.closer(see), rotation(see.lab, see.where), nodes.types(see)
    turned = nodes.turned(see)
    least = np.unique(turned.min(axis=0))[1:]  # of each necklace, without 12..n
    exists = leads[turned[:, least]].any(axis=0)
    see.true(
        "a first node exists",
        exists,
        node=lambda row, _: see.where.label(int(least[row])),
        dimension=lambda _, column: types[column],
    )
    after = r(see.where.n)[types]
    see.equal(
        "the rotated link leads closer",
        leads[turn][:, after - 2],
        leads,
        node=lambda x, _: see.where.label(x),
        dimension=lambda _, column: types[column],
    )
    _described(see, _house(see))


@claim(
    "FA.MBST-first",
    "Section 3.2, Appendix B (b)",
    stars(7, 8, 9),
    "G_k, the generator of N_k1, is at distance k from 12..n and in a necklace of n-1 nodes; for k >= 2 the type t_k that "
    "section 3.2 gives it leads from R^j(G_k), rotated j times, to R^j(G_(k-1)).",
)
def _generators(see: See) -> None:
    away, sizes = distances(see.lab, see.where.spec), nodes.necklace_sizes(see)
    around, turned, types = nodes.across(see), nodes.turned(see), nodes.types(see)
    j = np.arange(see.where.n - 1)
    numbering = _house(see)
    before: Begin | None = None
    for k, begin in _begins(see).items():
        said = {"k": k, "node": see.where.label(begin.node)}
        see.equal("distance of the generator from 12..n", int(away[begin.node]), k, **said)
        see.equal("nodes of its necklace", int(sizes[begin.node]), see.where.n - 1, **said)
        if before is not None:
            here, there = turned[:, begin.node], turned[:, before.node]
            v = types[(begin.v - 2 + j) % len(types)]
            see.equal(
                "rank of the node that v leads to",
                around[here, v - 2],
                there,
                k=k,
                node=see.where.labels(here),
            )
            parent = around[here, _v(see, numbering.m[here]) - 2]
            met = np.isin(parent, there)
            see.true(
                "v leads into N_(k-1)1", met, k=k, node=see.where.labels(here), of=numbering.of
            )
        before = begin


@claim(
    "FA.MBST-clusters",
    "Section 3.2",
    stars(7, 8, 8),
    "The nodes that get the message in step i, i = 1..ceil((n!-1)/(n-1)), are n-1 for every i.",
)
def _clusters(see: See) -> None:
    made, n = _schedule(see), see.where.n
    steps = ceil_div(see.where.nodes - 1, n - 1)
    see.equal("clusters", len(np.unique(made.step)), steps, of=made)
    found = np.bincount(made.step)[1:]
    step = np.arange(1, len(found) + 1)
    see.equal("nodes of a cluster", found, n - 1, step=step, of=made)
    instead = see.instead(
        "the last cluster has n-2 nodes, all others n-1, since n!-1 is n-2 modulo n-1"
    )
    instead.equal(
        "nodes of a cluster", found, np.where(step == steps, n - 2, n - 1), step=step, of=made
    )


@claim(
    "FA.T8.1",
    "Theorem 8, part 1",
    stars(7, 8, 8),
    "The links of a step have pairwise different types.",
    reading=_FREE,
)
def _different_types(see: See) -> None:
    n = see.where.n
    for numbering in _numberings(see):
        others = np.flatnonzero(numbering.m)
        step = _step(n, numbering.m[others])
        code = step * (n + 1) + _v(see, numbering.m[others])
        found = [len(np.unique(some)) for some in (step, code)]
        used = np.bincount(np.unique(code) // (n + 1))[1:]
        see.equal(
            "different types of a step",
            used,
            np.bincount(step)[1:],
            step=np.arange(1, found[0] + 1),
            of=numbering.of,
        )
    made = _schedule(see)
    code = made.step.astype(np.int64) * (n + 1) + made.port
    used = np.bincount(np.unique(code) // (n + 1))[1:]
    see.equal(
        "different types of a step, as sent",
        used,
        np.bincount(made.step)[1:],
        step=np.arange(1, len(used) + 1),
        of=made,
    )


@claim(
    "FA.T8.2",
    "Theorem 8, part 2",
    stars(7, 8, 8),
    "The neighbour x' of x over v(x) is one link closer to 12..n, for every x but 12..n.",
    reading=_FREE,
)
def _closer(see: See) -> None:
    away = distances(see.lab, see.where.spec)
    row = see.lab.forest(see.where.spec, "necklace")
    others = np.arange(1, see.where.nodes)
    label = see.where.labels(others)
    parent = nodes.across(see)[others, row.parent_port[0, others].astype(np.int64) - 2]
    see.true("x has a type v(x)", row.parent_port[0, others] > 0, node=label, of=row)
    see.equal("distance of x' from 12..n", away[parent], away[others] - 1, node=label, of=row)
    for numbering in _numberings(see):
        parent = _parents(see, numbering)[1:]
        see.equal(
            f"distance of x' from 12..n, {numbering.name}",
            away[parent],
            away[others] - 1,
            node=label,
            of=numbering.of,
        )


@claim(
    "FA.T8.3",
    "Theorem 8, part 3",
    stars(7, 8, 8),
    "m(x) - m(x') >= n-1 for every x but 12..n and its neighbours, x' the neighbour over v(x).",
    reading="Without the neighbours of 12..n, of which m(x) - m(x') = m(x) = 1..n-1. The house's numbering is looked at; for "
    "n = 3 the paper leaves no choice.",
)
def _number_of_parent(see: See) -> None:
    numbering = _house(see)
    n, m, before = see.where.n, numbering.m, numbering.m[_parents(see, numbering)]
    others = np.flatnonzero(m > n - 1)
    see.at_least(
        "m(x) - m(x')", (m - before)[others], n - 1, node=see.where.labels(others), of=numbering.of
    )
    instead = see.instead(
        "x' is in an earlier cluster than x: ceil(m(x')/(n-1)) < ceil(m(x)/(n-1)), for every x but 12..n"
    )
    for other in _numberings(see):
        before = other.m[_parents(see, other)][1:]
        here = _step(n, other.m[1:])
        instead.at_most(
            f"cluster of x', {other.name}",
            _step(n, before),
            here - 1,
            node=lambda x: see.where.label(x + 1),
        )


@claim(
    "FA.T8.3-earlier",
    "Theorem 8, part 3, and Appendix B",
    stars(7, 8, 8),
    "x' gets the message in an earlier step than x: ceil(m(x')/(n-1)) < ceil(m(x)/(n-1)).",
    reading=_FREE,
)
def _earlier(see: See) -> None:
    others = np.arange(1, see.where.nodes)
    for numbering in _numberings(see):
        step = _step(see.where.n, numbering.m)
        before = step[_parents(see, numbering)][1:]
        see.true(
            f"x' gets the message earlier, {numbering.name}",
            before < step[1:],
            node=see.where.labels(others),
            found=before,
            stated=step[1:],
            of=numbering.of,
        )


@claim(
    "FA.A2",
    "Section 3.2",
    stars(7, 8, 8),
    "Allgather along `necklace` has no conflict and takes ceil((n!-1)/(n-1)) steps and n!(n!-1) transmissions.",
    weight=lambda where: 80 + 64 * where.degree,
)
def _algorithm_2(see: See) -> None:
    count, n = see.where.nodes, see.where.n
    written_out = (
        [see.lab.schedule(see.where.spec, "allgather", "necklace").expand()] if n <= 5 else []
    )
    for made in (_schedule(see), *written_out):
        took = see.executed(made)
        see.equal("steps", took.steps, ceil_div(count - 1, n - 1), of=made)
        see.equal("transmissions", took.transmissions, count * (count - 1), of=made)


def _schedule(see: See) -> Schedule:
    return see.lab.schedule(see.where.spec, "allgather", "necklace")


def _house(see: See) -> Numbering:
    """m(x) as the schedule has it: node m = (i-1)(n-1) + v - 1 gets the message in step i over type v."""
    made = _schedule(see)
    m = np.zeros(see.where.nodes, dtype=np.int64)
    m[made.receiver] = (made.step.astype(np.int64) - 1) * (see.where.n - 1) + made.port - 1
    return Numbering(m, "the house's numbering", made)


def _numberings(see: See) -> Iterator[Numbering]:
    yield _house(see)
    for seed in range(_DRAWN):
        m = see.lab.array(f"numbering {seed}", see.where.spec, lambda seed=seed: _drawn(see, seed))  # type: ignore[misc]
        yield Numbering(m, f"numbering {seed + 1} drawn at random", "")


def _step(n: int, m: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(-(-m // (n - 1)))


def _v(see: See, m: NDArray[np.int64]) -> NDArray[np.int64]:
    """v(x) = (m(x) - 1) mod (n-1) + 2."""
    return np.asarray((m - 1) % (see.where.n - 1) + 2)


def _parents(see: See, numbering: Numbering) -> Ranks:
    """The neighbour of each node over v; 12..n at 12..n."""
    found = nodes.across(see)[np.arange(see.where.nodes), _v(see, numbering.m) - 2].copy()
    found[0] = 0
    return found


def _begins(see: See) -> dict[int, Begin]:
    """The generator of N_k1 by k. For odd n it stops before the greatest distance.

    k <= n-1: the cycle (k+1, k, .., 2, 1), and v the first symbol of the node. k >= n: the symbols in reverse order, the first
    k+1-n pairs of them cycles, the rest the last cycle; v is the smallest symbol of the second cycle from the right.
    """
    n, found = see.where.n, {}
    for k in range(1, diameter(n) + 1 - n % 2):
        if k <= n - 1:
            node = nodes.node_of(n, tuple(range(k + 1, 0, -1)))
            found[k] = Begin(node, int(symbols(see.lab, see.where)[node, 0]))
        else:
            pairs = [(n - 2 * i, n - 2 * i - 1) for i in range(k + 1 - n)]
            node = nodes.node_of(n, *pairs, tuple(range(n - 2 * len(pairs), 0, -1)))
            found[k] = Begin(node, min(pairs[-1]))
    return found


def _drawn(see: See, seed: int) -> NDArray[np.int64]:
    """A numbering by section 3.2, drawn at random where it leaves a choice; necklaces that start with 1 last (Appendix B)."""
    rng = np.random.default_rng([1993, seed])
    turned, may, away = nodes.turned(see), nodes.rules(see), distances(see.lab, see.where.spec)
    ones = symbols(see.lab, see.where)[:, 0] == 1
    least = np.unique(turned.min(axis=0))
    begins = _begins(see)
    m, number = np.zeros(see.where.nodes, dtype=np.int64), 1
    for k in range(1, diameter(see.where.n) + 1):
        order = rng.permutation(least[away[least] == k])
        order = order[np.argsort(ones[order], kind="stable")]
        if k in begins:
            leader = turned[:, begins[k].node].min()
            order = np.concatenate([[leader], order[order != leader]])
        for leader in order:
            v = (number - 1) % (see.where.n - 1)
            if k in begins and leader == order[0]:
                first = turned[(v - (begins[k].v - 2)) % (see.where.n - 1), begins[k].node]
            else:
                first = rng.choice([x for x in np.unique(turned[:, leader]) if may[x, v]])
            size = len(np.unique(turned[:, first]))
            m[turned[:size, first]] = np.arange(number, number + size)
            number += size
    return m


def _described(see: See, numbering: Numbering) -> None:
    """Whether a numbering keeps to section 3.2: distance after distance, N_k1 first, necklaces rotation after rotation."""
    count, turn = see.where.nodes, rotation(see.lab, see.where)
    order = np.argsort(numbering.m, kind="stable")
    see.equal("numbers", np.sort(numbering.m), np.arange(count), of=numbering.of)
    away = distances(see.lab, see.where.spec)[order]
    see.equal("distances do not fall", away, np.sort(away), of=numbering.of)
    leader = nodes.turned(see).min(axis=0)[order]
    goes_on = leader[1:] == leader[:-1]
    see.equal(
        "a necklace is numbered without a gap",
        int(np.count_nonzero(~goes_on)) + 1,
        len(np.unique(leader)),
        of=numbering.of,
    )
    see.equal(
        "rank of the next node", order[1:][goes_on], turn[order[:-1][goes_on]], of=numbering.of
    )
    v = _v(see, numbering.m)
    see.true(
        "v is one of rules 2 to 4", nodes.rules(see)[order[1:], v[order[1:]] - 2], of=numbering.of
    )
    for k, begin in _begins(see).items():
        first = int(np.flatnonzero(away == k)[0])
        see.true(
            "N_k1 comes first",
            first <= numbering.m[begin.node] < first + see.where.n - 1,
            k=k,
            of=numbering.of,
        )
        see.equal("v of the generator", int(v[begin.node]), begin.v, k=k, of=numbering.of)
