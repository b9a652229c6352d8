"""``starcast search``: exact searches on small topologies."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcast.cli import completion, context, distribution
from starcast.cli.output import FormatOption, emit, emit_outcome, emit_properties, reporter, say
from starcast.errors import LimitError, UncheckedError
from starcast.support.text import pluralize
from starcast.vocabulary import Format

if TYPE_CHECKING:
    from starcast.records import Record
    from starcast.search.sharding import SearchTask

#: The columns of a table of records.
SHORT_COLUMNS = (
    "problem",
    "topology",
    "arguments",
    "value",
    "bound",
    "optimal",
    "evidence",
    "seconds",
)


class EngineName(StrEnum):
    """Solver of formulas."""

    CADICAL = "cadical"
    CP_SAT = "cp-sat"


ProblemArgument = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="A problem, such as one-port-broadcast; 'starcast records problems' lists them.",
        autocompletion=completion.problems,
    ),
]
ProblemsArgument = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="A problem, such as one-port-broadcast, or several, separated by commas;"
        " 'starcast records problems' lists them.",
        autocompletion=completion.problems,
    ),
]
TopologiesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="TOPOLOGY...",
        help="Topologies, such as S5, S6,3 or Q4.",
        autocompletion=completion.topologies,
    ),
]
CongestionOption = Annotated[
    int | None,
    typer.Option(help="Trees that may use a directed link, for congestion-trees.", min=1),
]
FolderOption = Annotated[
    Path | None,
    typer.Option(help="Folder of your own records.", show_default="records in the home directory"),
]


def own_folder(ctx: typer.Context, folder: Path | None) -> Path:
    """Return the folder of the user's records."""
    return folder if folder is not None else context.settings(ctx).home / "records"


def arguments_of(congestion: int | None) -> dict[str, int]:
    """Return the arguments of a problem that are given as options."""
    return {} if congestion is None else {"congestion": congestion}


def find_known(
    ctx: typer.Context, folder: Path | None, problem: str, spec: str, arguments: dict[str, int]
) -> "Record | None":
    """Return the best known record, shipped or of the user."""
    from starcast.records import find_record, shipped_folder
    from starcast.search import find_problem

    values = find_problem(problem).resolve_arguments(arguments)
    return find_record([shipped_folder(), own_folder(ctx, folder)], problem, spec, values)


