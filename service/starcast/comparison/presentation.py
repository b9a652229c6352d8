"""Present a comparison as tables and sentences, as one JSON object, and as an HTML page."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from typing import Any

from starcast.comparison.compare import (
    BETTER,
    CHANGES,
    NOT_COMPARABLE,
    SAME,
    WORSE,
    Comparison,
    shared_value,
)
from starcast.comparison.crossovers import (
    COLUMNS,
    Crossing,
    all_crossovers,
    best_crossovers,
    crossover_rows,
    find_crossovers,
    table_columns,
)
from starcast.comparison.curves import Curve, Panel, Polyline, panels
from starcast.comparison.matching import (
    MESSAGE_UNITS,
    MISSING,
    PARAMETERS,
    SEGMENTS,
    count_unmatched,
    figure,
    find_matches,
    value,
)
from starcast.comparison.sides import PART, describe_networks, parent
from starcast.support.axes import QUESTION
from starcast.support.runs import FIGURES, Run
from starcast.support.table import Row, Table, as_number, with_numbers

#: Maximum number of sides (compared sets of runs) that are shown next to each other in one line. If
#: there are more sides, each side has its own line.
MAX_ABREAST = 3
#: Descriptions of the possible values of `Comparison.by`, for `describe_pairing`.
_UNITS = {MESSAGE_UNITS: "message_units (the pieces of a message)", SEGMENTS: "segments"}
#: Columns that a table in LaTeX omits if it is too wide, in this order.
_DISPENSABLE = ("note", "change", "steps", "missing", "verdict", "gap", "change_percent")
#: Maximum number of crossovers in the text; the option --crossovers lists all.
_MAX_CROSSOVERS = 12


@dataclass(frozen=True, repr=False)
class Layout(Table):
    """A comparison as a table for display.

    Attributes:
        columns: the column names in order.
        rows: one dictionary per line, with the values of all columns and possibly further values.
        best: for each line, the columns that contain the shortest time of all sides.
        together: the number of consecutive lines per match: 1, or the number of sides.
        parameters: the number of leftmost columns that contain a match's parameters.
    """

    best: Sequence[Collection[str]] = ()  # type: ignore[misc]
    together: int = 1
    parameters: int = 0

    @cached_property
    def numeric(self) -> frozenset[str]:
        """The columns that contain numbers, and no other values except None."""
        return frozenset(filter(self.is_numeric, self.columns))


def lay_out(comparison: Comparison, *, stacked: bool | None = None, brief: bool = False) -> Layout:
    """Return a comparison as a table.

    Args:
        comparison: the comparison.
        stacked: whether each match is a block with one line per side (default: only if there are
            more than `MAX_ABREAST` sides).
        brief: whether to omit the absolute change in time; ignored if all figures are shown.
    """
    if stacked is None:
        stacked = len(comparison.sides) > MAX_ABREAST
    make = _stack if stacked else _set_abreast
    layout = make(comparison)
    if not brief or comparison.everything:
        return layout
    absolute = {"change", *(comparison.change_columns(side)[0] for side in comparison.sides[1:])}
    return replace(layout, columns=tuple(name for name in layout.columns if name not in absolute))


def layouts(comparison: Comparison) -> Iterator[tuple[Comparison, Layout]]:
    """Yield layouts of a comparison, widest first, so that the caller can choose one that fits.

    Each layout is yielded in a pair with the comparison that it shows, whose sides may be named by
    letters or short names.
    """
    short = comparison.with_short_names()
    candidates = [(short, True)]
    if len(comparison.sides) <= MAX_ABREAST:
        candidates.insert(0, (comparison.with_letters(), False))
    for shown, stacked in candidates:
        for brief in (False, True):
            yield shown, lay_out(shown, stacked=stacked, brief=brief)


def as_cells(row: Mapping[str, Any]) -> Row:
    """Return a row with exact figures converted to numbers, and gaps rounded to three decimals."""
    cells = with_numbers(row)
    for name, cell in cells.items():
        if (name == "gap" or name.startswith("gap_")) and cell is not None:
            cells[name] = round(cell, 3)
    return cells


def tabulate(comparison: Comparison) -> Table:
    """Return a comparison as a machine-readable table, with a single value in each cell.

    The table's note contains the number of omitted rows, in which all sides are equal.
    """
    rows = list(map(as_cells, comparison.rows()))
    hidden = len(comparison.matches) - len(rows)
    note = f"{hidden} of {len(comparison.matches)} rows are the same on all sides"
    columns = comparison.data_columns()
    return Table.of(rows, columns, note if hidden else "")


def tabulate_runs(comparison: Comparison) -> Table:
    """Return the runs of all matches as a machine-readable table, with one run per row.

    The column names do not depend on the sides. The column ``pair`` contains the number of the
    match. A run in several matches has one row per match.
    """
    rows = []
    for number, match in enumerate(comparison.matches, start=1):
        lines = zip(comparison.sides, match.runs, comparison.lines(match), strict=True)
        rows += [
            as_cells({"pair": number, "side": side.name, "run": run.id, **line})
            for side, run, line in lines
            if run is not None
        ]
    columns = ("pair", "side", "run", *PARAMETERS, *FIGURES, MISSING, "gap", *CHANGES, "note")
    return Table.of(rows, columns)


def tabulate_crossovers(comparison: Comparison) -> Table:
    """Return all crossovers of a comparison as a machine-readable table."""
    rows = list(map(with_numbers, crossover_rows(all_crossovers(comparison))))
    sizes = [as_number(run.message_bytes) for side in comparison.sides for run in side.runs]
    note = f"no crossovers between {min(sizes)} and {max(sizes)} bytes" if sizes else ""
    return Table.of(rows, COLUMNS, "" if rows else note)


def _set_abreast(comparison: Comparison) -> Layout:
    """Return a comparison as a table with one row per match; each row shows all sides."""
    times = {side.name: comparison.column("time", side) for side in comparison.sides}
    return Layout(
        tuple(comparison.columns()),
        list(map(as_cells, comparison.rows())),
        best=[{times[name] for name in comparison.best(each)} for each in comparison.shown()],
        parameters=len(comparison.parameters()),
    )


def _stack(comparison: Comparison) -> Layout:
    """Return a comparison as a table with one line per side of each match.

    Parameters that differ between the sides of a match are shown in each side's line.
    """
    shown = comparison.shown()
    parameters = comparison.parameters()
    figures = comparison.default_figures()
    common = [name for name in parameters if all(len(match.values(name)) == 1 for match in shown)]
    own = [name for name in parameters if name not in common]
    rows = [
        as_cells(line | {name: shared_value(match, name) for name in common} | {"side": side.name})
        for match in shown
        for side, line in zip(comparison.sides, comparison.lines(match), strict=True)
    ]
    note = ["note"] if any(row["note"] for row in rows) else []
    return Layout(
        (*common, "side", *own, *figures, *CHANGES, "gap", *note),
        rows,
        best=[{"time"} if row["best"] else set() for row in rows],
        together=len(comparison.sides),
        parameters=len(common),
    )


def explain(comparison: Comparison) -> list[str]:
    """Return sentences that explain a comparison's table, such as the number of hidden rows."""
    baseline, *others = (side.name for side in comparison.sides)
    head = f"{', '.join(others)} against {baseline}"
    lines = [f"{head}; gap = time / lower bound"]
    if shared := _shared(comparison):
        lines.append(f"in all rows: {shared}")
    if comparison.across:
        several = len(comparison.networks) > 1
        what = "networks of different size" if several else "different conditions"
        lines.append(
            f"across {', '.join(comparison.across)}: {what}; no value is scaled, and each"
            " gap refers to the side's own lower bound"
        )
    elif blocking := comparison.blocking_axes():
        options = " ".join(f"`across` {axis}" for axis in blocking)
        lines.append(
            "some rows are not comparable, because their runs solve different problems;"
            f" {options} compares them nevertheless"
        )
    if advice := advise_pairing(comparison):
        lines.append(advice)
    hidden = len(comparison.matches) - len(comparison.different)
    if hidden and not comparison.everything:
        total = len(comparison.matches)
        lines.append(f"{hidden} of {total} rows are the same on all sides; `everything` shows them")
    sources = comparison.sources()
    if len(sources) > 1:
        lines.append(f"the runs come from different code: {'; '.join(sources)}")
    return lines


