"""Fragopoulou & Akl 1993, section 3.2 and Appendix B: the tree MBST, its numbering and clusters (Theorem 8), algorithm 2.

The paper leaves the order of the necklaces of a distance free, and which of several nodes of a necklace comes first. So its
statements are looked at for the house's numbering, read off the schedule of algorithm 2, and for some that are drawn at random
from all that section 3.2 and the restriction of Appendix B allow.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.papers.fragopoulou_akl import nodes
from starcast.claims.reference.bfs import distances
from starcast.claims.reference.star_labels import rotation, rotation_function, symbols
from starcast.claims.registry import check
from starcast.collectives.model import Schedule
from starcast.permutations import Ranks
from starcast.support.integers import ceil_div

_DRAWN = 3  # numberings drawn at random


class Numbering(NamedTuple):
    """m(x) of every node x, 0 of 12..n, and of what it is."""

    m: NDArray[np.int64]
    name: str
    of: Schedule | str


class Begin(NamedTuple):
    """The generator node of N_k1, and the v that it is to have."""

    node: int
    v: int


@check("FA.MBST")
def _first_nodes(check: ClaimCheck) -> None:
    leads, turn, types = (
        nodes.moves_closer(check),
        rotation(check.objects, check.topology),
        nodes.link_types(check),
    )
    turned = nodes.rotations(check)
    least = np.unique(turned.min(axis=0))[1:]  # of each necklace, without 12..n
    exists = leads[turned[:, least]].any(axis=0)
    check.true(
        "a first node exists",
        exists,
        node=lambda row, _: check.topology.label(int(least[row])),
        dimension=lambda _, column: types[column],
    )
    after = rotation_function(check.topology.n)[types]
    check.equal(
        "the rotated link leads closer",
        leads[turn][:, after - 2],
        leads,
        node=lambda x, _: check.topology.label(x),
        dimension=lambda _, column: types[column],
    )
    _described(check, _house(check))


@check("FA.MBST-first")
def _generators(check: ClaimCheck) -> None:
    away, sizes = distances(check.objects, check.topology.spec), nodes.necklace_sizes(check)
    around, turned, types = nodes.neighbours(check), nodes.rotations(check), nodes.link_types(check)
    j = np.arange(check.topology.n - 1)
    numbering = _house(check)
    before: Begin | None = None
    for k, begin in _begins(check).items():
        said = {"k": k, "node": check.topology.label(begin.node)}
        check.equal("distance of the generator from 12..n", int(away[begin.node]), k, **said)
        check.equal("nodes of its necklace", int(sizes[begin.node]), check.topology.n - 1, **said)
        if before is not None:
            here, there = turned[:, begin.node], turned[:, before.node]
            v = types[(begin.v - 2 + j) % len(types)]
            check.equal(
                "rank of the node that v leads to",
                around[here, v - 2],
                there,
                k=k,
                node=check.topology.labels(here),
            )
            parent = around[here, _v(check, numbering.m[here]) - 2]
            met = np.isin(parent, there)
            check.true(
                "v leads into N_(k-1)1", met, k=k, node=check.topology.labels(here), of=numbering.of
            )
        before = begin


@check("FA.MBST-clusters")
def _clusters(check: ClaimCheck) -> None:
    made, n = _schedule(check), check.topology.n
    steps = ceil_div(check.topology.nodes - 1, n - 1)
    check.equal("clusters", len(np.unique(made.step)), steps, of=made)
    found = np.bincount(made.step)[1:]
    step = np.arange(1, len(found) + 1)
    check.equal("nodes of a cluster", found, n - 1, step=step, of=made)
    instead = check.correction(
        "the last cluster has n-2 nodes, all others n-1, since n!-1 is n-2 modulo n-1"
    )
    instead.equal(
        "nodes of a cluster", found, np.where(step == steps, n - 2, n - 1), step=step, of=made
    )


@check("FA.T8.1")
def _different_types(check: ClaimCheck) -> None:
    n = check.topology.n
    for numbering in _numberings(check):
        others = np.flatnonzero(numbering.m)
        step = _step(n, numbering.m[others])
        code = step * (n + 1) + _v(check, numbering.m[others])
        found = [len(np.unique(some)) for some in (step, code)]
        used = np.bincount(np.unique(code) // (n + 1))[1:]
        check.equal(
            "different types of a step",
            used,
            np.bincount(step)[1:],
            step=np.arange(1, found[0] + 1),
            of=numbering.of,
        )
    made = _schedule(check)
    code = made.step.astype(np.int64) * (n + 1) + made.port
    used = np.bincount(np.unique(code) // (n + 1))[1:]
    check.equal(
        "different types of a step, as sent",
        used,
        np.bincount(made.step)[1:],
        step=np.arange(1, len(used) + 1),
        of=made,
    )


@check("FA.T8.2")
def _closer(check: ClaimCheck) -> None:
    away = distances(check.objects, check.topology.spec)
    row = check.objects.forest(check.topology.spec, "necklace")
    others = np.arange(1, check.topology.nodes)
    label = check.topology.labels(others)
    parent = nodes.neighbours(check)[others, row.parent_port[0, others].astype(np.int64) - 2]
    check.true("x has a type v(x)", row.parent_port[0, others] > 0, node=label, of=row)
    check.equal("distance of x' from 12..n", away[parent], away[others] - 1, node=label, of=row)
    for numbering in _numberings(check):
        parent = _parents(check, numbering)[1:]
        check.equal(
            f"distance of x' from 12..n, {numbering.name}",
            away[parent],
            away[others] - 1,
            node=label,
            of=numbering.of,
        )


@check("FA.T8.3")
def _number_of_parent(check: ClaimCheck) -> None:
    numbering = _house(check)
    n, m, before = check.topology.n, numbering.m, numbering.m[_parents(check, numbering)]
    others = np.flatnonzero(m > n - 1)
    check.at_least(
        "m(x) - m(x')",
        (m - before)[others],
        n - 1,
        node=check.topology.labels(others),
        of=numbering.of,
    )
    instead = check.correction(
        "x' is in an earlier cluster than x: ceil(m(x')/(n-1)) < ceil(m(x)/(n-1)), for every x but 12..n"
    )
    for other in _numberings(check):
        before = other.m[_parents(check, other)][1:]
        here = _step(n, other.m[1:])
        instead.at_most(
            f"cluster of x', {other.name}",
            _step(n, before),
            here - 1,
            node=lambda x: check.topology.label(x + 1),
        )


@check("FA.T8.3-earlier")
def _earlier(check: ClaimCheck) -> None:
    others = np.arange(1, check.topology.nodes)
    for numbering in _numberings(check):
        step = _step(check.topology.n, numbering.m)
        before = step[_parents(check, numbering)][1:]
        check.true(
            f"x' gets the message earlier, {numbering.name}",
            before < step[1:],
            node=check.topology.labels(others),
            found=before,
            stated=step[1:],
            of=numbering.of,
        )


@check("FA.A2", bytes_per_node=lambda topology: 80 + 64 * topology.degree)
def _algorithm_2(check: ClaimCheck) -> None:
    count, n = check.topology.nodes, check.topology.n
    written_out = (
        [check.objects.schedule(check.topology.spec, "allgather", "necklace").expand()]
        if n <= 5
        else []
    )
    for made in (_schedule(check), *written_out):
        took = check.execute(made)
        check.equal("steps", took.steps, ceil_div(count - 1, n - 1), of=made)
        check.equal("transmissions", took.transmissions, count * (count - 1), of=made)


def _schedule(check: ClaimCheck) -> Schedule:
    return check.objects.schedule(check.topology.spec, "allgather", "necklace")


def _house(check: ClaimCheck) -> Numbering:
    """m(x) as the schedule has it: node m = (i-1)(n-1) + v - 1 gets the message in step i over type v."""
    made = _schedule(check)
    m = np.zeros(check.topology.nodes, dtype=np.int64)
    m[made.receiver] = (made.step.astype(np.int64) - 1) * (check.topology.n - 1) + made.port - 1
    return Numbering(m, "the house's numbering", made)


def _numberings(check: ClaimCheck) -> Iterator[Numbering]:
    yield _house(check)
    for seed in range(_DRAWN):
        m = check.objects.array(
            f"numbering {seed}", check.topology.spec, partial(_drawn, check, seed)
        )
        yield Numbering(m, f"numbering {seed + 1} drawn at random", "")


def _step(n: int, m: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(-(-m // (n - 1)))


def _v(check: ClaimCheck, m: NDArray[np.int64]) -> NDArray[np.int64]:
    """v(x) = (m(x) - 1) mod (n-1) + 2."""
    return np.asarray((m - 1) % (check.topology.n - 1) + 2)


def _parents(check: ClaimCheck, numbering: Numbering) -> Ranks:
    """The neighbour of each node over v; 12..n at 12..n."""
    found = nodes.neighbours(check)[np.arange(check.topology.nodes), _v(check, numbering.m) - 2].copy()
    found[0] = 0
    return found


def _begins(check: ClaimCheck) -> dict[int, Begin]:
    """The generator of N_k1 by k. For odd n it stops before the greatest distance.

    k <= n-1: the cycle (k+1, k, .., 2, 1), and v the first symbol of the node. k >= n: the symbols in reverse order, the first
    k+1-n pairs of them cycles, the rest the last cycle; v is the smallest symbol of the second cycle from the right.
    """
    n, found = check.topology.n, {}
    for k in range(1, diameter(n) + 1 - n % 2):
        if k <= n - 1:
            node = nodes.node_of_cycles(n, tuple(range(k + 1, 0, -1)))
            found[k] = Begin(node, int(symbols(check.objects, check.topology)[node, 0]))
        else:
            pairs = [(n - 2 * i, n - 2 * i - 1) for i in range(k + 1 - n)]
            node = nodes.node_of_cycles(n, *pairs, tuple(range(n - 2 * len(pairs), 0, -1)))
            found[k] = Begin(node, min(pairs[-1]))
    return found


def _drawn(check: ClaimCheck, seed: int) -> NDArray[np.int64]:
    """A numbering by section 3.2, drawn at random where it leaves a choice; necklaces that start with 1 last (Appendix B)."""
    rng = np.random.default_rng([1993, seed])
    turned, may, away = (
        nodes.rotations(check),
        nodes.moves_of_rules(check),
        distances(check.objects, check.topology.spec),
    )
    ones = symbols(check.objects, check.topology)[:, 0] == 1
    least = np.unique(turned.min(axis=0))
    begins = _begins(check)
    m, number = np.zeros(check.topology.nodes, dtype=np.int64), 1
    for k in range(1, diameter(check.topology.n) + 1):
        order = rng.permutation(least[away[least] == k])
        order = order[np.argsort(ones[order], kind="stable")]
        if k in begins:
            leader = turned[:, begins[k].node].min()
            order = np.concatenate([[leader], order[order != leader]])
        for leader in order:
            v = (number - 1) % (check.topology.n - 1)
            if k in begins and leader == order[0]:
                first = turned[(v - (begins[k].v - 2)) % (check.topology.n - 1), begins[k].node]
            else:
                first = rng.choice([x for x in np.unique(turned[:, leader]) if may[x, v]])
            size = len(np.unique(turned[:, first]))
            m[turned[:size, first]] = np.arange(number, number + size)
            number += size
    return m


def _described(check: ClaimCheck, numbering: Numbering) -> None:
    """Whether a numbering keeps to section 3.2: distance after distance, N_k1 first, necklaces rotation after rotation."""
    count, turn = check.topology.nodes, rotation(check.objects, check.topology)
    order = np.argsort(numbering.m, kind="stable")
    check.equal("numbers", np.sort(numbering.m), np.arange(count), of=numbering.of)
    away = distances(check.objects, check.topology.spec)[order]
    check.equal("distances do not fall", away, np.sort(away), of=numbering.of)
    leader = nodes.rotations(check).min(axis=0)[order]
    goes_on = leader[1:] == leader[:-1]
    check.equal(
        "a necklace is numbered without a gap",
        int(np.count_nonzero(~goes_on)) + 1,
        len(np.unique(leader)),
        of=numbering.of,
    )
    check.equal(
        "rank of the next node", order[1:][goes_on], turn[order[:-1][goes_on]], of=numbering.of
    )
    v = _v(check, numbering.m)
    check.true(
        "v is one of rules 2 to 4", nodes.moves_of_rules(check)[order[1:], v[order[1:]] - 2], of=numbering.of
    )
    for k, begin in _begins(check).items():
        first = int(np.flatnonzero(away == k)[0])
        check.true(
            "N_k1 comes first",
            first <= numbering.m[begin.node] < first + check.topology.n - 1,
            k=k,
            of=numbering.of,
        )
        check.equal("v of the generator", int(v[begin.node]), begin.v, k=k, of=numbering.of)
