"""Checks of Fragopoulou & Akl 1993, sections 3.1 and 4: rotated Hamiltonian paths, and allgather.

Algorithm 1 is an allgather along n-1 Hamiltonian paths that are rotations of one another. Section 4
describes an allgather along Hamiltonian cycles.
"""

from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import cached, tree_levels
from starcast.claims.check import ClaimCheck
from starcast.claims.growth import factorial
from starcast.claims.registry import Execution, Memory, all_pairs, checks, executions, forests
from starcast.collectives.model import BYTES_PER_ROW, COLUMNS, Draft, Schedule
from starcast.collectives.rows import Columns
from starcast.judges.simulator import Simulation
from starcast.support.integers import ceil_div
from starcast.topologies.permutations import Perms, Ranks
from starcast.trees.model import Forest

from ..common import stars
from ..common.closed_forms import even_share
from . import star_graph
from .tables import any_messages, shared_others

#: The largest n for which random Hamiltonian paths T_2 are tried.
_MAX_DRAWN = 6
_RANDOM_PATHS = 4
_TRIES = 400

#: The largest n for which the schedule of all sources, with n!(n!-1) rows, is executed.
_ALL_SOURCES = 5
#: Memory of the schedule of one source and of the neighbour table.
ONE_SOURCE = Memory(BYTES_PER_ROW + 64)

trees = forests("rotated-hamiltonian")
allgathers = executions("allgather", "rotated-hamiltonian")


@checks("FA.T4", given=trees)
def rotated_paths(check: ClaimCheck, forest: Forest) -> None:
    """Check that rotations map Hamiltonian paths to Hamiltonian paths.

    A Hamiltonian path T_j visits all nodes with symbol 1 in position j. Applying the rotation R j-2
    times must map any path T_2 to a path T_j, and the forest's path T_2 to the forest's path T_j.
    Random paths T_2 are tried too.
    """
    rotations = stars.rotations(check)
    label_symbols = stars.symbols(check)
    paths = [path_of_forest(check, forest, 2)]
    if check.n <= _MAX_DRAWN:
        paths.extend(random_paths(check))
    for j in range(2, check.n + 1):
        members = np.flatnonzero(label_symbols[:, j - 1] == 1)
        for number, path in enumerate(paths):
            image = rotations[j - 2, path]
            place = {"j": j, "path": number}
            first = star_graph.node_of_cycles(check.n, (1, j))
            check.equal("rank of the first node", int(image[0]), first, **place)
            check.equal("nodes of the path, sorted", np.sort(image), members, **place)
            adjacent = check.ports_between(image[:-1], image[1:]) > 0
            check.true("consecutive nodes are neighbours", adjacent, **place)
        stated = rotations[j - 2, paths[0]]
        check.equal("node of T_j", path_of_forest(check, forest, j), stated, j=j, of=forest)


@checks("FA.T4-types", given=trees)
def types_along_rotated_paths(check: ClaimCheck, forest: Forest) -> None:
    """Check the types (dimensions) of the links on rotated Hamiltonian paths.

    The types on the path T_j must be the types on the path T_2 after j-2 rotations; see
    `rotated_paths`.
    """
    ports = forest.parent_port[0].astype(np.int64)
    rotations = stars.rotations(check)
    path = np.concatenate([[0], path_of_forest(check, forest, 2)]).astype(np.int32)
    types = check.ports_between(path[:-1], path[1:])
    step = np.arange(1, len(types) + 1)
    for j in range(2, check.n + 1):
        image = rotations[j - 2, path]
        crossed = check.ports_between(image[:-1], image[1:])
        stated = rotated_types(check.n, j, types)
        place = {"j": j, "step": step, "of": forest}
        check.equal("type that T_2 crosses, rotated j-2 times", crossed, stated, **place)
        check.equal("type in T_j", ports[path_of_forest(check, forest, j)], stated, **place)


