"""Algorithms for comparison: rings, recursive doubling, and pipelines along any forest.

The ring needs a Hamiltonian cycle: starcast constructs one on star graphs and hypercubes, and
searches for one on other topologies. Recursive doubling needs a hypercube. The algorithm
``hamiltonian-decomposition`` uses the link-disjoint cycles in records, which are stored search
results that come with starcast. With the algorithm ``forest``, a new construction can be compared
with constructions of the papers. Since the trees of a forest may share links, units that cross a
link in the same step travel as one packet.

References: P. Patarasuk and X. Yuan, JPDC 69(2), 2009 (ring); R. Thakur, R. Rabenseifner and
W. Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1), 2005.
"""

from functools import partial
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from starcast import trees
from starcast.catalogue.entries import Argument
from starcast.collectives import allgather
from starcast.collectives.algorithm import Messages, Segments, algorithm
from starcast.collectives.doubling import FAMILIES
from starcast.collectives.model import Draft
from starcast.collectives.one_to_all import build_pipeline, build_scatter
from starcast.collectives.rows import Columns, Units, concatenate_rows, flood_units, serialize_ports
from starcast.support.integers import ceil_div
from starcast.support.vocabulary import Arguments, Ports
from starcast.topologies import Topology
from starcast.topologies.hamiltonian_cycles import MAX_NODES, find_hamiltonian_cycle
from starcast.trees.construction import CONSTRUCTIONS, plain_constructions
from starcast.trees.multinode import cycle_word
from starcast.trees.other_topologies import missing_record, record_witness


def rotate_messages(
    topology: Topology,
    path: NDArray[np.uint8],
    numbers: range,
    messages: int,
    ports: Ports = "all",
) -> list[Columns]:
    """Return the rows that send messages of all sources along a Hamiltonian cycle.

    One-port: every message travels in one direction and reaches all other nodes. All-port: every
    message travels in both directions, and reaches half of the other nodes in each direction; if
    their number is odd, the direction with one node more alternates from message to message.

    Args:
        topology: the topology that contains the cycle.
        path: the ports along the cycle from rank 0, including the last link, uint8 ``[nodes]``.
        numbers: the numbers, from 0, of the messages of each source that use this cycle.
        messages: the number of messages of each source.
        ports: the port model.
    """
    nodes = topology.nodes
    cycle = np.zeros(nodes, dtype=np.int64)
    for number, port in enumerate(path[:-1].tolist()):
        cycle[number + 1] = topology.neighbours(port, cycle[number : number + 1])[0]
    backward_ports = topology.reverse_ports()[np.roll(path, 1)]
    directions = ((1, path), (-1, backward_ports))
    delay = [0, 0]
    parts = []
    source = np.arange(nodes)
    # In the all-port model, messages travel in both directions at the same time, and reach half of
    # the nodes in each direction.
    longer = nodes - 1 if ports == "one" else ceil_div(nodes - 1, 2)
    for turn, message in enumerate(numbers):
        for index, (direction, port_of) in enumerate(directions):
            is_longer = index == 0 if ports == "one" else turn % 2 == index
            hops = longer if is_longer else nodes - 1 - longer
            hop = np.repeat(np.arange(hops), nodes)
            origin = np.tile(source, hops)
            position = (origin + direction * hop) % nodes
            following = (position + direction) % nodes
            parts.append(
                Columns.along_one_tree(
                    step=delay[index] + hop + 1,
                    sender=cycle[position],
                    port=port_of[position],
                    receiver=cycle[following],
                    unit=cycle[origin] * messages + message,
                )
            )
            delay[index] += hops
    return parts


