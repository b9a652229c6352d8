"""Measure the start-up time of the command line."""

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.measure import Figure, elapsed


def figures() -> Iterator[Figure]:
    """Compare the time of ``starcast --help`` with that of Python executing an empty program."""
    empty = elapsed(lambda: _run("-c", "pass"), repeats=7)
    printing_help = elapsed(lambda: _run("-m", "starcast.cli.app", "--help"), repeats=7)
    yield Figure("starcast --help", printing_help, "s", "< 0.3", "an empty interpreter", empty)


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
