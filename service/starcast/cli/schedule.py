"""``starcast schedule``: simulate schedules and print their rows; manage stored schedules."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from starcast.cli import axes, completion, schedule_times
from starcast.cli.labels import LabelsOption
from starcast.cli.operations import command
from starcast.cli.output import FormatOption, emit, emit_properties, say
from starcast.errors import InputError, RejectedError
from starcast.lab import Lab
from starcast.vocabulary import Format

if TYPE_CHECKING:
    from starcast.collectives import Schedule
    from starcast.simulator import Simulation
    from starcast.vocabulary import Collective, Ports

app = typer.Typer(
    no_args_is_help=True,
    help="Schedules: simulate them and print their rows; list, show and drop stored schedules.",
)

_DEFECT = "this is a defect of starcast: please report it"

PortsOption = Annotated[
    str | None, typer.Option(help="Port model: all or one (default: the algorithm's first).")
]
RootOption = Annotated[
    str | None,
    typer.Option(help="Label of the root, or of the source of a symmetric schedule."),
]
SegmentsOption = Annotated[int | None, typer.Option(help="Segments per tree.")]
MessagesOption = Annotated[int | None, typer.Option(help="Unit messages.")]
CopiesOption = Annotated[
    int | None, typer.Option(help="Number of edge-disjoint trees that carry each message.")
]
BaseOption = Annotated[
    str | None,
    typer.Option(
        help="Construction that dimension-change starts from.",
        autocompletion=completion.constructions,
    ),
]


@app.command("algorithms")
def list_algorithms(
    topology: axes.OnTopologyArgument = None,
    collective: Annotated[
        str | None,
        typer.Option(
            help="Only algorithms of this collective.", autocompletion=completion.collectives
        ),
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the algorithms with their families, port models, arguments and papers.

    No server is needed.
    """
    from starcast import topologies
    from starcast.collectives.catalogue import algorithms, algorithms_on
    from starcast.collectives.model import check_collective

    if collective is not None:
        check_collective(collective)
    if topology is None:
        selected = algorithms(collective)
    else:
        selected = algorithms_on(topologies.topology(topology), collective)
    rows = [
        {
            "collective": algorithm.collective,
            "algorithm": algorithm.name,
            "families": list(algorithm.families),
            "ports": list(algorithm.ports),
            "arguments": [argument.name for argument in algorithm.arguments],
            "paper": algorithm.source,
        }
        for algorithm in selected
    ]
    emit(rows, ["collective", "algorithm", "families", "ports", "arguments", "paper"], output)


