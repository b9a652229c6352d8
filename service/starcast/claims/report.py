"""Reports on verdicts: Markdown for docs/claims.md, and one self-contained HTML file."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from starcast.claims import catalogue
from starcast.claims.claim_files import papers
from starcast.claims.describe import describe_place, describe_span
from starcast.claims.evidence import Evidence
from starcast.claims.model import Claim
from starcast.claims.parallel import verify_claims
from starcast.claims.verdict import Verdict
from starcast.support.html import inline_files, render_page, typeset
from starcast.support.text import pluralize
from starcast.support.vocabulary import VERDICT_WORDS

#: Signs of the verdicts, so that they do not depend on colour alone.
SIGNS = {"holds": "✓", "holds as a bound": "≤", "fails": "✕", "not checkable": "?"}
#: Number of processes for the page in docs.
_JOBS = 2

_TEMPLATE = "claims.html.j2"
_COLUMNS = ("id", "number", "statement", "verdict", "sizes", "counterexample", "detail")


@dataclass(frozen=True)
class ReportRow:
    """A claim with its verdict.

    Attributes:
        claim: the claim.
        verdict: its verdict, if there is one.
    """

    claim: Claim
    verdict: Verdict | None

    @property
    def paper(self) -> str:
        """Key of the paper."""
        return self.claim.id.partition(".")[0]

    @property
    def word(self) -> str:
        """The verdict as a word; empty without a verdict."""
        return "" if self.verdict is None else self.verdict.verdict

    @property
    def detail(self) -> str:
        """The comparisons in words; empty without a verdict."""
        return "" if self.verdict is None else self.verdict.detail

    @property
    def sizes(self) -> str:
        """The sizes on which the claim was verified, abbreviated: ``S3..S7``."""
        return "" if self.verdict is None else describe_span(self.verdict.sizes)

    @property
    def counterexample(self) -> str:
        """The counterexample in one line; empty if there is none."""
        place = None if self.verdict is None else self.verdict.counterexample
        return "" if place is None else describe_place(place)

    @property
    def difference(self) -> str:
        """The failed comparisons and the counterexample; empty if nothing failed."""
        failures = (
            finding.what
            for found in self._evidence()
            for finding in found.findings
            if finding.counterexample is not None
        )
        return ": ".join(filter(None, (next(failures, ""), self.counterexample)))

    @property
    def corrections(self) -> tuple[str, ...]:
        """The corrected statements, each with the sizes on which it was verified."""
        sizes: dict[str, list[str]] = {}
        failed: set[str] = set()
        for found in self._evidence():
            for aside in found.asides:
                if aside.kind != "instead":
                    continue
                sizes.setdefault(aside.words, []).append(found.size)
                if not aside.met:
                    failed.add(aside.words)
        return tuple(
            f"{words} ({describe_span(specs)})"
            for words, specs in sizes.items()
            if words not in failed
        )

    def _evidence(self) -> list[Evidence]:
        """Return the evidence on the sizes that the claim is about."""
        evidence = () if self.verdict is None else self.verdict.evidence
        return [found for found in evidence if found.size not in self.claim.sizes.beyond]


@cache
def quick_verdicts() -> tuple[Verdict, ...]:
    """Return the verdicts on all claims at quick sizes, computed once per process."""
    return verify_claims(tuple(catalogue.claims().values()), jobs=_JOBS)


def rows(verdicts: Iterable[Verdict]) -> list[ReportRow]:
    """Return verdicts with their claims, in the order of the papers; unknown claims are skipped."""
    by_id = {verdict.claim: verdict for verdict in verdicts}
    claims = catalogue.claims().items()
    return [ReportRow(claim, by_id[claim_id]) for claim_id, claim in claims if claim_id in by_id]


def counts(listed: Iterable[ReportRow]) -> dict[str, dict[str, int]]:
    """Return the number of claims with each verdict, by paper; a conjunction counts as one."""
    counter = Counter((row.paper, row.word) for row in listed)
    by_paper: dict[str, dict[str, int]] = {}
    for paper in papers():
        numbers: dict[str, int] = {word: counter[paper, word] for word in VERDICT_WORDS}
        if any(numbers.values()):
            by_paper[paper] = numbers
    return by_paper


def summary(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Yield one line per paper with the number of claims that have each verdict."""
    for paper, numbers in counts(rows(verdicts)).items():
        phrases = [f"{count} {_verb(word, count)}" for word, count in numbers.items() if count]
        yield f"{paper}: {pluralize(sum(numbers.values()), 'claim')}: {', '.join(phrases)}"


