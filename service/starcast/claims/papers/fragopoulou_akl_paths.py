"""Fragopoulou & Akl 1993, sections 3.1 and 4: the tree of rotated Hamiltonian paths, algorithm 1, and the Hamiltonian cycle."""

from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from starcast.claims.declaration import Family, stars
from starcast.claims.formulas import even_share
from starcast.claims.growth import factorial
from starcast.claims.instruments import fragopoulou_akl_nodes as nodes
from starcast.claims.instruments.searching import levels, parents
from starcast.claims.instruments.star_labels import symbols
from starcast.claims.see import See
from starcast.collectives.model import COLUMNS, Schedule
from starcast.permutations import Ranks
from starcast.support.integers import ceil_div
from starcast.trees.model import Forest

FAMILY = Family("fragopoulou_akl_paths")
claim = FAMILY.claim

_WRITTEN_OUT = 5  # up to S_5 the messages of all sources are followed as well, n!(n!-1) rows
_OTHERS = 4  # other Hamiltonian paths than the house's
_TRIES = 400


@claim(
    "FA.T4",
    "Theorem 4",
    stars(7, 8, 9),
    "R^(j-2) takes a Hamiltonian path from 213..n over the nodes with symbol 1 in position 2 to one from j23..(j-1)1(j+1)..n "
    "over the nodes with symbol 1 in position j, j = 2..n.",
    reading="Any path T_2: that of `rotated-hamiltonian`, and up to S_6 some drawn at random.",
)
def _rotated_paths(see: See) -> None:
    n, forest = see.where.n, _forest(see)
    turned, row = nodes.turned(see), symbols(see.lab, see.where)
    paths = [_path(see, 2), *_drawn(see)] if n <= 6 else [_path(see, 2)]
    for j in range(2, n + 1):
        members = np.flatnonzero(row[:, j - 1] == 1)
        for number, path in enumerate(paths):
            image = turned[j - 2, path]
            said = {"j": j, "path": number}
            see.equal("rank of the first node", int(image[0]), nodes.node_of(n, (1, j)), **said)
            see.equal("nodes of the path, sorted", np.sort(image), members, **said)
            see.true(
                "consecutive nodes are neighbours",
                nodes.type_between(see, image[:-1], image[1:]) > 0,
                **said,
            )
        see.equal("node of T_j", _path(see, j), turned[j - 2, paths[0]], j=j, of=forest)


@claim(
    "FA.T4-types",
    "Proof of Theorem 4",
    stars(7, 8, 9),
    "Where T_2 crosses a link of type i, T_j crosses one of type (i+j-4) mod (n-1) + 2; the link from 12..n is its first.",
)
def _types(see: See) -> None:
    n, forest = see.where.n, _forest(see)
    ports, turned = forest.parent_port[0].astype(np.int64), nodes.turned(see)
    way = np.concatenate([[0], _path(see, 2)]).astype(np.int32)
    i = nodes.type_between(see, way[:-1], way[1:])
    step = np.arange(1, len(i) + 1)
    for j in range(2, n + 1):
        image = turned[j - 2, way]
        crossed = nodes.type_between(see, image[:-1], image[1:])
        see.equal(
            "type that T_2 crosses, rotated j-2 times",
            crossed,
            _t(n, j, i),
            j=j,
            step=step,
            of=forest,
        )
        see.equal("type in T_j", ports[_path(see, j)], _t(n, j, i), j=j, step=step, of=forest)


