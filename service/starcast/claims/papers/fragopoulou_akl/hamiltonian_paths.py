"""Fragopoulou & Akl 1993, sections 3.1 and 4: the tree of rotated Hamiltonian paths, algorithm 1, and the Hamiltonian cycle."""

from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import even_share
from starcast.claims.growth import factorial
from starcast.claims.papers.fragopoulou_akl import nodes
from starcast.claims.reference.bfs import levels, parents
from starcast.claims.reference.star_labels import symbols
from starcast.claims.registry import check
from starcast.collectives.model import COLUMNS, Schedule
from starcast.permutations import Ranks
from starcast.support.integers import ceil_div
from starcast.trees.model import Forest

_WRITTEN_OUT = 5  # up to S_5 the messages of all sources are followed as well, n!(n!-1) rows
_OTHERS = 4  # other Hamiltonian paths than the house's
_TRIES = 400


@check("FA.T4")
def _rotated_paths(check: ClaimCheck) -> None:
    n, forest = check.topology.n, _forest(check)
    turned, row = nodes.turned(check), symbols(check.objects, check.topology)
    paths = [_path(check, 2), *_drawn(check)] if n <= 6 else [_path(check, 2)]
    for j in range(2, n + 1):
        members = np.flatnonzero(row[:, j - 1] == 1)
        for number, path in enumerate(paths):
            image = turned[j - 2, path]
            said = {"j": j, "path": number}
            check.equal("rank of the first node", int(image[0]), nodes.node_of(n, (1, j)), **said)
            check.equal("nodes of the path, sorted", np.sort(image), members, **said)
            check.true(
                "consecutive nodes are neighbours",
                nodes.type_between(check, image[:-1], image[1:]) > 0,
                **said,
            )
        check.equal("node of T_j", _path(check, j), turned[j - 2, paths[0]], j=j, of=forest)


@check("FA.T4-types")
def _types(check: ClaimCheck) -> None:
    n, forest = check.topology.n, _forest(check)
    ports, turned = forest.parent_port[0].astype(np.int64), nodes.turned(check)
    way = np.concatenate([[0], _path(check, 2)]).astype(np.int32)
    i = nodes.type_between(check, way[:-1], way[1:])
    step = np.arange(1, len(i) + 1)
    for j in range(2, n + 1):
        image = turned[j - 2, way]
        crossed = nodes.type_between(check, image[:-1], image[1:])
        check.equal(
            "type that T_2 crosses, rotated j-2 times",
            crossed,
            _t(n, j, i),
            j=j,
            step=step,
            of=forest,
        )
        check.equal("type in T_j", ports[_path(check, j)], _t(n, j, i), j=j, step=step, of=forest)


@check("FA.A1.1", bytes_per_node=lambda topology: 80 + 64 * topology.degree)
def _phase_1(check: ClaimCheck) -> None:
    n, row = check.topology.n, symbols(check.objects, check.topology)
    made = _schedule(check)
    part = _part(made, row[made.receiver, 0] != 1)
    took = check.objects.simulation(part)
    check.equal("steps", took.steps, factorial(n - 1), of=part)
    check.true(
        "phase 1 is without conflict",
        took.violation is None,
        found=str(took.violation),
        stated="None",
        of=part,
    )
    has = np.bincount(part.receiver, minlength=check.topology.nodes)
    has[0] += 1
    check.equal(
        "times that the node gets the message of 12..n",
        has,
        _owed(row, 0),
        node=check.topology.label,
        of=part,
    )
    if n > _WRITTEN_OUT:
        return
    every = part.expand()
    all_took = check.objects.simulation(every)
    check.equal("steps, all sources written out", all_took.steps, factorial(n - 1), of=every)
    check.true(
        "all sources are without conflict",
        all_took.violation is None,
        found=str(all_took.violation),
        stated="None",
        of=every,
    )
    held = np.eye(check.topology.nodes, dtype=np.int64)
    np.add.at(held, (every.unit, every.receiver), 1)
    for q in range(check.topology.nodes):
        label = check.topology.label(q)
        check.equal(
            "times that the node gets the message",
            held[q],
            _owed(row, q),
            root=label,
            node=check.topology.label,
            of=every,
        )


