"""Build cost tables for any topology: algorithms, bounds and printed rows, sorted by time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import lcm
from typing import Any, get_args

from starcast.collectives import schedule
from starcast.collectives.algorithm import Algorithm, algorithms_on, find_algorithm
from starcast.collectives.model import check_collective, check_ports
from starcast.costs import model, pipelines
from starcast.costs.forms import (
    FORMS,
    check_start_up,
    closed_form,
    find_optimum,
    optimal_pieces,
)
from starcast.costs.model import (
    Cost,
    Form,
    Machine,
    bottleneck_cut,
    ceil_log2,
    check_message,
    concurrent_flow,
    execute_in_model,
    lower_bound,
    price_simulation,
    stepwise_form,
)
from starcast.support.axes import check_execution
from starcast.support.errors import InputError, LimitError, RejectedError
from starcast.support.integers import check_count
from starcast.support.vocabulary import RequestedBound
from starcast.topologies import Topology, as_topology
from starcast.topologies.cayley_families import Hypercube

# Rows of the papers' tables without an algorithm in starcast
#
# A row describes a work that a paper cites, a table row that differs from the paper's theorem, or a
# network with which a paper compares its own. Qiu [14] has no closed form, because Tseng &
# Sheu state only orders of growth. Li et al. print some rows of Table 1 differently from their
# theorems. One of these rows, the one-port time n D T_s along one tree, is omitted here, because it
# is an order of growth.


@dataclass(frozen=True)
class PrintedRow:
    """A row of a cost table that is not an algorithm: a row of a paper's table, or a lower bound.

    Attributes:
        name: the cited authors, or a short name.
        source: the paper and the number of the table.
        form: a function that returns the closed form of the costs, called as ``form(topology)``, or
            as ``form(topology, pieces)`` if the message is split. None if the paper states only
            orders of growth, or if there are more copies than links at a node.
        cited: whether the row describes another work, or a network other than the paper's own.
        split: whether the message is split into pieces (segments or messages).
        other_topology: the network of the row if it differs from the table's network, else None.
        unit_messages: whether the pieces are unit messages, whose number is `CostProblem.messages`.
        copies: x, the number of copies of a message.
        note: a remark on the row.
    """

    name: str
    source: str
    form: Callable[..., Form] | None
    cited: bool = True
    split: bool = False
    other_topology: Topology | None = None
    unit_messages: bool = False
    copies: int = 1
    note: str = ""


def comparable_hypercube(topology: Topology, dimension: int | None = None) -> Topology:
    """Return the hypercube with which a topology is compared.

    The hypercube may be too large to have a spec (for example, for S_12); no array of its nodes is
    built.

    Args:
        topology: the topology to compare.
        dimension: the dimension of the hypercube; by default a hypercube is compared with itself,
            and any other topology with the smallest hypercube that has at least as many nodes.
    """
    if dimension is not None:
        return Hypercube(dimension)
    return topology if topology.family == "hypercube" else Hypercube(ceil_log2(topology.nodes))


def bound_name(copies: int, *subjects: str) -> str:
    """Return the name of a cost table's row that contains a lower bound.

    Args:
        copies: the number of copies of each message, which the name contains if it exceeds 1.
        *subjects: further parts of the name, such as the topology.
    """
    parts = ["lower bound", *subjects]
    if copies > 1:
        parts.append(f"{copies} copies")
    return ", ".join(parts)


_TABLE_1 = "Tseng & Sheu 1997, Table 1"
_TABLE_2 = "Tseng & Sheu 1997, Table 2"
_NK_TABLE_1 = "Li, Chen, Xiang & Yao, Table 1"
#: The printed rows of cited works, by topology family, collective and port model.
_CITED = {
    ("star", "broadcast", "all"): (
        PrintedRow("Day & Tripathi [7]", _TABLE_1, pipelines.day_tripathi, split=True),
    ),
    ("star", "broadcast", "one"): (
        PrintedRow("Misic & Jovanovic [13]", _TABLE_1, pipelines.misic_jovanovic),
        PrintedRow("Akl et al. [2]", _TABLE_1, pipelines.akl),
        PrintedRow("Mendia & Sarkar [12]", _TABLE_1, pipelines.mendia_sarkar),
        PrintedRow("Sheu et al. [17]", _TABLE_1, pipelines.sheu_1995, split=True),
        PrintedRow(
            "Qiu [14]", f"{_TABLE_1} [14]", None,
            note="only orders are given: O(n^2 T_s + (n log n + m) T_c), with about n! segments",
        ),
    ),
    ("star", "allgather", "all"): (
        PrintedRow("Fragopoulou & Akl [8] HAM", _TABLE_2, pipelines.hamiltonian_paths),
        PrintedRow("Fragopoulou & Akl [8] NL", _TABLE_2, pipelines.necklaces),
    ),
    ("star", "allgather", "one"): (
        PrintedRow("Misic & Jovanovic [13]", _TABLE_2, pipelines.misic_allgather),
    ),
    ("nk-star", "broadcast", "all"): (
        PrintedRow("Y.S. Chen & Tai [4]", _NK_TABLE_1, partial(pipelines.chen, ports="all")),
        PrintedRow(
            "one tree SP, as printed", _NK_TABLE_1, pipelines.nk_greedy_as_printed, cited=False,
            split=True, note="Theorem 2 has one start-up fewer",
        ),
        PrintedRow(
            "trees MT, as printed", _NK_TABLE_1, pipelines.nk_multiple_as_printed, cited=False,
            note="Theorem 8 has m/(n-1): the row repeats Table 2",
        ),
    ),
    ("nk-star", "broadcast", "one"): (
        PrintedRow("Y.S. Chen & Tai [4]", _NK_TABLE_1, partial(pipelines.chen, ports="one")),
    ),
}  # fmt: skip


# Cost tables: closed forms, executions and bounds


#: The name of the row with ForestColl's optimum for an all-port allgather or reduce-scatter.
BOTTLENECK_CUT = "bottleneck cut"
#: The name of the row with the optimum of the linear program for an all-port alltoall.
CONCURRENT_FLOW = "concurrent flow"
#: The bounds that `CostProblem.bounds` can request.
BOUNDS = get_args(RequestedBound)
#: Maximum dimension of a hypercube with which a topology is compared. It can be this large, because
#: no array has an entry per node of the hypercube.
MAX_HYPERCUBE = 64


@dataclass(frozen=True)
class CostProblem:
    """The parameters of a cost table.

    Attributes:
        topology: the topology; it may be given as a spec.
        collective: the name of the collective.
        ports: the port model, ``all`` or ``one``.
        message_bytes: m, the number of bytes in a message.
        machine: T_s and T_c.
        segments: p, the number of pieces into which a message, or each tree's share of it, is
            split; None for the optimum.
        messages: M, the number of unit messages, for algorithms that send unit messages; by default
            ``segments``.
        copies: x, the number of copies of each message, for algorithms along edge-disjoint trees;
            other algorithms send one copy. If x is greater than 1, the table has bounds for one
            copy and for x copies.
        hypercube: dimension of the hypercube with which the topology is compared; by default, the
            smallest dimension of a hypercube with at least as many nodes.
        execution: the execution model of simulations; it does not affect closed forms.
        bounds: an additional bound, which is slow to compute: ``cut``, the bottleneck cut of an
            allgather or reduce-scatter, or ``lp``, the linear program of an alltoall. For other
            collectives, no bound is added.

    Raises:
        InputError: a value is invalid.
    """

    topology: Topology
    collective: str
    ports: str
    message_bytes: Fraction
    machine: Machine
    segments: int | None = None
    messages: int | None = None
    copies: int = 1
    hypercube: int | None = None
    execution: str = "synchronous"
    bounds: RequestedBound | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "topology", as_topology(self.topology))
        check_collective(self.collective)
        check_message(self.message_bytes)
        check_ports(self.ports)
        check_execution(self.execution)
        most = model.max_copies(self.topology)
        check_count("copies", self.copies, most, f"on {self.topology.spec}")
        if self.bounds not in (None, *BOUNDS):
            raise InputError(
                f"unknown bound '{self.bounds}'", hint=f"choose one of {', '.join(BOUNDS)}"
            )
        maxima = {"segments": None, "messages": None, "hypercube": MAX_HYPERCUBE}
        for name, maximum in maxima.items():
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), maximum)

    @cached_property
    def optima(self) -> dict[str, Cost]:
        """The requested lower bound on the time without start-ups, by name; empty if there is none.

        In a topology with translations, the bottleneck cut of an allgather is included even if it
        is not requested, because it needs no search. In the one-port model there is no such bound.
        """
        if self.ports != "all":
            return {}
        given = self.topology, self.message_bytes, self.machine
        is_known = self.topology.has_translations and self.collective == "allgather"
        is_requested = self.bounds == "cut" and self.collective in ("allgather", "reduce-scatter")
        if is_known or is_requested:
            return {BOTTLENECK_CUT: bottleneck_cut(*given)}
        if self.bounds == "lp" and self.collective == "alltoall":
            return {CONCURRENT_FLOW: concurrent_flow(*given)}
        return {}


@dataclass(frozen=True)
class CostRow:
    """A row of a cost table.

    Attributes:
        name: the name of an algorithm, a lower bound or a printed row.
        source: the paper, and the number of the theorem or table.
        cited: whether the row describes another work, or a network other than the paper's own.
        cost: the cost by the closed form; None if the paper states only orders of growth, if there
            is no closed form (for a plug-in's algorithm, or if links differ), if the algorithm is
            not defined for the arguments, or if there are more copies than links at a node.
        bound: the lower bound for the same number of copies; for one copy if there are more copies
            than links at a node.
        pieces: the number of segments or messages; None if the message is not split, or if ``cost``
            is None.
        real_pieces: the optimal real number of pieces. None if ``pieces`` is None or was requested,
            or for unit messages on a topology without translations.
        arguments: the algorithm's arguments; None for a row that is not an algorithm, and for an
            algorithm that is not defined for the arguments.
        note: remarks, such as the difference between an execution and the closed form.
    """

    name: str
    source: str
    cited: bool
    cost: Cost | None
    bound: Cost
    pieces: int | None = None
    real_pieces: float | None = None
    arguments: Mapping[str, int | str] | None = None
    note: str = ""

    @property
    def gap(self) -> Fraction | None:
        """The time divided by the lower bound; None if the cost is None or the bound is 0."""
        return self.gap_of(self.cost)

    def gap_of(self, cost: Cost | None) -> Fraction | None:
        """Return the time of a given cost, such as a simulated cost, divided by the row's bound."""
        return cost.time / self.bound.time if cost and self.bound.time else None


def build_table(problem: CostProblem) -> tuple[CostRow, ...]:
    """Return the rows of a cost table, sorted by time; rows without a time come last.

    Raises:
        InputError: no number of segments is optimal because T_s is 0, or the requested linear
            program is not defined on the topology.
        LimitError: the requested linear program is too large.
        UnavailableError: SciPy, which the linear program needs, is not installed.
    """
    topology = problem.topology
    named = {
        bound_name(copies): _counting_bound(problem, topology, copies)
        for copies in (1, problem.copies)
    }
    named.update(problem.optima)
    rows = [
        CostRow(name, bound.source, cited=False, cost=bound, bound=bound)
        for name, bound in named.items()
    ]
    rows += [
        _algorithm_row(problem, algorithm)
        for algorithm in algorithms_on(topology, problem.collective)
        if problem.ports in algorithm.ports
    ]
    rows += [_printed_row(problem, row) for row in _printed_rows(problem)]
    return tuple(sorted(rows, key=lambda row: (row.cost is None, row.cost.time if row.cost else 0)))


def execute_row(problem: CostProblem, row: CostRow, max_rows: int) -> Cost | None:
    """Build and simulate a row's schedule and return its cost.

    Args:
        problem: the parameters of the table.
        row: the table row whose algorithm is executed.
        max_rows: the maximum number of schedule rows to simulate.

    Returns:
        The cost of the simulation; None for a row that is not an algorithm, or whose algorithm is
        not defined for the arguments.

    Raises:
        LimitError: the schedule has more than ``max_rows`` rows, or does not fit into memory.
        RejectedError: the schedule violates its port model or leaves units undelivered.
    """
    if row.arguments is None:
        return None
    topology = problem.topology
    collective = problem.collective
    algorithm = find_algorithm(collective, row.name)
    # Every endpoint but the root receives (in a gather or reduce: sends) a unit in a separate row,
    # so the schedule has at least endpoints - 1 rows. This check avoids building trees on huge
    # topologies.
    too_large = topology.endpoints > max_rows
    rows = topology.endpoints - 1
    if not too_large:
        rows = algorithm.count(topology, problem.ports, row.arguments)
    if rows > max_rows:
        at_least = "at least " if too_large else ""
        raise LimitError(
            f"{algorithm} on {topology.spec} has {at_least}{rows:,} rows, but at most {max_rows:,} "
            "rows can be simulated",
            hint="use a smaller topology, or fewer segments or messages",
        )
    built = schedule(topology, collective, row.name, ports=problem.ports, **row.arguments)
    unit = Fraction(problem.message_bytes) / max(1, built.message_units)
    simulation, critical = execute_in_model(built, unit, problem.machine, problem.execution)
    if simulation.violation or not simulation.complete:
        raise RejectedError(
            f"{algorithm} on {topology.spec} is invalid: "
            f"{simulation.violation or 'units are undelivered'}",
            hint="this is a defect of starcast: please report it",
        )
    return price_simulation(simulation, unit, problem.machine, critical)


def _algorithm_row(problem: CostProblem, algorithm: Algorithm) -> CostRow:
    topology = problem.topology
    named = (topology, problem.collective, algorithm.name, problem.ports)
    priced = (problem.message_bytes, problem.machine)
    has_copies = "copies" in algorithm.argument_names
    values: dict[str, Any] = {"copies": problem.copies} if has_copies else {}
    bound = _bound(problem, topology, problem.copies if has_copies else 1)
    real_pieces = None
    has_form = (algorithm.collective, algorithm.name) in FORMS and topology.has_equal_links
    if algorithm.split_argument is not None:
        pieces = _requested_pieces(problem, algorithm.split_argument == "messages")
        if pieces is None and has_form:
            real_pieces, pieces = optimal_pieces(*named, *priced, **values)
        if pieces is not None:
            values[algorithm.split_argument] = pieces
    row = partial(CostRow, algorithm.name, cited=False, bound=bound)
    try:
        arguments: dict[str, Any] = algorithm.resolve_arguments(topology, values)
    # If an algorithm is not defined for the arguments, its row states the reason as a note.
    except InputError as refusal:
        return row(algorithm.source, cost=None, note=refusal.message)
    if not has_form:
        note = "no closed form: only a simulation gives its cost"
        return row(algorithm.source, cost=None, arguments=arguments, note=note)
    cost = closed_form(*named, *priced, **arguments)
    return row(
        cost.source,
        cost=cost,
        pieces=int(arguments[algorithm.split_argument]) if algorithm.split_argument else None,
        real_pieces=real_pieces,
        arguments=arguments,
        note=_note(cost, real_pieces),
    )


def _printed_rows(problem: CostProblem) -> list[PrintedRow]:
    """Return the rows of a cost table that are not algorithms.

    These rows are costs cited from papers, and lower bounds for unit messages. The bounds are for
    one copy and for ``problem.copies`` copies of each message, both on the table's topology and on
    the hypercube with which this topology is compared.
    """
    topology = problem.topology
    cube = comparable_hypercube(topology, problem.hypercube)
    rows = [*_CITED.get((topology.family, problem.collective, problem.ports), ())]
    # Duplicates are removed: with one copy both bounds give the same row, and a hypercube may be
    # compared with itself.
    for copies in dict.fromkeys((1, problem.copies)):
        rows += [_bound_row(problem, each, copies) for each in dict.fromkeys((topology, cube))]
    return rows


def _bound_row(problem: CostProblem, topology: Topology, copies: int) -> PrintedRow:
    """Return the row with the lower bound for unit messages on the given topology.

    The given topology is either that of the table, or the hypercube with which the table's topology
    is compared (as in Fragopoulou & Akl 1993, Table 6, and 1996, Table 4).
    """
    source = model.steps_source(topology, problem.collective, problem.ports, copies)
    form = partial(_unit_messages_bound, problem, topology, copies)
    row = PrintedRow(
        bound_name(copies, "unit messages"), source, form, cited=False, split=True,
        unit_messages=True, copies=copies,
    )  # fmt: skip
    if topology == problem.topology:
        return row
    note = (
        f"another network, of {topology.nodes:,} nodes of degree {topology.degree}; its gap refers "
        "to its own lower bound"
    )
    if copies > topology.degree:
        row = replace(row, form=None)
        note = f"{copies} copies are more than the {topology.degree} links of {topology.spec}"
    name = bound_name(copies, "unit messages", topology.spec)
    cited = source != model.OURS
    return replace(row, name=name, cited=cited, other_topology=topology, note=note)


def _unit_messages_bound(
    problem: CostProblem, topology: Topology, copies: int, _: Topology, messages: int
) -> Form:
    """Return the lower bound for schedules of M unit messages.

    In an allreduce or reduce-scatter, M is the number of units in each node's part of the vector.
    Sources: Fragopoulou & Akl 1993, Tables 4 (S_n) and 5 (Q_d); Fragopoulou & Akl 1996, Tables 1
    and 2 (S_n) and 3 (Q_d).
    """
    steps = Machine(Fraction(0), Fraction(1))
    units = messages * (topology.endpoints if problem.collective == "allreduce" else 1)
    least = lower_bound(
        topology, problem.collective, problem.ports, Fraction(1), steps, units, copies
    )
    source = least.source
    if topology.has_translations:
        source = model.steps_source(topology, problem.collective, problem.ports, copies)
    return stepwise_form(int(least.steps or 0), Fraction(1, units), least.transmissions, source)


def _printed_row(problem: CostProblem, row: PrintedRow) -> CostRow:
    topology = row.other_topology or problem.topology
    build = partial(CostRow, row.name, cited=row.cited)
    if row.form is None:
        bound = _bound(problem, topology, 1)
        return build(row.source, cost=None, bound=bound, note=row.note)
    pieces = _requested_pieces(problem, row.unit_messages) if row.split else None
    real_pieces = None
    if row.unit_messages and pieces is None and not topology.has_translations:
        pieces = _find_best_messages(problem, row.form, row.copies)
    elif row.split and pieces is None:
        period = topology.degree
        price = partial(_price, problem, row.form)
        real_pieces, pieces = find_optimum(price, problem.machine, period, range(1, period + 1))
    cost = _price(problem, row.form, pieces)
    bound = _bound(problem, topology, row.copies)
    note = _note(cost, real_pieces, row.note)
    return build(
        cost.source, cost=cost, bound=bound, pieces=pieces, real_pieces=real_pieces, note=note
    )


def _find_best_messages(problem: CostProblem, form: Callable[..., Form], copies: int) -> int:
    """Return the number of unit messages for which the lower bound on the time is smallest.

    The bound on the steps is the maximum of a constant and of one or two rounded multiples of the
    number of messages, plus constants. So the effect of rounding is periodic, and the time for r,
    r + period, r + 2 period, .. messages first falls and then rises.

    Raises:
        InputError: T_s is 0, so more messages are always better.
    """
    topology, machine = problem.topology, problem.machine
    check_start_up(machine)
    # With M unit messages, the busiest link carries at least `share * M` messages.
    share = lower_bound(
        topology, problem.collective, problem.ports, Fraction(1), machine, copies=copies
    ).bytes
    parts = topology.endpoints if problem.collective == "allreduce" else 1
    slopes = [parts * share]
    if problem.collective in ("broadcast", "reduce"):
        links = topology.largest_capacity
        if problem.ports == "all":
            links = int(topology.node_capacities[0])
        slopes.append(Fraction(copies, links))
    period = lcm(*(slope.denominator for slope in slopes))
    firsts = set(range(1, period + 1))
    if max(slopes) < 1:
        # Of several numbers of messages with the same bound on the steps, the largest is best.
        firsts = {
            int(steps / slope) for slope in slopes for steps in range(1, int(slope * period) + 1)
        }

    def time(messages: int) -> Fraction:
        return _price(problem, form, messages).time

    best = time(1), 1
    sending = Fraction(problem.message_bytes) / parts * machine.t_c
    for first in sorted(firsts):
        # With more than `most` messages, the bound on the time exceeds the best bound so far.
        most = (best[0] / slopes[0] - sending) / machine.t_s
        if first > most:
            break
        low, high = 0, int(most - first) // period + 1
        while low < high:
            middle = (low + high) // 2
            pieces = first + middle * period
            if time(pieces + period) < time(pieces):
                low = middle + 1
            else:
                high = middle
        pieces = first + low * period
        best = min(best, (time(pieces), pieces))
    return best[1]


def _note(cost: Cost, real_pieces: float | None, row_note: str = "") -> str:
    """Return all remarks on a row of a cost table as one string."""
    remarks = [row_note, cost.note]
    # If executions differ from the closed form, their optimal number of pieces may differ as well.
    if cost.note and real_pieces is not None:
        remarks.append("the number of pieces is the optimum of the closed form")
    return "; ".join(remark for remark in remarks if remark)


def _requested_pieces(problem: CostProblem, unit_messages: bool) -> int | None:
    """Return the requested number of segments or messages; None if the optimum is requested.

    Args:
        problem: the parameters of the table.
        unit_messages: whether the row's algorithm sends unit messages instead of segments.
    """
    if unit_messages and problem.messages is not None:
        return problem.messages
    return problem.segments


def _price(problem: CostProblem, form: Callable[..., Form], pieces: int | None) -> Cost:
    arguments = () if pieces is None else (pieces,)
    return form(problem.topology, *arguments).price(problem.message_bytes, problem.machine)


def _counting_bound(problem: CostProblem, topology: Topology, copies: int) -> Cost:
    """Return the result of `lower_bound` for a cost table's parameters on the given topology."""
    named = (topology, problem.collective, problem.ports)
    return lower_bound(*named, problem.message_bytes, problem.machine, copies=copies)


def _bound(problem: CostProblem, topology: Topology, copies: int) -> Cost:
    """Return the best lower bound for a cost table's parameters on the given topology.

    The bounds ``problem.optima`` are used only for the table's own topology.
    """
    bounds: list[Cost] = [_counting_bound(problem, topology, copies)]
    if topology == problem.topology:
        bounds += problem.optima.values()
    return max(bounds, key=lambda cost: cost.time)
