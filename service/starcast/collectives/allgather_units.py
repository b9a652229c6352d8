"""Allgather by units on S_n: a link carries one message a step, and source I's schedule stands for all.

That is free of conflicts for all sources together if and only if the links of a step have different dimensions (Fragopoulou &
Akl 1993). The two all-port algorithms keep to it by rotation: R takes a link of dimension d to one of r(d). A message's links
are its *ordered* ones, n-1 of them in a step, and its *last* ones, whose tails have the message by then and which may be
crossed in any order. Of M messages the ordered links come message after message, then all last ones together, dimension by
dimension. A message leaves one cell of its last step empty, that of dimension n; the next message is rotated, so that its empty
cell is one of another dimension, and M messages take ceil(M(n!-1)/(n-1)) steps, the least possible, for every M.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.algorithm import MESSAGES, Algorithm, Arguments
from starcast.collectives.model import Schedule
from starcast.collectives.rows import Columns, arranged
from starcast.collectives.translation import moved
from starcast.topologies import Topology
from starcast.topologies.necklaces import rotated_dimension, rotation
from starcast.trees import Forest, forest
from starcast.trees.hamiltonian_paths import cycle_word, walk
from starcast.trees.necklace import numbering


class _Single(NamedTuple):
    """How one message goes: the tree, and the step in which each node gets it, 0 over last links, int32 ``[nodes]``."""

    along: Forest
    step: NDArray[np.int32]


def _rotated_hamiltonian(topology: Topology, root: int, ports: str, messages: int) -> Schedule:
    """Algorithm 1: phase 1, the n-1 rotated Hamiltonian paths, in order; phase 2, the leaves, last.

    One message takes symbol n in phase 2 (Rule 1). Of several, message c takes 2 + (c mod (n-1)), the rotated n.
    """
    along = forest(topology, "rotated-hamiltonian")
    step = along.levels()[0].copy()
    step[: topology.nodes // topology.n] = 0  # the nodes that start with 1
    turns = (
        [(c + 1) % (topology.n - 1) for c in range(min(messages, topology.n - 1))]
        if messages > 1
        else [0]
    )
    return _overlapped("rotated-hamiltonian", _Single(along, step), turns, messages, ports, root)


def _necklace(topology: Topology, root: int, ports: str, messages: int) -> Schedule:
    """Algorithm 2: node number m of the MBST gets the message in step ceil(m/(n-1)); the nodes of the last step are last.

    Message c goes down the MBST rotated c mod (n-1) times. The paper's numbers cannot simply run on over the messages: a
    recipe that begins with another dimension than 2 puts a node into the step of its parent, for n = 3..7 whichever it is.
    """
    along = forest(topology, "necklace")
    step = (numbering(topology) + np.int32(topology.n - 2)) // np.int32(topology.n - 1)
    step[step == step.max()] = 0
    return _overlapped(
        "necklace",
        _Single(along, step),
        list(range(min(messages, topology.n - 1))),
        messages,
        ports,
        root,
    )


def _hamiltonian_cycle(topology: Topology, root: int, ports: str, messages: int) -> Schedule:
    """Section 4, one-port: message after message along a Hamiltonian path, n!-1 steps each.

    Source q's path is the translated one, not a part of one cycle for all: so all nodes cross the same dimension in a step.
    """
    along = forest(topology, "hamiltonian-cycle")
    word = cycle_word(topology.n)[:-1]
    way, length = walk(topology.n, word), len(word)
    message = np.repeat(np.arange(messages, dtype=np.int32), length)
    rows = Columns(
        step=message * length + np.tile(np.arange(1, length + 1, dtype=np.int32), messages),
        sender=np.tile(way[:-1], messages),
        port=np.tile(word, messages),
        receiver=np.tile(way[1:], messages),
        tree=np.zeros_like(message),
        unit=message,
    )
    return moved(_units(rows, along, "hamiltonian-cycle", ports, messages), root)


def _overlapped(
    name: str, single: _Single, turns: list[int], messages: int, ports: str, root: int
) -> Schedule:
    """M messages, message c as the single one rotated turns[c mod len(turns)] times; last links in the order of (c, node)."""
    rotated = [_rotated(single, count) for count in turns]
    rows, steps = (np.stack(parts) for parts in zip(*rotated, strict=True))
    rows.flags.writeable = False
    topology = single.along.topology
    along = single.along if messages == 1 else Forest(topology, rows)
    tree = np.arange(messages) % len(turns)
    begins = np.arange(messages, dtype=np.int32)[:, None] * steps.max()
    arrival = np.where(steps[tree] > 0, steps[tree] + begins, 0)
    message, node = np.nonzero(rows[tree])
    port = rows[tree[message], node]
    step = arrival[message, node]
    step[step == 0] = messages * int(steps.max()) + _turn(port[step == 0])
    made = Columns(step, along.parents()[tree[message], node], port, node, tree[message], message)
    return moved(_units(made, along, name, ports, messages), root)


def _rotated(single: _Single, count: int) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """The ports towards parents, and the steps, of the message rotated some times, each ``[nodes]``."""
    topology = single.along.topology
    image, turn = np.arange(topology.nodes, dtype=np.int32), rotation(topology.n)
    for _ in range(count):
        image = turn[image]
    ports, steps = (
        np.empty(topology.nodes, dtype=np.uint8),
        np.empty(topology.nodes, dtype=np.int32),
    )
    ports[image] = rotated_dimension(single.along.parent_port[0], count, topology.n)
    ports[0] = 0
    steps[image] = single.step
    return ports, steps


def _turn(port: NDArray[np.uint8]) -> NDArray[np.int64]:
    """For each link its place, from 1, among those of its port."""
    turn = np.empty(len(port), dtype=np.int64)
    for one in np.unique(port):
        chosen = port == one
        turn[chosen] = np.arange(1, np.count_nonzero(chosen) + 1)
    return turn


def _units(rows: Columns, along: Forest, name: str, ports: str, messages: int) -> Schedule:
    """The schedule of these rows, of the identity and one unit a link."""
    return arranged(
        rows,
        topology=along.topology,
        collective="allgather",
        algorithm=name,
        ports=ports,
        arguments={"messages": messages},
        units=messages,
        packets=False,
        forest=along,
        symmetric=True,
    )


def _rows(topology: Topology, arguments: Arguments) -> int:
    return int(arguments["messages"]) * (topology.nodes - 1)


def _if_single(construction: str) -> Callable[[Topology, str, Arguments], str | None]:
    return lambda _where, _ports, arguments: construction if arguments["messages"] == 1 else None


ALGORITHMS = (
    Algorithm(
        "allgather", "rotated-hamiltonian", ("star",), ("all",), (MESSAGES,), "Fragopoulou & Akl 1993, section 3.1",
        _rotated_hamiltonian, _rows, _if_single("rotated-hamiltonian"),
    ),
    Algorithm(
        "allgather", "necklace", ("star",), ("all",), (MESSAGES,), "Fragopoulou & Akl 1993, section 3.2",
        _necklace, _rows, _if_single("necklace"),
    ),
    Algorithm(
        "allgather", "hamiltonian-cycle", ("star",), ("one",), (MESSAGES,), "Fragopoulou & Akl 1993, section 4",
        _hamiltonian_cycle, _rows, lambda *_: "hamiltonian-cycle",
    ),
)  # fmt: skip
