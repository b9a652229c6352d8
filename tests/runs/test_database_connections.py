"""PostgreSQL behind PgBouncer in transaction mode, and a server that stops responding.

In transaction mode, each transaction may use another session. A server that stops responding
keeps its connections open.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import URL, Engine, text

from campaign.proxy import Proxy
from starcast.embedded.doctor import Verdict, examine
from starcast.experiments.design import Grid
from starcast.experiments.running import run_experiment
from starcast.ingest import Stores, ingest, parse_request
from starcast.stores import GraphAddress
from starcast.stores.database import backup, migrations, sessions
from starcast.stores.graph.connection import Graph
from starcast.support.errors import BusyError, UnavailableError
from starcast.support.progress import Silent
from support.claim_runs import check_and_store
from support.fix_cli import Starcast, name_store
from support.fix_servers import execute, scalars, settings_for
from support.striking import ctrl_c

pytestmark = pytest.mark.slow

GRID = {
    "topology": ["S3", "S4"], "collective": "broadcast", "algorithm": ["multiple", "greedy"],
    "segments": [1, 2, 3, 4], "message_bytes": "64",
}  # fmt: skip


@pytest.fixture
def pooled_engine(
    clean_database: URL, pgbouncer: int, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engine]:
    """An engine for the clean database behind PgBouncer, logged in as the writer role."""
    engine = sessions.connect(clean_database.set(port=pgbouncer))
    name_store(monkeypatch, engine.url)
    # Open three transactions at the same time, so that PgBouncer starts a session for each.
    with ExitStack() as session:
        for _ in range(3):
            session.enter_context(sessions.open_session(engine)).execute(text("select 1"))
    yield engine
    engine.dispose()


def test_transactions_behind_the_pooler_use_more_than_one_session(pooled_engine: Engine) -> None:
    """If all transactions used one session, the other tests of this file would prove nothing."""
    pids = [scalars(pooled_engine, "select pg_backend_pid()") for _ in range(4)]
    assert any(pid != pids[0] for pid in pids)


def test_a_schema_can_be_created_and_upgraded_behind_the_pooler(pooled: URL) -> None:
    engine = sessions.connect(pooled)
    assert migrations.upgrade(engine, Silent())
    assert not migrations.upgrade(engine, Silent())
    assert migrations.differences(engine) == []
    migrations.drop(engine)
    assert migrations.current(engine) is None
    engine.dispose()


def test_a_statement_can_be_repeated_in_another_session(pooled_engine: Engine) -> None:
    """A prepared statement would fail, because it exists in only one of the sessions."""
    for number in range(20):
        with sessions.open_session(pooled_engine) as session:
            assert session.scalar(text("select :number + 1"), {"number": number}) == number + 1


def test_a_lock_is_held_across_transactions(pooled_engine: Engine, engine: Engine) -> None:
    """Other clients are refused, pooled or not. After the release, no session holds the lock."""
    busy = BusyError("busy")
    with sessions.advisory_lock(pooled_engine, "experiment a", busy, "running a") as lock:
        for other in (pooled_engine, engine) * 3:
            again = sessions.advisory_lock(other, "experiment a", None)
            with pytest.raises(BusyError, match="running a"), again:
                pytest.fail("the lock was acquired twice")
            with sessions.open_session(other) as session:
                lock.verify(session)
    for _ in range(6):
        with sessions.advisory_lock(pooled_engine, "experiment a", busy):
            pass
    assert scalars(engine, "select pid from pg_locks where locktype = 'advisory'") == []


def test_experiments_can_be_run_and_compared_behind_the_pooler(
    pooled_engine: Engine, starcast: Starcast
) -> None:
    """Two experiments with the same grid are run and compared; 32 runs are stored in total."""
    run_experiment(pooled_engine, "pooled", Grid(GRID), Silent(), jobs=1)
    run_experiment(pooled_engine, "again", Grid(GRID), Silent(), jobs=1)
    result = starcast("compare", "pooled", "again", "--format", "json")
    assert (result.code, result.err.count("error")) == (0, 0)
    assert scalars(pooled_engine, "select count(*) from run") == [32]


def test_an_ingest_and_a_verification_of_claims_work_behind_the_pooler(
    pooled_engine: Engine, graph: Graph, starcast: Starcast
) -> None:
    """The ingest uses COPY, load states and locks."""
    request = parse_request("S4", trees="multiple", schedules="multiple")
    summary = ingest(Stores(pooled_engine, graph, 1_000), request)
    assert len(summary.created) == 3
    check_and_store(pooled_engine, ["TS.L1"])
    assert starcast("claims", "show", "TS.L1").code == 0


def test_backup_and_restore_work_behind_the_pooler_and_change_no_session(
    pooled: URL, pooled_engine: Engine, engine: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "store.backup"
    execute(engine, "insert into experiment (name) values ('e')")
    backup.create(pooled_engine, file)
    owner = sessions.connect(pooled)
    backup.restore(owner, file)
    assert scalars(owner, "select name from experiment") == ["e"]
    owner.dispose()
    for _ in range(6):
        assert scalars(pooled_engine, "show search_path") == ['"$user", public']


def test_the_doctor_command_reports_a_connection_pooler(
    pooled_engine: Engine, graph_address: GraphAddress
) -> None:
    settings = settings_for(pooled_engine.url, graph_address)
    finding = next(each for each in examine(settings) if each.check == "PostgreSQL")
    assert finding.verdict is Verdict.OK
    assert finding.found.endswith("behind a connection pooler")


@pytest.mark.usefixtures("impatient")
def test_a_long_statement_behind_the_pooler_is_not_mistaken_for_a_silent_server(
    pooled_engine: Engine,
) -> None:
    """The statement takes 4 s, and a pooler hides which server process executes it."""
    execute(pooled_engine, "select pg_sleep(4)")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"database": "nothing"}, "cannot be reached"),
        ({"database": "missing"}, "has no database 'missing'"),
        ({"username": "stranger"}, "refuses the login of 'stranger'"),
        ({"password": "wrong"}, "refuses the login of"),
    ],
)
def test_connection_errors_behind_the_pooler_are_reported_in_one_line(
    pooled: URL, changes: dict[str, str], words: str
) -> None:
    """The server is not running, or the connection is refused by the server or the pooler."""
    with pytest.raises(UnavailableError) as refused:
        sessions.connect(pooled.set(**changes))  # type: ignore[arg-type]
    assert words in refused.value.message
    assert "\n" not in refused.value.message


@pytest.fixture
def proxy(fresh_database: URL) -> Iterator[Proxy]:
    proxy = Proxy(fresh_database.port or 0)
    yield proxy
    proxy.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the time limit for a silent server from half a minute to seconds."""
    monkeypatch.setattr(sessions, "SILENT_SECONDS", 2.0)
    monkeypatch.setattr(sessions, "PROBE_SECONDS", 1)


