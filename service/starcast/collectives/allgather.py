"""Allgather: every node sends its message to all others.

**In packets**: units that cross a link in the same step travel as one packet. A source's message is
split into as many units as there are trees. Unit i travels down tree i, and crosses the links to
level t in step t. In the one-port model, each step is replaced by one step per port, a *sub-slot*.

**In units** on S_n: a link carries one message per step. The schedule is *symmetric*: its rows are
those of one source, the identity, which represents all sources. Sources do not conflict if and only
if the links that the schedule crosses in each step have different dimensions (Fragopoulou & Akl
1993). The algorithms ``rotated-hamiltonian`` and ``necklace`` achieve this with the rotation R,
which maps a link of dimension d to a link of dimension r(d), where r(d) = d+1 for d < n and
r(n) = 2.

The links that a message crosses are of two kinds: *ordered* links, n-1 per step, and *last* links.
The senders of the last links have the message as soon as all ordered links are crossed, so the last
links may be crossed in any order. M messages first cross their ordered links, one message after
another. Then they cross all their last links, at most one link of each dimension per step. In the
last step of a single message, only dimension n is unused. The next message is rotated, so it leaves
another dimension unused. So M messages take ceil(M(n!-1)/(n-1)) steps for every M, which is the
minimum.

**In packets on S_{n,k}**: source x uses the trees of Li, Chen, Xiang & Yao, translated to x
(LC(x, T) in the paper). In the one-port model, each step becomes n-1 sub-slots, one per port.
Translation may map a residual link (a link over one of the ports k+1..n, which replaces the first
symbol) to a link over another port. This port is used in another sub-slot, so one source cannot
represent all sources. Unless k = n-1, the one-port schedule therefore contains the rows of all
sources, and is the same for every root.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from starcast import trees
from starcast.catalogue.entries import Argument
from starcast.collectives.algorithm import Messages, algorithm
from starcast.collectives.model import Draft
from starcast.collectives.one_to_all import build_pipeline, if_single
from starcast.collectives.rows import Columns, concatenate_rows, expand_rows, serialize_ports
from starcast.support.arrays import freeze
from starcast.support.vocabulary import Arguments, Ports
from starcast.topologies import Topology
from starcast.topologies.necklaces import rotated_dimension, rotation
from starcast.trees import Forest
from starcast.trees.construction import CONSTRUCTIONS, single_trees
from starcast.trees.multinode import cycle_word, dimension_change, numbering, walk

BaseTree = Annotated[
    str,
    Argument(
        "base",
        "the construction of the single spanning tree whose dimensions change",
        lambda _: "greedy",
        kind="construction",
        choices=single_trees,
        noun="a single spanning tree",
    ),
]


def count_sources(topology: Topology, ports: str) -> int:
    """Return for how many sources an allgather must contain rows: for one, or for all endpoints."""
    # In the one-port model, the sub-slots depend on the ports. If translations change the ports, as
    # on S_{n,k}, one source cannot represent the others.
    is_symmetric = ports == "all" or topology.translation_keeps_ports
    return 1 if is_symmetric and topology.has_translations else topology.endpoints


def build_packets_of_all(
    topology: Topology, construction: str, ports: Ports, units_per_tree: int
) -> Draft:
    """Return the allgather in which each source pipelines its units down its own trees.

    The trees of a source are built by the construction, with the source as root. The schedule
    contains the rows of all sources.
    """
    parts = []
    units = 0
    for source in range(topology.endpoints):
        forest = trees.forest(topology, construction, source)
        draft = build_pipeline(forest, "all", units_per_tree, packets=True)
        parts.append(draft.rows._replace(unit=draft.rows.unit + units))
        units += draft.units
    rows = concatenate_rows(parts)
    return Draft(serialize_ports(topology, rows) if ports == "one" else rows, units, packets=True)


def build_packets(forest: Forest, ports: Ports, units_per_tree: int = 1) -> Draft:
    """Return the allgather in which each source pipelines its units down a translated forest.

    For each source, the translation maps the root of the given forest to the source.
    """
    if count_sources(forest.topology, ports) == 1:
        draft = build_pipeline(forest, ports, units_per_tree, packets=True)
        return draft._replace(symmetric=True)
    # The schedule is expanded to all sources before it is made one-port, because a translated link
    # may have another port, and then belongs to another sub-slot.
    single = build_pipeline(forest, "all", units_per_tree, packets=True)
    topology = forest.topology
    rows = serialize_ports(topology, expand_rows(topology, single.rows, single.units))
    return Draft(rows, single.units * topology.nodes, packets=True)


@algorithm(
    "allgather", "dimension-change", families=["star"], ports=["all", "one"],
    source="Tseng & Sheu 1997, Algorithm 2, Theorem 3",
    rows=lambda topology, _: topology.degree * (topology.nodes - 1),
)  # fmt: skip
def _build_dimension_change(topology: Topology, root: int, ports: Ports, base: BaseTree) -> Draft:
    """Build Algorithm 2 of Tseng & Sheu 1997: each segment of a source has its own tree.

    Let DC(i, T) be the tree T with its dimensions shifted by i places. Segment i of source x
    travels down LC(x, DC(i, T)), which is this tree translated to x. The n-1 images of a link of T
    thus have all n-1 dimensions, so in step t every directed link carries as many segments as T has
    nodes on level t. In the one-port model (section 5.2), each step becomes n-1 sub-slots, one per
    dimension.
    """
    tree = trees.forest(topology, base)
    changed = [dimension_change(topology, 0, tree, i) for i in range(topology.n - 1)]
    # The new array is made read-only, because `Forest` copies writable arrays.
    rows = freeze(np.concatenate([forest.parent_port for forest in changed]))
    return build_packets(Forest(topology, rows), ports)


@algorithm(
    "allgather", "rotated-hamiltonian", families=["star"],
    source="Fragopoulou & Akl 1993, section 3.1",
    forest_construction=if_single("rotated-hamiltonian"),
)  # fmt: skip
def _build_rotated_hamiltonian(
    topology: Topology, root: int, ports: Ports, messages: Messages
) -> Draft:
    """Build Algorithm 1 of Fragopoulou & Akl 1993, on the n-1 rotated Hamiltonian paths.

    In phase 1, messages follow the paths; in phase 2, they reach the leaves, the nodes that start
    with 1. The port over which a leaf receives a message is the position of a certain symbol in the
    leaf. For a single message, the symbol is n (Rule 1). Of several messages, message c is rotated
    c+1 times, and the symbol is 2 + (c mod (n-1)).
    """
    forest = trees.forest(topology, "rotated-hamiltonian")
    step = forest.levels()[0].copy()
    step[: topology.nodes // topology.n] = 0  # nodes that start with 1 are reached over last links
    turns = [0]
    if messages > 1:
        turns = [(c + 1) % (topology.n - 1) for c in range(min(messages, topology.n - 1))]
    return _build_overlapped(forest, step, turns, messages)


@algorithm(
    "allgather", "necklace", families=["star"], source="Fragopoulou & Akl 1993, section 3.2",
    forest_construction=if_single("necklace"),
)  # fmt: skip
def _build_necklace(topology: Topology, root: int, ports: Ports, messages: Messages) -> Draft:
    """Build Algorithm 2 of Fragopoulou & Akl 1993, on the multinode broadcast spanning tree MBST.

    The nodes are numbered as in the paper, and node number m receives the message in step
    ceil(m/(n-1)). The nodes of the last step are reached over last links (see the module's
    docstring). Message c travels down MBST rotated c mod (n-1) times. For each message, the numbers
    begin at 1, whose dimension is 2. They do not continue the numbers of the previous message: with
    any other first dimension, some node gets the same step as its parent (checked for n = 3..7).
    """
    forest = trees.forest(topology, "necklace")
    step = (numbering(topology) + np.int32(topology.n - 2)) // np.int32(topology.n - 1)
    step[step == step.max()] = 0
    turns = list(range(min(messages, topology.n - 1)))
    return _build_overlapped(forest, step, turns, messages)


@algorithm(
    "allgather", "hamiltonian-cycle", families=["star"], ports=["one"],
    source="Fragopoulou & Akl 1993, section 4", forest_construction=lambda *_: "hamiltonian-cycle",
)  # fmt: skip
def _build_hamiltonian_cycle(
    topology: Topology, root: int, ports: Ports, messages: Messages
) -> Draft:
    """Build the one-port allgather of Fragopoulou & Akl 1993, section 4.

    Each source sends its messages along a Hamiltonian path, one message after another; a message
    takes n!-1 steps. The path of a source is a translation of the identity's path, so in each step
    all nodes send across the same dimension. In the paper, all sources share one cycle instead.
    """
    forest = trees.forest(topology, "hamiltonian-cycle")
    word = cycle_word(topology.n)[:-1]
    path = walk(topology.n, word)
    length = len(word)
    message = np.repeat(np.arange(messages, dtype=np.int32), length)
    rows = Columns.along_one_tree(
        step=message * length + np.tile(np.arange(1, length + 1, dtype=np.int32), messages),
        sender=np.tile(path[:-1], messages),
        port=np.tile(word, messages),
        receiver=np.tile(path[1:], messages),
        unit=message,
    )
    return Draft(rows, messages, forest, symmetric=True)


def _build_overlapped(
    forest: Forest, step: NDArray[np.int32], turns: list[int], messages: int
) -> Draft:
    """Build the schedule of several messages from the schedule of a single message.

    Each message crosses the links of the single message, rotated as ``turns`` specifies. The last
    links of all messages (see the module's docstring) are crossed at the end, in the order of
    message and node.

    Args:
        forest: the tree along which a single message travels from the identity.
        step: int32 ``[nodes]``, the step in which each node receives the single message; 0 if the
            message arrives over one of the last links.
        turns: numbers of rotations; message c is rotated ``turns[c mod len(turns)]`` times.
        messages: the number of messages.
    """
    rotated = [_rotate(forest, step, count) for count in turns]
    parent_ports, steps = (np.stack(parts) for parts in zip(*rotated, strict=True))
    # No construction builds rotated trees. So the schedule has a forest id only if there is a
    # single message, which is not rotated.
    if messages > 1:
        forest = Forest(forest.topology, freeze(parent_ports))
    tree = np.arange(messages) % len(turns)
    begins = np.arange(messages, dtype=np.int32)[:, None] * steps.max()
    arrival = np.where(steps[tree] > 0, steps[tree] + begins, 0)
    message, node = np.nonzero(parent_ports[tree])
    port = parent_ports[tree[message], node]
    crossed = arrival[message, node]
    last = crossed == 0
    # A step has at most one last link per port, so sources do not conflict.
    crossed[last] = messages * int(steps.max()) + _positions_within_port(port[last])
    parent = forest.parents()[tree[message], node]
    rows = Columns(crossed, parent, port, node, tree[message], message)
    return Draft(rows, messages, forest, symmetric=True)


def _rotate(
    forest: Forest, step: NDArray[np.int32], count: int
) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Rotate a message's tree ``count`` times; return the parent port and the step of each node.

    Args:
        forest: the tree of a single message, rooted at the identity.
        step: int32 ``[nodes]``, the step in which each node receives the single message; 0 if the
            message arrives over one of the last links.
        count: the number of rotations R.
    """
    topology = forest.topology
    image = np.arange(topology.nodes, dtype=np.int32)
    turn = rotation(topology.n)
    for _ in range(count):
        image = turn[image]
    ports = np.empty(topology.nodes, dtype=np.uint8)
    ports[image] = rotated_dimension(forest.parent_port[0], count, topology.n)
    ports[0] = 0
    steps = np.empty(topology.nodes, dtype=np.int32)
    steps[image] = step
    return ports, steps


def _positions_within_port(port: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Number the links of each port separately, from 1; return the number of each link.

    Links with the same number are crossed in the same step.

    Args:
        port: the port of each link, uint8 ``[links]``.
    """
    position = np.empty(len(port), dtype=np.int64)
    for number in np.unique(port):
        of_port = port == number
        position[of_port] = np.arange(1, np.count_nonzero(of_port) + 1)
    return position


def _declare(construction: str, source: str) -> None:
    def count_rows(topology: Topology, _: Arguments) -> int:
        return CONSTRUCTIONS[construction].count_spanning_edges(topology)

    def forest_construction(topology: Topology, ports: str, _: Arguments) -> str | None:
        return construction if count_sources(topology, ports) == 1 else None

    @algorithm(
        "allgather", construction, families=["nk-star"], ports=["all", "one"], source=source,
        rows=count_rows, forest_construction=forest_construction, sources=count_sources,
    )  # fmt: skip
    def build(topology: Topology, root: int, ports: Ports) -> Draft:
        return build_packets(trees.forest(topology, construction), ports)


_declare("nk-greedy", "Li, Chen, Xiang & Yao, Theorems 4 and 5")
_declare("nk-multiple", "Li, Chen, Xiang & Yao, Theorems 10 and 11")
