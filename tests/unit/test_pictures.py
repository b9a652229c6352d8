"""Pictures of a part of a topology, parsed from the SVG."""

import re
from collections import Counter
from itertools import combinations, pairwise
from typing import NamedTuple
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from starcast.drawing import READABLE, Layout, Link, Picture, sketch, style
from starcast.drawing.layouts.order import arrange, order_ring
from starcast.errors import InputError, LimitError
from starcast.topologies import Topology, topology

SVG = "{http://www.w3.org/2000/svg}"


class Stroke(NamedTuple):
    """A link as it is drawn."""

    words: str
    colour: str
    width: float
    faint: bool
    arrow: bool
    ends: tuple[tuple[float, float], tuple[float, float]]


class Seen:
    """The content of an SVG picture: centres of the boxes by label, links, and the text above."""

    def __init__(self, text: str) -> None:
        root = ET.fromstring(text)  # noqa: S314 - our own document
        self.width, self.height = float(root.get("width", 0)), float(root.get("height", 0))
        words = [
            (float(item.get("x", 0)), float(item.get("y", 0)), item.text or "")
            for item in root.findall(f"{SVG}text")
        ]
        self.words = [text for _, _, text in words]
        self.boxes: dict[str, tuple[float, float, float, float]] = {}
        self.dark = []
        for rect in root.findall(f"{SVG}rect")[1:]:
            x, y, width, height = (
                float(rect.get(name, 0)) for name in ("x", "y", "width", "height")
            )
            (label,) = (
                text
                for at, line, text in words
                if abs(at - x - width / 2) < 0.2 and y < line < y + height
            )
            self.boxes[label] = (x + width / 2, y + height / 2, width, height)
            self.dark += [label] if rect.get("fill") == "#222222" else []
        self.strokes = [_stroke(group) for group in root.findall(f"{SVG}g")]
        self.levels = {
            float(item.get("y1", 0))
            for item in root.findall(f"{SVG}line")
            if item.get("stroke") == "#EEEEEE"
        }


def _stroke(group: ET.Element) -> Stroke:
    path = group.find(f"{SVG}path")
    assert path is not None
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", path.get("d", ""))]
    ends = ((numbers[0], numbers[1]), (numbers[-2], numbers[-1]))
    faint = float(group.get("opacity", 1)) < 1
    arrow = group.find(f"{SVG}polygon") is not None
    return Stroke(
        group.findtext(f"{SVG}title", ""),
        group.get("stroke", ""),
        float(group.get("stroke-width", 0)),
        faint,
        arrow,
        ends,
    )


def link(place: Topology, sender: str, port: int, *, arrow: bool = True) -> Link:
    rank = place.rank(sender)
    return Link(rank, port, int(place.neighbours(port, [rank])[0]), arrow)


def paths(spec: str, source: str, ports: list[list[int]]) -> Picture:
    """Walks from one node by these ports."""
    place = topology(spec)
    links: Counter[Link] = Counter()
    for walked in ports:
        at = source
        for port in walked:
            links[link(place, at, port)] += 1
            at = place.label(int(place.neighbours(port, [place.rank(at)])[0]))
    nodes = dict.fromkeys(end for item in links for end in (item.sender, item.receiver))
    return Picture(place, "Paths", f"topology={spec}", tuple(nodes), links, place.rank(source))


def members(spec: str, source: int | None = None) -> Picture:
    """All nodes of a topology, and no link that is named."""
    place = topology(spec)
    return Picture(place, "Members", "", tuple(range(place.nodes)), {}, source)


PICTURES = {
    "paths of S4": paths("S4", "1234", [[2, 3, 2], [3, 2, 3], [4, 2]]),
    "paths of S5,3, sideways too": paths("S5,3", "123", [[2, 4], [4, 5], [5, 4], [3, 2, 5]]),
    "there and back": paths("S4", "2134", [[2, 2], [3, 4, 4]]),
    "all of S5": members("S5"),
    "all of S4 from a node": members("S4", 7),
    "a node alone": Picture(topology("S4"), "One", "", (3,), {}, 3),
    "far nodes around one": Picture(
        topology("S5"),
        "Far",
        "",
        tuple(np.flatnonzero(topology("S5").distances() == 3)[::4].tolist()),
        {},
        0,
    ),
}
every_picture = pytest.mark.parametrize(
    ("picture", "layout"),
    [
        pytest.param(picture, layout, id=f"{name}, {layout}")
        for name, picture in PICTURES.items()
        for layout in Layout
        if layout is Layout.RING or picture.source is not None
    ],
)


@every_picture
def test_a_picture_shows_nodes_and_links_legibly(picture: Picture, layout: Layout) -> None:
    """Every node and link is drawn once, and nothing touches anything else."""
    drawn = Seen(sketch(picture, layout))
    assert_boxes(picture, drawn)
    assert_apart(drawn)
    assert_links(picture, drawn)
    assert_ends(drawn)


