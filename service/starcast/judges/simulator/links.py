"""Directed links as numbers, and the check that every row names an existing link and unit."""

import numpy as np
from numpy.typing import NDArray

from starcast.judges.simulator.rows import Column, Indices, Mask, Rows, Violation
from starcast.topologies import Topology

_TREE_NUMBERS = 256  # of a schedule without a forest: the column is uint8


class Links:
    """Directed links, numbered by port and sender; ports in the topology's order.

    The numbers of ports that do not exist are negative.
    """

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.count = topology.degree * topology.nodes
        # Ports are uint8, so there are 256 of them; those that do not exist give negative numbers.
        self._first = np.full(256, -self.count, dtype=np.int64)
        self._first[list(topology.ports)] = np.arange(topology.degree) * topology.nodes

    def has_port(self, port: Column) -> Mask:
        """Return whether the ports exist, bool ``[rows]``."""
        # Columns with other types can have larger ports, which are clipped to one that does not
        # exist.
        return np.asarray(np.take(self._first, port, mode="clip") >= 0)

    def port_index(self, port: Column) -> Indices:
        """Return the index of each port in the topology's order."""
        return np.asarray(np.take(self._first, port) // self.topology.nodes)

    def number(self, sender: Column, port: Column) -> Indices:
        """Return the number of each sender's directed link over its port, int64 ``[rows]``."""
        number: Indices = np.take(self._first, port, mode="clip")
        number += sender
        return number


class Receivers:
    """The nodes at the other ends of directed links."""

    def __init__(self, topology: Topology, rows: int) -> None:
        self.links = Links(topology)
        # For many rows the complete table pays off; for few rows compute only their receivers.
        self._table = topology.table().reshape(-1) if rows > topology.nodes // 8 else None

    def of(self, sender: Column, port: Column) -> NDArray[np.int32]:
        """Return the receivers, int32 ``[rows]``; arbitrary for nodes and ports out of range."""
        if self._table is not None:
            return np.take(self._table, self.links.number(sender, port), mode="clip")
        topology = self.links.topology
        known_port = np.where(self.links.has_port(port), port, topology.ports[0]).astype(np.uint8)
        return topology.step(known_port, np.clip(sender, 0, topology.nodes - 1))


def find_invalid_address(rows: Rows) -> Violation | None:
    """Return the first row with an invalid step, sender, port, receiver, unit or tree."""
    if len(rows) and rows.step[0] < 1:
        return rows.violation(0, "steps count from 1")
    topology = rows.schedule.topology
    units = rows.schedule.units
    forest = rows.schedule.forest
    trees = _TREE_NUMBERS if forest is None else forest.trees
    receivers = Receivers(topology, len(rows))
    for batch in rows.batches(len(rows)):
        sender = rows.sender[batch]
        port = rows.port[batch]
        wrong_receiver = receivers.of(sender, port) != rows.receiver[batch]
        violation = rows.first_violation(
            batch.start,
            (_out_of_range(sender, topology.nodes), "the sender is not a node"),
            (~receivers.links.has_port(port), "the sender has no such port"),
            (wrong_receiver, "the receiver is not across that port"),
            (_out_of_range(rows.unit[batch], units), f"the collective has units 0 to {units - 1}"),
            (
                _out_of_range(rows.tree[batch], trees),
                f"the forest has trees 0 to {trees - 1}, and the row names another",
            ),
        )
        if violation:
            return violation
    return None


def _out_of_range(column: Column, count: int) -> Mask:
    return (column < 0) | (column >= count)
