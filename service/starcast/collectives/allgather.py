"""Allgather in packets: units that cross a link in the same step travel as one packet.

A source's message is split into as many units as there are trees. Unit i travels down tree i, and
the links of level t are crossed in step t. The algorithms that send one message per link and step
are in `allgather_units`.
"""

from collections.abc import Callable

import numpy as np

from starcast import trees
from starcast.collectives import allgather_units
from starcast.collectives.algorithm import Algorithm, Arguments
from starcast.collectives.broadcast import build_pipeline
from starcast.collectives.model import Schedule
from starcast.registry import Argument
from starcast.support.vocabulary import Ports
from starcast.topologies import Topology
from starcast.trees import Forest
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


def _build_dimension_change(topology: Topology, root: int, ports: Ports, base: str) -> Schedule:
    """Build Algorithm 2 of Tseng & Sheu 1997: segment i of source x travels down LC(x, DC(i, T)).

    The n-1 images of a link of T have all dimensions, so in step t every directed link carries as
    many segments as T has nodes on level t. One-port (section 5.2), a step becomes n-1 sub-slots,
    one per dimension.
    """
    tree = trees.forest(topology, base)
    changed = [dimension_change(topology, 0, tree, i) for i in range(topology.n - 1)]
    rows = np.concatenate([forest.parent_port for forest in changed])
    rows.flags.writeable = False
    schedule = _build_packets(Forest(topology, rows), ports, "dimension-change", {"base": base})
    return schedule.translate(root)


def _nk_builder(construction: str) -> Callable[..., Schedule]:
    """Return the builder for a construction of Li, Chen, Xiang & Yao: source x uses LC(x, T).

    One-port, a step becomes n-1 sub-slots, one per port. Translation may take a residual link to a
    link of another port, which is served in another sub-slot, so one source cannot represent all
    sources. Unless k = n-1, the schedule is therefore written out, and is the same for every root.
    """

    def build(topology: Topology, root: int, ports: Ports) -> Schedule:
        forest = trees.forest(topology, construction)
        if count_sources(topology, ports) == 1:
            return _build_packets(forest, ports, construction, {}).translate(root)
        return serialize_ports(_build_packets(forest, "all", construction, {}).expand())

    return build


def count_sources(topology: Topology, ports: str) -> int:
    """Return the number of sources whose rows are written out."""
    return 1 if ports == "all" or topology.translation_keeps_ports else topology.nodes


def _build_packets(forest: Forest, ports: Ports, algorithm: str, arguments: Arguments) -> Schedule:
    """Build the symmetric schedule that sends one unit down each tree of the identity."""
    return build_pipeline(
        forest,
        ports,
        1,
        collective="allgather",
        algorithm=algorithm,
        arguments=arguments,
        packets=True,
        symmetric=True,
    )


def serialize_ports(schedule: Schedule) -> Schedule:
    """Return a one-port schedule: each step becomes one sub-slot per port."""
    topology = schedule.topology
    sub_slot = np.searchsorted(topology.ports, schedule.port) + 1
    step = (schedule.step - 1) * topology.degree + sub_slot
    return schedule.replace_rows(schedule.columns._replace(step=step), ports="one")


def _nk_algorithm(construction: str, paper: str) -> Algorithm:
    one_tree_per_port = CONSTRUCTIONS[construction].one_tree_per_port

    def count_rows(topology: Topology, _: Arguments) -> int:
        return (topology.degree if one_tree_per_port else 1) * (topology.nodes - 1)

    def forest_construction(topology: Topology, ports: str, _: Arguments) -> str | None:
        return construction if count_sources(topology, ports) == 1 else None

    return Algorithm(
        "allgather", construction, ("nk-star",), ("all", "one"), (), paper,
        _nk_builder(construction),
        rows=count_rows,
        forest_construction=forest_construction,
        sources=count_sources,
    )  # fmt: skip


ALGORITHMS = (
    Algorithm(
        "allgather", "dimension-change", ("star",), ("all", "one"), (BASE,),
        "Tseng & Sheu 1997, Algorithm 2, Theorem 3",
        _build_dimension_change,
        rows=lambda topology, _: topology.degree * (topology.nodes - 1),
        forest_construction=lambda *_: None,
    ),
    *allgather_units.ALGORITHMS,
    _nk_algorithm("nk-greedy", "Li, Chen, Xiang & Yao, Theorems 4 and 5"),
    _nk_algorithm("nk-multiple", "Li, Chen, Xiang & Yao, Theorems 10 and 11"),
)  # fmt: skip
