"""Tests with real Dask workers: killed workers lose no results; unusable clusters are refused."""

import os
import shutil
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import URL, Engine

from starcast.catalogue import plugins
from starcast.catalogue.plugins import pack
from starcast.claims import load, select_claims, verify
from starcast.experiments.design import Grid, grid_command
from starcast.experiments.running import run_experiment
from starcast.judges.blockwise import BlockVerification, Source, closed_form, combine, run_ranges
from starcast.search import Budget
from starcast.search.running import plan_searches, run_searches
from starcast.support import dask_cluster
from starcast.support.dask_cluster import DaskExecutor, connect
from starcast.support.errors import (
    InputError,
    LimitError,
    RejectedError,
    StarcastError,
    UnavailableError,
)
from starcast.support.parallel import Workload, run_parallel
from starcast.support.progress import Silent
from support.break_off import Countdown
from support.dask_cluster import Cluster, cluster
from support.experiments import figures, runs
from support.fix_plugins import EXAMPLES
from support.fix_servers import environment_for
from support.workers import running_command, wait_until

pytestmark = pytest.mark.slow

GRID = Grid({
    "topology": ["S5", "S6"], "algorithm": "multiple", "segments": [*range(1, 9)],
    "message_bytes": "64",
})  # fmt: skip
#: A part of `claims check --level full` that is small enough for a test.
CLAIMS = ["TS.L3", "TS.L5", "TS.L6", "TS.h", "TS.T1", "SLC"]
SIZES = ["S3", "S4"]


@pytest.fixture(scope="module")
def cluster_of_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two workers; Dask gives up a task that has killed two workers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")
        with cluster(tmp_path_factory.mktemp("dask")) as started:
            yield started


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow workers more time to start, since the machine may be busy."""
    monkeypatch.setattr(dask_cluster, "PATIENCE", 60)


def assert_refused(address: str, error: type[StarcastError], words: str) -> None:
    """Check that connecting raises an error whose message matches a pattern."""
    with pytest.raises(error, match=words), connect(address):
        pytest.fail("the connection was accepted")


@pytest.fixture
def executor(cluster_of_two: Cluster) -> Iterator[DaskExecutor]:
    """A Dask executor that uses both workers of the cluster."""
    with connect(cluster_of_two.address) as opened:
        yield opened


@pytest.fixture
def killer(cluster_of_two: Cluster) -> Iterator[Countdown]:
    """A reporter that kills a worker when the first result has arrived."""
    reporter = Countdown(1, cluster_of_two.kill_worker)
    yield reporter
    assert reporter.left < 0, "at most one result arrived"


def test_a_killed_worker_does_not_change_the_runs_of_an_experiment(
    engine: Engine, killer: Countdown, executor: DaskExecutor
) -> None:
    outcome = run_experiment(engine, "dask", GRID, killer, executor=executor)
    assert (outcome.created, outcome.failed) == (16, 0)
    run_experiment(engine, "local", GRID, Silent(), jobs=1)
    assert figures(engine, "dask") == figures(engine, "local")


def test_a_killed_worker_does_not_change_the_evidence_on_claims(
    killer: Countdown, executor: DaskExecutor
) -> None:
    """The checked claims and sizes (`CLAIMS`, `SIZES`) are a part of the level `full`."""
    claims = select_claims(CLAIMS)
    verdicts = verify.verify_claims(claims, sizes=SIZES, reporter=killer, executor=executor)
    alone = verify.verify_claims(claims, sizes=SIZES, jobs=1)
    assert [verdict.claim for verdict in verdicts] == [verdict.claim for verdict in alone]
    for verdict, expected in zip(verdicts, alone, strict=True):
        assert (verdict.verdict, verdict.detail) == (expected.verdict, expected.detail)
        assert verdict.evidence == expected.evidence


def test_the_files_of_a_paper_pack_are_sent_to_the_workers(
    cluster_of_two: Cluster, pack: Path
) -> None:
    load(pack)
    packed = plugins.pack()
    pack.rename(pack.with_name("hidden"))
    with connect(cluster_of_two.address, packed) as executor:
        verdicts = verify.verify_claims(select_claims(["MYPAPER"]), executor=executor)
    assert [verdict.verdict for verdict in verdicts] == ["holds", "fails"]


def verified(source: Source, reporter: Silent, executor: DaskExecutor | None) -> BlockVerification:
    """Verify a forest in ranges of three trees, and return the combined result."""
    ranges = [(start, start + 3) for start in range(0, source.count, 3)]
    with run_ranges(source, ranges, None, reporter, executor) as results:
        return combine(source, results)


def test_a_killed_worker_does_not_change_the_computed_heights_and_loads(
    killer: Countdown, executor: DaskExecutor
) -> None:
    source = closed_form("S9", "edge-disjoint")
    # The local run comes first, so that the workers load code that numba has already compiled.
    expected = verified(source, Silent(), None)
    assert verified(source, killer, executor) == expected


def test_a_killed_worker_does_not_change_the_results_of_searches(
    killer: Countdown, executor: DaskExecutor
) -> None:
    """The workers themselves start the solver processes."""
    tasks = plan_searches(["congestion-trees", "edge-disjoint-trees"], ["Q3", "S3"], {}, [0])
    budget = Budget(60, 1_000, reporter=killer)
    kept: list[str] = []
    found = run_searches(
        tasks, budget, lambda _: None, lambda record: kept.append(record.id), executor
    )
    values = {record.id: (record.value, record.bound) for _, record in found}
    alone = run_searches(tasks, Budget(60, 1_000), lambda _: None)
    assert values == {record.id: (record.value, record.bound) for _, record in alone}
    assert set(kept) == values.keys()


def square_or_die(number: int) -> int:
    """Return the square; the number 13 kills the worker."""
    if number == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def allow_failures(executor: DaskExecutor, count: int) -> None:
    """Make Dask repeat a task until it has killed more than ``count`` workers."""
    executor._client.run_on_scheduler(
        lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", count)
    )


def refuse_memory(number: int, free: int) -> None:
    """Raise the error for an item that needs more memory than is free."""
    raise LimitError(f"{number} does not fit into {free / 1e9:.0f} GB")


def plenty() -> int:
    """Return the free memory of a large machine, in bytes."""
    return 10**13


def test_the_error_names_a_task_that_kills_its_workers_and_other_tasks_finish(
    executor: DaskExecutor,
) -> None:
    work = Workload(square_or_die, lambda _: 1, plenty, refuse_memory, lambda item: f"item {item}")
    # Allow no repetition: by default Dask repeats a task three times, each time on a new worker.
    allow_failures(executor, 0)
    done: list[tuple[int, int]] = []
    with (
        pytest.raises(LimitError, match=r"^item 13 was given up after 1 worker that"),
        run_parallel([11, 12, 13, 14, 15], work, executor) as results,
    ):
        done.extend(results)
    allow_failures(executor, 1)
    assert sorted(done) == [(item, item * item) for item in (11, 12, 14, 15)]


def test_a_worker_refuses_a_task_that_exceeds_its_memory(executor: DaskExecutor) -> None:
    """The executor applies the worker's own limit although `plenty` reports 10 TB free."""
    work = Workload(square_or_die, lambda _: 10**12, plenty, refuse_memory)
    with (
        pytest.raises(LimitError, match=r"3 does not fit into \d+ GB"),
        run_parallel([3], work, executor) as results,
    ):
        list(results)


