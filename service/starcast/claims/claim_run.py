"""The ledger, carried out and kept: statements are looked at once for the same code.

What a task found is stored in one transaction as it finishes, and the verdicts in one with the word that the ledger is
finished. So a ledger that was broken off has evidence that is whole, and no verdicts; asked again, it goes on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from starcast.claims import catalogue, parallel, storage
from starcast.claims.fingerprint import demand_same, fingerprint
from starcast.claims.model import Claim, Level, size_order
from starcast.claims.parallel import Pair
from starcast.claims.storage import Question
from starcast.claims.verdict import Verdict
from starcast.database import models
from starcast.database.sessions import holding, session
from starcast.errors import BusyError
from starcast.progress import Reporter
from starcast.support.processes import check_jobs
from starcast.support.text import pluralize
from starcast.topologies import topology

_BUSY = BusyError(
    "another process is at the ledger",
    hint="wait until it is done, then try again, or give --no-store",
)


@dataclass(frozen=True)
class Outcome:
    """What looking at statements did: the ledger's number, its verdicts, and how many findings were known and are new."""

    ledger: int
    verdicts: tuple[Verdict, ...]
    as_topology: int
    found: int


def look(
    engine: Engine,
    names: Sequence[str],
    level: Level = "quick",
    sizes: Sequence[str] | None = None,
    *,
    reporter: Reporter,
    jobs: int | None = None,
    again: bool = False,
) -> Outcome:
    """Look at statements, and store what is found and what becomes of them.

    Args:
        engine: a database whose schema was checked.
        names: ids or beginnings of ids; all, if none.
        level: up to which sizes.
        sizes: instead, the topologies to look at.
        reporter: hears of the progress, and how much was known.
        jobs: as in `parallel.run_tasks`. This process is the only one that writes.
        again: compute all anew, whatever is known.

    Raises:
        InputError: there is no such statement, level or size, or there are no jobs.
        BusyError: another process is at it.
        LimitError: a size does not fit into memory; what was found before is stored.
        RejectedError: the sources of starcast were changed meanwhile.
        UnavailableError: a connection to the database was lost; what was found before is stored.
    """
    check_jobs(jobs)
    code = fingerprint()
    claims = catalogue.select_claims(names)
    pairs = parallel.plan_pairs(claims, level, sizes)
    specs = (
        None
        if sizes is None
        else tuple(sorted({topology(spec).spec for spec in sizes}, key=size_order))
    )
    asked = Question(tuple(names), None if specs is not None else level, specs)
    with holding(engine, "ledger", _BUSY) as lock:
        with session(engine) as opened:
            number = _opened(opened, asked, code, pairs, again=again)
            as_topology = storage.known_pairs(opened, number)
        todo = parallel.plan_tasks(pairs, as_topology)
        missing = sum(len(task.claims) for task in todo)
        if len(pairs) > missing:
            told = pluralize(len(pairs) - missing, "finding is", "findings are")
            reporter.say(
                f"{told} known from before, of the same code, of {len(pairs):,}; --again computes all anew"
            )
        with parallel.run_tasks(todo, jobs, reporter) as found:
            for evidence in found:
                demand_same(code)
                with session(engine) as opened:
                    lock.demand(opened)
                    storage.save_evidence(opened, number, evidence)
        with session(engine) as opened:
            lock.demand(opened)
            verdicts = _finished(opened, number, claims, set(pairs))
    return Outcome(number, verdicts, len(pairs) - missing, missing)


def _opened(
    opened: Session, asked: Question, code: str, pairs: Sequence[Pair], *, again: bool
) -> int:
    """The ledger to write to, with what is known about its pairs: the one that was asked just this, or a new one."""
    there = None if again else storage.find_ledger(opened, asked, code)
    if there is not None and there.finished_at is not None:
        if storage.known_pairs(opened, there.id) >= set(pairs):
            return there.id
        there = None
    ledger = there or storage.save_ledger(opened, asked, code)
    if not again:
        storage.copy_evidence(opened, ledger, set(pairs) - storage.known_pairs(opened, ledger.id))
    return ledger.id


def _finished(
    opened: Session, number: int, claims: Sequence[Claim], pairs: set[Pair]
) -> tuple[Verdict, ...]:
    ledger: models.Ledger = storage.load_ledger(opened, number)
    evidence = [
        one for one in storage.load_evidence(opened, number) if (one.claim, one.size) in pairs
    ]
    verdicts = parallel.judge_claims(claims, evidence)
    if ledger.finished_at is None:
        storage.finish(opened, ledger, verdicts)
    return verdicts