@claim(
    "FA.A1.1",
    "Section 3.1.1",
    stars(6, 8, 8),
    "The links of `rotated-hamiltonian` to nodes that do not start with 1 take (n-1)! steps, without conflict; then node x has "
    "the messages of all q with q_1 != x_1 and its own, no others.",
    weight=lambda where: 80 + 64 * where.degree,
)
def _phase_1(see: See) -> None:
    n, row = see.where.n, symbols(see.lab, see.where)
    made = _schedule(see)
    part = _part(made, row[made.receiver, 0] != 1)
    took = see.lab.simulation(part)
    see.equal("steps", took.steps, factorial(n - 1), of=part)
    see.true(
        "phase 1 is without conflict",
        took.violation is None,
        found=str(took.violation),
        stated="None",
        of=part,
    )
    has = np.bincount(part.receiver, minlength=see.where.nodes)
    has[0] += 1
    see.equal(
        "times that the node gets the message of 12..n",
        has,
        _owed(row, 0),
        node=see.where.label,
        of=part,
    )
    if n > _WRITTEN_OUT:
        return
    every = part.expand()
    all_took = see.lab.simulation(every)
    see.equal("steps, all sources written out", all_took.steps, factorial(n - 1), of=every)
    see.true(
        "all sources are without conflict",
        all_took.violation is None,
        found=str(all_took.violation),
        stated="None",
        of=every,
    )
    held = np.eye(see.where.nodes, dtype=np.int64)
    np.add.at(held, (every.unit, every.receiver), 1)
    for q in range(see.where.nodes):
        label = see.where.label(q)
        see.equal(
            "times that the node gets the message",
            held[q],
            _owed(row, q),
            root=label,
            node=see.where.label,
            of=every,
        )


@claim(
    "FA.A1.2",
    "Section 3.1.2",
    stars(6, 8, 8),
    "The links to nodes that start with 1, used after step (n-1)!, keep rule 1, have no conflict and take "
    "ceil(((n-1)!-1)/(n-1)) steps.",
    weight=lambda where: 80 + 64 * where.degree,
)
def _phase_2(see: See) -> None:
    n, row = see.where.n, symbols(see.lab, see.where)
    made = _schedule(see)
    last = row[made.receiver, 0] == 1
    see.true("phase 2 is after phase 1", bool((made.step[last] > factorial(n - 1)).all()), of=made)
    see.equal(
        "steps", made.steps - factorial(n - 1), ceil_div(factorial(n - 1) - 1, n - 1), of=made
    )
    see.equal(
        "first symbol of the sender, for source 12..n",
        row[made.sender[last], 0],
        n,
        node=see.where.labels(made.receiver[last]),
    )
    see.executed(made)
    if n <= _WRITTEN_OUT:
        every = made.expand()
        see.executed(every)
        last = row[every.receiver, 0] == row[every.unit, 0]
        see.equal(
            "first symbol of the sender is the last of the source",
            row[every.sender[last], 0],
            row[every.unit[last], -1],
            root=see.where.labels(every.unit[last]),
            node=see.where.labels(every.receiver[last]),
            of=every,
        )


@claim(
    "FA.A1.local",
    "Section 3.1.1",
    stars(6, 7, 8),
    "What a node sends in step t of phase 1, 1 < t, it got in step t-1; if T_2 crosses types i_inp, i_out in these steps, it "
    "is sent on over t_j(i_out) if it came over t_j(i_inp), t_j(i) = (i+j-4) mod (n-1) + 2, for every j = 2..n.",
)
def _locally(see: See) -> None:
    n, made = see.where.n, _schedule(see)
    word = (
        see.lab.forest(see.where.spec, "rotated-hamiltonian")
        .parent_port[0, _path(see, 2)]
        .astype(np.int64)
    )
    for of in (made, *([made.expand()] if n <= _WRITTEN_OUT else [])):
        part = _part(
            of,
            symbols(see.lab, see.where)[of.receiver, 0]
            != symbols(see.lab, see.where)[_source(of), 0],
        )
        see.equal("steps of phase 1", part.steps, factorial(n - 1), of=of)
        came, sent = _forwarded(see, part)
        went_on = part.step > 1
        place = {
            "step": part.step[went_on],
            "node": see.where.labels(part.sender[went_on]),
            "of": of,
        }
        see.true("what is sent came one step before", came[went_on] > 0, **place)
        expected = np.zeros(
            (len(word) + 1, n + 1), dtype=np.int64
        )  # by step and the type over which it came
        for j in range(2, n + 1):
            expected[np.arange(2, len(word) + 1), _t(n, j, word[:-1])] = _t(n, j, word[1:])
        see.equal(
            "type over which it is sent on",
            sent[went_on],
            expected[part.step, came][went_on],
            **place,
        )


