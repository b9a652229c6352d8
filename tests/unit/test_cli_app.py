"""The command `starcast` itself: help texts, exit codes, errors and imports at startup."""

import re
import subprocess
from importlib.metadata import version
from pathlib import Path
from unittest.mock import Mock

import generate
import pytest

from support.fix_cli import COMMAND, Starcast, refused
from support.workers import run_program


@pytest.mark.parametrize("path", generate.command_paths(), ids=" ".join)
def test_every_command_and_option_has_a_help_text(path: tuple[str, ...]) -> None:
    text = generate.help_of(path)
    assert text.startswith("Usage: starcast " + " ".join(path))
    summary = text.split("\n\n")[1].strip()
    assert len(summary) > 10
    options = text.partition("\nOptions:\n")[2]
    assert options
    for option in re.findall(r"^  (--\S+[^\n]*(?:\n {6,}[^\n]*)*)", options, re.MULTILINE):
        assert re.search(r"\s{2,}\S|\n\s+\S", option), f"{' '.join(path)} {option} has no help"


#: Pages that take more than two seconds to generate.
SLOW_PAGES = {"commands.md", "machines.md", "records.md"}


#: Pages that other tests check. The page of claims is checked in tests/claims, where the verdicts
#: are computed anyway. The tables of the others are checked by test_execution_axis.py,
#: test_allreduce_page.py, test_published_page.py and test_networks_compared.py in tests/unit.
COMPARED_ELSEWHERE = {
    "claims.md", "execution-models.md", "allreduce.md", "published-schedules.md",
    "networks-compared.md",
}  # fmt: skip


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page in SLOW_PAGES else ())
        for page in sorted(generate.PAGES.keys() - COMPARED_ELSEWHERE)
    ],
)
def test_generated_pages_are_up_to_date(page: str) -> None:
    assert (generate.HERE / page).read_text(encoding="utf-8") == generate.PAGES[page](), (
        "run 'make docs'"
    )


#: For each command line, the packages that the command must not import.
UNUSED = {
    "--version": "numpy neo4j sqlalchemy alembic psycopg pydantic rich jgo psutil",
    "topology show S4": "sqlalchemy neo4j rich numba networkx starcast.trees",
    "topology export S4 --to metis": "networkx igraph scipy",
    "forest list": "numpy neo4j alembic rich starcast.trees starcast.embedded.stack",
    "forest verify S4 greedy": "neo4j sqlalchemy psycopg networkx igraph scipy",
    "query run tree-path": "sqlalchemy alembic rich starcast.trees starcast.embedded.stack",
    "compare a b": (
        "neo4j alembic rich matplotlib starcast.judges.simulator starcast.embedded.stack "
        "fastapi uvicorn"
    ),
    "compare --help": "matplotlib jinja2 numpy sqlalchemy",
    "claims check --help": "numpy sqlalchemy jinja2 mpmath",
}


@pytest.mark.whole
@pytest.mark.parametrize(("words", "unused"), UNUSED.items())
def test_a_command_does_not_import_packages_that_it_does_not_need(
    words: str, unused: str, tmp_path: Path
) -> None:
    """Some commands fail because no server is running. Only their imports are checked."""
    script = (
        "import sys\nfrom starcast.cli.app import main\n"
        f"sys.argv = ['starcast', '--home', {str(tmp_path)!r}, *{words.split()!r}]\n"
        "try:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    )
    done = run_program(script, check=False)
    modules = set(done.stderr.splitlines()[-1].split())
    assert "starcast.cli.results" in modules
    assert not modules & set(unused.split())


def test_importing_starcast_stores_loads_no_neo4j_and_its_driver_loads_no_pandas() -> None:
    pytest.importorskip("pandas")
    script = (
        "import sys, starcast.stores; print('neo4j' in sys.modules); "
        "import starcast.stores.graph.connection; print('pandas' in sys.modules); "
        "import pandas; print(pandas.__name__)"
    )
    result = run_program(script)
    assert result.stdout.split() == ["False", "False", "pandas"]


def test_the_version_option_prints_the_package_version(starcast: Starcast) -> None:
    assert starcast("--version").out == f"starcast {version('starcast')}\n"


def test_a_command_group_without_a_command_prints_its_commands(starcast: Starcast) -> None:
    result = starcast("topology")
    assert result.code == 2
    assert "\n  draw " in result.out + result.err


@pytest.mark.parametrize("debug", ["", "1"])
def test_an_unexpected_exception_has_a_traceback_only_with_the_debug_setting(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch, debug: str
) -> None:
    failure = Mock(side_effect=ZeroDivisionError("first\nsecond"))
    monkeypatch.setattr("starcast.support.settings.Settings.load", failure)
    monkeypatch.setenv("STARCAST_DEBUG", debug)
    result = starcast("config")
    error, hint = refused(result, 1, remarks=bool(debug))
    assert error == "starcast itself failed: ZeroDivisionError: first"
    assert hint.startswith("please report it")
    assert ("Traceback" in result.err) == bool(debug)


@pytest.mark.parametrize("words", ["query list", "query list -f json", "--version", "--help"])
def test_a_full_disk_is_reported_as_one_error(words: str) -> None:
    """Commands write their output immediately, or from a buffer when they end."""
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [*COMMAND, *words.split()], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == 7
    assert result.stderr.splitlines() == [
        "error: the output cannot be written: No space left on device",
        "hint: free some space, or write elsewhere",
    ]


@pytest.mark.parametrize("words", ["query list -f json", "--version"])
def test_a_closed_output_pipe_is_not_reported_as_an_error(words: str) -> None:
    command = [*COMMAND, *words.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("setting", ["neo4j_uri", "postgres_uri"])
@pytest.mark.parametrize("way", ["flag", "environment", "file"])
def test_the_demo_refuses_to_use_servers_named_in_the_settings(
    starcast: Starcast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, way: str
) -> None:
    uri = {"neo4j_uri": "bolt://127.0.0.1:1", "postgres_uri": "postgresql://u@127.0.0.1:1/d"}[
        setting
    ]
    flags = f"--{setting.replace('_', '-')} {uri}" if way == "flag" else ""
    if way == "environment":
        monkeypatch.setenv(f"STARCAST_{setting.upper()}", uri)
    if way == "file":
        (tmp_path / "settings.toml").write_text(f"{setting} = '{uri}'\n")
        monkeypatch.setenv("STARCAST_CONFIG", str(tmp_path / "settings.toml"))
    error, _ = refused(starcast(f"{flags} demo --home {tmp_path / 'home'}"), 2)
    assert f"{setting} (from: {way})" in error
    assert not (tmp_path / "home").exists()
