"""Experiment designs (unions of grids), their TOML files and errors, and example experiments."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.collectives import algorithms
from starcast.costs.paper_tables import paper_tables
from starcast.experiments.design import Design, Grid, as_toml, commands, examples, read_design
from starcast.experiments.execution import BYTES_PER_ROW, required_memory
from starcast.support.errors import InputError
from starcast.topologies import topology
from support.examples import max_examples
from support.meeting import refused

GIVEN = {"topology": "S4", "algorithm": "multiple", "message_bytes": [1, "23/3"]}
TABLE = 'topology = "S4"\nalgorithm = "multiple"\nmessage_bytes = 1\n'

axes = st.fixed_dictionaries(
    {
        "topology": st.lists(st.sampled_from(["S3", "S4"]), min_size=1),
        "algorithm": st.lists(st.sampled_from(["greedy", "edge-disjoint"]), min_size=1).map(
            lambda names: [*names, "edge-disjoint"]
        ),
        "message_bytes": st.lists(
            st.fractions(0, 99, max_denominator=9).map(str), min_size=1, max_size=2
        ),
    },
    optional={
        "messages": st.lists(st.sampled_from([1, 3, "best", "degree"]), min_size=1),
        "copies": st.lists(st.sampled_from([1, 2]), min_size=1),
        "faults": st.lists(st.sampled_from(["none", "2 links"]), min_size=1),
        "seed": st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=2),
    },
)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
designs = st.builds(
    Design, st.lists(axes.map(Grid), min_size=1, max_size=3).map(tuple), words, words
)


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], str]:
    """A function that writes a design file and returns its path."""

    def write(text: str) -> str:
        path = tmp_path / "own.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@max_examples(20)
@given(designs)
def test_an_experiment_design_is_read_back_unchanged_from_json_and_from_toml(
    design: Design,
) -> None:
    assert Design.from_json(design.as_json()) == design
    assert Design.from_json(tomllib.loads(as_toml(design.as_json()))) == design


@max_examples(20)
@given(designs)
def test_the_points_of_a_design_are_the_union_of_its_grids_without_duplicates(
    design: Design,
) -> None:
    points = design.points()
    assert len(points) == len(set(points))
    assert set(points) == set().union(*(grid.points() for grid in design.grids))
    assert sorted(points) == sorted(point for group in design.groups for point in group)


def test_a_design_stored_at_database_revision_0001_is_read() -> None:
    """Designs of revision 0001 have one collective, and no axes for copies, faults or seeds."""
    old = {
        "collective": "broadcast", "topology": ["S4"], "ports": ["all"],
        "algorithm": ["multiple", "recursive-substar"], "segments": [1, 4],
        "message_bytes": ["64"], "t_s": ["100"], "t_c": ["1"],
    }  # fmt: skip
    assert [(point.algorithm, point.segments) for point in Design.from_json(old).points()] == [
        ("multiple", 1), ("multiple", 4), ("recursive-substar", 1), ("recursive-substar", 4),
    ]  # fmt: skip


def test_a_design_file_has_one_or_several_grids_and_may_have_a_title(
    file: Callable[[str], str],
) -> None:
    one = read_design(file(f'title = "One"\ndescription = """\nTwo\nlines"""\n{TABLE}'))
    assert (one.title, one.description, len(one.grids)) == ("One", "Two\nlines", 1)
    two = read_design(file(f"[[grid]]\n{TABLE}[[grid]]\n{TABLE.replace('S4', 'S3')}"))
    assert [point.topology for point in two.points()] == ["S4", "S3"]


def test_an_option_replaces_its_axis_in_every_grid_of_a_design_file(
    file: Callable[[str], str],
) -> None:
    named = file(f"[[grid]]\n{TABLE}[[grid]]\n{TABLE.replace('S4', 'S3')}")
    for change, expected in (
        ({"message_bytes": ["9"]}, [("S4", 9), ("S3", 9)]),
        ({"topology": ["S5"]}, [("S5", 1)]),
    ):
        points = read_design(named, change).points()
        assert [(point.topology, int(point.message_bytes)) for point in points] == expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{TABLE}colour = 1", "own.toml: 'colour' is not an axis"),
        (
            f"[[grid]]\n{TABLE}[[grid]]\n{TABLE}copys = 1",
            "own.toml: grid 2: 'copys' is not an axis",
        ),
        (f"[[grid]]\n{TABLE}[[grid]]\n", "own.toml: grid 2: the grid has no topology"),
        (f"{TABLE}ports = true", "own.toml: ports is True, which is not text"),
        (f"{TABLE}[ports]\nall = 1", "own.toml: ports contains {'all': 1}"),
        (f"{TABLE}t_s = 1979-05-27", "own.toml: t_s is '1979-05-27', which is not a valid number"),
        (f"{TABLE}[[grid]]\n{TABLE}", "own.toml: 'topology' is outside the [[grid]] tables"),
        (f"colour = 1\n[[grid]]\n{TABLE}", "own.toml: 'colour' is not a known key"),
        ("", "own.toml: the grid has no topology"),
        ("grid = []", "own.toml: 'grid' is not a list of one or more tables"),
        (f"[grid]\n{TABLE}", "own.toml: 'grid' is not a list of one or more tables"),
        ("grid = 3", "own.toml: 'grid' is not a list of one or more tables"),
        (f"title = 3\n{TABLE}", "own.toml: title is 3, which is not text"),
        (f"{TABLE}message_bytes = 2", "own.toml cannot be read as TOML: "),
        ("message_bytes = ", "own.toml cannot be read as TOML: "),
        (f"message_bytes = {'[' * 5_000}{']' * 5_000}", "own.toml cannot be read as TOML: "),
        (f"message_bytes = {'9' * 5_000}", "own.toml cannot be read as TOML: "),
    ],
)
def test_the_error_for_an_invalid_design_file_names_file_grid_and_key(
    file: Callable[[str], str], text: str, sentence: str
) -> None:
    with refused(sentence):
        read_design(file(text))


def test_the_error_for_an_unknown_key_in_a_design_file_suggests_a_known_key(
    file: Callable[[str], str],
) -> None:
    with pytest.raises(InputError) as refusal:
        read_design(file(f"[[grid]]\n{TABLE}segmnets = 2"))
    assert refusal.value.hint.startswith("did you mean 'segments'?")


def test_a_missing_or_binary_design_file_is_refused(tmp_path: Path) -> None:
    with refused("the grid nowhere.toml cannot be read: No such file"):
        read_design("nowhere.toml")
    with refused("cannot be read: Is a directory"):
        read_design(str(tmp_path))
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with refused("binary.toml cannot be read as TOML"):
        read_design(str(tmp_path / "binary.toml"))
    with pytest.raises(InputError) as refusal:
        read_design("tseng-sheu-1997-table1")
    assert "did you mean 'tseng-sheu-1997-table-1'?" in refusal.value.hint


def test_the_command_of_a_design_has_options_for_one_grid_or_a_file_for_several_grids() -> None:
    (command,) = commands(Design.from_json(GIVEN).as_json(), "mine")
    assert command.startswith("starcast experiment run mine --collective broadcast --topology S4")
    two = Design.from_json({"grid": [GIVEN, {**GIVEN, "topology": "S3"}]})
    show, run = commands(two.as_json(), "mine")
    assert show == "starcast experiment grid mine > mine.toml"
    assert run == "starcast experiment run mine --grid mine.toml"


DESIGNS = {name: read_design(name) for name in examples()}


def test_there_is_an_example_experiment_for_every_table_of_the_papers() -> None:
    others = (
        "sheu-liaw-chen-1993 allreduce reductions any-trees execution-models best-known "
        "any-topology networks-compared star-against-hypercube crossovers-in-m "
        "price-of-fault-tolerance"
    )
    assert set(DESIGNS) == {*paper_tables(), *others.split()}


def test_every_example_experiment_has_a_title_and_states_its_duration_in_minutes() -> None:
    for design in DESIGNS.values():
        assert design.title
        assert "minute" in design.description
        assert all(len(line) <= 130 for line in design.description.splitlines())


@pytest.mark.parametrize("design", DESIGNS.values(), ids=list(DESIGNS))
def test_every_example_experiment_needs_little_time_and_memory(design: Design) -> None:
    """Each schedule needs less than 1 GB.

    All schedules of an experiment together have fewer than 100 million rows, which take 100 s.
    """
    sizes = [required_memory(group[0]) for group in design.groups]
    assert max(sizes) < 1_000_000_000
    assert sum(sizes) < 100_000_000 * BYTES_PER_ROW
    assert len(design.points()) < 2_000


def test_every_example_experiment_for_a_paper_table_includes_n_from_4_to_8() -> None:
    for name in [name for name in DESIGNS if "table" in name or "sheu-liaw" in name]:
        sizes = {topology(point.topology).n for point in DESIGNS[name].points()}
        assert sizes >= set(range(4, 9))


def test_the_example_experiments_together_run_every_algorithm() -> None:
    run = {
        (point.collective, point.algorithm)
        for design in DESIGNS.values()
        for point in design.points()
    }
    assert run == {(algorithm.collective, algorithm.name) for algorithm in algorithms()}
