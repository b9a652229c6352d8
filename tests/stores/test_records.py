"""Records in PostgreSQL: verified before they are stored, and never replaced by worse ones."""

from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError

from starcast.database.records import list_stored, load_stored, store_all
from starcast.database.sessions import session
from starcast.errors import RejectedError
from starcast.records import load_all, shipped_folder, shipped_record


def test_all_shipped_records_are_stored_and_read_again(engine: Engine) -> None:
    shipped = {record.id: record for record in load_all(shipped_folder())}
    with session(engine) as opened:
        assert store_all(opened, shipped.values()) == len(shipped)
    with session(engine) as opened:
        stored = load_stored(opened)
        assert len(list_stored(opened)) == len(shipped)
    assert {record.id for record in stored} == shipped.keys()
    for record in stored:
        expected = shipped[record.id]
        assert record.fields() == expected.fields()
        for name, array in expected.witness.items():
            assert np.array_equal(array, record.witness[name])


def test_a_stored_record_is_only_replaced_by_a_better_one(engine: Engine) -> None:
    best = shipped_record("one-port-broadcast", "S4")
    worse = replace(best, bound=4)
    with session(engine) as opened:
        assert store_all(opened, [worse]) == 1
        assert store_all(opened, [worse]) == 0
        assert store_all(opened, [best]) == 1
        assert store_all(opened, [worse, best]) == 0
    with session(engine) as opened:
        assert [record.bound for record in load_stored(opened)] == [best.bound]


def test_a_wrong_record_is_rejected_and_nothing_is_stored(engine: Engine) -> None:
    best = shipped_record("one-port-broadcast", "S4")
    other = shipped_record("bisection-width", "S4")
    with pytest.raises(RejectedError, match="has the value 5, not 4"), session(engine) as opened:
        store_all(opened, [other, replace(best, value=4)])
    with session(engine) as opened:
        assert load_stored(opened) == []


def test_postgresql_refuses_an_optimal_record_whose_bound_differs(engine: Engine) -> None:
    with session(engine) as opened:
        store_all(opened, [shipped_record("one-port-broadcast", "S4")])
    with pytest.raises(IntegrityError, match="ck_record_optimal"), engine.begin() as connection:
        connection.execute(text("update record set bound = 4"))
