"""From evidence to a verdict: one rule for all statements."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from starcast.claims.declaration import Claim, in_order
from starcast.claims.evidence import WORDS, Evidence, Finding, Place, Word
from starcast.claims.telling import detail

_WORST_FIRST: tuple[Word, ...] = ("fails", "not checkable", "holds as a bound")


@dataclass(frozen=True)
class Verdict:
    """What became of a statement.

    Attributes:
        claim: its id.
        verdict: ``holds``, ``holds as a bound``, ``fails`` or ``not checkable``.
        sizes: where it was looked at.
        counterexample: of ``fails``, the smallest; else None.
        detail: what was found, in sentences.
        evidence: what the checks found, size by size.
        parts: the verdicts of the statements that it is the conjunction of.
        of: the id of the forest or schedule of which the counterexample speaks; empty without one.
    """

    claim: str
    verdict: Word
    sizes: tuple[str, ...]
    counterexample: Place | None
    detail: str
    evidence: tuple[Evidence, ...] = field(default=(), repr=False)
    parts: tuple["Verdict", ...] = field(default=(), repr=False)
    of: str = ""


def judged(findings: Iterable[Finding]) -> Word:
    """The rule.

    One counterexample and it fails. What is absent, or was never compared, cannot be checked. An inequality or an order that is
    met holds as a bound. Else it holds.
    """
    seen = list(findings)
    if any(finding.counterexample is not None for finding in seen):
        return "fails"
    if not seen or any(finding.relation == "absent" for finding in seen):
        return "not checkable"
    return "holds" if all(finding.relation == "=" for finding in seen) else "holds as a bound"


def verdict(claim: Claim, evidence: Sequence[Evidence]) -> Verdict:
    """What the evidence of all sizes says about a statement; sizes beyond it are told, and do not decide."""
    ordered = tuple(sorted(evidence, key=lambda one: in_order(one.size)))
    deciding = [one for one in ordered if one.size not in claim.sizes.beyond]
    findings = [finding for one in deciding for finding in one.findings]
    word = judged(findings)
    wrong = next((finding for finding in findings if finding.counterexample is not None), None)
    return Verdict(
        claim.id,
        word,
        tuple(one.size for one in deciding),
        None if wrong is None else wrong.counterexample,
        detail(claim, word, ordered),
        ordered,
        of="" if wrong is None else wrong.of,
    )


def conjunction(name: str, parts: Sequence[Verdict]) -> Verdict:
    """All parts together: it fails with the first that fails, else cannot be checked, else holds as a bound, if a part does."""
    found = {part.verdict for part in parts}
    word = next((word for word in _WORST_FIRST if word in found), WORDS[0])
    decisive = [part for part in parts if part.verdict == word]
    sizes = sorted({size for part in parts for size in part.sizes}, key=in_order)
    first = min(decisive, key=_smallest) if word == "fails" else None
    named = ", ".join(part.claim for part in decisive)
    said = {
        "fails": f"{named} {'fails' if len(decisive) == 1 else 'fail'}",
        "not checkable": f"{named} cannot be checked",
        "holds as a bound": f"all of {len(parts)} parts hold, {named} as a bound",
        "holds": f"all of {len(parts)} parts hold",
    }
    return Verdict(
        name,
        word,
        tuple(sizes),
        None if first is None else first.counterexample,
        f"{said[word]}.",
        parts=tuple(parts),
        of="" if first is None else first.of,
    )


def size_of(counterexample: Mapping[str, object]) -> tuple[int, int]:
    """The n and k of a counterexample, k = 0 where it has none."""
    numbers = [int(str(counterexample.get(name, 0))) for name in ("n", "k")]
    return numbers[0], numbers[1]


def _smallest(failed: Verdict) -> tuple[int, int]:
    return size_of(failed.counterexample or {})
