"""Greedy schedules on any topology: each step uses as many links as possible.

Broadcasts and allgathers spread units: a link carries any unit that its sender has and its receiver
lacks. The idea comes from TACOS (see the reference): a schedule is a sequence of matchings of links
with units, one per step. Scatters and alltoalls route units along shortest paths, and units with
the largest remaining distance go first. `starcast.collectives.matching` chooses the links and units
of each step. In the one-port model, the links between endpoints in a step are a maximum matching of
senders with receivers.

Switches receive and pass on units like other nodes, but in the one-port model they may use any
number of links in a step. At the end, rows that deliver a unit to a switch that does not pass it on
are removed.

The number of steps depends on random choices. Small schedules are therefore built several times
with different random numbers, and the schedule with the fewest steps is used. The attempts end
early if a schedule reaches a lower bound on the number of steps.

The schedules are not symmetric, even on topologies with translations, so they have the rows of all
sources. `starcast.collectives.reductions` derives the reversed collectives and allreduce.

Reference: W. Won, M. Elavazhagan, S. Srinivasan, S. Gupta and T. Krishna, "TACOS:
Topology-Aware Collective Algorithm Synthesizer for Distributed Machine Learning", MICRO 2024.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from starcast.catalogue.entries import Seed
from starcast.collectives.algorithm import Messages, algorithm
from starcast.collectives.model import BYTES_PER_ROW, Draft
from starcast.collectives.rows import Columns
from starcast.support.arrays import Mask
from starcast.support.integers import ceil_div
from starcast.support.progress import computing
from starcast.support.vocabulary import Arguments, Ports
from starcast.topologies import Topology, memory

if TYPE_CHECKING:
    from starcast.collectives.matching import FoundRows

#: The maximum number of attempts to build one schedule. With more than one attempt, all attempts
#: together build at most `_ATTEMPTED_ROWS` rows.
_ATTEMPTS, _ATTEMPTED_ROWS = 64, 1_000_000
#: Number of rows after which a compiled loop returns. Ctrl-C takes effect only between the calls
#: of such loops.
_ROWS_PER_CALL = 1_000_000
_SOURCE = "starcast: greedy matching (idea: Won et al. 2024)"
#: The type of a function ``take_steps(rows, random_state, goal)``, which appends steps to the rows
#: until there are at least ``goal`` rows.
_Steps = Callable[["FoundRows", NDArray[np.int64], int], None]


def _best_rows(
    prepare: Callable[[], _Steps], rows: int, least: Callable[[], int], seed: int
) -> "FoundRows":
    """Build a schedule one or more times; return the rows of the schedule with the fewest steps.

    Large schedules are built only once.

    Args:
        prepare: ``prepare()`` begins a new schedule and returns a function that appends its steps.
        rows: the number of rows that each attempt builds.
        least: ``least()`` returns a lower bound on the number of steps.
        seed: the random seed.
    """
    from starcast.collectives import matching  # noqa: PLC0415 - imports numba, which takes long

    attempts = min(_ATTEMPTS, _ATTEMPTED_ROWS // max(rows, 1))
    bound = least() if attempts > 1 else 0

    def construct(attempt: int) -> "FoundRows":
        found = matching.allocate_rows(rows)
        chance = matching.seed_chance(seed * _ATTEMPTS + attempt)
        take_steps = prepare()
        with computing("building the greedy schedule", rows, "rows") as task:
            while (before := int(found.counts[0])) < rows:
                take_steps(found, chance, min(before + _ROWS_PER_CALL, rows))
                task.advance(int(found.counts[0]) - before)
        return found

    best = construct(0)
    for attempt in range(1, attempts):
        if best.counts[1] <= bound:
            break
        best = min(best, construct(attempt), key=lambda found: int(found.counts[1]))
    return best


def _require_memory(topology: Topology, rows: int, others: int) -> None:
    memory.require(
        rows * BYTES_PER_ROW + others,
        f"the {rows:,} rows of a greedy schedule on {topology.spec}",
        hint="use a smaller topology or fewer messages",
    )


def _capacities(topology: Topology) -> NDArray[np.int64]:
    """Return the capacity of each node's link at each port, int64 ``[nodes, ports]``."""
    if topology.capacities is None:
        return np.ones((topology.nodes, topology.port_count), dtype=np.int64)
    return np.ascontiguousarray(topology.capacities.T)


