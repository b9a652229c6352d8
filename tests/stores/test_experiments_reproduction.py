"""Stored runs are repeated, and every result that differs is reported with both values."""

from fractions import Fraction

import pytest
from sqlalchemy import Engine, text

from starcast.experiments.running import reproduce, run_once
from starcast.stores.database.sessions import open_session
from starcast.support.progress import Silent
from support.experiments import make_point

POINT = make_point("S4", "broadcast", "recursive-substar", "one", 3, Fraction(1000, 3))


@pytest.mark.parametrize(
    ("figure", "statement", "words"),
    [
        ("steps", "update cost set steps = 99 where kind = 'simulated'", "was 99, is "),
        (
            "transmissions",
            "update cost set transmissions = 99 where kind = 'simulated'",
            "was 99, is ",
        ),
        (
            "costs",
            "update cost set time = '1/3' where kind = 'lower bound'",
            "lower bound time: was 1/3, is 500",
        ),
        ("missing", "update run set missing = 5", "was 5, is 0"),
        (
            "profile",
            "update step_profile set links_used = 9999 where step = 2",
            "step 2: was 9999 ",
        ),
        (
            "costs",
            "delete from cost where kind = 'closed form'",
            "closed form time: was nothing, is ",
        ),
        ("profile", "delete from step_profile where step = 3", "step 3: was nothing, is "),
        ("status", "update run set status = 'failed', error = 'so'", "was failed: so, is complete"),
    ],
)
def test_a_result_that_differs_is_reported_with_both_values(
    engine: Engine, figure: str, statement: str, words: str
) -> None:
    run = run_once(engine, POINT)
    with open_session(engine) as session:
        session.execute(text(statement))
    (repeated,) = reproduce(engine, str(run.id), Silent())
    assert not repeated.agrees
    assert repeated.figures[figure].startswith(words)
    also = {"costs"} if figure in ("steps", "transmissions") else set()
    assert {name for name, value in repeated.figures.items() if value != "same"} == {figure} | also
