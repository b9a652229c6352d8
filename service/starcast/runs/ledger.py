"""The ledger, carried out and kept: statements are looked at once for the same code.

What a task found is stored in one transaction as it finishes, and the verdicts in one with the word that the ledger is
finished. So a ledger that was broken off has evidence that is whole, and no verdicts; asked again, it goes on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from starcast.claims import catalogue, parallel
from starcast.claims.model import Claim, Level, size_order
from starcast.claims.parallel import Pair
from starcast.claims.verdict import Verdict
from starcast.errors import BusyError
from starcast.processes import check_jobs
from starcast.progress import Reporter
from starcast.runs import ledgers, models
from starcast.runs.database import holding, session
from starcast.runs.fingerprint import demand_same, fingerprint
from starcast.runs.ledgers import Question
from starcast.topologies import topology
from starcast.wording import counted

_BUSY = BusyError("another process is at the ledger", hint="wait until it is done, then try again, or give --no-store")


@dataclass(frozen=True)
class Outcome:
    """What looking at statements did: the ledger's number, its verdicts, and how many findings were known and are new."""

    ledger: int
    verdicts: tuple[Verdict, ...]
    known: int
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
    specs = None if sizes is None else tuple(sorted({topology(spec).spec for spec in sizes}, key=size_order))
    asked = Question(tuple(names), None if specs is not None else level, specs)
    with holding(engine, "ledger", _BUSY) as lock:
        with session(engine) as opened:
            number = _opened(opened, asked, code, pairs, again=again)
            known = ledgers.known_pairs(opened, number)
        todo = parallel.plan_tasks(pairs, known)
        missing = sum(len(task.claims) for task in todo)
        if len(pairs) > missing:
            told = counted(len(pairs) - missing, "finding is", "findings are")
            reporter.say(f"{told} known from before, of the same code, of {len(pairs):,}; --again computes all anew")
        with parallel.run_tasks(todo, jobs, reporter) as found:
            for evidence in found:
                demand_same(code)
                with session(engine) as opened:
                    lock.demand(opened)
                    ledgers.save_evidence(opened, number, evidence)
        with session(engine) as opened:
            lock.demand(opened)
            verdicts = _finished(opened, number, claims, set(pairs))
    return Outcome(number, verdicts, len(pairs) - missing, missing)


def _opened(opened: Session, asked: Question, code: str, pairs: Sequence[Pair], *, again: bool) -> int:
    """The ledger to write to, with what is known about its pairs: the one that was asked just this, or a new one."""
    there = None if again else ledgers.find_ledger(opened, asked, code)
    if there is not None and there.finished_at is not None:
        if ledgers.known_pairs(opened, there.id) >= set(pairs):
            return there.id
        there = None
    ledger = there or ledgers.save_ledger(opened, asked, code)
    if not again:
        ledgers.copy_evidence(opened, ledger, set(pairs) - ledgers.known_pairs(opened, ledger.id))
    return ledger.id


def _finished(opened: Session, number: int, claims: Sequence[Claim], pairs: set[Pair]) -> tuple[Verdict, ...]:
    ledger: models.Ledger = ledgers.load_ledger(opened, number)
    evidence = [one for one in ledgers.load_evidence(opened, number) if (one.claim, one.size) in pairs]
    verdicts = parallel.judge_claims(claims, evidence)
    if ledger.finished_at is None:
        ledgers.finish(opened, ledger, verdicts)
    return verdicts
