"""``starcast compare``: stored runs beside each other."""

from typing import TYPE_CHECKING, Annotated

import typer

from starcast.cli import figures
from starcast.cli.db import store
from starcast.cli.output import Format, FormatOption, emit, say

if TYPE_CHECKING:
    from starcast.runs.compare import Comparison


def compare(
    ctx: typer.Context,
    names: Annotated[list[str], typer.Argument(help="Experiments by name, runs by number; two or more.")],
    baseline: Annotated[str | None, typer.Option(help="What the others are compared with.", show_default="the first")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show all parameters, figures and rows.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Compare experiments, or single runs, at the points that they have in common.

    Rows are points; for each side there are the simulated figures and the gap (time / lower bound), for each but the
    baseline the change in time. Only what differs is shown. A row that is no comparison says why. One experiment
    alone is taken apart by algorithm.
    """
    from starcast.runs.compare import compare
    from starcast.runs.database import session
    from starcast.runs.sides import load_side

    with store(ctx) as engine, session(engine) as opened:
        comparison = compare([load_side(opened, name) for name in names], baseline)
        _explain(comparison, everything=everything)
        shown = comparison.lettered() if output is Format.TABLE else comparison
        rows = [figures.plain_row(row) for row in shown.rows(everything=everything)]
        for row in rows:
            row |= {name: round(row[name], 3) for name in row if name.startswith("gap ") and row[name] is not None}
        emit(rows, shown.columns(everything=everything), output, title=_legend(comparison, shown))
        _reproduce(comparison)


def _explain(comparison: "Comparison", *, everything: bool) -> None:
    baseline, *others = (side.name for side in comparison.sides)
    say(f"{', '.join(others)} against {baseline}; gap = time / lower bound")
    shared = comparison.shared(everything=everything)
    if shared:
        say(f"in all rows: {', '.join(f'{name} {value}' for name, value in shared.items())}")
    hidden = len(comparison.matches) - len(comparison.different)
    if hidden and not everything:
        say(f"{hidden} of {len(comparison.matches)} rows are the same on all sides; --all shows them")
    if len(comparison.sources()) > 1:
        say(f"the runs come from different code: {'; '.join(comparison.sources())}")


def _legend(comparison: "Comparison", shown: "Comparison") -> str:
    pairs = zip(shown.sides, comparison.sides, strict=True)
    return ", ".join(f"{letter.name} = {side.name}" for letter, side in pairs)


def _reproduce(comparison: "Comparison") -> None:
    say("reproduce with:")
    for command in dict.fromkeys(command for side in comparison.sides for command in side.commands):
        say(f"  {command}")
