"""Commands copied from the README and the tutorial work, and print the outputs shown there."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import sessions
from sessions import PLUGINS, PYTHON, README, ROOT, TUTORIAL, YOUR_PAPER, SessionError

from starcast.embedded import stack
from starcast.support.progress import Silent

SHELL = {"PATH": "/bin:/usr/bin"}


@pytest.fixture
def work() -> Iterator[Path]:
    """Yield a new folder with a new home directory."""
    with sessions.work_folder() as folder:
        yield folder


@pytest.mark.slow
def test_commands_in_the_tutorial_give_the_outputs_and_pictures_shown(work: Path) -> None:
    page = TUTORIAL.read_text(encoding="utf-8")
    assert sessions.play_page(TUTORIAL, work) == page
    python = sessions.run_python(page, work / "tutorial")
    assert python.failed == 0
    assert python.attempted > 10
    drawn = {path.name: path.read_bytes() for path in (work / "tutorial").glob("*.svg")}
    shown = {name: (ROOT / "docs" / name).read_bytes() for name in drawn}
    assert drawn == shown
    assert all(f"]({name})" in page for name in shown)


@pytest.mark.slow
@pytest.mark.parametrize("page", [PLUGINS, YOUR_PAPER])
def test_examples_on_the_pages_on_plug_ins_print_the_outputs_shown(page: Path, work: Path) -> None:
    assert sessions.play_page(page, work) == page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_examples_on_the_python_page_print_the_outputs_shown(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARCAST_HOME", str(work / "home"))
    try:
        done = sessions.run_python(PYTHON.read_text(encoding="utf-8"), work)
    finally:
        stack.down(work / "home", Silent())
    assert done.failed == 0
    assert done.attempted > 15


@pytest.mark.slow
def test_the_readme_works_in_a_fresh_clone_and_leaves_nothing_in_it(work: Path) -> None:
    assert sessions.play_readme(work) == README.read_text(encoding="utf-8")
    clone = work / "starcast"
    files = (path.relative_to(clone) for path in clone.rglob("*") if path.is_file())
    # These folders are created by the session itself, and by Python for its caches.
    own = {".venv", ".records", "__pycache__"}
    others = [path for path in files if not own & set(path.parts)]
    assert [path for path in others if not (ROOT / path).exists()] == []


def test_a_command_must_end_with_its_announced_exit_code_and_output(work: Path) -> None:
    page = "<!-- exit code 3 -->\n```sh\necho no >&2; (exit {})\n```\n\n```text\nno\n```\n"
    assert sessions.run_page(page.format(3), work, SHELL, {}) == page.format(3)
    failing = "```sh\necho before; false\n```\n\n```sh\necho after\n```\n"
    for text, error in (
        (page.format(4), "exit code 4 instead of 3"),
        (failing, r"exit code 1 instead of 0 of:\necho before; false"),
    ):
        shutil.rmtree(work / ".records")
        with pytest.raises(SessionError, match=error):
            sessions.run_page(text, work, SHELL, {})


def test_outputs_on_a_page_are_updated_where_they_differ(work: Path) -> None:
    page = (
        "```python\n# a.py\nprint(1)\n```\n```sh\ncat a.py\n```\n```text\nold\n```\n"
        "```sh\nx=5; for i in 1 2 3; do echo $x; done\n```\n```text\n5\n...\n```\n"
        "```sh\necho $x seconds 0.3\n```\n```text\n5 seconds ...\n```\n"
    )
    updated = page.replace("old", "# a.py\nprint(1)")
    assert sessions.run_page(page, work, SHELL, {}) == updated
    with pytest.raises(SessionError, match="omitted, but not in the page"):
        sessions.run_page("```sh\ntrue\n```\n", work, {}, {"false": "it fails"})
