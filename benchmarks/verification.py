"""Compare the times in which starcast and other libraries verify spanning trees."""

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import libraries
from benchmarks.measure import Figure, Growth, seconds
from starcast import Forest, forest, topology

#: A function that returns the height of a tree from its edges and the number of nodes.
Height = Callable[[libraries.Pairs, int], int]


def figures() -> Iterator[Figure | Growth]:
    """Measure how long it takes, for several n, to verify spanning trees and find their heights.

    The trees are those of `multiple`. numpy receives an array of parents, and the other libraries
    receive lists of edges. The time to create these inputs is not measured.
    """
    costs = {f"S{n}": dict(_costs(n)) for n in range(4, 11)}
    for name, cost in costs["S8"].items():
        if name != "starcast":
            what = "S8 multiple: n-1 trees span, and their heights"
            yield Figure(what, costs["S8"]["starcast"], "s", "< 0.5", name, cost)
    names = list(costs["S4"])
    growth = {
        name: {spec: row[name] * 1e9 for spec, row in costs.items() if name in row}
        for name in names
    }
    for spec in costs:
        network = topology(spec)
        edges = network.degree * (network.nodes - 1)
        for row in growth.values():
            if spec in row:
                row[spec] /= edges
    title = "Processor time to verify the trees of multiple, in ns per tree edge"
    yield Growth(title, growth)
    for name in ("greedy", "edge-disjoint", "recursive-substar"):
        trees = forest("S9", name)
        copying = seconds(trees.parent_port.copy)
        what = f"S9 {name}: verify"
        checking = seconds(partial(_verify_copy, trees))
        yield Figure(what, checking, "s", "< 2", "copy the same bytes", copying)


def _costs(n: int) -> Iterator[tuple[str, float]]:
    """Yield the name of each library and the seconds that it needs to verify all trees on S_n."""
    trees = forest(f"S{n}", "multiple")
    parents = libraries.parents_of(trees) if n <= 9 else None
    nodes = trees.topology.nodes
    if n <= 8:
        edges = libraries.list_edges(trees)
        for name, height in (
            ("NetworkX", libraries.heights_networkx),
            ("igraph", libraries.heights_igraph),
            ("rustworkx", libraries.heights_rustworkx),
        ):
            work = partial(_each, height, edges, nodes)
            yield name, seconds(work, repeats=1 if n == 8 else 2)
    if parents is not None:
        yield "numpy", seconds(lambda: list(map(libraries.heights_numpy, parents)), repeats=2)
    yield "starcast", seconds(partial(_verify, trees), repeats=2)


def _verify(trees: Forest) -> list[int]:
    new = _copy(trees)
    new.verify()
    heights: list[int] = new.heights.tolist()
    return heights


def _copy(trees: Forest) -> Forest:
    """Return the same trees as a new object, because a forest caches its computed values."""
    return Forest(trees.topology, trees.parent_port, trees.root, construction=trees.construction)


def _verify_copy(trees: Forest) -> None:
    _copy(trees).verify()


def _each(height: Height, edges: list[list[tuple[int, int]]], nodes: int) -> list[int]:
    return [height(tree, nodes) for tree in edges]
