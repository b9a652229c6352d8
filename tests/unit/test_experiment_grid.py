"""Experiment points and grids: their order, invalid values, stored form and commands."""

import dataclasses
import shlex
import subprocess
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from math import prod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast import costs
from starcast.collectives.algorithm import find_algorithm
from starcast.experiments.design import Grid, check_name, grid_command, group_by_structure
from starcast.experiments.faults import resolve_faults
from starcast.support import installation
from starcast.support.axes import AXES, read_number
from starcast.support.errors import InputError
from starcast.topologies import topology
from support.examples import max_examples
from support.experiments import make_point
from support.meeting import refused

POINT = make_point("S5", "broadcast", "multiple", segments=4, message_bytes=1024)
GRID = Grid({"topology": "S5", "algorithm": "multiple", "message_bytes": 1})

positive = st.fractions(min_value=0, max_value=10**9, max_denominator=10**20)


def grid_of(**axes: Any) -> Grid:
    """Return a grid; axes without values are omitted."""
    return Grid({axis: values for axis, values in axes.items() if values})


grids = st.builds(
    grid_of,
    topology=st.lists(st.sampled_from(["S3", "S10", "S5"]), min_size=1),
    algorithm=st.lists(st.sampled_from(["greedy", "multiple", "recursive-substar"]), min_size=1),
    ports=st.lists(st.sampled_from(["all", "one"]), min_size=1, max_size=2),
    segments=st.lists(st.integers(1, 100), min_size=1, max_size=3),
    message_bytes=st.lists(positive, min_size=1, max_size=3),
    t_s=st.lists(positive, min_size=1, max_size=2),
    t_c=st.just((Fraction(1, 7),)),
)


few = max_examples(25)
#: Grids with values on most axes. Each algorithm is defined on each topology.
wide = st.builds(
    grid_of,
    topology=st.lists(st.sampled_from(["S3", "S4"]), min_size=1),
    collective=st.just(("allgather",)),
    algorithm=st.lists(
        st.sampled_from(["edge-disjoint", "necklace", "dimension-change", "rotated-hamiltonian"]),
        min_size=1,
    ).map(lambda names: ("edge-disjoint", "dimension-change", *names)),
    base=st.lists(st.sampled_from(["greedy", "necklace"]), max_size=2),
    messages=st.lists(st.sampled_from([1, 2, 7, "degree", "best"]), max_size=3),
    copies=st.lists(st.sampled_from([1, 2, "degree"]), min_size=1, max_size=3),
    faults=st.lists(st.sampled_from(["none", "1 node", "2 links"]), min_size=1, max_size=3),
    seed=st.lists(st.integers(0, 99), min_size=1, max_size=3),
    message_bytes=st.lists(st.integers(1, 10**6).map(Fraction), min_size=1, max_size=2),
    t_s=st.lists(st.sampled_from([3, 100]).map(Fraction), min_size=1, max_size=1),
)


@given(grids)
def test_a_grid_has_as_many_points_as_there_are_combinations_of_values_on_its_axes(
    grid: Grid,
) -> None:
    points = grid.points()
    varied = ("topology", "algorithm", "ports", "segments", "message_bytes", "t_s", "t_c")
    assert len(points) == len(set(points)) == prod(len(grid.axes[axis]) for axis in varied)


def expected_points(grid: Grid, spec: str, name: str, m: Fraction) -> set[tuple[object, ...]]:
    """Return the points of a grid that are expected for one topology, algorithm and message size.

    The collective is allgather. Each point is given by its number of segments or messages, and by
    its copies, base and faults.
    """
    network, algorithm = topology(spec), find_algorithm("allgather", name)
    machine = costs.Machine(grid.axes["t_s"][0], Fraction(1))
    lots = {
        resolve_faults(network, words, seed)
        for words, seed in product(grid.axes["faults"], grid.axes["seed"])
    }
    found = set[tuple[object, ...]]()
    for x in grid.axes["copies"] if name == "edge-disjoint" else (1,):
        copies = network.degree if x == "degree" else int(x)
        for share in (grid.axes["messages"] or (1,)) if algorithm.split_argument else (1,):
            p = network.degree if share == "degree" else share
            if share == "best":
                given = {"copies": copies} if name == "edge-disjoint" else {}
                p = costs.optimal_pieces(network, "allgather", name, "all", m, machine, **given)[1]
            trees = grid.axes["base"] or ("greedy",)
            for tree in trees if name == "dimension-change" else (None,):
                found |= {(p, copies, tree, lot) for lot in lots}
    return found


