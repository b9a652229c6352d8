"""Records of networks in files, such as experiment files; records are checked when read."""

from collections.abc import Iterable
from typing import Annotated, Self

import pydantic

from starcast.support.json_files import StrictRecord
from starcast.topologies.families import count_nodes
from starcast.topologies.networks import Network, find_network, restore_network

_Rank = Annotated[int, pydantic.Field(ge=0, lt=2**31)]


class NetworkRecord(StrictRecord):
    """A network as written in a file, with the port of each link; see `Network.as_json`."""

    name: str
    sha256: str
    labels: Annotated[list[str], pydantic.FailFast()]
    titles: Annotated[list[str], pydantic.FailFast()]
    links: Annotated[list[tuple[_Rank, _Rank, _Rank]], pydantic.FailFast()]
    positions: Annotated[list[tuple[float, float]], pydantic.FailFast()]
    #: Files of earlier versions lack the fields endpoints, capacities, latencies and capacity_unit.
    endpoints: int | None = None
    capacities: Annotated[tuple[int, ...], pydantic.FailFast()] = ()
    latencies: Annotated[tuple[int, ...], pydantic.FailFast()] = ()
    capacity_unit: float = 1.0
    source: str
    licence: str

    @classmethod
    def of_topologies(cls, specs: Iterable[str]) -> list[Self]:
        """Return the records of all networks among the topologies with the given specs."""
        networks = [find_network(spec) for spec in sorted({*specs}) if count_nodes(spec)]
        return [cls(**network.as_json()) for network in networks if network is not None]

    def restore(self) -> Network:
        """Return the network, and register its spec in this process.

        Raises:
            StarcastError: the record is invalid, or another network is registered with its spec.
        """
        return restore_network(self.model_dump())
