"""Compilation by numba: announced where it takes place, and cached for later processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from types import SimpleNamespace

from starcast.support.compiled import announced, jit


@jit
def increased(number: int) -> int:
    return number + 1


@jit
def doubled(number: int) -> int:
    return 2 * increased(number)


with announced(SimpleNamespace(say=print), "two functions"):
    print(doubled(20))
"""


def run(*arguments: str, **variables: str) -> list[str]:
    """Run Python with a compiler, and return the lines that it prints."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0"} | variables
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return (done.stdout + done.stderr).splitlines()


def test_the_first_process_says_once_that_it_compiles_and_the_next_one_loads(
    tmp_path: Path,
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    announcement = "compiling two functions with numba, up to a minute, only in the first run"
    assert run(str(program)) == [announcement, "42"]
    assert run(str(program)) == ["42"]


def test_a_result_that_cannot_be_kept_is_said() -> None:
    """A program without a file has no folder next to it."""
    first, value = run("-c", PROGRAM)
    assert value == "42"
    assert first.endswith("in every run, since no folder can keep the result: set NUMBA_CACHE_DIR")


@pytest.mark.slow
def test_a_verification_by_blocks_compiles_once_for_all_processes(tmp_path: Path) -> None:
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
        announced = [line for line in lines if line.startswith("compiling the verification")]
        assert len(announced) == is_first
