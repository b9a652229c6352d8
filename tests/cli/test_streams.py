"""Commands with closed, full or broken streams; text that misleads or cannot be encoded."""

import fcntl
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest

from starcast.cli.output import confirm, emit, say, warn
from starcast.support.atomic import atomic_write
from starcast.support.html import inline_html, render_page
from starcast.support.latex import escape_latex
from starcast.support.table import Table
from starcast.support.vocabulary import Format
from support.fix_cli import COMMAND, Starcast

FULL = (
    "error: the output cannot be written: No space left on device\n"
    "hint: free some space, or write elsewhere\n"
)
NOT_OPEN = (
    "error: the output cannot be used: Bad file descriptor\n"
    "hint: check the path, its permissions and its disk\n"
)
#: Command, redirections, exit code, and the beginning of stderr.
ENDINGS = [
    ("topology show S3", ">&-", 0, ""),
    ("topology show S99", "2>&-", 2, ""),
    ("query list", "2>&-", 0, ""),
    ("query list", "2>/dev/full", 0, ""),
    ("topology show S99", "2>/dev/full", 2, ""),
    ("topology show", "2>/dev/full", 2, ""),
    ("nonsense", "2>&-", 2, ""),
    ("topology show S3", "<&-", 0, ""),
    ("topology show S3", "<&- >&- 2>&-", 0, ""),
    ("--help", ">&-", 0, ""),
    ("--version", ">&- 2>&-", 0, ""),
    ("query --help", ">/dev/full", 7, FULL),
    ("topology show S3 -f json", ">/dev/full", 7, FULL),
    ("topology show S3", ">/dev/full 2>/dev/full", 7, ""),
    ("topology show S3 -f csv", "1</dev/null", 2, NOT_OPEN),
    ("topology show S99", ">/dev/full", 2, "error: "),
    ("topology show S3", "> >(exec true)", 141, ""),
    ("topology show S3", "> >(exec true) 2>&1", 141, ""),
    ("--help", "> >(exec true)", 141, ""),
    ("forest drop S4:greedy:1234", "<&-", 4, "error: "),
    ("completion", "2>&-", 2, ""),
]


@pytest.mark.parametrize(("words", "redirections", "code", "err"), ENDINGS)
def test_a_command_has_the_documented_exit_code_with_unusable_standard_streams(
    words: str, redirections: str, code: int, err: str, tmp_path: Path
) -> None:
    # The delay lets the reader of the pipe end before the command starts.
    script = f'(sleep 0.3; exec "$@") {redirections}'
    done = subprocess.run(
        ["bash", "-c", script, "bash", *COMMAND, "--home", str(tmp_path), *words.split()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done
    assert done.stderr.startswith(err)
    assert err or not done.stderr


#: For each environment: the encoding of stdout, and the line below the header of a table.
ENCODINGS = {
    "PYTHONIOENCODING=ascii": ("ascii", " ------------"),
    "PYTHONIOENCODING=latin-1:strict": ("latin-1", " ------------"),
    "LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0": ("ascii", " ------------"),
    "PYTHONIOENCODING=cp437": ("cp437", " ────────────"),
    "PYTHONIOENCODING=utf-16": ("utf-16-le", " ────────────"),
}


@pytest.mark.parametrize("variables", ENCODINGS)
def test_a_table_is_printed_in_the_encoding_that_the_environment_sets(variables: str) -> None:
    encoding, rule = ENCODINGS[variables]
    environment = dict(each.split("=", 1) for each in variables.split())
    inherited = {name: value for name, value in os.environ.items() if "LC_" not in name}
    done = subprocess.run(
        [*COMMAND, "topology", "show", "S3"],
        capture_output=True,
        env={**inherited, **environment},
        check=True,
    )
    lines = done.stdout.decode(encoding).removeprefix("\ufeff").splitlines()
    assert lines[2].startswith(rule)
    assert lines[3].split() == ["spec", "S3"]


def test_characters_that_an_encoding_lacks_become_ascii_or_json_escapes() -> None:
    shown = "a─b ≈ é 日 \U0001f600".encode("ascii", "starcast")
    assert shown == rb"a-b ~ \u00e9 \u65e5 \ud83d\ude00"
    assert json.loads(f'"{shown.decode()}"') == "a-b ~ é 日 \U0001f600"
    assert "é ─".encode("latin-1", "starcast") == b"\xe9 -"


def test_a_table_stays_aligned_when_characters_are_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, "ascii", "starcast"))
    emit([{"a": "é", "b": 1}, {"a": "x", "b": 2}], ["a", "b"])
    sys.stdout.flush()
    lines = printed.getvalue().decode().splitlines()
    assert lines[3:5] == [" \\u00e9   1 ", " x        2 "]


def test_output_to_a_non_blocking_pipe_is_complete() -> None:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writer, False)
    with subprocess.Popen(
        [*COMMAND, "query", "list", "-f", "json"], stdout=writer, stderr=subprocess.PIPE
    ) as process:
        os.close(writer)
        with os.fdopen(reader, "rb") as file:
            text = file.read()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 0
    assert len(json.loads(text)) > 20
    assert len(text) > 8192


