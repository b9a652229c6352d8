"""A schedule moved by translation: to another root or source, and to all sources at once.

Translation keeps the port of every link but for the residual ones of S_{n,k}, whose ports are read anew.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import MOST_ROWS, Schedule
from starcast.collectives.rows import Columns, arranged
from starcast.errors import LimitError
from starcast.permutations import Ranks
from starcast.topologies import Topology
from starcast.trees import Forest
from starcast.trees.common import translate_ports

#: The collectives whose units name destinations, or, of gather, sources: those move as well.
_ADDRESSED = ("scatter", "gather", "alltoall")


def moved(schedule: Schedule, root: int) -> Schedule:
    """The schedule of the identity as that of another root or source.

    Args:
        schedule: rooted at the identity; of many sources only if it is symmetric.
        root: rank of the new one.
    """
    if root == 0:
        return schedule
    image = schedule.topology.translation(root)
    rows = _images(schedule, image)
    if schedule.collective in _ADDRESSED:
        rows = rows._replace(unit=_readdressed(schedule, image))
    return arranged(
        rows, **parameters(schedule) | {"root": root, "forest": _forest(schedule.forest, root)}
    )


def expanded(schedule: Schedule) -> Schedule:
    """A symmetric schedule written out for all sources.

    Payloads become source*M + i in an allgather, (source*N + destination)*M + i in an alltoall.

    Raises:
        LimitError: it has more rows than memory holds.
    """
    topology, rows = schedule.topology, len(schedule)
    total = rows * topology.nodes
    if total > MOST_ROWS:
        raise LimitError(
            f"{schedule.id} has {total:,} rows for all {topology.nodes:,} sources; at most {MOST_ROWS:,} are written out",
            hint="leave it symmetric, or take a smaller topology or fewer messages",
        )
    parts = Columns(*(np.empty(total, dtype=np.int32) for _ in Columns._fields))
    back = np.argsort(topology.translation(schedule.root))
    across = None if topology.translation_keeps_ports else topology.table()
    for source in range(topology.nodes):
        image = topology.translation(source)[back]
        part = slice(source * rows, (source + 1) * rows)
        for column, values in zip(parts, _images(schedule, image, across), strict=True):
            column[part] = values
        if schedule.collective in _ADDRESSED:
            parts.unit[part] = _readdressed(schedule, image)
        parts.unit[part] += source * schedule.units
    of_all = {
        "symmetric": False,
        "forest": None,
        "units": schedule.units * topology.nodes,
        "root": 0,
    }
    return arranged(parts, **parameters(schedule) | of_all)


def parameters(schedule: Schedule) -> dict[str, Any]:
    """What a schedule has beside its columns, for `arranged`."""
    names = (
        "topology",
        "collective",
        "algorithm",
        "ports",
        "units",
        "packets",
        "root",
        "arguments",
        "forest",
        "symmetric",
    )
    return {name: getattr(schedule, name) for name in names}


def _images(schedule: Schedule, image: Ranks, across: Ranks | None = None) -> Columns:
    ports = schedule.port
    sender, receiver = image[schedule.sender], image[schedule.receiver]
    if not schedule.topology.translation_keeps_ports:
        ports = port_between(schedule.topology, sender, receiver, across)
    return Columns(schedule.step, sender, ports, receiver, schedule.tree, schedule.unit)


def port_between(
    topology: Topology, sender: Ranks, receiver: Ranks, across: Ranks | None = None
) -> NDArray[np.uint8]:
    """The port over which each sender reaches its receiver, uint8 ``[rows]``; 0 where they are no neighbours.

    ``across`` is the topology's table, for those who ask more than once.
    """
    ports = np.zeros(len(sender), dtype=np.uint8)
    for row, port in enumerate(topology.ports):
        beside = topology.neighbours(port) if across is None else across[row]
        ports[beside[sender] == receiver] = port
    return ports


def _readdressed(schedule: Schedule, image: Ranks) -> NDArray[np.int64]:
    each = schedule.units // schedule.topology.nodes
    node, message = np.divmod(schedule.unit.astype(np.int64), each)
    return np.asarray(image[node] * each + message)


def _forest(forest: Forest | None, root: int) -> Forest | None:
    if forest is None:
        return None
    rows = translate_ports(forest.topology, forest.parent_port, root)
    rows.flags.writeable = False
    image = forest.topology.translation(root)
    verify_hubs = (
        None if forest.verify_hubs is None else tuple(image[list(forest.verify_hubs)].tolist())
    )
    return replace(forest, parent_port=rows, root=root, verify_hubs=verify_hubs)
