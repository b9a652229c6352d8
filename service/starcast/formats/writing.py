"""Export topologies, forests and schedules to files of other tools."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from inspect import signature
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives import Schedule
from starcast.collectives.model import Structure
from starcast.formats import goal, graphs, msccl
from starcast.judges.simulator import Timing
from starcast.judges.simulator.execution_models import make_ticks, time_executed
from starcast.judges.simulator.rows import Rows
from starcast.judges.simulator.simulation import Executed, execute
from starcast.support.atomic import atomic_write
from starcast.support.axes import read_number
from starcast.support.errors import InputError, RejectedError
from starcast.support.installation import import_library, install_command
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

_CHUNK = 2**16
#: Maximum size of a unit in bytes, so that sizes of packets fit into the 64 bits of GOAL's numbers.
_MAX_UNIT_BYTES = 10**12

#: The parts of a file, as text or bytes.
Parts = Iterator[str] | Iterator[bytes]


class FileFormat(NamedTuple):
    """A file format for one kind of artifact.

    Attributes:
        write: a function that yields the parts of a file. Its first parameter is the artifact; its
            other parameters are the options of the format.
        suffixes: the usual suffixes of file names, most common first.
        is_text: whether the file is text.
    """

    write: Callable[..., Parts]
    suffixes: tuple[str, ...]
    is_text: bool = True

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the export options that the format accepts."""
        _, *options = signature(self.write).parameters
        return tuple(options)


def table_columns(schedule: Schedule) -> dict[str, NDArray[Any]]:
    """Return the columns of a schedule by name, with labels instead of ranks."""
    names = schedule.topology.labels()
    columns = schedule.columns.present()
    columns |= {end: names[columns[end]] for end in ("sender", "receiver")}
    if "combine" in columns:
        # Without this conversion, a CSV file would contain True and False instead of 1 and 0.
        columns["combine"] = columns["combine"].astype(np.uint8)
    return columns


def _write_csv(schedule: Schedule) -> Iterator[str]:
    """Yield the parts of a CSV file that `starcast.schedule_from_csv` reads."""
    columns = table_columns(schedule)
    yield ",".join(columns) + "\n"
    for first in range(0, len(schedule), _CHUNK):
        part = io.StringIO()
        values = (column[first : first + _CHUNK].tolist() for column in columns.values())
        csv.writer(part, lineterminator="\n").writerows(zip(*values, strict=True))
        yield part.getvalue()


def _write_parquet(schedule: Schedule) -> Iterator[bytes]:
    """Yield a Parquet file in a single part, with the same columns as `_write_csv`."""
    polars = import_library("polars", install_command("parquet"))
    file = io.BytesIO()
    polars.DataFrame(table_columns(schedule)).write_parquet(file)
    yield file.getvalue()


def _write_events(rows: Rows, timing: Timing, parameters: Mapping[str, object]) -> Iterator[str]:
    """Yield the parts of a Chrome trace, with an event for each packet, from its start to its end.

    Nodes are shown as processes, and ports as threads. The time unit of T_s and T_c is displayed as
    one microsecond. Reference: the document "Trace Event Format" of the Chromium project.

    Args:
        rows: the rows of the schedule, expanded to all sources and sorted by packet.
        timing: the times of the packets.
        parameters: the values that determine the times, such as T_s, by name.
    """
    schedule = rows.schedule
    labels = schedule.topology.labels().tolist()
    about = {"schedule": schedule.id, **parameters, "execution": timing.execution}
    yield f'{{"displayTimeUnit": "ns", "otherData": {json.dumps(about)}, "traceEvents": ['
    # Events are written one by one, because the text of a large trace may not fit into memory.
    separator = "\n"
    for event in _name_events(schedule, labels):
        yield separator + json.dumps(event)
        separator = ",\n"
    packets = timing.packets
    begin = np.cumsum(packets.units) - packets.units
    columns = (packets.step, packets.sender, packets.port, packets.receiver)
    # JSON has no fractions, so times are rounded to floats; viewers do not need exact times.
    times = (packets.start.astype(float), (packets.end - packets.start).astype(float))
    values = (column.tolist() for column in (*columns, begin, begin + packets.units, *times))
    for step, sender, port, receiver, first, end, start, duration in zip(*values, strict=True):
        event = {
            "ph": "X",
            "name": f"to {labels[receiver]}",
            "cat": "packet",
            "pid": sender,
            "tid": port,
            "ts": start,
            "dur": duration,
            "args": {
                "step": step,
                "units": rows.unit[first:end].tolist(),
                "trees": rows.tree[first:end].tolist(),
            },
        }
        yield separator + json.dumps(event)
    yield "\n]}\n"


