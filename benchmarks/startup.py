"""How long the command line takes to say something."""

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.measure import Figure, seconds


def figures() -> Iterator[Figure]:
    """``starcast --help`` against an interpreter that does nothing."""
    nothing = seconds(lambda: _run("-c", "pass"), repeats=7)
    helping = seconds(lambda: _run("-m", "starcast.cli.app", "--help"), repeats=7)
    yield Figure("starcast --help", helping, "s", "< 0.3", "an empty interpreter", nothing)


def _run(*words: str) -> None:
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
