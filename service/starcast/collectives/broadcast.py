"""Broadcast: the root's message reaches every node, down the trees of a forest.

The message is cut into units, and unit j of a tree follows unit j-1 down that tree (pipelining).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.algorithm import MESSAGES, SEGMENTS, Algorithm, Arguments
from starcast.collectives.model import Schedule
from starcast.collectives.rows import arranged, flooded
from starcast.topologies import Topology
from starcast.trees import Forest, forest
from starcast.trees.catalogue import CONSTRUCTIONS
from starcast.vocabulary import Family, Ports


def pipelined(along: Forest, ports: str, each: int, **parameters: Any) -> Schedule:
    """Algorithm 1 of Tseng & Sheu 1997 (section 4.1) on any forest: ``each`` units down each tree, all at once.

    In slot t the links of level l carry unit t-l+1 of their tree: h + each - 1 slots, h the height. One-port
    (section 4.2): a slot becomes degree sub-slots, one a port; each is a matching, so nobody sends or receives twice.
    ``parameters`` are the others of the `Schedule`, and those in which it is no broadcast.
    """
    first, gap = along.levels(), 1
    if ports == "one":
        gap = along.topology.degree
        first = (first - 1) * gap + _sub_slot(along)
    return _in_line(along, ports, each, first, gap, **parameters)


def substar_stream(along: Forest, ports: str, messages: int, **parameters: Any) -> Schedule:
    """A stream of messages down the tree of Sheu, Liaw & Chen 1993, a message after the other.

    All-port: one message a step, 2n-4+M steps. One-port: a node serves its children one a step, those over ports above the
    port of arrival first (Rule 2), then the others, ascending; the next message follows n-1 steps later, so that it takes
    n(n-1)/2 + (M-1)(n-1) steps (docs/definitions/tseng-sheu.md, B2).
    """
    if ports == "all":
        return pipelined(along, ports, messages, **parameters)
    return _in_line(along, ports, messages, _in_turn(along), along.topology.degree, **parameters)


def _sub_slot(along: Forest) -> NDArray[np.int32]:
    """The place, from 1, of the port that each node is reached over, int32 ``[trees, nodes]``."""
    place = np.zeros(256, dtype=np.int32)
    place[list(along.topology.ports)] = np.arange(1, along.topology.degree + 1)
    return np.asarray(place[along.topology.reverse_ports()[along.parent_port]])


def _in_turn(along: Forest) -> NDArray[np.int32]:
    """The step in which each node gets the first message, int32 ``[1, nodes]``, if children are served one a step."""
    topology = along.topology
    arrival, parents = along.parent_port[0].astype(np.int32), along.parents()[0]
    child = np.flatnonzero(arrival)
    parent = parents[child]
    # The turn of a port at a node: cyclically upwards from the port of arrival.
    turn = (arrival[child] - arrival[parent]) % (topology.ports[-1] + 1)
    order = np.lexsort((turn, parent))
    child, parent = child[order], parent[order]
    begins = np.flatnonzero(np.r_[True, parent[1:] != parent[:-1]])
    place = np.arange(len(child)) - np.repeat(begins, np.diff(np.r_[begins, len(child)])) + 1
    step = np.zeros((1, topology.nodes), dtype=np.int32)
    levels = along.levels()[0][child]
    for level in range(1, along.height + 1):
        chosen = levels == level
        step[0, child[chosen]] = step[0, parent[chosen]] + place[chosen]
    return step


def _in_line(
    along: Forest,
    ports: str,
    each: int,
    first: NDArray[np.int32],
    gap: int,
    collective: str = "broadcast",
    packets: bool | None = None,
    **parameters: Any,
) -> Schedule:
    """Every tree link once a unit: unit j arrives ``gap * j`` steps after unit 0, which arrives in step ``first``."""
    tree, place = np.divmod(np.arange(along.trees * each), each)
    return arranged(
        flooded(along, tree, gap * place, tree * each + place, first),
        topology=along.topology,
        collective=collective,
        ports=ports,
        root=along.root,
        units=along.trees * each,
        packets=along.congestion > 1 if packets is None else packets,
        forest=along,
        **parameters,
    )


def _segmented(
    construction: str, families: tuple[Family, ...], ports: tuple[Ports, ...], paper: str
) -> Algorithm:
    """The broadcast by segments, pipelined down each tree of a construction."""

    def build(topology: Topology, root: int, model: str, segments: int) -> Schedule:
        along = forest(topology, construction, root)
        return pipelined(
            along, model, segments, algorithm=construction, arguments={"segments": segments}
        )

    return Algorithm(
        "broadcast", construction, families, ports, (SEGMENTS,), paper, build, _rows(construction), lambda *_: construction,
        smallest=CONSTRUCTIONS[construction].smallest,
    )  # fmt: skip


def _stream(topology: Topology, root: int, ports: str, messages: int) -> Schedule:
    along = forest(topology, "recursive-substar", root)
    return substar_stream(
        along, ports, messages, algorithm="recursive-substar", arguments={"messages": messages}
    )


def _rows(construction: str) -> Callable[[Topology, Arguments], int]:
    many = CONSTRUCTIONS[construction].one_tree_per_port

    def rows(topology: Topology, arguments: Arguments) -> int:
        (each,) = arguments.values()
        return int(each) * (topology.degree if many else 1) * (topology.nodes - 1)

    return rows


BOTH: tuple[Ports, ...] = ("all", "one")
ALGORITHMS = (
    _segmented("greedy", ("star",), BOTH, "Tseng & Sheu 1997, section 4"),
    _segmented("multiple", ("star",), BOTH, "Tseng & Sheu 1997, Algorithm 1, Theorems 1 and 2"),
    Algorithm(
        "broadcast", "recursive-substar", ("star",), BOTH, (MESSAGES,), "Sheu, Liaw & Chen 1993, section 2",
        _stream, _rows("recursive-substar"), lambda *_: "recursive-substar",
    ),
    _segmented("nk-greedy", ("nk-star",), BOTH, "Li, Chen, Xiang & Yao, section 4"),
    _segmented("nk-multiple", ("nk-star",), BOTH, "Li, Chen, Xiang & Yao, section 5"),
    _segmented("binomial", ("hypercube",), BOTH, "Johnsson & Ho 1989"),
)  # fmt: skip
