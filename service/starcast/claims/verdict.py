"""Verdicts on claims: how they follow from evidence, and descriptions of the evidence."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from starcast.claims.catalogue import Claim, is_degenerate, size_order
from starcast.claims.check import BOUNDED, FAR, REVERSED, Aside, Evidence, Finding, Place, Plain
from starcast.support.text import as_sentence, pluralize
from starcast.support.vocabulary import VERDICT_WORDS, VerdictWord

_WORST_FIRST: tuple[VerdictWord, ...] = ("fails", "not checkable", "holds as a bound")


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim, with the evidence from which it was derived.

    Attributes:
        claim: id of the claim.
        verdict: ``holds``, ``holds as a bound``, ``fails`` or ``not checkable``.
        sizes: specs on which the claim was verified, without those outside its scope.
        counterexample: the smallest counterexample, if the claim fails; otherwise None.
        detail: the evidence in sentences.
        evidence: the evidence at each size, also outside the scope of the claim.
        parts: verdicts on the parts of a conjunction; empty for any other claim.
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

    @property
    def place(self) -> str:
        """The counterexample in one line of text; empty if there is no counterexample."""
        return "" if self.counterexample is None else describe_place(self.counterexample)


def judge(findings: Iterable[Finding]) -> VerdictWord:
    """Return the verdict that follows from findings.

    If there is a counterexample, the claim fails. If nothing was compared, or if the papers do not
    contain the subject of the claim, the claim is not checkable. If a finding is about an
    inequality or an order of growth, the claim holds as a bound. Otherwise the claim holds.
    """
    recorded = list(findings)
    if any(finding.counterexample is not None for finding in recorded):
        return "fails"
    is_absent = any(finding.relation == "absent" for finding in recorded)
    if is_absent or not any(finding.compared for finding in recorded):
        return "not checkable"
    is_exact = all(finding.relation == "=" for finding in recorded)
    return "holds" if is_exact else "holds as a bound"


def claim_verdict(claim: Claim, evidence: Sequence[Evidence]) -> Verdict:
    """Return the verdict on a claim, derived from the evidence at sizes in the claim's scope."""
    # Checks finish in any order, so sizes with equal sort keys are sorted in the order in which the
    # claim lists them.
    ranks = {spec: rank for rank, spec in enumerate((*claim.sizes.beyond, *claim.sizes.deep))}
    listed = sorted(evidence, key=lambda found: ranks.get(found.size, len(ranks)))
    ordered = tuple(sorted(listed, key=lambda found: size_order(found.size)))
    # A claim "for n >= 4" is not refuted at n = 3; results for such sizes are only reported.
    deciding = in_scope(claim, ordered)
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