def _parallel_units(topology: Topology, ports: Ports) -> NDArray[np.integer]:
    """Return an upper bound on the number of units that each node sends (or receives) per step.

    Returns:
        int ``[nodes]``.
    """
    if ports == "all":
        return topology.node_capacities
    one = np.full(topology.nodes, topology.largest_capacity)
    # A switch may use all its links in a step.
    one[topology.endpoints :] = topology.node_capacities[topology.endpoints :]
    return one


def _find_needed(topology: Topology, rows: Columns) -> Mask:
    """Return which rows deliver a unit to an endpoint, or to a switch that passes it on.

    Args:
        topology: a topology with switches.
        rows: the rows in the order of steps.

    Returns:
        bool ``[rows]``.
    """
    passes = np.zeros((topology.nodes, int(rows.unit.max()) + 1), dtype=np.bool_)
    needed = rows.receiver < topology.endpoints
    starts = np.searchsorted(rows.step, np.arange(1, int(rows.step[-1]) + 2))
    for first, end in reversed(list(pairwise(starts.tolist()))):
        needed[first:end] |= passes[rows.receiver[first:end], rows.unit[first:end]]
        used = np.flatnonzero(needed[first:end]) + first
        passes[rows.sender[used], rows.unit[used]] = True
    return needed


def _spread(topology: Topology, ports: Ports, source: NDArray[np.int64], seed: int) -> Draft:
    """Return the schedule that brings every unit from its source to all endpoints.

    Args:
        topology: the topology on which the units travel.
        ports: the port model: ``all`` or ``one``.
        source: the rank of each unit's source, int64 ``[units]``.
        seed: the random seed.
    """
    from starcast.collectives import matching  # noqa: PLC0415

    nodes, units = topology.nodes, len(source)
    rows = units * (nodes - 1)
    _require_memory(topology, rows, nodes * units // 3)
    table, capacity = np.ascontiguousarray(topology.table().T), _capacities(topology)
    own = np.bincount(source, minlength=nodes)

    def prepare() -> _Steps:
        holdings = matching.allocate_holdings(nodes, source)
        return lambda found, chance, goal: matching.spread(
            table, capacity, holdings, found, chance, ports == "one", topology.endpoints, goal
        )

    def least() -> int:
        links = _parallel_units(topology, ports)
        busy = int((-((own - units) // links))[: topology.endpoints].max())
        furthest = max(
            int(topology.distances(node)[: topology.endpoints].max())
            for node in np.flatnonzero(own).tolist()
        )
        # In a one-port step, the number of nodes that hold a unit at most doubles, unless there are
        # switches, which may use all their links in a step.
        doubles = ports == "one" and topology.endpoints == nodes
        return max(busy, furthest, (nodes - 1).bit_length() if doubles else 0)

    best = _best_rows(prepare, rows, least, seed)
    sender = table[best.node, best.slot]
    port = topology.reverse_ports()[np.array(topology.ports, dtype=np.uint8)[best.slot]]
    columns = Columns.along_one_tree(best.step, sender, port, best.node, best.unit)
    if topology.endpoints < nodes:
        needed = _find_needed(topology, columns)
        columns = columns.apply(lambda column: column[needed])
    return Draft(columns, units)


def _route(
    topology: Topology,
    ports: Ports,
    source: NDArray[np.int64],
    destination: NDArray[np.int64],
    unit: NDArray[np.int64],
    seed: int,
) -> Columns:
    """Return the rows that bring each unit from its source to its destination.

    Args:
        topology: the topology on which the units travel.
        ports: the port model: ``all`` or ``one``.
        source: the rank of each unit's source, int64 ``[units]``.
        destination: the rank of each unit's destination, int64 ``[units]``.
        unit: the number of each unit, int64 ``[units]``.
        seed: the random seed.
    """
    from starcast.collectives import matching  # noqa: PLC0415

    nodes, port_count = topology.nodes, topology.port_count
    memory.require(4 * nodes * topology.endpoints, f"the distances between {nodes:,} nodes")
    left = np.stack([topology.distances(node) for node in range(topology.endpoints)])
    ways = left[destination, source]
    rows = int(ways.sum(dtype=np.int64))
    others = 8 * port_count * len(unit) + 4 * nodes * port_count * (int(left.max()) + 1)
    _require_memory(topology, rows, others)
    table, capacity = np.ascontiguousarray(topology.table().T), _capacities(topology)

    def prepare() -> _Steps:
        waiting = matching.allocate_waiting(table, left, source, destination)
        return lambda found, chance, goal: matching.route(
            table, capacity, waiting, found, chance, ports == "one", topology.endpoints, goal
        )

    def least() -> int:
        links = _parallel_units(topology, ports)
        ends = (np.bincount(each, minlength=nodes) for each in (source, destination))
        busy = max(int((-(-count // links)).max()) for count in ends)
        mean = ceil_div(rows, int(links.sum()))
        return max(busy, mean, int(ways.max(initial=0)))

    best = _best_rows(prepare, rows, least, seed)
    port = np.array(topology.ports, dtype=np.uint8)[best.slot]
    receiver = table[best.node, best.slot]
    return Columns.along_one_tree(best.step, best.node, port, receiver, unit[best.unit])


def _count_spread_rows(topology: Topology, arguments: Arguments) -> int:
    """Return the number of rows per source; on topologies with switches, an upper bound."""
    return int(arguments["messages"]) * (topology.nodes - 1)


@algorithm(
    "broadcast", "greedy-matching", ports=["all", "one"], source=_SOURCE, rows=_count_spread_rows
)
def _broadcast(
    topology: Topology, root: int, ports: Ports, messages: Messages, seed: Seed
) -> Draft:
    """Build a broadcast in which each step uses as many links as possible.

    On topologies where the greedy tree is not defined, the name ``greedy`` selects this algorithm.
    """
    root = 0 if topology.has_translations else root
    return _spread(topology, ports, np.full(messages, root), seed)._replace(root=root)


@algorithm(
    "allgather", "greedy", ports=["all", "one"], source=_SOURCE, rows=_count_spread_rows,
    sources=lambda topology, _ports: topology.endpoints,
)  # fmt: skip
def _allgather(
    topology: Topology, root: int, ports: Ports, messages: Messages, seed: Seed
) -> Draft:
    return _spread(topology, ports, np.repeat(np.arange(topology.endpoints), messages), seed)


def _count_scatter_rows(topology: Topology, arguments: Arguments) -> int:
    return int(arguments["messages"]) * topology.distance_sum_from(0)


@algorithm("scatter", "greedy", ports=["all", "one"], source=_SOURCE, rows=_count_scatter_rows)
def _scatter(topology: Topology, root: int, ports: Ports, messages: Messages, seed: Seed) -> Draft:
    root = 0 if topology.has_translations else root
    unit = np.arange(messages * topology.endpoints)
    unit = unit[unit // messages != root]
    rows = _route(topology, ports, np.full(len(unit), root), unit // messages, unit, seed)
    return Draft(rows, messages * topology.endpoints, root=root)


def _count_alltoall_rows(topology: Topology, arguments: Arguments) -> int:
    """Return the number of rows per source.

    On topologies without translations, the result is the mean over all sources, rounded up.
    """
    sources = 1 if topology.has_translations else topology.endpoints
    return ceil_div(int(arguments["messages"]) * topology.distance_sum, sources)


@algorithm(
    "alltoall", "greedy", ports=["all", "one"], source=_SOURCE, rows=_count_alltoall_rows,
    sources=lambda topology, _ports: topology.endpoints,
)  # fmt: skip
def _alltoall(topology: Topology, root: int, ports: Ports, messages: Messages, seed: Seed) -> Draft:
    endpoints = topology.endpoints
    unit = np.arange(messages * endpoints**2)
    source, destination = np.divmod(unit // messages, endpoints)
    # Units are sorted so that the i-th units of all sources have different destinations. Then fewer
    # units wait for the same link. Units from a node to itself come first and are omitted.
    chosen = np.argsort((destination - source) % endpoints, kind="stable")[messages * endpoints :]
    rows = _route(topology, ports, source[chosen], destination[chosen], unit[chosen], seed)
    return Draft(rows, messages * endpoints**2)
