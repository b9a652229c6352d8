"""Trees of a forest, and their load, on the topology in one of its layouts."""

from collections.abc import Iterable

import numpy as np

from starcast.drawing import svg as parts
from starcast.drawing.network import ACCENT, Frame, Mark, Panel, draw_panels
from starcast.drawing.svg import COLOURS
from starcast.errors import LimitError
from starcast.support.text import pluralize
from starcast.trees import Forest
from starcast.trees.edges import edges_of

#: The greatest number of nodes of all panels together.
MOST_NODES = 5_040
_MOST_WIDE = 5.0  # width of the links with the greatest load


def draw_trees(forest: Forest, trees: Iterable[int], layout: str | None = None) -> str:
    """Return trees side by side as an SVG document, each in its own colour.

    Args:
        forest: a verified forest.
        trees: the numbers of the trees, from 0.
        layout: one of `starcast.drawing.layouts.layouts`; by default the first.

    Raises:
        InputError: the forest has no such tree, or the topology no such layout.
        LimitError: the panels have more than `MOST_NODES` nodes.

    Example:
        >>> draw_trees(forest("S4", "multiple"), [0, 1], "torus").startswith("<svg")
        True
    """
    numbers = list(trees)
    _check_size(forest, len(numbers))
    frame = Frame(forest.topology, layout, len(numbers))
    panels = [_tree_panel(forest, tree) for tree in numbers]
    return parts.text_of(draw_panels(frame, forest.id, [summarize(forest)], panels))


def draw_load(forest: Forest, layout: str | None = None) -> str:
    """Return the load of all directed links as an SVG document: the greater, the wider.

    Args:
        forest: a verified forest.
        layout: one of `starcast.drawing.layouts.layouts`; by default the first.

    Raises:
        InputError: the topology has no such layout.
        LimitError: the topology has more than `MOST_NODES` nodes.
    """
    _check_size(forest, 1)
    topology = forest.topology
    frame = Frame(topology, layout, 1)
    labels = topology.labels()
    load = forest.load()
    marks = []
    for column, port in enumerate(topology.ports):
        neighbours = topology.neighbours(port)
        for sender in np.flatnonzero(load[:, column]).tolist():
            count = int(load[sender, column])
            width = max(1.0, _MOST_WIDE * count / forest.congestion)
            title = f"{labels[sender]} -{port}-> {labels[neighbours[sender]]}: load {count}"
            receiver = int(neighbours[sender])
            # The two directions lie side by side.
            mark = Mark(sender, receiver, ACCENT, width, title, arrow=False, shift=1 + width / 2)
            marks.append(mark)
    histogram = ", ".join(
        f"{count:,} with load {value}" for value, count in forest.load_histogram().items()
    )
    lines = (summarize(forest), f"directed links: {histogram}")
    panel = Panel("", marks, {forest.root: 1.0}, forest.root)
    return parts.text_of(draw_panels(frame, forest.id, lines, [panel]))


def summarize(forest: Forest) -> str:
    """Return the line below the title of a picture of a forest."""
    trees = pluralize(forest.trees, "tree")
    return f"{trees}, height {forest.height}, congestion {forest.congestion}"


def _check_size(forest: Forest, panels: int) -> None:
    nodes = forest.topology.nodes * panels
    if nodes > MOST_NODES:
        raise LimitError(
            f"{pluralize(panels, 'panel')} of {forest.topology.spec} have {nodes:,} nodes, and a "
            f"picture has at most {MOST_NODES:,}",
            hint=f"open the explorer: starcast explore {forest.topology.spec} --out page.html",
        )


def _tree_panel(forest: Forest, tree: int) -> Panel:
    edges = edges_of(forest, tree)
    labels = forest.topology.labels()
    colour = COLOURS[tree % len(COLOURS)]
    columns = (edges.parent.tolist(), edges.child.tolist(), edges.port.tolist())
    marks = [
        Mark(parent, child, colour, 1.8, f"{labels[parent]} -{port}-> {labels[child]}")
        for parent, child, port in zip(*columns, strict=True)
    ]
    caption = f"tree {tree}: height {int(forest.heights[tree])}"
    return Panel(caption, marks, {forest.root: 1.0}, forest.root)
