"""Counts in the arguments for lower bounds, and the schedules that are compared with the bounds.

A bound is a count divided by what can move in a step. The counts are computed from the neighbour
table alone; the schedules are those of unit messages.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number
from starcast.claims.object_cache import CachedTopology
from starcast.claims.reference import bfs
from starcast.claims.reference.cube_schedules import unit_schedules_on_cube
from starcast.claims.reference.pipelines import exact_time, parameters, units_per_message
from starcast.claims.reference.shipped import algorithms_on, single_trees
from starcast.collectives.model import Schedule

#: The grid on which times are compared with lower bounds.
BOUND_GRID = parameters((1, 2), (0, 1, 4), (0, 1, 4))


class NetworkCounts(NamedTuple):
    """Counts of a network, from one node that represents all nodes.

    Attributes:
        nodes: number of nodes.
        links: degree.
        far: diameter, the distance of the farthest node.
        total: sum of all distances from a node.
    """

    nodes: Number
    links: Number
    far: Number
    total: Number


def count_from_node(check: ClaimCheck, spec: str = "", degree: int = 0) -> NetworkCounts:
    """Return the counts of a topology, by breadth-first search.

    Args:
        check: records that all nodes have the same degree, and the same distances as the identity.
        spec: the topology (default: that of the check).
        degree: degree stated by the papers (default: the number of ports of the table).
    """
    network = check.at(spec or check.spec)
    table = network.neighbours
    into = np.bincount(table.ravel(), minlength=network.nodes)
    what = f"links into every node of {network.spec}"
    check.equal(what, into, degree or len(table), node=network.label)
    profile = bfs.profile(network)
    what = f"nodes at each distance of {network.spec} are as many as from the identity"
    for root in bfs.roots(network, 3)[1:3]:
        same = bool(np.array_equal(bfs.profile(network, root), profile))
        check.true(what, same, node=network.label(root))
    far = len(profile) - 1
    total = int(profile @ np.arange(far + 1))
    return NetworkCounts(int(profile.sum()), len(table), far, total)


def check_source(check: ClaimCheck, source: int, diameter: int) -> None:
    """Check the largest distance from a source and the number of its links."""
    label = check.label(source)
    greatest = int(bfs.distances(check, source).max())
    check.equal("greatest distance from the source", greatest, diameter, source=label)
    links = set(check.neighbours[:, source].tolist()) - {source}
    check.equal("links of the source", len(links), check.n - 1, source=label)


def ceil_log2(count: int) -> int:
    """Return ceil(log2 count)."""
    return (count - 1).bit_length()


def count_doublings(count: int) -> int:
    """Return the number of times that 1 has to be doubled to reach a count."""
    reached = 1
    doublings = 0
    while reached < count:
        reached *= 2
        doublings += 1
    return doublings


def catalogue_schedules(
    network: CachedTopology,
    collective: str,
    ports: str,
    roots: tuple[int, ...],
    *,
    most_rows: int | None = None,
    bases: int | None = None,
) -> Iterator[Schedule]:
    """Yield all algorithms of the catalogue for a collective, with several arguments and roots.

    Schedules of more than ``most_rows`` rows are omitted; ``bases`` constructions (default: all)
    serve as ``base``.
    """
    degree = network.degree
    choices: dict[str, tuple[int | str, ...]] = {
        "base": single_trees(network.topology)[:bases],
        "copies": tuple(sorted({1, degree})),
    }
    pieces = tuple(sorted({1, 2, degree}))
    for algorithm in algorithms_on(network.topology, collective):
        if ports not in algorithm.ports:
            continue
        names = [argument.name for argument in algorithm.arguments]
        for values in product(*(choices.get(name, pieces) for name in names)):
            arguments = dict(zip(names, values, strict=True))
            if algorithm.refusal(network.topology, arguments) is not None:
                continue
            if most_rows and algorithm.rows(network.topology, arguments) > most_rows:
                continue
            for root in roots:
                yield network.schedule(collective, algorithm.name, ports, root, **arguments)


#: Schedules with one unit message per link and step: collective, port model, algorithm, arguments.
_ON_STARS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("broadcast", "all", "greedy", ("segments",)),
    ("broadcast", "all", "recursive-substar", ("messages",)),
    ("broadcast", "all", "edge-disjoint", ("messages", "copies")),
    ("allgather", "one", "hamiltonian-cycle", ("messages",)),
    ("allgather", "all", "rotated-hamiltonian", ("messages",)),
    ("allgather", "all", "necklace", ("messages",)),
    ("allgather", "all", "edge-disjoint", ("messages", "copies")),
    ("scatter", "one", "one-port", ("messages",)),
    ("scatter", "all", "balanced", ("messages",)),
    ("scatter", "all", "near-balanced", ("messages",)),
    ("scatter", "all", "perfectly-balanced", ("messages",)),
    ("scatter", "all", "edge-disjoint", ("messages", "copies")),
    ("alltoall", "one", "one-port", ("messages",)),
    ("alltoall", "all", "necklace", ()),
    ("alltoall", "all", "perfectly-balanced", ("messages",)),
    ("alltoall", "all", "exact", ("messages",)),
    ("alltoall", "all", "edge-disjoint", ("messages", "copies")),
)
_DEALT = "perfectly-balanced"  # n-1 >= 2 trees get the same number of messages
_ROOTED = ("broadcast", "scatter")


def unit_schedules(
    check: ClaimCheck, collective: str, ports: str = "all", messages: int = 1, copies: int = 1
) -> Iterator[Schedule]:
    """Yield all schedules of a collective with unit messages; all-port includes one-port schedules.

    On star graphs, collectives with a root are executed from two roots.
    """
    if check.topology.family == "hypercube":
        yield from unit_schedules_on_cube(check, collective, ports, messages, copies)
        return
    for kind, model, algorithm, names in _ON_STARS:
        if kind != collective or (ports == "one" and model != "one"):
            continue
        if (copies > 1 and "copies" not in names) or (messages > 1 and not names):
            continue
        if algorithm == _DEALT and (messages % check.degree or check.degree < 2):
            continue
        given = {"segments": messages, "messages": messages, "copies": copies}
        for root in (0, check.nodes - 1) if collective in _ROOTED else (0,):
            arguments = {name: given[name] for name in names}
            yield check.schedule(collective, algorithm, ports=model, root=root, **arguments)


def check_not_beaten(
    check: ClaimCheck, schedules: Iterable[Schedule], stated: Number, unit: str, **place: int
) -> None:
    """Check that no schedule takes fewer steps or transmissions than stated.

    With ``x`` among the places, check also that every schedule delivers x copies.
    """
    for schedule in schedules:
        simulation = check.execute(schedule)
        if "x" in place:
            what = f"{schedule.algorithm} delivers x copies"
            check.true(what, delivers_copies(schedule, place["x"]), **place, of=schedule)
        measured = simulation.steps if unit == "steps" else simulation.transmissions
        check.at_least(f"{unit} of {schedule.algorithm}", measured, stated, **place, of=schedule)


def check_times(
    check: ClaimCheck, schedules: Iterable[Schedule], start_ups: int, share: Number
) -> None:
    """Check that no schedule takes less time than max{start_ups T_s, share m T_c}."""
    bound = [max(start_ups * T_s, Fraction(share) * b) for T_s, b in BOUND_GRID.each()]
    stated = np.array(bound, dtype=object)
    for schedule in schedules:
        time = exact_time(check.execute(schedule), units_per_message(schedule), BOUND_GRID)
        what = f"time of {schedule.algorithm}"
        check.at_least(what, time, stated, of=schedule, **BOUND_GRID.place)


def delivers_copies(schedule: Schedule, copies: int) -> bool:
    """Return whether every message reaches each of its destinations that many times."""
    nodes, units = schedule.topology.nodes, schedule.units
    if schedule.collective in ("broadcast", "allgather"):
        place = schedule.receiver.astype(np.int64) * units + schedule.unit
        reached = np.bincount(place, minlength=nodes * units).reshape(nodes, units)
    else:
        arrived = schedule.unit[schedule.receiver == schedule.unit // (units // nodes)]
        reached = np.bincount(arrived, minlength=units).reshape(nodes, -1)
    return bool((np.delete(reached, schedule.root, axis=0) >= copies).all())
