"""Drawings of a topology in its layouts: links, trees, link loads, and steps of a schedule."""

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from starcast import forest, network, schedule, simulate, topology
from starcast.drawing import (
    READABLE,
    animate_schedule,
    convert,
    draw_load,
    draw_steps,
    draw_topology,
    draw_trees,
    style,
)
from starcast.drawing.layouts import layout, layouts
from starcast.drawing.networks import Frame
from starcast.drawing.scene import ACCENT, CHARACTER
from starcast.support.errors import InputError, LimitError
from support.read_svg import SVG, Picture, strokes


@pytest.mark.parametrize("name", ["substars", "levels", "necklaces", "torus"])
def test_a_node_has_the_same_position_in_the_drawings_of_all_steps_of_a_schedule(name: str) -> None:
    built = schedule("S4", "broadcast", "multiple")
    circles = Picture(draw_steps(built, layout=name)).root.iter(f"{SVG}circle")
    nodes = [circle for circle in circles if circle.find(f"{SVG}title") is not None]
    centers = [complex(float(node.attrib["cx"]), float(node.attrib["cy"])) for node in nodes]
    places = np.array(centers).reshape(built.steps, 24)
    relative = places - places.mean(axis=1, keepdims=True)
    assert np.abs(relative - relative[0]).max() < 0.2
    expected = layout("S4", name).astype(float) @ [1, 1j]
    scale = np.abs(relative[0]).max() / np.abs(expected - expected.mean()).max()
    assert np.abs(relative[0] - (expected - expected.mean()) * scale).max() < 0.2


@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [
        ("broadcast", "multiple"),
        ("scatter", "balanced"),
        ("gather", "balanced"),
        ("alltoall", "exact"),
    ],
)
def test_every_busy_link_of_a_step_is_drawn_as_an_arrow(collective: str, algorithm: str) -> None:
    built = schedule("S4", collective, algorithm)
    for step in range(1, built.steps + 1):
        picture = Picture(draw_steps(built, [step]))
        rows = built.step == step
        labels = built.topology.labels()
        counts = Counter(
            f"{labels[sender]} -{port}-> {labels[receiver]}"
            for sender, port, receiver in zip(
                built.sender[rows], built.port[rows], built.receiver[rows], strict=True
            )
        )
        drawn = dict(stroke.title.split(": ") for stroke in picture.strokes)
        assert {arc: int(text.split()[0]) for arc, text in drawn.items()} == counts
        assert len(picture.strokes) == len(counts)
        for stroke in picture.strokes:
            assert stroke.has_arrow
            box = picture.boxes[stroke.title.split("> ")[1].split(":")[0]]
            away = stroke.ends[1] - box.center  # the arrow ends outside the box of the receiver
            assert abs(away.real) > box.width / 2 or abs(away.imag) > box.height / 2


def test_nodes_become_darker_as_they_receive_more_units() -> None:
    built = schedule("S4", "broadcast", "multiple", segments=2)
    opacities = []
    for step in (1, 4, built.steps):
        fills = [
            float(box.get("fill-opacity", 0))
            for box in Picture(draw_steps(built, [step])).root.iter(f"{SVG}rect")
            if box.get("fill") == ACCENT
        ]
        opacities.append((len(fills), sum(fills)))
    assert opacities == sorted(opacities)
    count, total = opacities[-1]
    assert count == 24
    assert total == pytest.approx(24 * 0.9)


def test_an_animation_has_an_svg_group_per_step_and_respects_reduced_motion_settings() -> None:
    built = schedule("S4", "broadcast", "greedy")
    document = Picture(animate_schedule(built)).root
    groups = [group for group in document.iter(f"{SVG}g") if "step" in group.get("class", "")]
    assert len(groups) == built.steps
    assert [len(strokes(group)) for group in groups] == simulate(built).links_used.tolist()
    styles = " ".join(style.text or "" for style in document.iter(f"{SVG}style"))
    assert "prefers-reduced-motion" in styles
    delays = [float(re.findall(r"[\d.]+", group.get("style", ""))[0]) for group in groups]
    assert delays == sorted(set(delays))


def test_links_that_more_trees_use_are_drawn_wider() -> None:
    built = forest("S4", "multiple")
    drawn = Picture(draw_load(built, "torus")).strokes
    narrow, wide = sorted({(int(stroke.title.split("load ")[1]), stroke.width) for stroke in drawn})
    assert (narrow[0], wide[0]) == (1, 2)
    assert narrow[1] < wide[1]
    histogram = built.load_histogram()
    assert len(drawn) == sum(links for load, links in histogram.items() if load)


def test_tree_edges_in_the_torus_layout_can_cross_the_border_of_the_drawing() -> None:
    built = forest("S4", "multiple")
    drawn = Picture(draw_trees(built, range(3), "torus")).strokes
    assert len(drawn) == 3 * 23
    assert sum(len(stroke.curves) == 2 for stroke in drawn) > 3 * 2
    with pytest.raises(InputError, match="has no tree 3"):
        draw_trees(built, [3])