@pytest.fixture
def through(proxy: Proxy, fresh_database: URL, impatient: None) -> Iterator[Engine]:  # noqa: ARG001
    """An engine whose connections go through the proxy."""
    engine = sessions.connect(fresh_database.set(port=proxy.port))
    yield engine
    engine.dispose()


def test_the_time_limit_for_a_silent_server_is_thirty_seconds() -> None:
    assert sessions.SILENT_SECONDS + sessions.PROBE_SECONDS + sessions.CONNECT_SECONDS == 30
    options = sessions.TCP_OPTIONS
    keepalive = options["keepalives_idle"] + options["keepalives_interval"] * 4
    assert (options["tcp_user_timeout"], keepalive, options["keepalives_count"]) == (30_000, 30, 4)


def test_a_statement_on_a_silent_server_fails_after_the_time_limit(
    through: Engine, proxy: Proxy
) -> None:
    execute(through, "select 1")
    proxy.is_silent = True
    began = time.monotonic()
    with (
        pytest.raises(UnavailableError, match=r"reached: (the server has not|connection timeout)"),
        sessions.open_session(through) as session,
    ):
        session.execute(text("select 1"))
    assert time.monotonic() - began < 20


def test_releasing_a_lock_does_not_wait_for_a_silent_server_again(
    through: Engine, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection that holds the lock has become silent too."""
    monkeypatch.setattr(sessions, "SILENT_SECONDS", 6.0)
    began = time.monotonic()
    with pytest.raises(UnavailableError, match="the server has not answered"):
        work_with_a_lock(through, proxy)
    assert time.monotonic() - began < 12


def test_ctrl_c_ends_the_wait_for_a_silent_server(proxy: Proxy, fresh_database: URL) -> None:
    """The wait ends at once, not after the time limit for a silent server."""
    engine = sessions.connect(fresh_database.set(port=proxy.port))
    with ctrl_c(1) as striking:
        striking.start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            work_with_a_lock(engine, proxy)
    assert time.monotonic() - began < 8
    engine.dispose()


def work_with_a_lock(engine: Engine, proxy: Proxy) -> None:
    """Execute a statement under a lock; the proxy does not forward the statement."""
    with (
        sessions.advisory_lock(engine, "experiment a", BusyError("busy")),
        sessions.open_session(engine) as session,
    ):
        session.execute(text("select 1"))
        proxy.is_silent = True
        session.execute(text("select 2"))


def test_a_long_statement_is_not_mistaken_for_a_silent_server(through: Engine) -> None:
    execute(through, "select pg_sleep(7)", "select 1")


def test_a_lock_wait_is_not_mistaken_for_a_silent_server(through: Engine, bare: Engine) -> None:
    with bare.begin() as holder:
        holder.execute(text("select pg_advisory_xact_lock(5)"))
        timer = threading.Timer(6, holder.rollback)
        timer.start()
        execute(through, "select pg_advisory_xact_lock(5)")
        timer.join()


def test_claims_check_fails_if_the_configured_server_is_unreachable(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARCAST_POSTGRES_URI", "postgresql://starcast@127.0.0.1:1/starcast")
    for words in (("check", "TS.L1"), ("list",), ("show", "TS.L1")):
        result = starcast("claims", *words)
        assert result.code == 4, words
        assert "PostgreSQL at 127.0.0.1:1 cannot be reached" in result.err
        assert "nothing is stored" not in result.err
    assert starcast("claims", "check", "TS.L1", "--no-store").code == 0
