"""The verification of records: what was checked of each, and what was not."""

from typing import NamedTuple

from starcast.errors import LimitError, UnavailableError
from starcast.records import Proof, Record, verify
from starcast.records.model import Verification
from starcast.search.engines import Budget
from starcast.search.proofs import prove_again, verify_bound
from starcast.search.refutation import Refutation

#: Seconds for each proof that is made again, unless the caller chooses others.
PROOF_SECONDS = 300.0


class CheckedRecord(NamedTuple):
    """A record with the result of its verification.

    Attributes:
        record: the record, whose witness has the stated value.
        verification: what was checked of its bound.
        reason: why the bound is not verified; empty if it is.
        proof: the proof that was made again, if there is one.
    """

    record: Record
    verification: Verification
    reason: str = ""
    proof: Refutation | None = None


def check_record(record: Record, budget: Budget | None = None) -> CheckedRecord:
    """Check the witness of a record from its definition, and its bound.

    Args:
        record: the record.
        budget: the limits of making its proof again; by default no proof is made.

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
            return _unverified(record, record.proof, "proofs were not asked for")
        limits = Budget(budget.seconds, budget.memory, reporter=budget.reporter)
        proof = prove_again(record, limits)
    except (LimitError, UnavailableError) as error:
        return _unverified(record, record.proof, error.message)
    if proof is None:
        return _unverified(record, record.proof, f"the proof takes more than {budget.seconds:g} s")
    return CheckedRecord(record, "verified", proof=proof)


def _unverified(record: Record, proof: Proof, reason: str) -> CheckedRecord:
    if proof.format == "second solver":
        reason = f"only {proof.checker} supports the bound; {reason}"
        return CheckedRecord(record, "not checked", reason)
    return CheckedRecord(record, "not made again", reason)