def assert_boxes(picture: Picture, drawn: Seen) -> None:
    """Every node has one box, and the source is dark."""
    wanted = {*picture.nodes, *([] if picture.source is None else [picture.source])}
    assert sorted(drawn.boxes) == sorted(picture.topology.label(node) for node in wanted)
    assert drawn.dark == (
        [] if picture.source is None else [picture.topology.label(picture.source)]
    )


def assert_apart(drawn: Seen) -> None:
    """No box touches another, and everything is on the sheet."""
    for x, y, width, height in drawn.boxes.values():
        assert width / 2 < x < drawn.width - width / 2
        assert height / 2 < y < drawn.height - height / 2
    for (x, y, width, height), (u, v, _, _) in combinations(drawn.boxes.values(), 2):
        assert abs(x - u) > width + 2 or abs(y - v) > height + 2
    for start, end in (stroke.ends for stroke in drawn.strokes):
        assert all(0 < x < drawn.width and 0 < y < drawn.height for x, y in (start, end))


def assert_links(picture: Picture, drawn: Seen) -> None:
    """Each link has the colour of its port; links that are not named are faint."""
    place = picture.topology
    strokes = {stroke.words.split(",")[0]: stroke for stroke in drawn.strokes}
    assert len(strokes) == len(drawn.strokes)
    for item, times in picture.links.items():
        stroke = strokes.pop(
            f"{place.label(item.sender)} -{item.port}-> {place.label(item.receiver)}"
        )
        assert (stroke.arrow, stroke.faint, stroke.colour) == (
            True,
            False,
            style(place, item.port)[0],
        )
        assert stroke.words.endswith(f", {times} times") == (times > 1)
    nodes = [place.rank(label) for label in drawn.boxes]
    named = {frozenset((item.sender, item.receiver)) for item in picture.links}
    left = {
        frozenset((node, int(other)))
        for node in nodes
        for port in place.ports
        for other in place.neighbours(port, [node])
        if other in nodes
    } - named
    assert {frozenset(map(place.rank, re.split(r" -\d+- ", words))) for words in strokes} == left
    assert all(
        stroke.faint == bool(picture.links) and not stroke.arrow for stroke in strokes.values()
    )


def assert_ends(drawn: Seen) -> None:
    """A link begins and ends at the edges of the boxes, at most an arrowhead away."""
    for stroke in drawn.strokes:
        labels = re.split(r" -\d+->? ", stroke.words.split(",")[0])
        for label, (x, y) in zip(labels, stroke.ends, strict=True):
            u, v, width, height = drawn.boxes[label]
            outside = max(abs(x - u) - width / 2, abs(y - v) - height / 2)
            assert 0 <= outside + 0.1 <= 8.5


@pytest.mark.parametrize(
    "name", [name for name, picture in PICTURES.items() if picture.source is not None]
)
def test_levels_are_distances_from_the_source(name: str) -> None:
    picture = PICTURES[name]
    assert picture.source is not None
    drawn, place = Seen(sketch(picture, Layout.LEVELS)), picture.topology
    heights: dict[int, set[float]] = {}
    for label, (_, y, _, _) in drawn.boxes.items():
        heights.setdefault(int(place.distances(picture.source)[place.rank(label)]), set()).add(
            round(y, 1)
        )
    assert all(len(result) == 1 for result in heights.values())
    rows = [min(heights[level]) for level in sorted(heights)]
    assert rows == sorted(rows)
    assert drawn.levels == set(rows)
    assert f"levels: distance from {place.label(picture.source)}" in drawn.words[2]


def test_opposite_links_are_drawn_side_by_side() -> None:
    strokes = {item.words: item for item in Seen(sketch(PICTURES["there and back"])).strokes}
    forth, back = strokes["2134 -2-> 1234"], strokes["1234 -2-> 2134"]
    for item, other in zip(forth.ends, reversed(back.ends), strict=True):
        assert max(abs(item[0] - other[0]), abs(item[1] - other[1])) > 2


def test_a_link_of_several_rows_is_wider() -> None:
    drawn = Seen(sketch(paths("S4", "1234", [[2, 3], [2, 4]])))
    widths = {item.words: item.width for item in drawn.strokes}
    assert widths["1234 -2-> 2134, 2 times"] > widths["2134 -3-> 3124"] == widths["2134 -4-> 4132"]
    assert "wider: in several rows" in drawn.words[2]
    assert "wider" not in Seen(sketch(paths("S4", "1234", [[2, 3]]))).words[2]


def test_the_head_describes_the_picture() -> None:
    words = Seen(sketch(PICTURES["paths of S4"])).words
    assert words[:2] == ["Paths", "topology=S4"]
    assert words[2].startswith("8 nodes, 8 links")
    assert words[3:7] == ["dimension", "2", "3", "4"]