def search(
    ctx: typer.Context,
    problem: ProblemsArgument,
    topologies: TopologiesArgument,
    congestion: CongestionOption = None,
    timeout: Annotated[float, typer.Option(help="Time limit in seconds.", min=0.1)] = 60.0,
    memory: Annotated[
        int, typer.Option(help="Memory limit of each process in MB.", min=100)
    ] = 4_000,
    seed: Annotated[int, typer.Option(help="Random seed of the first process.", min=0)] = 0,
    seeds: Annotated[
        int, typer.Option(help="Searches of each problem, with other seeds.", min=1, max=10_000)
    ] = 1,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Processes of a search, each with another seed.",
            min=1,
            max=256,
            show_default="1",
        ),
    ] = None,
    engine: Annotated[EngineName, typer.Option(help="Solver of formulas.")] = EngineName.CADICAL,
    folder: FolderOption = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ignore what is known; still nothing better is lost.")
    ] = False,
    workers: distribution.WorkersOption = None,
    shard: distribution.ShardOption = None,
    out: distribution.ShardFileOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Search for the best object of a problem, or a proof that there is no better one.

    The search starts from the best known record, and writes each improvement to the folder of your
    records: repeat an interrupted search to continue it. If the time limit ends the search before
    value and bound agree, the best of both are printed and the exit code is 7; it is 8 if only a
    second solver supports the bound. No server is needed; most problems need the extra
    starcast[search].

    Several problems, topologies or --seeds are several searches, one after another. --workers and
    --shard divide this list; a search itself is not divided.

    \b
    starcast search one-port-broadcast S5
    starcast search edge-disjoint-trees S4 --timeout 300 --jobs 2
    starcast search congestion-trees S4 --congestion 3
    starcast search one-port-broadcast,bisection-width S6 S7 --seeds 4 --shard 1/8 --out part-1.json
    """
    from starcast.search import Budget
    from starcast.search.sharding import plan_searches, run_searches, search_shard
    from starcast.support.signals import sigterm_as_interrupt

    part = distribution.parse_shard(shard, out)
    processes = jobs or 1
    numbers = range(seed, seed + seeds * processes, processes)
    tasks = plan_searches(problem.split(","), topologies, arguments_of(congestion), numbers)
    budget = Budget(timeout, memory, seed, processes, engine.value, reporter())
    target = own_folder(ctx, folder)

    def find(task: "SearchTask") -> "Record | None":
        if fresh:
            return None
        return find_known(ctx, folder, task.problem, task.topology, dict(task.arguments))

    with sigterm_as_interrupt(), distribution.open_executor(workers, jobs) as executor:
        if part is not None and out is not None:
            done = search_shard(tasks, part, out, budget, find, executor)
            sentence = f"shard {shard}: {pluralize(done, 'search', 'searches')} written to {out}"
            emit_outcome({"shard": shard, "searches": done, "file": str(out)}, output, sentence)
            return
        results = run_searches(tasks, budget, find, partial(keep_record, target), executor)
        records = {record.id: record for _, record in results}
    if len(records) == 1:
        emit_properties(record_facts(*records.values()), output)
    else:
        emit_records(records.values(), output)
    _require_settled(list(records.values()), target, timeout)


def keep_record(target: Path, record: "Record") -> None:
    """Write a record to a folder, and report its file."""
    from starcast.records import save_record

    say(f"kept in {save_record(target, record)}")


def emit_records(records: "Iterable[Record]", output: Format) -> None:
    """Print a row for each record."""
    rows = [record_facts(record) for record in records]
    columns = SHORT_COLUMNS if output is Format.TABLE else list(rows[0])
    emit(rows, columns, output)


def _require_settled(records: "Sequence[Record]", target: Path, timeout: float) -> None:
    """Check that value and bound agree in all records, and that the bounds were checked.

    Raises:
        LimitError: value and bound of a record differ.
        UncheckedError: only a second solver supports the bound of a record.
    """
    from starcast.records import path_of

    unsettled = [record for record in records if not record.optimal]
    if not unsettled:
        _require_checked(records)
        return
    if len(records) > 1:
        raise LimitError(
            f"{len(unsettled)} of {pluralize(len(records), 'record')} are not settled after"
            f" {timeout:g} s per search",
            hint=f"kept in {target}; repeat the command to continue, with another --seed or more"
            " --timeout",
        )
    record = unsettled[0]
    path = path_of(target, record.problem, record.topology, record.arguments)
    kept = f"kept in {path}; " if path.is_file() else ""
    raise LimitError(
        f"{record.id} is not settled after {timeout:g} s: value {record.value}, bound"
        f" {record.bound}",
        hint=f"{kept}repeat the command to continue, with another --seed or more --timeout",
    )


def _require_checked(records: "Sequence[Record]") -> None:
    for record in records:
        if record.proof is not None and record.proof.format == "second solver":
            raise UncheckedError(
                f"the bound of {record.id} is not checked: its proof was too long to make, and only"
                f" {record.proof.checker} supports the bound",
                hint="starcast records verify --proof-timeout SECONDS tries to make a proof",
            )


def record_facts(record: "Record") -> dict[str, object]:
    """Return what a record says, by name, without the arrays of the witness."""
    from starcast.records.listing import describe_evidence

    fields = record.fields()
    fields.pop("format")
    proof = fields.pop("proof")
    tried = fields.pop("tried")
    fields["witness"] = {name: list(array.shape) for name, array in record.witness.items()}
    fields["evidence"] = describe_evidence(record)
    fields["proof"] = proof
    fields["tried"] = tried
    return fields
