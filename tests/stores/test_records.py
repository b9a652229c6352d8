"""Records in PostgreSQL: verified before they are stored, and never replaced by worse ones."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import URL, Engine, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from starcast import Lab, connect
from starcast.records import (
    PROBLEM_NAMES,
    Record,
    load_all,
    shipped_folder,
    shipped_record,
)
from starcast.stores.database.models import StoredRecord
from starcast.stores.database.records import as_record, list_stored, store_all
from starcast.stores.database.sessions import open_session
from starcast.support.errors import InputError, RejectedError
from starcast.support.vocabulary import Verification
from support.fix_cli import name_store
from support.fix_servers import execute, scalars
from support.record_files import DIAMETERS, FORGED, FOUR_ROUNDS, put_record


def store(engine: Engine, *records: Record, state: Verification = "verified") -> int:
    """Store records with a verification state; return how many are new or change a record."""
    with open_session(engine) as session:
        return store_all(session, [(record, state) for record in records])


def load_stored(session: Session) -> list[Record]:
    """Return all stored records."""
    return [as_record(row) for row in session.scalars(select(StoredRecord))]


@pytest.mark.parametrize("problem", PROBLEM_NAMES)
def test_all_records_of_starcast_can_be_stored_and_read_back(engine: Engine, problem: str) -> None:
    shipped = {
        record.id: record for record in load_all(shipped_folder()) if record.problem == problem
    }
    assert store(engine, *shipped.values()) == len(shipped)
    with open_session(engine) as session:
        stored = load_stored(session)
        assert len(list_stored(session)) == len(shipped)
    assert {record.id for record in stored} == shipped.keys()
    for record in stored:
        expected = shipped[record.id]
        assert record.fields() == expected.fields()
        for name, array in expected.witness.items():
            assert np.array_equal(array, record.witness[name])


def test_a_stored_record_is_only_replaced_by_a_better_one(engine: Engine) -> None:
    best = shipped_record("one-port-broadcast", "S4")
    worse = replace(best, bound=4)
    assert store(engine, worse) == 1
    assert store(engine, worse) == 0
    assert store(engine, best) == 1
    assert store(engine, worse, best) == 0
    assert scalars(engine, "select bound from record") == [best.bound]


def test_a_wrong_record_is_rejected_and_nothing_is_stored(engine: Engine) -> None:
    best = shipped_record("one-port-broadcast", "S4")
    other = shipped_record("bisection-width", "S4")
    with pytest.raises(RejectedError, match="has the value 5, not 4"):
        store(engine, other, replace(best, value=4))
    assert scalars(engine, "select id from record") == []


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ("update record set bound = 4", "ck_record_optimal"),
        ("update record set verification = 'believed'", "ck_record_verification"),
    ],
)
def test_postgresql_refuses_a_wrong_bound_or_verification_state(
    engine: Engine, change: str, constraint: str
) -> None:
    """The bound of an optimal record must equal its value, and the state must be a known one."""
    store(engine, shipped_record("one-port-broadcast", "S4"))
    with pytest.raises(IntegrityError, match=constraint):
        execute(engine, change)


def test_a_damaged_stored_witness_is_reported(engine: Engine) -> None:
    store(engine, shipped_record("one-port-broadcast", "S4"))
    execute(engine, "update record set witness = substring(witness from 9)")
    expected = "the witness of the stored one-port-broadcast:S4 cannot be read"
    with pytest.raises(InputError, match=expected) as caught, open_session(engine) as session:
        load_stored(session)
    assert caught.value.hint.startswith("delete the row 'one-port-broadcast:S4' of PostgreSQL's")


def test_storing_an_equal_record_again_keeps_the_best_verification_state(engine: Engine) -> None:
    record = shipped_record("fault-diameter", "S4")
    expected: list[tuple[Verification, str]] = [
        ("not checked", "not checked"),
        ("not made again", "not made again"),
        ("not checked", "not made again"),
        ("verified", "verified"),
        ("not made again", "verified"),
    ]
    for number, (state, kept) in enumerate(expected):
        assert store(engine, record, state=state) == (number == 0)
        assert scalars(engine, "select verification from record") == [kept]


def read_state(engine: Engine) -> tuple[int, int, str]:
    """Return the value, the bound and the verification state of the only stored record."""
    with open_session(engine) as session:
        (row,) = session.scalars(select(StoredRecord))
        return row.value, row.bound, row.verification


def test_a_true_record_replaces_a_forged_one_but_not_vice_versa(engine: Engine) -> None:
    """The forged record is stored without regenerating the proof that it names."""
    assert store(engine, FORGED, state="not made again") == 1
    assert read_state(engine) == (5, 5, "not made again")
    assert store(engine, FOUR_ROUNDS) == 1
    assert read_state(engine) == (4, 4, "verified")
    assert store(engine, FORGED, state="not made again") == 0
    assert read_state(engine) == (4, 4, "verified")


@pytest.mark.whole
@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (((5, 21), "verified"), ((6, 6), "verified"), (6, 6, "verified")),
        (((5, 6), "verified"), ((6, 21), "verified"), (6, 6, "verified")),
        (((5, 21), "verified"), ((6, 6), "not made again"), (6, 21, "verified")),
        (((6, 21), "verified"), ((5, 6), "not checked"), (6, 21, "verified")),
        (((5, 21), "not checked"), ((6, 6), "not made again"), (6, 6, "not made again")),
    ],
)
def test_the_order_in_which_two_records_are_stored_does_not_matter(
    first: tuple[tuple[int, int], Verification],
    second: tuple[tuple[int, int], Verification],
    expected: tuple[int, int, str],
    engine: Engine,
) -> None:
    for pairs in ([first, second], [second, first]):
        execute(engine, "delete from record")
        for pair, state in pairs:
            store(engine, DIAMETERS[pair], state=state)
        assert read_state(engine) == expected


def test_the_best_of_concurrently_stored_records_is_kept(engine: Engine) -> None:
    for _ in range(5):
        execute(engine, "delete from record")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda pair: store(engine, DIAMETERS[pair]), [*DIAMETERS, (5, 21)]))
        assert read_state(engine) == (6, 6, "verified")


def test_a_forged_record_that_an_earlier_version_stored_is_replaced(engine: Engine) -> None:
    """The forged value of 5 looks better than the true one, but its witness does not support it."""
    best = shipped_record("edge-disjoint-trees", "S4")
    store(engine, best)
    execute(engine, "update record set value = 5, bound = 5")
    assert store(engine, best) == 1
    assert scalars(engine, "select value from record") == [best.value]


@pytest.fixture
def lab(clean_database: URL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """A lab on an empty PostgreSQL database, with its own home and three built-in records."""
    name_store(monkeypatch, clean_database)
    monkeypatch.setenv("STARCAST_HOME", str(tmp_path / "home"))
    shipped = tmp_path / "shipped"
    for problem in ("one-port-broadcast", "fault-diameter", "bisection-width"):
        put_record(shipped, shipped_record(problem, "S4"))
    monkeypatch.setattr("starcast.records.shipped_folder", lambda: shipped)
    with connect() as session:
        yield session


def test_a_lab_stores_built_in_records_and_new_records_of_the_user_but_not_worse_ones(
    lab: Lab,
) -> None:
    assert len(lab.records(stored=True)) == 0
    assert lab.store_records()["stored"] == 3
    assert lab.store_records()["stored"] == 0
    worse = replace(shipped_record("one-port-broadcast", "S4"), bound=4)
    other = shipped_record("one-port-broadcast", "S5")
    for record in (worse, other):
        put_record(lab.settings.home / "records", record)
    assert lab.store_records()["stored"] == 1
    stored = lab.records("one-port-broadcast", stored=True)
    assert [(row["topology"], row["bound"]) for row in stored] == [("S4", 5), ("S5", 8)]
    without = [{**row} for row in stored]
    assert [row.pop("verification") for row in without] == ["verified"] * 2
    assert without == lab.records("one-port-broadcast").rows
    assert stored.columns == (*lab.records().columns, "verification")


def test_bounds_whose_proofs_are_not_regenerated_are_marked_when_stored(lab: Lab) -> None:
    assert lab.store_records(proofs=False)["stored"] == 3
    rows = lab.records(stored=True)
    found = {row["problem"]: row["verification"] for row in rows}
    assert {row["proof"] for row in rows} == {"theory", "inequalities", "LRAT"}
    assert found["fault-diameter"] == "not made again"
    assert found["bisection-width"] == found["one-port-broadcast"] == "verified"
    assert lab.store_records()["stored"] == 0
    assert {row["verification"] for row in lab.records(stored=True)} == {"verified"}


def test_a_lab_stores_nothing_if_a_bound_has_no_proof(lab: Lab) -> None:
    record = shipped_record("one-port-broadcast", "S7,3")
    unproven = replace(record, bound=record.value, proof=None, reason="belief")
    put_record(lab.settings.home / "records", unproven)
    with pytest.raises(RejectedError, match="without a proof"):
        lab.store_records()
    assert len(lab.records(stored=True)) == 0
