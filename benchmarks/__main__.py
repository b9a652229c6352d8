"""``make bench``: every figure, as it comes. Words after ``python -m benchmarks`` choose among its modules."""

import argparse
from functools import partial

from benchmarks import arrays, claims, model, offline, packs, simulator, startup, stores, trees
from benchmarks.measure import COLUMNS, Figure
from starcast.cli.output import emit, say

MODULES = {
    "arrays": arrays,
    "simulator": simulator,
    "startup": startup,
    "trees": trees,
    "stores": stores,
    "offline": offline,
    "packs": packs,
    "claims": claims,
    "model": model,
}
#: What runs only when it is asked for: it takes a quarter of an hour, and its decision is taken.
ASKED_FOR = ("model",)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure, and print every figure."
    )
    parser.add_argument(
        "modules", nargs="*", metavar="MODULE", help=f"which of: {', '.join(MODULES)}"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="keep the figures of the packs in queries/measured.json",
    )
    given = parser.parse_args()
    for name in given.modules:
        if name not in MODULES:
            parser.error(f"there is no module '{name}'")
    found: list[Figure] = []
    for name in given.modules or (name for name in MODULES if name not in ASKED_FOR):
        figures = partial(packs.figures, given.write) if name == "packs" else MODULES[name].figures
        for figure in figures():
            say(f"{figure.what}: {figure.value:,.4g} {figure.unit}")
            found.append(figure)
    emit([figure.row() for figure in found], COLUMNS)


if __name__ == "__main__":
    main()
