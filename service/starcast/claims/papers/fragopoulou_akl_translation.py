"""Fragopoulou & Akl 1993, section 3: translation, and when the translates of a broadcast do not meet (Theorems 1 and 2)."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from starcast.claims.declaration import Family, stars
from starcast.claims.instruments import fragopoulou_akl_nodes as nodes
from starcast.claims.instruments.searching import levels, parents, random_tree, roots
from starcast.claims.instruments.star_labels import translation, translations
from starcast.claims.see import See
from starcast.collectives.model import Schedule
from starcast.permutations import Ranks

FAMILY = Family("fragopoulou_akl_translation")
claim = FAMILY.claim

#: Broadcasts of one source that the paper repeats from all, with their port model.
_REPEATED = (("rotated-hamiltonian", "all"), ("necklace", "all"), ("hamiltonian-cycle", "one"))
_SEED = 1993
_SETS = 24  # sets of links that are drawn at random
_EXHAUSTIVE = 4  # up to S_4 all pairs of links
_DIRECTED = (
    "Links are directed, as the pairs (x, y) of the paper: 'in one time step one packet can be transmitted along a link in "
    "each direction' (section 1)."
)

#: A set L_i of directed links: tails and types.
Links = tuple[NDArray[np.int64], NDArray[np.int64]]


@claim(
    "FA.T1",
    "Theorem 1",
    stars(6, 7, 7),
    "F_q(g_t(x)) = g_t(F_q(x)) for all q, x, t, and the schedule of a broadcast from 12..n, translated by q, is one of a "
    "broadcast from q.",
)
def _translation(see: See) -> None:
    around, types = nodes.across(see), nodes.types(see)
    broadcasts = [
        see.lab.schedule(see.where.spec, "allgather", name, ports=ports)
        for name, ports in _REPEATED
    ]
    broadcasts += [_at_random(see, seed) for seed in range(2)]
    for q in roots(see.where):
        image = translation(see.lab, see.where, q)
        see.equal(
            "rank of the translated neighbour",
            image[around],
            around[image],
            root=see.where.label(q),
            node=lambda x, _: see.where.label(x),
            dimension=lambda _, t: types[t],
        )
        see.equal("F_q(12..n)", int(image[0]), q, root=see.where.label(q))
        see.equal(
            "F_q is one to one", np.sort(image), np.arange(see.where.nodes), root=see.where.label(q)
        )
        for broadcast in broadcasts:
            see.executed(_carried(broadcast, q, image))


@claim(
    "FA.T2.sufficient",
    "Theorem 2",
    stars(6, 6, 7),
    "If the directed links of a set L(12..n) have pairwise different types, no directed link is in two of the translates L(q), "
    "q all nodes.",
    reading=_DIRECTED,
    weight=lambda where: 4 * where.nodes,
)
def _different_types(see: See) -> None:
    for name, ports in _REPEATED:
        made = see.lab.schedule(see.where.spec, "allgather", name, ports=ports)
        sets = [
            (made.sender[made.step == step], made.port[made.step == step])
            for step in range(1, made.steps + 1)
        ]
        chosen = [
            step
            for step, (_, types) in enumerate(sets, 1)
            if len(set(types.tolist())) == len(types) > 0
        ]
        most = [int(_met(see, sets[step - 1]).max()) for step in chosen]
        see.equal("translates that a link is in, at most", most, 1, step=np.array(chosen), of=made)
    drawn = [int(_met(see, links).max()) for links in _drawn(see)]
    see.equal("translates that a link is in, at most, of sets drawn at random", drawn, 1)


@claim(
    "FA.T2.necessary",
    "Theorem 2, 'a necessary condition'",
    stars(6, 6, 7),
    "If two directed links of a set L(12..n) have the same type, some directed link is in two of the translates L(q), q all "
    "nodes.",
    reading=_DIRECTED,
    weight=lambda where: 4 * where.nodes,
)
def _same_type(see: See) -> None:
    for tails, one in _pairs(see):
        met = _met(see, (tails, np.array([one, one])))
        said = {"nodes": ", ".join(see.where.labels(tails)), "dimension": one}
        see.true("two translates have a link in common", bool((met > 1).any()), **said)
        see.equal(
            "links in two translates", int(np.count_nonzero(met == 2)), see.where.nodes, **said
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


def _at_random(see: See, seed: int) -> Schedule:
    """A broadcast down a spanning tree drawn at random, level by level."""
    row = random_tree(see.lab, see.where, seed)
    parent = parents(see.lab, see.where, row)
    nodes_reached = np.flatnonzero(row)
    return Schedule(
        see.where,
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


def _met(see: See, links: Links) -> NDArray[np.int64]:
    """In how many of the translates L(q), over all q, every directed link is, ``[nodes * types]``."""
    tails, types = links
    images = translations(see.lab, see.where)[:, tails].astype(np.int64)
    codes = images * (see.where.n - 1) + (np.asarray(types, dtype=np.int64) - 2)
    return np.bincount(codes.ravel(), minlength=see.where.nodes * (see.where.n - 1))


def _drawn(see: See) -> Iterator[Links]:
    """Sets of links of different types, of all sizes from 1 to n-1, their tails any nodes, some of them the same."""
    rng = np.random.default_rng(_SEED)
    for number in range(_SETS):
        size = number % (see.where.n - 1) + 1
        yield rng.integers(0, see.where.nodes, size), rng.permutation(nodes.types(see))[:size]


def _pairs(see: See) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Two different tails and a type: all of them on a small graph, else some drawn at random."""
    count, types = see.where.nodes, nodes.types(see)
    if see.where.n <= _EXHAUSTIVE:
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
