"""A fixture for tests that load plug-ins, and the plug-ins that are shipped as examples."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from starcast import plugins
from starcast.collectives.catalogue import REGISTRIES
from starcast.plugins import ORIGINS, loading
from starcast.topologies.families import FAMILIES
from starcast.trees.catalogue import CONSTRUCTIONS

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"


def load_examples() -> None:
    """Load all plug-ins of examples/plugins."""
    plugins.load(sorted(map(str, EXAMPLES.glob("*.py"))))


@pytest.fixture
def registries() -> Iterator[None]:
    """Forget after the test what it registered."""
    tables: list[dict[Any, Any]] = [FAMILIES, ORIGINS, loading._loaded, CONSTRUCTIONS._entries]
    tables += [registry._entries for registry in REGISTRIES.values()]
    known = [dict(table) for table in tables]
    yield
    for table, entries in zip(tables, known, strict=True):
        table.clear()
        table.update(entries)