def _cycle(topology: Topology) -> NDArray[np.uint8]:
    """Return the ports along a Hamiltonian cycle from rank 0, uint8 ``[nodes]``.

    On the hypercube Q_d, the cycle is the binary Gray code.
    """
    if topology.family == "star":
        return cycle_word(topology.n)
    if topology.family != "hypercube":
        found = find_hamiltonian_cycle(topology)
        if found is None:
            raise AssertionError  # `_missing_cycle` excludes topologies without a cycle
        return found
    number = np.arange(1, topology.nodes)
    changed = np.array([(value & -value).bit_length() for value in number.tolist()], dtype=np.uint8)
    return np.append(np.uint8(topology.n + 1) - changed, np.uint8(1))


def _missing_cycle(topology: Topology) -> str | None:
    """Return the reason why ``ring`` is not defined on a topology, or None if it is defined."""
    if topology.nodes < 3:
        return "a cycle has at least three nodes"
    if topology.endpoints < topology.nodes:
        return "its switches have no messages of their own to pass along a cycle"
    if topology.family in ("star", "hypercube") or find_hamiltonian_cycle(topology) is not None:
        return None
    if topology.nodes > MAX_NODES:
        return f"starcast searches for Hamiltonian cycles only on up to {MAX_NODES:,} nodes"
    return "no Hamiltonian cycle was found"


@algorithm(
    "allgather", "ring", ports=["all", "one"], source="Patarasuk & Yuan 2009",
    exclusion=_missing_cycle, sources=lambda topology, _ports: topology.nodes,
)  # fmt: skip
def _build_ring(topology: Topology, root: int, ports: Ports, messages: Messages) -> Draft:
    """Build the ring allgather: all nodes pass their messages along one Hamiltonian cycle."""
    parts = rotate_messages(topology, _cycle(topology), range(messages), messages, ports)
    return Draft(concatenate_rows(parts), messages * topology.nodes)


@algorithm(
    "allgather", "binomial", families=["hypercube"], ports=["one", "all"], smallest=1,
    source="Thakur, Rabenseifner & Gropp 2005",
    forest_construction=lambda *_: "binomial",
)  # fmt: skip
def _build_doubling(topology: Topology, root: int, ports: Ports) -> Draft:
    """Build recursive doubling: in each step, neighbours across a dimension exchange all messages.

    All nodes use the same dimension in a step. The message of a source thus travels down the
    source's binomial tree, across one dimension per step.
    """
    forest = trees.forest(topology, "binomial")
    unit = np.zeros(1, dtype=np.int32)
    # Step s crosses port n + 1 - s, so the ports are used from the last to the first.
    step = (topology.n + 1 - forest.parent_port.astype(np.int32)) * (forest.parent_port > 0)
    rows = flood_units(forest, unit, unit, unit, step)
    return Draft(rows, 1, forest, packets=True, symmetric=True)


_CYCLES = "hamiltonian-decomposition"


@algorithm(
    "allgather", "hamiltonian-decomposition", families=FAMILIES,
    source="starcast: records of hamiltonian-decomposition",
    exclusion=partial(missing_record, _CYCLES), sources=lambda topology, _ports: topology.nodes,
)  # fmt: skip
def _build_decomposition(topology: Topology, root: int, ports: Ports, messages: Messages) -> Draft:
    """Build the allgather that sends each message in both directions along a Hamiltonian cycle.

    A record provides C link-disjoint cycles, and message i uses cycle i mod C. The messages of a
    cycle follow one another. On N nodes, a message makes N - 1 hops, half of them in each
    direction; if N - 1 is odd, the direction with one hop more alternates from message to message.
    The k messages of a cycle take ceil(k (N - 1) / 2) steps. This equals the lower bound if the
    degree is 2C and the number of messages is divisible by C.
    """
    paths = record_witness(_CYCLES, topology)["ports"]
    parts = [
        rows
        for number, path in enumerate(paths)
        for rows in rotate_messages(topology, path, range(number, messages, len(paths)), messages)
    ]
    return Draft(concatenate_rows(parts), messages * topology.nodes)