@few
@given(wide)
def test_an_axis_of_a_grid_applies_only_to_algorithms_with_this_argument(
    grid: Grid,
) -> None:
    points = grid.points()
    assert len(points) == len(set(points))
    found = defaultdict[tuple[Any, ...], set[tuple[object, ...]]](set)
    for point in points:
        problem = (point.topology, point.algorithm, point.message_bytes)
        found[problem].add((point.segments, point.copies, point.base, point.faults))
    problems = product(*(grid.axes[axis] for axis in ("topology", "algorithm", "message_bytes")))
    assert found == {problem: expected_points(grid, *problem) for problem in problems}
    assert {point.seed for point in points if point.faults} <= set(grid.axes["seed"])
    assert {point.seed for point in points if not point.faults} <= {0}


@few
@given(st.one_of(grids, wide))
def test_points_of_a_grid_that_share_a_schedule_are_adjacent(grid: Grid) -> None:
    structures = [point.structure for point in grid.points()]
    runs = 1 + sum(one != other for one, other in pairwise(structures))
    assert runs == len(set(structures)) == len(group_by_structure(grid.points()))


def test_experiment_points_differ_by_seed_only_if_faults_are_drawn_at_random() -> None:
    grid = Grid({
        "topology": "S4", "algorithm": "edge-disjoint", "message_bytes": 1, "seed": [1, 2, 3],
        "faults": ["none", "2134", "1 node"],
    })  # fmt: skip
    seeds = {
        words: [point.seed for point in grid.points() if point.faults == words]
        for words in ((), ("2134",))
    }
    assert seeds == {(): [0], ("2134",): [0]}
    assert sorted(point.seed for point in grid.points()) == [0, 0, 1, 2, 3]


def test_all_algorithms_get_the_same_faults_for_the_same_seed() -> None:
    """Faults do not depend on the schedule, so algorithms with the same seed can be compared."""
    grid = Grid({
        "topology": "S5", "algorithm": ["edge-disjoint", "multiple", "greedy"], "message_bytes": 1,
        "seed": [4, 5], "faults": "2 nodes",
        "copies": [1, 3], "ports": "all",
    })  # fmt: skip
    lots = {(point.seed, point.faults) for point in grid.points()}
    assert sorted(seed for seed, _ in lots) == [4, 5]
    assert len({faults for _, faults in lots}) == 2


STARS = {"topology": "S4", "message_bytes": 1}


@pytest.mark.whole
@pytest.mark.parametrize(
    ("axes", "attributes", "expected"),
    [
        # The segments also set the number of messages if a grid has no messages.
        (
            {"algorithm": ["multiple", "recursive-substar"], "segments": 2, "messages": [3, 5]},
            ("algorithm", "segments"),
            [("multiple", 2), ("recursive-substar", 3), ("recursive-substar", 5)],
        ),
        (
            {"algorithm": ["multiple", "recursive-substar"], "segments": 2},
            ("algorithm", "segments"),
            [("multiple", 2), ("recursive-substar", 2)],
        ),
        # On S_n, the word degree means n-1.
        (
            {
                "topology": ["S4", "S5", "S7"],
                "collective": "scatter",
                "algorithm": "perfectly-balanced",
                "messages": "degree",
            },
            ("topology", "segments", "messages"),
            [("S4", 3, 3), ("S5", 4, 4), ("S7", 6, 6)],
        ),
        # Without ports, each algorithm uses its default port model.
        (
            {"collective": "allgather", "algorithm": ["hamiltonian-cycle", "necklace"]},
            ("algorithm", "ports"),
            [("hamiltonian-cycle", "one"), ("necklace", "all")],
        ),
    ],
)
def test_segments_messages_and_ports_of_a_grid_are_resolved_for_each_algorithm(
    axes: dict[str, Any], attributes: tuple[str, ...], expected: list[Any]
) -> None:
    points = Grid({**STARS, **axes}).points()
    assert [tuple(getattr(point, name) for name in attributes) for point in points] == expected


def test_an_omitted_base_and_the_default_base_give_the_same_point() -> None:
    """The base is the construction whose tree the algorithm `dimension-change` changes."""
    point = {**STARS, "collective": "allgather", "algorithm": "dimension-change"}
    (plain,), (named,) = (Grid({**point, **tree}).points() for tree in ({}, {"base": "greedy"}))
    assert plain == named
    assert plain.arguments == {"base": "greedy"}


def test_the_topologies_of_a_grid_are_sorted_by_size() -> None:
    grid = Grid({"topology": ["S10", "S5", "S9"], "algorithm": "greedy", "message_bytes": 1})
    assert grid.axes["topology"] == ("S5", "S9", "S10")


