"""The plug-ins of the stored artifacts, for all tests of the packs."""

from collections.abc import Iterator

import pytest

from support.packs.stored_data import stored_plugins


@pytest.fixture(scope="module", autouse=True)
def plugins() -> Iterator[None]:
    """Register what the oracles and queries need, while the tests of a module run."""
    with stored_plugins():
        yield
