"""Commands copied from the README and other pages work, and print the outputs shown there."""

import doctest
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import notebooks
import pytest
import sessions
from sessions import (
    MACHINES,
    PLUGINS,
    PROGRAMS,
    PYTHON,
    README,
    ROOT,
    TUTORIAL,
    YOUR_NETWORK,
    YOUR_PAPER,
    SessionError,
)

from starcast.embedded import stack
from starcast.embedded.home import Home
from starcast.embedded.neo4j import Neo4j
from starcast.support.progress import Silent
from starcast.support.settings import Settings

SHELL = {"PATH": "/bin:/usr/bin"}


@pytest.fixture
def work() -> Iterator[Path]:
    """Yield a new folder with a new home directory."""
    with sessions.work_folder() as folder:
        yield folder


@pytest.mark.slow
def test_commands_in_the_tutorial_give_the_outputs_and_drawings_shown(work: Path) -> None:
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
def test_examples_on_the_pages_about_plug_ins_print_the_outputs_shown(
    page: Path, work: Path
) -> None:
    assert sessions.play_page(page, work) == page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_examples_on_the_page_about_networks_give_the_outputs_and_the_drawing_shown(
    work: Path,
) -> None:
    text = YOUR_NETWORK.read_text(encoding="utf-8")
    assert sessions.play_page(YOUR_NETWORK, work) == text
    drawn = work / "backbone.svg"
    assert drawn.read_bytes() == (ROOT / "docs" / drawn.name).read_bytes()
    python = sessions.run_python(text, work)
    assert (python.failed, python.attempted) == (0, 9)


@pytest.mark.slow
def test_examples_on_the_page_about_machines_give_the_outputs_and_the_drawing_shown(
    work: Path,
) -> None:
    assert sessions.play_page(MACHINES, work) == MACHINES.read_text(encoding="utf-8")
    assert (work / "dgx1.svg").read_bytes() == (ROOT / "docs" / "dgx1.svg").read_bytes()


@pytest.mark.slow
def test_examples_on_the_page_about_use_by_programs_print_the_outputs_shown(work: Path) -> None:
    assert sessions.play_page(PROGRAMS, work) == PROGRAMS.read_text(encoding="utf-8")


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


@pytest.fixture(scope="module")
def reader() -> Iterator[tuple[Path, str]]:
    """Run the README's commands in a new home; yield the home, and the README with the outputs."""
    with sessions.work_folder() as folder:
        yield folder, sessions.play_readme(folder)


@pytest.mark.slow
def test_the_readme_works_in_a_fresh_clone_and_leaves_no_new_files(
    reader: tuple[Path, str],
) -> None:
    home, page = reader
    assert page == README.read_text(encoding="utf-8")
    clone = home / "starcast"
    files = (path.relative_to(clone) for path in clone.rglob("*") if path.is_file())
    # These folders are created by the session itself, and by Python for its caches.
    own = {".venv", ".records", "__pycache__"}
    others = [path for path in files if not own & set(path.parts)]
    assert [path for path in others if not (ROOT / path).exists()] == []


@pytest.mark.slow
def test_the_documented_disk_sizes_agree_with_those_of_the_demo(reader: tuple[Path, str]) -> None:
    """The Python environment and the downloaded Neo4j jars have the stated sizes within 15 %."""
    home, _ = reader
    jars = Neo4j(Home(home)).jars(Settings.load()).folder / "jars"
    page = (ROOT / "docs" / "operation.md").read_text(encoding="utf-8")
    (environment,) = re.findall(r"^\| the Python environment .* (\d+) MB \|$", page, re.MULTILINE)
    (download,) = re.findall(r"(\d+) MB of Neo4j jars", README.read_text(encoding="utf-8"))
    for folder, megabytes in ((home / "starcast" / ".venv", environment), (jars, download)):
        files = (path for path in folder.rglob("*") if not path.is_symlink())
        found = sum(path.stat().st_size for path in files) / 1e6
        assert found == pytest.approx(int(megabytes), rel=0.15), folder


@pytest.mark.slow
def test_pages_and_notebooks_can_be_run_one_after_another_in_one_home(
    reader: tuple[Path, str],
) -> None:
    """The tutorial, the pages on plug-ins and Python, and the notebooks run after the README.

    Their commands use the environment of `make demo`.

    Outputs are not compared, because they include data that other pages have stored.
    """
    home, _ = reader
    environment = sessions.reader_environment(home)
    demo = home / "starcast" / ".venv"
    starcast = str(demo / "bin" / "starcast")
    with sessions.stopped_servers([starcast], environment):
        subprocess.run([starcast, "up"], env=environment, check=True, capture_output=True)
        for page in (TUTORIAL, PLUGINS):
            folder = home / page.stem
            folder.mkdir()
            (folder / ".venv").symlink_to(demo)
            sessions.run_page(page.read_text(encoding="utf-8"), folder, environment, {})
        examples = doctest.DocTestParser().get_examples(PYTHON.read_text(encoding="utf-8"))
        program = "".join(example.source for example in examples if not example.exc_msg)
        subprocess.run([sys.executable, "-c", program], cwd=home, env=environment, check=True)
        for path in notebooks.paths():
            notebooks.execute(path, environment)


def test_running_a_page_fails_if_a_command_has_an_unexpected_exit_code(work: Path) -> None:
    page = "<!-- exit code 3 -->\n```sh\necho no >&2; (exit {})\n```\n\n```text\nno\n```\n"
    assert sessions.run_page(page.format(3), work, SHELL, {}) == page.format(3)
    failing = "```sh\necho before; false\n```\n\n```sh\necho after\n```\n"
    for text, error in (
        (page.format(4), "exit code is 4 instead of 3"),
        (failing, r"exit code is 1 instead of 0 after these commands:\necho before; false"),
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
    with pytest.raises(SessionError, match="does not contain the commands that are to be omitted"):
        sessions.run_page("```sh\ntrue\n```\n", work, {}, {"false": "it fails"})
