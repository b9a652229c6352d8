"""``starcast cost``: the papers' cost tables, of any topology or of stored runs, and optima."""

import re
from collections.abc import Iterator
from itertools import count, product
from string import ascii_lowercase
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.cli import axes, completion
from starcast.cli.db import store
from starcast.cli.output import READABLE, AllOption, FormatOption, emit, narrowed, reporter, say
from starcast.errors import InputError
from starcast.vocabulary import Format

if TYPE_CHECKING:
    from starcast.costs import Machine
    from starcast.costs.paper_tables import Case, PaperTable, Row
    from starcast.costs.tables import CostRow, Problem

app = typer.Typer(
    no_args_is_help=True,
    help="Costs by the papers' closed forms, compared with lower bounds and simulations.",
)

MessageOption = Annotated[
    str,
    typer.Option(
        "--message-bytes",
        "-m",
        help="Bytes of a message for one destination, such as 1024, 2.5 or 23/3.",
    ),
]
StartUpOption = Annotated[str, typer.Option(help="T_s, start-up time of a packet.")]
ByteOption = Annotated[str, typer.Option(help="T_c, time per byte.")]

#: Largest schedule that is simulated by default; it takes about a second.
MAX_ROWS = 2_000_000
COLUMNS = (
    "ports", "name", "source", "cited", "pieces", "real_pieces", "start_ups", "bytes", "steps",
    "transmissions", "time", "lower_bound", "gap", "simulated_steps", "simulated_time",
    "simulated_gap", "note",
)  # fmt: skip
#: Columns of a table on a terminal; ``ref`` is the letter of the line below with source and note.
NARROW = (
    "name", "pieces", "start_ups", "bytes", "time", "gap", "simulated_time", "simulated_gap", "ref",
)  # fmt: skip
#: Columns of `NARROW` that are removed if they do not fit, in this order.
OPTIONAL = ("start_ups", "bytes", "simulated_time", "pieces")
#: The parameters of `table` that are for computed costs only.
_COMPUTED = {
    "topology", "collective", "ports", "message_bytes", "t_s", "t_c", "segments", "messages",
    "copies", "hypercube", "simulate", "execution", "max_rows", "everything",
}  # fmt: skip
COSTS = ("start_ups", "bytes", "steps", "transmissions", "time")


