"""Fragopoulou & Akl 1993, section 3: translation, and when the translates of a broadcast do not meet (Theorems 1 and 2)."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.papers.fragopoulou_akl import nodes
from starcast.claims.reference.bfs import levels, parents, random_tree, roots
from starcast.claims.reference.star_labels import translation, translations
from starcast.claims.registry import check
from starcast.collectives.model import Schedule
from starcast.permutations import Ranks

#: Broadcasts of one source that the paper repeats from all, with their port model.
_REPEATED = (("rotated-hamiltonian", "all"), ("necklace", "all"), ("hamiltonian-cycle", "one"))
_SEED = 1993
_SETS = 24  # sets of links that are drawn at random
_EXHAUSTIVE = 4  # up to S_4 all pairs of links

#: A set L_i of directed links: tails and types.
Links = tuple[NDArray[np.int64], NDArray[np.int64]]


@check("FA.T1")
def _translation(check: ClaimCheck) -> None:
    around, types = nodes.across(check), nodes.types(check)
    broadcasts = [
        check.objects.schedule(check.topology.spec, "allgather", name, ports=ports)
        for name, ports in _REPEATED
    ]
    broadcasts += [_at_random(check, seed) for seed in range(2)]
    for q in roots(check.topology):
        image = translation(check.objects, check.topology, q)
        check.equal(
            "rank of the translated neighbour",
            image[around],
            around[image],
            root=check.topology.label(q),
            node=lambda x, _: check.topology.label(x),
            dimension=lambda _, t: types[t],
        )
        check.equal("F_q(12..n)", int(image[0]), q, root=check.topology.label(q))
        check.equal(
            "F_q is one to one",
            np.sort(image),
            np.arange(check.topology.nodes),
            root=check.topology.label(q),
        )
        for broadcast in broadcasts:
            check.execute(_carried(broadcast, q, image))


@check("FA.T2.sufficient", bytes_per_node=lambda topology: 4 * topology.nodes)
def _different_types(check: ClaimCheck) -> None:
    for name, ports in _REPEATED:
        made = check.objects.schedule(check.topology.spec, "allgather", name, ports=ports)
        sets = [
            (made.sender[made.step == step], made.port[made.step == step])
            for step in range(1, made.steps + 1)
        ]
        chosen = [
            step
            for step, (_, types) in enumerate(sets, 1)
            if len(set(types.tolist())) == len(types) > 0
        ]
        most = [int(_met(check, sets[step - 1]).max()) for step in chosen]
        check.equal(
            "translates that a link is in, at most", most, 1, step=np.array(chosen), of=made
        )
    drawn = [int(_met(check, links).max()) for links in _drawn(check)]
    check.equal("translates that a link is in, at most, of sets drawn at random", drawn, 1)


@check("FA.T2.necessary", bytes_per_node=lambda topology: 4 * topology.nodes)
def _same_type(check: ClaimCheck) -> None:
    for tails, one in _pairs(check):
        met = _met(check, (tails, np.array([one, one])))
        said = {"nodes": ", ".join(check.topology.labels(tails)), "dimension": one}
        check.true("two translates have a link in common", bool((met > 1).any()), **said)
        check.equal(
            "links in two translates", int(np.count_nonzero(met == 2)), check.topology.nodes, **said
        )


def _carried(given: Schedule, q: int, image: Ranks) -> Schedule:
    """The broadcast of 12..n, link by link translated to q."""
    sender, receiver = image[given.sender], image[given.receiver]
    return replace(
        given,
        collective="broadcast",
        root=q,
        sender=sender,
        receiver=receiver,
        symmetric=False,
        forest=None,
        units=1,
    )


def _at_random(check: ClaimCheck, seed: int) -> Schedule:
    """A broadcast down a spanning tree drawn at random, level by level."""
    row = random_tree(check.objects, check.topology, seed)
    parent = parents(check.objects, check.topology, row)
    nodes_reached = np.flatnonzero(row)
    return Schedule(
        check.topology,
        "broadcast",
        f"drawn-{seed}",
        "all",
        units=1,
        packets=False,
        step=levels(parent, 0)[nodes_reached],
        sender=parent[nodes_reached],
        port=row[nodes_reached],
        receiver=nodes_reached.astype(np.int32),
        tree=np.zeros(len(nodes_reached), dtype=np.uint8),
        unit=np.zeros(len(nodes_reached), dtype=np.int32),
    )


def _met(check: ClaimCheck, links: Links) -> NDArray[np.int64]:
    """In how many of the translates L(q), over all q, every directed link is, ``[nodes * types]``."""
    tails, types = links
    images = translations(check.objects, check.topology)[:, tails].astype(np.int64)
    codes = images * (check.topology.n - 1) + (np.asarray(types, dtype=np.int64) - 2)
    return np.bincount(codes.ravel(), minlength=check.topology.nodes * (check.topology.n - 1))


def _drawn(check: ClaimCheck) -> Iterator[Links]:
    """Sets of links of different types, of all sizes from 1 to n-1, their tails any nodes, some of them the same."""
    rng = np.random.default_rng(_SEED)
    for number in range(_SETS):
        size = number % (check.topology.n - 1) + 1
        yield (
            rng.integers(0, check.topology.nodes, size),
            rng.permutation(nodes.types(check))[:size],
        )


def _pairs(check: ClaimCheck) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Two different tails and a type: all of them on a small graph, else some drawn at random."""
    count, types = check.topology.nodes, nodes.types(check)
    if check.topology.n <= _EXHAUSTIVE:
        yield from (
            (np.array([x, y]), int(t))
            for x in range(count)
            for y in range(x + 1, count)
            for t in types
        )
        return
    rng = np.random.default_rng(_SEED)
    for _ in range(_SETS):
        yield np.sort(rng.choice(count, 2, replace=False)), int(rng.choice(types))
