"""Labels of nodes and directed links (``tail -> head``) for the places of a `ClaimCheck`."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import CachedTopology
from starcast.collectives.model import Schedule
from starcast.topologies import Topology


def node_labels(network: CachedTopology, nodes: NDArray[np.integer]) -> Callable[[int], str]:
    """Return a function from index i to the label of the i-th of some nodes."""
    return lambda i: network.label(int(nodes[i]))


def column_labels(network: CachedTopology) -> Callable[[int, int], str]:
    """Return a function from indices of an array ``[.., nodes]`` to the label of the node."""
    return lambda _, node: network.label(node)


def other_nodes(network: CachedTopology) -> Callable[[int], str]:
    """Return a function from index i to the label of the i-th node without the identity."""
    return lambda i: network.label(i + 1)


def link_label(network: CachedTopology | Topology, tail: int, head: int) -> str:
    """Return the label of a directed link, such as ``123 -> 213``."""
    return f"{network.label(int(tail))} -> {network.label(int(head))}"


def outgoing_links(network: CachedTopology) -> Callable[[int, int], str]:
    """Return a function from indices of an array ``[nodes, ports]`` to the outgoing link."""
    return lambda node, port: link_label(network, node, network.neighbours[port, node])


def links_by_port(network: CachedTopology) -> Callable[[int, int], str]:
    """Return a function from indices of an array ``[ports, nodes]`` to the outgoing link."""
    return lambda port, node: link_label(network, node, network.neighbours[port, node])


def row_links(schedule: Schedule) -> Callable[[int], str]:
    """Return a function from i to the directed link that the i-th row of a schedule crosses."""
    return lambda i: link_label(schedule.topology, schedule.sender[i], schedule.receiver[i])
