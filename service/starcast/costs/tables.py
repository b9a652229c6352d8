"""A paper's table for any topology: every algorithm and every printed row of a collective under a port model, by time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from starcast.collectives import catalogue, schedule
from starcast.collectives.algorithm import Algorithm
from starcast.collectives.catalogue import algorithms_on
from starcast.collectives.schedule import check_collective, check_ports
from starcast.costs.bounds import lower_bound
from starcast.costs.forms import best_share, closed_form, unit_bytes
from starcast.costs.machine import Cost, Form, Machine, check_message
from starcast.costs.optimum import optimum
from starcast.costs.printed import Printed, printed
from starcast.costs.simulation import simulated
from starcast.errors import InputError, LimitError, RejectedError
from starcast.simulator import simulate
from starcast.topologies import Topology

#: Dimension of the largest hypercube that is counted; no array is made of it.
LARGEST_HYPERCUBE = 64


@dataclass(frozen=True)
class Problem:
    """What a table is about.

    Attributes:
        topology, collective, ports: where, what and under which port model.
        m: bytes of a message.
        machine: T_s and T_c.
        segments: pieces that a message, or a tree's share of it, is cut into; None for the best number.
        messages: M, where it is not ``segments`` for algorithms of unit messages.
        copies: x, for algorithms along edge-disjoint trees; others send one.
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
        check_collective(self.collective)
        check_message(self.m)
        check_ports(self.ports)
        for name in ("segments", "messages", "copies"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}, not a whole number of at least 1", hint=f"give {name} 1 or more")
        if self.copies > self.topology.degree:
            raise InputError(
                f"copies is {self.copies}, more than {self.topology.degree} on {self.topology.spec}",
                hint=f"give copies from 1 to {self.topology.degree}",
            )
        if self.hypercube is not None and not 1 <= self.hypercube <= LARGEST_HYPERCUBE:
            raise InputError(
                f"a hypercube of dimension {self.hypercube} is out of range", hint=f"give 1 to {LARGEST_HYPERCUBE}"
            )


@dataclass(frozen=True)
class Row:
    """A row of a table.

    Attributes:
        name: an algorithm of the catalogue, or who is cited.
        source: paper, and number or table.
        cited: whether it stands for somebody else's work, or another network's.
        cost: None where the paper gives orders only, or the algorithm is not defined for the arguments asked for.
        bound: what no schedule beats that sends as many copies.
        pieces, real_pieces: segments or messages, and the best real number where the best is asked for; None where the
            message is not cut.
        arguments: those of the algorithm, None where there is none in the catalogue.
        note: what has to be known.
    """

    name: str
    source: str
    cited: bool
    cost: Cost | None
    bound: Cost
    pieces: int | None = None
    real_pieces: float | None = None
    arguments: Mapping[str, int | str] | None = None
    note: str = field(default="")

    @property
    def gap(self) -> Fraction | None:
        """Time / lower bound; None where one of them is missing or the bound is 0."""
        return self.cost.time / self.bound.time if self.cost and self.bound.time else None


def table(problem: Problem) -> tuple[Row, ...]:
    """The rows of a table, the fastest first and those without a time last.

    Raises:
        InputError: no number of segments is best, since T_s is 0.
    """
    where, what, ports = problem.topology, problem.collective, problem.ports
    bound = _bound(problem, where, problem.copies)
    rows = [Row("lower bound", bound.source, cited=False, cost=bound, bound=bound)]
    rows += [_algorithm_row(problem, rule) for rule in algorithms_on(where, what) if ports in rule.ports]
    rows += [_printed_row(problem, one) for one in printed(where, what, ports, problem.hypercube)]
    return tuple(sorted(rows, key=lambda row: (row.cost is None, row.cost.time if row.cost else 0)))


def executed(problem: Problem, row: Row, most_rows: int) -> Cost | None:
    """What a row's schedule takes when it is built and simulated; None for what is not in the catalogue.

    Raises:
        LimitError: the schedule has more than ``most_rows`` rows, or does not fit into memory.
        RejectedError: its execution breaks a rule.
    """
    if row.arguments is None or row.cost is None:
        return None
    where, what = problem.topology, problem.collective
    rule = catalogue.find(what, row.name)
    # Everybody else gets something: no rows need be counted, nor trees built for that, where there are more nodes.
    rows = where.nodes - 1 if where.nodes > most_rows else rule.count(where, problem.ports, row.arguments)
    if rows > most_rows:
        raise LimitError(
            f"{rule} on {where.spec} has {'at least ' if where.nodes > most_rows else ''}{rows:,} rows and is not simulated",
            hint=f"at most {most_rows:,} are",
        )
    run = simulate(schedule(where, what, row.name, ports=problem.ports, **row.arguments))
    if run.violation or not run.complete:
        raise RejectedError(f"{rule} on {where.spec}: {run.violation or 'incomplete'}", hint="please report it")
    return simulated(run, unit_bytes(where, what, row.name, problem.m, **row.arguments), problem.machine)


def _algorithm_row(problem: Problem, rule: Algorithm) -> Row:
    where, what, ports = problem.topology, problem.collective, problem.ports
    has_copies = any(one.name == "copies" for one in rule.arguments)
    given: dict[str, int | str] = {"copies": problem.copies} if has_copies else {}
    bound = _bound(problem, where, problem.copies if has_copies else 1)
    real = None
    if rule.cut_by is not None:
        pieces = _asked(problem, units=rule.cut_by == "messages")
        if pieces is None:
            real, pieces = best_share(where, what, rule.name, ports, problem.m, problem.machine, **given)
        given[rule.cut_by] = pieces
    try:
        arguments = rule.settled(where, given)
    except InputError as refusal:
        return Row(rule.name, rule.paper, cited=False, cost=None, bound=bound, note=refusal.message)
    cost = closed_form(where, what, rule.name, ports, problem.m, problem.machine, **arguments)
    return Row(rule.name, cost.source, False, cost, bound, _pieces(rule, arguments), real, arguments)


def _pieces(rule: Algorithm, arguments: Mapping[str, int | str]) -> int | None:
    return None if rule.cut_by is None else int(arguments[rule.cut_by])


def _printed_row(problem: Problem, one: Printed) -> Row:
    place = one.beside or problem.topology
    copies = problem.copies if one.units else 1
    if copies > place.degree:
        bound, note = _bound(problem, problem.topology, 1), f"{one.name}: {copies} copies are more than {place.degree} links"
        return Row(one.name, one.source, one.cited, None, bound, note=note)
    bound = _bound(problem, place, copies)
    if one.form is None:
        return Row(one.name, one.source, one.cited, None, bound, note=one.note)
    real, pieces = None, _asked(problem, one.units) if one.cut else None
    if one.cut and pieces is None:
        period = place.degree
        real, pieces = optimum(partial(_priced, problem, one.form, copies), problem.machine, period, range(1, period + 1))
    cost = _priced(problem, one.form, copies, pieces)
    return Row(one.name, cost.source, one.cited, cost, bound, pieces, real, note=one.note)


def _asked(problem: Problem, units: bool) -> int | None:
    """How many pieces are asked for, None for the best number."""
    return problem.messages if units and problem.messages is not None else problem.segments


def _priced(problem: Problem, form: Callable[..., Form], copies: int, pieces: int | None) -> Cost:
    made = form(problem.topology, copies) if pieces is None else form(problem.topology, copies, pieces)
    return made.priced(problem.m, problem.machine)


def _bound(problem: Problem, where: Topology, copies: int) -> Cost:
    return lower_bound(where, problem.collective, problem.ports, problem.m, problem.machine, copies=copies)
