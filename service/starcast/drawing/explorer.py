"""Write the explorer as one HTML file that works without a server, and encode the page's data.

The data have the field names of the HTTP API, so that the same scripts can read the data of a page
and the responses of the server.
"""

import base64
import json
import re
import zlib
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from starcast.collectives import Schedule, schedule
from starcast.collectives.algorithm import find_algorithm
from starcast.collectives.model import describe_schedule
from starcast.drawing.layouts import DESCRIPTIONS, find_periods, layout, layouts
from starcast.drawing.scene import port_noun, port_text
from starcast.support.errors import InputError, LimitError
from starcast.support.html import STATIC, inline_files
from starcast.support.vocabulary import format_spec
from starcast.topologies import Topology
from starcast.topologies.base import describe_topology
from starcast.trees import Forest
from starcast.trees.metrics import describe_forest

#: Maximum number of nodes of a topology that a page shows; S8 has 40 320 nodes.
MAX_NODES = 50_000
#: Maximum number of rows of a schedule that a page shows.
MAX_ROWS = 4_000_000

#: The file of the explorer page that the web server serves.
EXPLORER = STATIC / "explorer" / "explorer.html"


def build_page(
    topology: Topology,
    forests: Sequence[Forest] = (),
    schedules: Sequence[Schedule] = (),
    state: str | None = None,
    root: int | str = 0,
) -> str:
    """Return an HTML document that shows a topology, forests and schedules without a server.

    The page loads no other files, so the document can be sent by e-mail.

    Args:
        topology: the topology.
        forests: forests on the topology.
        schedules: schedules on the topology.
        state: the initial state of the page in the form of the explorer's URLs, such as
            ``step=3&node=21345``. If the state is an empty string, the page shows neither a
            schedule nor a forest. If the state is None, or names neither a schedule nor a forest,
            the page shows the first schedule or else the first forest.
        root: the root of the layout `levels` while no forest or schedule is shown. While a forest
            or schedule is shown, the layout has the root of this forest or schedule.

    Raises:
        InputError: a forest or schedule is on a topology other than ``topology``, or the root is
            not a node.
        LimitError: the topology or a schedule is too large for a page.

    Example:
        >>> s4 = topology("S4")
        >>> page = build_page(s4, schedules=[schedule(s4, "broadcast", "greedy")])
    """
    _check(topology, forests, schedules)
    first = topology.node(root)
    artifacts: list[Forest | Schedule] = [*forests, *schedules]
    roots = {first, *(built.root for built in artifacts)} - {0}
    data: dict[str, Any] = {
        "spec": topology.spec,
        "topologies": {topology.spec: pack_topology(topology, sorted(roots))},
        "forests": {forest.id: pack_forest(forest) for forest in forests},
        "schedules": {schedule.id: pack_schedule(schedule) for schedule in schedules},
    }
    _name_apart(data["schedules"])
    if first and state is None and not (forests or schedules):
        state = f"root={topology.label(first)}"
    data["state"] = _opening_state(data, state)
    # A name that contains </script> would otherwise end the script element.
    held = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    element = f'<script id="starcast-data" type="application/json">{held}</script>\n'
    return inline_files(EXPLORER.read_text(encoding="utf-8"), element)


def _check(topology: Topology, forests: Sequence[Forest], schedules: Sequence[Schedule]) -> None:
    if topology.nodes > MAX_NODES:
        raise LimitError(
            f"{topology.spec} has {topology.nodes:,} nodes, but a page shows at most {MAX_NODES:,}",
            hint="choose a smaller topology, such as S8",
        )
    artifacts: list[Forest | Schedule] = [*forests, *schedules]
    for built in artifacts:
        if built.topology != topology:
            raise InputError(
                f"{built.id} is on {built.topology.spec}, not on {topology.spec}",
                hint=f"use only forests and schedules on {topology.spec}",
            )
    for built in schedules:
        if len(built) > MAX_ROWS:
            raise LimitError(
                f"{built.id} has {len(built):,} rows, but a page shows at most {MAX_ROWS:,}",
                hint="use a smaller topology, or fewer segments or messages",
            )


def build_schedule(topology: Topology, name: str, root: int | str = 0) -> Schedule:
    """Build the schedule that a short name describes.

    Args:
        topology: the topology.
        name: collective, algorithm with its arguments, and port model (default: the algorithm's
            default), separated by colons: ``broadcast:multiple(segments=4)``,
            ``scatter:balanced:one``.
        root: label or rank of the root; for a symmetric schedule, of its source.

    Raises:
        InputError: the name is malformed, or the collective, algorithm, an argument or the root is
            invalid.
        LimitError: the schedule does not fit into memory.
    """
    parts = name.split(":")
    if len(parts) not in (2, 3):
        raise InputError(
            f"'{name}' is not the short name of a schedule",
            hint="write COLLECTIVE:ALGORITHM or COLLECTIVE:ALGORITHM:PORTS, such as"
            " 'broadcast:multiple(segments=4)'",
        )
    collective, algorithm, *ports = parts
    return schedule(topology, collective, algorithm, ports[0] if ports else None, root)


def list_layouts(topology: Topology) -> list[dict[str, Any]]:
    """Return the ``name``, ``description`` and ``periods`` of each layout of a topology.

    The default layout is the first. The periods are the translations under which a layout repeats;
    see `find_periods`.
    """
    return [
        {
            "name": name,
            "description": DESCRIPTIONS[name],
            "periods": find_periods(topology, name).tolist(),
        }
        for name in layouts(topology)
    ]


