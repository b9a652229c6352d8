"""Comparison and combination of records of one problem and topology."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce

from starcast.records.model import EVIDENCE, PROBLEMS, Attempt, Record


def combine_records(records: Iterable[Record]) -> Record:
    """Return the best value and the best bound of records of one problem and topology.

    Searches that started from the same record have the same attempts at first; the result has these
    once.

    Args:
        records: at least one record; of equal values, that of the first record is kept.
    """
    return reduce(_combine, records)


def is_better(record: Record, other: Record) -> bool:
    """Return whether a record says more than another of the same problem and topology.

    It does if its value or its bound is better and neither is worse. Of equal records, the one with
    the better evidence for its bound is better, then the one with more searches.
    """
    sign = 1 if PROBLEMS[record.problem] == "least" else -1
    value = sign * (other.value - record.value)
    bound = sign * (record.bound - other.bound)
    if value < 0 or bound < 0:
        return False
    if value > 0 or bound > 0:
        return True
    evidence = _rank_evidence(record) - _rank_evidence(other)
    return evidence > 0 or (evidence == 0 and len(record.tried) > len(other.tried))


def improve_record(known: Record | None, found: Record, keep: Callable[[Record], object]) -> Record:
    """Return the best value and the best bound of what was known and what was found.

    Args:
        known: the record before the search, if there is one.
        found: the record after it.
        keep: called with the result if it is better than what was known.
    """
    record = found if known is None else combine_records([known, found])
    if known is None or is_better(record, known):
        keep(record)
    return record


def _combine(first: Record, second: Record) -> Record:
    sign = 1 if PROBLEMS[first.problem] == "least" else -1
    holder = second if sign * (first.value - second.value) > 0 else first
    bounding = second if sign * (second.bound - first.bound) > 0 else first
    if first.bound == second.bound and _rank_evidence(second) > _rank_evidence(first):
        bounding = second
    shared = _count_shared(first.tried, second.tried)
    added = second.tried[shared:]
    own = {name: each for name, each in holder.witness.items() if name not in EVIDENCE}
    evidence = {name: each for name, each in bounding.witness.items() if name in EVIDENCE}
    return replace(
        holder,
        witness={**own, **evidence},
        bound=bounding.bound,
        reason=bounding.reason,
        proof=bounding.proof,
        tried=(*first.tried, *added),
        seconds=round(first.seconds + sum(attempt.seconds for attempt in added), 1),
    )


def _rank_evidence(record: Record) -> int:
    """Return how good the evidence for a bound is: nothing can check a second solver."""
    if record.proof is None:
        return 1
    return {"second solver": 0, "DRAT": 2, "LRAT": 3}[record.proof.format]


def _count_shared(first: tuple[Attempt, ...], second: tuple[Attempt, ...]) -> int:
    """Return the number of attempts with which both begin."""
    shared = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        shared += 1
    return shared