@check("FA.A1.2", bytes_per_node=lambda topology: 80 + 64 * topology.degree)
def _phase_2(check: ClaimCheck) -> None:
    n, row = check.topology.n, symbols(check.objects, check.topology)
    made = _schedule(check)
    last = row[made.receiver, 0] == 1
    check.true(
        "phase 2 is after phase 1", bool((made.step[last] > factorial(n - 1)).all()), of=made
    )
    check.equal(
        "steps", made.steps - factorial(n - 1), ceil_div(factorial(n - 1) - 1, n - 1), of=made
    )
    check.equal(
        "first symbol of the sender, for source 12..n",
        row[made.sender[last], 0],
        n,
        node=check.topology.labels(made.receiver[last]),
    )
    check.execute(made)
    if n <= _WRITTEN_OUT:
        every = made.expand()
        check.execute(every)
        last = row[every.receiver, 0] == row[every.unit, 0]
        check.equal(
            "first symbol of the sender is the last of the source",
            row[every.sender[last], 0],
            row[every.unit[last], -1],
            root=check.topology.labels(every.unit[last]),
            node=check.topology.labels(every.receiver[last]),
            of=every,
        )


@check("FA.A1.local")
def _locally(check: ClaimCheck) -> None:
    n, made = check.topology.n, _schedule(check)
    word = (
        check.objects.forest(check.topology.spec, "rotated-hamiltonian")
        .parent_port[0, _path(check, 2)]
        .astype(np.int64)
    )
    for of in (made, *([made.expand()] if n <= _WRITTEN_OUT else [])):
        part = _part(
            of,
            symbols(check.objects, check.topology)[of.receiver, 0]
            != symbols(check.objects, check.topology)[_source(of), 0],
        )
        check.equal("steps of phase 1", part.steps, factorial(n - 1), of=of)
        came, sent = _forwarded(check, part)
        went_on = part.step > 1
        place = {
            "step": part.step[went_on],
            "node": check.topology.labels(part.sender[went_on]),
            "of": of,
        }
        check.true("what is sent came one step before", came[went_on] > 0, **place)
        expected = np.zeros(
            (len(word) + 1, n + 1), dtype=np.int64
        )  # by step and the type over which it came
        for j in range(2, n + 1):
            expected[np.arange(2, len(word) + 1), _t(n, j, word[:-1])] = _t(n, j, word[1:])
        check.equal(
            "type over which it is sent on",
            sent[went_on],
            expected[part.step, came][went_on],
            **place,
        )


@check("FA.A1.rule1")
def _shares(check: ClaimCheck) -> None:
    n, row, made = check.topology.n, symbols(check.objects, check.topology), _schedule(check)
    types = nodes.types(check)
    stated = np.where(types == n, factorial(n - 2) - 1, factorial(n - 2))
    first, last = row[:, 0].astype(np.intp), row[:, -1].astype(np.intp)
    sources = np.zeros((n + 1, n + 1), dtype=np.int64)
    np.add.at(sources, (first, last), 1)
    itself = (row[:, 1:] == row[:, -1:]).astype(np.int64)
    found = sources[first[:, None], row[:, 1:]] - itself
    check.equal(
        "messages that rule 1 gives to a link",
        found,
        stated,
        node=lambda x, _: check.topology.label(x),
        dimension=lambda _, t: types[t],
    )
    ports = made.port[row[made.receiver, 0] == 1]
    check.equal(
        "messages over a type",
        np.bincount(ports, minlength=n + 1)[2:],
        stated,
        dimension=types,
        of=made,
    )