@app.command("table")
def table(
    ctx: typer.Context,
    topology: Annotated[
        str | None,
        typer.Argument(
            metavar="TOPOLOGY",
            help="A topology, such as S5, S6,3 or Q4.",
            autocompletion=completion.topologies,
        ),
    ] = None,
    collective: Annotated[
        str | None,
        typer.Option(
            help="Only this collective, such as broadcast (default: all).",
            autocompletion=completion.collectives,
        ),
    ] = None,
    ports: Annotated[
        str | None, typer.Option(help="Only this port model: all or one (default: both).")
    ] = None,
    message_bytes: MessageOption = "65536",
    t_s: StartUpOption = "100",
    t_c: ByteOption = "1",
    segments: Annotated[
        str,
        typer.Option(
            help="Segments of the message, or of each tree's share; 'best' for the optimum."
        ),
    ] = "best",
    messages: Annotated[
        int | None,
        typer.Option(help="Unit messages, where they differ from --segments."),
    ] = None,
    copies: Annotated[
        int,
        typer.Option(
            help="Edge-disjoint trees that carry each message, for algorithms that use such trees."
        ),
    ] = 1,
    hypercube: Annotated[
        int | None,
        typer.Option(
            help="Dimension of the hypercube to compare with (default: the least of enough nodes)."
        ),
    ] = None,
    simulate: Annotated[
        bool,
        typer.Option(
            "--simulate/--no-simulate", help="Simulate the schedules that are small enough."
        ),
    ] = True,
    execution: Annotated[
        str,
        typer.Option(help="Execution model of the simulations: synchronous or asynchronous."),
    ] = "synchronous",
    max_rows: Annotated[
        int, typer.Option(min=0, help="Largest schedule to simulate, in rows.")
    ] = MAX_ROWS,
    experiment: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Print the stored runs of this experiment as a paper's table instead.",
            autocompletion=completion.experiments,
        ),
    ] = None,
    paper: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="TABLE",
            help="With --experiment: the paper's table, such as tseng-sheu-1997-table-1.",
            show_default="that of the experiment's shipped grid",
        ),
    ] = None,
    conditions: axes.ConditionsOption = None,
    everything: AllOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print the papers' cost tables: costs on a topology, or the stored runs of an experiment.

    For a topology, no server is needed, and the fastest algorithm is the first. A row is an
    algorithm of starcast or a row of a paper's table. Its time is start_ups T_s + bytes T_c, exact,
    by the closed form of its source. pieces is the number of segments or unit messages, by default
    the optimum, and real_pieces the optimum over the real numbers. The gap is time / lower bound
    for the same number of copies. Simulated figures are those of the executed schedule; a note
    explains where they differ from the closed form.

    With --experiment, rows and columns are those of the paper, one table per topology and message.
    The figures of a row are those of the fastest stored run of the algorithm that is its basis. A
    row about a work that the paper cites and starcast cannot execute is marked as cited; its
    figures are those of the paper's closed form, if it has one. References are keys of
    references.bib.

    \b
    starcast cost table S7 --collective broadcast --ports all
    starcast cost table S5 --collective allgather -m 1024 --no-simulate -f markdown
    starcast cost table S6 --collective scatter --messages 5 --copies 2
    starcast experiment run ts1 --grid tseng-sheu-1997-table-1
    starcast cost table --experiment ts1 --where topology=S5 -f latex > table.tex
    """
    if experiment is not None:
        _check_options(ctx)
        _print_experiment(ctx, experiment, paper, conditions or [], output)
        return
    if topology is None:
        raise InputError(
            "a topology or an experiment is missing",
            hint="give a topology, such as S5, or --experiment NAME",
        )
    if paper is not None or conditions:
        raise InputError(
            "--table and --where are for stored runs", hint="add --experiment NAME, or omit them"
        )
    from starcast import topologies
    from starcast.collectives.model import COLLECTIVES, PORT_MODELS
    from starcast.costs.tables import Problem

    network = topologies.topology(topology)
    machine = _machine(t_s, t_c)
    pieces = _pieces(segments)
    size = _exact(message_bytes, "message_bytes")
    records: list[dict[str, Any]] = []
    for name in [collective] if collective else COLLECTIVES:
        rows: list[dict[str, Any]] = []
        for model in [ports] if ports else PORT_MODELS:
            problem = Problem(
                network,
                name,
                model,
                size,
                machine,
                pieces,
                messages,
                copies,
                hypercube,
                execution,
            )
            rows += _rows(problem, max_rows if simulate else 0)
        rows.sort(key=lambda row: (row["time"] is None, row["time"] or 0))
        if output in (Format.TABLE, Format.LATEX):
            title = f"{name} on {network.spec}, m = {message_bytes}, T_s = {t_s}, T_c = {t_c}"
            if execution != "synchronous":
                title += f", simulated {execution}ly"
            _print_tables(rows, title, output, everything=everything)
        records += [{"topology": network.spec, "collective": name, **row} for row in rows]
    if output not in (Format.TABLE, Format.LATEX):
        emit(records, ("topology", "collective", *COLUMNS), output)


@app.command("optimum")
def optimum(
    topology: axes.TopologyArgument,
    collective: Annotated[str, typer.Argument(help="A collective, such as broadcast.")],
    algorithm: Annotated[str, typer.Argument(help="An algorithm, such as multiple.")],
    ports: Annotated[str, typer.Option(help="Port model: all or one.")] = "all",
    message_bytes: MessageOption = "65536",
    t_s: StartUpOption = "100",
    t_c: ByteOption = "1",
    copies: Annotated[
        int | None, typer.Option(help="Edge-disjoint trees that carry each message.")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print the number of segments or unit messages with the least time.

    The closed form is minimized over the real numbers and over the integers. If fewer pieces are
    always better, no real optimum exists.

    \b
    starcast cost optimum S7 broadcast multiple -m 1e6
    starcast cost optimum S6 broadcast edge-disjoint --copies 2
    """
    from starcast import topologies
    from starcast.collectives.catalogue import find
    from starcast.costs import closed_form, optimal_pieces
    from starcast.support.table import with_numbers

    machine = _machine(t_s, t_c)
    size = _exact(message_bytes, "message_bytes")
    network = topologies.topology(topology)
    arguments: dict[str, int | str] = {} if copies is None else {"copies": copies}
    real, best = optimal_pieces(network, collective, algorithm, ports, size, machine, **arguments)
    split_argument = str(find(collective, algorithm).split_argument)
    arguments[split_argument] = best
    cost = closed_form(network, collective, algorithm, ports, size, machine, **arguments)
    row = {
        "argument": split_argument,
        "real_optimum": real or None,
        "optimum": best,
        "steps": cost.steps,
        "time": cost.time,
        "source": cost.source,
        "note": cost.note or None,
    }
    emit([with_numbers(row)], tuple(row), output)


def _print_tables(
    rows: list[dict[str, Any]], title: str, output: Format, *, everything: bool
) -> None:
    """Print one table with all columns, or one per port model with the columns that fit."""
    if everything:
        emit(rows, COLUMNS, output, title)
        return
    for ports in dict.fromkeys(row["ports"] for row in rows):
        shown = [row for row in rows if row["ports"] == ports]
        # Letters, because names and sources already contain the papers' numbers.
        letters = dict(zip(dict.fromkeys(map(_source, shown)), _letters(), strict=False))
        narrow = [{**row, "ref": letters[_source(row)]} for row in shown]
        simulated = any(row.get("simulated_time") is not None for row in narrow)
        columns = [name for name in NARROW if simulated or "simulated" not in name]
        sources = [f"{letter} {source}" for source, letter in letters.items()]
        heading = f"{title}, {ports}-port"
        if output is Format.LATEX:
            emit(narrow, columns, output, "; ".join([heading, *sources]))
            print()
            continue
        fitting = narrowed(narrow, columns, OPTIONAL)
        emit(narrow, fitting, output, heading, below=[*sources, ""])


