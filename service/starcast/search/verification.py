"""Verify records of searches, and report which parts of each record were checked."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from starcast.records import Proof, Record, verify
from starcast.search.engines import Budget
from starcast.search.proofs import Refutation, compare_proof, prove_again, verify_bound
from starcast.support.errors import (
    LimitError,
    RejectedError,
    StarcastError,
    UnavailableError,
    UncheckedError,
)
from starcast.support.progress import Reporter
from starcast.support.table import Table
from starcast.support.text import pluralize
from starcast.support.vocabulary import Verification


class CheckedRecord(NamedTuple):
    """A record with the result of its verification.

    Attributes:
        record: the record. Its witness has the stated value unless it is rejected.
        verification: the extent to which the record's bound was verified, or ``rejected`` if the
            record is wrong.
        reason: why the bound is not verified, or a remark on the new proof.
        proof: the new proof of the bound, if one was made.
    """

    record: Record
    verification: Verification | Literal["rejected"]
    reason: str = ""
    proof: Refutation | None = None


def check_record(record: Record, budget: Budget | None = None) -> CheckedRecord:
    """Check the witness of a record against its definition, and check its bound.

    Args:
        budget: the limits for making the record's proof again; by default no proof is made.

    Raises:
        RejectedError: the record is wrong.
        InputError: the topology does not exist, or the problem is not defined on it.
    """
    verify(record)
    if record.proof is None:
        verify_bound(record)
        return CheckedRecord(record, "verified")
    try:
        if budget is None:
            verify_bound(record)
            return _unverified(record, record.proof, "proofs were not requested")
        limits = Budget(budget.seconds, budget.memory, reporter=budget.reporter)
        proof = prove_again(record, limits)
    except (LimitError, UnavailableError) as error:
        return _unverified(record, record.proof, error.message)
    if proof is None:
        return _unverified(record, record.proof, f"the proof takes more than {budget.seconds:g} s")
    return CheckedRecord(record, "verified", compare_proof(record, proof), proof)


def _unverified(record: Record, proof: Proof, reason: str) -> CheckedRecord:
    if proof.format == "second solver":
        reason = f"the bound is supported only by {proof.checker}; {reason}"
        return CheckedRecord(record, "not checked", reason)
    return CheckedRecord(record, "not made again", reason)


def check_records(
    records: Sequence[Record], budget: Budget | None, reporter: Reporter
) -> Iterator[CheckedRecord]:
    """Check records one by one, like `check_record`; wrong records are yielded as rejected."""
    with reporter.task("verifying records", len(records), "records") as task:
        for record in records:
            try:
                yield check_record(record, budget)
            except RejectedError as error:
                yield CheckedRecord(record, "rejected", error.message)
            task.advance()


def tabulate_checks(checked: Sequence[CheckedRecord]) -> Table:
    """Return a table row for each checked record, and an error if some are not verified."""
    rows = [
        {
            "id": each.record.id,
            "verification": each.verification,
            "checker": each.proof and each.proof.checker,
            "seconds": each.proof and each.proof.seconds,
            "reason": each.reason,
        }
        for each in checked
    ]
    verified = sum(each.verification == "verified" for each in checked)
    proofs = sum(each.proof is not None for each in checked)
    note = (
        f"verified {verified} of {pluralize(len(checked), 'record')};"
        f" {pluralize(proofs, 'proof')} made"
    )
    columns = ("id", "verification", "checker", "seconds", "reason")
    return Table.of(rows, columns, note, _failure(checked), spare=("checker", "seconds"))


def _failure(checked: Sequence[CheckedRecord]) -> StarcastError | None:
    """Return the error that names the wrong records or, if there are none, the unverified ones."""
    wrong = [each for each in checked if each.verification == "rejected"]
    unverified = [each for each in checked if each.verification != "verified"]
    if wrong:
        first = wrong[0]
        return RejectedError(
            f"{pluralize(len(wrong), 'record is', 'records are')} wrong: {first.reason}",
            hint="search again",
        )
    if unverified:
        first = unverified[0]
        return UncheckedError(
            f"{pluralize(len(unverified), 'bound is', 'bounds are')} not verified:"
            f" {first.record.id}: {first.verification} ({first.reason})",
            hint="install 'starcast[search]', and add --proofs or a higher --proof-timeout",
        )
    return None


def find_unsettled(records: Sequence[Record], seconds: float) -> StarcastError | None:
    """Return the error for records that a search did not settle, or None if it settled all.

    Args:
        records: the records after the search.
        seconds: the time limit of the search for each record.

    Returns:
        A LimitError if the value and bound of a record differ, or an UncheckedError if only a
        second solver supports a bound.
    """
    if unsettled := [record for record in records if not record.optimal]:
        first, *others = unsettled
        more = (
            f"; {len(others)} more of {len(records)} records are not proven optimal"
            if others
            else ""
        )
        return LimitError(
            f"{first.id} is not proven optimal after {seconds:g} s: value {first.value}, bound"
            f" {first.bound}{more}",
            hint="repeat the command to continue, with another --seed or more --timeout",
        )
    for record in records:
        if record.proof is not None and record.proof.format == "second solver":
            return UncheckedError(
                f"the bound of {record.id} is not checked: its proof was too long to make, and only"
                f" {record.proof.checker} supports the bound",
                hint="try to make a proof with 'starcast records verify --proof-timeout SECONDS'",
            )
    return None