@check("FA.A1.steps", bytes_per_node=lambda topology: 80 + 64 * topology.degree)
def _steps(check: ClaimCheck) -> None:
    n, made = check.topology.n, _schedule(check)
    took = check.execute(made)
    check.equal("steps", took.steps, even_share(n), of=made)
    check.equal(
        "steps, phase by phase",
        took.steps,
        factorial(n - 1) - (-(factorial(n - 1) - 1) // (n - 1)),
        of=made,
    )


@check("FA.A1.transmissions", bytes_per_node=lambda topology: 80 + 64 * topology.degree)
def _transmissions(check: ClaimCheck) -> None:
    n, made = check.topology.n, _schedule(check)
    took = check.execute(made)
    check.equal("transmissions", took.transmissions, factorial(n) * (n - 1), of=made)
    check.correction("it takes n!(n!-1) transmissions").equal(
        "transmissions", took.transmissions, factorial(n) * (factorial(n) - 1)
    )


@check("FA.SLA", bytes_per_node=lambda topology: 80 * topology.nodes)
def _along_a_cycle(check: ClaimCheck) -> None:
    count = check.topology.nodes
    house = check.objects.schedule(
        check.topology.spec, "allgather", "hamiltonian-cycle", ports="one"
    )
    forest = check.objects.forest(check.topology.spec, "hamiltonian-cycle")
    way = np.argsort(
        levels(parents(check.objects, check.topology, forest.parent_port[0]), 0), kind="stable"
    ).astype(np.int32)
    types = nodes.type_between(check, way, np.roll(way, -1))
    check.true("the path closes to a cycle", types > 0, node=check.topology.labels(way), of=forest)
    for made in (_cycle(check, way, types), house):
        took = check.execute(made)
        check.equal("steps", took.steps, count - 1, of=made)
        check.equal("transmissions", took.transmissions, count * (count - 1), of=made)


def _schedule(check: ClaimCheck) -> Schedule:
    return check.objects.schedule(check.topology.spec, "allgather", "rotated-hamiltonian")


def _forest(check: ClaimCheck) -> Forest:
    return check.objects.forest(check.topology.spec, "rotated-hamiltonian")


def _path(check: ClaimCheck, j: int) -> Ranks:
    """T_j of the house: the nodes with symbol 1 in position j, by their level."""
    level = levels(parents(check.objects, check.topology, _forest(check).parent_port[0]), 0)
    members = np.flatnonzero(symbols(check.objects, check.topology)[:, j - 1] == 1).astype(np.int32)
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


def _forwarded(check: ClaimCheck, part: Schedule) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each row the type over which its message came to the sender one step before, 0 if it did not, and the row's own."""
    count, source = check.topology.nodes, _source(part).astype(np.int64)
    arrival = ((part.step.astype(np.int64) * count) + part.receiver) * count + source
    wanted = (((part.step.astype(np.int64) - 1) * count) + part.sender) * count + source
    order = np.argsort(arrival)
    at = np.minimum(np.searchsorted(arrival, wanted, sorter=order), len(order) - 1)
    before = order[at]
    sent = part.port.astype(np.int64)
    return np.where(arrival[before] == wanted, sent[before], 0), sent


def _cycle(check: ClaimCheck, way: Ranks, types: NDArray[np.int64]) -> Schedule:
    """Section 4: in step t the message of the node in place p of the cycle goes from place p+t-1 to place p+t."""
    count = len(way)
    step, place = np.divmod(np.arange(count * (count - 1)), count)
    tail = (place + step) % count
    return Schedule(
        check.topology,
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


def _drawn(check: ClaimCheck) -> NDArray[np.int32]:
    """Hamiltonian paths from 213..n over the nodes with symbol 1 in position 2, drawn at random; as many as are found."""

    def make() -> NDArray[np.int32]:
        rng = np.random.default_rng(1993)
        found = (path for path in (_try(check, rng) for _ in range(_TRIES)) if path)
        return np.array(list(islice(found, _OTHERS)), dtype=np.int32)

    return check.objects.array("Hamiltonian paths drawn at random", check.topology.spec, make)


def _try(check: ClaimCheck, rng: np.random.Generator) -> list[int]:
    """One path that always goes on to a node with the fewest ways out; empty if it gets stuck before it has all nodes."""
    near = check.objects.neighbours(check.topology.spec)[
        1:
    ].T.tolist()  # links of type 3..n keep symbol 1 in position 2
    path = [nodes.node_of(check.topology.n, (1, 2))]
    left = set(np.flatnonzero(symbols(check.objects, check.topology)[:, 1] == 1).tolist()) - set(
        path
    )
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
