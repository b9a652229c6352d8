"""Represent objects in a notebook: as a drawing, or as a table if they are large."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from starcast.collectives import Schedule
from starcast.collectives.model import describe_schedule
from starcast.drawing.forests import draw_forest
from starcast.drawing.networks import draw_topology
from starcast.drawing.schedules import draw_schedule
from starcast.support.errors import RejectedError, StarcastError
from starcast.support.table import DisplayForm, Table, properties
from starcast.topologies import Topology
from starcast.topologies.base import describe_topology
from starcast.trees import Forest


def represent(thing: object, form: DisplayForm) -> str | None:
    """Return the representation of an object in a notebook.

    Args:
        thing: a topology, a forest or a schedule.
        form: ``svg`` for a drawing; ``html`` for a table, which is shown if the object is too large
            for a drawing.

    Returns:
        An SVG document or an HTML fragment. The result is None if the object is shown in the other
        form, is an invalid forest or schedule (which a notebook shows as text), or is of another
        type.
    """
    kind = next((kind for kind in _RENDERERS if isinstance(thing, kind)), None)
    if kind is None:
        return None
    draw, summarize = _RENDERERS[kind]
    try:
        picture = draw(thing)
    # An invalid object has neither a drawing nor a table, so a notebook shows its repr.
    except RejectedError:
        return None
    # There is no drawing, usually because the object is too large. If the result for `svg` is None,
    # a notebook requests `html`.
    except StarcastError:
        return None if form == "svg" else summarize(thing).html()
    return picture if form == "svg" else None


def _tabulate_topology(topology: Topology) -> Table:
    facts = describe_topology(topology)
    shown = ("spec", "nodes", "links", "degree", "diameter", "mean_distance")
    return replace(properties({name: facts[name] for name in shown}), note=repr(topology))


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


def _tabulate_schedule(schedule: Schedule) -> Table:
    facts = describe_schedule(schedule)
    shown = ("id", "steps", "rows", "units", "symmetric")
    return replace(properties({name: facts[name] for name in shown}), note=repr(schedule))


_RENDERERS: dict[type, tuple[Callable[[Any], str], Callable[[Any], Table]]] = {
    Topology: (draw_topology, _tabulate_topology),
    Forest: (draw_forest, _list_trees),
    Schedule: (draw_schedule, _tabulate_schedule),
}
