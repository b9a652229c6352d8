"""``starcast explore``: the explorer with its data in one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from starcast.cli import axes, completion
from starcast.cli.labels import LabelsOption
from starcast.cli.output import check_suffix, say

ForestOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A construction, such as multiple, or a file of 'forest build'; can be repeated.",
        autocompletion=completion.constructions,
    ),
]
ScheduleOption = Annotated[
    list[str] | None,
    typer.Option(
        help=(
            "COLLECTIVE:ALGORITHM, such as 'broadcast:multiple(segments=4)'; can be repeated. "
            "':one' at the end chooses the one-port model."
        )
    ),
]


def explore(
    topology: axes.TopologyArgument,
    out: Annotated[Path, typer.Option(help="Output file, such as page.html.")],
    forest: ForestOption = None,
    schedule: ScheduleOption = None,
    root: Annotated[str | None, typer.Option(help="Label of the root of all of them.")] = None,
    state: Annotated[
        str | None,
        typer.Option(
            help="What the page shows first, as in the explorer's addresses: 'step=3&node=21345'."
        ),
    ] = None,
    labels: LabelsOption = None,  # noqa: ARG001 - read by its callback
) -> None:
    """Write a page that shows a topology, forests and schedules in any browser, offline.

    The page holds its scripts and its data, and loads nothing: it can be mailed. No server is
    needed.

    \b
    starcast explore S5 --out s5.html
    starcast explore S5 --forest multiple --schedule broadcast:multiple --out page.html
    starcast explore S4 --schedule alltoall:exact --state step=2 --out s4.html
    """
    from starcast import explorer, topologies
    from starcast.cli.forest_source import is_file
    from starcast.support.atomic import atomic_write
    from starcast.trees import Forest

    check_suffix(out, ".html", ".htm")
    network = topologies.topology(topology)
    place = 0 if root is None else root
    forests = [
        Forest.open(name) if is_file(name) else explorer.build_forest(network, name, place)
        for name in forest or ()
    ]
    for built in forests:
        built.verify()
    schedules = [explorer.build_schedule(network, name, place) for name in schedule or ()]
    page = explorer.build_page(network, forests, schedules, state).encode()
    with atomic_write(out) as file:
        file.write(page)
    contents = [each.id for each in forests] + [each.id for each in schedules] or [network.spec]
    say(f"wrote {', '.join(contents)} to {out}: {len(page) / 1e6:,.2f} MB")