@app.command("simulate")
def simulate(
    ctx: typer.Context,
    topology: axes.TopologyArgument,
    collective: axes.OptionalCollectiveArgument = None,
    algorithm: axes.OptionalAlgorithmArgument = None,
    ports: PortsOption = None,
    root: RootOption = None,
    segments: SegmentsOption = None,
    messages: MessagesOption = None,
    copies: CopiesOption = None,
    base: BaseOption = None,
    rows: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A CSV or GOAL file, instead of an algorithm."),
    ] = None,
    rows_collective: Annotated[
        str | None,
        typer.Option(
            "--collective",
            help="The collective of --rows, unless it is an argument.",
            autocompletion=completion.collectives,
        ),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "A faulty node or link, from the start or from a step on: 21345, 12345-21345, "
                "21345@3. May be repeated."
            )
        ),
    ] = None,
    expand: Annotated[
        bool, typer.Option("--expand", help="Expand a symmetric schedule to all sources first.")
    ] = False,
    wait: Annotated[
        bool,
        typer.Option(
            "--acknowledged",
            help="Wait for acknowledgements; for allgather along edge-disjoint trees.",
        ),
    ] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="Print the load of each step instead.")
    ] = False,
    time: schedule_times.TimeOption = False,
    with_simulator: schedule_times.WithOption = None,
    execution: schedule_times.ExecutionOption = None,
    unit_bytes: schedule_times.UnitBytesOption = None,
    t_s: schedule_times.StartUpOption = None,
    t_c: schedule_times.ByteTimeOption = None,
    labels: LabelsOption = None,  # noqa: ARG001 - read by its callback
    output: FormatOption = Format.TABLE,
) -> None:
    """Build a schedule, simulate it, and print the results. No server is needed.

    For a symmetric schedule, figures cover all sources together. With faults, rows that cannot be
    executed are skipped and missing units are counted. Exit code 6 if the schedule violates the
    model, or if units are missing without faults.

    With --rows FILE, rows of your own are simulated: a CSV file whose first line names the columns
    step, sender, port and unit, and optionally tree and receiver, as 'schedule rows -f csv' writes
    them. Nodes are labels, or ranks if not all senders are labels; #6 is always rank 6. A file that
    ends in .goal is read as by 'schedule import'.

    With --time, the exact time of the execution is printed as well, and the end of the critical
    path: the packets that decide the time. With --with simgrid, the simulator SimGrid executes the
    same rows; both clocks are printed, and the exit code is 6 if they differ.

    \b
    starcast schedule simulate S4 broadcast multiple --segments 4 --time --execution asynchronous
    starcast schedule simulate S4 alltoall exact --with simgrid
    starcast schedule simulate S5 --rows mine.csv --collective broadcast --ports one
    starcast schedule simulate S6 alltoall exact
    starcast schedule simulate S5 broadcast edge-disjoint --messages 4 --copies 2 --fault 21345
    starcast schedule simulate S4 allgather edge-disjoint --copies 3 --fault 2134 --acknowledged
    """
    from starcast import simulator

    machine = {"unit_bytes": unit_bytes, "t_s": t_s, "t_c": t_c}
    time = time or with_simulator is not None
    numbers = schedule_times.read_parameters(machine, execution, time=time, excludes=wait or steps)
    collective = _collective(collective, rows_collective, rows)
    if rows is not None:
        options = {"segments": segments, "messages": messages, "copies": copies, "base": base}
        schedule = read(rows, topology, collective, algorithm, ports, root, options)
    elif algorithm is None:
        raise InputError(
            f"no algorithm of {collective} is given",
            hint="name one ('starcast schedule algorithms' lists them), or give --rows FILE",
        )
    else:
        schedule = build(
            topology, collective, algorithm, ports, root, segments, messages, copies, base
        )
    if expand:
        schedule = schedule.expand()
    faults = [simulator.Fault.parse(text) for text in fault or ()]
    if wait:
        acknowledged = simulator.simulate_acknowledged(schedule, faults)
        say(f"{len(acknowledged.stalled)} traversals wait for an acknowledgement that never comes")
        result = acknowledged.simulation
    else:
        result = simulator.simulate(schedule, faults)
    for remark in result.remarks:
        say(remark)
    times = None
    other = None
    if steps:
        emit(_steps(result), ["step", "links_used", "largest_packet"], output)
    else:
        properties = results(schedule, result, [str(item) for item in faults])
        if time and result.violation is None:
            times = schedule_times.compute(schedule, faults, numbers)
            properties |= schedule_times.describe(times)
            if with_simulator is not None:
                other = schedule_times.run_simgrid(ctx, schedule, faults, numbers)
                properties |= schedule_times.describe_simgrid(other)
        emit_properties(properties, output)
    if times is not None and other is not None:
        schedule_times.check_clocks(schedule, times, other)
    hint = _DEFECT if rows is None else f"correct the rows in {rows}"
    check(schedule, result, hint, with_faults=bool(faults))


@app.command("rows")
def rows(
    topology: axes.TopologyArgument,
    collective: axes.CollectiveArgument,
    algorithm: axes.AlgorithmArgument,
    ports: PortsOption = None,
    root: RootOption = None,
    segments: SegmentsOption = None,
    messages: MessagesOption = None,
    copies: CopiesOption = None,
    base: BaseOption = None,
    expand: Annotated[
        bool,
        typer.Option("--expand", help="Print the rows of all sources of a symmetric schedule."),
    ] = False,
    labels: LabelsOption = None,  # noqa: ARG001 - read by its callback
    output: FormatOption = Format.TABLE,
) -> None:
    """Print the rows of a schedule: step, sender, port, receiver, tree and unit.

    No server is needed.

    \b
    starcast schedule rows S3 alltoall exact
    starcast schedule rows S5 allgather necklace --format csv > rows.csv
    """
    from starcast.formats.tables import table_columns

    schedule = build(topology, collective, algorithm, ports, root, segments, messages, copies, base)
    if expand:
        schedule = schedule.expand()
    columns = table_columns(schedule)
    values = zip(*(column.tolist() for column in columns.values()), strict=True)
    emit((dict(zip(columns, row, strict=True)) for row in values), list(columns), output)


