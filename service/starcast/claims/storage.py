"""Storage of verification runs: evidence and verdicts as rows of PostgreSQL.

As in `starcast.database.repository`, every function works in the given session and never commits.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import func, insert, literal, select, tuple_
from sqlalchemy.orm import Session

from starcast.claims import serialization
from starcast.claims.evidence import Evidence
from starcast.claims.model import size_order
from starcast.claims.parallel import Pair
from starcast.claims.verdict import Verdict
from starcast.database import models
from starcast.database.models import ClaimEvidence, ClaimRun, ClaimVerdict
from starcast.errors import NotFoundError
from starcast.support.provenance import provenance

#: The largest value of PostgreSQL's type integer.
_LARGEST_ID = 2**31 - 1
#: Rows selected by one statement.
_BATCH = 1_000


@dataclass(frozen=True)
class Question:
    """The claims of a verification run, by id or prefix (none for all), and its level or sizes."""

    names: tuple[str, ...]
    level: str | None
    sizes: tuple[str, ...] | None

    def __str__(self) -> str:
        return f"{' '.join(self.names) or 'all'}, {self.level or ' '.join(self.sizes or ())}"


def question(run: ClaimRun) -> Question:
    """Return what a verification run checks."""
    sizes = None if run.sizes is None else tuple(run.sizes)
    return Question(tuple(run.names), run.level, sizes)


def save_claim_run(session: Session, asked: Question, fingerprint: str) -> ClaimRun:
    """Store a new verification run without evidence."""
    code = provenance()
    run = ClaimRun(
        names=list(asked.names),
        level=asked.level,
        sizes=None if asked.sizes is None else list(asked.sizes),
        version=code["version"],
        revision=code["revision"],
        dirty=code["dirty"],
        fingerprint=fingerprint,
    )
    session.add(run)
    session.flush()
    return run


def find_claim_run(session: Session, asked: Question, fingerprint: str) -> ClaimRun | None:
    """Return the newest verification run of this code with this question, or None."""
    query = select(ClaimRun).where(ClaimRun.fingerprint == fingerprint).order_by(ClaimRun.id.desc())
    return next((run for run in session.scalars(query) if question(run) == asked), None)


def load_claim_run(session: Session, number: int) -> ClaimRun:
    """Return the verification run with this number.

    Raises:
        NotFoundError: no such verification run is stored.
    """
    run = session.get(ClaimRun, number) if 0 <= number <= _LARGEST_ID else None
    if run is None:
        raise NotFoundError(
            f"no verification run {number} is stored", hint="see 'starcast claims runs'"
        )
    return run


def load_finished(session: Session, number: int) -> ClaimRun:
    """Return the verification run with this number if it has its verdicts.

    Raises:
        NotFoundError: no such verification run is stored, or it was interrupted.
    """
    run = load_claim_run(session, number)
    if run.finished_at is None:
        raise NotFoundError(
            f"verification run {number} was interrupted and has no verdicts",
            hint="repeat the same 'starcast claims check' to continue it",
        )
    return run


def load_newest(session: Session, before: int | None = None) -> ClaimRun:
    """Return the newest finished verification run, or the newest before the run ``before``.

    Raises:
        NotFoundError: there is none.
    """
    query = select(ClaimRun).where(ClaimRun.finished_at.is_not(None)).order_by(ClaimRun.id.desc())
    if before is not None:
        query = query.where(ClaimRun.id < before)
    run = session.scalar(query.limit(1))
    if run is None:
        earlier = "" if before is None else f" before run {before}"
        raise NotFoundError(
            f"no finished verification run is stored{earlier}",
            hint="'starcast claims check' stores one",
        )
    return run


def list_claim_runs(session: Session) -> list[ClaimRun]:
    """Return all verification runs, the oldest first."""
    return list(session.scalars(select(ClaimRun).order_by(ClaimRun.id)))


def count_verdicts(session: Session) -> dict[int, dict[str, int]]:
    """Return the number of claims with each verdict, by the number of the verification run."""
    query = select(ClaimVerdict.claim_run, ClaimVerdict.verdict, func.count()).group_by(
        ClaimVerdict.claim_run, ClaimVerdict.verdict
    )
    counts: dict[int, dict[str, int]] = {}
    for run, verdict, count in session.execute(query):
        counts.setdefault(run, {})[verdict] = count
    return counts


def save_evidence(session: Session, run: int, evidence: Iterable[Evidence]) -> None:
    """Store evidence in the verification run with this number."""
    rows = [
        ClaimEvidence(
            claim_run=run,
            claim=each.claim,
            size=each.size,
            evidence=serialization.evidence_to_json(each),
            seconds=each.seconds,
        )
        for each in evidence
    ]
    session.add_all(rows)
    session.flush()


def known_pairs(session: Session, run: int) -> set[Pair]:
    """Return the claims and sizes for which a verification run has evidence."""
    query = select(ClaimEvidence.claim, ClaimEvidence.size).where(ClaimEvidence.claim_run == run)
    return {(claim, size) for claim, size in session.execute(query)}


def copy_evidence(session: Session, run: ClaimRun, pairs: Collection[Pair]) -> int:
    """Copy the evidence of these pairs from other verification runs of the same code.

    A verification run holds all evidence behind its verdicts, so that it can be read on its own.

    Returns:
        The number of pairs copied.
    """
    old = ClaimEvidence
    query = (
        select(old.claim, old.size, func.max(old.claim_run))
        .join(ClaimRun, ClaimRun.id == old.claim_run)
        .where(ClaimRun.fingerprint == run.fingerprint, old.claim_run != run.id)
        .group_by(old.claim, old.size)
    )
    sources = [
        (source, claim, size)
        for claim, size, source in session.execute(query)
        if (claim, size) in pairs
    ]
    for begin in range(0, len(sources), _BATCH):
        batch = sources[begin : begin + _BATCH]
        copied = select(literal(run.id), old.claim, old.size, old.evidence, old.seconds).where(
            tuple_(old.claim_run, old.claim, old.size).in_(batch)
        )
        columns = ["claim_run", "claim", "size", "evidence", "seconds"]
        session.execute(insert(old).from_select(columns, copied))
    return len(sources)


def load_evidence(
    session: Session, run: int, claims: Sequence[str] | None = None
) -> list[Evidence]:
    """Return the evidence of a verification run, for all claims or some of them."""
    query = select(ClaimEvidence).where(ClaimEvidence.claim_run == run)
    if claims is not None:
        query = query.where(ClaimEvidence.claim.in_(claims))
    return [
        serialization.evidence_from_json(row.claim, row.size, row.seconds, row.evidence)
        for row in session.scalars(query)
    ]


def finish(session: Session, run: ClaimRun, verdicts: Iterable[Verdict]) -> None:
    """Store the verdicts of a verification run and mark it as finished."""
    rows = [
        ClaimVerdict(
            claim_run=run.id,
            claim=each.claim,
            verdict=each.verdict,
            sizes=list(each.sizes),
            counterexample=None if each.counterexample is None else dict(each.counterexample),
            detail=each.detail,
            subject=each.of,
        )
        for each in verdicts
    ]
    session.add_all(rows)
    run.finished_at = datetime.now(UTC)
    session.flush()


def load_verdicts(session: Session, run: int) -> list[Verdict]:
    """Return the verdicts of a verification run with their evidence, in the order of the rows.

    Parts of a claim are distinguished only by their ids.
    """
    evidence: dict[str, list[Evidence]] = {}
    for each in load_evidence(session, run):
        evidence.setdefault(each.claim, []).append(each)
    query = select(ClaimVerdict).where(ClaimVerdict.claim_run == run)
    return [_verdict(row, evidence.get(row.claim, ())) for row in session.scalars(query)]


def newest_verdicts(session: Session) -> dict[str, tuple[models.ClaimRun, Verdict]]:
    """Return the newest verdict of each claim, and its run, by claim id.

    Only claims that fail have their evidence.
    """
    runs = {run.id: run for run in list_claim_runs(session)}
    newest = select(ClaimVerdict.claim, func.max(ClaimVerdict.claim_run)).group_by(
        ClaimVerdict.claim
    )
    query = select(ClaimVerdict).where(
        tuple_(ClaimVerdict.claim, ClaimVerdict.claim_run).in_(newest)
    )
    rows = list(session.scalars(query))
    failing: dict[int, list[str]] = {}
    for row in rows:
        if row.verdict == "fails":
            failing.setdefault(row.claim_run, []).append(row.claim)
    evidence: dict[str, list[Evidence]] = {}
    for run, names in failing.items():
        for each in load_evidence(session, run, names):
            evidence.setdefault(each.claim, []).append(each)
    return {
        row.claim: (runs[row.claim_run], _verdict(row, evidence.get(row.claim, ()))) for row in rows
    }


def _verdict(row: ClaimVerdict, evidence: Iterable[Evidence]) -> Verdict:
    return Verdict(
        row.claim,
        row.verdict,  # type: ignore[arg-type]
        tuple(row.sizes),
        row.counterexample,  # JSONB loses key order; `describe.describe_place` restores an order
        row.detail,
        tuple(sorted(evidence, key=lambda each: size_order(each.size))),
        of=row.subject,
    )
