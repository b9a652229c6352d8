"""With real Dask workers: killed workers lose no results, unusable clusters are refused."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, Engine

from starcast.catalogue import plugins
from starcast.catalogue.plugins import pack
from starcast.claims import select_claims, verify
from starcast.experiments.design import Design, Grid
from starcast.experiments.running import run_experiment
from starcast.judges.blockwise import BlockVerification, Source, closed_form, combine, run_ranges
from starcast.search import Budget
from starcast.search.running import SearchTask, plan_searches, run_searches
from starcast.support import dask_cluster
from starcast.support.dask_cluster import DaskExecutor, connect
from starcast.support.errors import InputError, LimitError, RejectedError, UnavailableError
from starcast.support.parallel import Workload, run_parallel
from starcast.support.progress import Silent
from support.break_off import Countdown
from support.dask_cluster import Cluster, cluster
from support.experiments import figures, runs
from support.fix_plugins import EXAMPLES
from support.fix_servers import environment_for

pytestmark = pytest.mark.slow

GRID = Grid(
    {"topology": ["S5", "S6"], "algorithm": "multiple", "segments": [1, 2, 3, 4, 5, 6, 7, 8]}
    | {"message_bytes": "64"}
)
#: A part of `claims check --level full` that is small enough for a test.
CLAIMS = ["TS.L3", "TS.L5", "TS.L6", "TS.h", "TS.T1", "SLC"]
SIZES = ["S3", "S4"]


#: The error that `connect` raised before the cluster had workers.
WITHOUT_WORKERS: list[UnavailableError] = []


@pytest.fixture(scope="module")
def cluster_of_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two workers; Dask gives up a task that has killed a worker twice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")
        with cluster(tmp_path_factory.mktemp("dask"), workers=0) as started:
            with pytest.MonkeyPatch.context() as impatient:
                impatient.setattr(dask_cluster, "PATIENCE", 5)
                WITHOUT_WORKERS.append(refusal(started.address))
            started.add_workers(2)
            yield started


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow workers more time to start, since the machine may be busy."""
    monkeypatch.setattr(dask_cluster, "PATIENCE", 60)


def refusal(address: str) -> UnavailableError:
    """Return the error with which a connection is refused."""
    with pytest.raises(UnavailableError) as caught, connect(address):
        pytest.fail("it connected")
    return caught.value


@pytest.fixture
def executor(cluster_of_two: Cluster) -> Iterator[DaskExecutor]:
    """An executor that uses both workers."""
    with connect(cluster_of_two.address) as opened:
        yield opened


@pytest.fixture
def killer(cluster_of_two: Cluster) -> Iterator[Countdown]:
    """A reporter that kills a worker when the first result has arrived."""
    reporter = Countdown(1, cluster_of_two.kill_worker)
    yield reporter
    assert reporter.left < 0, "there was only one result, or none"


def test_an_experiment_whose_worker_is_killed_stores_the_same_runs(
    engine: Engine, killer: Countdown, executor: DaskExecutor
) -> None:
    outcome = run_experiment(engine, "dask", GRID, killer, executor=executor)
    assert (outcome.created, outcome.failed) == (16, 0)
    run_experiment(engine, "local", GRID, Silent(), jobs=1)
    assert figures(engine, "dask") == figures(engine, "local")


def test_claims_whose_worker_is_killed_have_the_same_evidence(
    killer: Countdown, executor: DaskExecutor
) -> None:
    """The check covers the part of the level `full` selected by `CLAIMS` and `SIZES`."""
    claims = select_claims(CLAIMS)
    verdicts = verify.verify_claims(claims, sizes=SIZES, reporter=killer, executor=executor)
    alone = verify.verify_claims(claims, sizes=SIZES, jobs=1)
    assert [verdict.claim for verdict in verdicts] == [verdict.claim for verdict in alone]
    for verdict, expected in zip(verdicts, alone, strict=True):
        assert (verdict.verdict, verdict.detail) == (expected.verdict, expected.detail)
        assert verdict.evidence == expected.evidence


def verified(source: Source, reporter: Silent, executor: DaskExecutor | None) -> BlockVerification:
    """Verify a forest in ranges of three trees each."""
    ranges = [(start, start + 3) for start in range(0, source.count, 3)]
    with run_ranges(source, ranges, None, reporter, executor) as results:
        return combine(source, results)


def test_blocks_whose_worker_is_killed_have_the_same_heights_and_loads(
    killer: Countdown, executor: DaskExecutor
) -> None:
    source = closed_form("S9", "edge-disjoint")
    # The local run comes first: numba compiles here, and the workers load the compiled code.
    expected = verified(source, Silent(), None)
    assert verified(source, killer, executor) == expected


def test_searches_whose_worker_is_killed_find_the_same_values(
    killer: Countdown, executor: DaskExecutor
) -> None:
    """The workers themselves start the solver processes."""
    tasks = plan_searches(["congestion-trees", "edge-disjoint-trees"], ["Q3", "S3"], {}, [0])
    budget = Budget(60, 1_000, reporter=killer)
    kept: list[str] = []
    found = run_searches(tasks, budget, no_record, lambda record: kept.append(record.id), executor)
    values = {record.id: (record.value, record.bound) for _, record in found}
    alone = run_searches(tasks, Budget(60, 1_000), no_record)
    assert values == {record.id: (record.value, record.bound) for _, record in alone}
    assert set(kept) == values.keys()


