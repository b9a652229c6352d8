"""Drawings of subgraphs of a topology, checked by parsing their SVG."""

import re
from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest

from starcast.drawing import READABLE, Layout, Link, Subgraph, draw_subgraph, style
from starcast.drawing.layouts import arrange, order_ring
from starcast.support.errors import InputError, LimitError
from starcast.topologies import topology
from support.read_svg import SVG, Picture


class Seen(Picture):
    """A parsed drawing, with the labels of its dark boxes and the heights of its levels."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.dark = [label for label, box in self.boxes.items() if box.fill == "#222222"]
        lines = self.root.findall(f"{SVG}line")
        self.levels = {float(x.get("y1", 0)) for x in lines if x.get("stroke") == "#EEEEEE"}


def paths(spec: str, source: str, ports: list[list[int]]) -> Subgraph:
    """Return the subgraph of the walks that start at a node and cross the given ports."""
    network = topology(spec)
    links: Counter[Link] = Counter()
    for walked in ports:
        at = network.rank(source)
        for port in walked:
            link = Link(at, port, int(network.neighbours(port, [at])[0]))
            links[link] += 1
            at = link.receiver
    nodes = dict.fromkeys(end for item in links for end in (item.sender, item.receiver))
    return Subgraph(network, "Paths", f"topology={spec}", tuple(nodes), links, network.rank(source))


def members(spec: str, source: int | None = None) -> Subgraph:
    """Return a subgraph with all nodes of a topology, but without links."""
    network = topology(spec)
    return Subgraph(network, "Members", "", tuple(range(network.nodes)), {}, source)


FAR = tuple(np.flatnonzero(topology("S5").distances() == 3)[::4].tolist())
PICTURES = {
    "paths of S4": paths("S4", "1234", [[2, 3, 2], [3, 2, 3], [4, 2]]),
    "paths of S5,3, sideways too": paths("S5,3", "123", [[2, 4], [4, 5], [5, 4], [3, 2, 5]]),
    "there and back": paths("S4", "2134", [[2, 2], [3, 4, 4]]),
    "all of S5": members("S5"),
    "all of S4 from a node": members("S4", 7),
    "a node alone": Subgraph(topology("S4"), "One", "", (3,), {}, 3),
    "far nodes around one": Subgraph(topology("S5"), "Far", "", FAR, {}, 0),
}


@pytest.mark.parametrize(
    ("picture", "layout"),
    [
        pytest.param(picture, layout, id=f"{name}, {layout}")
        for name, picture in PICTURES.items()
        for layout in Layout
        if layout is Layout.RING or picture.source is not None
    ],
)
def test_a_drawing_shows_nodes_and_links_legibly(picture: Subgraph, layout: Layout) -> None:
    """Every node and every link is drawn once, and only the box of the source is dark."""
    drawn = Seen(draw_subgraph(picture, layout))
    source = [] if picture.source is None else [picture.topology.label(picture.source)]
    assert drawn.dark == source
    assert set(drawn.boxes) == {*map(picture.topology.label, picture.nodes), *source}
    drawn.check_places()
    assert_links(picture, drawn)
    assert_ends(drawn)


def assert_links(picture: Subgraph, drawn: Seen) -> None:
    """Check that the subgraph's links have their ports' colours, and that other links are faint."""
    network = picture.topology
    found = {stroke.title.split(",")[0]: stroke for stroke in drawn.strokes}
    assert len(found) == len(drawn.strokes)
    for item, times in picture.links.items():
        stroke = found.pop(
            f"{network.label(item.sender)} -{item.port}-> {network.label(item.receiver)}"
        )
        assert stroke.has_arrow
        assert not stroke.is_faint
        assert stroke.colour == style(network, item.port)[0]
        assert stroke.title.endswith(f", {times} times") == (times > 1)
    nodes = [network.rank(label) for label in drawn.boxes]
    named = {frozenset((item.sender, item.receiver)) for item in picture.links}
    left = {
        frozenset((node, int(other)))
        for node in nodes
        for port in network.ports
        for other in network.neighbours(port, [node])
        if other in nodes
    } - named
    assert {frozenset(map(network.rank, re.split(r" -\d+- ", words))) for words in found} == left
    assert all(
        stroke.is_faint == bool(picture.links) and not stroke.has_arrow for stroke in found.values()
    )


def assert_ends(drawn: Seen) -> None:
    """Check that links end at the border of a box, or at most the length of an arrowhead away."""
    for stroke in drawn.strokes:
        labels = re.split(r" -\d+->? ", stroke.title.split(",")[0])
        for label, end in zip(labels, stroke.ends, strict=True):
            box = drawn.boxes[label]
            away = end - box.center
            outside = max(abs(away.real) - box.width / 2, abs(away.imag) - box.height / 2)
            assert 0 <= outside + 0.1 <= 4.5 + 2 * stroke.width


@pytest.mark.parametrize(
    "name", [name for name, picture in PICTURES.items() if picture.source is not None]
)
def test_levels_in_a_drawing_are_distances_from_the_source_node(name: str) -> None:
    picture = PICTURES[name]
    assert picture.source is not None
    drawn, network = Seen(draw_subgraph(picture, Layout.LEVELS)), picture.topology
    levels = network.distances(picture.source).tolist()
    rows = drawn.heights(dict(zip(network.labels().tolist(), levels, strict=True)))
    assert rows == sorted(rows)
    assert drawn.levels == set(rows)
    assert f"levels: distance from {network.label(picture.source)}" in drawn.words[2]


def test_two_links_in_opposite_directions_are_drawn_side_by_side() -> None:
    drawn = {item.title: item for item in Seen(draw_subgraph(PICTURES["there and back"])).strokes}
    forth, back = drawn["2134 -2-> 1234"], drawn["1234 -2-> 2134"]
    for item, other in zip(forth.ends, reversed(back.ends), strict=True):
        assert abs(item - other) > 2


def test_a_link_that_occurs_in_several_rows_of_a_result_is_drawn_wider() -> None:
    drawn = Seen(draw_subgraph(paths("S4", "1234", [[2, 3], [2, 4]])))
    widths = {item.title: item.width for item in drawn.strokes}
    assert widths["1234 -2-> 2134, 2 times"] > widths["2134 -3-> 3124"] == widths["2134 -4-> 4132"]
    assert "wider: in several rows" in drawn.words[2]
    assert "wider" not in Seen(draw_subgraph(paths("S4", "1234", [[2, 3]]))).words[2]


def test_the_heading_and_the_legend_of_a_drawing_describe_its_content_and_ports() -> None:
    words = Seen(draw_subgraph(PICTURES["paths of S4"])).words
    assert words[:2] == ["Paths", "topology=S4"]
    assert words[2].startswith("8 nodes, 8 links")
    assert words[3:7] == ["dimension", "2", "3", "4"]
    assert Seen(draw_subgraph(paths("S5,3", "123", [[4]]))).words[3:5] == ["port", "4"]
    assert Seen(draw_subgraph(PICTURES["far nodes around one"])).words[:3] == ["Far", "", "9 nodes"]


def test_the_default_layout_is_levels_for_a_subgraph_with_links_and_a_ring_otherwise() -> None:
    assert Seen(draw_subgraph(PICTURES["paths of S4"])).levels
    for name in ("all of S5", "all of S4 from a node", "far nodes around one"):
        assert not Seen(draw_subgraph(PICTURES[name])).levels


def test_a_source_node_outside_the_result_is_drawn_at_the_centre_of_the_ring() -> None:
    drawn = Seen(draw_subgraph(PICTURES["far nodes around one"], Layout.RING))
    others = [box.center for label, box in drawn.boxes.items() if label != "12345"]
    assert drawn.boxes["12345"].center == pytest.approx(np.mean(others), abs=0.1)


def test_a_cycle_is_drawn_as_a_ring() -> None:
    """S3 is a cycle of six nodes. Every link joins adjacent positions of the ring layout."""
    drawn = Seen(draw_subgraph(members("S3")))
    middle = np.mean([box.center for box in drawn.boxes.values()])
    turns = {label: np.angle(box.center - middle) for label, box in drawn.boxes.items()}
    around = sorted(turns, key=lambda label: turns[label])
    joined = {frozenset((item, around[(number + 1) % 6])) for number, item in enumerate(around)}
    assert {frozenset(re.split(r" -\d+- ", stroke.title)) for stroke in drawn.strokes} == joined


def shortest(spec: str, source: str, target: str) -> list[list[int]]:
    """Return the ports of all shortest paths, found by trying each port at each node."""
    network = topology(spec)
    far = network.distances(target)

    def onward(node: int) -> list[list[int]]:
        ahead = [(port, int(network.neighbours(port, [node])[0])) for port in network.ports]
        ways = [
            [port, *rest]
            for port, other in ahead
            if far[other] < far[node]
            for rest in onward(other)
        ]
        return ways or [[]]

    return onward(network.rank(source))


def test_a_planar_graph_of_shortest_paths_is_drawn_without_crossings() -> None:
    """The four shortest paths from 1234 to 2143 form a planar graph of 12 nodes and 14 links."""
    picture = paths("S4", "1234", shortest("S4", "1234", "2143"))
    assert (len(picture.nodes), len(picture.links)) == (12, 14)
    network, drawn = picture.topology, Seen(draw_subgraph(picture))
    level = network.distances("1234")
    middle = {rank: drawn.boxes[network.label(rank)].x for rank in picture.nodes}
    for item, other in combinations(picture.links, 2):
        if level[item.sender] == level[other.sender]:
            assert (middle[item.sender] - middle[other.sender]) * (
                middle[item.receiver] - middle[other.receiver]
            ) >= -1e-6


@pytest.mark.parametrize(
    ("picture", "layout", "message", "hint"),
    [
        (Subgraph(topology("S4"), "Empty", "", (), {}, 0), None, "has no node", "a result"),
        (members("S4"), Layout.LEVELS, "the query declares none", "use the layout 'ring'"),
        (members("S6"), None, f"720 nodes, but .* readable only up to {READABLE}", "`row_limit`"),
    ],
    ids=["no nodes", "no source", "too many nodes"],
)
def test_a_subgraph_that_cannot_be_drawn_legibly_is_refused(
    picture: Subgraph, layout: Layout | None, message: str, hint: str
) -> None:
    with pytest.raises((InputError, LimitError), match=message) as refused:
        draw_subgraph(picture, layout)
    assert hint in refused.value.hint


def test_equal_subgraphs_give_identical_svg_text() -> None:
    assert draw_subgraph(PICTURES["all of S5"]) == draw_subgraph(members("S5"))


def test_nodes_are_arranged_so_that_linked_nodes_on_adjacent_levels_are_aligned() -> None:
    """The three paths cross in the given order of nodes, but become three vertical lines."""
    level = np.repeat([0, 1, 2], 3)
    weight = np.zeros((9, 9))
    for item, other in [(0, 5), (1, 3), (2, 4), (5, 7), (3, 6), (4, 8)]:
        weight[item, other] = weight[other, item] = 1
    x = arrange(level, weight)
    assert x.min() == 0
    for item, other in zip(*np.nonzero(weight), strict=True):
        assert x[item] == pytest.approx(x[other], abs=1e-6)
    for row in range(3):
        assert np.diff(np.sort(x[level == row])).min() >= 1 - 1e-9


def test_consecutive_nodes_in_a_ring_layout_are_linked_if_possible() -> None:
    ring = [[(node - 1) % 9, (node + 1) % 9] for node in range(9)]
    result = order_ring(ring, 4)
    assert result[0] == 4
    assert all(after in ring[before] for before, after in pairwise(result))
    assert order_ring([[], [], []], 1) == [1, 0, 2]
