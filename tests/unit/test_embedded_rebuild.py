"""Neo4j's data directories, and offline imports with a script in place of neo4j-admin."""

import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from starcast.embedded import programs, system
from starcast.embedded.home import Home
from starcast.embedded.neo4j import Neo4j
from starcast.embedded.rebuild import StoreRebuild
from starcast.support.errors import (
    BusyError,
    LimitError,
    RejectedError,
    StarcastError,
    UnavailableError,
)
from starcast.support.progress import Silent
from starcast.support.settings import Settings
from support.recorder import RecordedTask, Recorder

#: Shortened output of neo4j-admin from Neo4j 2026.08.1.
SUCCESS = """\
Neo4j version: 2026.08.1
(1/4) Node import 2026-11-21 19:19:37.352+0000
  Estimated number of nodes: 40.32 k
.......... .......... .......... .......... ..........   5% ∆1s 136ms [1s 136ms]
.......... .......... .......... .......... ..........  60% ∆1ms [1s 138ms]
.......... .......... .......... .......... .......... 100% ∆0ms [1s 142ms]
Node import COMPLETED in 1s 145ms

(2/4) Relationship import 2026-11-21 19:19:38.497+0000
.......... .......... .......... .......... .......... 100% ∆0ms [889ms]
Relationship import COMPLETED in 890ms
IMPORT DONE in 5s 349ms.
"""
BAD_ROW = """\
(2/4) Relationship import 2026-11-21 19:19:58.497+0000
.......... .......... .......... .......... .......... 100% ∆0ms [69ms]
IMPORT FAILED in 3s 415ms.
WARNING Import failed. The store files in /h/neo4j/data-1/databases/neo4j are left as they are.

-----------------------------------------------------
Command Failed
Error importing csv file.

ID value is invalid for the id type specified.
/h/neo4j/staging/files/link.csv: line 100
Invalid ID value: `x`.

Full exception details written to: /h/logs/neo4j-admin-exception-trace-2026-11-21.19.19.57.log
Please provide this file if requesting neo4j support
-----------------------------------------------------
"""
FULL = """\
-----------------------------------------------------
Command Failed
Error importing csv file.

java.lang.RuntimeException: java.io.IOException: \
java.io.UncheckedIOException: java.io.IOException: No space left on device
-----------------------------------------------------
"""
LOCKED = """\
-----------------------------------------------------
Command Failed
The database is in use. Stop database 'neo4j' and try again.

Lock file has been locked by another process: \
/h/neo4j/data/databases/neo4j/database_lock. Please ensure no other
-----------------------------------------------------
"""
SHORT = "Terminating due to java.lang.OutOfMemoryError: Java heap space\n"
OTHER_JAVA = (
    "Error: LinkageError occurred: "
    "java.lang.UnsupportedClassVersionError: org/neo4j/cli/AdminTool\n"
)


class Tool:
    """A home folder in which a shell script replaces Java."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen = folder / "seen"
        self.seen.mkdir()
        self.home = Home(folder / "home")
        self.home.create()
        self.server = Neo4j(self.home)
        self.log = self.home.logs / "neo4j-import.log"
        self._java = folder / "java"
        monkeypatch.setattr(programs, "load", lambda _: SimpleNamespace(JAVA=self._java))

    def run(self, output: str, end: str, reporter: Silent | None = None) -> None:
        """Run an import whose tool prints a text and then runs a shell command."""
        rebuild = StoreRebuild(self.home, Settings.load(), reporter or Silent())
        (rebuild.folder / "output").write_text(output, encoding="utf-8")
        self._java.write_text(
            f'#!/bin/sh\ncd {self.seen}; echo "$@" > arguments; env > environment\n'
            f'cp "$NEO4J_CONF/neo4j.conf" .; cat {rebuild.folder}/output\n{end}\n',
            encoding="utf-8",
        )
        self._java.chmod(0o700)
        rebuild.load(["--nodes=x"])


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """The replacement of the import tool in an empty home folder."""
    return Tool(tmp_path, monkeypatch)


def test_the_progress_of_an_offline_import_is_reported_for_each_step(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step of the import has its own progress from 0 to 100 %.

    The import tool gets the new data directory but no password.
    """
    monkeypatch.setenv("STARCAST_NEO4J_PASSWORD", "geheim")
    tool.server.data.mkdir()
    reporter = Recorder()
    tool.run(SUCCESS, "exit 0", reporter)
    assert reporter.tasks == [
        RecordedTask("import 1/4: node import", 100, "%", done=100),
        RecordedTask("import 2/4: relationship import", 100, "%", done=100),
    ]
    assert tool.log.read_text(encoding="utf-8") == SUCCESS
    assert not tool.server.staging.exists()
    seen = {path.name: path.read_text(encoding="utf-8") for path in tool.seen.iterdir()}
    assert seen["arguments"].split()[-1] == "--nodes=x"
    assert tool.server.import_marker in seen["arguments"].split()
    assert "STARCAST_NEO4J_PASSWORD" not in seen["environment"]
    assert f"NEO4J_HOME={tool.home.neo4j}\n" in seen["environment"]
    assert "server.directories.data=data-1\n" in seen["neo4j.conf"]
    assert "server.directories.logs=staging/logs\n" in seen["neo4j.conf"]