def advise_pairing(comparison: Comparison) -> str:
    """Return advice to pair runs by segments, or an empty string.

    The advice is returned if most rows lack a run of some side, and fewer rows would be incomplete
    if runs were paired by segments.
    """
    lonely, total = count_unmatched(comparison.matches), len(comparison.matches)
    if comparison.by != MESSAGE_UNITS or 2 * lonely <= total:
        return ""
    unpaired = count_unmatched(find_matches(comparison.sides, comparison.across, SEGMENTS))
    if unpaired >= lonely:
        return ""
    return (
        f"{lonely} of {total} rows have no partner; "
        f"if runs are paired `by` segments, {unpaired} have none"
    )


def describe_pairing(comparison: Comparison) -> str:
    """Return a sentence that describes which runs are paired in the comparison's rows.

    The sentence names the parameters that vary between rows but are equal within each row.
    """
    rows = [[run for run in match.runs if run is not None] for match in comparison.matches]
    equal = {
        name
        for name in PARAMETERS
        if all(len({value(run, name) for run in runs}) < 2 for runs in rows)
    }
    columns = replace(comparison, everything=False).parameters()
    varying = [name for name in columns if name in equal and name not in _UNITS]
    units = _UNITS[comparison.by]
    if comparison.by in equal:
        return f"a row compares runs with equal {_enumerate([*varying, units])}"
    rule = f"runs with equal {units}, or the fastest of each side's other runs"
    return f"a row compares {f'runs with equal {_enumerate(varying)}: ' if varying else ''}{rule}"


