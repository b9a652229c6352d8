"""Allgather by packets: everybody's message reaches everybody, and what shares a link in a step travels as one packet.

A source's message is cut into as many units as there are trees, unit i goes down tree i, and the links of level t are crossed
in step t. Those that send message after message, one a link, are in `allgather_units`.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from starcast.collectives import allgather_units
from starcast.collectives.algorithm import Algorithm, Arguments
from starcast.collectives.broadcast import pipelined
from starcast.collectives.model import COLUMNS, Schedule
from starcast.collectives.translation import moved
from starcast.registry import Argument
from starcast.topologies import Topology
from starcast.trees import Forest, forest
from starcast.trees.catalogue import CONSTRUCTIONS, single_trees
from starcast.trees.change import dimension_change

BASE = Argument(
    "base",
    "the single spanning tree whose dimensions change",
    lambda _: "greedy",
    kind="construction",
    choices=single_trees,
    noun="a single spanning tree",
)


def _dimension_change(topology: Topology, root: int, ports: str, base: str) -> Schedule:
    """Algorithm 2 of Tseng & Sheu 1997: segment i of source x goes down LC(x, DC(i, T)), i = 0..n-2.

    The n-1 images of a link of T have all dimensions, so that in step t every directed link carries as many segments as T has
    nodes on level t. One-port (section 5.2): a step becomes n-1 sub-slots, one a dimension.
    """
    rows = np.concatenate(
        [
            dimension_change(topology, 0, forest(topology, base), i).parent_port
            for i in range(topology.n - 1)
        ]
    )
    rows.flags.writeable = False
    return moved(_packets(Forest(topology, rows), ports, "dimension-change", {"base": base}), root)


def _nk(construction: str) -> Callable[..., Schedule]:
    """Source x sends down LC(x, T), for all trees T of a construction together (Li, Chen, Xiang & Yao).

    One-port, a step becomes n-1 sub-slots, one a port. Translation may take a residual link to one of another port, which is
    served in another sub-slot, so that one source cannot stand for all: the schedule is written out, unless k = n-1,
    and is the same whatever root is asked for.
    """

    def build(topology: Topology, root: int, ports: str) -> Schedule:
        along = forest(topology, construction)
        if _sources(topology, ports) == 1:
            return moved(_packets(along, ports, construction, {}), root)
        return _by_port(_packets(along, "all", construction, {}).expand())

    return build


def _sources(topology: Topology, ports: str) -> int:
    """Of how many sources the schedule is written out."""
    return 1 if ports == "all" or topology.translation_keeps_ports else topology.nodes


def _packets(along: Forest, ports: str, algorithm: str, arguments: Arguments) -> Schedule:
    """A unit down each tree of the identity, which stands for all sources."""
    return pipelined(
        along,
        ports,
        1,
        collective="allgather",
        algorithm=algorithm,
        arguments=arguments,
        packets=True,
        symmetric=True,
    )


def _by_port(made: Schedule) -> Schedule:
    """An all-port schedule with a sub-slot for each port in place of each step."""
    topology = made.topology
    step = (made.step - 1) * topology.degree + np.searchsorted(topology.ports, made.port) + 1
    order = np.argsort(step, kind="stable")  # within a sub-slot senders stay ascending
    columns = {name: getattr(made, name)[order] for name in COLUMNS}
    return replace(made, **columns | {"ports": "one", "step": step[order].astype(np.int32)})


def _nk_algorithm(construction: str, paper: str) -> Algorithm:
    many = CONSTRUCTIONS[construction].one_tree_per_port
    return Algorithm(
        "allgather", construction, ("nk-star",), ("all", "one"), (), paper, _nk(construction),
        rows=lambda topology, _: (topology.degree if many else 1) * (topology.nodes - 1),
        forest_construction=lambda topology, ports, _: construction if _sources(topology, ports) == 1 else None,
        sources=_sources,
    )  # fmt: skip


ALGORITHMS = (
    Algorithm(
        "allgather", "dimension-change", ("star",), ("all", "one"), (BASE,), "Tseng & Sheu 1997, Algorithm 2, Theorem 3",
        _dimension_change,
        rows=lambda topology, _: topology.degree * (topology.nodes - 1),
        forest_construction=lambda *_: None,
    ),
    *allgather_units.ALGORITHMS,
    _nk_algorithm("nk-greedy", "Li, Chen, Xiang & Yao, Theorems 4 and 5"),
    _nk_algorithm("nk-multiple", "Li, Chen, Xiang & Yao, Theorems 10 and 11"),
)  # fmt: skip
