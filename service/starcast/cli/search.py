"""``starcast search``: exact searches on small topologies."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcast.cli import axes, completion, context
from starcast.cli.output import Format, FormatOption, emit_properties, reporter, say
from starcast.errors import LimitError

if TYPE_CHECKING:
    from starcast.records import Record


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
    problem: ProblemArgument,
    topology: axes.TopologyArgument,
    congestion: CongestionOption = None,
    timeout: Annotated[float, typer.Option(help="Time limit in seconds.", min=0.1)] = 60.0,
    memory: Annotated[
        int, typer.Option(help="Memory limit of each process in MB.", min=100)
    ] = 4_000,
    seed: Annotated[int, typer.Option(help="Random seed of the first process.", min=0)] = 0,
    jobs: Annotated[
        int, typer.Option(help="Processes, each with another seed.", min=1, max=256)
    ] = 1,
    engine: Annotated[EngineName, typer.Option(help="Solver of formulas.")] = EngineName.CADICAL,
    folder: FolderOption = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ignore what is known; still nothing better is lost.")
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Search for the best object of a problem, or a proof that there is no better one.

    The search starts from the best known record, and writes each improvement to the folder of your
    records: repeat an interrupted search to continue it. If the time limit ends the search before
    value and bound agree, the best of both are printed and the exit code is 7. No server is needed;
    most problems need the extra starcast[search].

    \b
    starcast search one-port-broadcast S5
    starcast search edge-disjoint-trees S4 --timeout 300 --jobs 2
    starcast search congestion-trees S4 --congestion 3
    """
    from starcast.records import path_of, save_record
    from starcast.search import Budget
    from starcast.search import search as run_search
    from starcast.support.signals import sigterm_as_interrupt

    target = own_folder(ctx, folder)
    arguments = arguments_of(congestion)
    known = None if fresh else find_known(ctx, folder, problem, topology, arguments)
    budget = Budget(timeout, memory, seed, jobs, engine.value, reporter())
    with sigterm_as_interrupt():
        record = run_search(
            problem,
            topology,
            budget,
            known,
            lambda improved: _keep(save_record(target, improved)),
            **arguments,
        )
    emit_properties(record_facts(record), output)
    if not record.optimal:
        path = path_of(target, record.problem, record.topology, record.arguments)
        kept = f"kept in {path}; " if path.is_file() else ""
        raise LimitError(
            f"{record.id} is not settled after {timeout:g} s: value {record.value}, bound"
            f" {record.bound}",
            hint=f"{kept}repeat the command to continue, with another --seed or more --timeout",
        )


def _keep(path: Path) -> None:
    say(f"kept in {path}")


def record_facts(record: "Record") -> dict[str, object]:
    """Return what a record says, by name, without the arrays of the witness."""
    fields = record.fields()
    fields.pop("format")
    proof = fields.pop("proof")
    tried = fields.pop("tried")
    fields["witness"] = {name: list(array.shape) for name, array in record.witness.items()}
    fields["proof"] = proof
    fields["tried"] = tried
    return fields
