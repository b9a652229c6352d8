"""The data of the explorer: facts as JSON values, and arrays as compressed text.

The facts have the names of the HTTP API, so that the same scripts read both.
"""

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.collectives import Schedule
from starcast.collectives.catalogue import find
from starcast.collectives.model import COLUMNS
from starcast.drawing.layouts import DESCRIPTIONS, layout, layouts
from starcast.errors import InputError
from starcast.support.spec_syntax import format_spec
from starcast.topologies import Topology
from starcast.trees import Forest

Facts = dict[str, Any]

#: Families whose labels the scripts compute from the ranks.
_LABELLED_FAMILIES = ("star", "nk-star", "hypercube")


def describe_topology(topology: Topology) -> Facts:
    """Return the facts of a topology that the explorer shows, with the names of its layouts."""
    names = layouts(topology)
    return {
        "spec": topology.spec,
        "family": topology.family,
        "n": topology.n,
        "k": topology.k,
        "node_count": topology.nodes,
        "port_count": topology.degree,
        "ports": list(topology.ports),
        "reverse_ports": [topology.reverse_port(port) for port in topology.ports],
        "diameter": topology.diameter,
        "translation_keeps_ports": topology.translation_keeps_ports,
        "layouts": [{"name": name, "description": DESCRIPTIONS[name]} for name in names],
    }


def describe_forest(forest: Forest) -> Facts:
    """Return the facts of a forest that the explorer shows."""
    return {
        "id": forest.id,
        "name": forest.id.partition(":")[2] if forest.root else _construction(forest),
        "root": forest.root,
        "tree_count": forest.trees,
    }


def describe_schedule(schedule: Schedule) -> Facts:
    """Return the facts of a schedule that the explorer shows."""
    return {
        "id": schedule.id,
        "name": _short_name(schedule),
        "collective": schedule.collective,
        "algorithm": schedule.algorithm,
        "ports": schedule.ports,
        "root": schedule.root,
        "unit_count": schedule.units,
        "steps": schedule.steps,
        "row_count": len(schedule),
        "symmetric": schedule.symmetric,
        "forest_id": schedule.forest_id,
    }


def pack_topology(topology: Topology) -> Facts:
    """Return the facts of a topology with its neighbours and the positions of all layouts."""
    facts: Facts = {
        **describe_topology(topology),
        "neighbors": pack(neighbour_table(topology)),
        "positions": {name: pack(layout(topology, name)) for name in layouts(topology)},
    }
    counts_from_one = topology.label(0) == topology.stored_label(0)
    if topology.family not in _LABELLED_FAMILIES or not counts_from_one:
        facts["labels"] = topology.labels().tolist()
    return facts


def pack_forest(forest: Forest) -> Facts:
    """Return the facts of a forest with its array."""
    return {**describe_forest(forest), "parent_ports": pack(forest.parent_port)}


def pack_schedule(schedule: Schedule) -> Facts:
    """Return the facts of a schedule with its rows."""
    return {**describe_schedule(schedule), "rows": pack(schedule_rows(schedule))}


def neighbour_table(topology: Topology) -> NDArray[Any]:
    """Return the neighbours of all nodes, int32 ``[nodes, ports]``."""
    return np.ascontiguousarray(topology.table().T)


def schedule_rows(schedule: Schedule) -> NDArray[Any]:
    """Return the columns of a schedule, int32 ``[columns, rows]``, in the order of `COLUMNS`."""
    return np.stack([getattr(schedule, name).astype(np.int32) for name in COLUMNS])


def pack(array: NDArray[Any]) -> Facts:
    """Return an array as dtype, shape and its little-endian bytes: deflated, in base64."""
    little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
    data = base64.b64encode(zlib.compress(little.tobytes(), 9)).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def _short_name(schedule: Schedule) -> str:
    """Return collective and algorithm, with arguments and port model that are not the defaults."""
    arguments = dict(schedule.arguments)
    ports = schedule.ports
    try:
        algorithm = find(schedule.collective, schedule.algorithm)
        defaults = algorithm.resolve_arguments(schedule.topology, {})
    except InputError:  # rows of a file, or an argument without a default
        defaults = {}
    else:
        ports = algorithm.resolve_ports(None)
    arguments = {name: value for name, value in arguments.items() if defaults.get(name) != value}
    name = f"{schedule.collective}:{format_spec(schedule.algorithm, arguments)}"
    return name if ports == schedule.ports else f"{name}:{schedule.ports}"


def _construction(forest: Forest) -> str:
    return format_spec(forest.construction, forest.arguments)
