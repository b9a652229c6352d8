"""The papers' tables: rows and columns as printed, and numbers computed for one case.

A case is a topology with a message and a machine. A row describes an algorithm that starcast
executes, a lower bound, or an algorithm of a cited work, which starcast cannot execute. The
numbers of a row for a cited work come from the closed form in the paper. The tables are part of the
paper packs, and their classes are in ``papers/common/cost_tables.py``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

from starcast.catalogue import packs
from starcast.costs.model import Machine
from starcast.support.table import Row
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology


class RowExecution(NamedTuple):
    """The algorithm that executes a table row, and its arguments except the number of segments.

    Attributes:
        collective: the name of the collective.
        algorithm: the name of the algorithm.
        ports: the port model, ``all`` or ``one``.
        base: the construction of the trees that the algorithm uses, or None.
        messages: M, the number of messages, if the table fixes it; None if any number of segments
            is allowed.
        copies: x, the number of copies of each message.
    """

    collective: Collective
    algorithm: str
    ports: Ports
    base: str | None = None
    messages: int | None = None
    copies: int = 1


class RowFigures(NamedTuple):
    """Exact costs of the algorithm that executes a row of a paper's table.

    Attributes:
        steps: the number of steps.
        transmissions: the number of times that a unit crosses a link.
        start_ups: the coefficient of T_s in the time.
        bytes: the coefficient of T_c in the time.
        time: the total time.
        segments: the number of segments or messages that the algorithm uses.
    """

    steps: int
    transmissions: int
    start_ups: Fraction
    bytes: Fraction
    time: Fraction
    segments: int


#: A function that returns the costs of a row's fastest execution, or None if there is no execution.
Find = Callable[[RowExecution], RowFigures | None]


#: A machine with T_s = 0 and T_c = 1: packets of one byte take one unit of time, so that times are
#: numbers of steps.
_STEPS = Machine(Fraction(0), Fraction(1))


@dataclass(frozen=True)
class Case:
    """The topology, message and machine for which the numbers of a table are computed.

    Attributes:
        topology: the topology on which the collectives run.
        message_bytes: m, the number of bytes in a message.
        machine: T_s and T_c.
        messages: M, the number of unit messages.
        copies: x, the number of copies of each message.
    """

    topology: Topology
    message_bytes: Fraction = Fraction(1)
    machine: Machine = _STEPS
    messages: int = 1
    copies: int = 1


@dataclass(frozen=True, kw_only=True)
class PaperTable(ABC):
    """A table of a paper.

    Attributes:
        axes: the attributes of `Case` in which the cases of the table differ.
        axis_with_1: an axis, such as ``copies``, or None. The tables of all cases also show the
            numbers for the value 1 of this axis. So the case with the value 1 is omitted if there
            are other cases.
        caption: the caption, as printed.
        source: the paper and the number of the table.
        headings: the headings, as printed, by column; some columns are not in the paper. The
            heading of a column without a printed heading is an empty or blank string.
        lines: the printed contents of the rows, in the order of the paper.
    """

    axes: ClassVar[tuple[str, ...]]
    axis_with_1: ClassVar[str | None] = None

    caption: str
    source: str
    headings: Mapping[str, str]
    lines: Sequence[Any]

    def rows(self, case: Case, find: Find) -> list[Row]:
        """Return the rows of the table for one case, in the order of the paper."""
        return [row for line in self.lines for row in self._rows(case, line, find)]

    @abstractmethod
    def _rows(self, case: Case, line: Any, find: Find) -> list[Row]:
        """Return the rows of this table for one line of the printed table.

        The function ``find`` returns the figures of an algorithm's fastest execution, for the
        columns that show executions.
        """


def paper_tables() -> dict[str, PaperTable]:
    """Return the tables of all paper packs, by the name of the experiment that executes their rows.

    The tables of a pack are in the dictionary ``TABLES`` of its module ``cost_tables``.
    """
    tables: dict[str, PaperTable] = {}
    for pack in (*packs.shipped(), *packs.loaded()):
        if (pack.folder / "cost_tables.py").is_file():
            tables |= import_module(f"{pack.module}.cost_tables").TABLES
    return tables