def markdown(verdicts: Iterable[Verdict], about: Mapping[str, str] | None = None) -> str:
    """Return a report in Markdown, without a title.

    Args:
        verdicts: the verdicts to report.
        about: provenance for the top of the page, label by label.
    """
    listed = rows(verdicts)
    lines = [f"{label}: {value}  " for label, value in (about or {}).items()]
    summed = _table(("paper", "claims", *VERDICT_WORDS), _summary_cells(listed))
    lines += ["", "## Summary", "", *summed, "", "## Claims that fail", ""]
    failing = [line for row in _failing(listed) for line in _failure(row)]
    lines += failing or ["None.", ""]
    for key, paper in papers().items():
        own = [row for row in listed if row.paper == key]
        if own:
            table = _table(_COLUMNS, map(_cells, own))
            lines += [f"## {key}: {paper.citation}", "", *table, ""]
    return "\n".join(lines).strip("\n") + "\n"


def html(verdicts: Iterable[Verdict], about: Mapping[str, str] | None = None) -> str:
    """Return the page of claims as one HTML file; the arguments are those of `markdown`."""
    values = page_values(rows(verdicts), about)
    return inline_files(render_page(_TEMPLATE, **values, paper="", verdict="", words=""))


def page_values(
    listed: Sequence[ReportRow], about: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the variables of the template for claims, besides what they are filtered by."""
    return {
        "rows": listed,
        "failing": _failing(listed),
        "counts": counts(listed),
        "papers": {key: paper.citation for key, paper in papers().items()},
        "signs": SIGNS,
        "verdicts": VERDICT_WORDS,
        "about": about or {},
        "problem": None,
    }


def _failing(listed: Sequence[ReportRow]) -> list[ReportRow]:
    """Return the rows that fail, without conjunctions: they fail with a part."""
    return [row for row in listed if row.word == "fails" and row.claim.check is not None]


def _summary_cells(listed: Sequence[ReportRow]) -> Iterator[tuple[str, ...]]:
    totals: Counter[str] = Counter()
    for paper, numbers in counts(listed).items():
        totals.update(numbers)
        title = f"{paper}: {papers()[paper].citation}"
        yield title, str(sum(numbers.values())), *(str(numbers[word]) for word in VERDICT_WORDS)
    yield "all", str(totals.total()), *(str(totals[word]) for word in VERDICT_WORDS)


def _failure(row: ReportRow) -> Iterator[str]:
    yield f"* **{row.claim.id}** ({row.claim.number}): {_escaped(row.claim.statement)}."
    yield f"  * Counterexample: {_escaped(row.difference)}."
    for correction in row.corrections:
        yield f"  * True instead: {_escaped(correction)}."
    if row.claim.record:
        yield f"  * Best known: {_record_link(row.claim)}."
    yield ""


def _cells(row: ReportRow) -> tuple[str, ...]:
    claim = row.claim
    identification = (claim.id, claim.number, claim.statement, f"{SIGNS[row.word]} {row.word}")
    detail = row.detail
    if claim.record:
        detail += f" Best known: {_record_link(claim)}."
    return *identification, row.sizes, row.counterexample, detail


def _record_link(claim: Claim) -> str:
    return f"[records of {claim.record}](records.md#{claim.record})"


def _table(columns: Sequence[str], rows_of_cells: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for cells in rows_of_cells:
        yield f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(text: str) -> str:
    """Escape text for a Markdown table; an asterisk that multiplies is not emphasis."""
    escaped = text.replace("|", "\\|").replace("<", "&lt;")
    return typeset(escaped.replace(" * ", " \\* "))


def _verb(word: str, count: int) -> str:
    """Return the verdict as a verb: one claim holds, several hold."""
    if word == "not checkable" or count == 1:
        return word
    return {"holds": "hold", "holds as a bound": "hold as a bound", "fails": "fail"}[word]
