"""Runs of all collectives: in several processes or shards, repeated, and under faults."""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Collection
from concurrent.futures import Future, wait
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from sqlalchemy import URL, Engine

from starcast import costs
from starcast.collectives import algorithms, schedule
from starcast.collectives.algorithm import Algorithm
from starcast.collectives.model import COLLECTIVES
from starcast.experiments.design import Design, examples, group_by_structure, read_design
from starcast.experiments.exchange import merge_experiment
from starcast.experiments.execution import (
    count_processes,
    execute,
    execute_all,
    price_run,
    required_memory,
)
from starcast.experiments.point import Point
from starcast.experiments.running import reproduce, run_experiment, run_once
from starcast.experiments.sharding import run_shard
from starcast.judges.simulator import Fault, simulate
from starcast.stores.database import repository
from starcast.stores.database.sessions import open_session
from starcast.support.errors import InputError, LimitError, NotFoundError
from starcast.support.progress import Silent
from starcast.support.shards import Shard
from starcast.support.vocabulary import Collective
from starcast.topologies import topology
from support.experiments import FAULTY, figures, make_point, runs, time
from support.fix_cli import Starcast
from support.fix_servers import execute as execute_sql
from support.markers import TESTS


def smallest(algorithm: Algorithm) -> Point:
    """Return an experiment point of an algorithm on a small topology of at least 12 nodes."""
    family = algorithm.families[0] if algorithm.families else "star"
    network = topology({"star": "S4", "nk-star": "S4,2", "hypercube": "Q4"}[family])
    share = network.degree if "perfectly" in algorithm.name else 1
    return make_point(
        network.spec,
        algorithm.collective,
        algorithm.name,
        algorithm.ports[0],
        share,
        6,
        5,
        base="multiple" if "base" in algorithm.required_arguments else None,
    )


@pytest.mark.whole
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_algorithm_can_be_run_and_its_cost_stored(
    engine: Engine, collective: Collective
) -> None:
    """Stored costs equal those of the Python functions, and no time is below its lower bound."""
    for algorithm in algorithms(collective):
        point = smallest(algorithm)
        run = run_once(engine, point)
        network, machine = topology(point.topology), costs.Machine(point.t_s, point.t_c)
        built = schedule(
            network, algorithm.collective, algorithm.name, ports=point.ports, **point.arguments
        )
        simulation = simulate(built)
        unit = point.message_bytes / built.message_units
        if (algorithm.collective, algorithm.name) in costs.FORMS:
            unit = costs.unit_bytes(
                network,
                algorithm.collective,
                algorithm.name,
                point.message_bytes,
                **point.arguments,
            )
        assert (run.status, run.missing, run.base) == ("complete", 0, point.arguments.get("base"))
        assert time(run, "simulated") == costs.price_simulation(simulation, unit, machine).time
        assert time(run, "lower bound") <= time(run, "simulated")
        if (algorithm.collective, algorithm.name) in costs.FORMS:
            form = costs.closed_form(
                network, algorithm.collective, algorithm.name, point.ports, point.message_bytes,
                machine, **point.arguments,
            )  # fmt: skip
            assert time(run, "closed form") == form.time
        with open_session(engine) as session:
            profile = repository.load_profile(session, run.id)
        assert [step.links_used for step in profile] == simulation.links_used.tolist()


@pytest.mark.slow
def test_every_example_experiment_runs_on_its_smallest_topology() -> None:
    """No run fails, and no run without faults is faster than its lower bound.

    To save time, only every seventh group of points with a common schedule is tested.
    """
    for name in examples():
        points = read_design(name).points()
        least = min(topology(point.topology).nodes for point in points)
        small = [point for point in points if topology(point.topology).nodes == least]
        for together in group_by_structure(small)[::7]:
            run = price_run(together[0], execute(together[0]))
            assert (run.status, run.error) == ("complete", None), together[0]
            assert run.faults or time(run, "lower bound") <= time(run, "simulated")


