"""A schedule: who sends what over which directed link in which step, as columns of equal length."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from starcast.arrays import read_only
from starcast.errors import InputError
from starcast.topologies import Topology
from starcast.trees import Forest
from starcast.trees.forest import UNNAMED
from starcast.trees.naming import written_arguments

COLLECTIVES = ("broadcast", "allgather", "scatter", "gather", "alltoall")
#: Those of which every node is a source: the schedule of one source may stand for all.
MANY_SOURCES = ("allgather", "alltoall")
COLUMNS = ("step", "sender", "port", "receiver", "tree", "payload")
#: A row takes 18 bytes in its columns and 60 more while they are sorted: what a machine of 16 GB can do.
MOST_ROWS = 100_000_000
BYTES_A_ROW = 80
PORT_MODELS = {"all": "all-port", "one": "one-port"}


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """A collective on a topology, ready to be judged by `starcast.simulate`.

    A row is one unit that crosses one directed link in one step. ``dataclasses.replace`` makes another schedule, which the
    simulator judges afresh: nothing here is believed. The columns are read-only; those that somebody could write are copied.

    Args:
        topology: where it runs.
        collective: what it promises: one of `COLLECTIVES`.
        algorithm: the rule that made it.
        ports: ``all`` or ``one``: the port model that it keeps.
        arguments: the algorithm's arguments, such as ``segments``.
        root: rank of the root; of a symmetric schedule, the source that is written out; of an expanded one it means nothing.
        units: how many units there are, of one source where it is symmetric; payloads are 0..units-1, numbered as
            docs/definitions/conventions.md says under *payload*.
        packets: whether a directed link may carry several units in a step, as one packet (Tseng & Sheu), or one (Fragopoulou
            & Akl; Sheu, Liaw & Chen).
        step: int32, from 1.
        sender, receiver: int32 ranks.
        port: uint8, the sender's.
        tree: uint8, the row of the forest along which the unit travels.
        payload: int32, the number of the unit.
        forest: the trees along which it sends, or None.
        symmetric: the schedule of one source, standing for all by translation: of allgather and alltoall.
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
    payload: NDArray[np.int32]
    root: int = 0
    arguments: Mapping[str, int | str] = field(default_factory=lambda: MappingProxyType({}))
    forest: Forest | None = None
    symmetric: bool = False

    def __post_init__(self) -> None:
        lengths = {name: len(getattr(self, name)) for name in COLUMNS}
        if len(set(lengths.values())) > 1:
            raise InputError(
                f"the columns of a schedule differ in length: {lengths}", hint="give each row a value in every column"
            )
        for name in COLUMNS:
            column = np.asarray(getattr(self, name))
            if column.dtype.kind not in "iu":
                raise InputError(f"the column '{name}' of a schedule is of {column.dtype}", hint="give whole numbers")
            object.__setattr__(self, name, read_only(column))
        object.__setattr__(self, "root", self.topology.node(self.root))
        if self.collective not in COLLECTIVES:
            raise InputError(f"'{self.collective}' is no collective", hint=f"there is {', '.join(COLLECTIVES)}")
        if self.ports not in PORT_MODELS:
            raise InputError(f"'{self.ports}' is no port model", hint="write all or one")
        if self.symmetric and self.collective not in MANY_SOURCES:
            raise InputError(
                f"a {self.collective} is not symmetric",
                hint=f"it has one root; {' and '.join(MANY_SOURCES)} have as many sources as nodes",
            )

    @property
    def id(self) -> str:
        """The name under which the schedule is stored: ``S5:broadcast:multiple:all:segments=4:12345``."""
        return identity(self.topology, self.collective, self.algorithm, self.ports, self.arguments, self.root)

    @property
    def along(self) -> str | None:
        """The id of the catalogue's forest that the column ``tree`` numbers; None without one, and for trees of its own."""
        return None if self.forest is None or self.forest.construction == UNNAMED else self.forest.id

    @property
    def steps(self) -> int:
        """The last step in which a unit moves."""
        return int(self.step.max(initial=0))

    def expand(self) -> "Schedule":
        """The same for all sources, written out; a schedule that is not symmetric is its own.

        Raises:
            LimitError: it has more rows than memory holds.
        """
        from starcast.collectives.moving import expanded  # noqa: PLC0415 - it makes schedules, so it imports this module

        return expanded(self) if self.symmetric else self

    def __len__(self) -> int:
        return len(self.step)

    def __repr__(self) -> str:
        return f"<Schedule {self.id}: {len(self)} rows in {self.steps} steps>"


def identity(
    where: Topology, collective: str, algorithm: str, ports: str, arguments: Mapping[str, int | str], root: int
) -> str:
    """The name of a schedule, which need not be built: ``S5:broadcast:multiple:all:segments=4:12345``."""
    return f"{where.spec}:{collective}:{algorithm}:{ports}:{written_arguments(arguments)}:{where.label(root)}"