def _check_options(ctx: typer.Context) -> None:
    """Check that no option of computed costs is given.

    Raises:
        InputError: one is given.
    """
    for option in ctx.command.params:
        source = ctx.get_parameter_source(str(option.name))
        if option.name in _COMPUTED and source is not None and source.name == "COMMANDLINE":
            raise InputError(
                f"{option.opts[0]} is for computed costs, and --experiment prints stored runs",
                hint="omit it; --where selects runs, such as --where topology=S5",
            )


def _print_experiment(
    ctx: typer.Context, name: str, table: str | None, conditions: list[str], output: Format
) -> None:
    """Print the stored runs of an experiment as a paper's table."""
    from starcast.comparison.paper_rows import find_table, load_table, tabulate
    from starcast.comparison.sides import read_conditions
    from starcast.database.sessions import session

    read_conditions(conditions)  # before a server is needed
    if table is not None:
        find_table(table)
    with store(ctx) as engine, session(engine) as opened:
        paper = load_table(opened, name, reporter(), table=table, conditions=conditions)
    if output in READABLE:
        for case, rows in paper.cases:
            _print_case(paper.table, paper.name, case, rows, output)
        return
    records = tabulate(paper)
    emit(records.rows, records.columns, output)


def _print_case(
    table: "PaperTable", name: str, case: "Case", rows: list["Row"], output: Format
) -> None:
    """Print the table of a case under the paper's headings; repeated models are left empty."""
    from starcast.comparison.paper_rows import case_values
    from starcast.support.table import with_numbers

    values = case_values(table, case)
    shown = ", ".join(f"{axis} {value}" for axis, value in with_numbers(values).items())
    title = f"{table.source}. {table.caption}: {shown}"
    columns = [column for column in table.headings if any(row[column] is not None for row in rows)]
    printed = []
    before = None
    for row in map(with_numbers, rows):
        cells = {column: row[column] for column in columns}
        if "model" in cells and cells["model"] == before:
            cells["model"] = None
        before = row.get("model")
        printed.append({table.headings[column]: cell for column, cell in cells.items()})
    headings = [table.headings[column] for column in columns]
    label = re.sub(r"[^\w.+-]", "-", "-".join([name, *map(str, values.values())]), flags=re.ASCII)
    if output is Format.MARKDOWN:
        print(f"{title}\n")
    emit(printed, headings, output, title=title, label=f"tab:{label}")
    if output is not Format.TABLE:
        print()


def _letters() -> Iterator[str]:
    """Yield a), b), ..., z), aa), ab), ..."""
    for length in count(1):
        yield from (f"{''.join(letters)})" for letters in product(ascii_lowercase, repeat=length))


def _source(row: dict[str, Any]) -> str:
    """Return the source of a row, whether it is cited only, and its note."""
    cited = " (cited)" if row["cited"] else ""
    note = f"; {row['note']}" if row["note"] else ""
    return f"{row['source']}{cited}{note}"


def _rows(problem: "Problem", max_rows: int) -> list[dict[str, Any]]:
    from starcast.costs import tables

    return [_row(problem, row, max_rows) for row in tables.build_table(problem)]


def _row(problem: "Problem", row: "CostRow", max_rows: int) -> dict[str, Any]:
    from starcast.support.table import rounded, with_numbers

    costs: dict[str, Any] = {name: getattr(row.cost, name, None) for name in COSTS}
    return with_numbers(
        {
            "ports": problem.ports,
            "name": row.name,
            "source": row.source,
            "cited": row.cited,
            "pieces": row.pieces,
            "real_pieces": row.real_pieces or None,  # 0: fewer pieces are always better
            **costs,
            "lower_bound": row.bound.time,
            "gap": rounded(row.gap),
            **_simulated(problem, row, max_rows),
            "note": row.note or None,
        }
    )


def _simulated(problem: "Problem", row: "CostRow", max_rows: int) -> dict[str, Any]:
    """Return the simulated figures of a row; report on stderr why there are none."""
    from starcast.costs import tables
    from starcast.errors import LimitError
    from starcast.support.table import rounded

    if not max_rows:
        return {}
    try:
        cost = tables.execute_row(problem, row, max_rows)
    except LimitError as error:
        say(f"not simulated: {error.message}")
        return {}
    if cost is None:
        return {}
    return {
        "simulated_steps": cost.steps,
        "simulated_time": cost.time,
        "simulated_gap": rounded(row.gap_of(cost)),
    }


def _machine(t_s: str, t_c: str) -> "Machine":
    from starcast.costs import Machine

    return Machine(_exact(t_s, "t_s"), _exact(t_c, "t_c"))


def _exact(text: str, name: str) -> Any:
    from starcast.experiments.values import read_number

    return read_number(text, name)


def _pieces(text: str) -> int | None:
    from starcast.experiments.values import BEST, read_count

    value = read_count(text, "segments", (BEST,))
    return None if value == BEST else int(value)
