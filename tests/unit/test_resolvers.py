"""The search for networks by name in the stores of all open labs."""

from types import SimpleNamespace
from typing import Any

import pytest

from starcast.support import resolvers
from starcast.support.errors import InputError, RejectedError, StarcastError, UnavailableError


class Store:
    """A store with the given networks, whose specs are keyed by name; it may be out of order."""

    def __init__(self, **specs: str) -> None:
        self.specs = specs
        self.outage: StarcastError | None = None

    def load(self, spec_or_name: str) -> Any:
        """Return the network that has the given spec or name, or None."""
        if self.outage:
            raise self.outage
        spec = self.specs.get(spec_or_name, spec_or_name)
        return SimpleNamespace(spec=spec) if spec in self.specs.values() else None


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> list[Store]:
    """The stores of all open labs: two labs, both of which have a network named ``net``."""
    stores = [Store(net="net-1", mine="mine-1"), Store(net="net-2")]
    monkeypatch.setattr(resolvers, "_resolvers", [])
    for store in stores:
        resolvers.add_resolver(store.load)
    return stores


def test_a_name_that_two_labs_give_to_different_networks_is_refused(stores: list[Store]) -> None:
    """Otherwise, an operation of one lab would use the network of the other lab."""
    with pytest.raises(InputError, match="different networks named 'net'") as refused:
        resolvers.resolve("net")
    assert refused.value.hint == "use the spec of one of them: net-1, net-2"
    assert resolvers.resolve("net-1").spec == "net-1"
    assert resolvers.resolve("mine").spec == "mine-1"
    assert resolvers.resolve("other") is None
    stores[0].specs["net"] = "net-2"
    assert resolvers.resolve("net").spec == "net-2"


@pytest.mark.parametrize("outage", [UnavailableError("stopped"), RejectedError("old schema")])
def test_a_server_that_cannot_be_used_does_not_hide_the_networks_of_another_lab(
    stores: list[Store], outage: StarcastError
) -> None:
    stores[1].outage = outage
    assert resolvers.resolve("net").spec == "net-1"
    with pytest.raises(type(outage)):
        resolvers.resolve("other")
