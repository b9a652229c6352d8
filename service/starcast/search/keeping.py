"""Decide which parts of a record can be trusted, and write record files.

A record file may come from an untrusted source. The witness in the file, and a bound from theory or
from inequalities, are verified whenever the file is used. A bound that needs a proof is used only
after this process has regenerated the proof. The proofs of built-in records are exempt, because
starcast's tests verify them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from starcast.records import Record, find_record, is_better, shipped_folder, verify
from starcast.records.files import load_named, locked_path, write_record
from starcast.records.model import combine_records
from starcast.search.engines import Budget
from starcast.search.proofs import CheckedRecord, check_record, problem_of
from starcast.support.errors import RejectedError
from starcast.support.progress import Reporter, Silent


def trusted_part(record: Record, budget: Budget | None = None) -> CheckedRecord:
    """Check a record, and replace an unverified bound with the bound from theory.

    Args:
        record: a record from any source.
        budget: the limits for regenerating the proof; by default no proof is generated.

    Returns:
        The record with only its verified parts, the verification state of the original bound, and
        the reason for this state.

    Raises:
        RejectedError: the record's witness, bound or proof is wrong.
        InputError: the topology does not exist, or the problem is not defined on it or has no
            formula.
    """
    shipped = find_record([shipped_folder()], record.problem, record.topology, record.arguments)
    if shipped is not None and shipped.digest == record.digest:
        return CheckedRecord(record, "verified")
    # A second solver is used only if the proof took too long, so this proof is not tried again.
    is_provable = record.proof is not None and record.proof.format != "second solver"
    checked = check_record(record, budget if is_provable else None)
    if checked.verification == "verified":
        return checked
    theory = problem_of(record).bound()
    return checked._replace(
        record=replace(
            record,
            bound=theory.value,
            reason=theory.reason,
            proof=None,
            witness=record.solution,
        )
    )


def find_trusted(
    folders: Sequence[Path],
    problem: str,
    topology: str,
    arguments: Mapping[str, int],
    budget: Budget | None = None,
) -> Record | None:
    """Combine the records of a problem on a topology in several folders into one record.

    Only the verified parts of the records are used (see `trusted_part`).

    Args:
        folders: the folders.
        problem: the name of the problem.
        topology: the spec of the topology.
        arguments: the arguments of the problem, by name.
        budget: the limits for regenerating proofs; by default no proof is generated.

    Returns:
        The combined record; None if no folder has a record.

    Raises:
        RejectedError: the witness, bound or proof of a record is wrong.
        InputError: a record file is damaged, the topology does not exist, or the problem is not
            defined on it or has no formula.
        LimitError: a record file is too large.
    """
    best: Record | None = None
    for folder in folders:
        record = find_record([folder], problem, topology, arguments)
        if record is None:
            continue
        # The record's proof is regenerated only if the record's bound is better than the best
        # verified bound so far.
        is_needed = best is None or record.sign * (record.bound - best.bound) > 0
        try:
            checked = trusted_part(record, budget if is_needed else None)
        except RejectedError as error:
            raise RejectedError(
                f"the record {record.id} in {folder} is wrong: {error.message}",
                hint="find the wrong file with 'starcast records verify FILE', and remove it",
            ) from None
        if is_needed and budget is not None and checked.verification != "verified":
            budget.reporter.say(
                f"the bound {record.bound} of {record.id} in {folder} is ignored:"
                f" {checked.verification} ({checked.reason})"
            )
        best = checked.record if best is None else combine_records([best, checked.record])
    return best


def save_record(
    folder: Path, record: Record, reporter: Reporter | None = None, *, is_proved: bool = False
) -> Path:
    """Verify a record, and combine it with the record in a folder, under the folder's lock.

    All commands write their records with this function. The better value and the better bound of
    the two records are kept. A wrong record in the folder is replaced.

    Args:
        folder: a folder of records.
        record: the record.
        reporter: receives a message if a wrong record is replaced.
        is_proved: whether this process has generated the record's proof. If not, a bound that only
            a proof supports is replaced with the bound from theory.

    Returns:
        The path of the JSON file.

    Raises:
        RejectedError: the record's witness, bound or proof is wrong.
        InputError: the files cannot be written, the folder's record is damaged, the topology does
            not exist, or the problem is not defined on it or has no formula.
        LimitError: a file of the folder's record is too large.
    """
    if is_proved and record.proof is not None:
        verify(record)
    else:
        record = trusted_part(record).record
    with locked_path(folder, record) as path:
        stored = _load_if_right(path, reporter or Silent())
        best = record if stored is None else combine_records([stored, record])
        if stored is None or is_better(best, stored):
            write_record(path, best)
    return path


def _load_if_right(path: Path, reporter: Reporter) -> Record | None:
    """Read the record from a file; return None if the file does not exist or its record is wrong.

    The record's proof is not regenerated, because this may take long. If `save_record` wrote the
    file, the proof was generated earlier. Otherwise, a search that uses the file regenerates the
    proof or ignores the bound.
    """
    if not path.is_file():
        return None
    stored = load_named(path)
    try:
        check_record(stored)
    except RejectedError as error:
        reporter.say(f"{path} is replaced: {error.message}")
        return None
    return stored
