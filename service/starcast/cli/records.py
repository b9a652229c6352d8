"""``starcast records``: the best known objects, with witnesses and proofs."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcast.cli import axes, distribution
from starcast.cli.db import store
from starcast.cli.output import (
    Format,
    FormatOption,
    emit,
    emit_outcome,
    emit_properties,
    reporter,
    say,
    write_text,
)
from starcast.cli.search import (
    CongestionOption,
    FolderOption,
    ProblemArgument,
    arguments_of,
    emit_records,
    find_known,
    keep_record,
    own_folder,
    record_facts,
)
from starcast.errors import InputError, NotFoundError, RejectedError

if TYPE_CHECKING:
    from starcast.records import Record

app = typer.Typer(
    no_args_is_help=True,
    help="Records of 'starcast search': list, show, verify, prove again, and store them.",
)
_COLUMNS = ("problem", "topology", "arguments", "value", "bound", "optimal", "proof", "seconds")


@app.command("problems")
def list_problems(output: FormatOption = Format.TABLE) -> None:
    """List the problems: question, symmetry that the search uses, and what that means."""
    from starcast.search import PROBLEMS

    columns = ["problem", "question", "sense"]
    if output is not Format.TABLE:
        columns += ["variables", "constraints", "symmetry"]
    rows = [
        {
            "problem": each.name,
            "question": each.question,
            "sense": each.sense,
            "variables": each.variables,
            "constraints": each.constraints,
            "symmetry": each.symmetry,
        }
        for each in PROBLEMS.values()
    ]
    emit(rows, columns, output)


@app.command("list")
def list_records(
    ctx: typer.Context,
    problem: Annotated[str | None, typer.Argument(help="Only the records of a problem.")] = None,
    stored: Annotated[
        bool, typer.Option("--stored", help="List the records in PostgreSQL instead of files.")
    ] = False,
    folder: FolderOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the records: those that are part of starcast, and yours if they are better.

    \b
    starcast records list
    starcast records list one-port-broadcast --format json
    """
    from starcast.records.listing import list_files
    from starcast.search import find_problem

    if problem is not None:
        find_problem(problem)
    if stored:
        from starcast.database.records import list_stored
        from starcast.database.sessions import session

        with store(ctx) as engine, session(engine) as opened:
            found = list_stored(opened)
    else:
        found = list_files([_shipped(), own_folder(ctx, folder)])
    rows = [row for row in found.rows if problem in (None, row["problem"])]
    emit(rows, _COLUMNS if output is Format.TABLE else found.columns, output)


