"""Listings, progress bars, progress lines, and Ctrl-C during work in a thread."""

import gc
import re
import signal
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from queue import Queue

import pytest

from starcast import forest, network, schedule
from starcast.cli import results
from starcast.cli.output import PAGE, emit, narrowed, reporter
from starcast.comparison.listing import RunList
from starcast.lab.signature import check_suffix
from starcast.support.axes import POINT_AXES
from starcast.support.progress import ProgressLines, close_all, reporting, run_in_thread
from starcast.support.vocabulary import Format
from starcast.topologies.flows import own_network
from support.latex_tables import read_table
from support.recorder import Recorder

NAME = "S5:broadcast:multiple:one:segments=1:12345"
ID = "S5:broadcast:edge-disjoint:all:copies=2,messages=12:12345"
Terminal = Callable[[int], None]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return a function that makes stdout a terminal of the given width."""

    def set_width(width: int) -> None:
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", str(width))

    return set_width


@pytest.mark.parametrize("output", list(Format))
def test_printed_ids_are_not_interpreted_as_markup(
    output: Format, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rich would interpret `:one:` as an emoji and `[4]` as a style."""
    emit([{"name": f"{NAME} [4]"}], ["name"], output)
    printed = capsys.readouterr().out
    if output in (Format.LATEX, Format.LATEX_WIDE):
        assert read_table(printed).rows == [[f"{NAME} [4]"]]
    else:
        assert f"{NAME} [4]" in printed


def test_optional_columns_are_removed_until_a_table_fits() -> None:
    """In files, the limit is the page width. Mandatory columns are kept even if they exceed it."""
    row = {"a": "x" * 60, "b": "x" * 30, "c": "x" * 30, "d": "x" * 30}
    assert narrowed([row], ["a", "b"], ["b", "a"]) == ["a", "b"]
    assert narrowed([row], list("abcd"), ["c", "b", "d"]) == ["a", "d"]
    assert narrowed([row], list("abcd"), ["d", "c", "b"]) == ["a", "b"]
    assert narrowed([row], list("abcd"), ["e", "c", "d"]) == ["a", "b"]
    assert narrowed([{"a": "x" * PAGE, "b": 1}], ["a", "b"], ["b"]) == ["a"]
    assert narrowed([], list("abcd"), ["a"]) == list("abcd")


