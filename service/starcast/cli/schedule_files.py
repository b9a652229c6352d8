"""``starcast schedule export`` and ``import``: files of other tools."""

from pathlib import Path
from typing import Annotated

import typer

from starcast.cli import axes, completion, formats
from starcast.cli.labels import LabelsOption
from starcast.cli.output import FormatOption, emit_properties, say
from starcast.cli.schedule import (
    BaseOption,
    CopiesOption,
    MessagesOption,
    PortsOption,
    RootOption,
    SegmentsOption,
    build,
    check,
    read,
    results,
)
from starcast.errors import InputError
from starcast.vocabulary import Format, ScheduleFormat

ToOption = Annotated[
    ScheduleFormat | None,
    typer.Option("--to", help="Format of the output file; needs --out."),
]


def add_commands(app: typer.Typer) -> None:
    """Add the commands to those of ``starcast schedule``."""
    app.command("export")(export_schedule)
    app.command("import")(import_schedule)


def export_schedule(
    topology: axes.TopologyArgument,
    collective: axes.CollectiveArgument,
    algorithm: axes.AlgorithmArgument,
    to: Annotated[ScheduleFormat, typer.Option("--to", help="Format of the file.")],
    out: formats.OutOption = None,
    ports: PortsOption = None,
    root: RootOption = None,
    segments: SegmentsOption = None,
    messages: MessagesOption = None,
    copies: CopiesOption = None,
    base: BaseOption = None,
    expand: Annotated[
        bool,
        typer.Option("--expand", help="Write the rows of all sources of a symmetric schedule."),
    ] = False,
    unit_bytes: formats.UnitBytesOption = None,
    t_s: formats.StartUpOption = None,
    t_c: formats.ByteTimeOption = None,
    execution: formats.ExecutionOption = None,
    labels: LabelsOption = None,  # noqa: ARG001 - read by its callback
) -> None:
    """Write a schedule to a file of another tool. No server is needed.

    goal is for LogGOPSim and ATLAHS, msccl-xml for MSCCL and RCCL, chrome-trace for Perfetto; these
    three always hold the schedule of all sources, which is simulated before. csv and parquet hold
    the rows.

    \b
    starcast schedule export S5 broadcast multiple --segments 16 --to goal --out s5.goal
    starcast schedule export S4 alltoall exact --to msccl-xml --out s4.xml
    starcast schedule export S4 allgather necklace --to chrome-trace --t-s 50 --out s4.json
    starcast schedule export S4 broadcast multiple --to chrome-trace --execution asynchronous
    """
    schedule = build(topology, collective, algorithm, ports, root, segments, messages, copies, base)
    if expand:
        schedule = schedule.expand()
    options = {"unit_bytes": unit_bytes, "t_s": t_s, "t_c": t_c, "execution": execution}
    formats.write(schedule, to, out, **options)


def import_schedule(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A GOAL file (.goal), or a CSV file of rows.")
    ],
    topology: Annotated[
        str,
        typer.Option(help="The topology, such as S5.", autocompletion=completion.topologies),
    ],
    collective: Annotated[
        str,
        typer.Option(
            help="broadcast, allgather, scatter, gather or alltoall.",
            autocompletion=completion.collectives,
        ),
    ],
    ports: Annotated[str, typer.Option(help=axes.PORTS_HELP)] = "all",
    root: RootOption = None,
    to: ToOption = None,
    out: formats.OutOption = None,
    unit_bytes: formats.UnitBytesOption = None,
    t_s: formats.StartUpOption = None,
    t_c: formats.ByteTimeOption = None,
    execution: formats.ExecutionOption = None,
    labels: LabelsOption = None,  # noqa: ARG001 - read by its callback
    output: FormatOption = Format.TABLE,
) -> None:
    """Read a schedule of another tool, simulate it, and print the results. No server is needed.

    Ranks of a GOAL file are ranks of nodes. A file of starcast keeps its units and steps; in other
    files a send carries the unit of its tag, as early as 'requires' allows. Exit code 6 if the
    schedule violates the port model or leaves units undelivered. With --to and --out, an accepted
    schedule is written in another format.

    \b
    starcast schedule import tree.goal --topology Q5 --collective broadcast
    starcast schedule import mine.csv --topology S4 --collective scatter --to goal --out mine.goal
    """
    from starcast import simulator

    if (to is None) != (out is None):
        raise InputError("--to and --out belong together", hint="give both, or remove both")
    options = {"unit_bytes": unit_bytes, "t_s": t_s, "t_c": t_c, "execution": execution}
    schedule = read(file, topology, collective, None, ports, root, {})
    result = simulator.simulate(schedule)
    check(schedule, result, f"correct {file}", with_faults=False)
    if to is not None:
        formats.write(schedule, to, out, **options)
    elif any(value is not None for value in options.values()):
        raise InputError(
            "--unit-bytes, --t-s, --t-c and --execution are for an output file",
            hint="add --to and --out",
        )
    for remark in result.remarks:
        say(remark)
    emit_properties(results(schedule, result, []), output)
