"""How nodes and directed links are named at a place, for `See`: by labels, a link as ``tail -> head``."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from starcast.claims.lab import Lab
from starcast.collectives.model import Schedule
from starcast.topologies import Topology


def labelled(where: Topology, nodes: NDArray[np.integer]) -> Callable[[int], str]:
    """The label of the i-th of some nodes."""
    return lambda i: where.label(int(nodes[i]))


def link(where: Topology, tail: int | np.integer, head: int | np.integer) -> str:
    """A directed link."""
    return f"{where.label(int(tail))} -> {where.label(int(head))}"


def leaving(lab: Lab, where: Topology) -> Callable[[int, int], str]:
    """The directed link that leaves a node over the port of an index, for arrays ``[nodes, ports]``."""
    across = lab.neighbours(where.spec)
    return lambda node, port: link(where, node, across[port, node])


def by_port(lab: Lab, where: Topology) -> Callable[[int, int], str]:
    """The same for arrays ``[ports, nodes]``."""
    across = lab.neighbours(where.spec)
    return lambda port, node: link(where, node, across[port, node])


def of_row(made: Schedule) -> Callable[[int], str]:
    """The directed link that the i-th row of a schedule crosses."""
    return lambda i: link(made.topology, made.sender[i], made.receiver[i])
