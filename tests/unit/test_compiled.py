"""Compilation with numba: it is announced, and later processes use the cached result."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from types import SimpleNamespace

from starcast.support.compiled import jit
from starcast.support.progress import reporting


@jit
def increased(number: int) -> int:
    return number + 1


@jit
def doubled(number: int) -> int:
    return 2 * increased(number)


with reporting(SimpleNamespace(say=print)):
    print(doubled(20))
    print(increased(20))
"""


def run(*arguments: str, **variables: str) -> list[str]:
    """Run Python with numba's compiler, and return the printed lines."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0"} | variables
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return (done.stdout + done.stderr).splitlines()


def test_only_the_first_process_compiles_with_numba_and_announces_the_compilation(
    tmp_path: Path,
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    announcement = (
        "compiling the loops of __main__ with numba takes up to a minute, only in the first run"
    )
    assert run(str(program)) == [announcement, "42", "21"]
    assert run(str(program)) == ["42", "21"]


def test_only_the_compilation_of_starcast_functions_is_announced() -> None:
    program = PROGRAM.replace("import jit", "import numba").replace("@jit", "@numba.njit")
    assert run("-c", program) == ["42", "21"]


def test_the_announcement_of_a_compilation_says_if_the_result_cannot_be_cached() -> None:
    """A program passed by `python -c` has no file, and therefore no folder for the cache."""
    first, *values = run("-c", PROGRAM)
    assert values == ["42", "21"]
    assert first.endswith("in every run, because no cache folder is writable: set NUMBA_CACHE_DIR")


@pytest.mark.slow
def test_a_verification_by_blocks_compiles_only_once_for_all_its_processes(tmp_path: Path) -> None:
    command = (
        str(Path(sys.executable).with_name("starcast")),
        "forest",
        "verify",
        "S9",
        "multiple",
        "--blocks",
        "--jobs",
        "2",
    )
    part = ("--shard", "1/1", "--out", str(tmp_path / "part.json"))
    for is_first in (True, False):
        lines = run(*command, *part, NUMBA_CACHE_DIR=str(tmp_path))
        announced = [
            line
            for line in lines
            if line.startswith("compiling the loops of starcast.judges.blockwise")
        ]
        assert bool(announced) == is_first
