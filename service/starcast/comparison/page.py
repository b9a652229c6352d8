"""Export a comparison as a JSON object, or as an HTML page that shows this object."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from starcast.comparison.compare import BETTER, NOT_COMPARABLE, SAME, WORSE, Comparison
from starcast.comparison.crossovers import (
    Crossing,
    best_crossovers,
    crossover_rows,
    find_crossovers,
    table_columns,
)
from starcast.comparison.curves import Curve, Panel, Path, panels
from starcast.comparison.matching import figure
from starcast.comparison.presentation import MAX_ABREAST, lay_out, matched_by, tabulate
from starcast.comparison.sides import describe_networks, parent
from starcast.stores.database import models
from starcast.support.axes import QUESTION
from starcast.support.html import inline_files, render_page
from starcast.support.table import as_number, with_numbers

VERDICTS = (BETTER, WORSE, SAME, NOT_COMPARABLE)
#: A symbol for each verdict, so that verdicts are not distinguished by colour alone.
SIGNS = {BETTER: "▼", WORSE: "▲", SAME: "=", NOT_COMPARABLE: "✕"}
PROVENANCE = (
    "version", "revision", "dirty", "host", "machine", "python", "numpy", "psycopg", "postgres",
)  # fmt: skip
#: For each run number, the number of directed links used in steps 1, 2, ...
Profiles = Mapping[int, Sequence[int]]

#: The maximum number of segment counts that are listed one by one; more are shown as a range.
_LISTED_SEGMENTS = 6
_TEMPLATE = "compare.html.j2"


def describe(comparison: Comparison, profiles: Profiles) -> dict[str, Any]:
    """Return a comparison as one JSON object, with everything that a page shows.

    Args:
        comparison: the comparison, with its rows in the order to be shown.
        profiles: the step profiles of `profiled_runs`; some may be missing.
    """
    table = tabulate(comparison)
    found = [(panel, find_crossovers(panel)) for panel in panels(comparison)]
    return {
        "title": title_of(comparison),
        "sides": [side.name for side in comparison.sides],
        "titles": list(dict.fromkeys(side.title for side in comparison.sides if side.title)),
        "remarks": list(
            dict.fromkeys(side.incomplete for side in comparison.sides if side.incomplete)
        ),
        "parameters": comparison.shared_parameters(),
        "across": list(comparison.across),
        "matched_by": matched_by(comparison),
        "networks": comparison.networks,
        "summary": summarize(comparison),
        "reasons": count_reasons(comparison),
        "columns": list(table.columns),
        "rows": table.rows,
        "note": table.note,
        "panels": [_panel(panel, crossings, profiles) for panel, crossings in found],
        "crossovers": [
            with_numbers(row) for _, crossings in found for row in crossover_rows(crossings)
        ],
        "provenance": list_sources(comparison),
        "commands": list_commands(comparison),
    }


def page_values(comparison: Comparison, profiles: Profiles) -> dict[str, Any]:
    """Return the variables of the page template; the arguments are those of `describe`."""
    layout = lay_out(comparison.with_short_names())
    described = describe(comparison, profiles)
    return {
        **described,
        "layout": layout,
        "matches": len(comparison.matches),
        "everything": comparison.everything,
        "question": ", ".join(axis for axis in QUESTION if axis not in comparison.across),
        "crossover_columns": table_columns(described["crossovers"]),
        "signs": SIGNS,
        "written": "",
    }


def render_file(comparison: Comparison, profiles: Profiles) -> str:
    """Return the page of a comparison as one HTML file; the arguments are those of `describe`.

    The file contains its data, scripts and styles. If scripts are disabled, it shows tables instead
    of plots.
    """
    values = page_values(comparison, profiles)
    now = datetime.now(UTC).astimezone().isoformat(sep=" ", timespec="seconds")
    values["written"] = f"Written {now} by starcast {version('starcast')}."
    return inline_files(render_page(_TEMPLATE, **values))


def title_of(comparison: Comparison) -> str:
    """Return a title with the names or the number of the sides, and any common experiment."""
    names = [side.name for side in comparison.with_short_names().sides]
    few = len(names) <= MAX_ABREAST
    title = " against ".join(names) if few else f"{len(names)} sides compared"
    experiment = parent(comparison.sides)
    return title if experiment is None else f"{experiment}: {title}"


def summarize(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the algorithms, the networks and the numbers of runs and verdicts of each side.

    The number ``best`` counts the rows in which the side has the minimum time.
    """
    judged = [
        [verdict for *_, verdict in comparison.judgements(match)] for match in comparison.matches
    ]
    best = Counter(name for match in comparison.matches for name in comparison.best(match))
    rows = []
    for place, side in enumerate(comparison.sides):
        counts = Counter(row[place] for row in judged)
        rows.append({
            "side": side.name,
            "algorithms": _describe_runs(side.runs),
            "networks": "; ".join(describe_networks(side.runs)),
            "runs": len(side.runs),
            "best": best[side.name],
            **{verdict: counts[verdict] if place else None for verdict in VERDICTS},
        })  # fmt: skip
    return rows


