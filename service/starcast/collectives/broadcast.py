"""Broadcast: the root's message reaches every node, down the trees of a forest.

The message is cut into units, and unit j of a tree's share follows unit j-1 down that tree (pipelining).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from starcast.arrays import sealed
from starcast.collectives.schedule import Schedule
from starcast.trees import Forest


def pipelined(forest: Forest, algorithm: str, ports: str, argument: str, share: int) -> Schedule:
    """Algorithm 1 of Tseng & Sheu 1997 (section 4.1) on any forest: ``share`` units down each tree, all at once.

    In slot t the links of level l carry unit t-l+1 of their tree: h + share - 1 slots, h the height. One-port
    (section 4.2): a slot becomes degree sub-slots, one a port; each is a matching, so nobody sends or receives twice.
    """
    first, gap = forest.levels(), 1
    if ports == "one":
        gap = forest.topology.degree
        first = (first - 1) * gap + _sub_slot(forest)
    return _rows(forest, algorithm, ports, {argument: share}, first, gap)


def substar_stream(forest: Forest, algorithm: str, ports: str, argument: str, share: int) -> Schedule:
    """A stream of messages down the tree of Sheu, Liaw & Chen 1993, a message after the other.

    All-port: one message a step, 2n-4+M steps. One-port: a node serves its children one a step, those over ports above the
    port of arrival first (Rule 2), then the others, ascending; the next message follows n-1 steps later, so that it takes
    n(n-1)/2 + (M-1)(n-1) steps (docs/definitions/tseng-sheu.md, B2).
    """
    if ports == "all":
        return pipelined(forest, algorithm, ports, argument, share)
    return _rows(forest, algorithm, ports, {argument: share}, _in_turn(forest), gap=forest.topology.degree)


def _sub_slot(forest: Forest) -> NDArray[np.int32]:
    """The place, from 1, of the port that each node is reached over, int32 ``[trees, nodes]``."""
    place = np.zeros(256, dtype=np.int32)
    place[list(forest.topology.ports)] = np.arange(1, forest.topology.degree + 1)
    return np.asarray(place[forest.topology.reverse_ports()[forest.parent_port]])


def _in_turn(forest: Forest) -> NDArray[np.int32]:
    """The step in which each node gets the first message, int32 ``[1, nodes]``, if children are served one a step."""
    topology = forest.topology
    arrival, parents = forest.parent_port[0].astype(np.int32), forest.parents()[0]
    child = np.flatnonzero(arrival)
    parent = parents[child]
    # The turn of a port at a node: cyclically upwards from the port of arrival.
    turn = (arrival[child] - arrival[parent]) % (topology.ports[-1] + 1)
    order = np.lexsort((turn, parent))
    child, parent = child[order], parent[order]
    begins = np.flatnonzero(np.r_[True, parent[1:] != parent[:-1]])
    place = np.arange(len(child)) - np.repeat(begins, np.diff(np.r_[begins, len(child)])) + 1
    step = np.zeros((1, topology.nodes), dtype=np.int32)
    levels = forest.levels()[0][child]
    for level in range(1, forest.height + 1):
        chosen = levels == level
        step[0, child[chosen]] = step[0, parent[chosen]] + place[chosen]
    return step


def _rows(
    forest: Forest, algorithm: str, ports: str, arguments: dict[str, int], first: NDArray[np.int32], gap: int
) -> Schedule:
    """Every tree link once a unit: unit j arrives ``gap * j`` steps after unit 0, which arrives in step ``first``."""
    (share,) = arguments.values()
    tree, child = np.nonzero(forest.parent_port)
    unit = np.arange(share, dtype=np.int32)[:, None]
    step = (first[tree, child] + gap * unit).reshape(-1)
    sender = np.tile(forest.parents()[tree, child], share)
    port = np.tile(forest.topology.reverse_ports()[forest.parent_port[tree, child]], share)
    order = np.lexsort((np.tile(tree, share), port, sender, step))
    return Schedule(
        topology=forest.topology,
        collective="broadcast",
        algorithm=algorithm,
        ports=ports,
        arguments=arguments,
        root=forest.root,
        units=forest.trees * share,
        packets=forest.congestion > 1,
        forest=forest,
        step=sealed(step[order]),
        sender=sealed(sender[order]),
        port=sealed(port[order]),
        receiver=sealed(np.tile(child.astype(np.int32), share)[order]),
        tree=sealed(np.tile(tree.astype(np.uint8), share)[order]),
        payload=sealed((tree.astype(np.int32) * share + unit).reshape(-1)[order]),
    )


Builder = Callable[[Forest, str, str, str, int], Schedule]
