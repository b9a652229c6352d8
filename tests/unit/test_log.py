"""The log file of starcast: its JSON lines, its rotation, concurrent writers, and no secrets."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from operator import neg
from pathlib import Path
from typing import Any

import pytest

from starcast.support import log
from starcast.support.parallel import Workload, local_processes, run_parallel


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """The path of the log file after logging has started, in a folder that did not exist before."""
    file = tmp_path / "state" / "starcast.log"
    assert log.start(log.Target(file, "debug")) is None
    yield file
    log.stop()


def entries(file: Path) -> list[dict[str, Any]]:
    """Return the parsed entries of a log file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_logged_event_is_a_json_object_on_one_line(file: Path) -> None:
    log.event("two\nlines", number=1, flag=True, nothing=None, path=file, words=["a", "b"])
    (entry,) = entries(file)
    assert entry.pop("time").endswith("+00:00")
    assert entry.pop("pid") > 0
    assert entry == {
        "level": "info",
        "event": "two\nlines",
        "number": 1,
        "flag": True,
        "nothing": None,
        "path": str(file),
        "words": ["a", "b"],
    }


def test_only_the_owner_of_the_log_can_read_it(file: Path) -> None:
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_the_entry_for_an_unexpected_error_has_a_traceback(file: Path) -> None:
    try:
        _ = 1 // 0
    except ZeroDivisionError as error:
        log.error_event("internal error", error)
    assert "ZeroDivisionError" in entries(file)[0]["traceback"]


@pytest.mark.parametrize(
    "text",
    [
        "bolt://neo4j:topsecret@localhost:7687",
        "postgresql://me:top@topsecret@host/db?sslmode=off",
        "postgresql://me@host/db?password=topsecret&x=1",
        "host=h PASSWORD=topsecret user=u",
    ],
)
def test_passwords_are_not_logged(file: Path, text: str) -> None:
    log.event("command started", arguments=[text], sentence=f"it is '{text}'")
    assert "topsecret" not in file.read_text()
    assert "***" in file.read_text()


def test_long_texts_are_shortened_in_the_log(file: Path) -> None:
    log.event("long", text="x" * 100_000)
    assert len(file.read_text()) < 5_000


def test_only_events_of_the_chosen_level_or_above_are_logged(tmp_path: Path) -> None:
    file = tmp_path / "starcast.log"
    log.start(log.Target(file, "warning"))
    log.event("not written")
    log.event("written", logging.WARNING)
    log.start(log.Target(file, "off"))
    log.event("off", logging.ERROR)
    assert [entry["event"] for entry in entries(file)] == ["written"]


def test_a_log_file_hides_no_events_from_the_calling_program(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The program's own handlers receive events below the level of the file."""
    with caplog.at_level(logging.DEBUG):
        log.start(log.Target(tmp_path / "starcast.log", "warning"))
        log.event("detail", logging.DEBUG)
        log.stop()
    assert caplog.messages == ["detail"]
    assert not (tmp_path / "starcast.log").read_text()


def test_starting_a_log_that_cannot_be_written_returns_the_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert log.start(log.Target(tmp_path / "file" / "starcast.log", "info")) is not None
    log.event("nowhere")


def test_deleting_the_log_file_causes_no_error(file: Path) -> None:
    log.event("first")
    file.unlink()
    file.parent.rmdir()
    log.event("lost")
    assert not file.exists()


def test_a_large_log_is_rotated_when_logging_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "ROTATED_BYTES", 100)
    file = tmp_path / "starcast.log"
    for number in range(8):
        log.start(log.Target(file, "info"))
        log.event("event", number=number, text="x" * 100)
    log.stop()
    kept = [file, *(tmp_path / f"starcast.log.{number}" for number in range(1, 5))]
    assert sorted(tmp_path.iterdir()) == sorted(kept)
    assert [entries(each)[0]["number"] for each in kept] == [7, 6, 5, 4, 3]


WRITER = """
import sys
from pathlib import Path
from starcast.support import log
log.ROTATED_BYTES = 80_000
for number in range(40):
    log.start(log.Target(Path(sys.argv[1]), "info"))
    for line in range(10):
        log.event("event", writer=sys.argv[2], number=number * 10 + line, text="x" * 50)
"""


def test_processes_that_write_at_the_same_time_neither_lose_nor_mix_lines(tmp_path: Path) -> None:
    """Four processes write and rotate a file. Current and rotated files contain all entries."""
    file = tmp_path / "starcast.log"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(file), str(writer)])
        for writer in range(4)
    ]
    assert [writer.wait() for writer in writers] == [0] * 4
    written = [entry for each in tmp_path.iterdir() for entry in entries(each)]
    assert len(list(tmp_path.iterdir())) > 1
    assert sorted((entry["writer"], entry["number"]) for entry in written) == sorted(
        (str(writer), number) for writer in range(4) for number in range(400)
    )


def test_worker_processes_log_to_the_same_file(file: Path) -> None:
    workload: Workload[int, int] = Workload(
        neg, lambda _: 1, lambda: 10**9, lambda _item, _free: None
    )
    with local_processes(2) as executor, run_parallel([1, 2, 3], workload, executor) as results:
        assert sorted(results) == [(1, -1), (2, -2), (3, -3)]
    items = [entry for entry in entries(file) if entry["event"] == "worker item"]
    assert sorted(entry["item"] for entry in items) == [1, 2, 3]
    assert {entry["parent"] for entry in items} == {os.getpid()}
    assert os.getpid() not in {entry["pid"] for entry in items}
