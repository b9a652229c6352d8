"""``make bench``: every figure, as it comes. Words after ``python -m benchmarks`` choose among its modules."""

import sys

from benchmarks import arrays, simulator, startup, stores, trees
from benchmarks.measure import COLUMNS, Figure
from starcast.cli.output import emit, say

MODULES = {"arrays": arrays, "simulator": simulator, "startup": startup, "trees": trees, "stores": stores}


def main() -> None:
    """Measure and print."""
    found: list[Figure] = []
    for name in sys.argv[1:] or MODULES:
        for figure in MODULES[name].figures():
            say(f"{figure.what}: {figure.value:,.4g} {figure.unit}")
            found.append(figure)
    emit([figure.row() for figure in found], COLUMNS)


if __name__ == "__main__":
    main()
