"""``starcast schedule``: schedules to simulate and to write out, and those that are stored."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.cli import stored
from starcast.cli.output import Format, FormatOption, emit, say
from starcast.errors import RejectedError

if TYPE_CHECKING:
    from starcast.collectives import Schedule
    from starcast.simulator import Simulation

app = typer.Typer(
    no_args_is_help=True,
    help="Schedules: simulate them, with faults if wanted; list, show and drop those that are stored.",
)

_DEFECT = "this is a defect of starcast: please report it"

NameArgument = Annotated[str, typer.Argument(help="As in 'starcast schedule list'.")]
WhereArgument = Annotated[str, typer.Argument(help="A topology, such as S5.")]
CollectiveArgument = Annotated[
    str, typer.Argument(help="broadcast, allgather, scatter, gather or alltoall.")
]
AlgorithmArgument = Annotated[
    str,
    typer.Argument(
        help="Such as multiple, or 'edge-disjoint(copies=2,messages=4)'; see 'starcast schedule algorithms'."
    ),
]
PortsOption = Annotated[
    str | None, typer.Option(help="Port model, all or one; else the algorithm's own.")
]
RootOption = Annotated[
    str | None, typer.Option(help="Label of the root, or of the source that is written out.")
]
SegmentsOption = Annotated[int | None, typer.Option(help="Pieces of the message for each tree.")]
MessagesOption = Annotated[int | None, typer.Option(help="Unit messages.")]
CopiesOption = Annotated[
    int | None, typer.Option(help="Edge-disjoint trees that carry each message.")
]
TreeOption = Annotated[str | None, typer.Option(help="The spanning tree of dimension-change.")]


@app.command("algorithms")
def list_algorithms(
    topology: Annotated[
        str | None, typer.Argument(help="Only those that are defined on it, such as S5.")
    ] = None,
    collective: Annotated[str | None, typer.Option(help="Only those of this collective.")] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the algorithms of each collective: where they run, their port models, arguments and paper. No server is needed."""
    from starcast.collectives.catalogue import algorithms, algorithms_on
    from starcast.collectives.model import check_collective
    from starcast.topologies import topology as parse

    if collective is not None:
        check_collective(collective)
    chosen = (
        algorithms(collective) if topology is None else algorithms_on(parse(topology), collective)
    )
    rows = [
        {
            "collective": rule.collective,
            "algorithm": rule.name,
            "families": list(rule.families),
            "ports": list(rule.ports),
            "arguments": [argument.name for argument in rule.arguments],
            "paper": rule.source,
        }
        for rule in chosen
    ]
    emit(rows, ["collective", "algorithm", "families", "ports", "arguments", "paper"], output)


@app.command("simulate")
def simulate(
    topology: WhereArgument,
    collective: CollectiveArgument,
    algorithm: AlgorithmArgument,
    ports: PortsOption = None,
    root: RootOption = None,
    segments: SegmentsOption = None,
    messages: MessagesOption = None,
    copies: CopiesOption = None,
    tree: TreeOption = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            help="A node, a link, or either from a step on: 21345, 12345-21345, 21345@3; may be repeated."
        ),
    ] = None,
    expand: Annotated[
        bool, typer.Option("--expand", help="Write a symmetric schedule out for all sources first.")
    ] = False,
    wait: Annotated[
        bool,
        typer.Option(
            "--acknowledged",
            help="Wait for acknowledgements, in the allgather by edge-disjoint trees.",
        ),
    ] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="Print what each step carries instead.")
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Build a schedule and execute it: what it takes, and whether everybody gets what is due. No server is needed.

    Counts are of all sources together where the schedule is symmetric. Under faults rows that cannot be carried out are left
    out, and what is missing in the end is counted. Exit code 6: it breaks a rule, or without faults leaves somebody out.

    \b
    starcast schedule simulate S6 alltoall exact
    starcast schedule simulate S5 broadcast edge-disjoint --messages 4 --copies 2 --fault 21345 --fault 12345-32145@3
    starcast schedule simulate S4 allgather edge-disjoint --copies 3 --fault 2134 --acknowledged
    """
    from starcast.simulator import Fault, simulate_acknowledged
    from starcast.simulator import simulate as run

    made = _chosen(topology, collective, algorithm, ports, root, segments, messages, copies, tree)
    if expand:
        made = made.expand()
    faults = [Fault.parse(words) for words in fault or ()]
    if wait:
        waited = simulate_acknowledged(made, faults)
        say(f"{len(waited.stalled)} traversals wait for an acknowledgement that never comes")
    result = waited.simulation if wait else run(made, faults)
    for remark in result.remarks:
        say(remark)
    if steps:
        emit(_profile(result), ["step", "links used", "largest packet"], output)
    else:
        facts = _facts(made, result, [str(one) for one in faults])
        emit(
            [{"property": name, "value": value} for name, value in facts.items()],
            ["property", "value"],
            output,
        )
    _judge(made, result, under_faults=bool(faults))


@app.command("rows")
def rows(
    topology: WhereArgument,
    collective: CollectiveArgument,
    algorithm: AlgorithmArgument,
    ports: PortsOption = None,
    root: RootOption = None,
    segments: SegmentsOption = None,
    messages: MessagesOption = None,
    copies: CopiesOption = None,
    tree: TreeOption = None,
    expand: Annotated[
        bool, typer.Option("--expand", help="Those of all sources, of a symmetric schedule.")
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print the rows of a schedule: who sends which unit over which port in which step. No server is needed.

    \b
    starcast schedule rows S3 alltoall exact
    starcast schedule rows S5 allgather necklace --format csv > rows.csv
    """
    made = _chosen(topology, collective, algorithm, ports, root, segments, messages, copies, tree)
    if expand:
        made = made.expand()
    labels = made.topology.labels()
    columns = (
        made.step,
        labels[made.sender],
        made.port,
        labels[made.receiver],
        made.tree,
        made.unit,
    )
    names = ("step", "sender", "port", "receiver", "tree", "unit")
    listed = zip(*(column.tolist() for column in columns), strict=True)
    emit((dict(zip(names, row, strict=True)) for row in listed), names, output)


