"""Fixtures that run starcast commands in the test's own process, and name servers for them."""

import csv
import io
import json
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import URL

from starcast.cli.app import main
from support.fix_servers import without_password


class Result(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The value of stdout parsed as JSON."""
        return json.loads(self.out)

    @property
    def rows(self) -> list[dict[str, str]]:
        """The rows of stdout parsed as CSV, each with its values by column."""
        return list(csv.DictReader(io.StringIO(self.out)))


#: The beginning of a command line that runs starcast in another process.
COMMAND = [sys.executable, "-m", "starcast.cli.app"]

#: A function that runs a command line written as in a shell; further arguments are single words.
Starcast = Callable[..., Result]


def printed(result: Result) -> Any:
    """Return the value that a successful command printed as JSON."""
    assert result.code == 0, result.err
    return result.json


def refused(result: Result, code: int, *, remarks: bool = False) -> tuple[str, str]:
    """Check a failed command; return its error and hint. ``remarks`` permits lines before them."""
    assert (result.code, result.out) == (code, ""), result
    *before, error, hint = result.err.strip().splitlines()
    assert (error[:7], hint[:6]) == ("error: ", "hint: "), result.err
    assert remarks or not before, result.err
    return error.removeprefix("error: "), hint.removeprefix("hint: ")


def name_store(patch: pytest.MonkeyPatch, url: URL) -> None:
    """Set the environment variables that name a PostgreSQL database."""
    patch.setenv("STARCAST_POSTGRES_URI", without_password(url))
    patch.setenv("STARCAST_POSTGRES_PASSWORD", str(url.password or ""))


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for the command log, so that tests do not write to the user's log."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("state")
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield folder


@pytest.fixture
def starcast(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Starcast:
    """Return a function that runs ``starcast`` and returns exit code, stdout and stderr."""

    def call(line: str, *words: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["starcast", *shlex.split(line), *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        return Result(int(end.value.code or 0), *capsys.readouterr())

    return call


@pytest.fixture
def database(clean_database: URL, monkeypatch: pytest.MonkeyPatch) -> URL:
    """Name a database with the current schema in the settings, and return its URL."""
    name_store(monkeypatch, clean_database)
    return clean_database


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run a test in its own folder, where no server can be reached."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STARCAST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STARCAST_NEO4J_URI", "bolt://127.0.0.1:1")
    monkeypatch.setenv("STARCAST_POSTGRES_URI", "postgresql://nobody@127.0.0.1:1/nothing")
