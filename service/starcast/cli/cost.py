"""``starcast cost``: the papers' tables for any topology, and the best number of segments."""

from collections.abc import Iterator
from itertools import count, product
from string import ascii_lowercase
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.cli.output import AllOption, Format, FormatOption, emit, narrowed, say

if TYPE_CHECKING:
    from starcast.costs import Machine
    from starcast.costs.tables import CostRow, Problem

app = typer.Typer(
    no_args_is_help=True,
    help="Costs by the papers' closed forms, beside lower bounds and executions.",
)

TopologyArgument = Annotated[str, typer.Argument(help="Such as S7, S6,3 or Q4.")]
MessageOption = Annotated[
    str, typer.Option("-m", help="Bytes of a message for one destination: 1024, 2.5, 23/3.")
]
StartUpOption = Annotated[str, typer.Option(help="T_s, time to start a packet up.")]
ByteOption = Annotated[str, typer.Option(help="T_c, time a byte.")]
CopiesOption = Annotated[
    int,
    typer.Option(help="Edge-disjoint trees that carry each message, for algorithms along such."),
]

#: Rows of a schedule that are built and simulated unasked: about a second.
MAX_ROWS = 2_000_000
COLUMNS = (
    "ports", "name", "source", "cited", "p", "real p", "start_ups", "bytes", "steps", "transmissions", "time", "bound", "gap",
    "simulated steps", "simulated time", "simulated gap", "note",
)  # fmt: skip
#: Those of a table that is to fit on a terminal; each row refers to a line below with its source and what has to be known.
NARROW = (
    "name",
    "p",
    "start_ups",
    "bytes",
    "time",
    "gap",
    "simulated time",
    "simulated gap",
    "source",
)
#: Those of them that go first where even these are too wide.
SPARE = ("start_ups", "bytes", "simulated time", "p")
COSTS = ("start_ups", "bytes", "steps", "transmissions", "time")


