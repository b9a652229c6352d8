"""Saving and loading ledgers: evidence and verdicts, from objects to rows and back.

As `starcast.database.repository`: every function works inside the session it is given and commits nothing.
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
from starcast.errors import NotFoundError
from starcast.support.provenance import provenance

#: The largest number that PostgreSQL's integer holds: no ledger has a larger one.
_LARGEST = 2**31 - 1
#: Rows that one statement names.
_AT_ONCE = 1_000


@dataclass(frozen=True)
class Question:
    """What a ledger is asked: ids or beginnings of ids (none are all), and a level, or sizes instead."""

    names: tuple[str, ...]
    level: str | None
    sizes: tuple[str, ...] | None

    def __str__(self) -> str:
        return f"{' '.join(self.names) or 'all'}, {self.level or ' '.join(self.sizes or ())}"


def question(ledger: models.Ledger) -> Question:
    """What a ledger was asked."""
    return Question(
        tuple(ledger.names), ledger.level, None if ledger.sizes is None else tuple(ledger.sizes)
    )


def save_ledger(session: Session, asked: Question, fingerprint: str) -> models.Ledger:
    """Store a new ledger, without evidence."""
    code = provenance()
    ledger = models.Ledger(
        names=list(asked.names),
        level=asked.level,
        sizes=None if asked.sizes is None else list(asked.sizes),
        version=code["version"],
        revision=code["revision"],
        dirty=code["dirty"],
        fingerprint=fingerprint,
    )
    session.add(ledger)
    session.flush()
    return ledger


def find_ledger(session: Session, asked: Question, fingerprint: str) -> models.Ledger | None:
    """The newest ledger of this code that was asked just this, or None."""
    query = (
        select(models.Ledger)
        .where(models.Ledger.fingerprint == fingerprint)
        .order_by(models.Ledger.id.desc())
    )
    return next((ledger for ledger in session.scalars(query) if question(ledger) == asked), None)


def load_ledger(session: Session, number: int) -> models.Ledger:
    """The ledger of that number.

    Raises:
        NotFoundError: there is none.
    """
    ledger = session.get(models.Ledger, number) if 0 <= number <= _LARGEST else None
    if ledger is None:
        raise NotFoundError(f"no ledger {number} is stored", hint="see 'starcast claims ledgers'")
    return ledger


def finished(session: Session, number: int) -> models.Ledger:
    """The ledger of that number, if it has its verdicts.

    Raises:
        NotFoundError: there is none, or it was broken off.
    """
    ledger = load_ledger(session, number)
    if ledger.finished_at is None:
        raise NotFoundError(
            f"ledger {number} was broken off and has no verdicts",
            hint="the same 'starcast claims check' goes on with it",
        )
    return ledger


def newest(session: Session, before: int | None = None) -> models.Ledger:
    """The newest finished ledger, or the newest one before another.

    Raises:
        NotFoundError: there is none.
    """
    query = (
        select(models.Ledger)
        .where(models.Ledger.finished_at.is_not(None))
        .order_by(models.Ledger.id.desc())
    )
    found = session.scalar(
        (query if before is None else query.where(models.Ledger.id < before)).limit(1)
    )
    if found is None:
        earlier = "" if before is None else f" before ledger {before}"
        raise NotFoundError(
            f"no finished ledger is stored{earlier}", hint="'starcast claims check' makes one"
        )
    return found


def list_ledgers(session: Session) -> list[models.Ledger]:
    """All ledgers, the oldest first."""
    return list(session.scalars(select(models.Ledger).order_by(models.Ledger.id)))


def count_verdicts(session: Session) -> dict[int, dict[str, int]]:
    """How many statements have which verdict, by the ledger's number."""
    query = select(models.ClaimVerdict.ledger, models.ClaimVerdict.verdict, func.count()).group_by(
        models.ClaimVerdict.ledger, models.ClaimVerdict.verdict
    )
    found: dict[int, dict[str, int]] = {}
    for ledger, verdict, count in session.execute(query):
        found.setdefault(ledger, {})[verdict] = count
    return found


