"""A paper's table for any topology: every algorithm and every printed row of a collective under a port model, by time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from starcast.collectives import catalogue, schedule
from starcast.collectives.algorithm import Algorithm
from starcast.collectives.catalogue import algorithms_on
from starcast.collectives.model import check_collective, check_ports
from starcast.costs.bounds import lower_bound
from starcast.costs.forms import best_share, closed_form, unit_bytes
from starcast.costs.machine import Cost, Form, Machine, check_message
from starcast.costs.optimum import optimum
from starcast.costs.printed import Printed, bound_name, printed
from starcast.costs.simulation import simulated
from starcast.errors import InputError, LimitError, RejectedError
from starcast.simulator import simulate
from starcast.support.integers import check_count
from starcast.topologies import Topology, as_topology

#: Dimension of the largest hypercube that is counted; no array is made of it.
LARGEST_HYPERCUBE = 64


@dataclass(frozen=True)
class Problem:
    """What a table is about.

    Attributes:
        topology, collective, ports: where (a `Topology` or its name), what and under which port model.
        m: bytes of a message.
        machine: T_s and T_c.
        segments: pieces that a message, or a tree's share of it, is cut into; None for the best number.
        messages: M, where it is not ``segments`` for algorithms of unit messages.
        copies: x, for algorithms along edge-disjoint trees; others send one. With more than one, there are bounds for both.
        hypercube: dimension of the hypercube to compare with; None for the least that has as many nodes.
    """

    topology: Topology
    collective: str
    ports: str
    m: Fraction
    machine: Machine
    segments: int | None = None
    messages: int | None = None
    copies: int = 1
    hypercube: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "topology", as_topology(self.topology))
        check_collective(self.collective)
        check_message(self.m)
        check_ports(self.ports)
        check_count("copies", self.copies, self.topology.degree, f"on {self.topology.spec}")
        for name, most in (
            ("segments", None),
            ("messages", None),
            ("hypercube", LARGEST_HYPERCUBE),
        ):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), most)


@dataclass(frozen=True)
class Row:
    """A row of a table.

    Attributes:
        name: an algorithm of the catalogue, or who is cited.
        source: paper, and number or table.
        cited: whether a paper states it of somebody else's work, or of another network.
        cost: None where the paper gives orders only, the algorithm is not defined for the arguments asked for, or there are
            more copies than links.
        bound: what no schedule beats that sends as many copies.
        pieces, real_pieces: segments or messages, and the best real number where the best is asked for; None where the
            message is not cut.
        arguments: those of the algorithm, None where there is none in the catalogue.
        note: what has to be known, such as how an execution differs from the form.
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
        """Time / lower bound; None where one of them is missing or the bound is 0."""
        return self.gap_of(self.cost)

    def gap_of(self, cost: Cost | None) -> Fraction | None:
        """The gap of another cost to the row's bound, such as that of its execution."""
        return cost.time / self.bound.time if cost and self.bound.time else None


def table(problem: Problem) -> tuple[Row, ...]:
    """The rows of a table, the fastest first and those without a time last.

    Raises:
        InputError: no number of segments is best, since T_s is 0.
    """
    topology, what, ports = problem.topology, problem.collective, problem.ports
    bounds = {copies: _bound(problem, topology, copies) for copies in (1, problem.copies)}
    rows = [
        Row(bound_name(copies), bound.source, cited=False, cost=bound, bound=bound)
        for copies, bound in bounds.items()
    ]
    rows += [
        _algorithm_row(problem, rule)
        for rule in algorithms_on(topology, what)
        if ports in rule.ports
    ]
    rows += [
        _printed_row(problem, one)
        for one in printed(topology, what, ports, problem.hypercube, problem.copies)
    ]
    return tuple(sorted(rows, key=lambda row: (row.cost is None, row.cost.time if row.cost else 0)))