@pytest.mark.usefixtures("registries")
def test_plug_ins_are_sent_to_the_workers(
    engine: Engine, cluster_of_two: Cluster, tmp_path: Path
) -> None:
    folder, hidden = tmp_path / "plugins", tmp_path / "hidden"
    shutil.copytree(EXAMPLES, folder)
    plugins.load(sorted(map(str, folder.glob("*.py"))))
    design = Grid({
        "topology": ["R4", "S4"], "algorithm": ["forest(base=highest-ports)"], "segments": [1, 4],
        "message_bytes": ["64"],
    })  # fmt: skip
    packed = pack()
    folder.rename(hidden)
    with connect(cluster_of_two.address, packed) as executor:
        run_experiment(engine, "dask", design, Silent(), executor=executor)
    hidden.rename(folder)
    run_experiment(engine, "local", design, Silent(), jobs=1)
    assert {run.status for run in runs(engine, "dask")} == {"complete"}
    assert figures(engine, "dask") == figures(engine, "local")


def test_ctrl_c_ends_the_client_but_not_the_cluster(
    cluster_of_two: Cluster, clean_database: URL, tmp_path: Path
) -> None:
    grid = Grid({**GRID.as_json(), "topology": "S7", "segments": [*range(10, 40)]})
    command = grid_command(grid.as_json(), "long")
    words = (*command.split()[1:], "--workers", cluster_of_two.workers)
    with (
        running_command(environment_for(clean_database, tmp_path), *words) as process,
        connect(cluster_of_two.address) as executor,
    ):
        wait_until(lambda: any(executor._client.processing().values()))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors.splitlines()[-1]) == (130, "interrupted")
        assert "Traceback" not in errors
        assert executor.submit(pow, 2, 5).result(60) == 32


def test_workers_of_another_version_are_refused(
    cluster_of_two: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "version", lambda _: "99.1")
    words = r"the Dask worker tcp://\S+ has starcast \S+, not 99\.1"
    assert_refused(cluster_of_two.address, RejectedError, words)


def test_a_worker_that_joins_later_refuses_tasks_of_another_version(
    executor: DaskExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "_identity", executor._identity | {"numpy": "0.1"})
    with pytest.raises(RejectedError, match=r"has numpy \S+, not 0\.1"):
        executor.submit(pow, 2, 5).result(60)


def test_a_cluster_without_workers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "PATIENCE", 5)
    with cluster(tmp_path, workers=0) as empty:
        words = f"the Dask scheduler at {empty.address} has no workers"
        assert_refused(empty.address, UnavailableError, words)


@pytest.mark.parametrize("answers", ["nothing listens", "silence", "another protocol"])
def test_an_address_without_a_scheduler_is_refused(
    answers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "PATIENCE", 1)

    def answer(server: socket.socket) -> None:
        with suppress(OSError):  # accept() fails when the server is shut down
            while True:
                server.accept()[0].sendall(b"HTTP/1.0 400 Bad Request\r\n" * 9)

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        if answers == "nothing listens":
            server.close()
        elif answers == "another protocol":
            pool.submit(answer, server)
        try:
            assert_refused(address, UnavailableError, f"^no Dask scheduler answers at {address}")
        finally:
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("address", ["127.0.0.1:8786", "tcp://", "http://a:1", "tcp://a:99999"])
def test_a_malformed_address_is_refused(address: str) -> None:
    assert_refused(address, InputError, "is not the address of a Dask scheduler")