def _name_events(schedule: Schedule, labels: list[str]) -> Iterator[dict[str, object]]:
    for rank, label in enumerate(labels):
        yield {"ph": "M", "name": "process_name", "pid": rank, "args": {"name": label}}
        yield {"ph": "M", "name": "process_sort_index", "pid": rank, "args": {"sort_index": rank}}
        for port in schedule.topology.ports:
            args = {"name": f"port {port}"}
            yield {"ph": "M", "name": "thread_name", "pid": rank, "tid": port, "args": args}


def _write_goal(
    schedule: Schedule, unit_bytes: int = 64, dialect: GoalDialect = "loggopsim"
) -> Parts:
    if dialect not in GOAL_DIALECTS:
        raise InputError(
            f"unknown GOAL dialect '{dialect}'", hint=f"use {' or '.join(GOAL_DIALECTS)}"
        )
    if schedule.ports == "one" and schedule.topology.endpoints < schedule.topology.nodes:
        raise InputError(
            f"a GOAL file cannot express a one-port schedule on {schedule.topology.spec}, whose"
            " switches send any number of packets at a time",
            hint="use the port model all, or the format csv",
        )
    return goal.write_goal(_execute(schedule), unit_bytes, dialect)


def _write_msccl(schedule: Schedule) -> Parts:
    return msccl.write_msccl(_execute(schedule).rows)


def _write_chrome_trace(
    schedule: Schedule,
    unit_bytes: int = 64,
    t_s: Fraction | int | str = 100,
    t_c: Fraction | int | str = 1,
    execution: ExecutionModel = "synchronous",
) -> Parts:
    executed = _execute(schedule)
    start_up, per_byte = Fraction(t_s), Fraction(t_c)
    times = time_executed(
        executed,
        make_ticks(schedule.topology, unit_bytes, start_up, per_byte, execution),
        execution,
    )
    parameters = {"unit_bytes": unit_bytes, "t_s": str(start_up), "t_c": str(per_byte)}
    return _write_events(executed.rows, times, parameters)


#: The file formats by class of artifact and by name.
FORMATS: dict[type[Structure], dict[str, FileFormat]] = {
    Schedule: {
        "goal": FileFormat(_write_goal, (".goal", ".txt")),
        "msccl-xml": FileFormat(_write_msccl, (".xml",)),
        "chrome-trace": FileFormat(_write_chrome_trace, (".json",)),
        "csv": FileFormat(_write_csv, (".csv",)),
        "parquet": FileFormat(_write_parquet, (".parquet",), is_text=False),
    },
    Topology: {
        "graphml": FileFormat(graphs.write_graphml, (".graphml", ".xml")),
        "gexf": FileFormat(graphs.write_gexf, (".gexf", ".xml")),
        "dot": FileFormat(graphs.write_topology_dot, (".dot", ".gv")),
        "metis": FileFormat(graphs.write_metis, (".graph", ".metis")),
        "graph6": FileFormat(graphs.write_graph6, (".g6", ".graph6")),
        "anynet": FileFormat(graphs.write_anynet, (".anynet", ".txt")),
    },
    Forest: {
        "dot": FileFormat(graphs.write_forest_dot, (".dot", ".gv")),
        "newick": FileFormat(graphs.write_newick, (".nwk", ".newick", ".tree")),
        "json": FileFormat(graphs.write_json_trees, (".json",)),
    },
}


