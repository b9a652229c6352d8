"""A schedule: who sends what over which directed link in which step, as columns of equal length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.errors import InputError
from starcast.support.arrays import frozen_copy
from starcast.topologies import Topology, as_topology
from starcast.trees import Forest
from starcast.trees.model import UNNAMED
from starcast.trees.spec_syntax import format_arguments

COLLECTIVES = ("broadcast", "allgather", "scatter", "gather", "alltoall")
#: Those of which every node is a source: the schedule of one source may stand for all.
MANY_SOURCES = ("allgather", "alltoall")
COLUMNS = ("step", "sender", "port", "receiver", "tree", "unit")
#: A row takes 18 bytes in its columns and 60 more while they are sorted: what a machine of 16 GB can do.
MOST_ROWS = 100_000_000
BYTES_A_ROW = 80
PORT_MODELS = {"all": "all-port", "one": "one-port"}
#: What stands in the place of a root in the id of a schedule that is written out for all sources.
EXPANDED = "expanded"


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """A collective on a topology, ready to be judged by `starcast.simulate`.

    A row is one unit that crosses one directed link in one step. ``dataclasses.replace`` makes another schedule, which the
    simulator judges afresh: nothing here is believed. The columns are read-only; those that somebody could write are copied.

    Units are numbered from 0 in the whole collective. Copies of a unit share its number and differ in ``tree``. With N nodes
    and M units for each source, destination, or pair of them, unit i of these, i = 0..M-1, has the number

    * broadcast: 0..units-1, those of a tree one after the other where the message is cut for each tree;
    * allgather: source*M + i, or i where it is symmetric;
    * scatter: destination*M + i;
    * gather: source*M + i;
    * alltoall: (source*N + destination)*M + i, or destination*M + i where it is symmetric.

    What a node would send to itself is numbered, and never moves. A gather is in the order of its own time: leaves send first.

    Args:
        topology: where it runs, or its name.
        collective: what it promises: one of `COLLECTIVES`.
        algorithm: the rule that made it.
        ports: ``all`` or ``one``: the port model that it keeps.
        arguments: the algorithm's arguments, such as ``segments``.
        root: rank or label of the root; of a symmetric schedule, the source that is written out; of an expanded one it means
            nothing, and is 0.
        units: how many units there are, of one source where it is symmetric.
        packets: whether a directed link may carry several units in a step, as one packet (Tseng & Sheu), or one (Fragopoulou
            & Akl; Sheu, Liaw & Chen).
        step: int32, from 1.
        sender, receiver: int32 ranks.
        port: uint8, the sender's.
        tree: uint8, the row of the forest along which the unit travels.
        unit: int32, the number of the unit, as above.
        forest: the trees along which it sends, or None.
        symmetric: the schedule of one source, standing for all by translation: of allgather and alltoall.

    Raises:
        InputError: a name is wrong, the root is no node, columns are none or differ in length, or there are rows and no units.
    """

    topology: Topology
    collective: str
    algorithm: str
    ports: str
    units: int
    packets: bool
    step: NDArray[np.int32]
    sender: NDArray[np.int32]
    port: NDArray[np.uint8]
    receiver: NDArray[np.int32]
    tree: NDArray[np.uint8]
    unit: NDArray[np.int32]
    root: int = 0
    arguments: Mapping[str, int | str] = field(default_factory=lambda: MappingProxyType({}))
    forest: Forest | None = None
    symmetric: bool = False

    def __post_init__(self) -> None:
        topology = as_topology(self.topology)
        for name, value in {
            "topology": topology,
            "root": topology.node(self.root),
            **self._columns(),
        }.items():
            object.__setattr__(self, name, value)
        check_collective(self.collective)
        check_ports(self.ports)
        if self.symmetric and self.collective not in MANY_SOURCES:
            raise InputError(
                f"a {self.collective} is not symmetric",
                hint=f"it has one root; {' and '.join(MANY_SOURCES)} have as many sources as nodes",
            )
        if len(self) and self.units < 1:
            raise InputError(
                f"a {self.collective} of {self.units} units has no rows, and there are {len(self):,}",
                hint="give the number of units: units are numbered from 0 to units - 1",
            )

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns = {name: _column(name, getattr(self, name)) for name in COLUMNS}
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(
                f"the columns of a schedule differ in length: {lengths}",
                hint="give each row a value in every column",
            )
        return columns

    @property
    def id(self) -> str:
        """The name under which the schedule is stored: see `identity`."""
        expanded = self.collective in MANY_SOURCES and not self.symmetric
        root = None if expanded else self.root
        return identity(
            self.topology, self.collective, self.algorithm, self.ports, self.arguments, root
        )

    @property
    def along(self) -> str | None:
        """The id of the catalogue's forest that the column ``tree`` numbers; None without one, and for trees of its own."""
        return (
            None if self.forest is None or self.forest.construction == UNNAMED else self.forest.id
        )

    @property
    def steps(self) -> int:
        """The last step in which a unit moves."""
        return int(self.step.max(initial=0))

    def expand(self) -> "Schedule":
        """The same for all sources, written out; a schedule that is not symmetric is its own.

        Raises:
            LimitError: it has more rows than memory holds.
        """
        from starcast.collectives.translation import expanded  # noqa: PLC0415 - it makes schedules, so it imports this module

        return expanded(self) if self.symmetric else self

    def __len__(self) -> int:
        return len(self.step)

    def __repr__(self) -> str:
        return f"<Schedule {self.id}: {len(self)} rows in {self.steps} steps>"


def identity(
    topology: Topology,
    collective: str,
    algorithm: str,
    ports: str,
    arguments: Mapping[str, int | str],
    root: int | None,
) -> str:
    """The name of a schedule, which need not be built: ``S5:broadcast:multiple:all:segments=4:12345``.

    Without a root it is written out for all sources: ``S5:alltoall:exact:all:messages=1:expanded``.
    """
    at = EXPANDED if root is None else topology.label(root)
    return f"{topology.spec}:{collective}:{algorithm}:{ports}:{format_arguments(arguments)}:{at}"


def check_collective(name: str) -> None:
    """Accept a collective.

    Raises:
        InputError: it is none.
    """
    if name not in COLLECTIVES:
        raise InputError(f"'{name}' is no collective", hint=f"there are {', '.join(COLLECTIVES)}")


def check_ports(name: str, others: Sequence[str] = ()) -> None:
    """Accept a port model, or one of the other words that stand for some.

    Raises:
        InputError: it is neither.
    """
    *as_topology, last = (*PORT_MODELS, *others)
    if name not in (*as_topology, last):
        raise InputError(
            f"'{name}' is no port model", hint=f"write {', '.join(as_topology)} or {last}"
        )


def _column(name: str, given: object) -> NDArray[Any]:
    column = np.asarray(given)
    if column.dtype.kind not in "iu":
        raise InputError(
            f"the column '{name}' of a schedule is of {column.dtype}", hint="give whole numbers"
        )
    if column.ndim != 1:
        raise InputError(
            f"the column '{name}' of a schedule has {column.ndim} dimensions",
            hint="give it one: a value a row",
        )
    return frozen_copy(column)
