"""Broadcast: the root's message reaches every node, down the trees of a forest.

The message is split into units. Each tree is a pipeline: its unit j follows its unit j-1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast import trees
from starcast.collectives.algorithm import Messages, Segments, algorithm, count_messages
from starcast.collectives.model import Draft
from starcast.collectives.rows import Columns, flood_units, serialize_ports
from starcast.support.vocabulary import Ports
from starcast.topologies import Topology
from starcast.trees import Forest
from starcast.trees.construction import CONSTRUCTIONS


def build_pipeline(
    forest: Forest, ports: Ports, units_per_tree: int, *, packets: bool | None = None
) -> Draft:
    """Return the broadcast that pipelines units down all trees of a forest at the same time.

    In slot t the links to level l carry unit number t-l+1 of their tree, counted from 1, so trees
    of height h take h + ``units_per_tree`` - 1 slots. In the all-port model a slot is a step. In
    the one-port model a slot becomes ``degree`` sub-slots, one per port. A port maps nodes to nodes
    one to one, so no node sends or receives twice in a sub-slot.

    Args:
        forest: any forest.
        ports: the port model.
        units_per_tree: the number of units that travel down each tree.
        packets: see `Schedule`; by default whether trees share a link.

    Reference:
        Tseng & Sheu 1997, Algorithm 1 (section 4.1); one-port: section 4.2.
    """
    draft = _build_stream(forest, units_per_tree, forest.levels(), gap=1)
    if ports == "one":
        draft = draft._replace(rows=serialize_ports(forest.topology, draft.rows))
    if packets is None:
        packets = forest.congestion > 1
    return draft._replace(packets=packets)


def build_rounds(
    topology: Topology, parent_port: NDArray[np.uint8], rounds: NDArray[np.integer[Any]]
) -> Draft:
    """Return a one-port broadcast of one unit, given the sender and the round for each node.

    Args:
        topology: the topology.
        parent_port: uint8 ``[nodes]``, for each node the port to the node that informs it; 0 for
            rank 0, where the message starts.
        rounds: ``[nodes]``, the round in which each node is informed; 0 for rank 0.
    """
    forest = Forest(topology, parent_port[None, :])
    receiver = np.arange(1, topology.nodes)
    rows = Columns(
        step=rounds[1:].astype(np.int32),
        sender=forest.parents()[0, 1:],
        port=topology.reverse_ports()[parent_port[1:]],
        receiver=receiver,
        tree=np.zeros(len(receiver), dtype=np.uint8),
        unit=np.zeros(len(receiver), dtype=np.int32),
    )
    return Draft(rows, 1, forest)


def _one_port_steps(forest: Forest) -> NDArray[np.int32]:
    """Return the step in which each node receives the first message, int32 ``[1, nodes]``."""
    topology = forest.topology
    arrival = forest.parent_port[0].astype(np.int32)
    parents = forest.parents()[0]
    child = np.flatnonzero(arrival)
    parent = parents[child]
    # Ports are used in ascending cyclic order, starting after the port of arrival.
    turn = (arrival[child] - arrival[parent]) % (topology.ports[-1] + 1)
    order = np.lexsort((turn, parent))
    child = child[order]
    parent = parent[order]
    begins = np.flatnonzero(np.r_[True, parent[1:] != parent[:-1]])
    sizes = np.diff(np.r_[begins, len(child)])
    position = np.arange(len(child)) - np.repeat(begins, sizes) + 1
    step = np.zeros((1, topology.nodes), dtype=np.int32)
    levels = forest.levels()[0][child]
    # The loop runs level by level, because a node's step depends on its parent's step.
    for level in range(1, forest.height + 1):
        on_level = levels == level
        step[0, child[on_level]] = step[0, parent[on_level]] + position[on_level]
    return step


def _build_stream(forest: Forest, units_per_tree: int, first: NDArray[np.int32], gap: int) -> Draft:
    """Return the broadcast in which unit j crosses each link ``gap * j`` steps after unit 0."""
    unit = np.arange(forest.trees * units_per_tree)
    tree, position = np.divmod(unit, units_per_tree)
    rows = flood_units(forest, tree, gap * position, unit, first)
    return Draft(rows, len(unit), forest)


def _declare_segmented(construction: str, source: str) -> None:
    """Declare the broadcast that pipelines segments down each tree of a construction."""
    entry = CONSTRUCTIONS[construction]

    @algorithm(
        "broadcast", construction, families=entry.families, ports=["all", "one"], source=source,
        smallest=entry.smallest, forest_construction=lambda *_: construction,
        rows=lambda topology, arguments: (
            entry.count_trees(topology) * count_messages(topology, arguments)
        ),
    )  # fmt: skip
    def build(topology: Topology, root: int, ports: Ports, segments: Segments) -> Draft:
        return build_pipeline(trees.forest(topology, construction, root), ports, segments)


_declare_segmented("greedy", "Tseng & Sheu 1997, section 4")
_declare_segmented("multiple", "Tseng & Sheu 1997, Algorithm 1, Theorems 1 and 2")


@algorithm(
    "broadcast", "recursive-substar", families=["star"], ports=["all", "one"],
    source="Sheu, Liaw & Chen 1993, section 2",
    forest_construction=lambda *_: "recursive-substar",
)  # fmt: skip
def _build_recursive_substar(
    topology: Topology, root: int, ports: Ports, messages: Messages
) -> Draft:
    """Build the stream of messages down the tree of Sheu, Liaw & Chen 1993.

    All-port: one message leaves per step, and M messages take 2n-4+M steps. One-port: a node sends
    to one child per step. It uses the ports above its port of arrival first (Rule 2), then the
    lower ports, both in ascending order. The next message follows n-1 steps later, so M messages
    take n(n-1)/2 + (M-1)(n-1) steps (docs/definitions/tseng-sheu.md, B2).
    """
    forest = trees.forest(topology, "recursive-substar", root)
    if ports == "all":
        return _build_stream(forest, messages, forest.levels(), gap=1)
    return _build_stream(forest, messages, _one_port_steps(forest), gap=topology.degree)


# These declarations come after the others, because algorithms are listed in the order of
# declaration.
_declare_segmented("nk-greedy", "Li, Chen, Xiang & Yao, section 4")
_declare_segmented("nk-multiple", "Li, Chen, Xiang & Yao, section 5")
_declare_segmented("binomial", "Johnsson & Ho 1989")
