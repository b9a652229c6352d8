"""What differs between two ledgers."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from starcast.claims.statements import covers
from starcast.claims.telling import place
from starcast.claims.verdict import Verdict

COLUMNS = ("id", "change", "before", "after")


@dataclass(frozen=True)
class Change:
    """One difference.

    Attributes:
        claim: the id of the statement.
        kind: ``verdict``, ``counterexample``, ``sizes``, ``appeared`` or ``gone``.
        before, after: in words; empty where there is none.
    """

    claim: str
    kind: str
    before: str
    after: str

    def row(self) -> dict[str, str]:
        """As a row of a listing."""
        return {"id": self.claim, "change": self.kind, "before": self.before, "after": self.after}


def changes(
    before: Iterable[Verdict], after: Iterable[Verdict], names: Collection[str] = ()
) -> list[Change]:
    """The differences, in the order of the first ledger, then of the second.

    Args:
        before: the verdicts of the first.
        after: those of the second.
        names: what the second one was asked about, by ids or beginnings of ids; all, if none: what it was not asked about is
            not gone.
    """
    old, new = ({verdict.claim: verdict for verdict in some} for some in (before, after))
    found: list[Change] = []
    for claim in dict.fromkeys([*old, *new]):
        if claim not in new:
            found += (
                [Change(claim, "gone", old[claim].verdict, "")] if asked_about(claim, names) else []
            )
        elif claim not in old:
            found.append(Change(claim, "appeared", "", new[claim].verdict))
        else:
            found += _between(old[claim], new[claim])
    return found


def asked_about(claim: str, names: Collection[str]) -> bool:
    """Whether these ids or beginnings of ids cover a statement; none cover all."""
    return not names or any(covers(name, claim) for name in names)


def _between(old: Verdict, new: Verdict) -> list[Change]:
    pairs = {
        "verdict": (old.verdict, new.verdict),
        "counterexample": (_told(old), _told(new)),
        "sizes": (listed(old.sizes), listed(new.sizes)),
    }
    return [Change(old.claim, kind, was, now) for kind, (was, now) in pairs.items() if was != now]


def _told(verdict: Verdict) -> str:
    return "" if verdict.counterexample is None else place(verdict.counterexample)


def listed(sizes: Sequence[str]) -> str:
    """Sizes by blanks."""
    return " ".join(sizes)