@pytest.mark.parametrize("room", [40, 100, 200])
def test_cells_of_a_table_that_fits_are_not_wrapped(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], room: int
) -> None:
    terminal(room)
    row = {str(number) * 9: str(number) * 11 for number in range(9)}
    shown = narrowed([row], list(row), list(row)[1:])
    emit([row], shown)
    printed = capsys.readouterr().out
    assert len(shown) == min(9, room // (11 + 3))
    assert all(row[name] in printed for name in shown)


def test_progress_bars_do_not_interpret_ids_as_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with reporter().task(NAME, 1, "rows") as task:
        task.advance()
    assert NAME in capsys.readouterr().err


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_no_word_is_divided_on_narrow_and_wide_terminals(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    """Neither tables nor lists of records break ids, so that users can copy the ids."""
    terminal(width)
    meaning = "a sentence of several words that a narrow column has to wrap"
    emit([{"id": ID, "meaning": meaning, "steps": 1_234_567}] * 2, ["id", "meaning", "steps"])
    printed = capsys.readouterr().out
    assert printed.count(ID) == 2
    assert printed.count("1234567") == 2
    assert all(printed.count(word) >= 2 for word in meaning.split())
    if width >= 80:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", printed)
        assert max(map(len, plain.splitlines())) <= width


def test_rows_that_do_not_fit_into_a_table_are_printed_as_records(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal(40)
    emit([{"id": ID, "steps": 3}, {"id": NAME}], ["id", "steps"], title="Two", below=["below"])
    assert capsys.readouterr().out == (
        f"Two\n\nid     {ID}\nsteps  3\n\nid     {NAME}\nsteps\n\nbelow\n"
    )


def test_a_column_with_a_blank_name_and_empty_cells_is_printed(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    """The columns of a Cypher statement can have any name."""
    terminal(80)
    emit([{" ": None, "steps": 3}], [" ", "steps"])
    assert "steps" in capsys.readouterr().out


def test_mandatory_columns_of_a_table_in_a_file_may_have_any_width(
    capsys: pytest.CaptureFixture[str],
) -> None:
    long = "x" * 1_500
    emit([{"a": long, "b": "two words"}], ["a", "b"])
    assert f"{long}   two words" in capsys.readouterr().out


def test_control_characters_of_stored_texts_are_escaped_when_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    emit([{"error": "\x1b[31mred\nline"}], ["error"])
    printed = capsys.readouterr().out
    assert "\\x1b[31mred\\nline" in printed
    assert "\x1b" not in printed


@pytest.mark.parametrize("name", ["tree.svg", "tree.SVG", "tree", "a.b/tree"])
def test_a_file_name_with_the_suffix_of_its_format_or_no_suffix_is_accepted(name: str) -> None:
    check_suffix(Path(name), ".svg")


def test_long_work_prints_a_progress_line_every_few_seconds() -> None:
    """Lines are also printed if the work advances slowly or reports only its current activity."""
    lines: Queue[str] = Queue()

    def read_until(pattern: str) -> None:
        while not re.fullmatch(pattern, lines.get(timeout=60)):
            pass

    progress = ProgressLines(lines.put, interval=0.05)
    progress.say("creating indexes")
    assert lines.get(timeout=60) == "creating indexes"
    read_until(r"still working, \d+ s after: creating indexes")
    with progress.task("writing", 1_000, "rows") as task:
        task.advance(250)
        read_until(r"writing: 250 of 1,000 rows, [\d,]+ per second, about \d+ s left")
    with progress.task("download", 8_000_000, "bytes") as task:
        task.advance(2_000_000)
        read_until(r"download: 2 of 8 MB, about \d+ s left")


def test_short_and_ended_tasks_print_no_progress_and_unused_reporters_are_freed() -> None:
    """A task that continues after its command prints nothing, even if its reporter still exists."""
    lines: list[str] = []
    progress = ProgressLines(lines.append, interval=0.5)
    with progress.task("writing", 10, "rows") as task:
        task.advance(10)
    reference = weakref.ref(progress)
    del progress
    gc.collect()
    assert reference() is None
    with ProgressLines(lines.append, interval=0.5).task("writing", 10, "rows"):
        close_all()
        time.sleep(0.6)
    assert lines == []


@pytest.mark.parametrize("late", [0, 60])
def test_only_long_computations_report_progress(late: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starcast.support.progress.LATE", late)
    recorder = Recorder()
    path = network([(0, 1), (1, 2), (2, 3)], name="path", capacities=[1, 2, 1])
    with reporting(recorder):
        own_network(path).find_bottleneck_of_all()
        own_network(path).find_least_cut()
        forest("S4", "arc-disjoint")
        schedule("S4", "alltoall", "greedy")
    own_network(path).find_bottleneck_of_all()
    done = {each.text: (each.done, each.total) for each in recorder.tasks}
    wanted = {
        "finding the bottleneck cut": (3, 3),
        "finding the least cut": (4, 4),
        "growing arc-disjoint trees": (3 * 24, 3 * 24),
        "building the greedy schedule": (24 * 62, 24 * 62),
    }
    assert done == ({} if late else wanted)


def test_ctrl_c_ends_the_wait_for_a_thread() -> None:
    """The thread itself continues, for example in a library that solves a linear program."""
    assert run_in_thread(lambda: 42) == 42
    with pytest.raises(ZeroDivisionError):
        run_in_thread(lambda: 1 // 0)
    solved = threading.Event()
    threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        run_in_thread(solved.wait)
    solved.set()


def test_a_task_within_a_task_has_no_progress_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    terminal = reporter()
    for _ in range(2):
        with terminal.task("outer", 2, "runs") as outer, terminal.task("inner", 3, "rows") as inner:
            inner.advance(3)
            outer.advance(2)
    shown = capsys.readouterr().err
    assert "outer" in shown
    assert "inner" not in shown


@pytest.mark.parametrize("axis", ["message_bytes", "segments", "t_s", "seed"])
def test_a_narrow_table_of_runs_keeps_the_parameter_in_which_the_runs_differ(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], axis: str
) -> None:
    terminal(60)
    point = dict.fromkeys(POINT_AXES, 1) | {"topology": "S5", "algorithm": "multiple", "faults": []}
    rows = [
        {"run": run, **point, axis: 65_536 * run, "agrees": True, "profile": "3, not 4 in step 12"}
        for run in (1, 2)
    ]
    results.wide_table()(RunList.of(rows, rows[0], spare=POINT_AXES))
    printed = capsys.readouterr().out
    assert all(text in printed for text in (axis, "65536", "131072"))
    assert printed.count("3, not 4") == 2
