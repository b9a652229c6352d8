"""The all-port alltoall of S_n in exactly ceil(M t_n / (n-1)) steps, t_n the sum of all distances from a node.

No schedule is faster, and none has fewer transmissions. Fragopoulou & Akl (1993, section 9) leave open whether there is one;
docs/exact-alltoall.md has the proof. It is the schedule of one source, and as the dimensions of every step differ, its
translations are free of conflicts for all sources together. For M <= n-1 messages to each node:

1. the nodes of short necklaces are served in T_s steps. Their hops, L for one message to each, would fill ceil(M L / (n-1)) of
   them, and a is how many more there are: see `starcast.collectives.exact_short`;
2. a group is one message to each of the n-1 nodes of a full necklace. Their paths are that of the near-balanced tree to the
   smallest node and its rotations, crossed hop by hop together, so that the n-1 dimensions of a hop differ. The first a groups,
   nearest necklaces first, cross their first dimensions in idle cells of the first T_s steps;
3. all that remains follows after T_s in steps in which every dimension is busy.

More messages are sent in rounds of n-1, each of which takes t_n steps with all dimensions busy, and a last round of the rest.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.algorithm import MESSAGES, Algorithm
from starcast.collectives.exact_short import Opening, defect, opening
from starcast.collectives.model import Schedule
from starcast.collectives.rows import Columns, Integers, arranged, joined
from starcast.collectives.translation import moved
from starcast.permutations import Ranks
from starcast.topologies import Topology
from starcast.topologies.necklaces import necklaces, rotated_dimension, rotation
from starcast.trees import forest


class FullNecklaces(NamedTuple):
    """The path to the smallest node of each full necklace, by distance, then node.

    Attributes:
        length: int64 ``[necklaces]``: the distances, ascending.
        nodes: int32 ``[diameter + 1, necklaces]``: rank after each hop, the root first; column k ends with row ``length[k]``.
        dimensions: uint8 ``[diameter, necklaces]``: crossed in each hop.
    """

    length: NDArray[np.int64]
    nodes: Ranks
    dimensions: NDArray[np.uint8]


def exact(topology: Topology, root: int, ports: str, messages: int) -> Schedule:
    """ceil(M t_n / (n-1)) steps for every n >= 2 and M >= 1."""
    rounds, rest = divmod(messages, topology.degree)
    full, parts = full_necklaces(topology), []
    if rounds:
        parts.append(_repeated(_round(topology, full, topology.degree, messages), rounds, topology))
    if rest:
        parts.append(_later(_round(topology, full, rest, messages), rounds, topology))
    made = arranged(
        joined(parts),
        topology=topology,
        collective="alltoall",
        algorithm="exact",
        ports=ports,
        units=topology.nodes * messages,
        packets=False,
        arguments={"messages": messages},
        symmetric=True,
    )
    return moved(made, root)


def full_necklaces(topology: Topology) -> FullNecklaces:
    """The full necklaces of S_n with their paths in the near-balanced tree."""
    rings, distances = necklaces(topology.n), topology.distances()
    leads = (rings.leader == np.arange(topology.nodes)) & (rings.period == topology.degree)
    leaders = np.flatnonzero(leads)
    leaders = leaders[leaders > 0].astype(
        np.int32
    )  # in S_2 the root is a necklace of n-1 nodes as well
    leaders = leaders[np.argsort(distances[leaders], kind="stable")]
    length = distances[leaders].astype(np.int64)
    tree = forest(topology, "near-balanced").parent_port[0]
    nodes = np.zeros((topology.diameter + 1, len(leaders)), dtype=np.int32)
    dimensions = np.zeros((topology.diameter, len(leaders)), dtype=np.uint8)
    at = leaders.copy()
    for hop in range(topology.diameter, 0, -1):
        going = slice(int(np.searchsorted(length, hop)), None)
        nodes[hop, going] = at[going]
        dimensions[hop - 1, going] = tree[at[going]]
        at[going] = topology.step(dimensions[hop - 1, going], at[going])
    return FullNecklaces(length, nodes, dimensions)


def _round(topology: Topology, full: FullNecklaces, messages: int, total: int) -> Columns:
    """The first of ``total`` messages to each node, n-1 of them or fewer."""
    begun = opening(topology.n, messages)
    return joined(
        [*_to_short(topology, begun, total), *_to_full(topology, full, begun, messages, total)]
    )


def _to_short(topology: Topology, begun: Opening, total: int) -> Iterator[Columns]:
    """The words of short necklaces in their steps, all words one hop a turn."""
    at = np.zeros(len(begun.words), dtype=np.int32)
    unit = np.array([word.node * total + word.message for word in begun.words], dtype=np.int64)
    for hop in range(max((len(word.dimensions) for word in begun.words), default=0)):
        going = [index for index, word in enumerate(begun.words) if len(word.dimensions) > hop]
        step = np.array([begun.steps[index][hop] for index in going])
        port = np.array([begun.words[index].dimensions[hop] for index in going], dtype=np.uint8)
        before, at[going] = at[going], topology.step(port, at[going])
        yield _rows(step, before, port, at[going], unit[going])


def _to_full(
    topology: Topology, full: FullNecklaces, begun: Opening, messages: int, total: int
) -> Iterator[Columns]:
    """Necklace by necklace, and for each message by message, n-1 nodes together: a hop a step after the opening.

    The first a of these groups have crossed their first dimensions before.
    """
    group = np.arange(len(full.length) * messages)
    necklace, message = np.divmod(group, messages)
    length, early = full.length[necklace], group < begun.idle.shape[1]
    after = _starts(length, early, begun)
    target = full.nodes[full.length, np.arange(len(full.length))]
    image, turn = np.arange(topology.nodes, dtype=np.int32), rotation(topology.n)
    for turns in range(topology.degree):
        unit = image[target[necklace]].astype(np.int64) * total + message
        for hop in range(1, int(length.max()) + 1):
            going = slice(int(np.searchsorted(length, hop)), None)
            path = necklace[going]
            port = rotated_dimension(full.dimensions[hop - 1, path], turns, topology.n)
            step = after[going] + hop
            if hop == 1:
                step[early] = begun.idle[port[early] - 2, group[early]]
            yield _rows(
                step,
                image[full.nodes[hop - 1, path]],
                port,
                image[full.nodes[hop, path]],
                unit[going],
            )
        image = turn[image]


def _starts(
    length: NDArray[np.int64], early: NDArray[np.bool_], begun: Opening
) -> NDArray[np.int64]:
    """The step after which each group goes on, such that its hop h takes place h steps later; the early miss hop 1."""
    wanted = begun.idle.shape[1]
    if np.count_nonzero(early) < wanted:
        raise defect(
            f"there are {len(length)} groups of full necklaces and idle cells for {wanted}"
        )
    return np.asarray(begun.length + np.cumsum(length - early) - length)


def _rows(
    step: Integers, sender: Ranks, port: Integers, receiver: Ranks, unit: Integers
) -> Columns:
    tree = np.zeros(len(step), dtype=np.uint8)
    return Columns(step.astype(np.int32), sender, port, receiver, tree, unit.astype(np.int32))


def _repeated(once: Columns, rounds: int, topology: Topology) -> Columns:
    """Rounds of n-1 messages one after the other, each of t_n steps."""
    each = Columns(*(np.tile(column, rounds) for column in once))
    return _later(each, np.repeat(np.arange(rounds, dtype=np.int32), len(once.step)), topology)


def _later(rows: Columns, rounds: int | NDArray[np.int32], topology: Topology) -> Columns:
    """The rows after some rounds of n-1 messages."""
    step, unit = rows.step + rounds * topology.distance_sum, rows.unit + rounds * topology.degree
    return rows._replace(step=step, unit=unit)


ALGORITHMS = (
    Algorithm(
        "alltoall", "exact", ("star",), ("all",), (MESSAGES,), "starcast, docs/exact-alltoall.md; an open question of "
        "Fragopoulou & Akl 1993, section 9", exact, lambda where, given: int(given["messages"]) * where.distance_sum,
        lambda *_: None,
    ),
)  # fmt: skip
