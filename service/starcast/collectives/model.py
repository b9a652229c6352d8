"""`Schedule`: a collective stored as columns, with a row for each link that a unit crosses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.rows import (
    INTEGER_COLUMNS,
    Columns,
    expand_rows,
    sort_rows,
    translate_rows,
)
from starcast.support.arrays import frozen_copy
from starcast.support.errors import InputError, LimitError, RejectedError
from starcast.support.table import Displayable
from starcast.support.text import with_article
from starcast.support.vocabulary import EXPANDED, Collective, Ports, format_arguments
from starcast.topologies import Topology, as_topology
from starcast.trees import Forest
from starcast.trees.construction import translate_forest
from starcast.trees.model import UNNAMED, reduce_fields

COLLECTIVES: tuple[Collective, ...] = get_args(Collective)
#: Collectives in which every endpoint is a source or, in reductions, a destination. In a symmetric
#: schedule, the rows of one source or destination represent all.
MULTI_SOURCE: tuple[Collective, ...] = ("allgather", "alltoall", "reduce-scatter", "allreduce")
#: Collectives in which every endpoint contributes to every unit.
REDUCTIONS: tuple[Collective, ...] = ("reduce", "reduce-scatter", "allreduce")
COLUMNS = INTEGER_COLUMNS
PORT_MODELS = {"all": "all-port", "one": "one-port"}
#: Maximum number of rows of a schedule, and bytes of memory per row: 18 in the columns and about 60
#: more during sorting. So a machine with 16 GB can build a schedule of the maximum size.
MAX_ROWS = 100_000_000
BYTES_PER_ROW = 80
#: Collectives in which each unit goes from one source to one destination. The unit's number encodes
#: the destination (in a gather, the source; in an alltoall that is not symmetric, both).
ADDRESSED = ("scatter", "gather", "alltoall")


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(Displayable):
    """A collective on a topology, as a list of transmissions of units over links in steps.

    In each row, one unit crosses one directed link in one step. A schedule is not trusted:
    `starcast.simulate` executes and checks it. ``dataclasses.replace`` returns a modified schedule.
    Columns are read-only; writable arrays are copied.

    Units are numbered from 0. Copies of a unit share its number and differ in ``tree``. Let N be
    the number of endpoints (nodes that are not switches), and M the number of units per source, per
    destination, or per pair of the two. The i-th of these M units (i = 0..M-1) has the number

    * broadcast: 0..units-1, tree by tree if the message is split among trees;
    * allgather: source*M + i, or i in a symmetric schedule;
    * scatter: destination*M + i;
    * gather: source*M + i;
    * alltoall: (source*N + destination)*M + i, or destination*M + i in a symmetric schedule;
    * reduce, allreduce: 0..units-1, the parts of the sum; in a symmetric allreduce, these are only
      the parts whose sums one node completes;
    * reduce-scatter: destination*M + i, or i in a symmetric schedule.

    In a reduction every endpoint contributes to every unit, and a unit is complete when it is the
    sum of all N contributions. For each unit and tree, a node holds a partial sum, at first its own
    contribution or, at a switch, nothing. Copies of a unit, which differ in ``tree``, are summed
    separately.

    Units that a node would send to itself have numbers but no rows. A gather is a reversed scatter;
    its steps are numbered in the order of time, so leaves send first.

    Args:
        topology: the topology or its spec.
        collective: one of `COLLECTIVES`.
        algorithm: the name of the algorithm that built the schedule.
        ports: the port model: ``all`` or ``one``.
        units: the number of units; in a symmetric schedule, those of one source (in reductions, of
            one destination).
        packets: True if a directed link may carry any number of units per step, as one packet
            (Tseng & Sheu); False if it carries one unit (Fragopoulou & Akl; Sheu, Liaw & Chen) or,
            on a link of capacity c, up to c units.
        step: int32, the step in which the unit crosses the link, from 1.
        sender: int32, the rank of the sending node.
        port: uint8, the sender's port.
        receiver: int32, the rank of the receiving node.
        tree: uint8, the number of the tree along which the unit travels, a row of
            ``forest.parent_port``.
        unit: int32, the number of the unit, as described above.
        root: rank or label of the root; in a symmetric schedule, the source (in reductions, the
            destination) whose rows are given; in an expanded schedule (see `expand`), the root is 0
            and has no meaning.
        arguments: the algorithm's arguments, such as ``segments``.
        forest: the forest along which units travel, or None.
        symmetric: True if the rows of one source represent all sources by translation (allgather,
            alltoall, reduce-scatter and allreduce only).
        combine: bool, in reductions only: True if the receiver adds the arriving partial sum to its
            own partial sum of that unit and tree; False if a complete unit arrives instead.

    Raises:
        InputError: a name or the root is invalid, a column is not an array of integers, columns
            differ in length, ``units`` is not an integer, there are rows but no units, the schedule
            cannot be symmetric, or ``combine`` is missing in a reduction or given in another
            collective.

    Example:
        >>> schedule = starcast.schedule("S4", "broadcast", "greedy", segments=2)
        >>> schedule.steps, len(schedule)
        (5, 46)
    """

    topology: Topology
    collective: Collective
    algorithm: str
    ports: Ports
    units: int
    packets: bool
    step: NDArray[np.int32]
    sender: NDArray[np.int32]
    port: NDArray[np.uint8]
    receiver: NDArray[np.int32]
    tree: NDArray[np.uint8]
    unit: NDArray[np.int32]
    root: int = 0
    arguments: Mapping[str, int | str] = field(default_factory=dict)
    forest: Forest | None = None
    symmetric: bool = False
    combine: NDArray[np.bool_] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return reduce_fields(self)

    def __post_init__(self) -> None:
        topology = as_topology(self.topology)
        check_collective(self.collective)
        normalized = {
            "topology": topology,
            "root": topology.root(self.root),
            "units": checked_units(self.units),
            "arguments": MappingProxyType(dict(self.arguments)),
            **self._checked_columns(),
        }
        # The class is frozen, so ordinary assignments to its fields would raise an error.
        for name, value in normalized.items():
            object.__setattr__(self, name, value)
        check_ports(self.ports)
        if self.symmetric and not topology.has_translations:
            raise InputError(
                f"a schedule on {topology.spec} cannot be symmetric: the topology has no"
                " translations",
                hint="omit symmetric, and pass the rows of all sources",
            )
        if self.symmetric and self.collective not in MULTI_SOURCE:
            raise InputError(
                f"a schedule of {with_article(self.collective)} cannot be symmetric",
                hint=f"omit symmetric: only {', '.join(MULTI_SOURCE)} have symmetric schedules",
            )
        if len(self) and self.units < 1:
            raise InputError(
                f"{with_article(self.collective)} of {self.units} units cannot have"
                f" {len(self):,} rows",
                hint="pass the number of units, which must exceed the highest unit number",
            )

    def _checked_columns(self) -> dict[str, NDArray[Any]]:
        columns = {name: checked_column(name, getattr(self, name)) for name in COLUMNS}
        check_combine(self.collective, self.combine)
        if self.combine is not None:
            columns["combine"] = checked_column("combine", self.combine, kinds="b")
        check_lengths(columns)
        return columns

    @cached_property
    def id(self) -> str:
        """The id under which the schedule is stored (see `schedule_id`)."""
        expanded = self.collective in MULTI_SOURCE and not self.symmetric
        # An allreduce along the trees of a forest has a root, and is not expanded.
        if self.collective == "allreduce":
            expanded = expanded and self.forest is None
        root = None if expanded else self.root
        return schedule_id(
            self.topology, self.collective, self.algorithm, self.ports, self.arguments, root
        )

    @property
    def forest_id(self) -> str | None:
        """The id of the forest to whose trees the column ``tree`` refers.

        The id is None if the schedule has no forest, or if no construction builds its forest.
        """
        if self.forest is None or self.forest.construction == UNNAMED:
            return None
        return self.forest.id

    @property
    def steps(self) -> int:
        """The number of the last step in which a unit moves; 0 if there are no rows."""
        return int(self.step.max(initial=0))

    @property
    def message_units(self) -> int:
        """The number of units into which one message is split.

        In an allreduce, a message is the entire vector of a node; in a reduce-scatter, it is the
        part of the vector for one destination.
        """
        if self.collective == "allreduce":
            return self.units * (self.topology.endpoints if self.symmetric else 1)
        messages = count_separate_messages(self.topology, self.collective, self.symmetric)
        return self.units // messages

    @property
    def columns(self) -> Columns:
        """The columns of the schedule, as a `Columns` tuple."""
        return Columns(*(getattr(self, name) for name in Columns._fields))

    def replace_rows(self, rows: Columns, **parameters: Any) -> "Schedule":
        """Return a copy of the schedule with new rows, in any order, and changed parameters."""
        return replace(self, **sort_rows(rows)._asdict(), **parameters)

    def translate(self, root: int) -> "Schedule":
        """Return the schedule translated to another root or source.

        Args:
            root: rank of the new root; the root of this schedule must be the identity.

        Raises:
            InputError: the topology has no translations, or the number of units is invalid for the
                collective.
            RejectedError: a row is invalid, so its image is undefined.
        """
        if root == 0:
            return self
        self._check_addresses()
        image = self.topology.translation(root)
        rows = translate_rows(self.topology, self.columns, image, self._units_per_node)
        forest = None if self.forest is None else translate_forest(self.forest, root)
        return self.replace_rows(rows, root=root, forest=forest)

    def expand(self) -> "Schedule":
        """Return the schedule with the rows of all sources; unchanged if it is not symmetric.

        Units are renumbered. In an allgather, unit i becomes unit source*M + i; in a
        reduction, it becomes unit destination*M + i. In an alltoall, unit destination*M + i becomes
        unit (source*N + destination)*M + i.

        Raises:
            InputError: the number of units is invalid for the collective.
            LimitError: the expanded schedule has more than `MAX_ROWS` rows, or unit numbers that
                exceed int32.
            RejectedError: a row is invalid, so its images are undefined.
        """
        if not self.symmetric:
            return self
        nodes = self.topology.nodes
        total = len(self) * nodes
        if total > MAX_ROWS:
            raise LimitError(
                f"{self.id} has {total:,} rows for all {nodes:,} sources; at most {MAX_ROWS:,} "
                "rows are supported",
                hint="use the symmetric schedule, a smaller topology or fewer messages",
            )
        if self.units * nodes > 2**31:
            raise LimitError(
                f"{self.id} has {self.units * nodes:,} units for all {nodes:,} sources; at most"
                f" {2**31:,} units are supported",
                hint="use fewer units",
            )
        self._check_addresses()
        rows = expand_rows(self.topology, self.columns, self.units, self.root, self._units_per_node)
        return self.replace_rows(
            rows, symmetric=False, forest=None, units=self.units * nodes, root=0
        )

    def _check_addresses(self) -> None:
        """Check that every row can be translated.

        Ports are checked, too: translation computes some ports from senders and receivers, which
        would hide a wrong port.

        Raises:
            InputError: in a scatter, gather or alltoall, the number of units is not a multiple of
                the number of endpoints.
            RejectedError: a row names a node, port, unit or tree that does not exist, or a receiver
                that is not across the port.
        """
        topology = self.topology
        if self.collective in ADDRESSED and self.units % topology.endpoints:
            raise InputError(
                f"{with_article(self.collective)} on {topology.spec} cannot have {self.units:,}"
                " units",
                hint=f"use a multiple of {topology.endpoints:,}",
            )
        exists = np.isin(self.port, topology.ports)
        trees = np.iinfo(np.uint8).max + 1 if self.forest is None else self.forest.trees
        counts = {"sender": topology.nodes, "unit": self.units, "tree": trees}
        for name, count in counts.items():
            column = getattr(self, name)
            exists &= (column >= 0) & (column < count)
        across = np.zeros(len(self), dtype=np.int32)
        port, sender = self.port[exists], self.sender[exists]
        if len(self) > topology.nodes // 8:
            # For many rows, a table of all neighbours is much faster than computing each receiver.
            across[exists] = topology.table()[np.searchsorted(topology.ports, port), sender]
        else:
            across[exists] = topology.step(port.astype(np.uint8), sender)
        invalid = np.flatnonzero(~exists | (across != self.receiver))
        if not len(invalid):
            return
        row = int(invalid[0])
        problem = "the receiver is not across that port"
        if not exists[row]:
            problem = "this sender, port, unit or tree does not exist"
        raise RejectedError(
            f"{self.id} is invalid: in step {self.step[row]}, node {self.sender[row]} sends unit"
            f" {self.unit[row]} of tree {self.tree[row]} over port {self.port[row]} to node"
            f" {self.receiver[row]}, but {problem}",
            hint="correct the rows of the schedule",
        )

    @property
    def _units_per_node(self) -> int:
        """The number of units per node in `ADDRESSED` collectives, else 0."""
        return self.units // self.topology.endpoints if self.collective in ADDRESSED else 0

    def __len__(self) -> int:
        return len(self.step)

    def __repr__(self) -> str:
        return f"<Schedule {self.id}: {len(self)} rows in {self.steps} steps>"


#: A topology, forest or schedule in memory, in contrast to an artifact that is given by its id.
Structure = Topology | Forest | Schedule


def build_schedule(rows: Columns, **parameters: Any) -> Schedule:
    """Build a schedule from rows in any order; ``parameters`` are the other `Schedule` fields."""
    return Schedule(**parameters, **sort_rows(rows)._asdict())


class Draft(NamedTuple):
    """The part of a `Schedule` that an algorithm builds; `complete` adds all other fields.

    Attributes:
        rows: the rows in any order.
        units: the number of units.
        forest: the forest along which units travel, or None; its root is the root of the rows.
        packets: whether a directed link may carry any number of units per step, as one packet.
        symmetric: whether the rows of one source represent all sources.
        root: the root of the rows if there is no forest. On a topology without translations, it
            must be the requested root.
    """

    rows: Columns
    units: int
    forest: Forest | None = None
    packets: bool = False
    symmetric: bool = False
    root: int = 0

    def complete(
        self, topology: Topology, collective: str, algorithm: str, ports: str = "all", **more: Any
    ) -> Schedule:
        """Return the complete schedule; ``more`` are further parameters of `Schedule`."""
        names = {"topology": topology, "collective": collective, "algorithm": algorithm}
        root = self.forest.root if self.forest else self.root
        parameters: dict[str, Any] = self._asdict() | names | {"ports": ports, "root": root}
        return build_schedule(**parameters, **more)


def count_separate_messages(topology: Topology, collective: str, symmetric: bool) -> int:
    """Return the number of messages whose units are numbered separately.

    There is one message per source; in a scatter, gather or alltoall, one for each pair of a source
    and a destination, including pairs of a node with itself; in a reduce-scatter, one per
    destination. A broadcast, reduce or allreduce has a single message. A symmetric schedule has
    only the messages of one source (in reductions, of one destination).
    """
    has_sources = collective in MULTI_SOURCE and collective != "allreduce" and not symmetric
    sources = topology.endpoints if has_sources else 1
    return sources * (topology.endpoints if collective in ADDRESSED else 1)


def schedule_id(
    topology: Topology,
    collective: str,
    algorithm: str,
    ports: str,
    arguments: Mapping[str, int | str],
    root: int | None,
) -> str:
    """Return the id of a schedule, such as ``S5:broadcast:multiple:all:segments=4:12345``.

    The schedule is not built. If ``root`` is None, the schedule is expanded: it contains the rows
    of all sources, as in ``S5:alltoall:exact:all:messages=1:expanded``.
    """
    source = EXPANDED if root is None else topology.stored_label(root)
    values = format_arguments(arguments)
    return f"{topology.spec}:{collective}:{algorithm}:{ports}:{values}:{source}"


def check_combine(collective: str, combine: object) -> None:
    """Check that ``combine`` is given if, and only if, the collective is a reduction.

    Raises:
        InputError: the column is missing in a reduction, or given in another collective.
    """
    if (combine is None) == (collective not in REDUCTIONS):
        return
    if combine is None:
        raise InputError(
            f"a schedule of {with_article(collective)} needs the column 'combine'",
            hint="set combine to true in each row whose unit the receiver adds to its sum, and to"
            " false in each row that passes on a complete sum",
        )
    raise InputError(
        f"a schedule of {with_article(collective)} cannot have the column 'combine'",
        hint=f"remove the column: only {', '.join(REDUCTIONS)} add contributions",
    )


def check_collective(name: str) -> str:
    """Return the name of a collective after checking it.

    Raises:
        InputError: the name is unknown.
    """
    if name not in COLLECTIVES:
        raise InputError(
            f"unknown collective '{name}'", hint=f"the collectives are {', '.join(COLLECTIVES)}"
        )
    return name


def check_request(
    topology_or_spec: Topology | str, collective: str, ports: str, root: int | str
) -> tuple[Topology, int]:
    """Check the parameters of a new schedule; return its topology and the rank of its root.

    Raises:
        InputError: the topology, collective, port model or root does not exist, or the root is a
            switch.
    """
    topology = as_topology(topology_or_spec)
    check_collective(collective)
    check_ports(ports)
    return topology, topology.root(root)


def check_ports(name: str, others: Sequence[str] = ()) -> None:
    """Check the name of a port model.

    Args:
        name: the name to check.
        others: further names to accept, such as ``both`` where users can select several port
            models.

    Raises:
        InputError: the name is unknown.
    """
    *names, last = (*PORT_MODELS, *others)
    if name not in (*names, last):
        raise InputError(f"unknown port model '{name}'", hint=f"write {', '.join(names)} or {last}")


def check_lengths(columns: Mapping[str, NDArray[Any]]) -> None:
    """Check that columns have the same length.

    Raises:
        InputError: the columns differ in length.
    """
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(
            f"the columns of a schedule differ in length: {lengths}",
            hint="use one value per row in every column",
        )


def checked_column(name: str, values: object, kinds: str = "iu") -> NDArray[Any]:
    """Return a column as a read-only array after checking its type and shape.

    Raises:
        InputError: the column is not an array ``[rows]`` with a dtype of the given ``kinds``.
    """
    column = np.asarray(values)
    if column.ndim != 1:
        raise InputError(
            f"the column '{name}' of a schedule cannot have {column.ndim} dimensions",
            hint="use one value per row",
        )
    if column.dtype.kind not in kinds:
        raise InputError(
            f"the column '{name}' of a schedule cannot have dtype {column.dtype}",
            hint="use integers" if kinds == "iu" else "use true or false",
        )
    return frozen_copy(column)


def checked_units(units: object) -> int:
    """Return a number of units as an int.

    Raises:
        InputError: the number is not an integer.
    """
    if isinstance(units, bool) or not isinstance(units, int | np.integer):
        raise InputError(
            f"the number of units of a schedule must be an integer, not {units!r}",
            hint="pass the number of units, which must exceed the highest unit number",
        )
    return int(units)


def describe_schedule(schedule: Schedule) -> dict[str, Any]:
    """Return the properties of a schedule by name, as plain Python values.

    All outputs that show a schedule select from these properties.
    """
    return {
        "id": schedule.id,
        "topology": schedule.topology.spec,
        "collective": schedule.collective,
        "algorithm": schedule.algorithm,
        "ports": schedule.ports,
        "root": schedule.root,
        "root_label": schedule.topology.stored_label(schedule.root),
        "arguments": dict(schedule.arguments),
        "steps": schedule.steps,
        "rows": len(schedule),
        "units": schedule.units,
        "message_units": schedule.message_units,
        "symmetric": schedule.symmetric,
        "forest_id": schedule.forest_id,
    }
