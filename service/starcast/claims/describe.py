"""Descriptions of evidence and counterexamples in sentences."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from starcast.claims.check import FAR, REVERSED
from starcast.claims.evidence import BOUNDED, Aside, Evidence, Finding, Place, Plain
from starcast.claims.model import Claim, is_degenerate
from starcast.support.text import as_sentence, pluralize
from starcast.support.vocabulary import VerdictWord

_MAX_SIZES = 8
_MAX_DESCRIPTIONS = 4
_OF_A_SIZE = re.compile(r" of [SQ]\d+(,\d+)?\b")
#: Order of the names of a place: the size first, other names last. It does not depend on the order
#: of the mapping, because PostgreSQL does not keep the order of object keys.
_ORDER = (
    "n", "k", "table", "row", "column", "cell", "collective", "algorithm", "trees", "construction",
    "faults", "root", "source", "destination", "tree", "subtree", "i", "step", "node", "other",
    "link", "dimension", "j", "x", "M", "m", "T_s", "T_c", "p",
)  # fmt: skip
_RANKS = {name: rank for rank, name in enumerate(_ORDER)}


def describe_evidence(claim: Claim, word: VerdictWord, evidence: Sequence[Evidence]) -> str:
    """Describe the comparisons, the place and the values of a failure, and other readings.

    Args:
        word: its verdict.
        evidence: its evidence, in size order.
    """
    deciding = [found for found in evidence if found.size not in claim.sizes.beyond]
    sentences = [
        *_describe_findings(word, deciding),
        *_describe_asides(word, deciding),
        *_describe_beyond(claim, evidence),
    ]
    return " ".join(filter(None, sentences))


def describe_place(counterexample: Place) -> str:
    """Return a counterexample in one line; of unbounded growth, without a size.

    Example:
        >>> describe_place({"n": 3, "tree": 2, "found": 4, "stated": 5})
        'n = 3, tree = 2: found 4, stated 5'
    """
    if counterexample["stated"] == BOUNDED:
        return describe_difference(counterexample)
    names = sorted(counterexample.keys() - {"found", "stated"}, key=_name_order)
    place = ", ".join(f"{_spaced(name)} = {_text(counterexample[name])}" for name in names)
    return f"{place}: {describe_difference(counterexample)}"


def describe_difference(counterexample: Place) -> str:
    """Return the measured and the stated value of a counterexample: ``found 4, stated 5``."""
    measured = _text(counterexample["found"])
    return f"found {measured}, stated {_text(counterexample['stated'])}"


def describe_span(sizes: Iterable[str]) -> str:
    """Abbreviate sizes: ``S3..S7``."""
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
    """Describe the comparisons at one size, without orders of growth; only some if many."""
    words = [finding.what for finding in evidence.findings if finding.relation != "O"]
    # The words of the first size stand for all sizes, so they must not name it.
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
    """Yield the first counterexample at each size."""
    for size, group in groupby(failures, key=lambda failure: failure[0]):
        first = next(group)[1].counterexample
        if first is not None:
            yield size, first


def _describe_quotients(evidence: Sequence[Evidence]) -> Iterator[str]:
    """Yield the largest value of each quotient behind an order, and its value for a huge n."""
    quotients: dict[str, list[tuple[str, str, str]]] = {}
    for found in evidence:
        for finding in found.findings:
            if finding.relation == "O":
                value, _, far_value = finding.measured.partition(FAR)
                quotients.setdefault(finding.what, []).append((found.size, value, far_value))
    for what, values in quotients.items():
        # It is printed with the quotient that it is the reciprocal of.
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


def _name_order(name: str) -> tuple[int, str]:
    return _RANKS.get(name, len(_ORDER)), name


def _spaced(name: str) -> str:
    """Return the name of a place in words; short names such as T_s are symbols."""
    return name if len(name) < 4 else name.replace("_", " ")


def _text(value: Plain) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _describe_asides(word: VerdictWord, evidence: Sequence[Evidence]) -> Iterator[str]:
    by_words: dict[tuple[str, str], list[tuple[str, Aside]]] = {}
    for found in evidence:
        for aside in found.asides:
            by_words.setdefault((aside.kind, aside.words), []).append((found.size, aside))
    for (kind, words), asides in by_words.items():
        if kind == "instead" and word != "fails":
            continue
        label = "True instead" if kind == "instead" else "Other reading"
        places = [_first_counterexample(aside) for _, aside in asides]
        failing = [place for place in places if place is not None]
        if not failing:
            yield f"{label}: {words} ({describe_span(size for size, _ in asides)})."
        elif kind == "reading":
            yield f"{label}: {words}: fails, {describe_place(failing[0])}."


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
            place = describe_place(failure.counterexample or {})
            yield f"{label} fails: {failure.what}: {place}."


def _is_failed_comparison(finding: Finding) -> bool:
    return finding.counterexample is not None and finding.relation != "O"


def _listed(sizes: Sequence[str]) -> str:
    if len(sizes) <= _MAX_SIZES:
        return ", ".join(sizes)
    return f"{len(sizes)} sizes from {sizes[0]} to {sizes[-1]}"