@pytest.mark.parametrize(
    ("output", "end", "kind", "words"),
    [
        (
            BAD_ROW,
            "exit 70",
            RejectedError,
            "rejected its input: ID value is invalid .* line 100 Invalid ID value: `x`",
        ),
        (FULL, "exit 70", LimitError, "disk of .*data-1 became full"),
        (LOCKED, "exit 1", BusyError, "another Neo4j is using .*data-1"),
        (SHORT, "exit 3", LimitError, "ran out of memory \\(1g heap"),
        (OTHER_JAVA, "exit 1", UnavailableError, "does not start: Error: LinkageError"),
        (SUCCESS, "kill -9 $$", UnavailableError, "terminated by SIGKILL"),
        ("", "exit 5", UnavailableError, "failed: no output"),
        ("something odd\n", "exit 5", UnavailableError, "failed: something odd"),
    ],
)
def test_failures_of_the_neo4j_import_tool_become_starcast_errors(
    tool: Tool, output: str, end: str, kind: type[StarcastError], words: str
) -> None:
    """The message is one line and has a hint. The log has the full output."""
    with pytest.raises(kind, match=words) as caught:
        tool.run(output, end)
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert tool.log.read_text(encoding="utf-8") == output


def test_an_interrupt_stops_the_neo4j_import_tool(tool: Tool) -> None:
    """Ctrl-C ends the tool, because an incomplete import is useless."""
    reporter = Mock(Silent, task=Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        tool.run(SUCCESS, "exec sleep 600", reporter)
    # The process that prints the tool's output may still be ending.
    remaining = system.find_all(lambda process: process.cwd() == str(tool.seen))
    assert system.wait_or_kill(remaining, 20) == []


def test_an_import_that_is_still_running_is_found_only_from_its_own_home(
    tool: Tool, tmp_path: Path
) -> None:
    """`find_processes` searches for a marker that differs between homes."""
    other = Neo4j(Home(tmp_path / "other"))
    assert tool.server.import_marker != other.import_marker
    program = [sys.executable, "-c", "import time; time.sleep(600)", tool.server.import_marker]
    pid = system.start_detached(program, tmp_path, tmp_path / "log", None)
    try:
        assert [process.pid for process in tool.server.find_processes()] == [pid]
        assert other.find_processes() == []
    finally:
        system.wait_or_kill(tool.server.find_processes(), 0)


@pytest.fixture
def server(tmp_path: Path) -> Neo4j:
    """A server with one data directory, like a server after its first start."""
    server = Neo4j(Home(tmp_path))
    (server.data / "databases" / "system").mkdir(parents=True)
    return server


def test_the_first_data_directory_is_current_if_no_file_names_another(tmp_path: Path) -> None:
    """Before the first start, no directory exists. A search for directories creates none."""
    server = Neo4j(Home(tmp_path))
    assert server.data == tmp_path / "neo4j" / "data"
    assert server.stale_folders() == []
    server.delete_stale()
    assert list(tmp_path.iterdir()) == []


def test_after_activation_only_the_previous_data_directory_is_stale_and_deleted(
    server: Neo4j,
) -> None:
    """Before activation, the new data directory is stale and deleted. Other folders are kept."""
    others = [server.home.neo4j / name for name in ("conf", "database")]
    for folder in others:
        folder.mkdir()
    for turn in range(3):
        old, new = server.data, server.with_new_data()
        assert not new.data.exists()
        new.data.mkdir()
        if turn == 1:
            server.staging.mkdir()
            server.delete_stale()
            assert not new.data.exists()
            assert not server.staging.exists()
            assert server.data == old
            continue
        new.activate()
        assert server.data == new.data
        assert server.stale_folders() == [old]
        server.delete_stale()
        assert not old.exists()
    assert all(folder.is_dir() for folder in others)


@pytest.mark.parametrize("text", ["data-7", "..", "", "/etc", "data/../..", "database"])
def test_a_store_file_that_names_no_data_directory_is_an_error(server: Neo4j, text: str) -> None:
    """The error lists the existing data directories, and nothing is deleted."""
    folders = [server.data, server.home.neo4j / "data-2"]
    folders[1].mkdir()
    (server.home.neo4j / "store").write_text(text, encoding="utf-8")
    for function in (lambda: server.data, server.stale_folders, server.delete_stale):
        with pytest.raises(UnavailableError, match="data, data-2") as caught:
            function()
        assert str(server.home.neo4j / "store") in caught.value.message
    assert all(folder.is_dir() for folder in folders)


def test_no_data_directory_is_deleted_if_it_is_unknown_which_one_is_current(server: Neo4j) -> None:
    """No file names the current data directory, and the default directory `data` does not exist."""
    kept = server.data.rename(server.home.neo4j / "data-1")
    with pytest.raises(UnavailableError, match="is missing"):
        server.delete_stale()
    assert kept.is_dir()


def test_a_new_data_directory_gets_a_copy_of_the_system_database(server: Neo4j) -> None:
    """The copy includes the users and the server's id, but not the graph."""
    wanted = {"databases/system/store", "transactions/system/log", "server_id"}
    for name in (*wanted, "databases/neo4j/store"):
        (server.data / name).parent.mkdir(parents=True, exist_ok=True)
        (server.data / name).write_text(name, encoding="utf-8")
    new = server.with_new_data()
    (new.data / "databases" / "neo4j").mkdir(parents=True)  # the import creates this folder
    new.copy_system_data(server.data)
    files = [path for path in new.data.rglob("*") if path.is_file()]
    copied = {str(path.relative_to(new.data)): path.read_text(encoding="utf-8") for path in files}
    assert copied == {name: name for name in wanted}
