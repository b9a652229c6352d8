"""The algorithm ``forest``: a collective along the trees of any construction.

With it, a new construction can be compared with those of the papers. Units that cross a link in the
same step travel as one packet, since the trees of a forest may share links.
"""

from functools import partial
from typing import Annotated

import numpy as np

from starcast import trees
from starcast.catalogue.entries import Argument
from starcast.collectives import allgather, scatter
from starcast.collectives.algorithm import Arguments, Messages, Segments, algorithm
from starcast.collectives.broadcast import build_pipeline
from starcast.collectives.model import Draft
from starcast.collectives.rows import Units, serialize_ports
from starcast.support.vocabulary import Ports
from starcast.topologies import Topology
from starcast.trees.construction import CONSTRUCTIONS, plain_constructions

NAME = "forest"


def spanning_constructions(topology: Topology) -> tuple[str, ...]:
    """Return the names of the constructions of spanning trees that take no arguments."""
    names = plain_constructions(topology)
    return tuple(name for name in names if not CONSTRUCTIONS[name].partial)


Base = Annotated[
    str,
    Argument(
        "base",
        "a construction of spanning trees without arguments, such as 'multiple'",
        kind="construction",
        choices=spanning_constructions,
        noun="a construction of spanning trees without arguments",
    ),
]


def _count_stream_rows(topology: Topology, arguments: Arguments) -> int:
    construction = CONSTRUCTIONS[str(arguments["base"])]
    return int(arguments["segments"]) * construction.count_spanning_edges(topology)


def _count_scatter_rows(topology: Topology, arguments: Arguments) -> int:
    """Return the number of rows: per message, the level of its destination in the tree it uses."""
    # The trees must be built, because a construction does not declare the sum of their levels.
    levels = trees.forest(topology, str(arguments["base"])).levels()
    number, node = np.indices(levels.shape)
    each, more = divmod(int(arguments["messages"]), len(levels))
    # Tree t carries message i for destination d if d + i = t modulo the number of trees.
    return int((levels * (each + ((number - node) % len(levels) < more))).sum())


_declare = partial(
    algorithm,
    name=NAME,
    ports=["all", "one"],
    source="starcast: pipelined along arbitrary trees",
    forest_construction=lambda _topology, _ports, arguments: str(arguments["base"]),
)


@_declare("broadcast", rows=_count_stream_rows)
def _build_broadcast(
    topology: Topology, root: int, ports: Ports, base: Base, segments: Segments
) -> Draft:
    """Build the broadcast that pipelines the segments of each tree down that tree."""
    return build_pipeline(trees.forest(topology, base, root), ports, segments, packets=True)


@_declare("allgather", rows=_count_stream_rows, sources=allgather.count_sources)
def _build_allgather(
    topology: Topology, root: int, ports: Ports, base: Base, segments: Segments
) -> Draft:
    """Build the allgather that pipelines the segments of each source down its translated trees."""
    return allgather.build_packets(trees.forest(topology, base), ports, segments)


@_declare("scatter", rows=_count_scatter_rows)
def _build_scatter(
    topology: Topology, root: int, ports: Ports, base: Base, messages: Messages
) -> Draft:
    """Build the scatter down k trees; message i of destination d uses tree (d + i) mod k.

    Messages down a single tree follow Rules 5 and 8 of Fragopoulou & Akl 1993. Several trees may
    share links, and a node may be on different levels in them, so in the one-port model each step
    becomes one sub-slot per port.
    """
    forest = trees.forest(topology, base, root)
    destination = np.repeat(np.delete(np.arange(topology.nodes), root), messages)
    message = np.tile(np.arange(messages), topology.nodes - 1)
    tree = (destination + message) % forest.trees
    units = Units(tree, destination, destination * messages + message)
    if forest.trees == 1:
        return scatter.build_scatter(forest, ports, messages, units)
    draft = scatter.build_scatter(forest, "all", messages, units)._replace(packets=True)
    if ports == "one":
        return draft._replace(rows=serialize_ports(topology, draft.rows))
    return draft
