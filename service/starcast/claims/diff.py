"""Differences between two verification runs."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from starcast.claims.catalogue import covers
from starcast.claims.describe import describe_place
from starcast.claims.verdict import Verdict

COLUMNS = ("id", "change", "before", "after")
Kind = Literal["verdict", "counterexample", "sizes", "appeared", "gone"]


@dataclass(frozen=True)
class Change:
    """One difference.

    Attributes:
        claim: id of the claim.
        kind: what changed.
        before, after: in words; empty if there is none.
    """

    claim: str
    kind: Kind
    before: str
    after: str

    def row(self) -> dict[str, str]:
        """Return the change as a row of a listing."""
        return {"id": self.claim, "change": self.kind, "before": self.before, "after": self.after}


def changes(
    before: Iterable[Verdict], after: Iterable[Verdict], names: Collection[str] = ()
) -> list[Change]:
    """Return the differences, in the order of the first run, then of the second.

    Args:
        before: verdicts of the first run.
        after: verdicts of the second run.
        names: what the second run was asked to verify: ids or beginnings of ids (none: all). Other
            claims of the first run are not reported as gone.
    """
    old = {verdict.claim: verdict for verdict in before}
    new = {verdict.claim: verdict for verdict in after}
    differences: list[Change] = []
    for claim_id in dict.fromkeys([*old, *new]):
        if claim_id in old and claim_id in new:
            differences += _between(old[claim_id], new[claim_id])
        elif claim_id in new:
            differences.append(Change(claim_id, "appeared", "", new[claim_id].verdict))
        elif is_requested(claim_id, names):
            differences.append(Change(claim_id, "gone", old[claim_id].verdict, ""))
    return differences


def is_requested(claim_id: str, names: Collection[str]) -> bool:
    """Return whether ids or beginnings of ids select a claim; no names select all."""
    return not names or any(covers(name, claim_id) for name in names)


def join_sizes(sizes: Sequence[str]) -> str:
    """Return specs separated by spaces."""
    return " ".join(sizes)


def _between(old: Verdict, new: Verdict) -> list[Change]:
    pairs: dict[Kind, tuple[str, str]] = {
        "verdict": (old.verdict, new.verdict),
        "counterexample": (_counterexample(old), _counterexample(new)),
        "sizes": (join_sizes(old.sizes), join_sizes(new.sizes)),
    }
    return [
        Change(old.claim, kind, before, after)
        for kind, (before, after) in pairs.items()
        if before != after
    ]


def _counterexample(verdict: Verdict) -> str:
    return "" if verdict.counterexample is None else describe_place(verdict.counterexample)
