"""Topologies, forests and schedules in notebooks: pictures, or tables if they are large."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from starcast.collectives import Schedule
from starcast.drawing.forests import draw_forest
from starcast.drawing.networks import draw_topology
from starcast.drawing.schedules import draw_schedule
from starcast.support.display import Form
from starcast.support.errors import RejectedError, StarcastError
from starcast.support.table import Table, properties
from starcast.topologies import Topology
from starcast.trees import Forest


def represent(thing: object, form: Form) -> str | None:
    """Return the representation of an object in a notebook.

    Args:
        thing: a topology, a forest or a schedule.
        form: ``svg`` for a picture, ``html`` for a table, which shows an object that is too large
            for a picture.

    Returns:
        An SVG document or an HTML fragment; None if the object is shown in the other form, or if it
        is not a valid forest and has neither form. A notebook shows an invalid forest as text.
    """
    renderers = [
        (draw, summarize) for kind, draw, summarize in _RENDERERS if isinstance(thing, kind)
    ]
    if not renderers:
        return None
    draw, summarize = renderers[0]
    try:
        picture = draw(thing)
    # An invalid forest has neither a picture nor a table, so a notebook shows its repr.
    except RejectedError:
        return None
    # The object is too large for a picture. If `svg` gives None, a notebook asks for `html`.
    except StarcastError:
        return None if form == "svg" else summarize(thing).html()
    return picture if form == "svg" else None


def _describe_topology(topology: Topology) -> Table:
    values = {
        "spec": topology.spec,
        "nodes": topology.nodes,
        "links": topology.links,
        "degree": topology.degree,
        "diameter": topology.diameter,
        "mean distance": float(topology.mean_distance),
    }
    return replace(properties(values), note=repr(topology))


def _list_trees(forest: Forest) -> Table:
    columns = {
        "tree": range(forest.trees),
        "nodes": forest.sizes.tolist(),
        "height": forest.heights.tolist(),
        "leaves": forest.leaves.tolist(),
        "levels": forest.level_profile().tolist(),
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return Table.of(rows, columns, f"{forest!r}, congestion {forest.congestion}")


def _describe_schedule(schedule: Schedule) -> Table:
    values = {
        "id": schedule.id,
        "steps": schedule.steps,
        "rows": len(schedule),
        "units": schedule.units,
        "symmetric": schedule.symmetric,
    }
    return replace(properties(values), note=repr(schedule))


_RENDERERS: tuple[tuple[type, Callable[[Any], str], Callable[[Any], Table]], ...] = (
    (Topology, draw_topology, _describe_topology),
    (Forest, draw_forest, _list_trees),
    (Schedule, draw_schedule, _describe_schedule),
)