def test_completion_on_a_full_disk_is_silent() -> None:
    variables = {
        "_STARCAST_COMPLETE": "complete_bash",
        "COMP_WORDS": "starcast\nto",
        "COMP_CWORD": "1",
    }
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            COMMAND,
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, **variables},
            check=False,
        )
    assert done.stderr == b""


def test_the_package_can_be_run_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "starcast", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("starcast ")


@pytest.mark.parametrize("answer", ["", "\x04"])
def test_end_of_file_at_a_confirmation_prompt_acts_like_ctrl_c(
    answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = io.StringIO(answer.strip("\x04"))
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    with pytest.raises(KeyboardInterrupt):
        confirm("Delete?", "nothing was deleted")


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (EOFError(), 2), (BrokenPipeError(32, "x"), 4)]
)
def test_exceptions_that_click_maps_to_exit_code_1_get_a_documented_exit_code(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("starcast.support.settings.Settings.load", fail)
    assert starcast("config").code == code


def test_writing_an_output_file_does_not_replace_a_pipe(tmp_path: Path) -> None:
    """Otherwise, root could replace /dev/null or /dev/stdout by a regular file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    received: list[bytes] = []
    reader = Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    with atomic_write(link) as file:
        file.write(b"content")
    reader.join()
    assert received == [b"content"]
    assert pipe.is_fifo()
    assert link.is_symlink()


def test_text_written_to_dev_stdout_appears_in_order_with_other_output(tmp_path: Path) -> None:
    script = (
        "import os\nfrom starcast.support.atomic import atomic_write\nos.write(1, b'a\\n')\n"
        "with atomic_write('/dev/stdout') as file:\n    file.write(b'b\\n')\nos.write(1, b'c\\n')"
    )
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", script], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "a\nb\nc\n"
    assert Path("/dev/stdout").is_symlink()


#: A right-to-left override, an isolate, a zero-width space, and terminal control codes.
MISLEADING = "a\u202eb\u2067c\u200bd\x1b[31me\x9bf"
SHOWN = r"a\u202eb\u2067c\u200bd\x1b[31me\x9bf"


@pytest.mark.parametrize("form", [Format.TABLE, Format.MARKDOWN])
def test_a_table_shows_escapes_for_misleading_characters(
    form: Format, capsys: pytest.CaptureFixture[str]
) -> None:
    emit([{"name": MISLEADING}], ["name"], form, below=[MISLEADING], title=MISLEADING)
    printed = capsys.readouterr().out
    assert SHOWN in printed
    assert printed.replace("\n", "").isprintable()


def test_json_has_escapes_for_misleading_characters(capsys: pytest.CaptureFixture[str]) -> None:
    emit([{"name": f"{MISLEADING}é\xad"}], ["name"], Format.JSON)
    printed = capsys.readouterr().out
    assert r'"a\u202eb\u2067c\u200bd\u001b[31me\u009bfé\u00ad"' in printed
    assert json.loads(printed) == [{"name": f"{MISLEADING}é\xad"}]


def test_csv_has_escapes_only_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    emit([{"name": MISLEADING}], ["name"], Format.CSV)
    assert capsys.readouterr().out == f"name\n{MISLEADING}\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    emit([{"name": MISLEADING}], ["name"], Format.CSV)
    assert capsys.readouterr().out == f"name\n{SHOWN}\n"


@pytest.mark.parametrize("show", [say, warn])
def test_messages_have_escapes_for_misleading_characters(
    show: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    show(MISLEADING)
    assert SHOWN in capsys.readouterr().err


def test_pages_and_latex_have_escapes_for_misleading_characters() -> None:
    problem = SimpleNamespace(title="b\u202ea", detail="d\x9be", hint="f\ng")
    page = render_page("problem.html.j2", problem=problem, links={}, examples=())
    assert r"b\u202ea" in page
    assert r"<strong>d\x9be</strong><br>f" in page
    assert "f\ng</p>" in page
    assert inline_html("b\u202e`a`") == r"b\u202e<code>a</code>"
    assert r"b\u202ea" in Table(("name",), [{"name": "b\u202ea"}]).html()
    assert escape_latex("b\u202ea") == r"b\textbackslash{}u202ea"
    assert escape_latex("b\xa0a") == "b~a"


def test_letters_of_right_to_left_scripts_are_unchanged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    emit([{"name": "שלום"}], ["name"])
    assert "שלום" in capsys.readouterr().out


def test_text_printed_by_a_plug_in_goes_to_stderr(tmp_path: Path) -> None:
    file = tmp_path / "prints.py"
    file.write_text(
        "import starcast\nprint('one')\n@starcast.construction('f', source='this test')\n"
        "def f(topology, root):\n    print('two')\n    return starcast.forest(topology, 'greedy')\n"
    )
    words = ["--plugin", str(file), "forest", "show", "S4", "f", "-f", "json"]
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["heights"] == [4]
    assert {"one", "two"} <= set(done.stderr.split())
