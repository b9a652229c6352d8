"""Verification runs in PostgreSQL: evidence is stored, reused for equal code, never partial."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import URL, Engine, func, select

from starcast.claims import claim_run, claims, parallel, storage
from starcast.claims.claim_run import Outcome
from starcast.claims.describe import describe_place
from starcast.claims.evidence import Evidence
from starcast.database import models, sessions
from starcast.database.sessions import session
from starcast.errors import BusyError, InputError, NotFoundError, RejectedError
from starcast.progress import Silent
from support.fix_servers import without_password
from support.recorder import Recorder

NAMES = ["TS.L5", "TS.h"]
SIZES = ["S3", "S4"]


@pytest.fixture
def looked(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Check claims; the source code of starcast never changes, even while a developer edits it."""
    monkeypatch.setattr(claim_run, "fingerprint", lambda: "this code")
    monkeypatch.setattr(claim_run, "demand_same", lambda _: None)

    def look(
        names: Sequence[str] = NAMES, sizes: Sequence[str] | None = SIZES, **options: Any
    ) -> Outcome:
        return claim_run.verify_claims(
            engine, names, sizes=sizes, reporter=options.pop("reporter", Silent()), **options
        )

    return look


def pairs(engine: Engine, number: int) -> set[parallel.Pair]:
    with session(engine) as opened:
        return storage.known_pairs(opened, number)


def count(engine: Engine) -> int:
    with session(engine) as opened:
        return opened.scalar(select(func.count()).select_from(models.ClaimRun)) or 0


def test_verdicts_and_evidence_are_stored_as_they_were_found(
    engine: Engine, looked: Callable[..., Outcome]
) -> None:
    outcome = looked()
    assert (outcome.known, outcome.found) == (0, len(outcome.verdicts) * len(SIZES))
    with session(engine) as opened:
        stored = {
            verdict.claim: verdict for verdict in storage.load_verdicts(opened, outcome.claim_run)
        }
        row = storage.load_finished(opened, outcome.claim_run)
        assert (row.names, row.level, row.sizes) == (NAMES, None, SIZES)
    assert stored == {verdict.claim: verdict for verdict in outcome.verdicts}
    fails = stored["TS.L5"]
    assert describe_place(fails.counterexample or {}) == "n = 3, i = 2: found 4, stated 5"
    assert (fails.verdict, fails.of) == ("fails", "S3:multiple:123")


def test_the_same_question_of_the_same_code_is_answered_from_the_ledger(
    engine: Engine, looked: Callable[..., Outcome]
) -> None:
    first, reporter = looked(), Recorder()
    again = looked(sizes=["S4", "S3"], reporter=reporter)
    assert (again.claim_run, again.known, again.found) == (first.claim_run, first.found, 0)
    assert again.verdicts == first.verdicts
    assert reporter.lines == [
        (
            f"{first.found} findings are known from earlier runs of the same code,"
            f" of {first.found}; --again computes all of them again"
        )
    ]
    assert count(engine) == 1


def test_a_wider_question_uses_what_is_known_and_holds_it_itself(
    engine: Engine, looked: Callable[..., Outcome]
) -> None:
    first = looked(["TS.h"], ["S3"])
    wider = looked()
    assert wider.claim_run != first.claim_run
    assert wider.known == 1
    assert pairs(engine, wider.claim_run) == set(
        parallel.plan_pairs([claims()[one.claim] for one in wider.verdicts], sizes=SIZES)
    )
    with session(engine) as opened:
        opened.delete(storage.load_claim_run(opened, first.claim_run))
    with session(engine) as opened:
        assert len(storage.load_evidence(opened, wider.claim_run, ["TS.h"])) == 2


def test_again_computes_all_anew(engine: Engine, looked: Callable[..., Outcome]) -> None:
    first, again = looked(), looked(again=True)
    assert (again.known, again.found) == (0, first.found)
    assert again.claim_run > first.claim_run
    assert again.verdicts == first.verdicts
    assert looked().claim_run == again.claim_run
    assert count(engine) == 2


def test_other_code_believes_nothing_of_what_was_found(
    looked: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = looked()
    monkeypatch.setattr(claim_run, "fingerprint", lambda: "other code")
    assert looked().found == first.found


def test_sources_that_change_meanwhile_end_it(engine: Engine) -> None:
    """Evidence of the old sources is kept; later evidence is not stored with their fingerprint."""

    def changed(_: str) -> None:
        raise RejectedError("changed")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claim_run, "demand_same", changed)
        with pytest.raises(RejectedError):
            claim_run.verify_claims(engine, NAMES, sizes=SIZES, reporter=Silent())
    with session(engine) as opened:
        (broken,) = storage.list_claim_runs(opened)
        assert broken.finished_at is None
        assert storage.known_pairs(opened, broken.id) == set()


class BrokenOffError(Exception):
    """The interruption of a verification run."""