def test_an_invalid_experiment_point_is_refused_with_a_hint() -> None:
    cases: list[Any] = [
        ({"topology": "S13"}, "out of range"),
        ({"ports": "two"}, "no port model 'two'"),
        ({"segments": 0}, "segments is 0, less than 1"),
        ({"message_bytes": Fraction(-1)}, "message_bytes is -1, less than 0"),
        ({"t_s": Fraction(-1)}, "t_s is -1, less than 0"),
        ({"t_c": Fraction(-1, 2)}, "t_c is -1/2, less than 0"),
        ({"t_s": Fraction(0), "t_c": Fraction(0)}, "t_s and t_c cannot both be 0"),
        ({"segments": 10**400}, "segments is out of range"),
        ({"message_bytes": Fraction(10**30 + 1)}, "message_bytes is out of range"),
        ({"t_s": Fraction(10**31)}, "t_s is out of range"),
        ({"t_c": Fraction(1, 10**31)}, "t_c is out of range"),
        ({"seed": -1}, "seed is -1, less than 0"),
        ({"faults": ("x",)}, "x"),
    ]
    for change, words in cases:
        with refused(words):
            dataclasses.replace(POINT, **change)


def test_a_grid_without_values_on_an_axis_is_refused() -> None:
    for axis in AXES:
        with pytest.raises(InputError, match=f"the grid has no value for {axis}"):
            Grid({**GRID.as_json(), axis: []})
    with pytest.raises(InputError, match="the grid has no message_bytes"):
        Grid({"topology": "S5", "algorithm": "greedy"})


GIVEN = {"topology": "S5", "algorithm": "edge-disjoint", "message_bytes": 1}


@pytest.mark.whole
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"copys": 2}, "'copys' is not an axis"),
        ({"message_bytes": "many"}, "message_bytes is 'many', which is not a valid number"),
        ({"message_bytes": "1/0"}, "message_bytes is '1/0', which is not a valid number"),
        ({"segments": 1.5}, "segments is 1.5, not an integer"),
        ({"messages": 0}, "segments is 0, less than 1"),
        ({"messages": []}, "the grid has no value for messages"),
        ({"copies": 5}, "copies is 5, but the maximum on S5 is 4"),
        ({"copies": 0}, "copies is 0"),
        ({"copies": "best"}, "copies is 'best', which is not an integer or degree"),
        ({"messages": "most"}, "messages is 'most', which is not an integer or best or degree"),
        ({"messages": True}, "messages is 'True'"),
        ({"topology": 5}, "topology is 5, which is not text"),
        ({"topology": ["S5", ["S4"]]}, "topology contains ['S4'], which is not a single value"),
        ({"algorithm": {"name": "greedy"}}, "algorithm contains"),
        ({"seed": -1}, "seed is -1, which is not a valid seed"),
        ({"seed": 2**63}, "which is not a valid seed"),
        ({"seed": 1.5}, "seed is 1.5, not an integer"),
        ({"faults": "0 nodes"}, "faults is '0 nodes', which is not a valid description of faults"),
        ({"faults": 2}, "faults is 2, which is not text"),
        ({"faults": "120 nodes"}, "S5 has fewer than 120 nodes besides the root"),
        ({"faults": "1234"}, "1234"),
        ({"faults": "12345-54321"}, "is not a link of S5"),
        ({"base": "greedy"}, "edge-disjoint has no argument 'base'"),
        ({"algorithm": "greedy", "copies": 2}, "greedy has no argument 'copies'"),
        (
            {"algorithm": ["greedy", "multiple"], "copies": 2},
            "neither greedy nor multiple has an argument 'copies'",
        ),
        ({"algorithm": "greedy", "messages": 2}, "greedy has no argument 'messages'"),
        ({"messages": 2, "segments": 3}, "edge-disjoint has no argument 'segments'"),
        ({"messages": "best", "t_s": 0}, "no best number of segments"),
        (
            {"collective": "scatter", "algorithm": "perfectly-balanced", "messages": 6},
            "scatter by perfectly-balanced",
        ),
        (
            {"collective": "allgather", "algorithm": "dimension-change", "base": "multiple"},
            "not a single spanning tree",
        ),
        ({"ports": "one"}, "no port model 'one'"),
    ],
)
def test_an_invalid_grid_is_refused_with_a_hint(change: dict[str, object], words: str) -> None:
    with refused(words):
        Grid({**GIVEN, **change})


def test_a_grid_of_too_many_points_is_refused_before_they_are_built() -> None:
    """A hundred million points would take minutes and fill the memory."""
    axis = list(range(1, 10_001))
    with refused("100,000,000 points", exit_code=7):
        Grid({**GIVEN, "messages": axis, "message_bytes": axis})


def test_a_number_of_message_pieces_is_passed_to_each_algorithm_as_segments_or_messages() -> None:
    stream = make_point("S5", "broadcast", "recursive-substar", segments=4)
    exchange = make_point("S4", "alltoall", "necklace")
    for point, arguments, messages in (
        (POINT, {"segments": 4}, 1),
        (stream, {"messages": 4}, 4),
        (exchange, {}, 1),
    ):
        assert (point.arguments, point.messages) == (arguments, messages)
    with refused("has no argument 'segments' or 'messages'"):
        dataclasses.replace(exchange, segments=2)


