"""The directed links of a topology as numbers."""

import numpy as np
from numpy.typing import NDArray

from starcast.simulator.rows import Column, Mask
from starcast.topologies import Topology

Indices = NDArray[np.int64]


class Links:
    """Directed links numbered by port and sender, ports in the topology's order; of no port of the topology, below 0."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.count = topology.degree * topology.nodes
        self._first = np.full(256, -self.count, dtype=np.int64)
        self._first[list(topology.ports)] = np.arange(topology.degree) * topology.nodes

    def exist(self, port: Column) -> Mask:
        """Whether these are ports, bool ``[rows]``."""
        return np.asarray(np.take(self._first, port, mode="clip") >= 0)

    def place(self, port: Column) -> Indices:
        """The places of ports in the topology's order."""
        return np.asarray(np.take(self._first, port) // self.topology.nodes)

    def number(self, sender: Column, port: Column) -> Indices:
        """The number of the directed link from each sender over its port, int64 ``[rows]``."""
        number: Indices = np.take(self._first, port, mode="clip")
        number += sender
        return number


class Receivers:
    """Who is at the other end of directed links."""

    def __init__(self, topology: Topology, rows: int) -> None:
        self.links = Links(topology)
        # Many rows: the whole table once, at memory speed; few: only what they need.
        self._table = topology.table().reshape(-1) if rows > topology.nodes // 8 else None

    def of(self, sender: Column, port: Column) -> NDArray[np.int32]:
        """The receivers, int32 ``[rows]``; of a node or port that does not exist, anything."""
        if self._table is not None:
            return np.take(self._table, self.links.number(sender, port), mode="clip")
        topology = self.links.topology
        known = np.where(self.links.exist(port), port, topology.ports[0]).astype(np.uint8)
        return topology.step(known, np.clip(sender, 0, topology.nodes - 1))
