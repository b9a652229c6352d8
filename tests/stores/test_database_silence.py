"""A PostgreSQL server that stops responding while its connections stay open."""

import threading
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import URL, Engine, text

from campaign.proxy import Proxy
from starcast.stores.database import migrations, sessions
from starcast.support.errors import BusyError, UnavailableError
from starcast.support.progress import Silent
from support.fix_cli import Starcast, name_store
from support.striking import ctrl_c

pytestmark = pytest.mark.slow


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
def through(proxy: Proxy, fresh_database: URL, impatient: None) -> Iterator[Engine]:
    """An engine whose connections go through the proxy."""
    del impatient
    engine = sessions.connect(fresh_database.set(port=proxy.port))
    yield engine
    engine.dispose()


def test_the_time_limit_for_a_silent_server_is_thirty_seconds() -> None:
    assert sessions.SILENT_SECONDS + sessions.PROBE_SECONDS + sessions.CONNECT_SECONDS == 30
    options = sessions.TCP_OPTIONS
    keepalive = options["keepalives_idle"] + options["keepalives_interval"] * 4
    assert (options["tcp_user_timeout"], keepalive, options["keepalives_count"]) == (30_000, 30, 4)


def test_a_statement_on_a_silent_server_fails_with_one_sentence(
    through: Engine, proxy: Proxy
) -> None:
    with sessions.open_session(through) as session:
        session.execute(text("select 1"))
    proxy.is_silent = True
    began = time.monotonic()
    with (
        pytest.raises(UnavailableError, match=r"reached: (it has not answered|connection timeout)"),
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
    with pytest.raises(UnavailableError, match="it has not answered"):
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


def test_a_long_statement_is_not_taken_for_a_silent_server(through: Engine) -> None:
    with sessions.open_session(through) as session:
        session.execute(text("select pg_sleep(7)"))
        assert session.scalar(text("select 1")) == 1


def test_waiting_for_a_lock_is_not_taken_for_a_silent_server(through: Engine, bare: Engine) -> None:
    with bare.begin() as holder:
        holder.execute(text("select pg_advisory_xact_lock(5)"))
        timer = threading.Timer(6, holder.rollback)
        timer.start()
        with sessions.open_session(through) as session:
            session.execute(text("select pg_advisory_xact_lock(5)"))
        timer.join()


def test_the_command_line_reports_a_silent_server_in_one_sentence(
    proxy: Proxy,
    bare: Engine,
    impatient: None,
    starcast: Starcast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del impatient
    migrations.upgrade(bare, Silent())
    name_store(monkeypatch, bare.url.set(port=proxy.port))
    assert starcast("experiment", "list").code == 0
    proxy.is_silent = True
    result = starcast("experiment", "list")
    assert result.code == 4
    assert result.err.startswith(f"error: PostgreSQL at 127.0.0.1:{proxy.port} cannot be reached")
    assert "Traceback" not in result.err


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