command(app, "list", Lab.schedules)


command(app, "show", Lab.show, kind="schedule")
command(app, "steps", Lab.schedule_steps)
command(app, "drop", Lab.drop, kind="schedule")


def build(
    spec: str,
    collective: str,
    algorithm: str,
    ports: str | None,
    root: str | None,
    segments: int | None,
    messages: int | None,
    copies: int | None,
    base: str | None,
) -> "Schedule":
    """Build the schedule that the arguments of a command describe."""
    from starcast import collectives
    from starcast.collectives.catalogue import check_topology, find
    from starcast.topologies import topology
    from starcast.trees.spec_syntax import parse_spec

    name, arguments = parse_spec(algorithm, "algorithm")
    options = {"segments": segments, "messages": messages, "copies": copies, "base": base}
    arguments |= {option: value for option, value in options.items() if value is not None}
    network = topology(spec)
    entry = find(collective, name)
    check_topology(entry, network)
    values = entry.resolve_arguments(network, arguments)
    return collectives.schedule(network, collective, name, ports, root or 0, **values)


def _collective(argument: str | None, option: str | None, rows: Path | None) -> str:
    """Return the collective, which is an argument or, with rows, an option."""
    if option is not None and rows is None:
        raise InputError(
            "--collective is the collective of --rows", hint="write it after the topology"
        )
    if argument is not None and option is not None:
        raise InputError("the collective is given twice", hint="remove --collective")
    collective = argument or option
    if collective is None:
        raise InputError(
            "no collective is given",
            hint="write TOPOLOGY COLLECTIVE ALGORITHM, or --rows FILE --collective COLLECTIVE",
        )
    return collective


def read(
    rows: Path,
    spec: str,
    collective: str,
    algorithm: str | None,
    ports: str | None,
    root: str | None,
    options: dict[str, Any],
) -> "Schedule":
    """Read the schedule of a CSV or GOAL file, which no argument of an algorithm changes."""
    from starcast import formats
    from starcast.collectives.model import check_collective, check_ports

    given = [f"--{name}" for name, value in options.items() if value is not None]
    if algorithm is not None or given:
        raise InputError(
            f"the rows of a file cannot be combined with {algorithm or given[0]}",
            hint="remove one of them",
        )
    check_collective(collective)
    check_ports(ports or "all")
    return formats.read_schedule(
        rows,
        spec,
        cast("Collective", collective),
        cast("Ports", ports or "all"),
        0 if root is None else root,
    )


def results(schedule: "Schedule", result: "Simulation", faults: list[str]) -> dict[str, Any]:
    """Return the results of a simulation, as `simulate` prints them."""
    properties: dict[str, Any] = {
        "id": schedule.id,
        "symmetric": schedule.symmetric,
        "rows": len(schedule),
        "units": schedule.units,
        "steps": result.steps,
        "transmissions": result.transmissions,
        "largest_packet": result.largest_packet,
        "complete": result.complete,
    }
    if faults:
        properties["faults"] = faults
    if result.missing:
        properties["missing"] = result.missing
        properties["undelivered"] = [
            f"unit {unit} at {label}" for label, unit in result.undelivered
        ]
    return properties


def _steps(result: "Simulation") -> list[dict[str, int]]:
    columns = zip(result.links_used.tolist(), result.packet_sizes.tolist(), strict=True)
    return [
        {"step": step, "links_used": links_used, "largest_packet": size}
        for step, (links_used, size) in enumerate(columns, start=1)
    ]


def check(schedule: "Schedule", result: "Simulation", hint: str, *, with_faults: bool) -> None:
    """Check that a simulation found no violation and, without faults, no missing units.

    Raises:
        RejectedError: the schedule is invalid.
    """
    if result.violation is not None:
        raise RejectedError(f"{schedule.id} is invalid: {result.violation}", hint=hint)
    if not (result.complete or with_faults):
        raise RejectedError(f"{schedule.id} leaves {result.missing} units undelivered", hint=hint)
