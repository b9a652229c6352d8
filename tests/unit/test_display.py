"""Objects in notebooks: small objects are shown as drawings, large objects as tables."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from starcast import Forest, drawing, forest, schedule, topology
from starcast.drawing.forests import MAX_NODES
from starcast.drawing.schedules import count_units
from starcast.support.errors import RejectedError
from starcast.support.table import Displayable
from support.colour_vision import COLOUR_VISION, smallest_distance
from support.fix_plugins import load_examples
from support.read_svg import SVG, Picture
from support.workers import run_program

SMALL = [
    lambda: topology("S5"),
    lambda: topology("S4,2"),
    lambda: topology("Q4"),
    lambda: forest("S3", "multiple"),
    lambda: forest("S5", "multiple"),
    lambda: forest("S4", "perfectly-balanced"),
    lambda: forest("Q4", "edge-disjoint-binomial", root=5),
    lambda: schedule("S5", "broadcast", "multiple", segments=4),
    lambda: schedule("S4", "allgather", "necklace"),
    lambda: schedule("S4,2", "broadcast", "nk-multiple"),
    lambda: topology("R4"),
    lambda: forest("R4", "highest-ports"),
]
GREEDY = schedule("S3", "broadcast", "greedy")
LARGE = [
    lambda: topology("S9"),
    lambda: topology("Q20"),
    lambda: forest("S6", "multiple"),
    lambda: schedule("S4", "broadcast", "multiple", segments=100),
    lambda: GREEDY.replace_rows(GREEDY.columns.apply(lambda column: column[:0])),
]


@pytest.mark.usefixtures("registries")
@pytest.mark.whole
@pytest.mark.parametrize("build", SMALL)
def test_small_objects_are_shown_as_drawings(build: Callable[[], Displayable]) -> None:
    load_examples()
    shown = build()
    assert Picture(shown._repr_svg_()).root.tag == f"{SVG}svg"
    assert shown._repr_html_() is None


@pytest.mark.whole
@pytest.mark.parametrize("build", LARGE)
def test_large_objects_and_schedules_without_rows_are_shown_as_tables(
    build: Callable[[], Displayable],
) -> None:
    shown = build()
    assert "<table" in str(shown._repr_html_())
    assert shown._repr_svg_() is None


def test_an_array_that_is_not_a_forest_has_neither_a_drawing_nor_a_table() -> None:
    cyclic = Forest(topology("S3"), np.array([[0, 2, 2, 2, 2, 2]], dtype=np.uint8))
    with pytest.raises(RejectedError):
        cyclic.verify()
    assert cyclic._repr_svg_() is None
    assert cyclic._repr_html_() is None


@pytest.mark.parametrize(
    ("column", "value"),
    [("step", 0), ("sender", 77), ("port", 9), ("receiver", 99), ("unit", 5), ("unit", -1)],
)
def test_a_schedule_with_an_invalid_row_has_neither_a_drawing_nor_a_table(
    column: str, value: int
) -> None:
    valid = schedule("S3", "broadcast", "greedy")
    values = getattr(valid, column).astype(np.int64)
    values[-1] = value
    invalid = replace(valid, **{column: values})
    for draw in (drawing.draw_schedule, drawing.draw_steps, drawing.animate_schedule):
        with pytest.raises(RejectedError, match="cannot be drawn, because it is invalid: step"):
            draw(invalid)
    assert invalid._repr_svg_() is None
    assert invalid._repr_html_() is None


def test_the_order_of_schedule_rows_does_not_change_a_drawing() -> None:
    """A node that receives a unit twice holds the unit after the earlier of the two steps."""
    built = schedule("S3", "broadcast", "greedy")
    twice = {name: np.append(column, column[0]) for name, column in built.columns.present().items()}
    twice["step"][-1] = built.steps + 1
    reverse = {name: column[::-1] for name, column in twice.items()}
    drawn = [drawing.draw_steps(replace(built, **columns), [1]) for columns in (twice, reverse)]
    assert drawn[0] == drawn[1]


def test_the_limit_of_a_forest_drawing_counts_only_the_nodes_of_its_trees() -> None:
    built = forest("S6", "perfectly-balanced")
    assert built.trees * built.topology.nodes > MAX_NODES > built.sizes.sum()
    assert drawing.draw_forest(built).count("<circle") == built.sizes.sum()


def test_a_forest_drawing_shows_every_tree_completely_and_in_a_separate_colour() -> None:
    built = forest("S4", "multiple", root="4321")
    picture = Picture(drawing.draw_forest(built))
    lines = picture.strokes
    assert len(picture.root.findall(f"{SVG}circle")) == 3 * 24
    assert len(lines) == 3 * 23
    assert len({line.colour for line in lines}) == 3
    edges = {tuple(line.title.split()) for line in lines[:23]}
    parents = built.parents()[0]
    label = built.topology.label
    assert {(parent, child) for parent, _, child in edges} == {
        (label(int(parents[node])), label(node)) for node in range(24) if parents[node] >= 0
    }


def test_a_schedule_drawing_shows_the_number_of_units_per_step_and_port() -> None:
    built = schedule("S4", "broadcast", "multiple", segments=3)
    counts = count_units(built)
    assert counts.shape == (3, built.steps)
    assert counts.sum() == len(built)
    for row, port in enumerate(built.topology.ports):
        for step in range(1, built.steps + 1):
            expected = ((built.port == port) & (built.step == step)).sum()
            assert counts[row, step - 1] == expected
    picture = Picture(drawing.draw_schedule(built)).root
    cells = [each for each in picture.iter(f"{SVG}rect") if each.find(f"{SVG}title") is not None]
    assert len(cells) == np.count_nonzero(counts)


def test_the_drawing_package_is_imported_only_when_a_topology_is_shown() -> None:
    code = """
import sys, starcast
shown = starcast.topology('S3')
assert 'starcast.drawing' not in sys.modules
assert shown._repr_svg_().startswith('<svg')
assert 'starcast.drawing' in sys.modules
"""
    run_program(code)


def test_the_numbers_in_a_schedule_chart_are_legible_on_the_colours_of_all_ports() -> None:
    picture = Picture(drawing.draw_schedule(schedule("K8", "alltoall", "greedy"))).root
    cells = [rect for rect in picture.iter(f"{SVG}rect") if rect.get("fill-opacity")]
    inks = {text.get("y"): text.get("fill", "") for text in picture.iter(f"{SVG}text")}
    assert len(cells) == 7
    for cell in cells:
        share = float(cell.get("fill-opacity", 0))
        colour = bytes.fromhex(cell.get("fill", "")[1:])
        shade = bytes(round(255 + share * (part - 255)) for part in colour).hex()
        middle = float(cell.get("y", 0)) + float(cell.get("height", 0)) / 2
        ink = inks[f"{middle + 4.2:.1f}".removesuffix(".0")]
        assert smallest_distance([f"#{shade}", ink], COLOUR_VISION["normal"]) > 40
