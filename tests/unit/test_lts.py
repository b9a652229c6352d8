"""The LTS release that the packs are asked of: what it is started with, and what is said where it cannot be."""

from pathlib import Path

import pytest

from lts import __main__ as lts
from lts import server
from lts.server import JAVAS, LOCK, VERSION, Lts
from starcast.embedded.home import Home
from starcast.embedded.jars import LOCK as PINNED
from starcast.embedded.jars import JarSet
from starcast.embedded.neo4j import Neo4j
from starcast.errors import UnavailableError
from starcast.graph.connection import OLDEST, new_enough


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without a Java; its programs are found in this folder."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(server, "INSTALLED", tmp_path / "jvm")
    return tmp_path


def java(folder: Path, version: str) -> Path:
    """A Java that can say its version, on stderr as they all do."""
    path = folder / "java"
    folder.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    path.chmod(0o700)
    return path


def test_the_lock_is_of_the_oldest_release_that_is_supported() -> None:
    jars = JarSet.of(Path("/cache"), LOCK, VERSION)
    assert {jar.version for jar in jars.jars if jar.group == "org.neo4j"} == {VERSION}
    assert new_enough(VERSION)
    assert VERSION.startswith(".".join(map(str, OLDEST)))
    assert jars.folder != JarSet.of(Path("/cache"), PINNED).folder


def test_its_configuration_is_the_product_s_without_what_it_does_not_know() -> None:
    left = set(Neo4j.configuration.splitlines()) - set(Lts.configuration.splitlines())
    assert {line.partition("=")[0] for line in left} == {
        "server.fleet_discovery.enabled",
        "internal.dbms.bolt.netty_server_shutdown_quiet_period_duration",
    }


@pytest.mark.parametrize("version", ["17.0.15", "21.0.2", "21"])
def test_a_fitting_java_is_found_wherever_it_is(
    bare: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """What the user names comes first, then what the shell finds; one that does not fit is passed over."""
    installed = java(bare / "jvm" / "java-x" / "bin", version)
    assert Lts(Home(bare)).java() == str(installed)
    found = java(bare / "bin", version)
    assert Lts(Home(bare)).java() == str(found)
    java(bare / "other" / "bin", "25.0.1")
    monkeypatch.setenv("JAVA_HOME", str(bare / "other"))
    assert Lts(Home(bare)).java() == str(found)
    monkeypatch.setenv("JAVA_HOME", str(java(bare / "named" / "bin", version).parents[1]))
    assert Lts(Home(bare)).java() == str(bare / "named" / "bin" / "java")


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (None, "no java"),
        ("25.0.1", "is Java 25"),
        ("11.0.2", "is Java 11"),
        ("x", "is of no version"),
    ],
)
def test_without_a_fitting_java_it_says_what_it_found(
    bare: Path, version: str | None, words: str
) -> None:
    if version is not None:
        java(bare / "bin", version)
    with pytest.raises(
        UnavailableError, match=f"needs a Java {JAVAS[0]} or {JAVAS[1]}, and there is none"
    ) as refused:
        Lts(Home(bare)).java()
    assert words in refused.value.message
    assert "JAVA_HOME" in refused.value.hint


def test_without_a_java_the_target_fails_and_tests_nothing(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bare.is_dir()
    assert lts.main([]) == UnavailableError.exit_code != 0
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith("error: Neo4j ")
    assert hint.startswith("hint: ")