@claim(
    "FA.A1.rule1",
    "Section 3.1.2, rule 1",
    stars(6, 7, 8),
    "By rule 1 a node x gets from g_i(x) the messages of the q != x with q_1 = x_1, q_n = x_i: (n-2)! for i < n, (n-2)!-1 for "
    "i = n.",
)
def _shares(see: See) -> None:
    n, row, made = see.where.n, symbols(see.lab, see.where), _schedule(see)
    types = nodes.types(see)
    stated = np.where(types == n, factorial(n - 2) - 1, factorial(n - 2))
    first, last = row[:, 0].astype(np.intp), row[:, -1].astype(np.intp)
    sources = np.zeros((n + 1, n + 1), dtype=np.int64)
    np.add.at(sources, (first, last), 1)
    itself = (row[:, 1:] == row[:, -1:]).astype(np.int64)
    found = sources[first[:, None], row[:, 1:]] - itself
    see.equal(
        "messages that rule 1 gives to a link",
        found,
        stated,
        node=lambda x, _: see.where.label(x),
        dimension=lambda _, t: types[t],
    )
    ports = made.port[row[made.receiver, 0] == 1]
    see.equal(
        "messages over a type",
        np.bincount(ports, minlength=n + 1)[2:],
        stated,
        dimension=types,
        of=made,
    )


