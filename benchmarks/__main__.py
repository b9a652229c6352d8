"""``make bench``: run and print benchmarks, by default all modules except those in `ON_REQUEST`."""

import argparse
from importlib import import_module

from benchmarks.measure import COLUMNS, Figure, Growth, Table
from benchmarks.report import Report, Result
from starcast.cli.output import emit, say

MODULES = (
    "construction",
    "verification",
    "simulation",
    "greedy",
    "peers",
    "startup",
    "stores",
    "packs",
    "offline",
    "bolt",
    "import_floor",
    "claims",
    "model",
    "explorer",
    "cluster",
)
#: Modules that run only if the command line names them. The reasons differ: large ingests take
#: minutes, `make pytest-claims` also checks the claims, the choice of the graph model is final, the
#: explorer needs npm and Chromium, and the cluster benchmark starts ten processes.
ON_REQUEST = ("offline", "bolt", "import_floor", "claims", "model", "explorer", "cluster")


def main() -> None:
    """Measure and print each figure, and finally print a table of all figures."""
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
    parser.add_argument(
        "--page",
        action="store_true",
        help="write docs/benchmarks.md, and store the ratios in benchmarks/ratios.jsonl",
    )
    arguments = parser.parse_args()
    for name in arguments.modules:
        if name not in MODULES:
            parser.error(f"unknown module '{name}'")
    names = arguments.modules or [name for name in MODULES if name not in ON_REQUEST]
    report = Report() if arguments.page else None
    figures: list[Figure] = []
    for name in names:
        # Modules are imported only when they are needed, because some need extra libraries.
        module = import_module(f"benchmarks.{name}")
        flags = (arguments.write,) if name == "packs" else ()
        results: list[Result] = []
        for result in module.figures(*flags):
            _print(result)
            results.append(result)
        figures += [each for each in results if isinstance(each, Figure)]
        if report is not None:
            report.add(name, results)
    emit([figure.row() for figure in figures], COLUMNS)
    for line in report.regressions() if report is not None else ():
        say(f"worse: {line}")


def _print(result: Result) -> None:
    match result:
        case Figure():
            say(f"{result.what}: {result.value:,.4g} {result.unit}")
        case Growth():
            rows = result.rows()
            emit(rows, list(rows[0]), title=result.title)
        case Table():
            emit(result.content, result.columns, title=result.title)


if __name__ == "__main__":
    main()