@app.command("show")
def show(
    ctx: typer.Context,
    problem: ProblemArgument,
    topology: axes.TopologyArgument,
    congestion: CongestionOption = None,
    folder: FolderOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show the best known record: why its bound holds, what was tried, and how to repeat it."""
    record = _known(ctx, folder, problem, topology, congestion)
    emit_properties(record_facts(record), output)


@app.command("verify")
def verify(
    ctx: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="JSON files of records.", show_default="all records"),
    ] = None,
    proofs: Annotated[
        bool, typer.Option("--proofs", help="Make the DRAT proofs again too, and check them.")
    ] = False,
    folder: FolderOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Verify records: witnesses from their definitions, bounds by theory or by their proofs.

    Each witness is checked by code that knows nothing of the searches. A bound has to be that of
    theory, or its proof has to be about the formula that the problem writes.
    """
    from starcast.records import load_record
    from starcast.records import verify as verify_record
    from starcast.records.listing import load_files
    from starcast.search import verify_bound
    from starcast.search.proofs import prove_again

    if files:
        records = [load_record(path) for path in files]
    else:
        records = load_files([_shipped(), own_folder(ctx, folder)])
    checked = 0
    with reporter().task("verifying records", len(records), "records") as task:
        for record in records:
            verify_record(record)
            verify_bound(record)
            if proofs and record.proof is not None and record.proof.format == "DRAT":
                _compare_proof(record, prove_again(record).sha256)
                checked += 1
            task.advance()
    sentence = f"verified {len(records)} records"
    sentence += f" and {checked} DRAT proofs" if proofs else ""
    emit_outcome({"records": len(records), "proofs": checked}, output, sentence)


def _compare_proof(record: "Record", digest: str) -> None:
    if record.proof is not None and digest != record.proof.proof_sha256:
        say(f"{record.id}: another proof than that of the record; another version of CaDiCaL")


@app.command("prove")
def prove(
    ctx: typer.Context,
    problem: ProblemArgument,
    topology: axes.TopologyArgument,
    congestion: CongestionOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the DRAT proof to a file.")
    ] = None,
    formula: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the formula in DIMACS to a file.")
    ] = None,
    proof: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Check this DRAT proof, and make none.")
    ] = None,
    folder: FolderOption = None,
) -> None:
    """Make the DRAT proof of a record again, and have the independent checker dratify accept it.

    Formula and proof are files that other checkers, such as drat-trim, accept too.

    \b
    starcast records prove fault-diameter S5 --formula s5.cnf --out s5.drat
    starcast records prove fault-diameter S5 --proof s5.drat
    """
    from starcast.search.proofs import check_record_proof, formula_of, prove_again

    record = _known(ctx, folder, problem, topology, congestion)
    if formula is not None:
        write_text(formula_of(record).dimacs(), formula)
    if proof is not None:
        checker = check_record_proof(record, _read(proof))
        say(f"{checker} accepts {proof}: {record.proof.statement if record.proof else ''}")
        return
    checked = prove_again(record)
    _compare_proof(record, checked.sha256)
    if out is not None:
        write_text(checked.text, out)
    say(f"{checked.checker} accepts the proof: {record.proof.statement if record.proof else ''}")


@app.command("merge")
def merge(
    ctx: typer.Context,
    files: distribution.ShardFilesArgument,
    folder: FolderOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Keep the records that 'starcast search --shard' has written, if they are better than known.

    Of each problem and topology the best value and the best bound are kept. Witnesses and bounds
    are verified; refused are incomplete, overlapping and damaged shards, and those of other
    versions.

    \b
    starcast records merge part-*.json
    """
    from starcast.records.combination import improve_record
    from starcast.search.sharding import merge_searches

    best = []
    for found in merge_searches(files):
        arguments = dict(found.arguments)
        known = find_known(ctx, folder, found.problem, found.topology, arguments)
        keep = partial(keep_record, own_folder(ctx, folder))
        best.append(improve_record(known, found, keep))
    emit_records(best, output)


@app.command("store")
def store_records(
    ctx: typer.Context, folder: FolderOption = None, output: FormatOption = Format.TABLE
) -> None:
    """Verify all records, and store them in PostgreSQL. A better stored record stays.

    Bounds have to follow from theory, or their proofs have to be about the right formulas; the
    proofs are not made again.
    """
    from starcast.database.records import store_all
    from starcast.database.sessions import session
    from starcast.records.listing import load_files
    from starcast.search import verify_bound

    records = load_files([_shipped(), own_folder(ctx, folder)])
    for record in records:
        verify_bound(record)
    with store(ctx) as engine, session(engine) as opened:
        written = store_all(opened, records)
    sentence = f"stored {written} of {len(records)} records; the others were stored before"
    emit_outcome({"records": len(records), "stored": written}, output, sentence)


def _shipped() -> Path:
    from starcast.records import shipped_folder

    return shipped_folder()


def _known(
    ctx: typer.Context, folder: Path | None, problem: str, topology: str, congestion: int | None
) -> "Record":
    record = find_known(ctx, folder, problem, topology, arguments_of(congestion))
    if record is None:
        raise NotFoundError(
            f"no record of {problem} on {topology} is known",
            hint=f"starcast search {problem} {topology}",
        )
    return record


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}", hint="check its path and its mode"
        ) from None
    except UnicodeDecodeError:
        raise RejectedError(
            f"{path} is not a DRAT proof as text", hint="make it again with --out"
        ) from None