@claim(
    "FA.A1.steps",
    "Section 3.1.2",
    stars(7, 8, 8),
    "Allgather along `rotated-hamiltonian` takes (n-1)! + ceil(((n-1)!-1)/(n-1)) = ceil((n!-1)/(n-1)) steps.",
    weight=lambda where: 80 + 64 * where.degree,
)
def _steps(see: See) -> None:
    n, made = see.where.n, _schedule(see)
    took = see.executed(made)
    see.equal("steps", took.steps, even_share(n), of=made)
    see.equal(
        "steps, phase by phase",
        took.steps,
        factorial(n - 1) - (-(factorial(n - 1) - 1) // (n - 1)),
        of=made,
    )


@claim(
    "FA.A1.transmissions",
    "Section 3.1.2",
    stars(7, 8, 8),
    "Allgather along `rotated-hamiltonian` takes n!(n-1) transmissions.",
    reading="As printed. Section 2 has n!(n!-1) as the least number.",
    weight=lambda where: 80 + 64 * where.degree,
)
def _transmissions(see: See) -> None:
    n, made = see.where.n, _schedule(see)
    took = see.executed(made)
    see.equal("transmissions", took.transmissions, factorial(n) * (n - 1), of=made)
    see.instead("it takes n!(n!-1) transmissions").equal(
        "transmissions", took.transmissions, factorial(n) * (factorial(n) - 1)
    )


@claim(
    "FA.SLA",
    "Section 4",
    stars(6, 6, 6),
    "If every node sends its own message to the next node of one directed Hamiltonian cycle, and then what it got a step "
    "before, allgather takes n!-1 steps, one-port, and n!(n!-1) transmissions.",
    reading="One cycle for all sources, as in section 4. The house's schedule, in which each source has the translated cycle, "
    "is looked at as well.",
    weight=lambda where: 80 * where.nodes,
)
def _along_a_cycle(see: See) -> None:
    count = see.where.nodes
    house = see.lab.schedule(see.where.spec, "allgather", "hamiltonian-cycle", ports="one")
    forest = see.lab.forest(see.where.spec, "hamiltonian-cycle")
    way = np.argsort(
        levels(parents(see.lab, see.where, forest.parent_port[0]), 0), kind="stable"
    ).astype(np.int32)
    types = nodes.type_between(see, way, np.roll(way, -1))
    see.true("the path closes to a cycle", types > 0, node=see.where.labels(way), of=forest)
    for made in (_cycle(see, way, types), house):
        took = see.executed(made)
        see.equal("steps", took.steps, count - 1, of=made)
        see.equal("transmissions", took.transmissions, count * (count - 1), of=made)


def _schedule(see: See) -> Schedule:
    return see.lab.schedule(see.where.spec, "allgather", "rotated-hamiltonian")


def _forest(see: See) -> Forest:
    return see.lab.forest(see.where.spec, "rotated-hamiltonian")


def _path(see: See, j: int) -> Ranks:
    """T_j of the house: the nodes with symbol 1 in position j, by their level."""
    level = levels(parents(see.lab, see.where, _forest(see).parent_port[0]), 0)
    members = np.flatnonzero(symbols(see.lab, see.where)[:, j - 1] == 1).astype(np.int32)
    ordered: Ranks = members[np.argsort(level[members], kind="stable")]
    return ordered


def _t(n: int, j: int, i: NDArray[np.int64]) -> NDArray[np.int64]:
    """t_j(i) = (i+j-4) mod (n-1) + 2."""
    return np.asarray((i + j - 4) % (n - 1) + 2)


def _owed(row: NDArray[np.uint8], q: int) -> NDArray[np.int64]:
    """Whether a node is to have the message of q after phase 1."""
    owed: NDArray[np.int64] = (row[:, 0] != row[q, 0]).astype(np.int64)
    owed[q] = 1
    return owed


def _part(made: Schedule, chosen: NDArray[np.bool_]) -> Schedule:
    """Some rows of a schedule."""
    return replace(made, **{name: getattr(made, name)[chosen] for name in COLUMNS})


def _source(made: Schedule) -> NDArray[np.int32]:
    """Whose message each row carries, with one message a source."""
    return np.zeros_like(made.unit) if made.symmetric else made.unit


def _forwarded(see: See, part: Schedule) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each row the type over which its message came to the sender one step before, 0 if it did not, and the row's own."""
    count, source = see.where.nodes, _source(part).astype(np.int64)
    arrival = ((part.step.astype(np.int64) * count) + part.receiver) * count + source
    wanted = (((part.step.astype(np.int64) - 1) * count) + part.sender) * count + source
    order = np.argsort(arrival)
    at = np.minimum(np.searchsorted(arrival, wanted, sorter=order), len(order) - 1)
    before = order[at]
    sent = part.port.astype(np.int64)
    return np.where(arrival[before] == wanted, sent[before], 0), sent


def _cycle(see: See, way: Ranks, types: NDArray[np.int64]) -> Schedule:
    """Section 4: in step t the message of the node in place p of the cycle goes from place p+t-1 to place p+t."""
    count = len(way)
    step, place = np.divmod(np.arange(count * (count - 1)), count)
    tail = (place + step) % count
    return Schedule(
        see.where,
        "allgather",
        "one-hamiltonian-cycle",
        "one",
        units=count,
        packets=False,
        step=(step + 1).astype(np.int32),
        sender=way[tail],
        port=types[tail].astype(np.uint8),
        receiver=way[(tail + 1) % count],
        tree=np.zeros(len(step), dtype=np.uint8),
        unit=way[place],
    )


def _drawn(see: See) -> NDArray[np.int32]:
    """Hamiltonian paths from 213..n over the nodes with symbol 1 in position 2, drawn at random; as many as are found."""

    def make() -> NDArray[np.int32]:
        rng = np.random.default_rng(1993)
        found = (path for path in (_try(see, rng) for _ in range(_TRIES)) if path)
        return np.array(list(islice(found, _OTHERS)), dtype=np.int32)

    return see.lab.array("Hamiltonian paths drawn at random", see.where.spec, make)


def _try(see: See, rng: np.random.Generator) -> list[int]:
    """One path that always goes on to a node with the fewest ways out; empty if it gets stuck before it has all nodes."""
    near = see.lab.neighbours(see.where.spec)[
        1:
    ].T.tolist()  # links of type 3..n keep symbol 1 in position 2
    path = [nodes.node_of(see.where.n, (1, 2))]
    left = set(np.flatnonzero(symbols(see.lab, see.where)[:, 1] == 1).tolist()) - set(path)
    while left:
        ways = {
            node: sum(other in left for other in near[node])
            for node in near[path[-1]]
            if node in left
        }
        if not ways:
            return []
        path.append(
            int(rng.choice([node for node, count in ways.items() if count == min(ways.values())]))
        )
        left.remove(path[-1])
    return path
