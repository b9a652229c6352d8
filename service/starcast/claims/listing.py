"""Listings of claims, verdicts and verification runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

from starcast.claims import report, storage
from starcast.claims.catalogue import claims, covers
from starcast.claims.describe import describe_place, describe_span
from starcast.claims.model import Claim
from starcast.claims.verdict import Verdict
from starcast.stores.database import models
from starcast.support.errors import StarcastError
from starcast.support.table import Row, Table
from starcast.support.text import pluralize
from starcast.support.vocabulary import LEVELS, VERDICT_WORDS

#: The newest verdict of each claim, and the verification run in which it is stored.
Stored = Mapping[str, tuple[models.ClaimRun | None, Verdict]]

CLAIM_COLUMNS = (
    "id", "paper", "number", "statement", "notation", "verdict", "sizes", "counterexample",
    "detail", "run",
)  # fmt: skip
#: Up to this many verdicts, the note says what was compared.
_FEW = 3
VERDICT_COLUMNS = (
    "id", "verdict", "sizes", "counterexample", "number", "statement", "detail", "of",
)  # fmt: skip


class VerdictTable(Table):
    """Claims with their verdicts; sizes are abbreviated for reading."""

    def readable(self) -> Table:
        """Return the table with the first and the last size only."""
        rows = [{**row, "sizes": describe_span(row["sizes"] or ())} for row in self.rows]
        return replace(self, rows=rows)


def list_claims(selected: Iterable[Claim], stored: Stored, verdict: str | None = None) -> Table:
    """Return claims with their newest stored verdicts.

    Args:
        selected: the claims.
        stored: the stored verdicts.
        verdict: only the claims with this verdict.
    """
    rows = []
    for claim in selected:
        run, found = stored.get(claim.id, (None, None))
        if verdict is None or (found is not None and found.verdict == verdict):
            rows.append({**claim_row(claim), **verdict_row(found), "run": run and run.id})
    # The notation says with plain names what the statement says with the paper's formulas.
    spare = ("run", "detail", "counterexample", "statement", "paper", "sizes")
    return VerdictTable.of(rows, CLAIM_COLUMNS, spare=spare)


def list_verdicts(
    verdicts: Sequence[Verdict],
    requested: Sequence[Claim],
    sizes: Sequence[str] | None,
    run: str = "",
    failure: StarcastError | None = None,
) -> Table:
    """Return verdicts with their claims, in the order of the papers.

    The note of the table counts the verdicts of each paper and the claims without one. For few
    claims it also says what was compared.

    Args:
        verdicts: the verdicts.
        requested: the requested claims.
        sizes: the topologies, if they were given instead of a level.
        run: the verification run that holds the verdicts, in words.
        failure: why they could not be stored.
    """
    rows = [{**claim_row(row.claim), **verdict_row(row.verdict)} for row in report.rows(verdicts)]
    details = [f"{row['id']}: {row['detail']}" for row in rows] if len(rows) <= _FEW else []
    notes = [*filter(None, [run]), *details, *report.summary(verdicts)]
    omitted = 0 if sizes is None else len(requested) - len(rows)
    if omitted:
        claims_are_omitted = pluralize(
            omitted,
            "claim is omitted: it, or one of its parts, is",
            "claims are omitted: they, or some parts, are",
        )
        notes.append(f"{claims_are_omitted} not about these sizes")
    spare = ("of", "detail", "statement", "number")
    return VerdictTable.of(rows, VERDICT_COLUMNS, "\n".join(notes), failure, spare)


def claim_row(claim: Claim) -> Row:
    """Return the statement of a claim, as a row."""
    return {
        "id": claim.id,
        "paper": claim.citation,
        "number": claim.number,
        "statement": claim.statement,
        "notation": claim.notation,
    }


def verdict_row(verdict: Verdict | None) -> Row:
    """Return a verdict as a row; empty without one."""
    if verdict is None:
        return {}
    counterexample = (
        "" if verdict.counterexample is None else describe_place(verdict.counterexample)
    )
    found = {
        "verdict": verdict.verdict,
        "sizes": list(verdict.sizes),
        "counterexample": counterexample,
    }
    return {**found, "detail": verdict.detail, "of": verdict.of}


def claim_facts(claim: Claim, stored: Stored) -> Row:
    """Return the properties of a claim and of its newest verdict, by name."""
    run, found = stored.get(claim.id, (None, None))
    facts = {
        **claim_row(claim),
        "reading": claim.reading,
        "record": claim.record,
        **{f"{level}_sizes": list(claim.sizes.at(level)) for level in LEVELS},
        "beyond": list(claim.sizes.beyond),
        "parts": list(claim.parts),
        "section": claim.section,
        "verdict": "" if found is None else found.verdict,
        "verified_on": [] if found is None else list(found.sizes),
        "counterexample": verdict_row(found).get("counterexample", ""),
        "of": "" if found is None else found.of,
        "detail": "" if found is None else found.detail,
        "run": run and run.id,
        "verified_by": "" if run is None else f"starcast {run.version}",
    }
    return {name: value for name, value in facts.items() if value not in ("", [], None)}


def list_claim_runs(session: Session) -> Table:
    """Return the stored verification runs: requested claims, code, and number of verdicts."""
    counts = storage.count_verdicts(session)
    rows = [_run_row(run, counts.get(run.id, {})) for run in storage.list_claim_runs(session)]
    verdicts = map(_verdict_column, VERDICT_WORDS)
    columns = ("run", "claims", "at", *verdicts, "version", "revision", "dirty", "finished")
    return Table.of(rows, columns, spare=("revision", "dirty"))


def _run_row(run: models.ClaimRun, counts: Mapping[str, int]) -> Row:
    asked = storage.question(run)
    return {
        "run": run.id,
        "claims": " ".join(asked.names) or "all",
        "at": asked.level or " ".join(asked.sizes or ()),
        **{_verdict_column(word): counts.get(word, 0) for word in VERDICT_WORDS},
        "version": run.version,
        "revision": run.revision and run.revision[:12],
        "dirty": run.dirty,
        "finished": run.finished_at.astimezone(),
    }


def _verdict_column(verdict: str) -> str:
    """Return the column that counts a verdict; column names have no blanks."""
    return verdict.replace(" ", "_")


def list_changes(session: Session, before: int | None = None, after: int | None = None) -> Table:
    """Return the claims whose verdicts differ between two stored verification runs.

    The note of the table names the runs, and says how many claims were not requested again.

    Args:
        session: a session of the database.
        before: number of the first run; by default the run before ``after``.
        after: number of the second run; by default the newest.

    Raises:
        NotFoundError: there is no such run.
    """
    new = storage.load_claim_run(session, after)
    old = (
        storage.load_newest(session, before=new.id)
        if before is None
        else storage.load_claim_run(session, before)
    )
    first, second = (storage.load_words(session, run.id) for run in (old, new))
    unasked = {claim for claim in first if not _is_requested(claim, new)}
    # Claims that no longer exist are last.
    names = [claim for claim in dict.fromkeys([*claims(), *sorted(first)]) if claim not in unasked]
    verdicts = [(claim, first.get(claim, ""), second.get(claim, "")) for claim in names]
    rows = [
        {"id": claim, "before": word, "after": other}
        for claim, word, other in verdicts
        if word != other
    ]
    asked = storage.question(old), storage.question(new)
    notes = [f"verification run {old.id} ({asked[0]}) against run {new.id} ({asked[1]})"]
    if unasked:
        of_run = f"of run {old.id}"
        claims_are = pluralize(len(unasked), f"claim {of_run} is", f"claims {of_run} are")
        notes.append(f"{claims_are} not requested in run {new.id}")
    if not rows:
        notes.append("no differences")
    return Table.of(rows, ("id", "before", "after"), "\n".join(notes))


def _is_requested(claim: str, run: models.ClaimRun) -> bool:
    return not run.names or any(covers(name, claim) for name in run.names)


def run_provenance(run: models.ClaimRun) -> dict[str, str]:
    """Return the provenance of a verification run for the head of its report."""
    revision = ""
    if run.revision is not None:
        revision = f", revision {run.revision[:12]}{' with changes' if run.dirty else ''}"
    return {
        "Verification run": f"{run.id} ({storage.question(run)})",
        "Code": f"starcast {run.version}{revision}",
        "Finished": run.finished_at.astimezone().isoformat(sep=" ", timespec="seconds"),
    }
