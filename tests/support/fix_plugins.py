"""A fixture for tests that load plug-ins, and the plug-ins that are shipped as examples."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from starcast.catalogue import plugins
from starcast.catalogue.entries import FAMILIES, Registry
from starcast.catalogue.origin import ORIGINS
from starcast.collectives.algorithm import REGISTRIES
from starcast.trees.construction import CONSTRUCTIONS

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"


def load_examples() -> None:
    """Load all plug-ins of examples/plugins."""
    plugins.load(sorted(map(str, EXAMPLES.glob("*.py"))))


def _tables() -> list[dict[Any, Any]]:
    registries: list[Registry[Any]] = [FAMILIES, CONSTRUCTIONS, *REGISTRIES.values()]
    return [ORIGINS, plugins._loaded, *(registry._entries for registry in registries)]


@contextmanager
def restored_registries() -> Iterator[Callable[[], None]]:
    """Yield a function that removes what was registered meanwhile, and call it at the end."""
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
    """Return a function that removes what the test registered; it is also called after the test."""
    with restored_registries() as forget:
        yield forget