def count_reasons(comparison: Comparison) -> dict[str, int]:
    """Return the reasons why rows are not comparable, with counts, most frequent first."""
    reasons = Counter(reason for match in comparison.matches for reason in match.reasons if reason)
    return dict(reasons.most_common())


def list_sources(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the versions and machines that produced the runs, with run counts and dates."""
    groups: dict[tuple[Any, ...], list[models.Run]] = {}
    for run in dict.fromkeys(run for side in comparison.sides for run in side.runs):
        key = tuple((run.provenance or {}).get(name) for name in PROVENANCE)
        groups.setdefault(key, []).append(run)
    return [
        {**dict(zip(PROVENANCE, key, strict=True)), "runs": len(runs), **_dates(runs)}
        # Keys are sorted as text, because None stands for values that older runs lack.
        for key, runs in sorted(groups.items(), key=lambda item: str(item[0]))
    ]


def list_commands(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the commands that execute the runs again; sides with equal commands are combined.

    The command ``repeat`` also compares new and stored figures. The commands ``elsewhere`` are for
    another machine or database.
    """
    sides: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for side in comparison.sides:
        sides.setdefault((side.repeat, side.commands), []).append(side.name)
    return [
        {"sides": names, "repeat": repeat, "elsewhere": list(elsewhere)}
        for (repeat, elsewhere), names in sides.items()
    ]


def describe_panels(comparison: Comparison, profiles: Profiles) -> list[dict[str, Any]]:
    """Return the panels of a comparison, or of a single side, in the form used by `describe`."""
    return [_panel(panel, find_crossovers(panel), profiles) for panel in panels(comparison)]


def _panel(panel: Panel, crossings: Iterable[Crossing], profiles: Profiles) -> dict[str, Any]:
    return {
        "name": panel.name,
        "curves": [_curve(curve) for curve in panel.curves],
        "bounds": [_bound(place, part) for place, part in panel.by_place().items()],
        "crossovers": [_crossover(each) for each in best_crossovers(crossings)],
        "profiles": [
            {
                "label": curve.label,
                "run": run.id,
                "segments": run.segments,
                "links": curve.links,
                "links_used": list(profiles[run.id]),
            }
            for curve, run in panel.profiled
            if profiles.get(run.id)
        ],
    }


def _curve(curve: Curve) -> dict[str, Any]:
    spots = [
        {
            "message_bytes": as_number(spot.message_bytes),
            "time": as_number(spot.time),
            "segments": spot.run.segments,
            "steps": figure(spot.run, "steps"),
            "run": spot.run.id,
        }
        for spot in curve.spots()
    ]
    return {"label": curve.label, "spots": spots, "path": _path(curve.path())}


def _bound(place: str, panel: Panel) -> dict[str, Any]:
    return {
        "label": f"lower bound of {place}" if place else "lower bound",
        "spots": [
            {"message_bytes": as_number(m), "time": as_number(time)}
            for m, time in panel.bound.items()
        ],
        "path": _path(panel.bound_path()),
    }


def _path(points: Path) -> list[tuple[float, float]]:
    """Round the points to six significant digits, which is enough for a drawing."""
    return [(float(f"{float(m):.6g}"), float(f"{float(time):.6g}")) for m, time in points]


def _crossover(crossing: Crossing) -> dict[str, Any]:
    return {
        "first": crossing.first,
        "second": crossing.second,
        "how": crossing.how,
        "low": as_number(crossing.low),
        "high": as_number(crossing.high),
        "time": as_number(crossing.time),
        "below": crossing.below,
        "above": crossing.above,
        "sentence": crossing.change,
    }


def _describe_runs(runs: Iterable[models.Run]) -> str:
    """Return a text with the algorithms of runs and their numbers of segments."""
    listed = list(runs)
    if not listed:
        return "no runs"
    algorithms = ", ".join(dict.fromkeys(run.algorithm for run in listed))
    segments = sorted({run.segments for run in listed})
    text = ", ".join(map(str, segments))
    if len(segments) > _LISTED_SEGMENTS:
        text = f"{len(segments)} values from {segments[0]} to {segments[-1]}"
    return f"{algorithms}; segments = {text}"


def _dates(runs: Sequence[models.Run]) -> dict[str, str]:
    finished = [run.finished_at.astimezone().isoformat(timespec="seconds") for run in runs]
    return {"first": min(finished), "last": max(finished)}