def _enumerate(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def tell_crossovers(comparison: Comparison) -> list[str]:
    """Return one line per crossover between algorithms at their best numbers of segments.

    If there are more than `_MAX_CROSSOVERS`, the last line contains the number of the others.
    """
    crossings = best_crossovers(all_crossovers(comparison))
    single = len({crossing.question for crossing in crossings}) == 1
    lines = [
        f"crossover {crossing.change if single else crossing}"
        for crossing in crossings[:_MAX_CROSSOVERS]
    ]
    if len(crossings) > _MAX_CROSSOVERS:
        more = len(crossings) - _MAX_CROSSOVERS
        lines.append(f"and {more} more crossovers; `crossovers` lists all")
    return lines


def tell_commands(comparison: Comparison) -> list[str]:
    """Return headings, each followed by commands that execute the runs again."""
    repeat = dict.fromkeys(side.repeat for side in comparison.sides if side.repeat)
    elsewhere = dict.fromkeys(command for side in comparison.sides for command in side.commands)
    lines = []
    for heading, commands in (
        ("reproduce with:", repeat),
        ("on another machine, or in another database, with:", elsewhere),
    ):
        lines += [heading, *(f"  {command}" for command in commands)] if commands else []
    return lines


def legend(comparison: Comparison, shown: Comparison) -> list[str]:
    """Return lines with the full names of renamed sides, and with the compared networks.

    ``shown`` is the comparison with the new names. The networks are included only if ``across``
    names the topology.
    """
    renamed = [
        f"{short.name} = {side.name}"
        for short, side in zip(shown.sides, comparison.sides, strict=True)
        if not f"/{side.name}".endswith(f"/{short.name}")
    ]
    names = [", ".join(renamed)] if renamed else []
    return names + comparison.networks


def describe_latex(comparison: Comparison) -> dict[str, Any]:
    """Return the arguments of `starcast.support.latex.booktabs` for a comparison."""
    from starcast.support.latex import table_label  # noqa: PLC0415 - only LaTeX needs it

    shown = comparison.with_letters()
    layout = lay_out(shown)
    shared = _shared(comparison)
    below = [
        *legend(comparison, shown),
        "a gap, if shown, is time / lower bound",
        f"in all rows: {shared}" if shared else "",
        describe_pairing(comparison),
        "rows without a bold time have equal times, or runs that are not comparable",
    ]
    experiments = dict.fromkeys(side.name.partition(PART)[0] for side in comparison.sides)
    ranks = {name: _rank(name) for name in layout.columns}
    spare = sorted(
        (name for name, rank in ranks.items() if rank >= 0), key=lambda each: ranks[each]
    )
    return {
        "columns": layout.columns,
        "rows": layout.rows,
        "caption": title_of(comparison),
        "label": table_label("compare", *experiments),
        "bold": layout.best,
        "below": [f"{line[0].upper()}{line[1:]}." for line in below if line],
        "spare": () if comparison.everything else spare,
    }


def _rank(column: str) -> int:
    """Return the position of a column's kind, such as ``gap``, in `_DISPENSABLE`; -1 if absent."""
    kinds = [kind for kind in _DISPENSABLE if f"{column}_".startswith(f"{kind}_")]
    return _DISPENSABLE.index(max(kinds, key=len)) if kinds else -1


def _shared(comparison: Comparison) -> str:
    shared = comparison.shared_parameters()
    return ", ".join(f"{name} {value}" for name, value in shared.items())


VERDICTS = (BETTER, WORSE, SAME, NOT_COMPARABLE)
#: A symbol for each verdict, so that verdicts are not distinguished by colour alone.
SIGNS = {BETTER: "▼", WORSE: "▲", SAME: "=", NOT_COMPARABLE: "✕"}
PROVENANCE = (
    "version", "revision", "dirty", "host", "machine", "python", "numpy", "psycopg", "postgres",
)  # fmt: skip
#: For each run number, the number of directed links used in steps 1, 2, ...
Profiles = Mapping[int | None, Sequence[int]]

#: The maximum number of segment counts that are listed one by one; more are shown as a range.
_LISTED_SEGMENTS = 6
_TEMPLATE = "compare.html.j2"


def describe(comparison: Comparison, profiles: Profiles) -> dict[str, Any]:
    """Return a comparison as one JSON object, with all data that the comparison page shows.

    Args:
        comparison: the comparison, with its rows in the order to be shown.
        profiles: for each run of `profiled_runs`, the number of links used in each step; runs may
            be missing.
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
        "matched_by": describe_pairing(comparison),
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
    """Return the template variables of the comparison page; `describe` explains the arguments."""
    layout = lay_out(comparison.with_short_names())
    described = describe(comparison, profiles)
    return {
        **described,
        "layout": layout,
        "advice": advise_pairing(comparison).replace("`", ""),
        "matches": len(comparison.matches),
        "everything": comparison.everything,
        "question": ", ".join(axis for axis in QUESTION if axis not in comparison.across),
        "crossover_columns": table_columns(described["crossovers"]),
        "signs": SIGNS,
        "written": "",
    }


def render_file(comparison: Comparison, profiles: Profiles) -> str:
    """Return a comparison's page as one HTML file; `describe` explains the arguments.

    The file contains its data, scripts and styles. If scripts are disabled in the browser, the page
    shows tables instead of plots.
    """
    from starcast.support.html import inline_files, render_page  # noqa: PLC0415 - only pages need it

    values = page_values(comparison, profiles)
    now = datetime.now(UTC).astimezone().isoformat(sep=" ", timespec="seconds")
    values["written"] = f"Written {now} by starcast {version('starcast')}."
    return inline_files(render_page(_TEMPLATE, **values))


def title_of(comparison: Comparison) -> str:
    """Return a comparison's title, with the names of its sides or, if there are many, their number.

    If all sides are parts of one experiment, the title begins with the experiment's name.
    """
    names = [side.name for side in comparison.with_short_names().sides]
    few = len(names) <= MAX_ABREAST
    title = " against ".join(names) if few else f"{len(names)} sides compared"
    experiment = parent(comparison.sides)
    return title if experiment is None else f"{experiment}: {title}"


def summarize(comparison: Comparison) -> list[dict[str, Any]]:
    """Return, for each side, the algorithms, networks, number of runs, and counts of verdicts.

    The count ``best`` is the number of rows in which the side has the minimum time, and some
    comparable run is slower. The counts of verdicts are None for the baseline.
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
    groups: dict[tuple[Any, ...], list[Run]] = {}
    for run in dict.fromkeys(run for side in comparison.sides for run in side.runs):
        key = tuple((run.provenance or {}).get(name) for name in PROVENANCE)
        groups.setdefault(key, []).append(run)
    return [
        {**dict(zip(PROVENANCE, key, strict=True)), "runs": len(runs), **_dates(runs)}
        # Keys are sorted as text, because they contain None for values that were not stored with
        # older runs.
        for key, runs in sorted(groups.items(), key=lambda item: str(item[0]))
    ]


def list_commands(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the commands that execute the runs again; sides with equal commands are combined.

    ``repeat`` is the command that also compares the new figures with the stored figures, and
    ``elsewhere`` lists the commands for another machine or database.
    """
    sides: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for side in comparison.sides:
        sides.setdefault((side.repeat, side.commands), []).append(side.name)
    return [
        {"sides": names, "repeat": repeat, "elsewhere": list(elsewhere)}
        for (repeat, elsewhere), names in sides.items()
    ]


def describe_panels(comparison: Comparison, profiles: Profiles) -> list[dict[str, Any]]:
    """Return the panels of a comparison as JSON values; the comparison may have a single side."""
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


def _path(points: Polyline) -> list[tuple[float, float]]:
    """Return the points of a plotted line, rounded to six significant digits."""
    return [(float(f"{float(m):.6g}"), float(f"{float(time):.6g}")) for m, time in points]


def _crossover(crossing: Crossing) -> dict[str, Any]:
    names = ("first", "second", "how", "low", "high", "time", "below", "above")
    values = with_numbers({name: getattr(crossing, name) for name in names})
    return {**values, "sentence": crossing.change}


def _describe_runs(runs: Iterable[Run]) -> str:
    """Describe runs by their algorithms and their numbers of segments."""
    listed = list(runs)
    if not listed:
        return "no runs"
    algorithms = ", ".join(dict.fromkeys(run.algorithm for run in listed))
    segments = sorted({run.segments for run in listed})
    text = ", ".join(map(str, segments))
    if len(segments) > _LISTED_SEGMENTS:
        text = f"{len(segments)} values from {segments[0]} to {segments[-1]}"
    return f"{algorithms}; segments = {text}"


def _dates(runs: Sequence[Run]) -> dict[str, str]:
    finished = [run.finished_at.astimezone().isoformat(timespec="seconds") for run in runs]
    return {"first": min(finished), "last": max(finished)}