def test_units_lost_to_faults_do_not_make_a_run_fail(engine: Engine) -> None:
    """With x copies, every unit survives x-1 faults. Each run stores the faults drawn for it."""
    outcome = run_experiment(engine, "faulty", FAULTY, Silent())
    assert outcome.failed == 0
    stored = runs(engine, "faulty")
    assert [Point.of(run) for run in stored] == FAULTY.points()
    for run in stored:
        built = schedule("S4", run.collective, run.algorithm, copies=run.copies)
        assert run.missing == simulate(built, [Fault.parse(fault) for fault in run.faults]).missing
        assert run.missing == 0 or len(run.faults) >= run.copies
        assert run.status == "complete"
    assert any(run.missing for run in stored)
    assert {run.seed for run in stored if run.faults and run.faults[0] == "2134"} >= {0}


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
    """Execute experiment points with three jobs, and append each finished point to ``done``."""
    with execute_all(points, 3) as (executions, _):
        for point, execution in executions:
            assert execution.error is None
            done.append(point)


@pytest.mark.slow
def test_concurrent_jobs_stay_within_the_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The free memory limits the number of jobs; a point that does not fit alone is refused."""
    # Asynchronous points of different message sizes are executed separately.
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


def test_a_newly_declared_axis_is_part_of_every_interface(fresh_database: URL) -> None:
    """Grids, points, options, columns, views, files, the API and comparisons include the axis."""
    address = fresh_database.render_as_string(hide_password=False)
    program = [sys.executable, "-m", "support.dummy_axis", address]
    done = subprocess.run(program, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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
def test_reproducing_a_run_reports_each_changed_figure_with_both_values(
    engine: Engine, figure: str, statement: str, words: str
) -> None:
    run = run_once(engine, POINT)
    execute_sql(engine, statement)
    (repeated,) = reproduce(engine, str(run.id), Silent())
    assert not repeated.agrees
    assert repeated.figures[figure].startswith(words)
    also = {"costs"} if figure in ("steps", "transmissions") else set()
    assert {name for name, value in repeated.figures.items() if value != "same"} == {figure} | also


DESIGN = Design((FAULTY,))


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files of the three shards of an experiment."""
    folder = tmp_path_factory.mktemp("parts")
    files = [folder / f"{index}.json.gz" for index in (1, 2, 3)]
    done = [
        run_shard("divided", DESIGN, Shard(index, 3), file, Silent(), jobs=1)
        for index, file in enumerate(files, start=1)
    ]
    assert sum(done) == len(DESIGN.points())
    assert min(done) > 0
    return files


@pytest.mark.slow
def test_an_experiment_merged_from_shards_equals_an_undivided_one(
    engine: Engine, parts: list[Path]
) -> None:
    merged = merge_experiment(engine, parts)
    assert (merged.name, merged.created, merged.kept) == ("divided", len(DESIGN.points()), 0)
    run_experiment(engine, "undivided", DESIGN, Silent(), jobs=1)
    assert figures(engine, "divided") == figures(engine, "undivided")
    assert {run.provenance["shard"] for run in runs(engine, "divided")} == {"1/3", "2/3", "3/3"}
    again = run_experiment(engine, "divided", DESIGN, Silent())
    assert (again.kept, again.created) == (len(DESIGN.points()), 0)
    assert merge_experiment(engine, parts).created == 0


def test_merging_without_all_shards_stores_nothing(engine: Engine, parts: list[Path]) -> None:
    with pytest.raises(InputError, match="1 shard is missing: 2/3"):
        merge_experiment(engine, [parts[0], parts[2]])
    with open_session(engine) as session, pytest.raises(NotFoundError):
        repository.load_experiment(session, "divided")


def test_the_command_writes_a_shard_and_refuses_an_incomplete_merge(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Running a shard needs no server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STARCAST_POSTGRES_URI", "postgresql://starcast@127.0.0.1:1/nothing")
    grid = ("--topology", "S4", "--algorithm", "multiple", "--segments", "2", "-m", "8")
    written = starcast("experiment", "run", "e", *grid, "--shard", "1/2", "--out", "e.json")
    assert (written.code, written.err) == (0, "shard 1/2 of 'e': 1 run written to e.json\n")
    refused = starcast("experiment", "merge", "e.json")
    assert refused.code in {2, 4}
