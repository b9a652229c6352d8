"""The ledger as a page: Markdown for docs/claims.md, and one HTML file that needs nothing else, in light and in dark."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape

from markupsafe import Markup

from starcast.claims import catalogue
from starcast.claims.declaration import Claim
from starcast.claims.evidence import WORDS
from starcast.claims.running import ledger
from starcast.claims.statements import PAPERS
from starcast.claims.telling import place, span
from starcast.claims.verdict import Verdict
from starcast.support.html import render_page
from starcast.support.text import pluralize

#: What stands beside a verdict, so that it is not told by colour alone.
SIGNS = {"holds": "✓", "holds as a bound": "≤", "fails": "✕", "not checkable": "?"}
#: With as many processes the pages in docs are written.
_JOBS = 2

_TEMPLATE = "report.html.j2"
_CODE = re.compile(r"`([^`]+)`")
_STRESS = re.compile(r"\*([^*\s][^*]*)\*")


@dataclass(frozen=True)
class Row:
    """One statement and what became of it.

    Attributes:
        claim: the statement.
        verdict: its verdict.
    """

    claim: Claim
    verdict: Verdict

    @property
    def paper(self) -> str:
        """The beginning of its id."""
        return self.claim.id.partition(".")[0]

    @property
    def sizes(self) -> str:
        """Where it was looked at, in short."""
        return span(self.verdict.sizes)

    @property
    def counterexample(self) -> str:
        """In one line; empty without one."""
        return "" if self.verdict.counterexample is None else place(self.verdict.counterexample)

    @property
    def different(self) -> str:
        """The counterexample, after what was compared there; empty without one."""
        deciding = (one for one in self.verdict.evidence if one.size not in self.claim.sizes.beyond)
        first = (
            finding.what
            for one in deciding
            for finding in one.findings
            if finding.counterexample is not None
        )
        return ": ".join(filter(None, (next(first, ""), self.counterexample)))

    @property
    def instead(self) -> tuple[str, ...]:
        """What is true in its place: each with the sizes at which it was found to be."""
        seen: dict[str, list[str]] = {}
        wrong: set[str] = set()
        for one in self.verdict.evidence:
            for aside in one.asides:
                if aside.kind == "instead" and one.size not in self.claim.sizes.beyond:
                    seen.setdefault(aside.words, []).append(one.size)
                    wrong |= set() if aside.met else {aside.words}
        return tuple(
            f"{words} ({span(sizes)})" for words, sizes in seen.items() if words not in wrong
        )


@cache
def quick() -> tuple[Verdict, ...]:
    """The verdicts of all statements at quick sizes, computed once, by two processes."""
    return ledger(tuple(catalogue.claims().values()), jobs=_JOBS)


def rows(verdicts: Iterable[Verdict]) -> list[Row]:
    """The verdicts with their statements, in the order of the papers; of statements that are no more, none."""
    by_id = {verdict.claim: verdict for verdict in verdicts}
    return [Row(claim, by_id[name]) for name, claim in catalogue.claims().items() if name in by_id]


def counts(listed: Iterable[Row]) -> dict[str, dict[str, int]]:
    """How many statements have which verdict, by paper; conjunctions count as the statements that they are."""
    found = Counter((row.paper, row.verdict.verdict) for row in listed)
    return {
        paper: {word: found[paper, word] for word in WORDS}
        for paper in PAPERS
        if any(found[paper, word] for word in WORDS)
    }


def summary(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """A line a paper: how many statements have which verdict."""
    for paper, counted_words in counts(rows(verdicts)).items():
        said = ", ".join(
            f"{count} {_plural(word, count)}" for word, count in counted_words.items() if count
        )
        yield f"{paper}: {pluralize(sum(counted_words.values()), 'statement')}: {said}"


def markdown(verdicts: Iterable[Verdict], about: Mapping[str, str] | None = None) -> str:
    """The page in Markdown, from its first heading below the title on.

    Args:
        verdicts: what it shows.
        about: where the verdicts come from, said at the top.
    """
    listed = rows(verdicts)
    parts = [f"{name}: {value}  " for name, value in (about or {}).items()]
    parts += ["", "## Summary", "", *_table(("paper", "statements", *WORDS), _summed(listed)), ""]
    parts += ["## Statements that fail", ""]
    failing = _failing(listed)
    parts += [line for row in failing for line in _told(row)] or ["None.", ""]
    for paper, title in PAPERS.items():
        own = [row for row in listed if row.paper == paper]
        if own:
            columns = ("id", "number", "statement", "verdict", "sizes", "counterexample", "detail")
            parts += [f"## {paper}: {title}", "", *_table(columns, map(_cells, own)), ""]
    return "\n".join(parts).strip("\n") + "\n"


def html(verdicts: Iterable[Verdict], about: Mapping[str, str] | None = None) -> str:
    """The page in HTML; the arguments are those of `markdown`."""
    listed = rows(verdicts)
    return render_page(
        __package__,
        _TEMPLATE,
        {"words": _words},
        rows=listed,
        failing=_failing(listed),
        counts=counts(listed),
        papers=PAPERS,
        signs=SIGNS,
        verdicts=WORDS,
        about=about or {},
    )


def _failing(listed: Sequence[Row]) -> list[Row]:
    """Those that fail by themselves: a conjunction fails with its parts."""
    return [row for row in listed if row.verdict.verdict == "fails" and row.claim.check is not None]


def _summed(listed: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    totals: Counter[str] = Counter()
    for paper, words in counts(listed).items():
        totals.update(words)
        yield (
            f"{paper}: {PAPERS[paper]}",
            str(sum(words.values())),
            *(str(words[word]) for word in WORDS),
        )
    yield "all", str(totals.total()), *(str(totals[word]) for word in WORDS)


def _told(row: Row) -> Iterator[str]:
    yield f"* **{row.claim.id}** ({row.claim.number}): {_marked(row.claim.words)}."
    yield f"  * Counterexample: {_marked(row.different)}."
    for instead in row.instead:
        yield f"  * True instead: {_marked(instead)}."
    yield ""


def _cells(row: Row) -> tuple[str, ...]:
    claim, verdict = row.claim, row.verdict
    named = (claim.id, claim.number, claim.words, f"{SIGNS[verdict.verdict]} {verdict.verdict}")
    return *named, row.sizes, row.counterexample, verdict.detail


def _table(columns: Sequence[str], cells: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for line in cells:
        yield f"| {' | '.join(_marked(cell) for cell in line)} |"


def _marked(text: str) -> str:
    """Text in Markdown, also in a cell: no tag, no cell's end; an asterisk that multiplies stresses nothing."""
    safe = text.replace("|", "\\|").replace("<", "&lt;")
    return safe.replace(" * ", " \\* ")


def _words(text: str) -> Markup:
    """The little Markdown that statements have, in HTML."""
    return Markup(
        _STRESS.sub(r"<em>\1</em>", _CODE.sub(r"<code>\1</code>", escape(text, quote=False)))
    )  # noqa: S704 - escaped


def _plural(word: str, count: int) -> str:
    """The verdict as a verb: of one it holds, of several they hold."""
    if word == "not checkable" or count == 1:
        return word
    return {"holds": "hold", "holds as a bound": "hold as a bound", "fails": "fail"}[word]
