"""Claims, verdicts and verification runs as tables, as Markdown (docs/claims.md) and as HTML."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sqlalchemy.orm import Session

from starcast.claims import catalogue, storage
from starcast.claims.catalogue import Claim, claims, covers, papers
from starcast.claims.check import Evidence
from starcast.claims.verdict import (
    Verdict,
    asides_by_words,
    describe_span,
    in_scope,
)
from starcast.claims.verify import verify_claims
from starcast.stores.database import models
from starcast.support.errors import StarcastError
from starcast.support.html import inline_files, render_page, typeset
from starcast.support.table import Row, Table
from starcast.support.text import pluralize
from starcast.support.vocabulary import LEVELS, VERDICT_WORDS

#: Symbols of the verdicts, so that verdicts are not distinguished by colour alone.
SIGNS = {"holds": "✓", "holds as a bound": "≤", "fails": "✕", "not checkable": "?"}
_PLURALS = {"holds": "hold", "holds as a bound": "hold as a bound", "fails": "fail"}
#: Number of processes that verify all claims for the page docs/claims.md.
_JOBS = 2

_TEMPLATE = "claims.html.j2"
_COLUMNS = ("id", "number", "statement", "verdict", "sizes", "counterexample", "detail")


@dataclass(frozen=True)
class ReportRow:
    """A claim with its verdict, as a row of a report.

    Attributes:
        claim: the claim.
        verdict: the claim's verdict; None if it has no verdict.
    """

    claim: Claim
    verdict: Verdict | None

    @property
    def paper(self) -> str:
        """Key of the paper that makes the claim."""
        return self.claim.id.partition(".")[0]

    @property
    def word(self) -> str:
        """The verdict in words; empty if there is none."""
        return "" if self.verdict is None else self.verdict.verdict

    @property
    def detail(self) -> str:
        """The evidence in sentences; empty if there is no verdict."""
        return "" if self.verdict is None else self.verdict.detail

    @property
    def sizes(self) -> str:
        """The sizes on which the claim was verified, in abbreviated form, such as ``S3..S7``."""
        return "" if self.verdict is None else describe_span(self.verdict.sizes)

    @property
    def counterexample(self) -> str:
        """The counterexample in one line; empty if there is none."""
        return "" if self.verdict is None else self.verdict.place

    @property
    def difference(self) -> str:
        """The first failed comparison and the counterexample; empty if nothing failed."""
        failures = (
            finding.what
            for found in self._evidence()
            for finding in found.findings
            if finding.counterexample is not None
        )
        return ": ".join(filter(None, (next(failures, ""), self.counterexample)))

    @property
    def corrections(self) -> tuple[str, ...]:
        """The corrected statements that hold, each with the sizes on which it was verified."""
        return tuple(
            f"{words} ({describe_span(size for size, _ in asides)})"
            for (kind, words), asides in asides_by_words(self._evidence()).items()
            if kind == "instead"
            and all(aside.met for _, aside in asides)
            and any(finding.compared for _, aside in asides for finding in aside.findings)
        )

    def _evidence(self) -> list[Evidence]:
        return [] if self.verdict is None else in_scope(self.claim, self.verdict.evidence)


@cache
def quick_verdicts() -> tuple[Verdict, ...]:
    """Return the verdicts on all claims at level ``quick``, computed once per process."""
    return verify_claims(tuple(catalogue.claims().values()), jobs=_JOBS)


def rows(verdicts: Iterable[Verdict]) -> list[ReportRow]:
    """Return verdicts with their claims as rows of a report, in the order of the papers.

    Verdicts on unknown claims are skipped.
    """
    by_id = {verdict.claim: verdict for verdict in verdicts}
    claims = catalogue.claims().items()
    return [ReportRow(claim, by_id[claim_id]) for claim_id, claim in claims if claim_id in by_id]


def counts(listed: Iterable[ReportRow]) -> dict[str, dict[str, int]]:
    """Return the number of claims with each verdict, by paper and verdict.

    A conjunction counts as one claim. Papers without a claim in the list are omitted.
    """
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
        phrases = [
            pluralize(count, word, _PLURALS.get(word, word))
            for word, count in numbers.items()
            if count
        ]
        yield f"{paper}: {pluralize(sum(numbers.values()), 'claim')}: {', '.join(phrases)}"


def markdown(verdicts: Iterable[Verdict], about: Mapping[str, str] | None = None) -> str:
    """Return a report in Markdown, without a title.

    Args:
        verdicts: the verdicts to report.
        about: the provenance that the top of the page shows, as strings by label.
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
    """Return a report as one HTML file. The arguments are the same as those of `markdown`."""
    values = page_values(rows(verdicts), about)
    return inline_files(render_page(_TEMPLATE, **values, paper="", verdict="", words=""))