def test_the_order_of_faults_does_not_change_an_experiment_point() -> None:
    one, other = (
        make_point("S4", "broadcast", "greedy", faults=faults, seed=4)
        for faults in (("1234-2134", "4231", "3214"), ("3214@1", "4231", "2134-1234"))
    )
    assert one == other
    assert make_point("S4", "broadcast", "greedy", seed=4).seed == 0


@few
@given(wide)
def test_the_command_of_an_experiment_point_reproduces_the_point(grid: Grid) -> None:
    """The command names the faults instead of drawing them, so its point has the seed 0."""
    for point in grid.points()[:3]:
        words = shlex.split(point.command())
        flags = dict(zip(words[6::2], words[7::2], strict=True))
        names = {"--t-s": "t_s", "--t-c": "t_c", "-m": "message_bytes"}
        axes = {names.get(flag, flag.removeprefix("--")): value for flag, value in flags.items()}
        given = dict(zip(("topology", "collective", "algorithm"), words[3:6], strict=True))
        (again,) = Grid({**given, **axes}).points()
        assert again == dataclasses.replace(point, seed=0)


def test_integers_decimals_and_fractions_are_read_as_exact_numbers() -> None:
    words = ("1024", "2.5", "23/3", 2.5)
    numbers = [1024, Fraction(5, 2), Fraction(23, 3), 2.5]
    assert [read_number(word, "message_bytes") for word in words] == numbers


def test_huge_and_malformed_numbers_are_refused() -> None:
    """Expanding an exponent of eight digits would fill the memory. The error message is short."""
    huge = ("1e5000", "1e20000000", "1e-20000000", "1" * 5000, f"1/{'1' * 5000}")
    for words in (*huge, "1_000", "inf", "\u0661"):
        with pytest.raises(
            InputError, match=r"message_bytes is '.{1,43}', which is not a valid number"
        ) as refused:
            read_number(words, "message_bytes")
        assert "10^30" in refused.value.hint


def test_the_largest_and_smallest_numbers_of_an_experiment_point_are_read_back_unchanged() -> None:
    """The command that reproduces a point can contain such values."""
    for value in [Fraction(10**30), Fraction(1, 10**30), Fraction(10**30 - 1, 10**30)]:
        point = make_point("S5", "broadcast", "multiple", "all", 1, value, value, value)
        assert point.message_bytes == read_number(str(value), "message_bytes") == value


@given(grids)
def test_the_command_of_a_grid_has_an_option_for_each_value(grid: Grid) -> None:
    """The test checks the values of four axes: topology, segments, message_bytes and t_s."""
    words = shlex.split(grid_command(grid.as_json(), "name"))
    assert words[:4] == ["starcast", "experiment", "run", "name"]
    pairs = list(zip(words[4::2], words[5::2], strict=True))
    flags = {"--topology": "topology", "--segments": "segments", "-m": "message_bytes"}
    for flag, axis in {**flags, "--t-s": "t_s"}.items():
        assert [value for name, value in pairs if name == flag] == list(map(str, grid.axes[axis]))


def test_invalid_experiment_names_are_refused() -> None:
    for name in ["multiple-S5", "a", "2026.run_1", "a.csv", "index", 200 * "a"]:
        assert check_name(name) == name
    # PostgreSQL cannot index names of thousands of characters. File names must be even shorter.
    others = ["..", "a\u202eb", "\u05d0", 201 * "a"]
    for wrong in ["17", "", "-a", "a b", "a/b", "ü", "a\n", *others, None]:
        with pytest.raises(InputError, match="is not a valid name for an experiment"):
            check_name(wrong)


def test_a_checkout_is_dirty_if_its_code_differs_from_its_revision(tmp_path: Path) -> None:
    """Changed, new and deleted code files make a checkout dirty.

    Other files do not, because they do not affect results.
    """

    def git(*words: str) -> None:
        options = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
        subprocess.run(
            ["git", "-C", str(tmp_path), *options, *words], check=True, capture_output=True
        )

    def dirty() -> object:
        return installation._revision(tmp_path)["dirty"]

    code = tmp_path / "service" / "code.py"
    new = code.with_name("new.py")
    code.parent.mkdir()
    code.write_text("a")
    (tmp_path / ".gitignore").write_text("*.pyc\n")
    assert installation._revision(tmp_path) == {"revision": None, "dirty": None}
    git("init")
    changes: list[Callable[[], object]] = [
        lambda: code.write_text("b"), lambda: new.write_text("a"), code.unlink
    ]  # fmt: skip
    for change in changes:
        git("add", "--all")
        git("commit", "--message", "all")
        assert dirty() is False
        (tmp_path / "grid.toml").write_text(str(change))
        code.with_name("code.pyc").write_text("a")
        assert dirty() is False
        change()
        assert dirty() is True
