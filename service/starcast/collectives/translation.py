"""Translation of rows to another root or source, or to all sources at once.

Translation keeps the port of every link except the residual links of S_{n,k}, whose ports are
computed again.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.rows import Columns, Integers
from starcast.topologies import Topology
from starcast.topologies.permutations import Ranks


def translate_rows(
    topology: Topology,
    rows: Columns,
    image: Ranks,
    units_per_node: int,
    table: Ranks | None = None,
) -> Columns:
    """Return the rows after mapping every node to its image.

    Args:
        topology: the topology of the rows.
        rows: the rows of one root or source.
        image: int32 ``[nodes]``, the rank of each translated node.
        units_per_node: the units per node if the number of a unit encodes a node, which is then
            also translated; else 0.
        table: the topology's table of neighbours, to avoid computing it in every call.
    """
    sender = image[rows.sender]
    receiver = image[rows.receiver]
    port = rows.port
    if not topology.translation_keeps_ports:
        port = ports_between(topology, sender, receiver, table)
    unit = rows.unit
    if units_per_node:
        node, message = np.divmod(unit.astype(np.int64), units_per_node)
        unit = np.asarray(image[node] * units_per_node + message)
    return rows._replace(sender=sender, port=port, receiver=receiver, unit=unit)


def expand_rows(
    topology: Topology, rows: Columns, units: int, root: int = 0, units_per_node: int = 0
) -> Columns:
    """Return the rows of all sources; unit numbers of source q begin at ``q * units``."""
    count = len(rows.step)
    expanded = rows.apply(lambda column: np.empty(count * topology.nodes, _wide(column.dtype)))
    # `argsort` of a permutation is its inverse.
    to_identity = np.argsort(topology.translation(root))
    table = None if topology.translation_keeps_ports else topology.table()
    for source in range(topology.nodes):
        image = topology.translation(source)[to_identity]
        part = slice(source * count, (source + 1) * count)
        images = translate_rows(topology, rows, image, units_per_node, table)
        for name, column in expanded.present().items():
            column[part] = getattr(images, name)
        expanded.unit[part] += source * units
    return expanded


def _wide(dtype: np.dtype[Any]) -> type[np.generic]:
    """Return the dtype for a column with the rows of all sources: int32, or bool if it was bool."""
    return np.bool_ if dtype == np.bool_ else np.int32


def ports_between(
    topology: Topology, sender: Integers, receiver: Integers, table: Ranks | None = None
) -> NDArray[np.uint8]:
    """Return the port over which each sender reaches its receiver.

    Args:
        topology: the topology of the nodes.
        sender: int ``[rows]``, ranks.
        receiver: int ``[rows]``, ranks.
        table: the topology's table of neighbours, to avoid computing it in every call.

    Returns:
        uint8 ``[rows]``, 0 if the two nodes are not neighbours.
    """
    ports = np.zeros(len(sender), dtype=np.uint8)
    for row, port in enumerate(topology.ports):
        neighbours = topology.neighbours(port) if table is None else table[row]
        ports[neighbours[sender] == receiver] = port
    return ports