def name_ports(topology: Topology) -> list[str]:
    """Return the names of a topology's ports: ``dimension 2``, or ``direction +x (port 2)``."""
    noun = port_noun(topology)
    texts = {port: port_text(topology, port) for port in topology.ports}
    return [
        f"{noun} {text}" if text == str(port) else f"{noun} {text} (port {port})"
        for port, text in texts.items()
    ]


def name_forest(forest: Forest) -> str:
    """Return a forest's name: construction, arguments, and the root if its rank is not 0."""
    construction = format_spec(forest.construction, forest.arguments)
    return forest.id.partition(":")[2] if forest.root else construction


def pack_topology(topology: Topology, roots: Sequence[int] = ()) -> dict[str, Any]:
    """Return a topology as JSON values: properties, neighbours, labels, and positions by layout.

    The labels are packed as one text, separated by spaces.

    Args:
        topology: the topology.
        roots: ranks other than 0. For each, the layout `levels` with this root is included under
            the name ``levels:LABEL``.
    """
    positions: dict[str, Any] = {n: pack(layout(topology, n)) for n in layouts(topology)}
    for root in roots:
        positions[f"levels:{topology.label(root)}"] = pack(layout(topology, "levels", root))
    return {
        **describe_topology(topology),
        **link_values(topology),
        "port_names": name_ports(topology),
        "layouts": list_layouts(topology),
        "neighbours": pack(neighbour_table(topology)),
        "labels": pack(np.frombuffer(" ".join(topology.labels()).encode(), np.uint8)),
        "positions": positions,
    }


def pack_forest(forest: Forest) -> dict[str, Any]:
    """Return a forest as JSON values: id, name, root, number of trees, and parent ports."""
    facts = describe_forest(forest, ("id", "root", "trees"))
    return {**facts, "name": name_forest(forest), "parent_ports": pack(forest.parent_port)}


def pack_schedule(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule as JSON values: its properties and its columns."""
    facts = {**describe_schedule(schedule), "name": name_schedule(schedule)}
    return {**facts, "columns": pack(schedule_rows(schedule))}


def neighbour_table(topology: Topology) -> NDArray[Any]:
    """Return the neighbours of all nodes, int32 ``[nodes, ports]``.

    If a node has no link at a port, the table contains the node itself.
    """
    return np.ascontiguousarray(topology.table().T)


def link_values(topology: Topology) -> dict[str, list[int] | None]:
    """Return the capacities and latencies of all links, as a dict with the HTTP API's names.

    The list of capacities is replaced by None if all are 1, and the list of latencies if all are 0.
    Links are ordered by their lower-ranked node, then by the port at this node.
    """
    columns = {"link_capacities": topology.capacities, "link_latencies": topology.latencies}
    if topology.has_equal_links:
        return dict.fromkeys(columns)
    is_first = np.arange(topology.nodes)[:, None] < topology.table().T
    return {
        name: None if values is None else values.T[is_first].tolist()
        for name, values in columns.items()
    }


def schedule_rows(schedule: Schedule) -> NDArray[Any]:
    """Return the columns of a schedule as one array, int32 ``[columns, rows]``.

    Reductions have the additional column ``combine``.
    """
    return np.stack([column.astype(np.int32) for column in schedule.columns.present().values()])


def pack(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array as JSON values: dtype, shape and content.

    The content is the array's little-endian bytes, compressed with zlib, in base64.
    """
    little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
    data = base64.b64encode(zlib.compress(little.tobytes(), 9)).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def name_schedule(schedule: Schedule) -> str:
    """Return a name for `build_schedule`: collective, algorithm, arguments, and port model.

    Arguments and a port model with their default values are omitted.
    """
    arguments = dict(schedule.arguments)
    ports = schedule.ports
    try:
        algorithm = find_algorithm(schedule.collective, schedule.algorithm, schedule.topology)
        defaults = algorithm.resolve_arguments(schedule.topology, {})
    except InputError:
        # Defaults are unknown if there is no algorithm (for example, in a schedule from a file), or
        # if an argument has no default. Then the name contains all arguments.
        defaults = {}
    else:
        ports = algorithm.resolve_ports(None)
    arguments = {name: value for name, value in arguments.items() if defaults.get(name) != value}
    name = f"{schedule.collective}:{format_spec(schedule.algorithm, arguments)}"
    return name if ports == schedule.ports else f"{name}:{schedule.ports}"


def _name_apart(schedules: dict[str, Any]) -> None:
    """Rename schedules that have the same name: use their ids without the topology as names."""
    names = [entry["name"] for entry in schedules.values()]
    for schedule_id, entry in schedules.items():
        if names.count(entry["name"]) > 1:
            entry["name"] = schedule_id.partition(":")[2]


def _opening_state(data: dict[str, Any], state: str | None) -> str:
    """Return the initial state of a page from the argument ``state`` of `build_page`."""
    if state is not None and (not state or re.search(r"(^|&)(schedule|forest)=", state)):
        return state
    for kind in ("schedule", "forest"):
        for entry in data[f"{kind}s"].values():
            shown = f"{kind}={quote(entry['name'], safe=':,()=')}"
            return "&".join(filter(None, (shown, state)))
    return state or ""
