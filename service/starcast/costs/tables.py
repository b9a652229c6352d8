"""A paper's table for any topology: all algorithms and printed rows of a collective, by time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from starcast.collectives import catalogue, schedule
from starcast.collectives.algorithm import Algorithm
from starcast.collectives.model import check_collective, check_ports
from starcast.costs.bounds import bottleneck_cut, lower_bound
from starcast.costs.forms import FORMS, closed_form, find_optimum, optimal_pieces
from starcast.costs.machine import (
    Cost,
    Form,
    Machine,
    check_message,
    execute_in_model,
    price_simulation,
)
from starcast.costs.printed import PrintedRow, bound_name, printed_rows
from starcast.support.axes import check_execution
from starcast.support.errors import InputError, LimitError, RejectedError
from starcast.support.integers import check_count
from starcast.topologies import Topology, as_topology

#: Dimension of the largest hypercube to compare with; no array is built for it.
MAX_HYPERCUBE = 64


@dataclass(frozen=True)
class Problem:
    """The subject of a table.

    Attributes:
        topology: a `Topology`, or its spec.
        collective: the name of the collective.
        ports: the port model.
        message_bytes: m, the bytes of a message.
        machine: T_s and T_c.
        segments: p, the pieces into which a message, or a tree's share of it, is split; None for
            the optimum.
        messages: M, for algorithms of unit messages; ``segments`` by default.
        copies: x, for algorithms along edge-disjoint trees; others send one copy. If more than 1,
            the table has bounds for one copy and for x.
        hypercube: dimension of the hypercube to compare with; by default the least one that has as
            many nodes.
        execution: the execution model of simulations; closed forms are those of the papers.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "topology", as_topology(self.topology))
        check_collective(self.collective)
        check_message(self.message_bytes)
        check_ports(self.ports)
        check_execution(self.execution)
        check_count("copies", self.copies, self.topology.degree, f"on {self.topology.spec}")
        maxima = {"segments": None, "messages": None, "hypercube": MAX_HYPERCUBE}
        for name, maximum in maxima.items():
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), maximum)


#: The row of ForestColl's optimum, for the all-port allgather.
BOTTLENECK_CUT = "bottleneck cut"


