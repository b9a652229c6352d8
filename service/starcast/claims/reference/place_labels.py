"""Labels of nodes and directed links (``tail -> head``) for the places of a `ClaimCheck`."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import ObjectCache
from starcast.collectives.model import Schedule
from starcast.topologies import Topology


def node_labels(topology: Topology, nodes: NDArray[np.integer]) -> Callable[[int], str]:
    """Return a function from index i to the label of the i-th of some nodes."""
    return lambda i: topology.label(int(nodes[i]))


def link_label(topology: Topology, tail: int | np.integer, head: int | np.integer) -> str:
    """Return the label of a directed link, such as ``123 -> 213``."""
    return f"{topology.label(int(tail))} -> {topology.label(int(head))}"


def outgoing_links(objects: ObjectCache, topology: Topology) -> Callable[[int, int], str]:
    """Return a function from indices of an array ``[nodes, ports]`` to the outgoing link."""
    neighbours = objects.neighbours(topology.spec)
    return lambda node, port: link_label(topology, node, neighbours[port, node])


def links_by_port(objects: ObjectCache, topology: Topology) -> Callable[[int, int], str]:
    """Return a function from indices of an array ``[ports, nodes]`` to the outgoing link."""
    neighbours = objects.neighbours(topology.spec)
    return lambda port, node: link_label(topology, node, neighbours[port, node])


def row_links(schedule: Schedule) -> Callable[[int], str]:
    """Return a function from i to the directed link that the i-th row of a schedule crosses."""
    return lambda i: link_label(schedule.topology, schedule.sender[i], schedule.receiver[i])