@app.command("list")
def list_stored(
    ctx: typer.Context,
    topology: stored.TopologyOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the schedules that are stored, and whether they are complete."""
    stored.list_things(ctx, "schedule", topology, output)


@app.command("show")
def show(
    ctx: typer.Context,
    name: NameArgument,
    verify: stored.VerifyOption = False,
    steps: Annotated[bool, typer.Option("--steps", help="Print its step profile instead.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print a stored schedule's parameters, what its simulation counted, and how it was stored; or what each step carries."""
    if steps:
        stored.show_steps(ctx, name, output)
        return
    stored.show_thing(ctx, "schedule", name, verify, output)


@app.command("drop")
def drop(
    ctx: typer.Context,
    name: NameArgument,
    cascade: stored.CascadeOption = False,
    wait: stored.WaitOption = False,
) -> None:
    """Drop a schedule."""
    stored.drop_thing(ctx, "schedule", name, cascade, wait)


def _chosen(
    spec: str,
    collective: str,
    word: str,
    ports: str | None,
    root: str | None,
    segments: int | None,
    messages: int | None,
    copies: int | None,
    tree: str | None,
) -> "Schedule":
    """The schedule that the words of a command mean."""
    from starcast.collectives import schedule
    from starcast.trees.spec_syntax import parse_spec

    name, arguments = parse_spec(word, "algorithm")
    options = {"segments": segments, "messages": messages, "copies": copies, "base": tree}
    given = {option: value for option, value in options.items() if value is not None}
    return schedule(
        spec, collective, name, ports, 0 if root is None else root, **(arguments | given)
    )


def _facts(made: "Schedule", result: "Simulation", faults: list[str]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": made.id,
        "symmetric": made.symmetric,
        "rows": len(made),
        "units": made.units,
        "steps": result.steps,
        "transmissions": result.transmissions,
        "largest packet": result.largest_packet,
        "complete": result.complete,
    }
    if faults:
        facts["faults"] = faults
    if result.missing:
        facts |= {
            "missing": result.missing,
            "undelivered": [f"unit {unit} at {label}" for label, unit in result.undelivered],
        }
    return facts


def _profile(result: "Simulation") -> list[dict[str, int]]:
    pairs = zip(result.links_used.tolist(), result.packet_sizes.tolist(), strict=True)
    return [
        {"step": step, "links used": used, "largest packet": size}
        for step, (used, size) in enumerate(pairs, start=1)
    ]


def _judge(made: "Schedule", result: "Simulation", *, under_faults: bool) -> None:
    if result.violation is not None:
        raise RejectedError(f"{made.id} breaks a rule: {result.violation}", hint=_DEFECT)
    if not (result.complete or under_faults):
        raise RejectedError(f"{made.id} leaves {result.missing} units undelivered", hint=_DEFECT)
