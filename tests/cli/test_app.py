"""The frame of the command line: help everywhere, exit codes, nothing heavy at start."""

import re
import subprocess
import sys
from pathlib import Path

import generate
import pytest

from starcast import errors


def starcast(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does."""
    return subprocess.run([sys.executable, "-m", "starcast.cli.app", *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("path", generate.command_paths(), ids=" ".join)
def test_every_command_has_a_help_text_and_options_that_say_what_they_are(path: tuple[str, ...]) -> None:
    text = generate.help_of(path)
    assert text.startswith("Usage: starcast " + " ".join(path))
    summary = text.split("\n\n")[1].strip()
    assert len(summary) > 10
    for option in re.findall(r"^  (--\S+[^\n]*(?:\n {6,}[^\n]*)*)", text, re.MULTILINE):
        assert re.search(r"\s{2,}\S|\n\s+\S", option), f"{' '.join(path)} {option} has no help"


@pytest.mark.parametrize("page", generate.PAGES)
def test_the_generated_pages_are_those_in_docs(page: str) -> None:
    assert (generate.HERE / page).read_text(encoding="utf-8") == generate.PAGES[page](), "run 'make docs'"


def test_every_group_of_errors_has_its_own_documented_exit_code() -> None:
    codes = [group.exit_code for group in errors.StarcastError.__subclasses__()]
    assert len(set(codes)) == len(codes)
    assert set(codes) < set(errors.EXIT_CODES)


def test_the_start_imports_nothing_heavy() -> None:
    script = (
        "import sys, starcast.cli.app; "
        "print(*sorted({name.partition('.')[0] for name in sys.modules} "
        "& {'numpy', 'neo4j', 'sqlalchemy', 'alembic', 'psycopg', 'pydantic', 'rich', 'jgo', 'psutil'}))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""


def test_version_is_the_package_s() -> None:
    from importlib.metadata import version

    assert starcast("--version").stdout == f"starcast {version('starcast')}\n"


def test_an_unknown_command_is_bad_input() -> None:
    result = starcast("confog")
    assert result.returncode == 2
    assert "config" in result.stderr
    assert result.stdout == ""


def test_an_error_is_a_sentence_and_a_hint_on_stderr_and_never_a_traceback(tmp_path: Path) -> None:
    result = starcast("--home", str(tmp_path / "nowhere"), "db", "current")
    assert result.returncode == 4
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert [line.partition(":")[0] for line in lines] == ["error", "hint"]
