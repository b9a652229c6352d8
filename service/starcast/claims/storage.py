"""Storage of verification runs: evidence and verdicts as PostgreSQL rows.

Functions that are given a session never commit it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import func, select, tuple_
from sqlalchemy.orm import Session

from starcast.claims.catalogue import papers, sort_sizes
from starcast.claims.check import Aside, Evidence, Finding
from starcast.claims.verdict import Verdict, by_claim
from starcast.stores.database import models
from starcast.stores.database.models import ClaimEvidence, ClaimRun, ClaimVerdict
from starcast.support.errors import NotFoundError
from starcast.support.installation import provenance
from starcast.support.text import pluralize

#: The maximum value of PostgreSQL's type integer.
_MAX_ID = 2**31 - 1


def describe_scope(run: ClaimRun) -> str:
    """Return the requested claim names (or "all") and the requested level or sizes, as text."""
    return f"{' '.join(run.names) or 'all'}, {run.level or ' '.join(run.sizes or ())}"


def save_claim_run(
    session: Session,
    names: Sequence[str],
    level: str,
    sizes: Sequence[str] | None,
    verdicts: Sequence[Verdict],
) -> ClaimRun:
    """Store a verification run: its verdicts, and the evidence from which they are derived.

    Args:
        session: a session of the database.
        names: the requested names of claims; an empty list for all claims.
        level: the requested level; not stored if ``sizes`` are given.
        sizes: the sizes that were requested instead of a level.
        verdicts: the verdicts with their evidence.
    """
    code = provenance()
    keys = {paper_key(each.claim) for each in verdicts}
    run = ClaimRun(
        names=list(names),
        level=level if sizes is None else None,
        sizes=None if sizes is None else list(sort_sizes(sizes)),
        version=code["version"],
        revision=code["revision"],
        dirty=code["dirty"],
        packs={
            key: {"folder": paper.folder, "sha256": paper.sha256}
            for key, paper in papers().items()
            if key in keys and paper.sha256
        },
    )
    session.add(run)
    session.flush()
    # A claim can be selected both by itself and as part of a conjunction; it gets a single row.
    alone = [part for verdict in verdicts for part in verdict.parts or (verdict,)]
    evidence = {(each.claim, each.size): each for verdict in alone for each in verdict.evidence}
    session.add_all(
        ClaimEvidence(
            claim_run=run.id,
            claim=each.claim,
            size=each.size,
            evidence=evidence_to_json(each),
            seconds=each.seconds,
        )
        for each in evidence.values()
    )
    session.add_all(
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
    )
    session.flush()
    return run


def paper_key(claim_id: str) -> str:
    """Return the key of the paper that makes a claim."""
    return claim_id.partition(".")[0]


def is_outdated(run: ClaimRun, claim_id: str) -> bool:
    """Return whether a claim's pack differs from the pack that a verification run recorded.

    The result is False for packs that are not loaded, and for packs that come with starcast. For
    the latter, the run records the version of starcast instead.
    """
    key = paper_key(claim_id)
    recorded = run.packs.get(key, {"sha256": ""})
    return key in papers() and bool(papers()[key].sha256 != recorded["sha256"])


def describe_missing_packs(session: Session, run: int | None = None) -> str:
    """Return a sentence about the packs that are not loaded, with counts of their stored verdicts.

    The sentence is empty if all packs are loaded.

    Args:
        session: a session of the database.
        run: number of the run whose verdicts are counted (default: the newest verdict on each
            claim is counted).
    """
    query = select(ClaimVerdict.claim, func.max(ClaimVerdict.claim_run))
    if run is not None:
        query = query.where(ClaimVerdict.claim_run == run)
    runs = {each.id: each for each in list_claim_runs(session)}
    missing = Counter(
        runs[number].packs.get(key, {"folder": f"with the key {key}"})["folder"]
        for claim, number in session.execute(query.group_by(ClaimVerdict.claim))
        for key in [paper_key(claim)]
        if key not in papers()
    )
    return "; ".join(
        f"{pluralize(count, 'stored verdict needs', 'stored verdicts need')} the pack {folder}"
        " (--plugin FOLDER): omitted"
        for folder, count in missing.items()
    )


def load_claim_run(session: Session, number: int | None = None) -> ClaimRun:
    """Return the verification run with the given number, or the newest run if number is None.

    Raises:
        NotFoundError: no verification run with this number is stored or, if number is None, no run
            is stored.
    """
    if number is None:
        return load_newest(session)
    # For larger numbers the driver would raise an error of its own instead of finding no row.
    run = session.get(ClaimRun, number) if 0 <= number <= _MAX_ID else None
    if run is None:
        raise NotFoundError(
            f"no verification run {number} is stored", hint="see 'starcast claims runs'"
        )
    return run


def load_newest(session: Session, before: int | None = None) -> ClaimRun:
    """Return the newest verification run, or the newest run before the run number ``before``.

    Raises:
        NotFoundError: no verification run is stored, or none before ``before``.
    """
    query = select(ClaimRun).order_by(ClaimRun.id.desc())
    if before is not None:
        query = query.where(ClaimRun.id < before)
    run = session.scalar(query.limit(1))
    if run is None:
        if before is not None:
            raise NotFoundError(
                f"no verification run before run {before} is stored", hint="choose a later run"
            )
        raise NotFoundError(
            "no verification run is stored", hint="run 'starcast claims check' to store a run"
        )
    return run


def list_claim_runs(session: Session) -> list[ClaimRun]:
    """Return all verification runs, the oldest first."""
    return list(session.scalars(select(ClaimRun).order_by(ClaimRun.id)))


def count_verdicts(session: Session) -> dict[int, dict[str, int]]:
    """Return, for each verification run by number, how many claims have each verdict."""
    query = select(ClaimVerdict.claim_run, ClaimVerdict.verdict, func.count()).group_by(
        ClaimVerdict.claim_run, ClaimVerdict.verdict
    )
    counts: dict[int, dict[str, int]] = {}
    for run, verdict, count in session.execute(query):
        counts.setdefault(run, {})[verdict] = count
    return counts


def load_evidence(
    session: Session, run: int, claims: Sequence[str] | None = None
) -> list[Evidence]:
    """Return the evidence of a verification run, for all claims or only for the given claims."""
    query = select(ClaimEvidence).where(ClaimEvidence.claim_run == run)
    if claims is not None:
        query = query.where(ClaimEvidence.claim.in_(claims))
    return [
        evidence_from_json(row.claim, row.size, row.seconds, row.evidence)
        for row in session.scalars(query)
    ]


def load_words(session: Session, run: int) -> dict[str, str]:
    """Return, for each claim id of a verification run, the verdict in words, such as ``fails``."""
    query = select(ClaimVerdict.claim, ClaimVerdict.verdict).where(ClaimVerdict.claim_run == run)
    return {claim: word for claim, word in session.execute(query)}  # noqa: C416 - rows, not pairs


def load_verdicts(session: Session, run: int) -> list[Verdict]:
    """Return the verdicts of a verification run with their evidence, one for each stored row.

    Each part of a conjunction has a separate row. The field `parts` of the verdicts is empty.
    """
    evidence = by_claim(load_evidence(session, run))
    query = select(ClaimVerdict).where(ClaimVerdict.claim_run == run)
    return [_verdict(row, evidence.get(row.claim, ())) for row in session.scalars(query)]


def newest_verdicts(session: Session) -> dict[str, tuple[models.ClaimRun, Verdict | None]]:
    """Return the newest verdict on each claim in the loaded packs, with its run, by claim id.

    The verdict is None if the claim's pack has changed since the run, because the verdict may be
    about an older statement of the claim. Evidence is included only for claims that fail.
    """
    runs = {run.id: run for run in list_claim_runs(session)}
    newest = select(ClaimVerdict.claim, func.max(ClaimVerdict.claim_run)).group_by(
        ClaimVerdict.claim
    )
    query = select(ClaimVerdict).where(
        tuple_(ClaimVerdict.claim, ClaimVerdict.claim_run).in_(newest)
    )
    rows = [row for row in session.scalars(query) if paper_key(row.claim) in papers()]
    # Only failing claims need their evidence, to show the counterexamples.
    failing: dict[int, list[str]] = {}
    for row in rows:
        if row.verdict == "fails":
            failing.setdefault(row.claim_run, []).append(row.claim)
    evidence = by_claim(
        each for run, names in failing.items() for each in load_evidence(session, run, names)
    )
    return {
        row.claim: (
            runs[row.claim_run],
            None
            if is_outdated(runs[row.claim_run], row.claim)
            else _verdict(row, evidence.get(row.claim, ())),
        )
        for row in rows
    }


def _verdict(row: ClaimVerdict, evidence: Iterable[Evidence]) -> Verdict:
    # The plug-in that defines a size's topology family may not be loaded, so evidence is sorted by
    # the stored order of sizes. Sizes beyond the scope of the claim come first.
    ranks = {size: rank for rank, size in enumerate(row.sizes, start=1)}
    return Verdict(
        row.claim,
        row.verdict,  # type: ignore[arg-type]
        tuple(row.sizes),
        row.counterexample,  # JSONB does not keep the order of keys; `describe_place` sorts them
        row.detail,
        tuple(sorted(evidence, key=lambda each: (ranks.get(each.size, 0), each.size))),
        of=row.subject,
    )


# Evidence as JSON
#
# Counterexamples become lists of pairs, because PostgreSQL does not keep the order of keys.


def evidence_to_json(evidence: Evidence) -> dict[str, Any]:
    """Return the findings and asides of evidence as JSON values.

    The claim, the size and the duration are stored separately.
    """
    return {
        "findings": _findings_to_json(evidence.findings),
        "asides": [
            {**vars(aside), "findings": _findings_to_json(aside.findings)}
            for aside in evidence.asides
        ],
        "undefined": evidence.undefined,
    }


def evidence_from_json(
    claim: str, size: str, seconds: float, values: Mapping[str, Any]
) -> Evidence:
    """Convert the result of `evidence_to_json` back to evidence."""
    asides = tuple(
        Aside(**{**aside, "findings": _findings_from_json(aside["findings"])})
        for aside in values["asides"]
    )
    findings = _findings_from_json(values["findings"])
    return Evidence(claim, size, findings, asides, seconds, values["undefined"])


def _findings_to_json(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    return [
        {**vars(finding), "counterexample": place and [list(pair) for pair in place.items()]}
        for finding in findings
        for place in [finding.counterexample]
    ]


def _findings_from_json(rows: Iterable[Mapping[str, Any]]) -> tuple[Finding, ...]:
    return tuple(
        Finding(**{**row, "counterexample": place if place is None else dict(place)})
        for row in rows
        for place in [row["counterexample"]]
    )
