"""The test server of the Neo4j LTS release: its configuration, its Java version, and its errors."""

from pathlib import Path

import pytest

from lts import __main__ as lts
from lts import server
from lts.server import LOCK, VERSION, Lts
from starcast.embedded.home import Home
from starcast.embedded.neo4j import Neo4j
from starcast.embedded.programs import LOCK as PINNED
from starcast.embedded.programs import JarSet
from starcast.stores.graph.connection import OLDEST, new_enough
from starcast.support.errors import UnavailableError


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder in which a test installs a fake Java. The search finds no other Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(server, "INSTALLED", tmp_path / "jvm")
    return tmp_path


def java(folder: Path, version: str) -> Path:
    """Install a fake Java that prints its version to stderr, and return its path."""
    path = folder / "java"
    folder.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    path.chmod(0o700)
    return path


def test_the_lock_file_of_the_lts_server_pins_the_oldest_supported_neo4j_release() -> None:
    jars = JarSet(Path("/cache"), LOCK, VERSION)
    assert {jar.version for jar in jars.jars if jar.group == "org.neo4j"} == {VERSION}
    assert new_enough(VERSION)
    assert VERSION.startswith(".".join(map(str, OLDEST)))
    assert jars.folder != JarSet(Path("/cache"), PINNED).folder


def test_the_configuration_omits_settings_that_the_lts_release_does_not_support() -> None:
    omitted = set(Neo4j.configuration.splitlines()) - set(Lts.configuration.splitlines())
    assert {line.partition("=")[0] for line in omitted} == {
        "server.fleet_discovery.enabled",
        "internal.dbms.bolt.netty_server_shutdown_quiet_period_duration",
    }


@pytest.mark.parametrize("version", ["17.0.15", "21.0.2", "21"])
def test_a_suitable_java_is_found(
    machine: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """JAVA_HOME comes first, then the search path. Unsuitable versions are skipped."""
    installed = java(machine / "jvm" / "java-x" / "bin", version)
    assert Lts(Home(machine)).java() == str(installed)
    on_path = java(machine / "bin", version)
    assert Lts(Home(machine)).java() == str(on_path)
    java(machine / "other" / "bin", "25.0.1")
    monkeypatch.setenv("JAVA_HOME", str(machine / "other"))
    assert Lts(Home(machine)).java() == str(on_path)
    monkeypatch.setenv("JAVA_HOME", str(java(machine / "named" / "bin", version).parents[1]))
    assert Lts(Home(machine)).java() == str(machine / "named" / "bin" / "java")


def test_without_a_suitable_java_the_error_lists_the_unsuitable_versions(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lts.main([]) == UnavailableError.exit_code != 0
    error, hint = capsys.readouterr().err.splitlines()
    assert error == f"error: Neo4j {VERSION} needs Java 17 or 21, but none was found"
    assert "JAVA_HOME" in hint
    for name, version in (("a", "25.0.1"), ("b", "11.0.2"), ("c", "x")):
        java(machine / "jvm" / name / "bin", version)
    with pytest.raises(UnavailableError, match=r"is Java 25;.* is Java 11;.* an unknown version"):
        Lts(Home(machine)).java()
