"""A comparison as a page: one HTML file that needs nothing else, in light and in dark."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from starcast.comparison import crossovers, page_svg, plots
from starcast.comparison.compare import BETTER, NOT_COMPARABLE, SAME, WORSE, Comparison
from starcast.comparison.curves import Panel, panels
from starcast.comparison.layout import MOST_ABREAST, Layout, laid_out
from starcast.comparison.matching import QUESTION
from starcast.comparison.networks import networks
from starcast.comparison.side_names import parent
from starcast.database import models
from starcast.progress import Reporter, Silent

VERDICTS = (BETTER, WORSE, SAME, NOT_COMPARABLE)
#: What stands beside a verdict, so that it is not told by colour alone.
SIGNS = {BETTER: "▼", WORSE: "▲", SAME: "=", NOT_COMPARABLE: "✕"}
#: Where the commands of a side reproduce it.
HERE, ELSEWHERE = "here, against what is stored", "on another machine, or in another database"
PROVENANCE = (
    "version",
    "revision",
    "dirty",
    "host",
    "machine",
    "python",
    "numpy",
    "psycopg",
    "postgres",
)

_TEMPLATE = "report.html.j2"
_PIECES = 6  # as many values of p as are listed one by one
_COMMONEST = 12  # so many reasons are told at once, the others on demand


@dataclass(frozen=True)
class Plotted:
    """A panel with its pictures, each None where there is nothing to see, and the crossings that are marked in them."""

    panel: Panel
    times: str | None
    links: str | None
    changes: Sequence[crossovers.Crossing]


def page(
    comparison: Comparison,
    profiles: Mapping[int, Sequence[int]],
    written: datetime,
    *,
    everything: bool = False,
    reporter: Reporter | None = None,
) -> str:
    """The page.

    Args:
        comparison: what it is about; its rows in the order in which the page shows them.
        profiles: for the number of each run in `profiled`, the directed links used in steps 1, 2, ...; a run may lack.
        written: when.
        everything: whether it shows all parameters, figures and rows.
        reporter: hears of the plots that are drawn.
    """
    every = panels(comparison)
    changes = {panel.name: crossovers.crossings(panel) for panel in every}
    drawn = _plotted(every, changes, profiles, reporter or Silent())
    listed = [row for panel in every for row in crossovers.rows(changes[panel.name])]
    layout = _rounded(_laid_out(comparison, everything=everything))
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"told": told, "svg": Markup}
    template = environment.from_string(
        files(__package__).joinpath(_TEMPLATE).read_text(encoding="utf-8")
    )
    return template.render(
        title=titled(comparison),
        comparison=comparison,
        letters=[side.name for side in comparison.lettered().sides],
        titles=dict.fromkeys(side.title for side in comparison.sides if side.title),
        shared=comparison.worth_saying(everything=everything),
        verdicts=verdicts(comparison),
        reasons=reasons(comparison),
        commonest=_COMMONEST,
        layout=layout,
        question=", ".join(axis for axis in QUESTION if axis not in comparison.across),
        numeric=_numeric(layout),
        everything=everything,
        sources=sources(comparison),
        plotted=drawn,
        crossings=listed,
        crossing_columns=crossovers.told_columns(listed),
        commands=commands(comparison),
        signs=SIGNS,
        palette=page_svg.PALETTE,
        dark=page_svg.DARK,
        written=written,
        version=version("starcast"),
    )


def titled(comparison: Comparison) -> str:
    """The sides by name, parts of one experiment after its name; of many how many they are."""
    whole, names = parent(comparison.sides), [side.name for side in comparison.briefly().sides]
    told = " against ".join(names) if len(names) <= MOST_ABREAST else f"{len(names)} sides compared"
    return told if whole is None else f"{whole}: {told}"


def profiled(comparison: Comparison) -> list[models.Run]:
    """The runs whose step profiles the page draws."""
    return [run for panel in _stepped(panels(comparison)) for _, run in panel.profiled()]


def commands(comparison: Comparison) -> dict[str, dict[str, tuple[str, ...]]]:
    """The command lines that reproduce the sides, by where they do, under the names of the sides that they reproduce."""
    sides: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for side in comparison.sides:
        sides.setdefault((side.repeat, side.commands), []).append(side.name)
    return {
        ", ".join(names): {
            topology: lines
            for topology, lines in ((HERE, (repeat,)), (ELSEWHERE, commands))
            if any(lines)
        }
        for (repeat, commands), names in sides.items()
    }


def verdicts(comparison: Comparison) -> list[dict[str, Any]]:
    """For each side its runs and networks, in how many rows it is the best, and how often each verdict fell on it."""
    judged = [
        [verdict for *_, verdict in comparison.judgements(match)] for match in comparison.matches
    ]
    best = Counter(name for match in comparison.matches for name in comparison.best(match))
    rows = []
    for place, side in enumerate(comparison.sides):
        fallen = Counter(row[place - 1] for row in judged) if place else Counter[str]()
        counts = {verdict: fallen[verdict] if place else None for verdict in VERDICTS}
        told = {"what": _what(side.runs), "networks": "; ".join(map(str, networks(side.runs)))}
        rows.append(
            {"side": side.name, "runs": len(side.runs), "best": best[side.name], **counts, **told}
        )
    return rows


def reasons(comparison: Comparison) -> dict[str, int]:
    """Why rows are no comparison, and how many each; the commonest first."""
    return dict(
        Counter(
            reason for match in comparison.matches for reason in match.reasons if reason
        ).most_common()
    )


def sources(comparison: Comparison) -> list[dict[str, Any]]:
    """Where the figures come from: code, host and engines, each with how many runs and from when to when."""
    found: dict[tuple[Any, ...], list[models.Run]] = {}
    for run in dict.fromkeys(run for side in comparison.sides for run in side.runs):
        found.setdefault(tuple((run.provenance or {}).get(name) for name in PROVENANCE), []).append(
            run
        )
    return [
        {**dict(zip(PROVENANCE, key, strict=True)), "runs": len(runs), **_dates(runs)}
        for key, runs in sorted(found.items(), key=lambda item: str(item[0]))
    ]


def told(value: Any) -> str:
    """A cell in words: whole numbers whole, others to six digits."""
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


def _plotted(
    every: Sequence[Panel],
    changes: Mapping[str, Sequence[crossovers.Crossing]],
    profiles: Mapping[int, Sequence[int]],
    reporter: Reporter,
) -> list[Plotted]:
    styles = page_svg.Styles(curve.label for panel in every for curve in panel.curves)
    drawn, stepped = [], _stepped(every)
    with reporter.task("drawing", len(every), "panels") as task:
        for place, panel in enumerate(every, start=1):
            marks = crossovers.marked(changes[panel.name])
            along = sum(m > 0 for m in panel.sizes) > 1
            times = plots.times(panel, styles, marks, f"times-{place}") if along else None
            busy = any(panel is each for each in stepped) and any(
                run.id in profiles for _, run in panel.profiled()
            )
            links = plots.links(panel, profiles, styles, f"links-{place}") if busy else None
            drawn.append(Plotted(panel, times, links, marks))
            task.advance()
    return drawn


def _stepped(every: Iterable[Panel]) -> list[Panel]:
    """The panels whose steps are worth a plot: those with a schedule of which there is none yet.

    A schedule knows nothing of m, T_s and T_c, nor of the faults: these take a few links from it, wherever they are. So
    panels without faults come first.
    """
    stepped, seen = [], set[tuple[Any, ...]]()
    for panel in sorted(every, key=lambda panel: bool(panel.question["faults"])):
        topology = tuple(panel.question[axis] for axis in ("topology", "collective", "ports"))
        steps = {(*topology, curve.label, run.segments) for curve, run in panel.profiled()}
        if not steps <= seen:
            stepped.append(panel)
        seen |= steps
    return stepped


def _what(runs: Iterable[models.Run]) -> str:
    """The choices of a side in a line: its algorithms, and its p."""
    listed = list(runs)
    algorithms = ", ".join(dict.fromkeys(run.algorithm for run in listed))
    pieces = sorted({run.segments for run in listed})
    told = (
        ", ".join(map(str, pieces))
        if len(pieces) <= _PIECES
        else f"{len(pieces)} values from {pieces[0]} to {pieces[-1]}"
    )
    return f"{algorithms}; p = {told}" if listed else "no runs"


def _dates(runs: Sequence[models.Run]) -> dict[str, datetime]:
    finished = [run.finished_at for run in runs]
    return {"first": min(finished), "last": max(finished)}


def _laid_out(comparison: Comparison, *, everything: bool) -> Layout:
    """Few sides abreast under the letters of the summary; many in lines of their own, under brief names."""
    abreast = len(comparison.sides) <= MOST_ABREAST
    return laid_out(
        comparison.lettered() if abreast else comparison.briefly(), everything=everything
    )


def _rounded(layout: Layout) -> Layout:
    """The same with its gaps to three decimals."""
    gaps = [name for name in layout.columns if name.partition(" ")[0] == "gap"]
    rows = (
        {**row, **{name: round(float(row[name]), 3) for name in gaps if row[name] is not None}}
        for row in layout.rows
    )
    return replace(layout, rows=tuple(rows))


def _numeric(layout: Layout) -> set[str]:
    return {
        name
        for name in layout.columns
        if all(isinstance(row[name], int | float | Fraction | None) for row in layout.rows)
    }