def in_scope(claim: Claim, evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return the evidence at the sizes that are in the scope of a claim."""
    return [found for found in evidence if found.size not in claim.sizes.beyond]


def by_claim(evidence: Iterable[Evidence]) -> dict[str, list[Evidence]]:
    """Group evidence by claim id."""
    groups: dict[str, list[Evidence]] = {}
    for each in evidence:
        groups.setdefault(each.claim, []).append(each)
    return groups


def asides_by_words(evidence: Iterable[Evidence]) -> dict[tuple[str, str], list[tuple[str, Aside]]]:
    """Group asides by kind and words; a group lists each aside as a pair (size, aside)."""
    groups: dict[tuple[str, str], list[tuple[str, Aside]]] = {}
    for found in evidence:
        for aside in found.asides:
            groups.setdefault((aside.kind, aside.words), []).append((found.size, aside))
    return groups


def conjunction_verdict(claim_id: str, parts: Sequence[Verdict]) -> Verdict:
    """Return the verdict on a conjunction of claims, which is the worst verdict on its parts.

    If a part fails, the conjunction fails with the smallest counterexample of its parts. Otherwise,
    if a part is not checkable, neither is the conjunction. Otherwise, if a part holds as a bound,
    the conjunction does too.
    """
    words = {part.verdict for part in parts}
    word = next((word for word in _WORST_FIRST if word in words), VERDICT_WORDS[0])
    decisive = [part for part in parts if part.verdict == word]
    checked = dict.fromkeys(size for part in parts for size in part.sizes)
    sizes = sorted(checked, key=size_order)
    smallest = None
    if word == "fails":
        smallest = min(decisive, key=lambda part: size_of(part.counterexample or {}))
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
    """Return n and k of a counterexample, to compare counterexamples by size.

    A missing parameter counts as 0. For topologies of families other than star graphs, (n,k)-stars
    and hypercubes, the number of nodes is returned instead of n.
    """
    if "size" in counterexample:
        return size_order(str(counterexample["size"]))[:2]
    return int(str(counterexample.get("n", 0))), int(str(counterexample.get("k", 0)))


# Descriptions of evidence and counterexamples in sentences


_MAX_SIZES = 8
_MAX_DESCRIPTIONS = 4
_OF_A_SIZE = re.compile(r" of [SQ]\d+(,\d+)?\b")
#: Order in which the keys of a counterexample are shown: the size first, unlisted keys last. The
#: order is fixed, because PostgreSQL does not keep the order of object keys.
_ORDER = (
    "size", "n", "k", "table", "row", "column", "cell", "collective", "algorithm", "trees",
    "construction", "faults", "root", "source", "destination", "tree", "subtree", "i", "step",
    "node", "other", "link", "dimension", "j", "x", "M", "m", "T_s", "T_c", "p",
)  # fmt: skip
_RANKS = {name: rank for rank, name in enumerate(_ORDER)}


def describe_evidence(claim: Claim, word: VerdictWord, evidence: Sequence[Evidence]) -> str:
    """Describe a claim's evidence in sentences.

    The sentences state the compared quantities, the counterexample if there is one, other readings,
    corrections, and failures at sizes outside the scope of the claim.

    Args:
        claim: the claim.
        word: the claim's verdict.
        evidence: the claim's evidence, in size order.
    """
    deciding = in_scope(claim, evidence)
    sentences = [
        *_describe_findings(word, deciding),
        *_describe_asides(claim, word, deciding),
        *_describe_beyond(claim, evidence),
    ]
    return " ".join(filter(None, sentences))


def describe_place(counterexample: Place) -> str:
    """Return a counterexample in one line.

    If the claim states an order of growth, the line contains only the values ``found`` and
    ``stated``, because no single size refutes such a claim.

    Example:
        >>> describe_place({"n": 3, "tree": 2, "found": 4, "stated": 5})
        'n = 3, tree = 2: found 4, stated 5'
    """
    if counterexample["stated"] == BOUNDED:
        return describe_difference(counterexample)
    names = sorted(
        counterexample.keys() - {"found", "stated"},
        key=lambda name: (_RANKS.get(name, len(_ORDER)), name),
    )
    place = ", ".join(f"{_spaced(name)} = {_text(counterexample[name])}" for name in names)
    return f"{place}: {describe_difference(counterexample)}"


def describe_difference(counterexample: Place) -> str:
    """Return the measured and the stated value of a counterexample: ``found 4, stated 5``."""
    measured = _text(counterexample["found"])
    return f"found {measured}, stated {_text(counterexample['stated'])}"


def describe_span(sizes: Iterable[str]) -> str:
    """Return sizes as text; more than two are abbreviated, such as ``S3..S7``."""
    specs = list(sizes)
    return ", ".join(specs) if len(specs) <= 2 else f"{specs[0]}..{specs[-1]}"


def _describe_findings(word: VerdictWord, evidence: Sequence[Evidence]) -> Iterator[str]:
    findings = [finding for found in evidence for finding in found.findings]
    if word == "not checkable":
        absent = (finding for finding in findings if finding.relation == "absent")
        reasons = dict.fromkeys(finding.measured for finding in absent)
        yield as_sentence("; ".join(reasons)) if reasons else "Nothing was compared."
    elif word == "fails":
        yield from _describe_failures(evidence)
    else:
        compared = sum(finding.compared for finding in findings)
        sizes = describe_span(found.size for found in evidence)
        what = _compared_values(evidence[0])
        yield f"{sizes}: {pluralize(compared, 'value')} compared{what and f': {what}'}."
        yield from _describe_quotients(evidence)


def _compared_values(evidence: Evidence) -> str:
    """Return the quantities compared on one topology as a phrase, without orders of growth.

    A long list is shortened.
    """
    words = [finding.what for finding in evidence.findings if finding.relation != "O"]
    # The list from the first size is shown for all sizes, so it must not mention the first size.
    distinct = list(dict.fromkeys(_OF_A_SIZE.sub("", what) for what in words))
    if len(distinct) > _MAX_DESCRIPTIONS:
        half = _MAX_DESCRIPTIONS // 2
        distinct = [*distinct[:half], "..", *distinct[-half:]]
    return "; ".join(distinct)


def _describe_failures(evidence: Sequence[Evidence]) -> Iterator[str]:
    failures = [
        (found.size, finding)
        for found in evidence
        for finding in found.findings
        if finding.counterexample is not None
    ]
    sizes = list(dict.fromkeys(size for size, _ in failures))
    first = failures[0][1]
    yield f"{first.what}: {describe_place(first.counterexample or {})}."
    if first.relation == "O":
        return
    others = [found.size for found in evidence if found.size not in sizes]
    exceptions = f", not at {_listed(others)}" if others else ""
    yield f"Fails at {_listed(sizes)}{exceptions}."
    if others and all(map(is_degenerate, sizes)):
        yield "Only degenerate sizes fail."
    differences = [(size, describe_difference(place)) for size, place in _first_places(failures)]
    if len({words for _, words in differences}) > 1:
        listed = [f"{size}: {words}" for size, words in differences]
        more = "; .." if len(listed) > _MAX_SIZES else ""
        yield f"First differences: {'; '.join(listed[:_MAX_SIZES])}{more}."


def _first_places(failures: Sequence[tuple[str, Finding]]) -> Iterator[tuple[str, Place]]:
    """Yield each topology on which a claim fails, with the first counterexample on it."""
    for size, group in groupby(failures, key=lambda failure: failure[0]):
        first = next(group)[1].counterexample
        if first is not None:
            yield size, first


def _describe_quotients(evidence: Sequence[Evidence]) -> Iterator[str]:
    """Yield, for each order of growth, a sentence with the largest quotient at the checked sizes.

    The quotient is a closed form divided by the stated order of growth. The sentence also states
    the value of this quotient at n = 2^256.
    """
    quotients: dict[str, list[tuple[str, str, str]]] = {}
    for found in evidence:
        for finding in found.findings:
            if finding.relation == "O":
                value, _, far_value = finding.measured.partition(FAR)
                quotients.setdefault(finding.what, []).append((found.size, value, far_value))
    for what, values in quotients.items():
        # A reciprocal is printed together with its quotient.
        if what.endswith(REVERSED) and what.removesuffix(REVERSED) in quotients:
            continue
        reciprocal = ""
        if what + REVERSED in quotients:
            reciprocal = f"; its reciprocal {_greatest(quotients[what + REVERSED])}"
        yield f"{what}: greatest quotient {_greatest(values)}{reciprocal}."


def _greatest(values: Iterable[tuple[str, str, str]]) -> str:
    size, greatest, far_value = max(values, key=lambda value: _number(value[1]))
    return f"{greatest} (at {size}), {far_value} at n = 2^256"


def _number(words: str) -> float:
    numerator, _, denominator = words.partition("/")
    return float(numerator) / float(denominator or 1)


def _spaced(name: str) -> str:
    """Replace underscores by spaces in a counterexample's key, except in symbols such as T_s."""
    return name if len(name) < 4 else name.replace("_", " ")


def _text(value: Plain) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _describe_asides(
    claim: Claim, word: VerdictWord, evidence: Sequence[Evidence]
) -> Iterator[str]:
    groups = asides_by_words(evidence)
    if word == "fails" and claim.correction and ("instead", claim.correction) not in groups:
        yield f"The correction is not checked: {claim.correction}."
    for (kind, words), asides in groups.items():
        if kind == "instead" and word != "fails":
            continue
        if not any(finding.compared for _, aside in asides for finding in aside.findings):
            yield f"Not checked, because nothing was compared: {words}."
            continue
        label = "Correct statement" if kind == "instead" else "Other reading"
        places = [_first_counterexample(aside) for _, aside in asides]
        failing = [place for place in places if place is not None]
        if not failing:
            yield f"{label}: {words} ({describe_span(size for size, _ in asides)})."
        elif kind == "reading":
            yield f"{label}: {words}: fails, {describe_place(failing[0])}."
        else:
            yield f"The correction fails too: {words}: {describe_place(failing[0])}."


def _first_counterexample(aside: Aside) -> Place | None:
    failures = (finding.counterexample for finding in aside.findings)
    return next((place for place in failures if place is not None), None)


def _describe_beyond(claim: Claim, evidence: Sequence[Evidence]) -> Iterator[str]:
    for found in evidence:
        if found.size not in claim.sizes.beyond:
            continue
        label = f"Beyond the claim, {found.size}"
        failure = next(filter(_is_failed_comparison, found.findings), None)
        if found.undefined:
            yield f"{label}: {found.undefined}."
        elif failure is not None:
            yield f"{label} fails: {failure.what}: {describe_place(failure.counterexample or {})}."


def _is_failed_comparison(finding: Finding) -> bool:
    return finding.counterexample is not None and finding.relation != "O"


def _listed(sizes: Sequence[str]) -> str:
    if len(sizes) <= _MAX_SIZES:
        return ", ".join(sizes)
    return f"{len(sizes)} sizes from {sizes[0]} to {sizes[-1]}"
