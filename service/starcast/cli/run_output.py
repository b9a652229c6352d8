"""Listings of stored runs, for ``run``, ``experiment`` and ``compare``."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from starcast.axes.parameters import AXES, POINT_AXES
from starcast.cli.output import PAGE, emit, fits, narrowed, omitted_columns
from starcast.support.text import format_value
from starcast.vocabulary import Format

#: Usual values; a table omits a column in which all runs have them.
_USUAL: dict[str, Any] = {"missing": 0, "status": "complete"} | {
    name: list(axis.usual) if isinstance(axis.usual, tuple) else axis.usual
    for name, axis in AXES.items()
    if axis.has_usual
}
#: The axes whose columns a narrow table omits, the first one first.
SPARE_AXES = sorted(
    (name for name, axis in AXES.items() if axis.spare), key=lambda name: -AXES[name].spare
)
#: The columns that a table omits until it fits on the terminal, the first one first.
_SPARE = ("finished", "steps", "missing", *SPARE_AXES, "experiment")


def emit_runs(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    output: Format,
    *,
    everything: bool = False,
    needed: Collection[str] = (),
) -> None:
    """Print rows of runs: all columns as JSON and CSV, only informative ones in tables.

    If a table is too wide, parameters that all rows share go into its title, and a line below it
    names the omitted columns. The columns of ``needed`` and the parameters that tell rows apart are
    never omitted.
    """
    if everything or output in (Format.JSON, Format.CSV):
        emit(rows, columns, output)
        return
    informative = [
        name
        for name in columns
        if name not in _USUAL or any(row[name] != _USUAL[name] for row in rows)
    ]
    if output is not Format.TABLE or fits(rows, informative, PAGE):
        emit(rows, informative, output)
        return
    short = [{**row, "faults": abbreviate(row["faults"])} for row in rows]
    shared = _shared_values(rows, [name for name in informative if name in POINT_AXES])
    kept = [name for name in informative if name not in shared]
    distinctive = _distinctive(short, [name for name in kept if name in POINT_AXES])
    spare = [name for name in _SPARE if name not in {*needed, *distinctive}]
    shown = narrowed(short, kept, spare)
    parts = [f"{name} {format_value(value)}" for name, value in shared.items() if value is not None]
    below = omitted_columns(informative, (*shown, *shared))
    emit(short, shown, output, ", ".join(parts), below=below)


def _distinctive(rows: Sequence[Mapping[str, Any]], parameters: Sequence[str]) -> list[str]:
    """Return parameters by which all rows differ that differ in any, without superfluous ones."""

    def count(names: Sequence[str]) -> int:
        return len({tuple(format_value(row[name]) for name in names) for row in rows})

    kept = list(parameters)
    for name in _SPARE:
        others = [other for other in kept if other != name]
        if count(others) == count(parameters):
            kept = others
    return kept


def _shared_values(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> dict[str, Any]:
    if not rows:
        return {}
    first = rows[0]
    return {name: first[name] for name in columns if all(row[name] == first[name] for row in rows)}


def abbreviate(values: Sequence[Any], most: int = 1) -> list[Any]:
    """Return the first values, and the number of further ones as ``+3``."""
    more = len(values) - most
    return [*values[:most], f"+{more}"] if more > 0 else list(values)
