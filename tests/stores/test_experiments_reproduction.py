"""Stored runs are repeated, and every result that differs is reported with both values."""

from fractions import Fraction

import pytest
from sqlalchemy import Engine, text

from starcast.experiments.running import FIGURES, reproduce, run_experiment, run_once
from starcast.stores.database.sessions import open_session
from starcast.support.errors import NotFoundError
from starcast.support.progress import Silent
from support.experiments import FAULTY, make_point, runs

POINT = make_point("S4", "broadcast", "recursive-substar", "one", 3, Fraction(1000, 3))


@pytest.mark.slow
def test_repeating_a_stored_experiment_gives_the_same_results(engine: Engine) -> None:
    run_experiment(engine, "faulty", FAULTY, Silent())
    repeated = reproduce(engine, "faulty", Silent())
    assert [one.run.id for one in repeated] == [run.id for run in runs(engine, "faulty")]
    assert all(one.agrees for one in repeated)
    (single,) = reproduce(engine, str(repeated[3].run.id), Silent())
    assert (single.agrees, set(single.figures)) == (True, set(FIGURES))
    assert len(runs(engine, "faulty")) == len(repeated)


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


def test_unknown_experiments_and_runs_cannot_be_reproduced(engine: Engine) -> None:
    for name in ("none", "7"):
        with pytest.raises(NotFoundError):
            reproduce(engine, name, Silent())
