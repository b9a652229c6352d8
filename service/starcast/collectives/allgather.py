"""Allgather in packets: units that cross a link in the same step travel as one packet.

A source's message is split into as many units as there are trees. Unit i travels down tree i, and
the links of level t are crossed in step t. The algorithms that send one message per link and step
are in `allgather_units`.
"""

from typing import Annotated

import numpy as np

from starcast import trees
from starcast.catalogue.entries import Argument
from starcast.collectives.algorithm import Arguments, algorithm
from starcast.collectives.broadcast import build_pipeline
from starcast.collectives.model import Schedule
from starcast.support.vocabulary import Ports
from starcast.topologies import Topology
from starcast.trees import Forest
from starcast.trees.change import dimension_change
from starcast.trees.construction import single_trees

Base = Annotated[
    str,
    Argument(
        "base",
        "the single spanning tree whose dimensions change",
        lambda _: "greedy",
        kind="construction",
        choices=single_trees,
        noun="a single spanning tree",
    ),
]


def count_sources(topology: Topology, ports: str) -> int:
    """Return the number of sources whose rows are written out."""
    return 1 if ports == "all" or topology.translation_keeps_ports else topology.nodes


def build_packets(forest: Forest, ports: Ports, name: str, arguments: Arguments) -> Schedule:
    """Build the symmetric schedule that sends one unit down each tree of the identity."""
    return build_pipeline(
        forest,
        ports,
        1,
        collective="allgather",
        algorithm=name,
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


@algorithm(
    "allgather", "dimension-change", families=["star"], ports=["all", "one"],
    source="Tseng & Sheu 1997, Algorithm 2, Theorem 3",
    rows=lambda topology, _: topology.degree * (topology.nodes - 1),
)  # fmt: skip
def _build_dimension_change(topology: Topology, root: int, ports: Ports, base: Base) -> Schedule:
    """Build Algorithm 2 of Tseng & Sheu 1997: segment i of source x travels down LC(x, DC(i, T)).

    The n-1 images of a link of T have all dimensions, so in step t every directed link carries as
    many segments as T has nodes on level t. One-port (section 5.2), a step becomes n-1 sub-slots,
    one per dimension.
    """
    tree = trees.forest(topology, base)
    changed = [dimension_change(topology, 0, tree, i) for i in range(topology.n - 1)]
    rows = np.concatenate([forest.parent_port for forest in changed])
    rows.flags.writeable = False
    schedule = build_packets(Forest(topology, rows), ports, "dimension-change", {"base": base})
    return schedule.translate(root)
