"""Export of topologies, forests and schedules, and the table of all export formats."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from typing import Any

from starcast.collectives import Schedule
from starcast.formats import chrome_trace, goal, graphs, msccl, tables
from starcast.judges.simulator.execution_models import make_ticks, time_executed
from starcast.judges.simulator.simulation import Executed, execute
from starcast.support.atomic import atomic_write
from starcast.support.errors import InputError, RejectedError
from starcast.support.text import did_you_mean, pluralize
from starcast.support.vocabulary import (
    GOAL_DIALECTS,
    ExecutionModel,
    ForestFormat,
    GoalDialect,
    ScheduleFormat,
    TopologyFormat,
)
from starcast.topologies import Topology
from starcast.trees import Forest

Artifact = Topology | Forest | Schedule
#: The parts of a file, as text or bytes.
Parts = Iterator[str] | Iterator[bytes]
Values = dict[str, Any]

#: Defaults for the bytes per unit and for T_s and T_c, as in `starcast.costs`.
UNIT_BYTES = 64
T_S, T_C = 100, 1


@dataclass(frozen=True)
class FileFormat:
    """A file format for one kind of artifact.

    Attributes:
        suffixes: the usual suffixes of file names, most common first.
        write: function that turns an artifact and option values into the parts of a file.
        options: the names of the options that the format uses.
        is_text: whether the file is text.
    """

    suffixes: tuple[str, ...]
    write: Callable[[Any, Values], Parts]
    options: tuple[str, ...] = ()
    is_text: bool = True


def _goal(schedule: Schedule, options: Values) -> Parts:
    dialect = options["dialect"]
    if dialect not in GOAL_DIALECTS:
        raise InputError(
            f"unknown dialect '{dialect}'", hint=f"the dialects are {', '.join(GOAL_DIALECTS)}"
        )
    return goal.write_goal(_execute(schedule), options["unit_bytes"], dialect)


def _msccl(schedule: Schedule, options: Values) -> Parts:  # noqa: ARG001 - the common signature
    return msccl.write_msccl(_execute(schedule).rows)


def _chrome_trace(schedule: Schedule, options: Values) -> Parts:
    executed = _execute(schedule)
    unit_bytes = options["unit_bytes"]
    t_s, t_c = Fraction(options["t_s"]), Fraction(options["t_c"])
    ticks = make_ticks(unit_bytes, t_s, t_c, options["execution"])
    times = time_executed(executed, ticks, options["execution"])
    parameters: dict[str, str | int] = {"unit_bytes": unit_bytes, "t_s": str(t_s), "t_c": str(t_c)}
    return chrome_trace.write_chrome_trace(executed.rows, times, parameters)


SCHEDULE_FORMATS: dict[ScheduleFormat, FileFormat] = {
    "goal": FileFormat((".goal", ".txt"), _goal, ("unit_bytes", "dialect")),
    "msccl-xml": FileFormat((".xml",), _msccl),
    "chrome-trace": FileFormat(
        (".json",), _chrome_trace, ("unit_bytes", "t_s", "t_c", "execution")
    ),
    "csv": FileFormat((".csv",), lambda schedule, _: tables.write_csv(schedule)),
    "parquet": FileFormat(
        (".parquet",), lambda schedule, _: tables.write_parquet(schedule), is_text=False
    ),
}
TOPOLOGY_FORMATS: dict[TopologyFormat, FileFormat] = {
    "graphml": FileFormat((".graphml", ".xml"), lambda topology, _: graphs.write_graphml(topology)),
    "gexf": FileFormat((".gexf", ".xml"), lambda topology, _: graphs.write_gexf(topology)),
    "dot": FileFormat((".dot", ".gv"), lambda topology, _: graphs.write_topology_dot(topology)),
    "metis": FileFormat((".graph", ".metis"), lambda topology, _: graphs.write_metis(topology)),
    "graph6": FileFormat((".g6", ".graph6"), lambda topology, _: graphs.write_graph6(topology)),
    "anynet": FileFormat((".anynet", ".txt"), lambda topology, _: graphs.write_anynet(topology)),
}
FOREST_FORMATS: dict[ForestFormat, FileFormat] = {
    "dot": FileFormat(
        (".dot", ".gv"),
        lambda forest, options: graphs.write_forest_dot(forest, options["tree"]),
        ("tree",),
    ),
    "newick": FileFormat(
        (".nwk", ".newick", ".tree"),
        lambda forest, options: graphs.write_newick(forest, options["tree"]),
        ("tree",),
    ),
    "json": FileFormat(
        (".json",),
        lambda forest, options: graphs.write_json_trees(forest, options["tree"]),
        ("tree",),
    ),
}
#: The file formats by class of artifact and by name.
FORMATS: dict[type[Artifact], dict[str, FileFormat]] = {
    Schedule: {str(name): item for name, item in SCHEDULE_FORMATS.items()},
    Topology: {str(name): item for name, item in TOPOLOGY_FORMATS.items()},
    Forest: {str(name): item for name, item in FOREST_FORMATS.items()},
}
_NOUNS = {Schedule: "schedule", Topology: "topology", Forest: "forest"}
_DEFAULTS: Values = {
    "unit_bytes": UNIT_BYTES,
    "t_s": T_S,
    "t_c": T_C,
    "execution": "synchronous",
    "dialect": "loggopsim",
    "tree": None,
}


def export(
    artifact: Artifact,
    path: str | PathLike[str],
    to: ScheduleFormat | TopologyFormat | ForestFormat,
    *,
    unit_bytes: int | None = None,
    t_s: Fraction | int | str | None = None,
    t_c: Fraction | int | str | None = None,
    execution: ExecutionModel | None = None,
    dialect: GoalDialect | None = None,
    tree: int | None = None,
) -> None:
    """Write a topology, a forest or a schedule to a file for another tool.

    A schedule is simulated first, except for the tables ``csv`` and ``parquet``. A symmetric
    schedule is expanded to all sources for ``goal``, ``msccl-xml`` and ``chrome-trace``, because
    these formats describe every node. An existing file is replaced only when the new file is
    complete.

    Args:
        artifact: the topology, the forest or the schedule.
        path: the file.
        to: for a schedule ``goal``, ``msccl-xml``, ``chrome-trace``, ``csv`` or ``parquet``; for a
            topology ``graphml``, ``gexf``, ``dot``, ``metis``, ``graph6`` or ``anynet``; for a
            forest ``dot``, ``newick`` or ``json``. `docs/formats.md` describes them.
        unit_bytes: bytes of a unit, for ``goal`` and ``chrome-trace``; 64 by default.
        t_s: start-up time of a packet, for ``chrome-trace``; 100 by default.
        t_c: time per byte, for ``chrome-trace``; 1 by default.
        execution: ``synchronous`` (default) or ``asynchronous``, for ``chrome-trace``; see
            `starcast.timing`.
        dialect: ``loggopsim`` (default) or ``atlahs``, for ``goal``: the simulator that reads it.
        tree: for a forest, the number of a single tree to write; by default, all trees are written.

    Raises:
        InputError: the format or an option is unknown or invalid, or the file cannot be written.
        LimitError: the artifact exceeds a limit of the format.
        RejectedError: the simulator rejects the schedule, or the array is not a forest.
        UnavailableError: the format needs a library that is not installed.

    Example:
        >>> export(topology("S4"), "s4.graph", "metis")
        >>> open("s4.graph").read().splitlines()[1]
        '24 36'
    """
    options = {"unit_bytes": unit_bytes, "t_s": t_s, "t_c": t_c, "execution": execution}
    parts = render(artifact, to, **options, dialect=dialect, tree=tree)
    with atomic_write(path) as file:
        file.writelines(parts)


def render(artifact: Artifact, to: str, **options: Any) -> Iterator[bytes]:
    """Yield the parts of a file; the arguments and errors are those of `export`.

    All errors are raised by the call or with the first part, except those for a single node that
    exceeds a limit of the format.
    """
    kind = kind_of(artifact)
    chosen = find_format(kind, to)
    values = _check_options(kind, to, options)
    parts = chosen.write(artifact, values)
    return (part.encode() if isinstance(part, str) else part for part in parts)


def kind_of(artifact: Artifact) -> type[Artifact]:
    """Return the class of an artifact (`Topology`, `Forest` or `Schedule`), a key of `FORMATS`.

    Raises:
        InputError: the object is neither a topology nor a forest nor a schedule.
    """
    for kind in FORMATS:
        if isinstance(artifact, kind):
            return kind
    raise InputError(
        f"an object of type {type(artifact).__name__} cannot be exported",
        hint="give a topology, a forest or a schedule",
    )


def find_format(kind: type[Artifact], name: str) -> FileFormat:
    """Return the format with this name for a kind of artifact.

    Raises:
        InputError: there is no such format.
    """
    formats = FORMATS[kind]
    if name not in formats:
        raise InputError(
            f"unknown format '{name}' for a {_NOUNS[kind]}",
            hint=f"{did_you_mean(name, formats)}the formats are {', '.join(formats)}",
        )
    return formats[name]


def _check_options(kind: type[Artifact], to: str, options: Values) -> Values:
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in FORMATS[kind][to].options:
            users = [other for other, item in FORMATS[kind].items() if name in item.options]
            hint = f"use it only for {' and '.join(users)}" if users else "remove it"
            raise InputError(
                f"the format {to} of a {_NOUNS[kind]} has no option '{name}'", hint=hint
            )
    values = {**_DEFAULTS, **given}
    size = values["unit_bytes"]
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise InputError(
            f"unit_bytes is {size!r}, not a positive number of bytes",
            hint="give a whole number of bytes, 1 or more",
        )
    for name in ("t_s", "t_c"):
        try:
            Fraction(values[name])
        except (ValueError, TypeError, ZeroDivisionError, OverflowError):
            raise InputError(
                f"{name} is {values[name]!r}, which is not a number",
                hint="give a number, such as 100, 2.5 or 23/3",
            ) from None
    return values


def _execute(schedule: Schedule) -> Executed:
    """Expand a schedule to all sources and execute it.

    Raises:
        RejectedError: the schedule violates its port model or leaves units undelivered.
    """
    executed = execute(schedule.expand())
    simulation = executed.simulation
    if not simulation.complete:
        problem = simulation.violation or (
            f"{pluralize(simulation.missing, 'unit is', 'units are')} undelivered"
        )
        raise RejectedError(
            f"{schedule.id} cannot be exported in this format: {problem}",
            hint="correct its rows, or export it as csv or parquet",
        )
    return executed
