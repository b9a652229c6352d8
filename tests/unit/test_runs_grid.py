"""Points and grids: the order, what cannot be, the stored form and the command that reproduces it."""

import shlex
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.errors import InputError
from starcast.runs import provenance
from starcast.runs.grid import Grid, Point, check_name, number

POINT = Point("S5", "broadcast", "multiple", "all", 4, Fraction(1024), Fraction(100), Fraction(1))
GRID = Grid(topology=("S5",), algorithm=("multiple",), m=(Fraction(1),))

positive = st.fractions(min_value=0, max_value=10**9, max_denominator=10**20)
grids = st.builds(
    Grid,
    topology=st.lists(st.sampled_from(["S3", "S10", "S5"]), min_size=1).map(tuple),
    algorithm=st.lists(st.sampled_from(["greedy", "multiple", "recursive-substar"]), min_size=1).map(tuple),
    ports=st.lists(st.sampled_from(["all", "one"]), min_size=1, max_size=2).map(tuple),
    segments=st.lists(st.integers(1, 100), min_size=1, max_size=3).map(tuple),
    m=st.lists(positive, min_size=1, max_size=3).map(tuple),
    T_s=st.lists(positive, min_size=1, max_size=2).map(tuple),
    T_c=st.just((Fraction(1, 7),)),
)


@given(grids)
def test_a_grid_reads_back_equal_from_its_stored_form(grid: Grid) -> None:
    assert Grid.from_json(grid.as_json()) == grid


@given(grids)
def test_points_are_all_combinations_once_and_those_that_share_a_schedule_lie_together(grid: Grid) -> None:
    points = grid.points()
    sizes = [len(getattr(grid, axis)) for axis in ("topology", "algorithm", "ports", "segments", "m", "T_s", "T_c")]
    product = 1
    for size in sizes:
        product *= size
    assert len(points) == len(set(points)) == product
    structures = [point.structure for point in points]
    changes = sum(one != other for one, other in pairwise(structures))
    assert changes + 1 == len(set(structures))


def test_topologies_ascend_by_size_not_by_letters() -> None:
    assert Grid(topology=("S10", "S5", "S9"), algorithm=("greedy",), m=(Fraction(1),)).topology == ("S5", "S9", "S10")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"topology": "S13"}, "out of range"),
        ({"topology": "T4"}, "names no topology"),
        ({"collective": "gossip"}, "no collective"),
        ({"algorithm": "mulitple"}, "no broadcast algorithm"),
        ({"ports": "two"}, "no port model 'two'"),
        ({"p": 0}, "cannot be cut into 0 segments"),
        ({"m": Fraction(-1)}, "a message of -1 bytes"),
        ({"T_s": Fraction(-1)}, "no machine"),
        ({"T_c": Fraction(-1, 2)}, "no machine"),
        ({"T_s": Fraction(0), "T_c": Fraction(0)}, "no machine"),
        ({"p": 10**400}, "p is beyond"),
        ({"m": Fraction(10**30 + 1)}, "m is beyond"),
        ({"T_s": Fraction(10**31)}, "T_s is beyond"),
        ({"T_c": Fraction(1, 10**31)}, "T_c is beyond"),
    ],
)
def test_a_point_that_cannot_be_is_refused_with_a_hint(change: dict[str, object], words: str) -> None:
    values = {name: getattr(POINT, name) for name in POINT.__dataclass_fields__}
    with pytest.raises(InputError, match=words) as refused:
        Point(**{**values, **change})
    assert refused.value.hint


@pytest.mark.parametrize("axis", ["topology", "algorithm", "m", "ports", "segments", "T_s", "T_c"])
def test_a_grid_without_values_on_an_axis_is_refused(axis: str) -> None:
    with pytest.raises(InputError, match=f"the grid has no {axis}"):
        Grid.from_json({**GRID.as_json(), axis: []})


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        ({"topology": "S5", "algorithm": "greedy"}, "no m"),
        ({"topology": "S5", "algorithm": "greedy", "m": 1, "colour": 2}, "'colour' is no axis"),
        ({"topology": "S5", "algorithm": "greedy", "m": "many"}, "m is 'many', which is no number"),
        ({"topology": "S5", "algorithm": "greedy", "m": "1/0"}, "m is '1/0', which is no number"),
        ({"topology": "S5", "algorithm": "greedy", "m": 1, "segments": 1.5}, "segments is 1.5, no whole number"),
    ],
)
def test_a_file_that_is_no_grid_is_refused(stored: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Grid.from_json(stored)


def test_one_value_may_stand_without_a_list() -> None:
    assert Grid.from_json({"topology": "S5", "algorithm": "multiple", "m": 1}) == GRID


@pytest.mark.parametrize(("words", "value"), [("1024", 1024), ("2.5", Fraction(5, 2)), ("23/3", Fraction(23, 3)), (2.5, 2.5)])
def test_numbers_are_exact(words: str | float, value: Fraction | float) -> None:
    assert number(words, "m") == value


@pytest.mark.parametrize(
    "words", ["1e5000", "1e20000000", "1e-20000000", "1" * 5000, f"1/{'1' * 5000}", "1_000", "inf", "\u0661"]
)
def test_a_number_is_bounded_before_its_digits_are_written_out(words: str) -> None:
    """An exponent of eight digits would take all memory; the sentence stays short too."""
    with pytest.raises(InputError, match=r"m is '.{1,43}', which is no number") as refused:
        number(words, "m")
    assert "10^30" in refused.value.hint


@pytest.mark.parametrize("value", [Fraction(10**30), Fraction(1, 10**30), Fraction(10**30 - 1, 10**30)])
def test_the_largest_and_the_finest_numbers_read_back(value: Fraction) -> None:
    """What a point takes can be written into the command that repeats it."""
    assert Point("S5", "broadcast", "multiple", "all", 1, value, value, value).m == number(str(value), "m") == value


def test_segments_go_by_the_name_that_the_algorithm_has_for_them() -> None:
    stream = Point("S5", "broadcast", "recursive-substar", "all", 4, Fraction(1), Fraction(1), Fraction(1))
    assert (POINT.arguments, POINT.messages) == ({"segments": 4}, 1)
    assert (stream.arguments, stream.messages) == ({"messages": 4}, 4)


def test_the_command_of_a_point_names_all_of_it() -> None:
    assert POINT.command() == ("starcast run once S5 broadcast multiple --ports all --segments 4 -m 1024 --t-s 100 --t-c 1")


@given(grids)
def test_the_command_of_a_grid_has_a_flag_for_each_value(grid: Grid) -> None:
    words = shlex.split(grid.command("name"))
    assert words[:4] == ["starcast", "experiment", "run", "name"]
    pairs = list(zip(words[4::2], words[5::2], strict=True))
    for flag, axis in (("--topology", "topology"), ("--segments", "segments"), ("-m", "m"), ("--t-s", "T_s")):
        assert [value for name, value in pairs if name == flag] == [str(value) for value in getattr(grid, axis)]


@pytest.mark.parametrize("name", ["multiple-S5", "a", "2026.run_1"])
def test_names_of_experiments(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["17", "", "-a", "a b", "a/b", "ü", "a\n"])
def test_what_cannot_name_an_experiment(name: str) -> None:
    with pytest.raises(InputError, match="cannot name an experiment"):
        check_name(name)


def test_outside_a_checkout_there_is_no_revision(tmp_path: Path) -> None:
    assert provenance._revision(tmp_path) == {"revision": None, "dirty": None}
