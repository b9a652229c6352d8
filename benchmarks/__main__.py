"""``make bench``: measure and print all benchmarks, or the modules named on the command line."""

import argparse
from importlib import import_module

from benchmarks.measure import COLUMNS, Figure
from starcast.cli.output import emit, say

MODULES = (
    "arrays",
    "simulator",
    "timing",
    "startup",
    "trees",
    "stores",
    "offline",
    "packs",
    "claims",
    "model",
    "explorer",
    "cluster",
)
#: Modules that run only if they are named: the first takes 15 minutes, and its decision is final;
#: the second needs npm and Chromium; the third starts ten processes.
ON_REQUEST = ("model", "explorer", "cluster")


def main() -> None:
    """Measure, print each figure as it is measured, and print a table of all."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure and print all benchmarks."
    )
    parser.add_argument(
        "modules", nargs="*", metavar="MODULE", help=f"benchmarks to run: {', '.join(MODULES)}"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="write the figures of the query packs to queries/measured.json",
    )
    arguments = parser.parse_args()
    for name in arguments.modules:
        if name not in MODULES:
            parser.error(f"unknown module '{name}'")
    default = [name for name in MODULES if name not in ON_REQUEST]
    measured: list[Figure] = []
    for name in arguments.modules or default:
        module = import_module(f"benchmarks.{name}")  # only `trees` needs its rivals installed
        flags = (arguments.write,) if name == "packs" else ()
        for figure in module.figures(*flags):
            say(f"{figure.what}: {figure.value:,.4g} {figure.unit}")
            measured.append(figure)
    emit([figure.row() for figure in measured], COLUMNS)


if __name__ == "__main__":
    main()