def save_evidence(session: Session, ledger: int, evidence: Iterable[Evidence]) -> None:
    """Store what was found."""
    rows = [
        models.ClaimEvidence(
            ledger=ledger,
            claim=one.claim,
            size=one.size,
            evidence=serialization.evidence_to_json(one),
            seconds=one.seconds,
        )
        for one in evidence
    ]
    session.add_all(rows)
    session.flush()


def known_pairs(session: Session, ledger: int) -> set[Pair]:
    """The statements and sizes of which a ledger has evidence."""
    query = select(models.ClaimEvidence.claim, models.ClaimEvidence.size).where(
        models.ClaimEvidence.ledger == ledger
    )
    return {(claim, size) for claim, size in session.execute(query)}


def copy_evidence(session: Session, ledger: models.Ledger, pairs: Collection[Pair]) -> int:
    """Take what other ledgers of the same code have found about these; returns how much that was.

    A ledger holds all that its verdicts rest on, so that it can be read without the others.
    """
    old = models.ClaimEvidence
    query = (
        select(old.claim, old.size, func.max(old.ledger))
        .join(models.Ledger, models.Ledger.id == old.ledger)
        .where(models.Ledger.fingerprint == ledger.fingerprint, old.ledger != ledger.id)
        .group_by(old.claim, old.size)
    )
    places = [
        (source, claim, size)
        for claim, size, source in session.execute(query)
        if (claim, size) in pairs
    ]
    for begin in range(0, len(places), _AT_ONCE):
        copied = select(literal(ledger.id), old.claim, old.size, old.evidence, old.seconds).where(
            tuple_(old.ledger, old.claim, old.size).in_(places[begin : begin + _AT_ONCE])
        )
        session.execute(
            insert(old).from_select(["ledger", "claim", "size", "evidence", "seconds"], copied)
        )
    return len(places)


def load_evidence(
    session: Session, ledger: int, claims: Sequence[str] | None = None
) -> list[Evidence]:
    """What a ledger has found, about all statements or about some."""
    query = select(models.ClaimEvidence).where(models.ClaimEvidence.ledger == ledger)
    if claims is not None:
        query = query.where(models.ClaimEvidence.claim.in_(claims))
    return [
        serialization.evidence_from_json(row.claim, row.size, row.seconds, row.evidence)
        for row in session.scalars(query)
    ]


def finish(session: Session, ledger: models.Ledger, verdicts: Iterable[Verdict]) -> None:
    """Store the verdicts; the ledger is finished with them."""
    rows = [
        models.ClaimVerdict(
            ledger=ledger.id,
            claim=one.claim,
            verdict=one.verdict,
            sizes=list(one.sizes),
            counterexample=None if one.counterexample is None else dict(one.counterexample),
            detail=one.detail,
            subject=one.of,
        )
        for one in verdicts
    ]
    session.add_all(rows)
    ledger.finished_at = datetime.now(UTC)
    session.flush()


def load_verdicts(session: Session, ledger: int) -> list[Verdict]:
    """The verdicts of a ledger with their evidence, in the order of the rows; parts are told apart by their ids only."""
    evidence: dict[str, list[Evidence]] = {}
    for one in load_evidence(session, ledger):
        evidence.setdefault(one.claim, []).append(one)
    query = select(models.ClaimVerdict).where(models.ClaimVerdict.ledger == ledger)
    return [_verdict(row, evidence.get(row.claim, ())) for row in session.scalars(query)]


def newest_verdicts(session: Session) -> dict[str, tuple[models.Ledger, Verdict]]:
    """The newest verdict of each statement, without its evidence, and the ledger that has it, by the statement's id."""
    row, by_number = models.ClaimVerdict, {ledger.id: ledger for ledger in list_ledgers(session)}
    last = select(row.claim, func.max(row.ledger)).group_by(row.claim)
    query = select(row).where(tuple_(row.claim, row.ledger).in_(last))
    return {one.claim: (by_number[one.ledger], _verdict(one, ())) for one in session.scalars(query)}


def _verdict(row: models.ClaimVerdict, evidence: Iterable[Evidence]) -> Verdict:
    return Verdict(
        row.claim,
        row.verdict,  # type: ignore[arg-type]
        tuple(row.sizes),
        row.counterexample,  # its names have lost their order; `describe.describe_place` has one of its own
        row.detail,
        tuple(sorted(evidence, key=lambda one: size_order(one.size))),
        of=row.subject,
    )
