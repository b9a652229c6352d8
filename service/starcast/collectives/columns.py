"""Schedules from columns that users give: plug-ins and files."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import Schedule, build_schedule
from starcast.collectives.rows import Columns, Integers
from starcast.errors import InputError
from starcast.topologies import Topology

#: Columns that users must give, and what they may give besides.
REQUIRED = ("step", "sender", "port", "unit")
OPTIONAL = ("receiver", "tree", "units", "packets", "symmetric", "forest")


def schedule_from_columns(columns: Mapping[str, Any], **declared: Any) -> Schedule:
    """Return the schedule of some columns, in any order; missing ones are derived.

    Args:
        columns: see `algorithm`.
        declared: the other parameters of `Schedule`.

    Raises:
        InputError: a column is missing, unknown, of another length or not of integers, or a row
            names a node or a port that does not exist.
    """
    missing = [name for name in REQUIRED if name not in columns]
    unknown = [name for name in columns if name not in (*REQUIRED, *OPTIONAL)]
    if missing or unknown:
        problem = f"has no '{missing[0]}'" if missing else f"has the unknown '{unknown[0]}'"
        raise InputError(
            f"the mapping of columns {problem}",
            hint=f"give {', '.join(REQUIRED)}; {', '.join(OPTIONAL)} are optional",
        )
    arrays: dict[str, Integers] = {name: _check_column(name, columns[name]) for name in REQUIRED}
    topology: Topology = declared["topology"]
    if "receiver" in columns:
        arrays["receiver"] = _check_column("receiver", columns["receiver"])
    else:
        _check_places(topology, arrays["sender"], arrays["port"])
        arrays["receiver"] = topology.step(arrays["port"].astype(np.uint8), arrays["sender"])
    arrays["tree"] = _check_column("tree", columns.get("tree", np.zeros_like(arrays["step"])))
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(
            f"the columns of a schedule differ in length: {lengths}",
            hint="give each row a value in every column",
        )
    rows = Columns(**arrays)
    units = columns.get("units", int(rows.unit.max(initial=-1)) + 1)
    packets = columns.get("packets")
    return build_schedule(
        rows,
        units=int(units),
        packets=_has_packets(rows) if packets is None else bool(packets),
        symmetric=bool(columns.get("symmetric", False)),
        forest=columns.get("forest"),
        **declared,
    )


def _check_column(name: str, values: Any) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(
            f"the column '{name}' of a schedule has dtype {array.dtype}", hint="give integers"
        )
    if array.ndim != 1:
        raise InputError(
            f"the column '{name}' of a schedule has {array.ndim} dimensions",
            hint="give one value per row",
        )
    return array.astype(np.int64)


def _check_places(topology: Topology, sender: Integers, port: Integers) -> None:
    if len(sender) != len(port):
        return  # the comparison of all lengths reports it
    if len(sender):
        topology.node(int(sender.min()))
        topology.node(int(sender.max()))
    wrong = np.flatnonzero(~np.isin(port, topology.ports))
    if len(wrong):
        raise InputError(
            f"row {int(wrong[0])} of the schedule has the port {int(port[wrong[0]])}",
            hint=f"the ports of {topology.spec} are {topology.ports[0]} to {topology.ports[-1]}",
        )


def _has_packets(rows: Columns) -> bool:
    """Return whether a directed link carries several units in a step."""
    keys = np.stack([rows.step, rows.sender, rows.port])
    return bool(len(rows.step) > np.unique(keys, axis=1).shape[1])
