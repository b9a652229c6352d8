"""The offline import, tested with a script that prints recorded output of neo4j-admin."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

from starcast.embedded import offline_import, packages, processes
from starcast.embedded.home import Home
from starcast.embedded.neo4j import Neo4j
from starcast.support.errors import (
    BusyError,
    LimitError,
    RejectedError,
    StarcastError,
    UnavailableError,
)
from starcast.support.progress import Silent, Task
from starcast.support.settings import Settings

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


class Watching(Silent):
    """A progress reporter that records the progress of each task."""

    def __init__(self) -> None:
        self.tasks: list[list[object]] = []

    @contextmanager
    def task(self, text: str, total: int, unit: str = "") -> Iterator[Task]:
        """Record the progress."""
        entry: list[object] = [text, total, unit, 0]
        self.tasks.append(entry)

        class Counting:
            def advance(self, amount: int = 1) -> None:
                entry[3] = int(str(entry[3])) + amount

        yield Counting()


class Tool:
    """A home folder in which a shell script replaces Java."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        home = Home(folder / "home")
        home.create()
        self.server = Neo4j(home, home.neo4j / "data-1")
        self.java = folder / "java"
        self.folder = home.neo4j / "staging" / "files"
        self.folder.mkdir(parents=True)
        self.log = home.logs / "neo4j-import.log"
        monkeypatch.setattr(packages, "load", lambda _: SimpleNamespace(JAVA=self.java))

    def run(self, output: str, end: str, reporter: Silent) -> None:
        """Run an import whose tool prints a text and then runs a shell command."""
        (self.folder / "output").write_text(output, encoding="utf-8")
        self.java.write_text(
            f'#!/bin/sh\necho "$@" > arguments\nenv > environment\ncat output\n{end}\n',
            encoding="utf-8",
        )
        self.java.chmod(0o700)
        offline_import.run_import(
            self.server, Settings.load(), ["--nodes=x"], self.folder, self.folder.parent, reporter
        )


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """The replacement of the import tool in an empty home folder."""
    return Tool(tmp_path, monkeypatch)


def test_progress_is_reported_step_by_step(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step of the import has its own progress from 0 to 100 %.

    The import tool gets the new data directory but no password.
    """
    monkeypatch.setenv("STARCAST_NEO4J_PASSWORD", "geheim")
    reporter = Watching()
    tool.run(SUCCESS, "exit 0", reporter)
    assert reporter.tasks == [
        ["import 1/4: node import", 100, "%", 100],
        ["import 2/4: relationship import", 100, "%", 100],
    ]
    assert tool.log.read_text(encoding="utf-8") == SUCCESS
    words = (tool.folder / "arguments").read_text(encoding="utf-8").split()
    assert words[-1] == "--nodes=x"
    assert tool.server.import_marker in words
    environment = dict(
        line.split("=", 1)
        for line in (tool.folder / "environment").read_text(encoding="utf-8").splitlines()
    )
    assert "STARCAST_NEO4J_PASSWORD" not in environment
    assert environment["NEO4J_HOME"] == str(tool.server.home.neo4j)
    configuration = (Path(environment["NEO4J_CONF"]) / "neo4j.conf").read_text(encoding="utf-8")
    assert "server.directories.data=data-1\n" in configuration
    assert "server.directories.logs=staging/logs\n" in configuration


@pytest.mark.parametrize(
    ("output", "end", "kind", "words"),
    [
        (
            BAD_ROW,
            "exit 70",
            RejectedError,
            "refuses its input: ID value is invalid .* line 100 Invalid ID value: `x`",
        ),
        (FULL, "exit 70", LimitError, "disk of .*data-1 became full"),
        (LOCKED, "exit 1", BusyError, "another Neo4j is using .*data-1"),
        (SHORT, "exit 3", LimitError, "ran out of memory \\(1g heap"),
        (OTHER_JAVA, "exit 1", UnavailableError, "does not start: Error: LinkageError"),
        (SUCCESS, "kill -9 $$", UnavailableError, "ended by SIGKILL"),
        ("", "exit 5", UnavailableError, "failed: no output"),
        ("something odd\n", "exit 5", UnavailableError, "failed: something odd"),
    ],
)
def test_failures_of_the_import_tool_become_starcast_errors(
    tool: Tool, output: str, end: str, kind: type[StarcastError], words: str
) -> None:
    """The message is one line and has a hint. The log has the full output."""
    with pytest.raises(kind, match=words) as caught:
        tool.run(output, end, Silent())
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert tool.log.read_text(encoding="utf-8") == output


def test_an_interrupt_stops_the_import_tool(tool: Tool) -> None:
    """Ctrl-C ends the tool, because an incomplete import is useless."""

    class Impatient(Silent):
        def task(self, text: str, total: int, unit: str = "") -> NoReturn:
            """Raise the error that Ctrl-C raises."""
            del text, total, unit
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tool.run(SUCCESS, "exec sleep 600", Impatient())
    # The process that prints the tool's output may still be ending.
    remaining = processes.find_all(lambda process: process.cwd() == str(tool.folder))
    assert processes.wait_or_kill(remaining, 20) == []


def test_an_import_that_is_still_running_is_found_only_from_its_own_home(
    tool: Tool, tmp_path: Path
) -> None:
    """`find_processes` searches for a marker that differs between homes."""
    other = Neo4j(Home(tmp_path / "other"))
    assert tool.server.import_marker != other.import_marker
    program = [sys.executable, "-c", "import time; time.sleep(600)", tool.server.import_marker]
    pid = processes.start_detached(program, tmp_path, tmp_path / "log", processes.User())
    try:
        assert [process.pid for process in tool.server.find_processes()] == [pid]
        assert other.find_processes() == []
    finally:
        processes.wait_or_kill(tool.server.find_processes(), 0)
