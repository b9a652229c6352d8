"""Stored verification runs: every claim is checked once per version of the code.

The evidence of each task is stored in one transaction when the task finishes. The verdicts are
stored in the transaction that marks the run as finished. An interrupted run therefore has complete
evidence and no verdicts, and the same command continues it.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from starcast.claims import catalogue, parallel, storage
from starcast.claims.evidence import Evidence
from starcast.claims.fingerprint import demand_same, fingerprint
from starcast.claims.model import Claim, size_order
from starcast.claims.parallel import Pair
from starcast.claims.storage import Question
from starcast.claims.verdict import Verdict
from starcast.database.sessions import advisory_lock, session
from starcast.errors import BusyError
from starcast.progress import Reporter
from starcast.support.processes import check_jobs
from starcast.support.text import pluralize
from starcast.topologies import topology
from starcast.vocabulary import Level

LOCK = "verification runs"
_BUSY = BusyError(
    "another process is checking claims",
    hint="wait until it has finished, or give --no-store",
)


@dataclass(frozen=True)
class Outcome:
    """The result of checking claims.

    Attributes:
        claim_run: the number of the verification run.
        verdicts: its verdicts.
        known: findings that were known before.
        found: new findings.
    """

    claim_run: int
    verdicts: tuple[Verdict, ...]
    known: int
    found: int

    def __str__(self) -> str:
        new = pluralize(self.found, "check")
        return f"verification run {self.claim_run}: {new} new, {self.known:,} known"


def verify_claims(
    engine: Engine,
    names: Sequence[str],
    level: Level = "quick",
    sizes: Sequence[str] | None = None,
    *,
    reporter: Reporter,
    jobs: int | None = None,
    again: bool = False,
    executor: Executor | None = None,
) -> Outcome:
    """Check claims and store evidence and verdicts.

    Args:
        engine: a database with a checked schema.
        names: claim ids or prefixes of ids; all claims if empty.
        level: the sizes to check.
        sizes: topologies to check instead of those of the level.
        reporter: receives the progress and the number of known findings.
        jobs: as in `parallel.run_tasks`. Only this process writes to the database.
        again: compute everything again, even findings that are known.
        executor: as in `parallel.run_tasks`.

    Raises:
        InputError: a claim, level or size is unknown, or ``jobs`` is less than 1.
        BusyError: another process is checking claims.
        LimitError: a size does not fit into memory; earlier findings are stored.
        RejectedError: the source code of starcast changed during the run.
        UnavailableError: a connection to the database was lost; earlier findings are stored.
    """
    check_jobs(jobs)
    code = fingerprint()
    claims = catalogue.select_claims(names)
    pairs = parallel.plan_pairs(claims, level, sizes)
    specs = None
    if sizes is not None:
        specs = tuple(sorted({topology(spec).spec for spec in sizes}, key=size_order))
    asked = Question(tuple(names), level if specs is None else None, specs)
    with advisory_lock(engine, LOCK, _BUSY) as lock:
        with session(engine) as opened:
            number = _open_run(opened, asked, code, pairs, again=again)
            known = storage.known_pairs(opened, number)
        tasks = parallel.plan_tasks(pairs, known)
        missing = sum(len(task.claims) for task in tasks)
        if len(pairs) > missing:
            findings = pluralize(len(pairs) - missing, "finding is", "findings are")
            reporter.say(
                f"{findings} known from earlier runs of the same code, of {len(pairs):,};"
                " --again computes all of them again"
            )
        try:
            with parallel.run_tasks(tasks, jobs, reporter, executor) as results:
                for evidence in results:
                    demand_same(code)
                    with session(engine) as opened:
                        lock.verify(opened)
                        storage.save_evidence(opened, number, evidence)
        except KeyboardInterrupt:
            reporter.say(
                "the evidence so far is stored; repeat the command without --again to continue"
            )
            raise
        with session(engine) as opened:
            lock.verify(opened)
            verdicts = _finish(opened, number, claims, set(pairs))
    return Outcome(number, verdicts, len(pairs) - missing, missing)


def store_evidence(
    engine: Engine,
    names: Sequence[str],
    level: Level,
    sizes: Sequence[str] | None,
    evidence: Sequence[Evidence],
) -> Outcome:
    """Store a verification run whose evidence was computed elsewhere, by this code.

    Args:
        engine: a database with a checked schema.
        names: as in `verify_claims`.
        level: as there.
        sizes: as there.
        evidence: the evidence of all claims at all sizes.

    Raises:
        BusyError: another process is checking claims.
    """
    claims = catalogue.select_claims(names)
    pairs = [(each.claim, each.size) for each in evidence]
    specs = None if sizes is None else tuple(sizes)
    asked = Question(tuple(names), level if specs is None else None, specs)
    with advisory_lock(engine, LOCK, _BUSY) as lock, session(engine) as opened:
        lock.verify(opened)
        number = _open_run(opened, asked, fingerprint(), pairs, again=False)
        known = storage.known_pairs(opened, number)
        new = [each for each in evidence if (each.claim, each.size) not in known]
        storage.save_evidence(opened, number, new)
        verdicts = _finish(opened, number, claims, set(pairs))
    return Outcome(number, verdicts, len(pairs) - len(new), len(new))


def _open_run(
    opened: Session, asked: Question, code: str, pairs: Sequence[Pair], *, again: bool
) -> int:
    """Return the run to write to: an earlier one with the same question, or a new one.

    Known evidence of the pairs is copied into it.
    """
    earlier = None if again else storage.find_claim_run(opened, asked, code)
    if earlier is not None and earlier.finished_at is not None:
        if storage.known_pairs(opened, earlier.id) >= set(pairs):
            return earlier.id
        earlier = None
    run = earlier or storage.save_claim_run(opened, asked, code)
    if not again:
        storage.copy_evidence(opened, run, set(pairs) - storage.known_pairs(opened, run.id))
    return run.id


def _finish(
    opened: Session, number: int, claims: Sequence[Claim], pairs: set[Pair]
) -> tuple[Verdict, ...]:
    run = storage.load_claim_run(opened, number)
    evidence = [
        each for each in storage.load_evidence(opened, number) if (each.claim, each.size) in pairs
    ]
    verdicts = parallel.judge_claims(claims, evidence)
    if run.finished_at is None:
        storage.finish(opened, run, verdicts)
    return verdicts