def test_the_legend_lists_the_ports_that_occur_and_is_omitted_without_ports() -> None:
    assert Seen(sketch(paths("S5,3", "123", [[4]]))).words[3:5] == ["port", "4"]
    assert Seen(sketch(PICTURES["far nodes around one"])).words[:3] == ["Far", "", "9 nodes"]


def test_the_default_layout_is_levels_with_named_links_and_a_ring_without() -> None:
    assert Seen(sketch(PICTURES["paths of S4"])).levels
    for name in ("all of S5", "all of S4 from a node", "far nodes around one"):
        assert not Seen(sketch(PICTURES[name])).levels


def test_a_source_that_no_row_names_is_at_the_centre_of_the_ring() -> None:
    drawn = Seen(sketch(PICTURES["far nodes around one"], Layout.RING))
    others = [box[:2] for label, box in drawn.boxes.items() if label != "12345"]
    assert drawn.boxes["12345"][:2] == pytest.approx(np.mean(others, axis=0), abs=0.1)


def test_a_cycle_is_drawn_as_a_cycle() -> None:
    """S3 is a cycle of six nodes: in its ring every link joins neighbours."""
    drawn = Seen(sketch(members("S3")))
    middle = np.mean([box[:2] for box in drawn.boxes.values()], axis=0)
    turns = {
        label: np.arctan2(box[1] - middle[1], box[0] - middle[0])
        for label, box in drawn.boxes.items()
    }
    around = sorted(turns, key=lambda label: turns[label])
    joined = {frozenset((item, around[(place + 1) % 6])) for place, item in enumerate(around)}
    assert {frozenset(re.split(r" -\d+- ", stroke.words)) for stroke in drawn.strokes} == joined


def shortest(spec: str, source: str, target: str) -> list[list[int]]:
    """The ports of all shortest paths, by trying each port at each node."""
    place = topology(spec)
    far = place.distances(target)

    def onward(node: int) -> list[list[int]]:
        ahead = [(port, int(place.neighbours(port, [node])[0])) for port in place.ports]
        ways = [
            [port, *rest]
            for port, other in ahead
            if far[other] < far[node]
            for rest in onward(other)
        ]
        return ways or [[]]

    return onward(place.rank(source))


def test_shortest_paths_are_drawn_without_crossings_where_there_is_a_way() -> None:
    """From 1234 to 2143 there are four, over 12 nodes and 14 links, in the plane."""
    picture = paths("S4", "1234", shortest("S4", "1234", "2143"))
    assert (len(picture.nodes), len(picture.links)) == (12, 14)
    place, drawn = picture.topology, Seen(sketch(picture))
    level = place.distances("1234")
    middle = {rank: drawn.boxes[place.label(rank)][0] for rank in picture.nodes}
    for item, other in combinations(picture.links, 2):
        if level[item.sender] == level[other.sender]:
            assert (middle[item.sender] - middle[other.sender]) * (
                middle[item.receiver] - middle[other.receiver]
            ) >= -1e-6


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(InputError, match="has no node") as refused:
        sketch(Picture(topology("S4"), "Empty", "", (), {}, 0))
    assert refused.value.hint


def test_levels_without_a_source_are_refused() -> None:
    with pytest.raises(InputError, match="the query names none") as refused:
        sketch(members("S4"), Layout.LEVELS)
    assert refused.value.hint == "use --layout ring"


def test_an_unreadable_picture_is_refused() -> None:
    with pytest.raises(
        LimitError, match=f"720 nodes, and a picture is readable up to {READABLE}"
    ) as refused:
        sketch(members("S6"))
    assert "--limit" in refused.value.hint


def test_the_same_picture_is_the_same_text() -> None:
    assert sketch(PICTURES["all of S5"]) == sketch(members("S5"))


def test_arranged_nodes_are_apart_and_above_their_neighbours() -> None:
    """Three chains of three, given crossed, are three straight lines."""
    level = np.repeat([0, 1, 2], 3)
    weight = np.zeros((9, 9))
    for item, other in [(0, 5), (1, 3), (2, 4), (5, 7), (3, 6), (4, 8)]:
        weight[item, other] = weight[other, item] = 1
    place = arrange(level, weight)
    assert place.min() == 0
    for item, other in zip(*np.nonzero(weight), strict=True):
        assert place[item] == pytest.approx(place[other], abs=1e-6)
    for row in range(3):
        assert np.diff(np.sort(place[level == row])).min() >= 1 - 1e-9


def test_a_ring_contains_every_node_once_and_follows_links() -> None:
    ring = [[(node - 1) % 9, (node + 1) % 9] for node in range(9)]
    result = order_ring(ring, 4)
    assert result[0] == 4
    assert all(after in ring[before] for before, after in pairwise(result))
    assert order_ring([[], [], []], 1) == [1, 0, 2]
