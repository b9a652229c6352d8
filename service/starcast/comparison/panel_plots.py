"""The plots of a comparison, panel by panel, and as files of their own."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from starcast.comparison.compare import Comparison
from starcast.comparison.crossovers import Crossing, best_crossovers, find_crossovers
from starcast.comparison.curves import Panel, panels
from starcast.database import models
from starcast.errors import InputError, UnavailableError
from starcast.progress import Reporter

if TYPE_CHECKING:
    from types import ModuleType

    from starcast.comparison.page_svg import Plot


@dataclass(frozen=True)
class PlottedPanel:
    """A panel with its plots, or None if there is nothing to plot.

    Attributes:
        number: its number, from 1.
        panel: the panel.
        times: time against message size.
        links: links used in each step.
        changes: the crossovers marked in the plot of times.
    """

    number: int
    panel: Panel
    times: "Plot | None"
    links: "Plot | None"
    changes: Sequence[Crossing]


def plot_panels(
    every: Sequence[Panel],
    crossings: Mapping[str, Sequence[Crossing]],
    profiles: Mapping[int, Sequence[int]],
    reporter: Reporter,
) -> list[PlottedPanel]:
    """Return the panels with their plots; no panel if none has anything to plot.

    Args:
        every: the panels of a comparison.
        crossings: the crossovers of each panel, by its name.
        profiles: for the number of each run in `profiled_runs`, the directed links used in steps
            1, 2, ...; runs may be missing.
        reporter: receives the progress.

    Raises:
        UnavailableError: matplotlib is not installed.
    """
    with_steps = _panels_with_steps(every)
    with_times = [panel for panel in every if sum(m > 0 for m in panel.sizes) > 1]
    if not with_steps and not with_times:
        return []
    plots = _import_plots()
    styles = plots.Styles(curve.label for panel in every for curve in panel.curves)
    plotted = []
    with reporter.task("drawing", len(every), "panels") as task:
        for number, panel in enumerate(every, start=1):
            marks = best_crossovers(crossings[panel.name])
            times = links = None
            if any(panel is each for each in with_times):
                times = plots.plot_times(panel, styles, marks)
            has_profile = any(run.id in profiles for _, run in panel.profiled())
            if has_profile and any(panel is each for each in with_steps):
                links = plots.plot_links(panel, profiles, styles)
            plotted.append(PlottedPanel(number, panel, times, links, marks))
            task.advance()
    return plotted


def _panels_with_steps(every: Iterable[Panel]) -> list[Panel]:
    """Return the panels with a schedule that no earlier panel has.

    A schedule does not depend on message_bytes, t_s, t_c and faults; faults only remove some of
    its links, so panels without faults come first.
    """
    chosen = []
    seen: set[tuple[Any, ...]] = set()
    for panel in sorted(every, key=lambda panel: bool(panel.question["faults"])):
        axes = tuple(panel.question[axis] for axis in ("topology", "collective", "ports"))
        schedules = {(*axes, curve.label, run.segments) for curve, run in panel.profiled()}
        if not schedules <= seen:
            chosen.append(panel)
        seen |= schedules
    return chosen


def plot_files(
    comparison: Comparison,
    profiles: Mapping[int, Sequence[int]],
    out: Path,
    reporter: Reporter,
) -> dict[Path, bytes]:
    """Return the files of all plots of a comparison.

    A single plot has the name ``out``. Of several, plots of times are called ``NAME-times-1.svg``,
    plots of links ``NAME-links-1.svg``, with the number of the panel in the HTML report.

    Args:
        comparison: the comparison.
        profiles: as in `plot_panels`.
        out: the name; its suffix, ``.svg`` or ``.pdf``, is the format.
        reporter: receives the progress.

    Returns:
        The content of each file.

    Raises:
        InputError: there is nothing to plot.
        UnavailableError: matplotlib is not installed.
    """
    every = panels(comparison)
    crossings = {panel.name: find_crossovers(panel) for panel in every}
    plots: dict[str, Plot] = {}
    for each in plot_panels(every, crossings, profiles, reporter):
        if each.times is not None:
            plots[f"times-{each.number}"] = each.times
        if each.links is not None:
            plots[f"links-{each.number}"] = each.links
    if not plots:
        raise InputError(
            "the comparison has nothing to plot",
            hint="compare complete runs with two message sizes above 0, or with stored steps",
        )
    suffix = cast("Literal['svg', 'pdf']", out.suffix.lower().removeprefix("."))
    single = len(plots) == 1
    return {
        out if single else out.with_name(f"{out.stem}-{name}{out.suffix}"): plot.file(suffix)
        for name, plot in plots.items()
    }


def profiled_runs(comparison: Comparison) -> list[models.Run]:
    """Return the runs whose step profiles are plotted."""
    every = _panels_with_steps(panels(comparison))
    return [run for panel in every for _, run in panel.profiled()]


def _import_plots() -> "ModuleType":
    # A home without write permission, or the first search for fonts, must not show up as a warning.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        from starcast.comparison import plots  # noqa: PLC0415 - only plots need matplotlib
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise UnavailableError(
            "plots need matplotlib, which is not installed",
            hint="install it with: pip install 'starcast[reports]'",
        ) from None
    return plots
