"""The all-port alltoall of S_n in exactly ceil(M t_n / (n-1)) steps; t_n is the distance sum.

No schedule is faster, and none has fewer transmissions. Fragopoulou & Akl (1993, section 9) leave
the existence of such a schedule open; docs/exact-alltoall.md has the proof. The schedule is that of
one source; the dimensions of every step differ, so its translations are free of conflicts for all
sources together. For M <= n-1 messages to each node:

1. The nodes of short necklaces are served in T_s steps. Their hops, L for one message to each node,
   would fill ceil(M L / (n-1)) steps; a is the number of additional steps
   (see `starcast.collectives.exact_short`).
2. A group is one message to each of the n-1 nodes of a full necklace. Its paths are the path of the
   near-balanced tree to the smallest node and its rotations, crossed together hop by hop, so that
   the n-1 dimensions of a hop differ. The first a groups, nearest necklaces first, cross their
   first dimensions in idle cells of the first T_s steps.
3. All remaining hops follow after T_s, in steps in which every dimension is busy.

More messages are sent in rounds of n-1, each of which takes t_n steps with all dimensions busy, and
a last round of the remaining messages.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast import trees
from starcast.collectives.algorithm import Messages, algorithm
from starcast.collectives.exact_short import Opening, internal_error, plan_opening
from starcast.collectives.model import Schedule, build_schedule
from starcast.collectives.rows import Columns, Integers, concatenate_rows
from starcast.collectives.scatter import count_rows
from starcast.support.vocabulary import Ports
from starcast.topologies import Topology
from starcast.topologies.necklaces import necklaces, rotated_dimension, rotation
from starcast.topologies.permutations import Ranks


class FullNecklaces(NamedTuple):
    """The path to the smallest node of each full necklace, by distance, then by node.

    Attributes:
        length: int64 ``[necklaces]``, the distances, ascending.
        nodes: int32 ``[diameter + 1, necklaces]``, the rank after each hop, the root first; column
            k ends with row ``length[k]``.
        dimensions: uint8 ``[diameter, necklaces]``, the dimension crossed in each hop.
    """

    length: NDArray[np.int64]
    nodes: Ranks
    dimensions: NDArray[np.uint8]


@algorithm(
    "alltoall", "exact", families=["star"],
    source="starcast, docs/exact-alltoall.md; an open question of Fragopoulou & Akl 1993, section "
    "9", rows=count_rows,
)  # fmt: skip
def _build_exact_alltoall(
    topology: Topology, root: int, ports: Ports, messages: Messages
) -> Schedule:
    """Build the schedule of ceil(M t_n / (n-1)) steps, for every n >= 2 and M >= 1."""
    rounds, rest = divmod(messages, topology.degree)
    full = full_necklaces(topology)
    parts = []
    if rounds:
        once = _build_round(topology, full, topology.degree, messages)
        parts.append(_repeat(once, rounds, topology))
    if rest:
        parts.append(_delay(_build_round(topology, full, rest, messages), rounds, topology))
    schedule = build_schedule(
        concatenate_rows(parts),
        topology=topology,
        collective="alltoall",
        algorithm="exact",
        ports=ports,
        units=topology.nodes * messages,
        packets=False,
        arguments={"messages": messages},
        symmetric=True,
    )
    return schedule.translate(root)


def full_necklaces(topology: Topology) -> FullNecklaces:
    """Return the full necklaces of S_n with their paths in the near-balanced tree."""
    rings = necklaces(topology.n)
    distances = topology.distances()
    is_leader = (rings.leader == np.arange(topology.nodes)) & (rings.period == topology.degree)
    leaders = np.flatnonzero(is_leader)
    # In S_2 the root, too, is a necklace of n-1 nodes.
    leaders = leaders[leaders > 0].astype(np.int32)
    leaders = leaders[np.argsort(distances[leaders], kind="stable")]
    length = distances[leaders].astype(np.int64)
    parent_port = trees.forest(topology, "near-balanced").parent_port[0]
    nodes = np.zeros((topology.diameter + 1, len(leaders)), dtype=np.int32)
    dimensions = np.zeros((topology.diameter, len(leaders)), dtype=np.uint8)
    node = leaders.copy()
    for hop in range(topology.diameter, 0, -1):
        longer = slice(int(np.searchsorted(length, hop)), None)
        nodes[hop, longer] = node[longer]
        dimensions[hop - 1, longer] = parent_port[node[longer]]
        node[longer] = topology.step(dimensions[hop - 1, longer], node[longer])
    return FullNecklaces(length, nodes, dimensions)


def _build_round(topology: Topology, full: FullNecklaces, messages: int, total: int) -> Columns:
    """Return the rows of the first ``messages <= n-1`` of ``total`` messages to each node."""
    opening = plan_opening(topology.n, messages)
    short_rows = _serve_short_necklaces(topology, opening, total)
    full_rows = _serve_full_necklaces(topology, full, opening, messages, total)
    return concatenate_rows([*short_rows, *full_rows])


def _serve_short_necklaces(topology: Topology, opening: Opening, total: int) -> Iterator[Columns]:
    """Yield the rows of the words of short necklaces, one hop of all words at a time."""
    words = opening.words
    node = np.zeros(len(words), dtype=np.int32)
    unit = np.array([word.node * total + word.message for word in words], dtype=np.int64)
    for hop in range(max((len(word.dimensions) for word in words), default=0)):
        longer = [index for index, word in enumerate(words) if len(word.dimensions) > hop]
        step = np.array([opening.steps[index][hop] for index in longer])
        port = np.array([words[index].dimensions[hop] for index in longer], dtype=np.uint8)
        sender = node[longer]
        node[longer] = topology.step(port, sender)
        yield _rows(step, sender, port, node[longer], unit[longer])


def _serve_full_necklaces(
    topology: Topology, full: FullNecklaces, opening: Opening, messages: int, total: int
) -> Iterator[Columns]:
    """Yield the rows of full necklaces, which cross one hop per step after the opening.

    A group is a necklace and a message, n-1 nodes together. The first a groups have crossed their
    first dimensions in the opening.
    """
    group = np.arange(len(full.length) * messages)
    necklace, message = np.divmod(group, messages)
    length = full.length[necklace]
    early = group < opening.idle.shape[1]
    begin = _group_begins(length, early, opening)
    target = full.nodes[full.length, np.arange(len(full.length))]
    image = np.arange(topology.nodes, dtype=np.int32)
    rotated = rotation(topology.n)
    for turns in range(topology.degree):
        unit = image[target[necklace]].astype(np.int64) * total + message
        for hop in range(1, int(length.max()) + 1):
            longer = slice(int(np.searchsorted(length, hop)), None)
            path = necklace[longer]
            port = rotated_dimension(full.dimensions[hop - 1, path], turns, topology.n)
            step = begin[longer] + hop
            if hop == 1:
                step[early] = opening.idle[port[early] - 2, group[early]]
            sender = image[full.nodes[hop - 1, path]]
            receiver = image[full.nodes[hop, path]]
            yield _rows(step, sender, port, receiver, unit[longer])
        image = rotated[image]


def _group_begins(
    length: NDArray[np.int64], early: NDArray[np.bool_], opening: Opening
) -> NDArray[np.int64]:
    """Return for each group the step such that its hop h takes place h steps later.

    Early groups skip hop 1, which takes place in the opening.
    """
    idle_cells = opening.idle.shape[1]
    if np.count_nonzero(early) < idle_cells:
        raise internal_error(
            f"there are {len(length)} groups of full necklaces and idle cells for {idle_cells}"
        )
    return np.asarray(opening.length + np.cumsum(length - early) - length)


def _rows(
    step: Integers, sender: Ranks, port: Integers, receiver: Ranks, unit: Integers
) -> Columns:
    tree = np.zeros(len(step), dtype=np.uint8)
    return Columns(step.astype(np.int32), sender, port, receiver, tree, unit.astype(np.int32))


def _repeat(once: Columns, rounds: int, topology: Topology) -> Columns:
    """Return the rows of several rounds of n-1 messages; a round takes t_n steps."""
    repeated = once.apply(lambda column: np.tile(column, rounds))
    round_number = np.repeat(np.arange(rounds, dtype=np.int32), len(once.step))
    return _delay(repeated, round_number, topology)


def _delay(rows: Columns, rounds: int | NDArray[np.int32], topology: Topology) -> Columns:
    """Return the rows as they follow after some rounds of n-1 messages."""
    step = rows.step + rounds * topology.distance_sum
    unit = rows.unit + rounds * topology.degree
    return rows._replace(step=step, unit=unit)