@app.command("table")
def table(
    topology: TopologyArgument,
    collective: Annotated[
        str | None, typer.Option(help="Only this one, such as broadcast; else all five.")
    ] = None,
    ports: Annotated[
        str | None, typer.Option(help="Only this port model, all or one; else both.")
    ] = None,
    message: MessageOption = "65536",
    t_s: StartUpOption = "100",
    t_c: ByteOption = "1",
    segments: Annotated[
        str,
        typer.Option(
            help="Pieces that a message, or a tree's share of it, is cut into; 'best' for the fastest number."
        ),
    ] = "best",
    messages: Annotated[
        int | None,
        typer.Option(help="M, for algorithms of unit messages; else what --segments says."),
    ] = None,
    copies: CopiesOption = 1,
    hypercube: Annotated[
        int | None,
        typer.Option(
            help="Dimension of the hypercube beside it; else the least with as many nodes."
        ),
    ] = None,
    simulate: Annotated[
        bool,
        typer.Option(
            "--simulate/--no-simulate", help="Execute the schedules that are small enough."
        ),
    ] = True,
    most_rows: Annotated[
        int, typer.Option(min=0, help="Rows that a schedule may have to be executed.")
    ] = MAX_ROWS,
    everything: AllOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print the papers' tables for a topology: what each algorithm and each cited one costs, by time. No server is needed.

    A row is an algorithm of starcast or a row of a paper's table. Its time is start_ups T_s + bytes T_c, exact, by the form
    that its source states; p is the number of segments or messages, the best one unless given, and real p the best over the
    reals. The gap is time / lower bound for as many copies. Simulated figures are those of the schedule, executed; where they
    differ from the form, a note says how. A table shows the port models apart, and the sources and notes below.

    \b
    starcast cost table S7 --collective broadcast --ports all
    starcast cost table S5 --collective allgather -m 1024 --no-simulate -f markdown
    starcast cost table S6 --collective scatter --messages 5 --copies 2
    """
    from starcast.collectives.model import COLLECTIVES, PORT_MODELS
    from starcast.costs.tables import Problem
    from starcast.topologies import topology as named

    where, machine = named(topology), _machine(t_s, t_c)
    pieces, m = _pieces(segments), _exact(message, "m")
    listed: list[dict[str, Any]] = []
    for what in [collective] if collective else COLLECTIVES:
        problems = [
            Problem(where, what, model, m, machine, pieces, messages, copies, hypercube)
            for model in ([ports] if ports else PORT_MODELS)
        ]
        rows = [row for problem in problems for row in _rows(problem, most_rows if simulate else 0)]
        rows.sort(key=lambda row: (row["time"] is None, row["time"] or 0))
        if output is Format.TABLE:
            _print(
                rows,
                f"{what} on {where.spec}, m = {message}, T_s = {t_s}, T_c = {t_c}",
                everything=everything,
            )
        listed += [{"topology": where.spec, "collective": what, **row} for row in rows]
    if output is not Format.TABLE:
        emit(listed, ("topology", "collective", *COLUMNS), output)


@app.command("optimum")
def optimum(
    topology: TopologyArgument,
    collective: Annotated[str, typer.Argument(help="Such as broadcast.")],
    algorithm: Annotated[str, typer.Argument(help="Such as multiple.")],
    ports: Annotated[str, typer.Option(help="Port model: all or one.")] = "all",
    message: MessageOption = "65536",
    t_s: StartUpOption = "100",
    t_c: ByteOption = "1",
    copies: Annotated[
        int | None, typer.Option(help="Edge-disjoint trees that carry each message.")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print the number of segments or messages with the least closed-form time, over the reals and over whole numbers.

    Where the fewer are the better there is no real one.

    \b
    starcast cost optimum S7 broadcast multiple -m 1e6
    starcast cost optimum S6 broadcast edge-disjoint --copies 2
    """
    from starcast.cli.run_output import with_numbers
    from starcast.collectives.catalogue import find
    from starcast.costs import closed_form, optimal_pieces
    from starcast.topologies import topology as named

    where, machine, m = named(topology), _machine(t_s, t_c), _exact(message, "m")
    others: dict[str, int | str] = {} if copies is None else {"copies": copies}
    real, whole = optimal_pieces(where, collective, algorithm, ports, m, machine, **others)
    split_argument = str(find(collective, algorithm).split_argument)
    cost = closed_form(
        where, collective, algorithm, ports, m, machine, **{**others, split_argument: whole}
    )
    row = {
        "argument": split_argument, "real": real or None, "whole": whole, "steps": cost.steps, "time": cost.time, "source": cost.source,
        "note": cost.note or None,
    }  # fmt: skip
    emit([with_numbers(row)], tuple(row), output)


def _print(rows: list[dict[str, Any]], title: str, *, everything: bool) -> None:
    """All columns, or for each port model those that fit on a terminal, with the sources below by their letters."""
    if everything:
        emit(rows, COLUMNS, Format.TABLE, title)
        return
    for ports in dict.fromkeys(row["ports"] for row in rows):
        shown = [row for row in rows if row["ports"] == ports]
        told = [_told(row) for row in shown]
        # Letters: papers' numbers stand in the names and the sources.
        letters = dict(zip(dict.fromkeys(told), _letters(), strict=False))
        narrow = [{**row, "source": letters[line]} for row, line in zip(shown, told, strict=True)]
        simulated = any(row.get("simulated time") is not None for row in narrow)
        columns = narrowed(
            narrow, [name for name in NARROW if simulated or "simulated" not in name], SPARE
        )
        below = [f"{letter} {line}" for line, letter in letters.items()]
        emit(narrow, columns, Format.TABLE, f"{title}, {ports}-port", below=[*below, ""])


def _letters() -> Iterator[str]:
    """a), b), .., z), aa), ab), .."""
    for length in count(1):
        yield from (f"{''.join(letters)})" for letters in product(ascii_lowercase, repeat=length))


def _told(row: dict[str, Any]) -> str:
    """Where a row is from, whether it stands for somebody else's work, and what has to be known."""
    return f"{row['source']}{' (cited)' if row['cited'] else ''}{'; ' if row['note'] else ''}{row['note'] or ''}"


def _rows(problem: "Problem", most_rows: int) -> list[dict[str, Any]]:
    from starcast.costs.tables import build_table as rows_of

    return [_row(problem, row, most_rows) for row in rows_of(problem)]


def _row(problem: "Problem", row: "CostRow", most_rows: int) -> dict[str, Any]:
    from starcast.cli.run_output import rounded, with_numbers

    figures: dict[str, Any] = {name: getattr(row.cost, name, None) for name in COSTS}
    return with_numbers(
        {
            "ports": problem.ports,
            "name": row.name,
            "source": row.source,
            "cited": row.cited,
            "p": row.pieces,
            "real p": row.real_pieces or None,  # 0: the fewer the better
            **figures,
            "bound": row.bound.time,
            "gap": rounded(row.gap),
            **_simulated(problem, row, most_rows),
            "note": row.note or None,
        }
    )


def _simulated(problem: "Problem", row: "CostRow", most_rows: int) -> dict[str, Any]:
    """What its execution took; nothing, and a line on stderr, where it is too large for that."""
    from starcast.cli.run_output import rounded
    from starcast.costs.tables import execute_row
    from starcast.errors import LimitError

    if not most_rows:
        return {}
    try:
        took = execute_row(problem, row, most_rows)
    except LimitError as error:
        say(f"not simulated: {error.message}")
        return {}
    if took is None:
        return {}
    return {
        "simulated steps": took.steps,
        "simulated time": took.time,
        "simulated gap": rounded(row.gap_of(took)),
    }


def _machine(t_s: str, t_c: str) -> "Machine":
    from starcast.costs import Machine

    return Machine(_exact(t_s, "T_s"), _exact(t_c, "T_c"))


def _exact(words: str, name: str) -> Any:
    from starcast.experiments.values import read_number

    return read_number(words, name)


def _pieces(words: str) -> int | None:
    from starcast.experiments.values import BEST, read_count

    given = read_count(words, "segments", (BEST,))
    return None if given == BEST else int(given)
