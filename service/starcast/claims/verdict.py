"""Verdicts: one rule derives them from the evidence of every claim."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from starcast.claims.describe import describe_evidence
from starcast.claims.evidence import Evidence, Finding, Place
from starcast.claims.model import Claim, size_order
from starcast.support.vocabulary import VERDICT_WORDS, VerdictWord

_WORST_FIRST: tuple[VerdictWord, ...] = ("fails", "not checkable", "holds as a bound")


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim.

    Attributes:
        claim: id of the claim.
        verdict: ``holds``, ``holds as a bound``, ``fails`` or ``not checkable``.
        sizes: specs on which it was verified.
        counterexample: the smallest, if the claim fails; otherwise None.
        detail: the evidence in sentences.
        evidence: the evidence at each size.
        parts: verdicts of the parts of a conjunction.
        of: id of the forest or schedule of the counterexample; empty if there is none.
    """

    claim: str
    verdict: VerdictWord
    sizes: tuple[str, ...]
    counterexample: Place | None
    detail: str
    evidence: tuple[Evidence, ...] = field(default=(), repr=False)
    parts: tuple["Verdict", ...] = field(default=(), repr=False)
    of: str = ""


def judge(findings: Iterable[Finding]) -> VerdictWord:
    """Return the verdict that findings imply.

    With a counterexample the claim fails. Without findings, or if the papers do not contain what it
    is about, it is not checkable. If an inequality or an order of growth is met, it holds as a
    bound. Otherwise it holds.
    """
    recorded = list(findings)
    if any(finding.counterexample is not None for finding in recorded):
        return "fails"
    if not recorded or any(finding.relation == "absent" for finding in recorded):
        return "not checkable"
    is_exact = all(finding.relation == "=" for finding in recorded)
    return "holds" if is_exact else "holds as a bound"


def claim_verdict(claim: Claim, evidence: Sequence[Evidence]) -> Verdict:
    """Return the verdict on a claim from its evidence; sizes beyond the claim do not decide."""
    ordered = tuple(sorted(evidence, key=lambda found: size_order(found.size)))
    # A paper that says "for n >= 4" is not refuted at n = 3; what happens there is only shown.
    deciding = [found for found in ordered if found.size not in claim.sizes.beyond]
    findings = [finding for found in deciding for finding in found.findings]
    word = judge(findings)
    failures = (finding for finding in findings if finding.counterexample is not None)
    failure = next(failures, None)
    return Verdict(
        claim.id,
        word,
        tuple(found.size for found in deciding),
        None if failure is None else failure.counterexample,
        describe_evidence(claim, word, ordered),
        ordered,
        of="" if failure is None else failure.of,
    )


def conjunction_verdict(claim_id: str, parts: Sequence[Verdict]) -> Verdict:
    """Return the verdict on a conjunction: that of its worst part.

    A conjunction fails with the smallest counterexample of its parts; otherwise it is not
    checkable, or holds as a bound, if one part does.
    """
    words = {part.verdict for part in parts}
    word = next((word for word in _WORST_FIRST if word in words), VERDICT_WORDS[0])
    decisive = [part for part in parts if part.verdict == word]
    sizes = sorted({size for part in parts for size in part.sizes}, key=size_order)
    smallest = min(decisive, key=_counterexample_size) if word == "fails" else None
    names = ", ".join(part.claim for part in decisive)
    details = {
        "fails": f"{names} {'fails' if len(decisive) == 1 else 'fail'}",
        "not checkable": f"{names} cannot be checked",
        "holds as a bound": f"all {len(parts)} parts hold, {names} as a bound",
        "holds": f"all {len(parts)} parts hold",
    }
    return Verdict(
        claim_id,
        word,
        tuple(sizes),
        None if smallest is None else smallest.counterexample,
        f"{details[word]}.",
        parts=tuple(parts),
        of="" if smallest is None else smallest.of,
    )


def size_of(counterexample: Mapping[str, object]) -> tuple[int, int]:
    """Return n and k of a counterexample; 0 for a missing parameter."""
    return int(str(counterexample.get("n", 0))), int(str(counterexample.get("k", 0)))


def _counterexample_size(verdict: Verdict) -> tuple[int, int]:
    return size_of(verdict.counterexample or {})
