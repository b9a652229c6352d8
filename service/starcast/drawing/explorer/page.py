"""The explorer with its data in one HTML file: scripts, style and arrays are inside."""

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from starcast.collectives import Schedule
from starcast.drawing.explorer.data import pack_forest, pack_schedule, pack_topology
from starcast.errors import InputError, LimitError
from starcast.support.html import STATIC, inline_files
from starcast.topologies import Topology
from starcast.trees import Forest

#: The greatest number of nodes of a topology that a page shows: S8 has 40 320.
MOST_NODES = 50_000
#: The greatest number of rows of a schedule in a page.
MOST_ROWS = 4_000_000

#: The page of the explorer as a server sends it.
EXPLORER = STATIC / "explorer" / "explorer.html"


def build_page(
    topology: Topology,
    forests: Sequence[Forest] = (),
    schedules: Sequence[Schedule] = (),
    state: str | None = None,
) -> str:
    """Return an HTML document that shows a topology, forests and schedules without a server.

    Nothing is loaded from anywhere: the page can be mailed.

    Args:
        topology: the topology.
        forests: forests on it.
        schedules: schedules on it.
        state: the state that the page opens, as in the explorer's URLs: ``step=3&node=21345``.
            It shows the first schedule, else the first forest, unless it names another or is
            empty.

    Raises:
        InputError: a forest or schedule is on another topology.
        LimitError: the topology or a schedule is too large.

    Example:
        >>> s4 = topology("S4")
        >>> page = build_page(s4, schedules=[schedule(s4, "broadcast", "greedy")])
    """
    _check(topology, forests, schedules)
    data: dict[str, Any] = {
        "spec": topology.spec,
        "topologies": {topology.spec: pack_topology(topology)},
        "forests": {forest.id: pack_forest(forest) for forest in forests},
        "schedules": {schedule.id: pack_schedule(schedule) for schedule in schedules},
    }
    _name_apart(data["schedules"])
    data["state"] = _opening_state(data, state)
    held = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    element = f'<script id="starcast-data" type="application/json">{held}</script>\n'
    return inline_files(EXPLORER.read_text(encoding="utf-8"), element)


def _check(topology: Topology, forests: Sequence[Forest], schedules: Sequence[Schedule]) -> None:
    if topology.nodes > MOST_NODES:
        raise LimitError(
            f"{topology.spec} has {topology.nodes:,} nodes, and a page shows at most "
            f"{MOST_NODES:,}",
            hint="choose a smaller topology, such as S8",
        )
    artifacts: list[Forest | Schedule] = [*forests, *schedules]
    for built in artifacts:
        if built.topology != topology:
            raise InputError(
                f"{built.id} is on {built.topology.spec}, not on {topology.spec}",
                hint="a page shows one topology",
            )
    for schedule in schedules:
        if len(schedule) > MOST_ROWS:
            raise LimitError(
                f"{schedule.id} has {len(schedule):,} rows, and a page shows at most {MOST_ROWS:,}",
                hint="use a smaller topology, or fewer segments or messages",
            )


def _name_apart(schedules: dict[str, Any]) -> None:
    """Replace short names that several schedules have by the ids without the topology."""
    names = [entry["name"] for entry in schedules.values()]
    for schedule_id, entry in schedules.items():
        if names.count(entry["name"]) > 1:
            entry["name"] = schedule_id.partition(":")[2]


def _opening_state(data: dict[str, Any], state: str | None) -> str:
    if state is not None and (not state or re.search(r"(^|&)(schedule|forest)=", state)):
        return state
    for kind in ("schedule", "forest"):
        for entry in data[f"{kind}s"].values():
            shown = f"{kind}={quote(entry['name'], safe=':,()=')}"
            return "&".join(filter(None, (shown, state)))
    return state or ""
