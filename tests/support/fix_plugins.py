"""Fixtures that load plug-ins and undo their registrations."""

import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from starcast.catalogue import packs, plugins
from starcast.catalogue.entries import FAMILIES, Registry
from starcast.catalogue.plugins import ORIGINS
from starcast.claims.pack_file import write_template
from starcast.collectives.algorithm import REGISTRIES
from starcast.trees.construction import CONSTRUCTIONS
from support.irregular import PLUGIN

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"


def load_examples() -> None:
    """Load all plug-ins in examples/plugins."""
    plugins.load(sorted(map(str, EXAMPLES.glob("*.py"))))


def _tables() -> list[dict[Any, Any]]:
    registries: list[Registry[Any]] = [FAMILIES, CONSTRUCTIONS, *REGISTRIES.values()]
    loaded: list[dict[Any, Any]] = [plugins._loaded, packs._loaded, packs.faults]
    return [ORIGINS, *loaded, *(registry._entries for registry in registries)]


@contextmanager
def restored_registries() -> Iterator[Callable[[], None]]:
    """Yield a function that undoes the registrations of the context; it also runs at the end."""
    known = [dict(table) for table in _tables()]

    def forget() -> None:
        for table, entries in zip(_tables(), known, strict=True):
            table.clear()
            table.update(entries)

    try:
        yield forget
    finally:
        forget()


@pytest.fixture
def registries() -> Iterator[Callable[[], None]]:
    """A function that undoes the registrations made by the test; it also runs after the test."""
    with restored_registries() as forget:
        yield forget


@pytest.fixture
def pack(tmp_path: Path, registries: Callable[[], None]) -> Path:
    """The folder of a new paper pack; the test may load it."""
    del registries
    write_template(tmp_path / "mypaper")
    return tmp_path / "mypaper"


@pytest.fixture
def irregular() -> Iterator[None]:
    """Load the plug-in with topologies without translations."""
    with restored_registries():
        plugins.load([str(PLUGIN)])
        yield


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], None]:
    """Return a function that loads a plug-in with a given body from the file mine.py."""

    def write_and_load(body: str) -> None:
        path = tmp_path / "mine.py"
        path.write_text(f"import starcast\n{textwrap.dedent(body)}", encoding="utf-8")
        plugins.load([str(path)])

    return write_and_load
