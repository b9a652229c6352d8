"""Objects in notebooks: small objects are shown as pictures, large objects as tables."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from starcast import Forest, Schedule, drawing, forest, schedule, topology
from starcast.drawing.schedules import count_units
from starcast.support.errors import RejectedError
from starcast.support.table import Displayable
from starcast.topologies import Topology
from support.fix_plugins import load_examples
from support.read_svg import SVG, parse, strokes

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
]
LARGE = [
    lambda: topology("S9"),
    lambda: topology("Q20"),
    lambda: forest("S6", "multiple"),
    lambda: schedule("S4", "broadcast", "multiple", segments=100),
]


@pytest.mark.parametrize("build", SMALL)
def test_small_objects_are_shown_as_pictures(build: object) -> None:
    thing: Displayable = build()  # type: ignore[operator]
    assert parse(thing._repr_svg_()).tag == f"{SVG}svg"
    assert thing._repr_html_() is None


def test_large_objects_are_shown_as_tables() -> None:
    builders: list[Any] = [*LARGE]
    for build in builders:
        thing: Displayable = build()
        page = thing._repr_html_()
        assert page is not None
        assert "<table" in page
        assert thing._repr_svg_() is None


def test_an_array_that_is_not_a_forest_has_neither_a_picture_nor_a_table() -> None:
    cyclic = Forest(topology("S3"), np.array([[0, 2, 2, 2, 2, 2]], dtype=np.uint8))
    with pytest.raises(RejectedError):
        cyclic.verify()
    assert cyclic._repr_svg_() is None
    assert cyclic._repr_html_() is None


def test_a_schedule_without_rows_is_shown_as_a_table() -> None:
    one = schedule("S3", "broadcast", "greedy")
    columns = {name: np.array([], dtype=np.int32) for name in one.columns.present()}
    empty = Schedule(
        one.topology,
        "broadcast",
        "none",
        "all",
        1,
        packets=False,
        **columns,  # type: ignore[arg-type]
    )
    assert empty._repr_svg_() is None
    assert "<table" in str(empty._repr_html_())


def test_the_picture_of_a_forest_shows_every_tree_with_all_nodes_in_its_own_colour() -> None:
    built = forest("S4", "multiple", root="4321")
    picture = parse(drawing.draw_forest(built))
    dots = picture.findall(f"{SVG}circle")
    lines = strokes(picture)
    assert len(dots) == 3 * 24
    assert len(lines) == 3 * 23
    assert len({line.colour for line in lines}) == 3
    edges = {tuple(line.title.split()) for line in lines[:23]}
    parents = built.parents()[0]
    label = built.topology.label
    assert {(parent, child) for parent, _, child in edges} == {
        (label(int(parents[node])), label(node)) for node in range(24) if parents[node] >= 0
    }


def test_the_picture_of_a_schedule_shows_the_number_of_units_by_step_and_port() -> None:
    built = schedule("S4", "broadcast", "multiple", segments=3)
    counts = count_units(built)
    assert counts.shape == (3, built.steps)
    assert counts.sum() == len(built)
    for row, port in enumerate(built.topology.ports):
        for step in range(1, built.steps + 1):
            expected = ((built.port == port) & (built.step == step)).sum()
            assert counts[row, step - 1] == expected
    picture = parse(drawing.draw_schedule(built))
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
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.usefixtures("registries")
def test_topologies_and_forests_of_a_plugin_family_are_shown_as_pictures() -> None:
    load_examples()
    graph: Topology = topology("R4")
    assert str(graph._repr_svg_()).startswith("<svg")
    assert str(forest("R4", "highest-ports")._repr_svg_()).startswith("<svg")
