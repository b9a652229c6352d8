"""Draw schedules: charts of units per step and port, and steps on the topology."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from starcast.collectives import Schedule
from starcast.collectives.model import REDUCTIONS
from starcast.drawing.networks import MAX_PANELS, Frame, check_size
from starcast.drawing.scene import (
    BLACK,
    BOX_HEIGHT,
    COLOURS,
    INK,
    PAPER,
    Node,
    Panel,
    Scene,
    Stroke,
    box_width,
    port_noun,
    port_text,
    render,
    style,
)
from starcast.judges.simulator.ownership import check_size as check_pairs
from starcast.judges.simulator.ownership import derive_postcondition
from starcast.judges.simulator.rows import Rows, find_invalid_address
from starcast.judges.simulator.sums import Sums
from starcast.support.errors import InputError, LimitError, RejectedError
from starcast.support.text import pluralize

#: Distance between two rows of a chart, and smallest width of a cell, in pixels.
_ROW, _LEAST_CELL = BOX_HEIGHT + 2, 24.0
#: Opacity of cells with the fewest and with the most units.
_PALEST, _DARKEST = 0.12, 0.65
#: Opacity of black above which a pale number is more legible than a dark number.
_GREY = 0.5


def draw_schedule(schedule: Schedule) -> str:
    """Return a schedule as an SVG document with a row for each port and a column for each step.

    A cell has the colour of its port and shows the number of units sent through this port in the
    step; cells with more units are darker. For a symmetric schedule, only the units of one source
    (in reductions, of one destination) are counted.

    Raises:
        InputError: the schedule has no steps.
        LimitError: the schedule has more than `MAX_PANELS` steps.
        RejectedError: a row has an invalid step, sender, port, receiver, unit or tree.

    Example:
        >>> draw_schedule(schedule("S4", "broadcast", "greedy")).startswith("<svg")
        True
    """
    _check_steps(schedule, range(1, schedule.steps + 1))
    if schedule.steps > MAX_PANELS:
        raise LimitError(
            f"{schedule.id} has {schedule.steps:,} steps, but a drawing is readable only up to "
            f"{MAX_PANELS} steps",
            hint="draw a schedule with fewer segments or messages, or list its rows",
        )
    sizes = (
        f"{schedule.ports}-port",
        pluralize(schedule.units, "unit"),
        pluralize(schedule.steps, "step"),
        pluralize(len(schedule), "row"),
    )
    lines = (", ".join(sizes), f"units per step and port{_part(schedule)}")
    return render(Scene(schedule.topology, schedule.id, lines, [_chart(schedule)]))


def _chart(schedule: Schedule) -> Panel:
    counts = count_units(schedule)
    topology, most = schedule.topology, int(counts.max())
    names = [f"{port_noun(topology)} {port_text(topology, port)}" for port in topology.ports]
    left = max(map(box_width, names))
    width = max(_LEAST_CELL, box_width(f"{most:,}") + 2)
    steps = range(1, schedule.steps + 1)
    nodes = [_word(str(step), left + (step - 0.5) * width, 0) for step in steps]
    for row, port in enumerate(topology.ports, start=1):
        nodes.append(_word(names[row - 1], left / 2, row))
        colour, _ = style(topology, port)
        for step in steps:
            count = int(counts[row - 1, step - 1])
            if count:
                opacity = _PALEST + (_DARKEST - _PALEST) * count / most
                is_dark = colour == BLACK and opacity > _GREY
                cell = _word(f"{count:,}", left + (step - 0.5) * width, row)._replace(
                    width=width - 2,
                    fill=colour,
                    opacity=opacity,
                    ink=PAPER if is_dark else INK,
                    title=f"step {step}, port {port}: {pluralize(count, 'unit')}",
                )
                nodes.append(cell)
    return Panel([], nodes, left + schedule.steps * width, (len(names) + 1) * _ROW)


def _word(text: str, x: float, row: int) -> Node:
    return Node(complex(x, (row + 0.5) * _ROW), text, fill="none", outline="none")


def count_units(schedule: Schedule) -> NDArray[np.int64]:
    """Return the number of units sent through each port in each step, int64 ``[ports, steps]``."""
    ports = np.array(schedule.topology.ports)
    counts = np.zeros((len(ports), schedule.steps), dtype=np.int64)
    np.add.at(counts, (np.searchsorted(ports, schedule.port), schedule.step - 1), 1)
    return counts


def draw_steps(
    schedule: Schedule, steps: Sequence[int] | None = None, layout: str | None = None
) -> str:
    """Draw steps of a schedule on the topology, side by side; return an SVG document.

    The drawing of a step shows the busy links. The shade of a node shows how many units it holds
    after the step or, in a reduction, how many contributions its sums include.

    Args:
        schedule: the schedule; if it is symmetric, only the rows of one source are drawn.
        steps: the numbers of the steps, counted from 1; by default all steps.
        layout: one of `starcast.drawing.layouts.layouts`; by default the first.

    Raises:
        InputError: the schedule does not have one of the steps, or the topology does not have the
            layout.
        LimitError: there are too many nodes or steps for a drawing.
        RejectedError: a row has an invalid step, sender, port, receiver, unit or tree.

    Example:
        >>> s4 = schedule("S4", "broadcast", "greedy")
        >>> draw_steps(s4, [2], "torus").startswith("<svg")
        True
    """
    chosen = steps or range(1, schedule.steps + 1)
    _check_steps(schedule, chosen)
    frame = Frame(schedule.topology, layout, len(chosen), schedule.root)
    panels = [_step_panel(schedule, frame, step, [frame.background]) for step in chosen]
    return render(Scene(schedule.topology, schedule.id, _lines(schedule), panels))


def animate_schedule(schedule: Schedule, layout: str | None = None) -> str:
    """Return an animated SVG document, without scripts, that shows one step after the other.

    In browsers set to reduced motion, only the last step is shown.

    Args:
        schedule: the schedule; if it is symmetric, only the rows of one source are drawn.
        layout: one of `starcast.drawing.layouts.layouts`; by default the first.

    Raises:
        InputError: the topology does not have this layout, or the schedule has no steps.
        LimitError: there are too many nodes or steps for a drawing.
        RejectedError: a row has an invalid step, sender, port, receiver, unit or tree.
    """
    steps = range(1, schedule.steps + 1)
    _check_steps(schedule, steps)
    check_size(schedule.topology, schedule.steps)
    frame = Frame(schedule.topology, layout, 1, schedule.root)
    panels = [frame.panel([frame.background])]
    panels += [_step_panel(schedule, frame, step) for step in steps]
    scene = Scene(schedule.topology, schedule.id, _lines(schedule), panels, animated=True)
    return render(scene)


def _check_steps(schedule: Schedule, steps: Sequence[int]) -> None:
    if not schedule.steps:
        raise InputError(f"{schedule.id} has no steps", hint="draw a schedule that has rows")
    for step in steps:
        if not 1 <= step <= schedule.steps:
            raise InputError(
                f"{schedule.id} has no step {step}",
                hint=f"choose a step from 1 to {schedule.steps}",
            )
    violation = find_invalid_address(Rows(schedule))
    if violation:
        raise RejectedError(
            f"{schedule.id} cannot be drawn, because it is invalid: {violation.sentence}",
            hint="correct the rows of the schedule",
        )


def _lines(schedule: Schedule) -> tuple[str, str]:
    sizes = f"{schedule.ports}-port, {pluralize(schedule.units, 'unit')}{_part(schedule)}"
    shade = "has more contributions" if schedule.collective in REDUCTIONS else "holds more"
    return f"{sizes}, {pluralize(schedule.steps, 'step')}", f"darker: {shade}; colours: trees"


def _part(schedule: Schedule) -> str:
    """Return the words that follow a number of units, such as " of one source".

    The result is empty for a schedule that is not symmetric.
    """
    if not schedule.symmetric:
        return ""
    return " of one destination" if schedule.collective in REDUCTIONS else " of one source"


def _step_panel(
    schedule: Schedule, frame: Frame, step: int, background: Sequence[Stroke] = ()
) -> Panel:
    rows = np.flatnonzero(schedule.step == step)
    keys = schedule.sender[rows].astype(np.int64) * 256 + schedule.port[rows]
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    opposite = set(
        zip(schedule.receiver[rows].tolist(), schedule.sender[rows].tolist(), strict=True)
    )
    strokes = []
    for row, count in zip(rows[first].tolist(), counts.tolist(), strict=True):
        sender, receiver = int(schedule.sender[row]), int(schedule.receiver[row])
        title = f"{frame.labels[sender]} -{schedule.port[row]}-> {frame.labels[receiver]}"
        title += f": {pluralize(count, 'unit')}"
        colour = COLOURS[int(schedule.tree[row]) % len(COLOURS)]
        # The width is logarithmic, because with a linear scale packets of a hundred units would
        # hide all other links.
        width = float(min(1.2 + 0.5 * np.log2(count), 4.0))
        shift = 2.5 if (sender, receiver) in opposite else 0.0
        curves = frame.curves(sender, receiver, shift)
        strokes.append(Stroke(curves, colour, width, title, arrow=True))
    shares = {node: share for node, share in enumerate(_shares(schedule, step).tolist()) if share}
    caption = f"step {step}: {pluralize(len(strokes), 'link')} busy"
    return frame.panel([*background, *strokes], shares, schedule.root, caption)


def _shares(schedule: Schedule, step: int) -> NDArray[np.float64]:
    """Return the shade of each node after a step, from 0 (pale) to 1 (dark), float64 ``[nodes]``.

    The shade is the number of units that the node holds, divided by the largest number of units
    that a node holds at the end. If each unit has one destination, nodes that hold units at the
    start are not considered for this maximum. For a reduction, the shade is the fraction of all
    contributions that are included in the node's partial sums.
    """
    nodes = schedule.topology.nodes
    postcondition = derive_postcondition(schedule)
    check_pairs(postcondition, len(schedule))
    rows = Rows(schedule)
    if postcondition.reduces:
        sums = Sums(postcondition, rows, int(np.searchsorted(rows.step, step, side="right")))
        return np.asarray(sums.contributions().mean(axis=1) / postcondition.endpoints)
    source = postcondition.source(np.arange(schedule.units))
    initial = np.bincount(source, minlength=nodes)
    pairs = rows.receiver.astype(np.int64) * schedule.units + rows.unit
    # Rows are sorted by step, so the first row of each (receiver, unit) pair is its delivery.
    _, first = np.unique(pairs, return_index=True)
    first = first[source[rows.unit[first]] != rows.receiver[first]]
    final = initial + np.bincount(rows.receiver[first], minlength=nodes)
    now = initial + np.bincount(rows.receiver[first[rows.step[first] <= step]], minlength=nodes)
    # The source of a scatter is not considered: it holds all units from the start, so all other
    # nodes would be pale in comparison.
    counted = np.ones(nodes, dtype=bool) if postcondition.to_all else initial == 0
    most = max(int(final[counted].max(initial=1)), 1)
    return np.minimum(now / most, 1.0)
