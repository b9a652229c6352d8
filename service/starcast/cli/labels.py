"""The option ``--labels`` of commands without a store: whether node labels begin with 0 or 1.

Node labels are permutations or arrangements of the symbols 1..n in starcast, and of 0..n-1 in some
papers. The option changes the labels that a command reads (roots, faults, rows) and prints (rows,
results, messages, pictures). Ids and stored results always use the symbols 1..n, so commands on
stored data do not have this option.
"""

from typing import Annotated

import typer

from starcast.cli import context


def _use(ctx: typer.Context, value: int | None) -> int | None:
    """Set the first symbol of labels, 0 or 1, until the command ends."""
    if ctx.resilient_parsing:
        return value
    first = context.first_symbol(ctx) if value is None else value
    if first != 1:
        from starcast.topologies.permutations import labels_from

        ctx.with_resource(labels_from(first))
    return value


LabelsOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=1,
        metavar="0|1",
        callback=_use,
        help="First symbol of labels that are read and printed, other than in ids.",
        show_default="the setting labels, 1",
    ),
]
