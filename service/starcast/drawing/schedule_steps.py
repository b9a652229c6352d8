"""The steps of a schedule on the topology: one, all as small multiples, or as an animation."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

import numpy as np
from numpy.typing import NDArray

from starcast.collectives import Schedule
from starcast.drawing import svg as parts
from starcast.drawing.network import Frame, Mark, Panel, draw_marks, draw_nodes, draw_panels
from starcast.drawing.schedule import MOST_STEPS
from starcast.drawing.svg import COLOURS, INK, MARGIN, Place
from starcast.errors import InputError, LimitError
from starcast.simulator.postconditions import derive_postcondition
from starcast.support.text import pluralize

#: The greatest number of nodes of a picture of steps, and of those of all its steps together.
MOST_NODES, MOST_DRAWN = 5_040, 20_000
_SECONDS = 1.2  # of a step of an animation
_HEAD = 34.0 + 2 * 18.0


def draw_steps(
    schedule: Schedule, steps: Sequence[int] | None = None, layout: str | None = None
) -> str:
    """Return steps of a schedule as an SVG document: busy links, and what nodes hold afterwards.

    Args:
        schedule: the schedule; of a symmetric one, the rows of its source are drawn.
        steps: the steps, from 1; by default all, side by side.
        layout: one of `starcast.drawing.layouts.layouts`; by default the first.

    Raises:
        InputError: the schedule has no such step, or the topology no such layout.
        LimitError: there are too many nodes or steps.

    Example:
        >>> s4 = schedule("S4", "broadcast", "greedy")
        >>> draw_steps(s4, [2], "torus").startswith("<svg")
        True
    """
    chosen = list(range(1, schedule.steps + 1)) if steps is None else list(steps)
    for step in chosen:
        if not 1 <= step <= schedule.steps:
            raise InputError(
                f"{schedule.id} has no step {step}",
                hint=f"its steps are 1 to {schedule.steps}",
            )
    _check_size(schedule, len(chosen))
    frame = Frame(schedule.topology, layout, len(chosen))
    panels = [_panel(schedule, step) for step in chosen]
    return parts.text_of(draw_panels(frame, schedule.id, _lines(schedule), panels))


def animate_schedule(schedule: Schedule, layout: str | None = None) -> str:
    """Return an animated SVG document: a step after the other, in any browser, without a script.

    With reduced motion, the last step is shown.

    Args:
        schedule: the schedule.
        layout: as in `draw_steps`.

    Raises:
        InputError: the topology has no such layout, or the schedule has no steps.
        LimitError: there are too many nodes or steps.
    """
    _check_size(schedule, schedule.steps)
    frame = Frame(schedule.topology, layout, 1)
    empty = Panel(" ", (), {}, schedule.root)
    svg = draw_panels(frame, schedule.id, _lines(schedule), [empty])
    svg.append(_animation(schedule.steps))
    corner = _corner(svg, frame)
    for step in range(1, schedule.steps + 1):
        delay = f"animation-delay:{_SECONDS * (step - 1):.1f}s"
        last = " last" if step == schedule.steps else ""
        group = parts.element(svg, "g", style=delay)
        group.set("class", f"step{last}")
        panel = _panel(schedule, step)
        caption = parts.element(group, "text", x=MARGIN, y=corner.y - 8, font_size=12, fill=INK)
        caption.text = panel.caption
        draw_marks(group, frame, corner, panel.marks)
        draw_nodes(group, frame, corner, panel)
    return parts.text_of(svg)


def _check_size(schedule: Schedule, steps: int) -> None:
    if not schedule.steps:
        raise InputError(f"{schedule.id} has no steps", hint="draw a schedule that has rows")
    nodes = schedule.topology.nodes
    if nodes <= MOST_NODES and steps <= MOST_STEPS and nodes * steps <= MOST_DRAWN:
        return
    raise LimitError(
        f"{pluralize(steps, 'step')} on {nodes:,} nodes are too many for a picture",
        hint=(
            f"choose one with --step (steps=[1]), or open the explorer: starcast explore "
            f"{schedule.topology.spec}"
        ),
    )


def _lines(schedule: Schedule) -> tuple[str, str]:
    source = " of one source" if schedule.symmetric else ""
    sizes = f"{schedule.ports}-port, {pluralize(schedule.units, 'unit')}{source}"
    return f"{sizes}, {pluralize(schedule.steps, 'step')}", "darker: holds more; colours: trees"


def _panel(schedule: Schedule, step: int) -> Panel:
    rows = np.flatnonzero(schedule.step == step)
    keys = schedule.sender[rows].astype(np.int64) * 256 + schedule.port[rows]
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    labels = schedule.topology.labels()
    opposite = set(
        zip(schedule.receiver[rows].tolist(), schedule.sender[rows].tolist(), strict=True)
    )
    marks = []
    for row, count in zip(rows[first].tolist(), counts.tolist(), strict=True):
        sender, receiver = int(schedule.sender[row]), int(schedule.receiver[row])
        title = f"{labels[sender]} -{schedule.port[row]}-> {labels[receiver]}"
        title += f": {pluralize(count, 'unit')}"
        colour = COLOURS[int(schedule.tree[row]) % len(COLOURS)]
        width = min(1.2 + 0.5 * np.log2(count), 4.0)
        shift = 2.5 if (sender, receiver) in opposite else 0.0
        marks.append(Mark(sender, receiver, colour, float(width), title, shift=shift))
    shares = {node: share for node, share in enumerate(_shares(schedule, step).tolist()) if share}
    caption = f"step {step}: {pluralize(len(marks), 'link')} busy"
    return Panel(caption, marks, shares, schedule.root)


def _shares(schedule: Schedule, step: int) -> NDArray[np.float64]:
    """Return the share of units that each node holds after a step, relative to the final most."""
    nodes = schedule.topology.nodes
    postcondition = derive_postcondition(schedule)
    source = postcondition.source(np.arange(schedule.units))
    initial = np.bincount(source, minlength=nodes)
    pairs = schedule.receiver.astype(np.int64) * schedule.units + schedule.unit
    _, first = np.unique(pairs, return_index=True)  # rows are in the order of time
    held = source[schedule.unit[first]] != schedule.receiver[first]
    first = first[held]
    final = initial + np.bincount(schedule.receiver[first], minlength=nodes)
    now = initial + np.bincount(
        schedule.receiver[first[schedule.step[first] <= step]], minlength=nodes
    )
    # The source of a scatter holds all from the start, and would leave all others pale.
    counted = np.ones(nodes, dtype=bool) if postcondition.to_all else initial == 0
    most = max(int(final[counted].max(initial=1)), 1)
    return np.minimum(now / most, 1.0)


def _animation(steps: int) -> ET.Element:
    style = ET.Element("style")
    share = 100 / steps
    style.text = (
        f".step {{ opacity: 0; animation: show {steps * _SECONDS:.1f}s infinite step-end; }} "
        f"@keyframes show {{ 0% {{ opacity: 1; }} {share:.3f}% {{ opacity: 0; }} }} "
        "@media (prefers-reduced-motion: reduce) { .step { animation: none; } "
        ".last { opacity: 1; } }"
    )
    return style


def _corner(svg: ET.Element, frame: Frame) -> Place:
    """Return where `draw_panels` has put the only panel."""
    width, height = (float(svg.get(name, 0)) for name in ("width", "height"))
    return Place((width - frame.width) / 2, height - MARGIN - frame.height)
