"""Representations of topologies, forests and schedules: pictures, or tables of large ones."""

from typing import Any

from starcast.collectives import Schedule
from starcast.drawing.forest import MOST_NODES, draw_forest
from starcast.drawing.schedule import MOST_STEPS, draw_schedule
from starcast.drawing.svg import READABLE
from starcast.drawing.topology import draw_topology
from starcast.errors import StarcastError
from starcast.support.display import Form
from starcast.support.table import Table, properties
from starcast.topologies import Topology
from starcast.trees import Forest


def represent(thing: object, form: Form) -> str | None:
    """Return the representation of an object in a notebook.

    Args:
        thing: a topology, a forest or a schedule.
        form: ``svg`` for the picture, ``html`` for the table of an object that is too large.

    Returns:
        An SVG document or an HTML fragment; None if the object is shown in the other form, or if it
        cannot be shown, such as an array that is not a forest: notebooks then print it as text.
    """
    try:
        if form == "svg":
            return _draw(thing) if _is_drawable(thing) else None
        return None if _is_drawable(thing) else _summarize(thing).html()
    except StarcastError:
        return None


def _is_drawable(thing: object) -> bool:
    match thing:
        case Topology():
            return thing.nodes <= READABLE
        case Forest():
            return thing.trees * thing.topology.nodes <= MOST_NODES
        case Schedule():
            return 0 < thing.steps <= MOST_STEPS
    return False


def _draw(thing: object) -> str | None:
    match thing:
        case Topology():
            return draw_topology(thing)
        case Forest():
            return draw_forest(thing)
        case Schedule():
            return draw_schedule(thing)
    return None


def _summarize(thing: object) -> Table:
    match thing:
        case Topology():
            return _with_title(thing, _describe_topology(thing))
        case Forest():
            return _list_trees(thing)
        case Schedule():
            return _with_title(thing, _describe_schedule(thing))
    return Table((), [])


def _with_title(thing: object, values: dict[str, Any]) -> Table:
    table = properties(values)
    return Table(table.columns, table.rows, repr(thing))


def _describe_topology(topology: Topology) -> dict[str, Any]:
    return {
        "spec": topology.spec,
        "nodes": topology.nodes,
        "links": topology.links,
        "degree": topology.degree,
        "diameter": topology.diameter,
        "mean distance": float(topology.mean_distance),
    }


def _list_trees(forest: Forest) -> Table:
    profiles = forest.level_profile().tolist()
    rows = [
        {"tree": tree, "nodes": size, "height": height, "leaves": leaves, "levels": levels}
        for tree, (size, height, leaves, levels) in enumerate(
            zip(
                forest.sizes.tolist(),
                forest.heights.tolist(),
                forest.leaves.tolist(),
                profiles,
                strict=True,
            )
        )
    ]
    note = f"{forest!r}, congestion {forest.congestion}"
    return Table.of(rows, ("tree", "nodes", "height", "leaves", "levels"), note)


def _describe_schedule(schedule: Schedule) -> dict[str, Any]:
    return {
        "id": schedule.id,
        "steps": schedule.steps,
        "rows": len(schedule),
        "units": schedule.units,
        "symmetric": schedule.symmetric,
    }
