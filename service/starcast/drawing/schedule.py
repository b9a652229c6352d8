"""A schedule as steps by ports: how many units cross the links of each port in each step."""

from xml.etree import ElementTree as ET

import numpy as np
from numpy.typing import NDArray

from starcast.collectives import Schedule
from starcast.drawing import svg as parts
from starcast.drawing.svg import INK, MARGIN
from starcast.errors import LimitError
from starcast.support.text import pluralize

#: The greatest number of steps in a readable drawing.
MOST_STEPS = 64

_HEAD = 84.0  # title, two lines, numbers of the steps
_CELL_HEIGHT, _NAME = 24.0, 92.0  # of a row; width of the names of the ports
_PALEST = 0.12


def draw_schedule(schedule: Schedule) -> str:
    """Return a schedule as an SVG document with a row for each port and a column for each step.

    A cell holds the number of units that cross links of the port in the step, in the colour of the
    port; the more units, the darker. Of a symmetric schedule, the units of one source are counted.

    Raises:
        LimitError: the schedule has more than `MOST_STEPS` steps.

    Example:
        >>> draw_schedule(schedule("S4", "broadcast", "greedy")).startswith("<svg")
        True
    """
    if schedule.steps > MOST_STEPS:
        raise LimitError(
            f"{schedule.id} has {schedule.steps:,} steps, and a drawing is readable up to "
            f"{MOST_STEPS}",
            hint="draw a schedule with fewer segments or messages, or list its rows",
        )
    counts = count_units(schedule)
    cell = max(24.0, parts.CHARACTER * len(f"{int(counts.max(initial=0)):,}") + 8)
    sizes = (
        f"{schedule.ports}-port",
        pluralize(schedule.units, "unit"),
        pluralize(schedule.steps, "step"),
        pluralize(len(schedule), "row"),
    )
    source = " of one source" if schedule.symmetric else ""
    lines = (", ".join(sizes), f"units per step and port{source}")
    inside = max(_NAME + schedule.steps * cell, parts.head_width(schedule.id, *lines))
    height = _HEAD + len(counts) * _CELL_HEIGHT
    svg = parts.document(schedule.id, inside + 2 * MARGIN, height + 2 * MARGIN)
    parts.head(svg, schedule.id, *lines)
    for step in range(1, schedule.steps + 1):
        x = MARGIN + _NAME + (step - 0.5) * cell
        _write(svg, x, MARGIN + _HEAD - 8, str(step), INK)
    for row, port in enumerate(schedule.topology.ports):
        y = MARGIN + _HEAD + row * _CELL_HEIGHT
        noun = "port" if schedule.topology.family == "nk-star" else "dimension"
        name = f"{noun} {port}"
        parts.element(svg, "text", x=MARGIN, y=y + 16, font_size=12, fill=INK).text = name
        for column, count in enumerate(counts[row].tolist()):
            if count:
                _draw_cell(svg, schedule, port, column, count, counts, cell, y)
    return parts.text_of(svg)


def count_units(schedule: Schedule) -> NDArray[np.int64]:
    """Return how many units cross links of each port in each step, int64 ``[ports, steps]``."""
    ports = np.array(schedule.topology.ports)
    cells = np.searchsorted(ports, schedule.port).astype(np.int64) * schedule.steps
    cells += schedule.step - 1
    counts = np.bincount(cells, minlength=len(ports) * schedule.steps)
    return counts.reshape(len(ports), schedule.steps).astype(np.int64)


def _draw_cell(
    svg: ET.Element,
    schedule: Schedule,
    port: int,
    column: int,
    count: int,
    counts: NDArray[np.int64],
    cell: float,
    y: float,
) -> None:
    share = count / int(counts.max())
    colour, _ = parts.style(schedule.topology, port)
    x = MARGIN + _NAME + column * cell
    rectangle = parts.element(
        svg, "rect", x=x + 1, y=y + 1, width=cell - 2, height=_CELL_HEIGHT - 2, fill=colour,
        fill_opacity=f"{_PALEST + (1 - _PALEST) * share * 0.6:.2f}",
    )  # fmt: skip
    title = f"step {column + 1}, port {port}: {pluralize(count, 'unit')}"
    parts.element(rectangle, "title").text = title
    _write(svg, x + cell / 2, y + 16, f"{count:,}", INK)


def _write(svg: ET.Element, x: float, y: float, text: str, colour: str) -> None:
    parts.element(
        svg, "text", x=x, y=y, font_size=11, fill=colour, text_anchor="middle"
    ).text = text
