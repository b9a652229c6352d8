"""Verification runs in PostgreSQL: a run is stored completely when it finishes, or not at all."""

import signal
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import URL, Engine

from starcast.catalogue import packs
from starcast.claims import claims, load, report, storage, verify
from starcast.claims.verdict import describe_place
from starcast.stores.database.sessions import open_session
from starcast.support.errors import NotFoundError
from support.claim_runs import check_and_store
from support.fix_servers import environment_for
from support.workers import end_by, running_command, wait_until, workers_of

NAMES = ["TS.L5", "TS.h"]
SIZES = ["S3", "S4"]


def test_verdicts_and_evidence_read_back_unchanged(engine: Engine) -> None:
    number, verdicts = check_and_store(engine, NAMES, ["S4", "S3"])
    with open_session(engine) as session:
        stored = {verdict.claim: verdict for verdict in storage.load_verdicts(session, number)}
        row = storage.load_claim_run(session, number)
        assert (row.names, row.level, row.sizes) == (NAMES, None, SIZES)
    assert stored == {verdict.claim: verdict for verdict in verdicts}
    fails = stored["TS.L5"]
    assert describe_place(fails.counterexample or {}) == "n = 3, i = 2: found 4, stated 5"
    assert (fails.verdict, fails.of) == ("fails", "S3:multiple:123")


def test_a_claim_with_several_parts_stores_the_evidence_of_each_part_once(engine: Engine) -> None:
    number, verdicts = check_and_store(engine, ["TS.T1"], ["S3"])
    with open_session(engine) as session:
        evidence = storage.load_evidence(session, number)
    assert sorted((each.claim, each.size) for each in evidence) == [
        ("TS.T1.order", "S3"), ("TS.T1.time", "S3"),
    ]  # fmt: skip
    asked = [claims()[verdict.claim] for verdict in verdicts]
    assert verify.judge_claims(asked, evidence) == verdicts


def test_verdicts_on_claims_of_a_user_defined_pack_are_stored_and_compared(
    engine: Engine, pack: Path
) -> None:
    load(pack)
    _, before = check_and_store(engine, ["MYPAPER"], ["S3", "S4"])
    path = pack / "checks.py"
    path.write_text(path.read_text().replace("check.n - 2,", "check.n - 1,"))
    load(pack)
    check_and_store(engine, ["MYPAPER.children"], ["S3", "S4"])
    with open_session(engine) as session:
        assert storage.load_verdicts(session, 1)[1].counterexample == before[1].counterexample
        newest = storage.newest_verdicts(session)["MYPAPER.children"][1]
        assert newest is not None
        assert newest.verdict != "fails"
        changes = report.list_changes(session, None, None)
    assert [(row["id"], row["before"]) for row in changes] == [("MYPAPER.children", "fails")]


def test_verdicts_of_a_pack_that_is_not_loaded_are_compared(
    engine: Engine, pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_and_store(engine, ["TS.h"], ["S3"])
    load(pack)
    check_and_store(engine, ["MYPAPER"], ["S3"])
    known = {name: claim for name, claim in claims().items() if not name.startswith("MYPAPER")}
    monkeypatch.setattr(report, "claims", lambda: known)
    with open_session(engine) as session:
        changes = list(report.list_changes(session))
    assert [(row["id"], row["before"]) for row in changes] == [
        ("MYPAPER.children", ""),
        ("MYPAPER.diameter", ""),
    ]


def test_a_verdict_on_another_version_of_the_pack_is_not_shown(engine: Engine, pack: Path) -> None:
    load(pack)
    check_and_store(engine, ["MYPAPER"], ["S3"])
    path = pack / "claims.toml"
    path.write_text(path.read_text().replace("at most n-2 children", "at most n-1 children"))
    selected = load(pack).values()
    with open_session(engine) as session:
        stored = storage.newest_verdicts(session)
    assert [verdict for _, verdict in stored.values()] == [None, None]
    rows = list(report.list_claims(selected, stored))
    assert [(row["verdict"], row["detail"]) for row in rows] == [(None, report.OUTDATED)] * 2


def test_verdicts_of_a_pack_that_is_not_loaded_are_omitted(
    engine: Engine, pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(pack)
    check_and_store(engine, ["MYPAPER"], ["S3"])
    monkeypatch.setattr(packs, "_loaded", {})
    with open_session(engine) as session:
        assert storage.newest_verdicts(session) == {}
        assert len(storage.load_verdicts(session, 1)) == 2
        assert storage.describe_missing_packs(session) == (
            "2 stored verdicts need the pack mypaper (--plugin FOLDER): omitted"
        )


def test_the_newest_verdict_of_each_claim_is_returned(engine: Engine) -> None:
    (first, verdicts), (second, others) = (
        check_and_store(engine, NAMES, SIZES),
        check_and_store(engine, ["TS.h"], ["S5"]),
    )
    with open_session(engine) as session:
        found = storage.newest_verdicts(session)
        assert storage.load_newest(session).id == second
        assert storage.load_newest(session, before=second).id == first
        for number in (-1, 99, 2**40):
            with pytest.raises(NotFoundError, match=f"no verification run {number} is stored"):
                storage.load_claim_run(session, number)
        assert storage.count_verdicts(session)[second] == {others[0].verdict: 1}
    assert {name: row.id for name, (row, _) in found.items()} == {
        verdict.claim: second if verdict.claim == "TS.h" else first for verdict in verdicts
    }


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_verification_run_leaves_no_rows_and_no_processes(
    engine: Engine, clean_database: URL, tmp_path: Path, how: signal.Signals
) -> None:
    words = ("claims", "check", "TS.L5", "TS.h", "TS.L3", "--sizes", "S8,S9", "--jobs", "2")
    with running_command(environment_for(clean_database, tmp_path), *words) as process:
        wait_until(lambda: len(workers_of(process.pid)) == 2)
        code, errors = end_by(partial(process.send_signal, how), process)
    assert code == (130 if how == signal.SIGTERM else -how)
    assert "Traceback" not in errors
    with open_session(engine) as session:
        assert storage.list_claim_runs(session) == []