def test_a_ledger_that_was_broken_off_has_no_verdicts_and_goes_on(
    engine: Engine, looked: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[Evidence] = []
    keep = storage.save_evidence

    def save(opened: Any, number: int, evidence: Sequence[Evidence]) -> None:
        if saved:
            raise BrokenOffError
        saved.extend(evidence)
        keep(opened, number, evidence)

    with monkeypatch.context() as patch:
        patch.setattr(storage, "save_evidence", save)
        with pytest.raises(BrokenOffError):
            looked()
    with session(engine) as opened:
        (broken,) = storage.list_claim_runs(opened)
        assert storage.load_verdicts(opened, broken.id) == []
        assert storage.newest_verdicts(opened) == {}
        with pytest.raises(NotFoundError, match=f"verification run {broken.id} was interrupted"):
            storage.load_finished(opened, broken.id)
        with pytest.raises(NotFoundError, match="no finished verification run is stored"):
            storage.load_newest(opened)
    outcome = looked()
    assert (outcome.claim_run, outcome.known) == (broken.id, len(saved))
    assert outcome.verdicts == parallel.judge_claims(
        [claims()[verdict.claim] for verdict in outcome.verdicts],
        [e for v in outcome.verdicts for e in v.evidence],
    )
    assert count(engine) == 1


def test_one_at_a_time(engine: Engine, looked: Callable[..., Outcome]) -> None:
    with (
        sessions.advisory_lock(engine, claim_run.LOCK, BusyError("")),
        pytest.raises(BusyError, match="another process is checking claims"),
    ):
        looked()


def test_bad_input_leaves_nothing(engine: Engine, looked: Callable[..., Outcome]) -> None:
    for names, sizes, options in (
        (["TS.none"], SIZES, {}),
        (NAMES, ["Q3"], {}),
        (NAMES, SIZES, {"jobs": 0}),
    ):
        with pytest.raises(InputError):
            looked(names, sizes, **options)
    assert count(engine) == 0


def test_the_newest_verdict_of_each_statement(
    engine: Engine, looked: Callable[..., Outcome]
) -> None:
    first, second = looked(), looked(["TS.h"], ["S5"])
    with session(engine) as opened:
        found = storage.newest_verdicts(opened)
        assert storage.load_newest(opened).id == second.claim_run
        assert storage.load_newest(opened, before=second.claim_run).id == first.claim_run
        for number in (-1, 99, 2**40):
            with pytest.raises(NotFoundError, match=f"no verification run {number} is stored"):
                storage.load_claim_run(opened, number)
        assert storage.count_verdicts(opened)[second.claim_run] == {second.verdicts[0].verdict: 1}
    assert {name: row.id for name, (row, _) in found.items()} == {
        verdict.claim: second.claim_run if verdict.claim == "TS.h" else first.claim_run
        for verdict in first.verdicts
    }


# Killed processes.

PATIENCE = 60
#: Changes to this process and its workers: edited source code is ignored, and checks are slow.
SCRIPT = """
import time
from starcast.claims import claim_run, parallel
claim_run.fingerprint, claim_run.demand_same = lambda: "this code", lambda _: None
run_check = parallel.run_check
def slow(*words):
    time.sleep(0.5)
    return run_check(*words)
parallel.run_check = slow
if __name__ == "__main__":
    from starcast.cli.app import main
    main()
"""


@pytest.fixture
def started(clean_database: URL, engine: Engine, tmp_path: Path) -> subprocess.Popen[str]:
    """Start a check of claims in two processes, and wait until some evidence is stored."""
    (tmp_path / "password").write_text(str(clean_database.password), encoding="utf-8")
    (tmp_path / "run.py").write_text(SCRIPT, encoding="utf-8")
    url = clean_database
    environment = {
        **os.environ,
        "STARCAST_POSTGRES_URI": without_password(url),
        "STARCAST_POSTGRES_PASSWORD_FILE": str(tmp_path / "password"),
    }
    words = ("claims", "check", "TS.L5", "TS.h", "TS.L3", "--sizes", "S3,S4,S5,S6", "--jobs", "2")
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "run.py"), *words],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        with session(engine) as opened:
            if opened.scalar(select(func.count()).select_from(models.ClaimEvidence)):
                break
        time.sleep(0.02)
    return process


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_run_leaves_no_verdicts_and_no_processes(
    engine: Engine,
    started: subprocess.Popen[str],
    how: signal.Signals,
    looked: Callable[..., Outcome],
) -> None:
    workers = psutil.Process(started.pid).children(recursive=True) if started.poll() is None else []
    assert workers
    os.kill(started.pid, how)
    _, errors = started.communicate(timeout=PATIENCE)
    _, alive = psutil.wait_procs(workers, timeout=PATIENCE)
    assert alive == []
    assert "Traceback" not in errors
    assert started.returncode == (130 if how == signal.SIGTERM else -how)
    with session(engine) as opened:
        (broken,) = storage.list_claim_runs(opened)
        kept = storage.known_pairs(opened, broken.id)
        assert broken.finished_at is None
        assert storage.newest_verdicts(opened) == {}
    names, sizes = ["TS.L5", "TS.h", "TS.L3"], ["S3", "S4", "S5", "S6"]
    outcome = looked(names, sizes)
    assert (outcome.claim_run, outcome.known) == (broken.id, len(kept))
    assert {
        (one.claim, one.size) for verdict in outcome.verdicts for one in verdict.evidence
    } > kept
