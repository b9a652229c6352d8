"""Fragopoulou & Akl 1993, section 3: translation, and disjoint translates (Theorems 1 and 2)."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.papers.fragopoulou_akl import nodes
from starcast.claims.reference.bfs import levels, parents, random_tree, roots
from starcast.claims.reference.star_labels import translation, translations
from starcast.claims.registry import check
from starcast.collectives.model import Schedule
from starcast.permutations import Ranks
from starcast.topologies import Topology

#: Broadcasts of one source that the paper repeats from all, with their port model.
REPEATED = (("rotated-hamiltonian", "all"), ("necklace", "all"), ("hamiltonian-cycle", "one"))
_SEED = 1993
_RANDOM_BROADCASTS = 2
_RANDOM_SETS = 24  # sets of links that are drawn at random
_EXHAUSTIVE = 4  # up to S_4 all pairs of links

#: A set L_i of directed links: tails and types.
Links = tuple[NDArray[np.integer], NDArray[np.integer]]


def translates_bytes(topology: Topology) -> int:
    """Return the bytes per node of all translations."""
    return 4 * topology.nodes


def repeated_broadcasts(check: ClaimCheck) -> Iterator[Schedule]:
    """Yield the schedule of the source 12..n in each allgather that repeats one broadcast."""
    for algorithm, ports in REPEATED:
        yield check.schedule("allgather", algorithm, ports=ports)


@check("FA.T1")
def translation_keeps_links_and_broadcasts(check: ClaimCheck) -> None:
    """Check that F_q keeps link types, and executes the translates of several broadcasts."""
    neighbours = nodes.neighbours(check)
    random = [random_broadcast(check, seed) for seed in range(_RANDOM_BROADCASTS)]
    broadcasts = [*repeated_broadcasts(check), *random]
    for q in roots(check):
        image = translation(check, q)
        root = check.label(q)
        check.equal(
            "rank of the translated neighbour",
            image[neighbours],
            neighbours[image],
            root=root,
            **nodes.node_and_type(check),
        )
        check.equal("F_q(12..n)", int(image[0]), q, root=root)
        check.equal("F_q is one to one", np.sort(image), np.arange(check.nodes), root=root)
        for broadcast in broadcasts:
            check.execute(translated_broadcast(broadcast, q, image))


@check("FA.T2.sufficient", bytes_per_node=translates_bytes)
def different_types_have_disjoint_translates(check: ClaimCheck) -> None:
    """Check that no link is in two translates of a set of links of different types."""
    for schedule in repeated_broadcasts(check):
        chosen = []
        greatest = []
        for step in range(1, schedule.steps + 1):
            rows = schedule.step == step
            types = schedule.port[rows]
            if len(np.unique(types)) == len(types) > 0:
                chosen.append(step)
                greatest.append(int(translate_counts(check, (schedule.sender[rows], types)).max()))
        what = "translates that a link is in, at most"
        check.equal(what, greatest, 1, step=np.array(chosen), of=schedule)
    random = [int(translate_counts(check, links).max()) for links in random_links(check)]
    check.equal("translates that a link is in, at most, of sets drawn at random", random, 1)


@check("FA.T2.necessary", bytes_per_node=translates_bytes)
def same_type_has_overlapping_translates(check: ClaimCheck) -> None:
    """Check that some link is in two translates of a set of two links of one type."""
    for tails, dimension in link_pairs(check):
        counts = translate_counts(check, (tails, np.array([dimension, dimension])))
        place = {"nodes": ", ".join(check.labels(tails)), "dimension": dimension}
        overlap = bool((counts > 1).any())
        check.true("two translates have a link in common", overlap, **place)
        twice = int(np.count_nonzero(counts == 2))
        check.equal("links in two translates", twice, check.nodes, **place)


def translated_broadcast(broadcast: Schedule, q: int, image: Ranks) -> Schedule:
    """Return the broadcast of 12..n, translated to q link by link."""
    return replace(
        broadcast,
        collective="broadcast",
        root=q,
        sender=image[broadcast.sender],
        receiver=image[broadcast.receiver],
        symmetric=False,
        forest=None,
        units=1,
    )


def random_broadcast(check: ClaimCheck, seed: int) -> Schedule:
    """Return a broadcast down a random spanning tree, level by level."""
    row = random_tree(check, seed)
    parent = parents(check, row)
    receivers = np.flatnonzero(row)
    return Schedule(
        check.topology,
        "broadcast",
        f"drawn-{seed}",
        "all",
        units=1,
        packets=False,
        step=levels(parent, 0)[receivers],
        sender=parent[receivers],
        port=row[receivers],
        receiver=receivers.astype(np.int32),
        tree=np.zeros(len(receivers), dtype=np.uint8),
        unit=np.zeros(len(receivers), dtype=np.int32),
    )


def translate_counts(check: ClaimCheck, links: Links) -> NDArray[np.int64]:
    """Return the number of translates L(q) with each directed link, ``[nodes * types]``."""
    tails, types = links
    degree = check.n - 1
    images = translations(check)[:, tails].astype(np.int64)
    codes = images * degree + (np.asarray(types, dtype=np.int64) - 2)
    return np.bincount(codes.ravel(), minlength=check.nodes * degree)


def random_links(check: ClaimCheck) -> Iterator[Links]:
    """Yield random sets of links of different types, of all sizes from 1 to n-1.

    Tails are any nodes, and may be equal.
    """
    rng = np.random.default_rng(_SEED)
    for number in range(_RANDOM_SETS):
        size = number % (check.n - 1) + 1
        tails = rng.integers(0, check.nodes, size)
        yield tails, rng.permutation(nodes.link_types(check))[:size]


def link_pairs(check: ClaimCheck) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield two different tails and a type: all on a small graph, otherwise random choices."""
    count = check.nodes
    types = nodes.link_types(check)
    if check.n <= _EXHAUSTIVE:
        for pair in combinations(range(count), 2):
            for dimension in types:
                yield np.array(pair), int(dimension)
        return
    rng = np.random.default_rng(_SEED)
    for _ in range(_RANDOM_SETS):
        tails = np.sort(rng.choice(count, 2, replace=False))
        yield tails, int(rng.choice(types))