def spanning_constructions(topology: Topology) -> tuple[str, ...]:
    """Return the names of the constructions on a topology whose trees reach all nodes.

    Constructions that need arguments besides the root are omitted.
    """
    names = plain_constructions(topology)
    return tuple(name for name in names if not CONSTRUCTIONS[name].partial)


BaseConstruction = Annotated[
    str,
    Argument(
        "base",
        "a construction of spanning trees without arguments, such as 'multiple'",
        kind="construction",
        choices=spanning_constructions,
        noun="a construction of spanning trees without arguments",
    ),
]


def _count_stream_rows(topology: Topology, arguments: Arguments) -> int:
    construction = CONSTRUCTIONS[str(arguments["base"])]
    return int(arguments["segments"]) * construction.count_spanning_edges(topology)


def _count_scatter_rows(topology: Topology, arguments: Arguments) -> int:
    """Return the number of rows of a scatter along the trees of the construction ``base``.

    Each message has one row per link on the path to its destination in the message's tree.
    """
    # The trees must be built, because a construction does not declare the sum of their levels.
    levels = trees.forest(topology, str(arguments["base"])).levels()[:, : topology.endpoints]
    number, node = np.indices(levels.shape)
    each, more = divmod(int(arguments["messages"]), len(levels))
    # Message i for destination d travels down tree t if d + i = t modulo the number of trees.
    return int((levels * (each + ((number - node) % len(levels) < more))).sum())


_declare = partial(
    algorithm,
    name="forest",
    ports=["all", "one"],
    source="starcast: pipelined along arbitrary trees",
    forest_construction=lambda _topology, _ports, arguments: str(arguments["base"]),
)


@_declare("broadcast", rows=_count_stream_rows)
def _build_broadcast(
    topology: Topology, root: int, ports: Ports, base: BaseConstruction, segments: Segments
) -> Draft:
    """Build the broadcast that pipelines the segments of each tree down that tree."""
    return build_pipeline(trees.forest(topology, base, root), ports, segments, packets=True)


def _allgather_construction(topology: Topology, ports: str, arguments: Arguments) -> str | None:
    """Return ``base``, the name of the construction whose trees the schedule uses.

    The result is None if each source has its own trees in the schedule.
    """
    return str(arguments["base"]) if allgather.count_sources(topology, ports) == 1 else None


@_declare(
    "allgather",
    rows=_count_stream_rows,
    sources=allgather.count_sources,
    forest_construction=_allgather_construction,
)
def _build_allgather(
    topology: Topology, root: int, ports: Ports, base: BaseConstruction, segments: Segments
) -> Draft:
    """Build the allgather that pipelines the segments of each source down its own trees.

    The trees are translated from the identity or, without translations, built at the source.
    """
    if not topology.has_translations:
        return allgather.build_packets_of_all(topology, base, ports, segments)
    return allgather.build_packets(trees.forest(topology, base), ports, segments)


@_declare("scatter", rows=_count_scatter_rows)
def _build_scatter(
    topology: Topology, root: int, ports: Ports, base: BaseConstruction, messages: Messages
) -> Draft:
    """Build the scatter down k trees; message i of destination d uses tree (d + i) mod k.

    Messages down a single tree follow Rules 5 and 8 of Fragopoulou & Akl 1993. Several trees may
    share links, and a node may be on different levels in these trees, so in the one-port model
    each step becomes one sub-slot per port.
    """
    forest = trees.forest(topology, base, root)
    destination = np.repeat(np.delete(np.arange(topology.endpoints), root), messages)
    message = np.tile(np.arange(messages), topology.endpoints - 1)
    tree = (destination + message) % forest.trees
    units = Units(tree, destination, destination * messages + message)
    if forest.trees == 1:
        return build_scatter(forest, ports, messages, units)
    draft = build_scatter(forest, "all", messages, units)._replace(packets=True)
    if ports == "one":
        return draft._replace(rows=serialize_ports(topology, draft.rows))
    return draft
