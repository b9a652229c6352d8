"""Schedules from columns that users give: plug-ins, arrays and files."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import (
    ADDRESSED,
    MULTI_SOURCE,
    Schedule,
    build_schedule,
    check_collective,
    check_combine,
)
from starcast.collectives.rows import DTYPES, Columns, Integers
from starcast.support.errors import InputError
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology, as_topology
from starcast.trees import Forest

#: Columns that users must give, and what they may give besides.
REQUIRED = ("step", "sender", "port", "unit")
OPTIONAL = ("receiver", "tree", "combine", "units", "packets", "symmetric", "forest")
#: The name of the algorithm of a schedule that is given by its rows.
ALGORITHM = "rows"

#: Fewer labels are ranked one by one, and so are those of topologies with more nodes: the table of
#: all labels takes 4 bytes per node and symbol.
_FEW, _TABLE = 100, 10_000_000

_NO_ARGUMENTS: Mapping[str, int | str] = MappingProxyType({})


def schedule_from_columns(
    columns: Mapping[str, Any],
    topology: Topology | str,
    collective: Collective,
    algorithm: str = ALGORITHM,
    ports: Ports = "all",
    root: int | str = 0,
    arguments: Mapping[str, int | str] = _NO_ARGUMENTS,
) -> Schedule:
    """Return the schedule of some columns, in any order of the rows; missing ones are derived.

    Nothing in it is trusted: `starcast.simulate` judges it.

    Args:
        columns: the columns ``step``, ``sender``, ``port`` and ``unit`` of equal length, as in
            `Schedule`; nodes are ranks, or labels as text. ``receiver`` follows from sender and
            port, ``tree`` is 0. Reductions also need ``combine`` (bool, or 0 and 1). The mapping
            may also hold ``units`` (their number; by default the
            least that the collective can have with these units), ``packets`` (by default whether a
            directed link carries several units in a step), ``symmetric`` and ``forest``.
        topology: the topology or its spec.
        collective: the name of the collective.
        algorithm: the name of the algorithm.
        ports: the port model: ``all`` or ``one``.
        root: rank or label of the root.
        arguments: the arguments of the algorithm.

    Raises:
        InputError: a column is missing, unknown, of another length, not of integers or out of
            range, or a row names a node or a port that does not exist.

    Example:
        >>> columns = {"step": [1, 2], "sender": ["12", "21"], "port": [2, 2], "unit": [0, 0]}
        >>> starcast.simulate(starcast.schedule_from_columns(columns, "S2", "broadcast")).complete
        True
    """
    missing = [name for name in REQUIRED if name not in columns]
    unknown = [name for name in columns if name not in (*REQUIRED, *OPTIONAL)]
    if missing or unknown:
        problem = f"has no '{missing[0]}'" if missing else f"has the unknown '{unknown[0]}'"
        raise InputError(
            f"the mapping of columns {problem}",
            hint=f"give {', '.join(REQUIRED)}; {', '.join(OPTIONAL)} are optional",
        )
    topology = as_topology(topology)
    check_collective(collective)
    arrays = {name: _check_column(topology, name, columns[name]) for name in REQUIRED}
    if "receiver" in columns:
        arrays["receiver"] = _check_column(topology, "receiver", columns["receiver"])
    else:
        _check_places(topology, arrays["sender"], arrays["port"])
        receiver = topology.step(arrays["port"].astype(np.uint8), arrays["sender"])
        arrays["receiver"] = receiver.astype(np.int64)
    tree = columns.get("tree", np.zeros_like(arrays["step"]))
    arrays["tree"] = _check_column(topology, "tree", tree)
    combine = columns.get("combine")
    if combine is not None:
        arrays["combine"] = _check_column(topology, "combine", combine)
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise _unequal(lengths)
    forest = columns.get("forest")
    if forest is not None and not isinstance(forest, Forest):
        raise InputError(
            f"the forest of a schedule is a value of type {type(forest).__name__}",
            hint="give a Forest, or omit it",
        )
    values: dict[str, Any] = {**arrays}
    rows = Columns(**values)
    check_combine(collective, rows.combine)
    symmetric = bool(columns.get("symmetric", False))
    units = columns.get("units")
    packets = columns.get("packets")
    return build_schedule(
        rows,
        topology=topology,
        collective=collective,
        algorithm=algorithm,
        ports=ports,
        root=root,
        arguments=arguments,
        units=_least_units(topology, collective, symmetric, rows) if units is None else int(units),
        packets=_has_packets(rows) if packets is None else bool(packets),
        symmetric=symmetric,
        forest=forest,
    )


def rank_labels(topology: Topology, texts: Collection[str]) -> dict[str, int]:
    """Return the ranks of the texts that are labels of a topology."""
    length = len(topology.label(0))
    candidates = [text for text in texts if len(text) == length and text.isascii()]
    if len(candidates) < _FEW or topology.nodes > _TABLE:
        return {text: rank for text in candidates if (rank := _rank(topology, text)) is not None}
    # Ranks are the places of labels in lexicographic order.
    labels = topology.labels()
    lower = np.array([text.lower() for text in candidates])
    places = np.minimum(np.searchsorted(labels, lower), topology.nodes - 1)
    found = zip(candidates, places.tolist(), (labels[places] == lower).tolist(), strict=True)
    return {text: place for text, place, is_label in found if is_label}


def _rank(topology: Topology, text: str) -> int | None:
    try:
        return topology.rank(text)
    except InputError:
        return None


def _check_column(topology: Topology, name: str, values: Any) -> NDArray[np.int64]:
    """Return a column as int64 after checking its type, shape and range; labels become ranks."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(
            f"the column '{name}' of a schedule has {array.ndim} dimensions",
            hint="give one value per row",
        )
    if array.dtype.kind == "U" and name in ("sender", "receiver"):
        labels, places = np.unique(array, return_inverse=True)
        texts = labels.tolist()
        known = rank_labels(topology, texts)
        ranks = [known[text] if text in known else topology.rank(text) for text in texts]
        return np.asarray(ranks, dtype=np.int64)[places]
    if name == "combine" and array.dtype.kind == "b":
        array = array.astype(np.int64)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(
            f"the column '{name}' of a schedule has dtype {array.dtype}", hint="give integers"
        )
    least = 1 if name == "step" else 0
    most = 1 if name == "combine" else int(np.iinfo(DTYPES[name]).max)
    if array.size and (int(array.min()) < least or int(array.max()) > most):
        wrong = int(array.min()) if int(array.min()) < least else int(array.max())
        raise InputError(
            f"the column '{name}' of a schedule has the value {wrong}",
            hint=f"give integers from {least} to {most}",
        )
    return array.astype(np.int64)


