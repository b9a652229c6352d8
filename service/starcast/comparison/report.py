"""The HTML report of a comparison: a single file without external resources."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from importlib.metadata import version
from typing import Any

from markupsafe import Markup

from starcast.axes.parameters import QUESTION
from starcast.comparison.compare import BETTER, NOT_COMPARABLE, SAME, WORSE, Comparison
from starcast.comparison.crossovers import crossover_rows, find_crossovers, table_columns
from starcast.comparison.curves import panels
from starcast.comparison.layout import MOST_ABREAST, Layout, lay_out
from starcast.comparison.networks import networks
from starcast.comparison.panel_plots import plot_panels
from starcast.comparison.sides import parent
from starcast.database import models
from starcast.progress import Reporter, Silent
from starcast.support.html import render_page

VERDICTS = (BETTER, WORSE, SAME, NOT_COMPARABLE)
#: Symbols of the verdicts, so that they are not distinguished by colour alone.
SIGNS = {BETTER: "▼", WORSE: "▲", SAME: "=", NOT_COMPARABLE: "✕"}
#: The places where the commands of a side reproduce it.
HERE, ELSEWHERE = "here, against the stored figures", "on another machine, or in another database"
PROVENANCE = (
    "version", "revision", "dirty", "host", "machine", "python", "numpy", "psycopg", "postgres",
)  # fmt: skip

#: The most numbers of segments that are listed one by one.
_LISTED_SEGMENTS = 6
#: The number of reasons shown at once; the others are folded.
_COMMONEST = 12


def render_report(
    comparison: Comparison,
    profiles: Mapping[int, Sequence[int]],
    written: datetime,
    *,
    everything: bool = False,
    reporter: Reporter | None = None,
) -> str:
    """Return the HTML report of a comparison.

    Args:
        comparison: the comparison, with its rows in the order of the report.
        profiles: for the number of each run in `profiled_runs`, the directed links used in steps
            1, 2, ...; runs may be missing.
        written: the time of writing.
        everything: show all parameters, figures and rows.
        reporter: receives the progress of the plots.

    Raises:
        UnavailableError: matplotlib is not installed.
    """
    every = panels(comparison)
    crossings = {panel.name: find_crossovers(panel) for panel in every}
    plotted = plot_panels(every, crossings, profiles, reporter or Silent())
    listed = [row for panel in every for row in crossover_rows(crossings[panel.name])]
    layout = _round_gaps(_lay_out(comparison, everything=everything))
    return render_page(
        __package__,
        "report.html.j2",
        {"as_cell": as_cell, "svg": Markup},
        title=report_title(comparison),
        comparison=comparison,
        letters=[side.name for side in comparison.with_letters().sides],
        titles=dict.fromkeys(side.title for side in comparison.sides if side.title),
        shared=comparison.header_parameters(everything=everything),
        verdicts=count_verdicts(comparison),
        reasons=count_reasons(comparison),
        commonest=_COMMONEST,
        layout=layout,
        question=", ".join(axis for axis in QUESTION if axis not in comparison.across),
        numeric=_numeric_columns(layout),
        everything=everything,
        sources=list_sources(comparison),
        plotted=plotted,
        crossings=listed,
        crossing_columns=table_columns(listed),
        commands=list_commands(comparison),
        signs=SIGNS,
        written=written,
        version=version("starcast"),
    )


def report_title(comparison: Comparison) -> str:
    """Return the names of the sides, or their number; parts follow the name of their experiment."""
    names = [side.name for side in comparison.with_short_names().sides]
    few = len(names) <= MOST_ABREAST
    title = " against ".join(names) if few else f"{len(names)} sides compared"
    experiment = parent(comparison.sides)
    return title if experiment is None else f"{experiment}: {title}"


def list_commands(comparison: Comparison) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the commands that reproduce the sides, by the names of the sides and by place."""
    sides: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for side in comparison.sides:
        sides.setdefault((side.repeat, side.commands), []).append(side.name)
    commands = {}
    for (repeat, elsewhere), names in sides.items():
        places = {HERE: (repeat,), ELSEWHERE: elsewhere}
        commands[", ".join(names)] = {place: lines for place, lines in places.items() if any(lines)}
    return commands


def count_verdicts(comparison: Comparison) -> list[dict[str, Any]]:
    """Return for each side its runs, networks, best rows, and the number of each verdict."""
    judged = [
        [verdict for *_, verdict in comparison.judgements(match)] for match in comparison.matches
    ]
    best = Counter(name for match in comparison.matches for name in comparison.best(match))
    rows = []
    for place, side in enumerate(comparison.sides):
        counts = Counter(row[place - 1] for row in judged) if place else Counter[str]()
        rows.append({
            "side": side.name,
            "runs": len(side.runs),
            "best": best[side.name],
            **{verdict: counts[verdict] if place else None for verdict in VERDICTS},
            "runs_text": _describe_runs(side.runs),
            "networks": "; ".join(map(str, networks(side.runs))),
        })  # fmt: skip
    return rows


def count_reasons(comparison: Comparison) -> dict[str, int]:
    """Return the reasons why rows are not comparable with their numbers, most frequent first."""
    reasons = Counter(reason for match in comparison.matches for reason in match.reasons if reason)
    return dict(reasons.most_common())


def list_sources(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the code, hosts and engines of the runs, with the number of runs and their dates."""
    groups: dict[tuple[Any, ...], list[models.Run]] = {}
    for run in dict.fromkeys(run for side in comparison.sides for run in side.runs):
        key = tuple((run.provenance or {}).get(name) for name in PROVENANCE)
        groups.setdefault(key, []).append(run)
    return [
        {**dict(zip(PROVENANCE, key, strict=True)), "runs": len(runs), **_dates(runs)}
        for key, runs in sorted(groups.items(), key=lambda item: str(item[0]))
    ]


def as_cell(value: Any) -> str:
    """Return the text of a table cell; decimals have six significant digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else f"{float(value):.6g}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, datetime):
        return value.astimezone().isoformat(sep=" ", timespec="seconds")
    return str(value)


def _describe_runs(runs: Iterable[models.Run]) -> str:
    """Return the algorithms and segments of a side."""
    listed = list(runs)
    if not listed:
        return "no runs"
    algorithms = ", ".join(dict.fromkeys(run.algorithm for run in listed))
    segments = sorted({run.segments for run in listed})
    text = ", ".join(map(str, segments))
    if len(segments) > _LISTED_SEGMENTS:
        text = f"{len(segments)} values from {segments[0]} to {segments[-1]}"
    return f"{algorithms}; segments = {text}"


def _dates(runs: Sequence[models.Run]) -> dict[str, datetime]:
    finished = [run.finished_at for run in runs]
    return {"first": min(finished), "last": max(finished)}


def _lay_out(comparison: Comparison, *, everything: bool) -> Layout:
    """Show few sides next to each other under letters, and many in lines under short names."""
    if len(comparison.sides) <= MOST_ABREAST:
        return lay_out(comparison.with_letters(), everything=everything)
    return lay_out(comparison.with_short_names(), everything=everything)


def _round_gaps(layout: Layout) -> Layout:
    gaps = [name for name in layout.columns if name == "gap" or name.startswith("gap_")]
    rows = []
    for row in layout.rows:
        rounded = {name: round(float(row[name]), 3) for name in gaps if row[name] is not None}
        rows.append({**row, **rounded})
    return replace(layout, rows=tuple(rows))


def _numeric_columns(layout: Layout) -> set[str]:
    return {
        name
        for name in layout.columns
        if all(isinstance(row[name], int | float | Fraction | None) for row in layout.rows)
    }