def page_values(
    listed: Sequence[ReportRow], about: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the values of the template variables of the claims page.

    The variables for the selected paper and verdict and for the search words are not included.
    """
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
    """Return the rows of all failing claims that are not conjunctions.

    The failing parts of conjunctions are included.
    """
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
        yield f"  * Correct statement: {_escaped(correction)}."
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
    """Escape special characters for a Markdown table, and mark up subscripts and exponents."""
    escaped = text.replace("|", "\\|").replace("<", "&lt;")
    return typeset(escaped.replace(" * ", " \\* "))


# Tables of claims and verdicts


#: For each claim id, the verification run that stored the newest verdict, and this verdict. The
#: verdict is None if the claim's pack has changed since the run.
StoredVerdicts = Mapping[str, tuple[models.ClaimRun | None, Verdict | None]]
#: The text shown instead of a verdict if the claim's pack has changed since the verification run.
OUTDATED = "verified with another version of the pack; check again"

CLAIM_COLUMNS = (
    "id", "paper", "number", "statement", "notation", "verdict", "sizes", "counterexample",
    "detail", "run",
)  # fmt: skip
#: If a table has at most this many verdicts, its note also gives the evidence for each verdict.
_FEW = 3
VERDICT_COLUMNS = (
    "id", "verdict", "sizes", "counterexample", "number", "statement", "detail", "of",
)  # fmt: skip


class VerdictTable(Table):
    """A table of claims with their verdicts.

    The method `readable` shortens the lists of sizes.
    """

    def readable(self) -> Table:
        """Return the table with abbreviated lists of sizes, such as ``S3..S7``."""
        rows = [{**row, "sizes": describe_span(row["sizes"] or ())} for row in self.rows]
        return replace(self, rows=rows)


def list_claims(
    selected: Iterable[Claim], stored: StoredVerdicts, verdict: str | None = None
) -> Table:
    """Return a table of claims with their newest stored verdicts.

    Args:
        selected: the claims.
        stored: the newest stored verdicts, with their verification runs.
        verdict: return only the claims with this verdict (default: all claims).
    """
    rows = []
    for claim in selected:
        run, found = stored.get(claim.id, (None, None))
        if verdict is None or (found is not None and found.verdict == verdict):
            row = {**claim_row(claim), **verdict_row(found), "run": run and run.id}
            rows.append(row | ({"detail": OUTDATED} if run and found is None else {}))
    # These columns may be omitted if the terminal is narrow. The statement is one of them, because
    # the notation contains the same formulas.
    spare = ("run", "detail", "counterexample", "statement", "paper", "sizes")
    outdated = [row["id"] for row in rows if row.get("detail") == OUTDATED]
    note = f"{', '.join(outdated)}: {OUTDATED}" if outdated else ""
    return VerdictTable.of(rows, CLAIM_COLUMNS, note, spare=spare)


def list_verdicts(
    verdicts: Sequence[Verdict],
    requested: Sequence[Claim],
    sizes: Sequence[str] | None,
    run: str = "",
    failure: StarcastError | None = None,
) -> Table:
    """Return a table of verdicts with their claims, in the order of the papers.

    The table's note counts the verdicts of each paper and, if ``sizes`` are given, the claims
    without a verdict. If there are few verdicts, the note also contains the evidence for each
    verdict.

    Args:
        verdicts: the verdicts to list.
        requested: the requested claims, with or without a verdict.
        sizes: the specs of topologies that were given instead of a level; otherwise None.
        run: a phrase that names the stored verification run, or says that nothing is stored.
        failure: the error that prevented the storage of the verdicts, or None.
    """
    listed = [{**claim_row(row.claim), **verdict_row(row.verdict)} for row in rows(verdicts)]
    details = [f"{row['id']}: {row['detail']}" for row in listed if len(listed) <= _FEW]
    notes = [*filter(None, [run]), *details, *summary(verdicts)]
    omitted = 0 if sizes is None else len(requested) - len(listed)
    if omitted:
        claims_are_omitted = pluralize(
            omitted,
            "claim is omitted: it, or one of its parts, is",
            "claims are omitted: they, or some parts, are",
        )
        notes.append(f"{claims_are_omitted} not about these sizes")
    spare = ("of", "detail", "statement", "number")
    return VerdictTable.of(listed, VERDICT_COLUMNS, "\n".join(notes), failure, spare)


def claim_row(claim: Claim) -> Row:
    """Return a claim as a table row: id, paper, number, statement and notation."""
    return {
        "id": claim.id,
        "paper": claim.citation,
        "number": claim.number,
        "statement": claim.statement,
        "notation": claim.notation,
    }


def verdict_row(verdict: Verdict | None) -> Row:
    """Return a claim's verdict as a table row, which is empty if the verdict is None."""
    if verdict is None:
        return {}
    return {
        "verdict": verdict.verdict,
        "sizes": list(verdict.sizes),
        "counterexample": verdict.place,
        "detail": verdict.detail,
        "of": verdict.of,
    }


def claim_facts(claim: Claim, stored: StoredVerdicts) -> Row:
    """Return the properties of a claim and its newest verdict, by name; empty values are omitted.

    Args:
        claim: the claim.
        stored: the stored verdicts of the claim, and possibly of other claims.
    """
    run, verdict = stored.get(claim.id, (None, None))
    found = verdict_row(verdict)
    facts = {
        **claim_row(claim),
        "reading": claim.reading,
        "record": claim.record,
        **{f"{level}_sizes": list(claim.sizes.at(level)) for level in LEVELS},
        "beyond": list(claim.sizes.beyond),
        "parts": list(claim.parts),
        "section": claim.section,
        "verdict": found.get("verdict"),
        "verified_on": found.get("sizes"),
        "counterexample": found.get("counterexample"),
        "of": found.get("of"),
        "detail": OUTDATED if run and verdict is None else found.get("detail"),
        "run": run and run.id,
        "verified_by": run and f"starcast {run.version}",
    }
    return {name: value for name, value in facts.items() if value not in ("", [], None)}


def list_claim_runs(session: Session) -> Table:
    """Return a table of the stored verification runs, with claims, verdict counts and code version.

    The claims are those that were requested for the run.
    """
    counts = storage.count_verdicts(session)
    rows = [_run_row(run, counts.get(run.id, {})) for run in storage.list_claim_runs(session)]
    verdicts = map(_verdict_column, VERDICT_WORDS)
    columns = ("run", "claims", "at", *verdicts, "version", "revision", "dirty", "finished")
    return Table.of(rows, columns, spare=("revision", "dirty"))


def _run_row(run: models.ClaimRun, counts: Mapping[str, int]) -> Row:
    return {
        "run": run.id,
        "claims": " ".join(run.names) or "all",
        "at": run.level or " ".join(run.sizes or ()),
        **{_verdict_column(word): counts.get(word, 0) for word in VERDICT_WORDS},
        "version": run.version,
        "revision": run.revision and run.revision[:12],
        "dirty": run.dirty,
        "finished": run.finished_at.astimezone(),
    }


def _verdict_column(verdict: str) -> str:
    """Return the column name for the count of a verdict, with underscores instead of spaces."""
    return verdict.replace(" ", "_")


def list_changes(session: Session, before: int | None = None, after: int | None = None) -> Table:
    """Return a table of the claims whose verdicts differ between two stored verification runs.

    Claims of the first run that were not requested in the second run are not listed. The note names
    both runs, and counts these claims.

    Args:
        session: a session of the database.
        before: number of the first run; by default the run before ``after``.
        after: number of the second run; by default the newest.

    Raises:
        NotFoundError: one of the two runs is not stored.
    """
    new = storage.load_claim_run(session, after)
    old = (
        storage.load_newest(session, before=new.id)
        if before is None
        else storage.load_claim_run(session, before)
    )
    first, second = (storage.load_words(session, run.id) for run in (old, new))
    unasked = {claim for claim in first if not _is_requested(claim, new)}
    # Claims that no longer exist, or whose pack is not loaded, come last.
    names = dict.fromkeys([*claims(), *sorted({*first, *second})])
    verdicts = [
        (claim, first.get(claim, ""), second.get(claim, ""))
        for claim in names
        if claim not in unasked
    ]
    columns = ("id", "before", "after")
    rows = [dict(zip(columns, row, strict=True)) for row in verdicts if row[1] != row[2]]
    scopes = [f"run {run.id} ({storage.describe_scope(run)})" for run in (old, new)]
    notes = [f"verification {scopes[0]} against {scopes[1]}"]
    if unasked:
        of_run = f"of run {old.id}"
        claims_are = pluralize(len(unasked), f"claim {of_run} is", f"claims {of_run} are")
        notes.append(f"{claims_are} not requested in run {new.id}")
    if not rows:
        notes.append("no differences")
    return Table.of(rows, columns, "\n".join(notes))


def _is_requested(claim: str, run: models.ClaimRun) -> bool:
    return not run.names or any(covers(name, claim) for name in run.names)


def run_provenance(run: models.ClaimRun) -> dict[str, str]:
    """Return the provenance of a verification run for the top of its report."""
    revision = ""
    if run.revision is not None:
        revision = f", revision {run.revision[:12]}{' with changes' if run.dirty else ''}"
    return {
        "Verification run": f"{run.id} ({storage.describe_scope(run)})",
        "Code": f"starcast {run.version}{revision}",
        "Finished": run.finished_at.astimezone().isoformat(sep=" ", timespec="seconds"),
    }
