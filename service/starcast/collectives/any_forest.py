"""The algorithm ``forest``: a collective along the trees of any construction.

It makes a new construction comparable with those of the papers. Units that cross a link in the same
step travel as one packet, since the trees of a forest may share links.
"""

from collections.abc import Callable

import numpy as np

from starcast import trees
from starcast.collectives import allgather, scatter
from starcast.collectives.algorithm import MESSAGES, SEGMENTS, Algorithm, Arguments
from starcast.collectives.broadcast import build_pipeline
from starcast.collectives.injection_order import Units
from starcast.collectives.model import Schedule
from starcast.registry import Argument
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology
from starcast.trees.catalogue import CONSTRUCTIONS, plain_constructions

NAME = "forest"


def spanning_constructions(topology: Topology) -> tuple[str, ...]:
    """Return the names of the constructions of spanning trees that take no arguments."""
    names = plain_constructions(topology)
    return tuple(name for name in names if not CONSTRUCTIONS[name].partial)


BASE = Argument(
    "base",
    "a construction of spanning trees without arguments, such as 'multiple'",
    kind="construction",
    choices=spanning_constructions,
    noun="a construction of spanning trees without arguments",
)


def _build_broadcast(
    topology: Topology, root: int, ports: Ports, base: str, segments: int
) -> Schedule:
    """Pipeline the segments of each tree down the tree."""
    return build_pipeline(
        trees.forest(topology, base, root),
        ports,
        segments,
        packets=True,
        algorithm=NAME,
        arguments={"base": base, "segments": segments},
    )


def _build_allgather(
    topology: Topology, root: int, ports: Ports, base: str, segments: int
) -> Schedule:
    """Pipeline the segments of every source down the translated trees of the identity."""
    single_source = allgather.count_sources(topology, ports) == 1
    schedule = build_pipeline(
        trees.forest(topology, base),
        ports if single_source else "all",
        segments,
        packets=True,
        collective="allgather",
        symmetric=True,
        algorithm=NAME,
        arguments={"base": base, "segments": segments},
    )
    if single_source:
        return schedule.translate(root)
    return allgather.serialize_ports(schedule.expand())


def _build_scatter(
    topology: Topology, root: int, ports: Ports, base: str, messages: int
) -> Schedule:
    """Scatter down the trees; message i of destination d travels along tree (d + i) mod k.

    A single tree uses Rules 5 and 8 of Fragopoulou & Akl 1993. Several trees may share links and
    have a node on several levels, so one-port each step becomes one sub-slot per port.
    """
    forest = trees.forest(topology, base, root)
    destination = np.repeat(np.delete(np.arange(topology.nodes), root), messages)
    message = np.tile(np.arange(messages), topology.nodes - 1)
    tree = (destination + message) % forest.trees
    single = forest.trees == 1
    schedule = scatter.build_scatter(
        forest,
        ports if single else "all",
        messages,
        Units(tree, destination, destination * messages + message),
        packets=not single,
        algorithm=NAME,
        arguments={"base": base, "messages": messages},
    )
    return schedule if schedule.ports == ports else allgather.serialize_ports(schedule)


def _count_scatter_rows(topology: Topology, arguments: Arguments) -> int:
    """Return the sum of the levels of all destinations in the trees of their messages."""
    levels = trees.forest(topology, str(arguments["base"])).levels()
    number, node = np.indices(levels.shape)
    each, more = divmod(int(arguments["messages"]), len(levels))
    return int((levels * (each + ((number - node) % len(levels) < more))).sum())


def _count_stream_rows(topology: Topology, arguments: Arguments) -> int:
    construction = CONSTRUCTIONS[str(arguments["base"])]
    tree_count = topology.degree if construction.one_tree_per_port else 1
    return int(arguments["segments"]) * tree_count * (topology.nodes - 1)


def _algorithm(
    collective: Collective, split: Argument, build: Callable[..., Schedule]
) -> Algorithm:
    return Algorithm(
        collective, NAME, (), ("all", "one"), (BASE, split), "starcast: pipelined along any trees",
        build, _count_stream_rows if split is SEGMENTS else _count_scatter_rows,
        lambda _topology, _ports, arguments: str(arguments["base"]),
        sources=allgather.count_sources if collective == "allgather" else lambda *_: 1,
    )  # fmt: skip


ALGORITHMS = (
    _algorithm("broadcast", SEGMENTS, _build_broadcast),
    _algorithm("allgather", SEGMENTS, _build_allgather),
    _algorithm("scatter", MESSAGES, _build_scatter),
)
