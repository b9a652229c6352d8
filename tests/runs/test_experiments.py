"""Experiments on a real store run once, one at a time, and resume after interruptions."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from starcast.collectives import Schedule
from starcast.collectives import schedule as build
from starcast.experiments import execution, running
from starcast.experiments.design import Design, Grid
from starcast.experiments.point import Point
from starcast.experiments.running import ADHOC, drop_experiment, run_experiment, run_once
from starcast.judges.simulator import Fault, simulate
from starcast.stores.database import repository
from starcast.stores.database.sessions import advisory_lock, open_session
from starcast.support.errors import (
    BusyError,
    InputError,
    LimitError,
    UnavailableError,
)
from starcast.support.progress import Silent
from starcast.support.runs import Run
from support.break_off import Countdown
from support.experiments import FAULTY, cut_off_lock_holder, runs
from support.fix_servers import scalars
from support.recorder import Recorder
from support.workers import wait_until

GRID = Grid({
    "topology": ["S3", "S4"], "algorithm": ["multiple", "recursive-substar"],
    "ports": ["all", "one"], "segments": [1, 3], "message_bytes": ["64", "1000/3"],
})  # fmt: skip


def changed(**axes: Any) -> Grid:
    """Return `GRID` with other values on some axes."""
    return Grid({**GRID.as_json(), **axes})


#: A function that raises KeyboardInterrupt.
INTERRUPT = Mock(side_effect=KeyboardInterrupt)


def test_grids_with_the_same_values_in_other_order_or_notation_are_equal(engine: Engine) -> None:
    run_experiment(engine, "all", GRID, Silent())
    again = Grid({
        "topology": ["S4", "S3", "S4"], "algorithm": ["recursive-substar", "multiple"],
        "ports": ["one", "all"],
        "segments": [3, 1], "message_bytes": ["2000/6", 64.0],
    })  # fmt: skip
    assert run_experiment(engine, "all", again, Silent()).created == 0


@pytest.mark.parametrize("after", [1, 2, 9, 31])
def test_an_interrupted_experiment_keeps_complete_runs_and_can_be_resumed(
    engine: Engine, after: int
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_experiment(engine, "all", GRID, Countdown(after, INTERRUPT))
    kept = runs(engine, "all")
    assert [Point.of(run) for run in kept] == GRID.points()[:after]
    assert all(len(run.costs) == 3 for run in kept)
    with open_session(engine) as session:
        assert {len(repository.load_profile(session, run.id)) > 0 for run in kept} == {True}
    outcome = run_experiment(engine, "all", GRID, Silent())
    assert (outcome.kept, outcome.created) == (after, 32 - after)
    assert [Point.of(run) for run in runs(engine, "all")] == GRID.points()


def test_another_grid_under_the_same_name_is_refused_without_replace(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even with `replace`, the earlier runs are kept until the first new run is stored."""
    run_experiment(engine, "all", GRID, Silent())
    other = changed(segments=1)
    with pytest.raises(InputError, match="'all' has a different grid") as refused:
        run_experiment(engine, "all", other, Silent())
    assert "`replace`" in refused.value.hint
    with monkeypatch.context() as full:
        full.setattr(execution, "_free_memory", lambda: 0)
        with pytest.raises(LimitError):
            run_experiment(engine, "all", other, Silent(), replace=True)
    assert len(runs(engine, "all")) == 32
    assert run_experiment(engine, "all", other, Silent(), replace=True).created == 16
    assert [Point.of(run) for run in runs(engine, "all")] == other.points()


