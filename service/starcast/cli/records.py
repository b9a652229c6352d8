"""``starcast records``: the best known objects, with witnesses and proofs."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcast.cli import axes, distribution
from starcast.cli.db import store
from starcast.cli.output import (
    FormatOption,
    check_suffix,
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
from starcast.errors import (
    InputError,
    LimitError,
    NotFoundError,
    RejectedError,
    UncheckedError,
)
from starcast.support.text import pluralize
from starcast.vocabulary import Format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starcast.records import Record
    from starcast.search import CheckedRecord
    from starcast.search.refutation import Refutation

app = typer.Typer(
    no_args_is_help=True,
    help="Records of 'starcast search': list, show, verify, prove again, and store them.",
)
ProofsOption = Annotated[
    bool, typer.Option("--proofs/--no-proofs", help="Make the proofs of bounds again.")
]
ProofTimeoutOption = Annotated[
    float, typer.Option(help="Time limit of each proof in seconds.", min=0.1)
]
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
    shown = (*_COLUMNS, "verification") if stored else _COLUMNS
    emit(rows, shown if output is Format.TABLE else found.columns, output)


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
    proofs: ProofsOption = True,
    proof_timeout: ProofTimeoutOption = 300.0,
    folder: FolderOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Verify records: witnesses from their definitions, bounds by theory or by their proofs.

    Each witness is checked by code that knows nothing of the searches. A bound has to be that of
    theory, or follow from a certificate of inequalities, or its LRAT proof is made again and
    checked. A bound with --no-proofs, or whose proof takes too long, is 'not made again'; a bound
    that only a second solver supports is 'not checked' unless a proof is found now. The exit code
    is 0 only if all records are verified; it is 8 if a part was not checked, and 6 if a record is
    wrong.
    """
    from starcast.records import load_record
    from starcast.records.listing import load_files

    if files:
        records = [load_record(path) for path in files]
    else:
        records = load_files([_shipped(), own_folder(ctx, folder)])
    checked = _check_all(records, proofs, proof_timeout)
    emit_outcome(_counts(checked), output, f"verified {_describe(checked)}")
    _require_verified(checked)


def _check_all(
    records: "Sequence[Record]", proofs: bool, proof_timeout: float
) -> "list[CheckedRecord]":
    """Verify records, and report other proofs than those of the records."""
    from starcast.search import Budget, check_record

    checked = []
    with reporter().task("verifying records", len(records), "records") as task:
        for record in records:
            budget = Budget(proof_timeout) if proofs else None
            checked.append(check_record(record, budget))
            _compare_proof(record, checked[-1].proof)
            task.advance()
    return checked


def _unverified(checked: "Sequence[CheckedRecord]") -> "list[CheckedRecord]":
    return [each for each in checked if each.verification != "verified"]


def _counts(checked: "Sequence[CheckedRecord]") -> dict[str, object]:
    """Return how many records are in each state, and those that are not verified."""
    from starcast.records.model import VERIFICATIONS

    counts: dict[str, object] = {"records": len(checked)}
    for state in VERIFICATIONS:
        counts[state.replace(" ", "_")] = sum(each.verification == state for each in checked)
    counts["proofs"] = sum(each.proof is not None for each in checked)
    counts["unverified"] = [
        {"id": each.record.id, "verification": each.verification, "reason": each.reason}
        for each in _unverified(checked)
    ]
    return counts


def _describe(checked: "Sequence[CheckedRecord]") -> str:
    verified = len(checked) - len(_unverified(checked))
    proofs = sum(each.proof is not None for each in checked)
    return f"{verified} of {pluralize(len(checked), 'record')}; {pluralize(proofs, 'proof')} made"


def _require_verified(checked: "Sequence[CheckedRecord]") -> None:
    """Check that nothing of the records was left unchecked.

    Raises:
        UncheckedError: something was.
    """
    unverified = _unverified(checked)
    if not unverified:
        return
    named = [f"{each.record.id}: {each.verification} ({each.reason})" for each in unverified[:3]]
    more = f"; and {len(unverified) - 3} more" if len(unverified) > 3 else ""
    raise UncheckedError(
        f"{pluralize(len(unverified), 'bound')} of {len(checked)} not verified: {'; '.join(named)}"
        f"{more}",
        hint="make the proofs with --proofs, a higher --proof-timeout and 'starcast[search]'",
    )


def _compare_proof(record: "Record", refutation: "Refutation | None") -> None:
    if refutation is None or record.proof is None or record.proof.format != "LRAT":
        return
    if refutation.sha256 != record.proof.proof_sha256:
        say(f"{record.id}: another proof than that of the record; another version of CaDiCaL")


@app.command("prove")
def prove(
    ctx: typer.Context,
    problem: ProblemArgument,
    topology: axes.TopologyArgument,
    congestion: CongestionOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the LRAT proof to a file.")
    ] = None,
    formula: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the formula in DIMACS to a file.")
    ] = None,
    proof: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Check this LRAT or DRAT proof, and make none."),
    ] = None,
    proof_timeout: ProofTimeoutOption = 300.0,
    folder: FolderOption = None,
) -> None:
    """Make the LRAT proof of a record again, and have an independent checker accept it.

    Formula and proof are files that other checkers accept too. The verified checker cake_lpr also
    has to accept the proof if it is on the PATH.

    \b
    starcast records prove fault-diameter S5 --formula s5.cnf --out s5.lrat
    starcast records prove fault-diameter S5 --proof s5.lrat
    """
    from starcast.records import verify as verify_record
    from starcast.search import Budget
    from starcast.search.proofs import check_record_proof, formula_of, prove_again

    if out is not None:
        check_suffix(out, ".lrat")
    record = _known(ctx, folder, problem, topology, congestion)
    verify_record(record)
    statement = record.proof.statement if record.proof else ""
    if formula is not None:
        write_text(formula_of(record).dimacs(), formula)
    if proof is not None:
        checker = check_record_proof(record, _read(proof))
        say(f"{checker} accepts {proof}: {statement}")
        return
    refutation = prove_again(record, Budget(proof_timeout, reporter=reporter()), out)
    if refutation is None:
        raise LimitError(
            f"the proof of {record.id} takes more than {proof_timeout:g} s",
            hint="raise --proof-timeout",
        )
    _compare_proof(record, refutation)
    say(f"{refutation.checker} accepts the proof of {refutation.size / 1000:,.0f} kB: {statement}")


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
    ctx: typer.Context,
    proofs: ProofsOption = True,
    proof_timeout: ProofTimeoutOption = 300.0,
    folder: FolderOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Verify all records, and store them in PostgreSQL. A better stored record stays.

    What was checked of each record is stored with it, as 'starcast records verify' prints it:
    verified, not made again, or not checked.
    """
    from starcast.database.records import store_all
    from starcast.database.sessions import session
    from starcast.records.listing import load_files

    records = load_files([_shipped(), own_folder(ctx, folder)])
    checked = _check_all(records, proofs, proof_timeout)
    states = [(each.record, each.verification) for each in checked]
    with store(ctx) as engine, session(engine) as opened:
        written = store_all(opened, states)
    sentence = f"stored {written} of {len(records)} records; the others were stored before"
    emit_outcome(
        {"stored": written, **_counts(checked)},
        output,
        f"{sentence}; verified {_describe(checked)}",
    )


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
            f"{path} is not a proof as text", hint="make it again with --out"
        ) from None