def executed(problem: Problem, row: Row, most_rows: int) -> Cost | None:
    """What a row's schedule takes when it is built and simulated; None for what is not in the catalogue.

    Raises:
        LimitError: the schedule has more than ``most_rows`` rows, or does not fit into memory.
        RejectedError: its execution breaks a rule.
    """
    if row.arguments is None or row.cost is None:
        return None
    topology, what = problem.topology, problem.collective
    rule = catalogue.find(what, row.name)
    # Everybody else gets something: no rows need be counted, nor trees built for that, where there are more nodes.
    rows = (
        topology.nodes - 1
        if topology.nodes > most_rows
        else rule.count(topology, problem.ports, row.arguments)
    )
    if rows > most_rows:
        raise LimitError(
            f"{rule} on {topology.spec} has {'at least ' if topology.nodes > most_rows else ''}{rows:,} rows and is not simulated",
            hint=f"at most {most_rows:,} are",
        )
    run = simulate(schedule(topology, what, row.name, ports=problem.ports, **row.arguments))
    if run.violation or not run.complete:
        raise RejectedError(
            f"{rule} on {topology.spec}: {run.violation or 'incomplete'}", hint="please report it"
        )
    return simulated(
        run, unit_bytes(topology, what, row.name, problem.m, **row.arguments), problem.machine
    )


def _algorithm_row(problem: Problem, rule: Algorithm) -> Row:
    topology, what, ports = problem.topology, problem.collective, problem.ports
    has_copies = any(one.name == "copies" for one in rule.arguments)
    given: dict[str, int | str] = {"copies": problem.copies} if has_copies else {}
    bound = _bound(problem, topology, problem.copies if has_copies else 1)
    real = None
    if rule.split_argument is not None:
        pieces = _asked(problem, units=rule.split_argument == "messages")
        if pieces is None:
            real, pieces = best_share(
                topology, what, rule.name, ports, problem.m, problem.machine, **given
            )
        given[rule.split_argument] = pieces
    try:
        arguments = rule.resolve_arguments(topology, given)
    except InputError as refusal:
        return Row(rule.name, rule.source, cited=False, cost=None, bound=bound, note=refusal.message)
    cost = closed_form(topology, what, rule.name, ports, problem.m, problem.machine, **arguments)
    note = _note(cost, real)
    return Row(
        rule.name, cost.source, False, cost, bound, _pieces(rule, arguments), real, arguments, note
    )


def _pieces(rule: Algorithm, arguments: Mapping[str, int | str]) -> int | None:
    return None if rule.split_argument is None else int(arguments[rule.split_argument])


def _printed_row(problem: Problem, one: Printed) -> Row:
    place = one.beside or problem.topology
    if one.form is None:
        return Row(one.name, one.source, one.cited, None, _bound(problem, place, 1), note=one.note)
    bound = _bound(problem, place, one.copies)
    real, pieces = None, _asked(problem, one.units) if one.cut else None
    if one.cut and pieces is None:
        period = place.degree
        real, pieces = optimum(
            partial(_priced, problem, one.form), problem.machine, period, range(1, period + 1)
        )
    cost = _priced(problem, one.form, pieces)
    return Row(
        one.name,
        cost.source,
        one.cited,
        cost,
        bound,
        pieces,
        real,
        note=_note(cost, real, one.note),
    )


def _note(cost: Cost, real: float | None, known_of_it: str = "") -> str:
    """What has to be known: also that the best number of pieces is the form's, where an execution differs from that."""
    ours = ["p is the form's best"] if cost.note and real is not None else []
    return "; ".join(part for part in (known_of_it, cost.note, *ours) if part)


def _asked(problem: Problem, units: bool) -> int | None:
    """How many pieces are asked for, None for the best number."""
    return problem.messages if units and problem.messages is not None else problem.segments


def _priced(problem: Problem, form: Callable[..., Form], pieces: int | None) -> Cost:
    made = form(problem.topology) if pieces is None else form(problem.topology, pieces)
    return made.priced(problem.m, problem.machine)


def _bound(problem: Problem, topology: Topology, copies: int) -> Cost:
    return lower_bound(
        topology, problem.collective, problem.ports, problem.m, problem.machine, copies=copies
    )