def path_of_forest(check: ClaimCheck, forest: Forest, j: int) -> Ranks:
    """Return the Hamiltonian path T_j of a forest: the nodes with 1 in position j, by level."""
    level = tree_levels(check.parents(forest.parent_port[0]), 0)
    in_position = stars.symbols(check)[:, j - 1] == 1
    members = np.flatnonzero(in_position).astype(np.int32)
    path: Ranks = members[np.argsort(level[members], kind="stable")]
    return path


def rotated_types(n: int, j: int, types: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the types (dimensions) of links after the links are rotated j-2 times.

    Type i becomes (i+j-4) mod (n-1) + 2. The array ``types`` contains the types before rotation.
    """
    return np.asarray((types + j - 4) % (n - 1) + 2)


@cached
def random_paths(check: ClaimCheck) -> NDArray[np.int32]:
    """Return random Hamiltonian paths from 213..n over the nodes with symbol 1 in position 2."""
    rng = np.random.default_rng(1993)
    attempts = (_random_path(check, rng) for _ in range(_TRIES))
    return np.array(list(islice(filter(None, attempts), _RANDOM_PATHS)), dtype=np.int32)


def _random_path(check: ClaimCheck, rng: np.random.Generator) -> list[int]:
    """Return a random path for `random_paths`, or an empty list if the path reaches a dead end.

    The path always continues to an unvisited neighbour that has the fewest unvisited neighbours.
    """
    # Only links of types 3..n keep symbol 1 in position 2.
    neighbours = check.neighbours[1:].T.tolist()
    path = [star_graph.node_of_cycles(check.n, (1, 2))]
    in_position = stars.symbols(check)[:, 1] == 1
    unvisited = set(np.flatnonzero(in_position).tolist()) - set(path)
    while unvisited:
        candidates = [node for node in neighbours[path[-1]] if node in unvisited]
        if not candidates:
            return []
        # Use Warnsdorff's rule, because a node with few unvisited neighbours would soon be cut off.
        exits = [len(unvisited.intersection(neighbours[node])) for node in candidates]
        fewest = min(exits)
        best = [node for node, count in zip(candidates, exits, strict=True) if count == fewest]
        path.append(int(rng.choice(best)))
        unvisited.remove(path[-1])
    return path


# Algorithm 1, and allgather along a cycle


def one_source(check: ClaimCheck) -> Schedule:
    """Return the allgather of algorithm 1 for the source 12..n, which represents all sources."""
    return check.schedule("allgather", "rotated-hamiltonian")


@checks("FA.A1.1", memory=ONE_SOURCE)
def phase_1(check: ClaimCheck) -> None:
    """Check that phase 1 of algorithm 1, an allgather, is valid and takes (n-1)! steps.

    In these steps, the message of a source must arrive exactly once at each node whose first symbol
    differs from that of the source, and never at another node.
    """
    label_symbols = stars.symbols(check)
    schedule = one_source(check)
    part = select_rows(schedule, label_symbols[schedule.receiver, 0] != 1)
    simulation = check.objects.simulation(part)
    check.equal("steps", simulation.steps, factorial(check.n - 1), of=part)
    _check_no_conflict(check, "phase 1 is without conflict", simulation, part)
    held = np.bincount(part.receiver, minlength=check.nodes)
    held[0] += 1
    stated = arrives_in_phase_1(label_symbols, 0)
    what = "times that the node gets the message of 12..n"
    check.equal(what, held, stated, node=check.ranks, of=part)
    if check.n <= _ALL_SOURCES:
        _check_phase_1_of_all_sources(check, part.expand())


def _check_phase_1_of_all_sources(check: ClaimCheck, part: Schedule) -> None:
    label_symbols = stars.symbols(check)
    simulation = check.objects.simulation(part)
    check.equal("steps, all sources written out", simulation.steps, factorial(check.n - 1), of=part)
    _check_no_conflict(check, "all sources are without conflict", simulation, part)
    # Every source has its own message from the start.
    held = np.eye(check.nodes, dtype=np.int64)
    np.add.at(held, (part.unit, part.receiver), 1)
    for q in range(check.nodes):
        place = {"root": q, "node": check.ranks, "of": part}
        expected = arrives_in_phase_1(label_symbols, q)
        check.equal("times that the node gets the message", held[q], expected, **place)


def _check_no_conflict(
    check: ClaimCheck, what: str, simulation: Simulation, schedule: Schedule
) -> None:
    violation = simulation.violation
    check.true(what, violation is None, found=str(violation), stated="None", of=schedule)


@checks("FA.A1.2", memory=ONE_SOURCE)
def phase_2(check: ClaimCheck) -> None:
    """Check that phase 2 of algorithm 1, an allgather, takes the stated steps and obeys rule 1.

    Phase 2 must follow phase 1, be valid and take ceil(((n-1)!-1)/(n-1)) steps. By rule 1, a node
    that has the same first symbol as a source receives the source's message from the neighbour that
    starts with the last symbol of the source.
    """
    phase_1_steps = factorial(check.n - 1)
    label_symbols = stars.symbols(check)
    schedule = one_source(check)
    last = label_symbols[schedule.receiver, 0] == 1
    after = bool((schedule.step[last] > phase_1_steps).all())
    check.true("phase 2 is after phase 1", after, of=schedule)
    stated = ceil_div(phase_1_steps - 1, check.n - 1)
    check.equal("steps", schedule.steps - phase_1_steps, stated, of=schedule)
    what = "first symbol of the sender, for source 12..n"
    first = label_symbols[schedule.sender[last], 0]
    check.equal(what, first, check.n, node=schedule.receiver[last])
    check.execute(schedule)
    if check.n <= _ALL_SOURCES:
        expanded = schedule.expand()
        check.execute(expanded)
        last = label_symbols[expanded.receiver, 0] == label_symbols[expanded.unit, 0]
        source = expanded.unit[last]
        place = {"root": source, "node": expanded.receiver[last], "of": expanded}
        what = "first symbol of the sender is the last of the source"
        first = label_symbols[expanded.sender[last], 0]
        check.equal(what, first, label_symbols[source, -1], **place)


@checks("FA.A1.local")
def phase_1_is_local(check: ClaimCheck) -> None:
    """Check that nodes can forward messages in phase 1 of algorithm 1 without knowing the source.

    The step, and the type of the link over which a message arrives, must determine the type of the
    link over which the message leaves.
    """
    n = check.n
    first = stars.symbols(check)[:, 0]
    forest = check.forest("rotated-hamiltonian")
    path = path_of_forest(check, forest, 2)
    types = forest.parent_port[0, path].astype(np.int64)
    step = np.arange(2, len(types) + 1)
    # A table that every node could store: for each step and incoming link type, the type of the
    # link over which the message leaves. The table does not depend on the message's source.
    outgoing = np.zeros((len(types) + 1, n + 1), dtype=np.int64)
    for j in range(2, n + 1):
        outgoing[step, rotated_types(n, j, types[:-1])] = rotated_types(n, j, types[1:])
    schedules = [one_source(check)]
    if n <= _ALL_SOURCES:
        schedules.append(schedules[0].expand())
    for schedule in schedules:
        part = select_rows(schedule, first[schedule.receiver] != first[sources(schedule)])
        check.equal("steps of phase 1", part.steps, factorial(n - 1), of=schedule)
        incoming = incoming_types(check, part)
        forwarded = part.step > 1
        place = {"step": part.step[forwarded], "node": part.sender[forwarded], "of": schedule}
        check.true("what is sent came one step before", incoming[forwarded] > 0, **place)
        sent = part.port[forwarded].astype(np.int64)
        stated = outgoing[part.step, incoming][forwarded]
        check.equal("type over which it is sent on", sent, stated, **place)


@checks("FA.A1.rule1")
def messages_by_rule_1(check: ClaimCheck) -> None:
    """Check how many messages rule 1 assigns to each link, and how many each link carries.

    The paper states (n-2)! messages, and one message fewer for links of type (dimension) n. Rule 1
    determines which link carries a message in phase 2 of algorithm 1; see `phase_2`.
    """
    n = check.n
    label_symbols = stars.symbols(check)
    schedule = one_source(check)
    types = star_graph.link_types(check)
    stated = np.where(types == n, factorial(n - 2) - 1, factorial(n - 2))
    first = label_symbols[:, 0].astype(np.intp)
    last = label_symbols[:, -1].astype(np.intp)
    sources_by_ends = np.zeros((n + 1, n + 1), dtype=np.int64)
    np.add.at(sources_by_ends, (first, last), 1)
    is_own = (label_symbols[:, 1:] == label_symbols[:, -1:]).astype(np.int64)
    messages = sources_by_ends[first[:, None], label_symbols[:, 1:]] - is_own
    place = star_graph.node_and_type(check)
    check.equal("messages that rule 1 gives to a link", messages, stated, **place)
    ports = schedule.port[label_symbols[schedule.receiver, 0] == 1]
    carried = np.bincount(ports, minlength=n + 1)[2:]
    check.equal("messages over a type", carried, stated, dimension=types, of=schedule)


@checks("FA.A1.steps", given=allgathers, memory=ONE_SOURCE)
def algorithm_1_steps(check: ClaimCheck, allgather: Execution) -> None:
    """Check that the allgather of algorithm 1 takes ceil((n!-1)/(n-1)) steps, in two phases."""
    n = check.n
    steps = allgather.steps
    check.equal("steps", steps, even_share(n), of=allgather.schedule)
    phases = factorial(n - 1) + ceil_div(factorial(n - 1) - 1, n - 1)
    check.equal("steps, phase by phase", steps, phases, of=allgather.schedule)


@checks("FA.A1.transmissions", given=allgathers, memory=ONE_SOURCE)
def algorithm_1_transmissions(check: ClaimCheck, allgather: Execution) -> None:
    """Check whether the allgather of algorithm 1 takes n!(n-1) transmissions, as printed.

    In fact, it takes n!(n!-1) transmissions.
    """
    count = factorial(check.n)
    transmissions = allgather.transmissions
    check.equal("transmissions", transmissions, count * (check.n - 1), of=allgather.schedule)
    check.correction().equal("transmissions", transmissions, count * (count - 1))


@checks("FA.SLA", memory=Memory(BYTES_PER_ROW, power=0, of_pairs=all_pairs))
def allgather_along_a_cycle(check: ClaimCheck) -> None:
    """Check that the allgather of section 4 takes n!-1 steps and n!(n!-1) transmissions.

    Two schedules are executed: one Hamiltonian cycle for all sources, and one cycle per source.
    """
    count = check.nodes
    translated_cycles = check.schedule("allgather", "hamiltonian-cycle", ports="one")
    forest = check.forest("hamiltonian-cycle")
    level = tree_levels(check.parents(forest.parent_port[0]), 0)
    cycle = np.argsort(level, kind="stable").astype(np.int32)
    types = check.ports_between(cycle, np.roll(cycle, -1))
    check.true("the path closes to a cycle", types > 0, node=cycle, of=forest)
    for schedule in (cycle_schedule(check, cycle, types), translated_cycles):
        check.takes(schedule, count - 1, count * (count - 1))


def arrives_in_phase_1(label_symbols: Perms, q: int) -> NDArray[np.int64]:
    """Return 1 for each node that has the message of source q after phase 1 of algorithm 1, else 0.

    The source itself has the message from the start.
    """
    arrives: NDArray[np.int64] = (label_symbols[:, 0] != label_symbols[q, 0]).astype(np.int64)
    arrives[q] = 1
    return arrives


def select_rows(schedule: Schedule, selected: NDArray[np.bool_]) -> Schedule:
    """Return a copy of a schedule with only the rows for which ``selected`` is True."""
    columns = {name: getattr(schedule, name)[selected] for name in COLUMNS}
    return replace(schedule, **columns)


def sources(schedule: Schedule) -> NDArray[np.int32]:
    """Return the rank of the source of each row's message; 0 in a symmetric schedule.

    The schedule must have exactly one message per source.
    """
    return np.zeros_like(schedule.unit) if schedule.symmetric else schedule.unit


def incoming_types(check: ClaimCheck, part: Schedule) -> NDArray[np.int64]:
    """Return the dimension over which each row's message reached its sender one step before.

    Returns:
        int64 ``[rows]``; 0 if the sender did not receive the message in that step.
    """
    count = check.nodes
    step = part.step.astype(np.int64)
    source = sources(part).astype(np.int64)
    arrival = (step * count + part.receiver) * count + source
    wanted = ((step - 1) * count + part.sender) * count + source
    order = np.argsort(arrival)
    # For a message that never arrived, `searchsorted` can return an index beyond the end. The index
    # is then set to the last entry, the arrival of another message, so that the result is 0.
    index = np.minimum(np.searchsorted(arrival, wanted, sorter=order), len(order) - 1)
    before = order[index]
    return np.where(arrival[before] == wanted, part.port[before].astype(np.int64), 0)


def cycle_schedule(check: ClaimCheck, cycle: Ranks, types: NDArray[np.int64]) -> Schedule:
    """Return the allgather of section 4 in which all sources use one Hamiltonian cycle.

    In step t, the message of the node at position p of the cycle moves from position p+t-1 to p+t.
    """
    length = len(cycle)
    step, place = np.divmod(np.arange(length * (length - 1)), length)
    tail = (place + step) % length
    ends = cycle[tail], types[tail], cycle[(tail + 1) % length]
    rows = Columns(step + 1, *ends, np.zeros_like(step), cycle[place])
    draft = Draft(rows, length)
    return draft.complete(check.topology, "allgather", "one-hamiltonian-cycle", "one")


# M messages per node (section 3.1, Table 1)


def repeated_paths(check: ClaimCheck, messages: int) -> Schedule:
    """Return an allgather of M messages per node: M consecutive executions of algorithm 1."""
    algorithm = "rotated-hamiltonian"
    single = check.schedule("allgather", algorithm)

    def create() -> Schedule:
        run = np.repeat(np.arange(messages, dtype=np.int32), len(single))
        names = ("sender", "port", "receiver", "tree")
        columns: dict[str, Any] = {name: np.tile(getattr(single, name), messages) for name in names}
        return replace(
            single,
            step=np.tile(single.step, messages) + run * np.int32(single.steps),
            unit=run,
            units=messages,
            algorithm=f"{algorithm}-repeated",
            arguments={"messages": messages},
            forest=None,
            **columns,
        )

    return check.build(create, f"{algorithm} repeated", messages)


@checks("FA.Tab1.allport-paths-M-time", memory=Memory(5 * BYTES_PER_ROW))
def runs_one_after_the_other(check: ClaimCheck) -> None:
    """Check whether M consecutive executions of algorithm 1 take ceil(M(n!-1)/(n-1)) steps.

    This is the total number of steps that the paper states for allgathers of M messages per node.
    In fact, the executions take M ceil((n!-1)/(n-1)) steps.
    """
    n = check.n
    correction = check.correction()
    for messages in any_messages(n):
        steps = check.execute(repeated_paths(check, messages)).steps
        check.equal("steps of all runs", steps, shared_others(n, messages), M=messages)
        correction.equal("steps of all runs", steps, messages * shared_others(n, 1), M=messages)


@checks(
    "FA.Tab1.allport-paths-M-overlapped-time",
    given=executions("allgather", "rotated-hamiltonian", messages=any_messages),
    memory=Memory(5 * BYTES_PER_ROW),
)
def overlapping_runs(check: ClaimCheck, run: Execution) -> None:
    """Check that M overlapping executions of algorithm 1 take ceil(M(n!-1)/(n-1)) steps in total.

    Together, the executions are an allgather of M messages per node.
    """
    check.equal("steps of all runs", run.steps, shared_others(check.n, run.messages), **run.place)
