"""Allgather in packets on S_{n,k}: source x uses LC(x, T) of the trees of Li, Chen, Xiang & Yao.

One-port, a step becomes n-1 sub-slots, one per port. Translation may take a residual link to a link
of another port, which is served in another sub-slot, so one source cannot represent all sources.
Unless k = n-1, the schedule is therefore written out, and is the same for every root.
"""

from starcast import trees
from starcast.collectives.algorithm import Arguments, algorithm
from starcast.collectives.allgather import build_packets, count_sources, serialize_ports
from starcast.collectives.model import Schedule
from starcast.support.vocabulary import Ports
from starcast.topologies import Topology
from starcast.trees.construction import CONSTRUCTIONS


def _declare(construction: str, source: str) -> None:
    def count_rows(topology: Topology, _: Arguments) -> int:
        tree_count = topology.degree if CONSTRUCTIONS[construction].one_tree_per_port else 1
        return tree_count * (topology.nodes - 1)

    def forest_construction(topology: Topology, ports: str, _: Arguments) -> str | None:
        return construction if count_sources(topology, ports) == 1 else None

    @algorithm(
        "allgather", construction, families=["nk-star"], ports=["all", "one"], source=source,
        rows=count_rows, forest_construction=forest_construction, sources=count_sources,
    )  # fmt: skip
    def build(topology: Topology, root: int, ports: Ports) -> Schedule:
        forest = trees.forest(topology, construction)
        if count_sources(topology, ports) == 1:
            return build_packets(forest, ports, construction, {}).translate(root)
        return serialize_ports(build_packets(forest, "all", construction, {}).expand())


_declare("nk-greedy", "Li, Chen, Xiang & Yao, Theorems 4 and 5")
_declare("nk-multiple", "Li, Chen, Xiang & Yao, Theorems 10 and 11")