@dataclass(frozen=True)
class CostRow:
    """A row of a table.

    Attributes:
        name: an algorithm of the catalogue, or the name of a printed row.
        source: paper, and number or table.
        cited: whether a paper states it about another work or another network.
        cost: None if the paper gives only orders, the algorithm has no closed form (a plug-in's) or
            is not defined for the arguments, or there are more copies than links.
        bound: the bound for as many copies.
        pieces: segments or messages; None if the message is not split.
        real_pieces: the optimum over the reals; None unless the optimum was requested.
        arguments: the algorithm's arguments; None for a row that is not in the catalogue.
        note: remarks, such as how an execution differs from the form.
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
        """Time / lower bound; None if one of them is missing or the bound is 0."""
        return self.gap_of(self.cost)

    def gap_of(self, cost: Cost | None) -> Fraction | None:
        """Return the gap of another cost, such as a simulation's, to the row's bound."""
        return cost.time / self.bound.time if cost and self.bound.time else None


def build_table(problem: Problem) -> tuple[CostRow, ...]:
    """Return the rows of a table, the fastest first and rows without a time last.

    Raises:
        InputError: no number of segments is optimal because T_s is 0.
    """
    topology = problem.topology
    bounds = {copies: _bound(problem, topology, copies) for copies in (1, problem.copies)}
    rows = [
        CostRow(bound_name(copies), bound.source, cited=False, cost=bound, bound=bound)
        for copies, bound in bounds.items()
    ]
    if problem.collective == "allgather" and problem.ports == "all":
        cut = bottleneck_cut(topology, problem.message_bytes, problem.machine)
        rows.append(CostRow(BOTTLENECK_CUT, cut.source, cited=False, cost=cut, bound=cut))
    rows += [
        _algorithm_row(problem, algorithm)
        for algorithm in catalogue.algorithms_on(topology, problem.collective)
        if problem.ports in algorithm.ports
    ]
    printed = printed_rows(
        topology, problem.collective, problem.ports, problem.hypercube, problem.copies
    )
    rows += [_printed_row(problem, row) for row in printed]
    return tuple(sorted(rows, key=lambda row: (row.cost is None, row.cost.time if row.cost else 0)))


def execute_row(problem: Problem, row: CostRow, max_rows: int) -> Cost | None:
    """Build and simulate a row's schedule and return its cost.

    Args:
        problem: the table's subject.
        row: a row of the table.
        max_rows: the greatest number of schedule rows to simulate.

    Returns:
        The cost of the simulation; None for a row that is not an algorithm of the catalogue, or
        that is not defined for the arguments.

    Raises:
        LimitError: the schedule has more than ``max_rows`` rows, or does not fit into memory.
        RejectedError: the schedule violates a rule or is incomplete.
    """
    if row.arguments is None:
        return None
    topology = problem.topology
    collective = problem.collective
    algorithm = catalogue.find(collective, row.name)
    # Every other node receives something. On a huge topology this bound saves building trees.
    too_large = topology.nodes > max_rows
    rows = topology.nodes - 1
    if not too_large:
        rows = algorithm.count(topology, problem.ports, row.arguments)
    if rows > max_rows:
        at_least = "at least " if too_large else ""
        raise LimitError(
            f"{algorithm} on {topology.spec} has {at_least}{rows:,} rows and is not simulated",
            hint=f"at most {max_rows:,} rows are simulated",
        )
    built = schedule(topology, collective, row.name, ports=problem.ports, **row.arguments)
    unit = Fraction(problem.message_bytes) / max(1, built.message_units)
    simulation, critical = execute_in_model(built, unit, problem.machine, problem.execution)
    if simulation.violation or not simulation.complete:
        raise RejectedError(
            f"{algorithm} on {topology.spec}: {simulation.violation or 'incomplete'}",
            hint="please report it",
        )
    return price_simulation(simulation, unit, problem.machine, critical)


def _algorithm_row(problem: Problem, algorithm: Algorithm) -> CostRow:
    topology = problem.topology
    has_copies = any(argument.name == "copies" for argument in algorithm.arguments)
    values: dict[str, int | str] = {"copies": problem.copies} if has_copies else {}
    bound = _bound(problem, topology, problem.copies if has_copies else 1)
    real_pieces = None
    has_form = (algorithm.collective, algorithm.name) in FORMS
    if algorithm.split_argument is not None:
        pieces = _requested_pieces(problem, algorithm.split_argument == "messages")
        if pieces is None and has_form:
            real_pieces, pieces = optimal_pieces(
                topology,
                problem.collective,
                algorithm.name,
                problem.ports,
                problem.message_bytes,
                problem.machine,
                **values,
            )
        if pieces is not None:
            values[algorithm.split_argument] = pieces
    try:
        arguments = algorithm.resolve_arguments(topology, values)
    except InputError as refusal:
        return CostRow(
            algorithm.name,
            algorithm.source,
            cited=False,
            cost=None,
            bound=bound,
            note=refusal.message,
        )
    if not has_form:
        note = "no closed form: its price is that of an execution"
        return CostRow(
            algorithm.name,
            algorithm.source,
            cited=False,
            cost=None,
            bound=bound,
            arguments=arguments,
            note=note,
        )
    cost = closed_form(
        topology,
        problem.collective,
        algorithm.name,
        problem.ports,
        problem.message_bytes,
        problem.machine,
        **arguments,
    )
    return CostRow(
        algorithm.name,
        cost.source,
        cited=False,
        cost=cost,
        bound=bound,
        pieces=int(arguments[algorithm.split_argument]) if algorithm.split_argument else None,
        real_pieces=real_pieces,
        arguments=arguments,
        note=_note(cost, real_pieces),
    )


def _printed_row(problem: Problem, row: PrintedRow) -> CostRow:
    topology = row.other_topology or problem.topology
    if row.form is None:
        bound = _bound(problem, topology, 1)
        return CostRow(row.name, row.source, row.cited, None, bound, note=row.note)
    pieces = _requested_pieces(problem, row.unit_messages) if row.split else None
    real_pieces = None
    if row.split and pieces is None:
        period = topology.degree
        price = partial(_price, problem, row.form)
        real_pieces, pieces = find_optimum(price, problem.machine, period, range(1, period + 1))
    cost = _price(problem, row.form, pieces)
    return CostRow(
        row.name,
        cost.source,
        row.cited,
        cost,
        _bound(problem, topology, row.copies),
        pieces,
        real_pieces,
        note=_note(cost, real_pieces, row.note),
    )


def _note(cost: Cost, real_pieces: float | None, row_note: str = "") -> str:
    """Return all remarks on a row, as one text."""
    remarks = [row_note, cost.note]
    # An execution may differ from the form, and have another optimum.
    if cost.note and real_pieces is not None:
        remarks.append("the number of pieces is the optimum of the closed form")
    return "; ".join(remark for remark in remarks if remark)


def _requested_pieces(problem: Problem, unit_messages: bool) -> int | None:
    """Return the requested number of pieces, None for the optimum."""
    if unit_messages and problem.messages is not None:
        return problem.messages
    return problem.segments


def _price(problem: Problem, form: Callable[..., Form], pieces: int | None) -> Cost:
    arguments = () if pieces is None else (pieces,)
    return form(problem.topology, *arguments).price(problem.message_bytes, problem.machine)


def _bound(problem: Problem, topology: Topology, copies: int) -> Cost:
    return lower_bound(
        topology,
        problem.collective,
        problem.ports,
        problem.message_bytes,
        problem.machine,
        copies=copies,
    )
