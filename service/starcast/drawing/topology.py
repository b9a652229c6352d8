"""A complete topology in one of its layouts."""

from starcast.drawing import svg as parts
from starcast.drawing.layouts import DESCRIPTIONS
from starcast.drawing.network import Frame, Panel, draw_panels
from starcast.drawing.svg import READABLE
from starcast.errors import LimitError
from starcast.topologies import Topology


def draw_topology(topology: Topology, layout: str | None = None) -> str:
    """Return a topology as an SVG document, with its links coloured by dimension.

    Args:
        topology: the topology.
        layout: one of `starcast.drawing.layouts.layouts`; by default the first.

    Raises:
        InputError: the topology has no such layout.
        LimitError: the topology has more than `READABLE` nodes.

    Example:
        >>> draw_topology(topology("S4"), "torus").startswith("<svg")
        True
    """
    if topology.nodes > READABLE:
        raise LimitError(
            f"{topology.spec} has {topology.nodes:,} nodes, and a drawing is readable up to "
            f"{READABLE}",
            hint=f"open it in the explorer: starcast explore {topology.spec} --out page.html",
        )
    frame = Frame(topology, layout, 1)
    sizes = f"degree {topology.degree}, diameter {topology.diameter}, {topology.links} links"
    panel = Panel("", (), {}, None)
    lines = (sizes, DESCRIPTIONS[frame.name])
    return parts.text_of(draw_panels(frame, topology.spec, lines, [panel], legend=True))
