"""What evidence says, in sentences."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from starcast.claims.declaration import Claim, degenerate
from starcast.claims.evidence import BOUNDED, Evidence, Finding, Place, Plain, Word
from starcast.claims.see import FAR, REVERSED
from starcast.support.text import as_sentence, pluralize

_MOST_SIZES = 8
_MOST_WORDS = 4
_OF_A_SIZE = re.compile(r" of [SQ]\d+(,\d+)?\b")
#: The order in which the names of a place are told, the size first; others after them. It is the same from wherever they come:
#: PostgreSQL keeps no order of names.
_ORDER = (
    "n", "k", "table", "row", "column", "cell", "collective", "algorithm", "trees", "construction", "faults", "root", "source",
    "destination", "tree", "subtree", "i", "step", "node", "other", "link", "dimension", "j", "x", "M", "m", "T_s", "T_c", "p",
)  # fmt: skip


def detail(claim: Claim, word: Word, evidence: Sequence[Evidence]) -> str:
    """What was found about a statement: how much was compared, where it fails and how, and what was looked at beside it."""
    deciding = [one for one in evidence if one.size not in claim.sizes.beyond]
    said = [*_found(word, deciding), *_asides(word, deciding), *_beyond(claim, evidence)]
    return " ".join(as_sentence for as_sentence in said if as_sentence)


def place(counterexample: Place) -> str:
    """A counterexample in one line: ``n = 3, tree = 2: found 4, stated 5``; what grows, grows whatever the sizes are."""
    if counterexample["stated"] == BOUNDED:
        return difference(counterexample)
    ranked = sorted(
        counterexample,
        key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name),
    )
    at = ", ".join(
        f"{_named(name)} = {_said(counterexample[name])}"
        for name in ranked
        if name not in ("found", "stated")
    )
    return f"{at}: {difference(counterexample)}"


def difference(counterexample: Place) -> str:
    """What was found and what is stated, without the place: ``found 4, stated 5``."""
    return f"found {_said(counterexample['found'])}, stated {_said(counterexample['stated'])}"


def span(sizes: Iterable[str]) -> str:
    """Sizes in short: ``S3..S7``."""
    listed = list(sizes)
    return ", ".join(listed) if len(listed) <= 2 else f"{listed[0]}..{listed[-1]}"


def _found(word: Word, evidence: Sequence[Evidence]) -> Iterable[str]:
    findings = [finding for one in evidence for finding in one.findings]
    if word == "not checkable":
        reasons = dict.fromkeys(
            finding.measured for finding in findings if finding.relation == "absent"
        )
        yield as_sentence("; ".join(reasons)) if reasons else "Nothing was compared."
    elif word == "fails":
        yield from _failed(evidence)
    else:
        compared = sum(finding.compared for finding in findings)
        what = _compared(evidence[0])
        yield f"{span(one.size for one in evidence)}: {pluralize(compared, 'value')} compared{what and f': {what}'}."
        yield from _ratios(evidence)


def _compared(evidence: Evidence) -> str:
    """What was compared beside orders, at one size that stands for the others: all of a few, else the first and the last."""
    words = [finding.what for finding in evidence.findings if finding.relation != "O"]
    distinct = list(dict.fromkeys(_OF_A_SIZE.sub("", what) for what in words))
    if len(distinct) > _MOST_WORDS:
        half = _MOST_WORDS // 2
        distinct = [*distinct[:half], "..", *distinct[-half:]]
    return "; ".join(distinct)


def _failed(evidence: Sequence[Evidence]) -> Iterable[str]:
    wrong = [
        (one.size, finding)
        for one in evidence
        for finding in one.findings
        if finding.counterexample is not None
    ]
    sizes = list(dict.fromkeys(size for size, _ in wrong))
    first = wrong[0][1]
    yield f"{first.what}: {place(first.counterexample or {})}."
    if first.relation == "O":
        return
    others = [one.size for one in evidence if one.size not in sizes]
    yield f"Fails at {_listed(sizes)}{f', not at {_listed(others)}' if others else ''}."
    if others and all(map(degenerate, sizes)):
        yield "Only degenerate sizes fail."
    firsts = [(size, difference(p)) for size, p in _firsts(wrong)]
    if len({words for _, words in firsts}) > 1:
        more = [f"{size}: {words}" for size, words in firsts]
        yield f"First differences: {'; '.join(more[:_MOST_SIZES])}{'; ..' if len(more) > _MOST_SIZES else ''}."


def _firsts(wrong: Sequence[tuple[str, Finding]]) -> Iterable[tuple[str, Place]]:
    for size, group in groupby(wrong, key=lambda pair: pair[0]):
        first = next(group)[1].counterexample
        if first is not None:
            yield size, first


def _ratios(evidence: Sequence[Evidence]) -> Iterable[str]:
    """The quotients behind an order of growth: the greatest at the sizes, and what becomes of it far out."""
    quotients: dict[str, list[tuple[str, str, str]]] = {}
    for one in evidence:
        for finding in one.findings:
            if finding.relation == "O":
                here, _, far = finding.measured.partition(FAR)
                quotients.setdefault(finding.what, []).append((one.size, here, far))
    for what, values in quotients.items():
        if what.removesuffix(REVERSED) in quotients and what.endswith(REVERSED):
            continue
        back = (
            f"; its reciprocal {_greatest(quotients[what + REVERSED])}"
            if what + REVERSED in quotients
            else ""
        )
        yield f"{what}: greatest quotient {_greatest(values)}{back}."


def _greatest(values: Iterable[tuple[str, str, str]]) -> str:
    size, most, far = max(values, key=lambda value: _number(value[1]))
    return f"{most} (at {size}), {far} at n = 2^256"


def _number(words: str) -> float:
    over, _, under = words.partition("/")
    return float(over) / float(under or 1)


def _named(name: str) -> str:
    """The name of a place in words; T_s and T_c are symbols."""
    return name if len(name) < 4 else name.replace("_", " ")


def _said(value: Plain) -> str:
    """A value in words."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _asides(word: Word, evidence: Sequence[Evidence]) -> Iterable[str]:
    said: dict[tuple[str, str], list[tuple[str, bool, Place | None]]] = {}
    for one in evidence:
        for aside in one.asides:
            wrong = next(
                (f.counterexample for f in aside.findings if f.counterexample is not None), None
            )
            said.setdefault((aside.kind, aside.words), []).append((one.size, aside.met, wrong))
    for (kind, words), seen in said.items():
        failing = [wrong for _, met, wrong in seen if not met and wrong is not None]
        if kind == "instead" and word != "fails":
            continue
        begin = "True instead" if kind == "instead" else "Other reading"
        where = span(size for size, _, _ in seen)
        if not failing:
            yield f"{begin}: {words} ({where})."
        elif kind == "reading":
            yield f"{begin}: {words}: fails, {place(failing[0])}."


def _beyond(claim: Claim, evidence: Sequence[Evidence]) -> Iterable[str]:
    for one in evidence:
        if one.size not in claim.sizes.beyond:
            continue
        wrong = next(
            (f for f in one.findings if f.counterexample is not None and f.relation != "O"), None
        )
        if one.undefined:
            yield f"Beyond the statement, {one.size}: {one.undefined}."
        elif wrong is not None:
            yield f"Beyond the statement, {one.size} fails: {wrong.what}: {place(wrong.counterexample or {})}."


def _listed(sizes: Sequence[str]) -> str:
    return (
        ", ".join(sizes)
        if len(sizes) <= _MOST_SIZES
        else f"{len(sizes)} sizes from {sizes[0]} to {sizes[-1]}"
    )
