"""Sentences about a comparison: its subject, its crossovers, and how to repeat it."""

from collections.abc import Iterable

from starcast.comparison.compare import Comparison
from starcast.comparison.crossovers import all_crossovers, best_crossovers
from starcast.comparison.matching import MESSAGE_UNITS

#: Maximum number of crossovers in the text; the option --crossovers lists all.
_MAX_CROSSOVERS = 12


def explain(comparison: Comparison, *, everything: bool = False) -> list[str]:
    """Describe what is compared, what all rows share, and what is hidden or not comparable."""
    baseline, *others = (side.name for side in comparison.sides)
    head = f"{', '.join(others)} against {baseline}"
    lines = [f"{head}; gap = time / lower bound; {matched_by(comparison)}"]
    if shared := _shared(comparison, everything=everything):
        lines.append(f"in all rows: {shared}")
    if comparison.across:
        several = len(comparison.networks) > 1
        what = "networks of different size" if several else "different conditions"
        lines.append(
            f"across {', '.join(comparison.across)}: {what}; no value is scaled, and each"
            " gap refers to the side's own lower bound"
        )
    elif blocking := comparison.blocking_axes():
        options = " ".join(f"--across {axis}" for axis in blocking)
        lines.append(
            "some rows are not comparable, because they answer different questions;"
            f" {options} compares them all the same"
        )
    hidden = len(comparison.matches) - len(comparison.different)
    if hidden and not everything:
        total = len(comparison.matches)
        lines.append(f"{hidden} of {total} rows are the same on all sides; --all shows them")
    sources = comparison.sources()
    if len(sources) > 1:
        lines.append(f"the runs come from different code: {'; '.join(sources)}")
    return lines


def matched_by(comparison: Comparison) -> str:
    """Return a phrase that states whether rows are matched by message units or by segments."""
    if comparison.by == MESSAGE_UNITS:
        return "rows matched by message_units, the pieces of a message"
    return "rows matched by segments"


def tell_crossovers(comparison: Comparison) -> list[str]:
    """Return one line per crossover of algorithms at their best numbers of segments."""
    crossings = best_crossovers(all_crossovers(comparison))
    single = len({crossing.question for crossing in crossings}) == 1
    lines = [
        f"crossover {crossing.change if single else crossing}"
        for crossing in crossings[:_MAX_CROSSOVERS]
    ]
    if len(crossings) > _MAX_CROSSOVERS:
        more = len(crossings) - _MAX_CROSSOVERS
        lines.append(f"and {more} more crossovers; --crossovers lists all")
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
    """Return lines with the full names of renamed sides, and with the networks if they differ."""
    renamed = [
        f"{short.name} = {side.name}"
        for short, side in zip(shown.sides, comparison.sides, strict=True)
        if not f"/{side.name}".endswith(f"/{short.name}")
    ]
    names = [", ".join(renamed)] if renamed else []
    return names + list(map(str, comparison.networks))


def caption(
    comparison: Comparison, shown: Comparison, columns: Iterable[str], *, everything: bool = False
) -> str:
    """Return a table's caption: the sides compared, and the parameters that all rows share."""
    baseline, *others = (side.name for side in shown.sides)
    pieces = "pieces per message" if comparison.by == MESSAGE_UNITS else "segments"
    has_gap = any(name.startswith("gap") for name in columns)
    parts = [
        f"{', '.join(others)} compared with {baseline}, at equal numbers of {pieces}",
        "the gap is the time divided by a lower bound" if has_gap else "",
        _shared(comparison, everything=everything),
        *legend(comparison, shown),
    ]
    return "; ".join(filter(None, parts))


def _shared(comparison: Comparison, *, everything: bool) -> str:
    shared = comparison.header_parameters(everything=everything)
    return ", ".join(f"{name} {value}" for name, value in shared.items())