def _check_places(topology: Topology, sender: Integers, port: Integers) -> None:
    if len(sender) != len(port):
        raise _unequal({"sender": len(sender), "port": len(port)})
    if len(sender):
        topology.node(int(sender.min()))
        topology.node(int(sender.max()))
    wrong = np.flatnonzero(~np.isin(port, topology.ports))
    if len(wrong):
        raise InputError(
            f"row {int(wrong[0])} of the schedule has the port {int(port[wrong[0]])}",
            hint=f"the ports of {topology.spec} are {topology.ports[0]} to {topology.ports[-1]}",
        )


def _unequal(lengths: Mapping[str, int]) -> InputError:
    return InputError(
        f"the columns of a schedule differ in length: {dict(lengths)}",
        hint="give each row a value in every column",
    )


def _least_units(topology: Topology, collective: str, symmetric: bool, rows: Columns) -> int:
    """Return the least number of units that a collective can have with these units.

    Units that a node would send to itself have numbers but no rows, so the greatest number of all
    may be missing.
    """
    has_sources = collective in MULTI_SOURCE and collective != "allreduce" and not symmetric
    sources = topology.nodes if has_sources else 1
    parts = sources * (topology.nodes if collective in ADDRESSED else 1)
    return -(-(int(rows.unit.max(initial=-1)) + 1) // parts) * parts


def _has_packets(rows: Columns) -> bool:
    """Return whether a directed link carries several units in a step."""
    keys = np.stack([rows.step, rows.sender, rows.port])
    return bool(len(rows.step) > np.unique(keys, axis=1).shape[1])