def export(
    artifact: Structure,
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
        path: the path of the file to write.
        to: for a schedule ``goal``, ``msccl-xml``, ``chrome-trace``, ``csv`` or ``parquet``; for a
            topology ``graphml``, ``gexf``, ``dot``, ``metis``, ``graph6`` or ``anynet``; for a
            forest ``dot``, ``newick`` or ``json``. `docs/formats.md` describes the formats.
        unit_bytes: bytes per unit, for ``goal`` and ``chrome-trace``; 64 by default.
        t_s: start-up time of a packet in time units, for ``chrome-trace``; 100 by default.
        t_c: time per byte in time units, for ``chrome-trace``; 1 by default.
        execution: the execution model of `starcast.timing`, for ``chrome-trace``: ``synchronous``
            (default) or ``asynchronous``.
        dialect: the simulator that will read the file, for ``goal``: ``loggopsim`` (default) or
            ``atlahs``.
        tree: for a forest, the number of a single tree to write; by default, all trees are written.

    Raises:
        InputError: the format or an option is unknown or invalid, the format cannot express the
            artifact, or the file cannot be written.
        LimitError: the artifact exceeds a limit of the format.
        RejectedError: the simulator rejects the schedule, or the array of the forest does not
            describe trees.
        UnavailableError: the format needs a library that is not installed.

    Example:
        >>> from pathlib import Path
        >>> export(topology("S4"), "s4.graph", "metis")
        >>> Path("s4.graph").read_text().splitlines()[1]
        '24 36'
    """
    options = {"unit_bytes": unit_bytes, "t_s": t_s, "t_c": t_c, "execution": execution}
    parts = render(artifact, to, **options, dialect=dialect, tree=tree)
    with atomic_write(path) as file:
        file.writelines(parts)


def render(artifact: Structure, to: str, **options: Any) -> Iterator[bytes]:
    """Return an iterator over the parts of a file, as bytes; see `export` for options and errors.

    Errors are raised by the call or during the iteration, usually before the first part.
    """
    kind = kind_of(artifact)
    write = find_format(kind, to).write
    given = {name: value for name, value in options.items() if value is not None}
    _check_options(kind, to, given)
    parts = write(artifact, **given)
    return (part.encode() if isinstance(part, str) else part for part in parts)


def kind_of(artifact: Structure) -> type[Structure]:
    """Return the class of an artifact (`Topology`, `Forest` or `Schedule`), a key of `FORMATS`.

    Raises:
        InputError: the object is neither a topology nor a forest nor a schedule.
    """
    for kind in FORMATS:
        if isinstance(artifact, kind):
            return kind
    raise InputError(
        f"an object of type {type(artifact).__name__} cannot be exported",
        hint="pass a topology, a forest or a schedule",
    )


def find_format(kind: type[Structure], name: str) -> FileFormat:
    """Return the format with the given name for a kind of artifact.

    Raises:
        InputError: no format for this kind of artifact has this name.
    """
    formats = FORMATS[kind]
    if name not in formats:
        raise InputError(
            f"unknown format '{name}' for a {_noun(kind)}",
            hint=f"{did_you_mean(name, formats)}the formats are {', '.join(formats)}",
        )
    return formats[name]


def _noun(kind: type[Structure]) -> str:
    return kind.__name__.lower()


def _check_options(kind: type[Structure], to: str, given: dict[str, Any]) -> None:
    for name in given:
        if name not in FORMATS[kind][to].options:
            users = [other for other, item in FORMATS[kind].items() if name in item.options]
            hint = f"use {name} only for {' and '.join(users)}" if users else f"remove {name}"
            raise InputError(
                f"the format {to} of a {_noun(kind)} has no option '{name}'", hint=hint
            )
    size = given.get("unit_bytes", 1)
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise InputError(
            f"unit_bytes must be a positive integer, but is {size!r}",
            hint="specify a positive integer number of bytes",
        )
    if size > _MAX_UNIT_BYTES:
        raise InputError(
            "unit_bytes is out of range", hint=f"use at most {_MAX_UNIT_BYTES:,} bytes"
        )
    for name in ("t_s", "t_c"):
        read_number(given.get(name, 0), name)


def _execute(schedule: Schedule) -> Executed:
    """Expand a schedule to all sources and execute it.

    Raises:
        RejectedError: the simulator finds a violation, or units are undelivered.
    """
    executed = execute(schedule.expand())
    simulation = executed.simulation
    if not simulation.complete:
        problem = simulation.violation or (
            f"{pluralize(simulation.missing, 'unit is', 'units are')} undelivered"
        )
        raise RejectedError(
            f"{schedule.id} cannot be exported in this format: {problem}",
            hint="correct the rows of the schedule, or export it as csv or parquet",
        )
    return executed
