"""Experiments in several processes: equal results, limited memory, no processes left behind."""

import multiprocessing
import os
from collections.abc import Collection
from concurrent.futures import Future, wait
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from sqlalchemy import Engine

from starcast.experiments import Point
from starcast.experiments.execution import count_processes, execute_all, required_memory
from starcast.experiments.running import run_experiment
from starcast.support.errors import InputError, LimitError
from starcast.support.progress import Silent
from support.experiments import FAULTY, figures, make_point, runs


@pytest.mark.slow
def test_several_processes_store_the_same_runs_as_one(engine: Engine) -> None:
    alone = run_experiment(engine, "alone", FAULTY, Silent(), jobs=1)
    parallel = run_experiment(engine, "parallel", FAULTY, Silent(), jobs=2)
    assert (alone.created, parallel.created) == (len(FAULTY.points()), len(FAULTY.points()))
    assert figures(engine, "alone") == figures(engine, "parallel")
    assert {run.provenance["jobs"] for run in runs(engine, "parallel")} == {2}
    assert multiprocessing.active_children() == []


def test_small_experiments_start_worker_processes_only_on_request() -> None:
    points = FAULTY.points()
    assert count_processes(points) == 1
    assert count_processes(points, 2) == 2
    assert count_processes(points[:1], 8) == 1
    large = [
        replace(points[0], topology="S8", collective="broadcast", copies=1, faults=(), segments=p)
        for p in range(30, 90)
    ]
    assert count_processes(large) == min(len(os.sched_getaffinity(0)), len(large))
    with pytest.raises(InputError, match="the number of jobs is 0, less than 1"):
        count_processes(points, 0)


def finish(points: list[Point], done: list[Point]) -> None:
    """Execute experiment points with three jobs, and record those finished before an error."""
    with execute_all(points, 3) as (executions, _):
        for point, execution in executions:
            assert execution.error is None
            done.append(point)


@pytest.mark.slow
def test_concurrent_jobs_stay_within_the_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many jobs run as points fit into memory; a point that does not fit is refused."""
    # Asynchronous points of different message sizes share no execution.
    points = [
        make_point(
            "S4", "broadcast", "multiple", segments=4, message_bytes=m, execution="asynchronous"
        )
        for m in range(1, 6)
    ]
    huge = replace(points[0], segments=10**6)
    at_once: list[int] = []

    def counted(running: Collection[Future[Any]], **options: Any) -> Any:
        at_once.append(len(running))
        return wait(running, **options)

    monkeypatch.setattr("starcast.support.parallel.wait", counted)
    for room in (1, 2):
        at_once.clear()
        free = SimpleNamespace(available=room * required_memory(points[0]))
        monkeypatch.setattr(psutil, "virtual_memory", lambda free=free: free)
        done: list[Point] = []
        with pytest.raises(LimitError, match="segments = 1000000 needs about"):
            finish([*points, huge], done)
        assert sorted(done) == points
        assert max(at_once) == room
    assert multiprocessing.active_children() == []
