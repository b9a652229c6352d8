"""Tables in which the papers compare the costs of algorithms, and a function that reads them.

A file ``cost_tables.toml`` contains the tables of one paper, with the row names as printed.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from starcast.costs.model import Cost, lower_bound
from starcast.costs.paper_tables import Case, Find, PaperTable, RowExecution, RowFigures
from starcast.costs.tables import CostProblem, build_table
from starcast.support.table import Row
from starcast.support.vocabulary import Collective, Ports

#: Values of the column ``basis``, which states how the numbers of a row were obtained. For an
#: executed row, the column names the algorithm instead.
CITED, BOUND, NOT_EXECUTED = "cited", "lower bound", "not executed"


class TimesRow(NamedTuple):
    """A row of a `TimesTable`.

    Attributes:
        ports: the port model.
        name: name of the algorithm, as printed.
        algorithm: name of the starcast algorithm that is executed for the row; empty if none is.
        base: name of the construction that the algorithm uses; None for algorithms without a base.
        reference: the cited work, as a key of ``references.bib``; empty for the paper's own rows.
        printed: name of the row's closed form in `starcast.costs.tables`; empty for an executed
            row and for the lower bound.
    """

    ports: Ports
    name: str
    algorithm: str = ""
    base: str | None = None
    reference: str = ""
    printed: str = ""


@dataclass(frozen=True, kw_only=True)
class TimesTable(PaperTable):
    """A table of start-up, transmission and overall times (Tseng & Sheu; Li et al.).

    The papers print orders of growth. The rows of this table instead contain the times for one
    topology, message size and machine. The attribute ``models`` contains the name that the paper
    prints for each port model.
    """

    axes = ("message_bytes", "machine")

    collective: Collective
    models: Mapping[Ports, str]

    def _rows(self, case: Case, line: TimesRow, find: Find) -> list[Row]:
        note = ""
        cost: Cost | RowFigures | None
        if line.algorithm:
            cost = find(RowExecution(self.collective, line.algorithm, line.ports, line.base))
            basis = NOT_EXECUTED if cost is None else _name(line, cost.segments)
        elif line.printed:
            cost, note = self._printed(case, line)
            basis = CITED
        else:
            topology, m = case.topology, case.message_bytes
            cost = lower_bound(topology, self.collective, line.ports, m, case.machine)
            basis = BOUND
        machine = case.machine
        row = {
            "model": self.models[line.ports],
            "algorithm": line.name,
            "start_up_time": None if cost is None else cost.start_ups * machine.t_s,
            "transmission_time": None if cost is None else cost.bytes * machine.t_c,
            "overall_time": None if cost is None else cost.time,
            "basis": basis,
            "reference": line.reference or None,
            "note": note or None,
        }
        return [row]

    def _printed(self, case: Case, line: TimesRow) -> tuple[Cost | None, str]:
        problem = CostProblem(
            case.topology, self.collective, line.ports, case.message_bytes, case.machine
        )
        (row,) = [row for row in build_table(problem) if row.name == line.printed]
        return row.cost, row.note


def _name(line: TimesRow, segments: int) -> str:
    base = f" of {line.base}" if line.base else ""
    return f"{line.algorithm}{base}" + (f", {segments} segments" if segments > 1 else "")


#: A cell of a `MethodsTable`: the method's name as printed, and the algorithm that executes it.
AlgorithmNames = Sequence[str]


class MethodsRow(NamedTuple):
    """A row of a `MethodsTable`: the methods for one message and, if printed, for M messages."""

    ports: Ports
    single: AlgorithmNames
    many: AlgorithmNames | None = None


@dataclass(frozen=True, kw_only=True)
class MethodsTable(PaperTable):
    """A table of methods with their times and numbers of messages (Fragopoulou & Akl 1993)."""

    axes = ("messages",)
    axis_with_1 = "messages"

    collective: Collective

    def _rows(self, case: Case, line: MethodsRow, find: Find) -> list[Row]:
        cells = {
            "one_message": self._cell(line.ports, line.single, 1, find),
            "many_messages": self._cell(line.ports, line.many, case.messages, find),
        }
        model = "SLA" if line.ports == "one" else "MLA"
        rows = []
        for quantity in ("Method", "Time", "Messages", "Basis"):
            values = {name: cell.get(quantity) for name, cell in cells.items()}
            rows.append({"model": model, "quantity": quantity, **values})
        return rows

    def _cell(self, ports: Ports, method: AlgorithmNames | None, messages: int, find: Find) -> Row:
        if method is None:
            return {}
        text, algorithm = method
        found = find(RowExecution(self.collective, algorithm, ports, messages=messages))
        return {
            "Method": text,
            "Time": None if found is None else found.steps,
            "Messages": None if found is None else found.transmissions,
            "Basis": NOT_EXECUTED if found is None else algorithm,
        }


class BoundsRow(NamedTuple):
    """A row of a `BoundsTable`.

    Attributes:
        problem: name of the problem, as printed.
        collective: name of the collective that solves the problem.
        has_copies: whether each message is sent in several copies.
    """

    problem: str
    collective: Collective
    has_copies: bool = True


_PROBLEMS = (
    BoundsRow("single node broadcasting", "broadcast", has_copies=False),
    BoundsRow("fault tolerant single node broadcasting", "broadcast"),
    BoundsRow("fault tolerant multinode broadcasting", "allgather"),
    BoundsRow("fault tolerant single node scattering", "scatter"),
    BoundsRow("fault tolerant total exchange", "alltoall"),
)


@dataclass(frozen=True, kw_only=True)
class BoundsTable(PaperTable):
    """A table of lower bounds next to the costs of an algorithm (Fragopoulou & Akl 1996)."""

    axes = ("messages", "copies")
    axis_with_1 = "copies"

    algorithm: str
    lines: Sequence[BoundsRow] = _PROBLEMS

    def _rows(self, case: Case, line: BoundsRow, find: Find) -> list[Row]:
        copies = case.copies if line.has_copies else 1
        bound = lower_bound(
            case.topology, line.collective, "all", Fraction(1), case.machine, case.messages, copies
        )
        query = RowExecution(
            line.collective, self.algorithm, "all", messages=case.messages, copies=copies
        )
        found = find(query)
        row = {
            "problem": line.problem,
            "time": bound.steps,
            "transmissions": bound.transmissions,
            "executed_time": None if found is None else found.steps,
            "executed_transmissions": None if found is None else found.transmissions,
            "basis": BOUND if found is None else f"{BOUND}; {self.algorithm}",
        }
        return [row]


_KINDS: dict[str, tuple[Callable[..., PaperTable], Callable[..., Any]]] = {
    "times": (TimesTable, TimesRow),
    "methods": (MethodsTable, MethodsRow),
    "bounds": (BoundsTable, BoundsRow),
}


def read_tables(path: Path) -> dict[str, PaperTable]:
    """Return a file's tables, as a dict by the name of the experiment that executes the rows."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: _read_table(**fields) for name, fields in document.items()}


def _read_table(kind: str, lines: Sequence[Mapping[str, Any]] = (), **fields: Any) -> PaperTable:
    table, row = _KINDS[kind]
    if lines:
        fields["lines"] = [row(**line) for line in lines]
    return table(**fields)