def test_a_schedule_shared_by_several_experiment_points_is_built_once(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[tuple[Any, ...]] = []

    def counted(*words: Any, **arguments: Any) -> Schedule:
        built.append(words)
        return build(*words, **arguments)

    monkeypatch.setattr(execution, "build_schedule", counted)
    run_experiment(engine, "all", changed(t_s=[1, 2, 3]), Silent())
    assert len(runs(engine, "all")) == 96
    assert len(built) == 16


def test_a_run_with_an_undelivered_unit_has_the_status_failed(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(*words: Any, **arguments: Any) -> Schedule:
        built = build(*words, **arguments)
        rows = {name: column[:-1] for name, column in built.columns.present().items()}
        return replace(built, **rows)

    monkeypatch.setattr(execution, "build_schedule", cut)
    run = run_once(engine, GRID.points()[0])
    assert (run.status, run.costs) == ("failed", ())
    assert run.error is not None
    assert run.error.startswith("incomplete: 1 unit is missing")


def test_a_failed_run_of_an_experiment_is_repeated_by_the_next_invocation(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = Grid({"topology": "S4", "algorithm": ["multiple", "greedy"], "message_bytes": 64})

    def cut(*words: Any, **arguments: Any) -> Schedule:
        built = build(*words, **arguments)
        last = len(built) if built.algorithm == "greedy" else -1
        return replace(
            built, **{name: column[:last] for name, column in built.columns.present().items()}
        )

    with monkeypatch.context() as wrong:
        wrong.setattr(execution, "build_schedule", cut)
        for kept in (0, 1):
            outcome = run_experiment(engine, "e", grid, Silent(), jobs=1)
            assert (outcome.kept, outcome.failed) == (kept, 1)
    outcome = run_experiment(engine, "e", grid, Silent(), jobs=1)
    assert (outcome.kept, outcome.created, outcome.failed) == (1, 1, 0)
    assert [run.status for run in runs(engine, "e")] == ["complete", "complete"]


def test_an_experiment_point_that_exceeds_the_memory_is_refused_with_an_estimate(
    engine: Engine,
) -> None:
    grid = changed(topology="S4", algorithm="multiple", ports="all", segments=[1, 10**9])
    with pytest.raises(
        LimitError,
        match=r"segments = 1000000000 needs about \d+\.\d GB of memory, but only \d+\.\d GB are",
    ):
        run_experiment(engine, "huge", grid, Silent())
    assert [run.segments for run in runs(engine, "huge")] == [1, 1]


def test_an_experiment_whose_first_run_fails_is_not_stored(engine: Engine) -> None:
    """A leftover experiment would prevent storing a corrected grid under the same name."""
    huge = changed(topology="S4", algorithm="multiple", segments=10**9)
    with pytest.raises(LimitError):
        run_experiment(engine, "bad", huge, Silent())
    with pytest.raises(LimitError):
        run_once(engine, huge.points()[0], "single")
    assert scalars(engine, "select name from experiment") == []
    assert run_experiment(engine, "bad", GRID, Silent()).created == 32


def test_an_experiment_without_runs_left_by_an_older_starcast_is_replaced(engine: Engine) -> None:
    with open_session(engine) as session:
        repository.save_experiment(session, "bad", changed(segments=7).as_json())
    assert run_experiment(engine, "bad", GRID, Silent()).created == 32
    with open_session(engine) as session:
        assert repository.load_experiment(session, "bad").grid == GRID.as_json()


def test_a_lost_lock_ends_an_experiment_before_it_writes_again(engine: Engine) -> None:
    with pytest.raises(UnavailableError, match="holds the lock 'experiment all' was lost") as lost:
        run_experiment(engine, "all", GRID, Countdown(3, partial(cut_off_lock_holder, engine)))
    assert "run the same command again" in lost.value.hint
    assert [Point.of(run) for run in runs(engine, "all")] == GRID.points()[:3]
    assert run_experiment(engine, "all", GRID, Silent()).created == 29


def test_a_lock_lost_after_the_last_run_is_not_an_error(engine: Engine) -> None:
    cutting = Countdown(32, partial(cut_off_lock_holder, engine))
    assert run_experiment(engine, "all", GRID, cutting).created == 32
    assert len(runs(engine, "all")) == 32


@pytest.mark.parametrize("kept", [0, 5])
def test_a_concurrent_write_by_another_process_raises_busy_error(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    """The lock is lost after the last check, and another process writes before the commit."""
    if kept:
        with pytest.raises(KeyboardInterrupt):
            run_experiment(engine, "all", GRID, Countdown(kept, INTERRUPT))
    opens = running._ensure_experiment

    def meanwhile(session: Session, name: str, design: Design) -> int:
        monkeypatch.setattr(running, "_ensure_experiment", opens)
        cut_off_lock_holder(engine)
        run_experiment(engine, "all", GRID, Silent())
        # If no run is kept, both transactions insert the experiment; the later one finds its name
        # taken.
        return (
            opens(session, name, design)
            if kept
            else repository.save_experiment(session, name, design.as_json()).id
        )

    monkeypatch.setattr(running, "_ensure_experiment", meanwhile)
    with pytest.raises(BusyError, match="another process is using the experiment 'all'"):
        run_experiment(engine, "all", GRID, Silent())
    assert [Point.of(run) for run in runs(engine, "all")] == GRID.points()


def test_a_violated_check_constraint_does_not_raise_busy_error(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_unknown_status(point: Point, done: execution.Execution, **_: object) -> Run:
        return replace(execution.price_run(point, done), status="unheard of")

    monkeypatch.setattr(running, "price_run", with_unknown_status)
    with pytest.raises(IntegrityError, match="ck_run_status"):
        run_experiment(engine, "all", GRID, Silent())


def test_single_runs_of_the_same_experiment_can_be_executed_at_the_same_time(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = GRID.points()[:2]

    def meanwhile(point: Point) -> execution.Execution:
        monkeypatch.setattr(running, "execute", execution.execute)
        run_once(engine, second)
        return execution.execute(point)

    monkeypatch.setattr(running, "execute", meanwhile)
    run_once(engine, first)
    assert [Point.of(run) for run in runs(engine, ADHOC)] == [second, first]


def test_a_single_run_waits_for_the_lock_of_its_experiment(engine: Engine) -> None:
    waiting = "select pid from pg_locks where locktype = 'advisory' and not granted"
    with ThreadPoolExecutor(1) as pool:
        with advisory_lock(engine, f"experiment {ADHOC}", BusyError("held by the test")):
            done = pool.submit(run_once, engine, GRID.points()[0])
            wait_until(lambda: done.done() or scalars(engine, waiting))
            assert not done.done()
        assert done.result(timeout=30).status == "complete"


def test_a_single_run_is_refused_if_its_experiment_gets_a_grid_meanwhile(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(point: Point) -> execution.Execution:
        run_experiment(engine, ADHOC, GRID, Silent())
        return execution.execute(point)

    monkeypatch.setattr(running, "execute", meanwhile)
    with pytest.raises(InputError, match="defined by a grid: single runs cannot be added"):
        run_once(engine, GRID.points()[0])
    assert len(runs(engine, ADHOC)) == 32


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_remark_about_several_runs_is_reported_once_with_the_number_of_runs(
    engine: Engine, jobs: int
) -> None:
    heard = Recorder()
    run_experiment(engine, "faulty", FAULTY, heard, jobs=jobs)
    expected: dict[str, list[Run]] = {}
    for run in runs(engine, "faulty"):
        point = Point.of(run)
        built = build(
            run.topology, run.collective, run.algorithm, ports=run.ports, **point.arguments
        )
        for remark in simulate(built, [Fault.parse(word) for word in run.faults]).remarks:
            expected.setdefault(remark, []).append(run)
    assert len(expected) > 1
    assert max(Counter(len(some) for some in expected.values())) > 1
    sentences = []
    for remark, some in expected.items():
        one = f"run {some[0].id} ({some[0].collective} by edge-disjoint on S4)"
        sentences.append(
            f"{len(some)} runs, first {one}: {remark}" if len(some) > 1 else f"{one}: {remark}"
        )
    assert sorted(heard.lines) == sorted(sentences)


def test_an_experiment_that_another_process_uses_is_reported_as_busy(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "SAVE_SECONDS", 1)
    with advisory_lock(engine, "experiment all", BusyError("held by the test")):
        for call in (
            lambda: run_experiment(engine, "all", GRID, Silent()),
            lambda: run_once(engine, GRID.points()[0], "all"),
            lambda: drop_experiment(engine, "all"),
        ):
            with pytest.raises(BusyError, match="another process is using the experiment 'all'"):
                call()


def test_a_repeated_single_run_replaces_the_earlier_one(engine: Engine) -> None:
    first, second = GRID.points()[:2]
    numbers = [run_once(engine, point).id for point in (first, second, first)]
    assert [run.id for run in runs(engine, ADHOC)] == numbers[1:]
    assert scalars(engine, "select count(*) from run") == [2]


def test_a_grid_cannot_use_the_name_of_a_collection_of_single_runs(engine: Engine) -> None:
    run_once(engine, GRID.points()[0], "single")
    with pytest.raises(InputError, match="'single' is a collection of single runs"):
        run_experiment(engine, "single", GRID, Silent())


def test_the_provenance_of_a_run_has_the_code_version_and_the_machine(engine: Engine) -> None:
    run = run_once(engine, GRID.points()[0])
    engines = {"python", "numpy", "psycopg", "postgres"}
    assert (
        set(run.provenance) == {"version", "revision", "dirty", "host", "machine", "jobs"} | engines
    )
    assert run.provenance["numpy"] == np.__version__
    assert run.provenance["postgres"].split(".")[0].isdecimal()
    assert set(run.timings) == {"build", "verify", "simulate", "price"}
    assert all(seconds >= 0 for seconds in run.timings.values())
    assert run.started_at <= run.finished_at
