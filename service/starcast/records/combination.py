"""Combination of records of one problem and topology, such as the results of several searches."""

from collections.abc import Iterable
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


def _combine(first: Record, second: Record) -> Record:
    sign = 1 if PROBLEMS[first.problem] == "least" else -1
    holder = second if sign * (first.value - second.value) > 0 else first
    bounding = second if sign * (second.bound - first.bound) > 0 else first
    if first.bound == second.bound and first.proof is None and second.proof is not None:
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


def _count_shared(first: tuple[Attempt, ...], second: tuple[Attempt, ...]) -> int:
    """Return the number of attempts with which both begin."""
    shared = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        shared += 1
    return shared