def no_record(task: SearchTask) -> None:
    """Return None, since no record is stored for the search."""
    del task


def square_or_die(number: int) -> int:
    """Return the square; the number 13 kills the worker."""
    if number == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def forgive(scheduler: Any, failures: int) -> None:
    """Set how many times a task may kill its worker before Dask gives it up."""
    scheduler.allowed_failures = failures


def refuse_memory(number: int, free: int) -> None:
    """Refuse an item that needs more memory than is free."""
    raise LimitError(f"{number} does not fit into {free / 1e9:.0f} GB")


def plenty() -> int:
    """Return the free memory of a large machine."""
    return 10**13


def test_a_task_that_kills_its_workers_is_named_and_the_others_finish(
    executor: DaskExecutor,
) -> None:
    work = Workload(square_or_die, lambda _: 1, plenty, refuse_memory, lambda item: f"item {item}")
    # Allow no repetition: by default Dask repeats a task three times, each time on a new worker.
    executor._client.run_on_scheduler(lambda dask_scheduler: forgive(dask_scheduler, 0))
    done: list[tuple[int, int]] = []
    with (
        pytest.raises(LimitError, match=r"^item 13 was given up after 1 worker that"),
        run_parallel([11, 12, 13, 14, 15], work, executor) as results,
    ):
        done.extend(results)
    executor._client.run_on_scheduler(lambda dask_scheduler: forgive(dask_scheduler, 1))
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
    copies = [tmp_path / path.name for path in EXAMPLES.glob("*.py")]
    for copy in copies:
        copy.write_bytes((EXAMPLES / copy.name).read_bytes())
    plugins.load(sorted(map(str, copies)))
    design = Design(
        (
            Grid(
                {"topology": ["R4", "S4"], "algorithm": ["forest(base=highest-ports)"]}
                | {"segments": [1, 4], "message_bytes": ["64"]}
            ),
        )
    )
    packed = pack()
    hidden = [copy.rename(copy.with_suffix(".away")) for copy in copies]
    with connect(cluster_of_two.address, packed) as executor:
        run_experiment(engine, "dask", design, Silent(), executor=executor)
    for copy in hidden:
        copy.rename(copy.with_suffix(".py"))
    run_experiment(engine, "local", design, Silent(), jobs=1)
    assert {run.status for run in runs(engine, "dask")} == {"complete"}
    assert figures(engine, "dask") == figures(engine, "local")


def test_ctrl_c_ends_the_client_but_not_the_cluster(
    cluster_of_two: Cluster, clean_database: URL, tmp_path: Path
) -> None:
    words = ["experiment", "run", "long", "-m", "64", "--topology", "S7"]
    words += ["--algorithm", "multiple"]
    words += [word for segments in range(10, 40) for word in ("--segments", str(segments))]
    process = subprocess.Popen(
        [sys.executable, "-m", "starcast.cli.app", *words, "--workers", cluster_of_two.workers],
        env=environment_for(clean_database, tmp_path),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with connect(cluster_of_two.address) as executor:
        while not any(executor._client.processing().values()):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors.splitlines()[-1]) == (130, "interrupted")
        assert "Traceback" not in errors
        assert executor.submit(pow, 2, 5).result(60) == 32


def test_workers_of_another_version_are_refused(
    cluster_of_two: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "version", lambda _: "99.1")
    with (
        pytest.raises(
            RejectedError, match=r"the Dask worker tcp://\S+ has starcast \S+, not 99\.1"
        ),
        connect(cluster_of_two.address),
    ):
        pytest.fail("it connected")


def test_a_worker_that_joins_later_refuses_tasks_of_another_version(
    executor: DaskExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "_identity", executor._identity | {"numpy": "0.1"})
    with pytest.raises(RejectedError, match=r"has numpy \S+, not 0\.1"):
        executor.submit(pow, 2, 5).result(60)


def test_a_cluster_without_workers_is_refused(cluster_of_two: Cluster) -> None:
    address = cluster_of_two.address
    assert WITHOUT_WORKERS[-1].message == f"the Dask scheduler at {address} has no workers"


@pytest.mark.parametrize("answers", ["nothing listens", "silence", "another protocol"])
def test_an_address_without_a_scheduler_is_refused(
    answers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "PATIENCE", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if answers == "nothing listens":
            server.close()
        elif answers == "another protocol":
            code = (
                "import socket, sys; server = socket.socket(fileno=int(sys.argv[1]))\n"
                "while True: server.accept()[0].sendall(b'HTTP/1.0 400 Bad Request\\r\\n' * 9)"
            )
            other = subprocess.Popen(
                [sys.executable, "-c", code, str(server.fileno())], pass_fds=[server.fileno()]
            )
        try:
            error = refusal(f"tcp://127.0.0.1:{port}")
            assert error.message.startswith("no Dask scheduler answers at tcp://127.0.0.1:")
        finally:
            if answers == "another protocol":
                other.kill()
                other.wait()


@pytest.mark.parametrize("address", ["127.0.0.1:8786", "tcp://", "http://a:1", "tcp://a:99999"])
def test_a_malformed_address_is_refused(address: str) -> None:
    with (
        pytest.raises(InputError, match="is not the address of a Dask scheduler"),
        connect(address),
    ):
        pytest.fail("it connected")
