"""``starcast schedule draw``: the steps of a schedule as pictures."""

from typing import Annotated

import typer

from starcast.cli import axes, pictures
from starcast.cli.labels import LabelsOption
from starcast.errors import InputError


def draw(
    topology: axes.TopologyArgument,
    collective: axes.CollectiveArgument,
    algorithm: axes.AlgorithmArgument,
    step: Annotated[
        list[int] | None,
        typer.Option(help="A step, from 1; can be repeated (default: all steps side by side)."),
    ] = None,
    animate: Annotated[
        bool, typer.Option("--animate", help="Draw an animation of all steps (SVG).")
    ] = False,
    chart: Annotated[
        bool, typer.Option("--chart", help="Draw the units by port and step instead.")
    ] = False,
    layout: pictures.LayoutOption = None,
    ports: Annotated[
        str | None, typer.Option(help="Port model: all or one (default: the algorithm's first).")
    ] = None,
    root: Annotated[str | None, typer.Option(help="Label of the root or source.")] = None,
    out: pictures.OutOption = None,
    labels: LabelsOption = None,  # noqa: ARG001 - read by its callback
) -> None:
    """Draw the steps of a schedule: busy links, and what nodes hold. No server is needed.

    A node has the same place in all steps. Of a symmetric schedule, one source is drawn.

    \b
    starcast schedule draw S4 broadcast multiple --out steps.svg
    starcast schedule draw S4 broadcast multiple --step 3 --layout torus --out step.pdf
    starcast schedule draw S5 scatter balanced --animate --out scatter.svg
    """
    from starcast import drawing, explorer, topologies

    pictures.check(out, animated=animate)
    choices = {"--step": bool(step), "--animate": animate, "--chart": chart}
    chosen = [option for option, given in choices.items() if given]
    if len(chosen) > 1:
        raise InputError(f"{chosen[0]} and {chosen[1]} cannot be combined", hint="remove one")
    if chart and layout is not None:
        raise InputError("a chart has no layout", hint="remove --layout or --chart")
    network = topologies.topology(topology)
    name = f"{collective}:{algorithm}" + (f":{ports}" if ports else "")
    schedule = explorer.build_schedule(network, name, 0 if root is None else root)
    if animate:
        picture = drawing.animate_schedule(schedule, layout)
    elif chart:
        picture = drawing.draw_schedule(schedule)
    else:
        picture = drawing.draw_steps(schedule, step or None, layout)
    pictures.write(picture, out, f"drew {schedule.id} to {out}")