def test_drawings_support_dark_mode_and_fit_narrow_pages() -> None:
    text = draw_steps(schedule("S3", "broadcast", "greedy"))
    assert "prefers-color-scheme: dark" in text
    assert "max-width: 100%" in text
    colours = set(re.findall(r'(?:fill|stroke)="(#[0-9A-F]{6})"', text))
    for light in ("#FFFFFF", "#222222", "#D0D7DE"):
        assert light in colours
        assert f'[fill="{light}"]' in text


def test_drawings_are_converted_to_pdf_and_to_png_of_double_size() -> None:
    picture = draw_steps(schedule("S3", "broadcast", "greedy"), [1])
    drawn = Picture(picture)
    assert convert(picture, "pdf").startswith(b"%PDF")
    png = convert(picture, "png")
    size = (int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big"))
    assert size == pytest.approx((2 * drawn.width, 2 * drawn.height), abs=2)
    assert convert(picture, "svg").decode() == picture


def test_drawings_of_unknown_steps_and_of_too_many_nodes_are_refused() -> None:
    with pytest.raises(InputError, match="has no step 0"):
        draw_steps(schedule("S4", "broadcast", "greedy"), [0])
    with pytest.raises(LimitError, match="too many for a drawing"):
        draw_steps(schedule("S6", "broadcast", "multiple", segments=20))
    with pytest.raises(LimitError, match="20,160 nodes in 4 panels"):
        draw_trees(forest("S7", "multiple"), range(4))
    with pytest.raises(LimitError, match=f"S6 has 720 nodes, but a drawing .* {READABLE} nodes"):
        draw_topology(topology("S6"))


def test_the_legend_of_a_reduction_explains_contributions_and_destinations() -> None:
    text = draw_steps(schedule("S3", "reduce-scatter", "necklace"), [1])
    assert "1 unit of one destination" in text
    assert "darker: has more contributions" in text
    assert "1 unit of one source" in draw_steps(schedule("S3", "allgather", "necklace"), [1])


def points(curve: list[complex]) -> np.ndarray:
    """Return points along a line or a quadratic curve, given by its control points."""
    start, *between, end = curve
    middle = between[0] if between else (start + end) / 2
    t = np.linspace(0, 1, 200)
    return np.asarray((1 - t) ** 2 * start + 2 * t * (1 - t) * middle + t**2 * end)


def test_a_drawing_of_a_topology_shows_every_node_and_every_link_once() -> None:
    for spec in ["S2", "S3", "S4", "S5", "S5,3", "Q4", "BP2", "T3x4"]:
        network = topology(spec)
        drawn = Picture(draw_topology(network))
        assert sorted(drawn.boxes) == sorted(network.labels().tolist())
        expected = set()
        for port in network.ports:
            ranks = np.arange(network.nodes)
            neighbours = network.neighbours(port, ranks)
            for one, other in zip(ranks.tolist(), neighbours.tolist(), strict=True):
                if one < other:
                    words = f"{network.label(one)} -{port}- {network.label(other)}"
                    expected.add((words, style(network, port)[0]))
        links = [(stroke.title, stroke.colour) for stroke in drawn.strokes]
        assert len(links) == len(expected) == network.links
        assert set(links) == expected


def test_no_link_of_s4_crosses_the_box_of_another_node() -> None:
    drawn = Picture(draw_topology(topology("S4")))
    for stroke in drawn.strokes:
        ends = stroke.title.split()
        for label, box in drawn.boxes.items():
            if label not in ends:
                away = points(*stroke.curves) - box.center
                inside = (np.abs(away.real) < 18) & (np.abs(away.imag) < 9)
                assert not inside.any(), (ends, label)


def test_long_labels_neither_overlap_nor_leave_the_drawing() -> None:
    long = "x" * 40
    links = [("a", f"b{long}"), (f"b{long}", f"c{long}"), (f"c{long}", "a"), ("a", "d")]
    for name in layouts(network(links)):
        Picture(draw_topology(network(links), name)).check_places()


def test_captions_of_narrow_panels_do_not_overlap() -> None:
    path = network([(str(node), str(node + 1)) for node in range(6)])
    picture = Picture(draw_steps(schedule(path, "broadcast", "greedy-matching"), layout="levels"))
    texts = [text for text in picture.root.iter(f"{SVG}text") if "busy" in (text.text or "")]
    ends = [(float(text.get("x", 0)), CHARACTER * len(text.text or "")) for text in texts]
    assert len(ends) == 6
    assert all(start + width < other for (start, width), (other, _) in pairwise(ends))


@pytest.mark.parametrize(("spec", "layout"), [("FQ4", "levels"), ("HX3x4", None)])
def test_curved_links_stay_inside_the_drawing(spec: str, layout: str | None) -> None:
    frame = Frame(topology(spec), layout, 1)
    panel = frame.panel(frame.coloured_links())
    bent = [stroke.curves[0] for stroke in panel.strokes if len(stroke.curves[0]) == 3]
    places = np.concatenate([points(list(curve)) for curve in bent])
    assert min(places.real.min(), places.imag.min()) > -1
    assert places.real.max() < panel.width + 1
    assert places.imag.max() < panel.height + 1
