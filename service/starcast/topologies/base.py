"""`Topology`, the base class of all topologies."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.support.arrays import Integers, Mask, freeze
from starcast.support.errors import InputError, LimitError
from starcast.support.table import Displayable
from starcast.support.vocabulary import RANK
from starcast.topologies import memory
from starcast.topologies.permutations import Ranks, labels_from

_CHUNK = 2**15
#: A topology's neighbour table is cached if it has at most this many entries, because looking up a
#: few neighbours is much faster than computing them.
_MAX_KEPT = 2**15

#: Maximum number of breadth-first searches for a diameter or a centre. Most networks need fewer
#: than 100.
MAX_SEARCHES = 2_000
#: Distance arrays are uint8 if no distance exceeds this maximum, else int32.
MAX_UINT8_DISTANCE = 254
#: A function that takes an array over all nodes and a slice of ranks, and returns the array's
#: values at the neighbours of the nodes in the slice; see `Topology.neighbour_values`.
ValueReader = Callable[[Integers, slice], Integers]


def read_by_rank(neighbour_ranks: Callable[[slice], Ranks]) -> ValueReader:
    """Return a function that reads the values of an array at the neighbours of a chunk of nodes.

    The returned function takes an array over all nodes and a chunk, which is a slice of ranks. It
    keeps the neighbours' ranks until the chunk changes, because callers read several arrays per
    chunk.

    Args:
        neighbour_ranks: a function that returns the ranks of the neighbours of a chunk's nodes.
    """
    kept_chunk, kept_ranks = slice(0, 0), np.empty(0, dtype=np.int32)

    def read(values: Integers, chunk: slice) -> Integers:
        nonlocal kept_chunk, kept_ranks
        if chunk != kept_chunk:
            kept_chunk, kept_ranks = chunk, neighbour_ranks(chunk)
        # All ranks are in range, so the mode "clip" changes none; it avoids numpy's range check.
        return np.take(values, kept_ranks, mode="clip")

    return read


class Topology(Displayable, ABC):
    """A connected graph with numbered ports; no port leads two nodes to the same neighbour.

    Each node is identified by its rank, from 0 to nodes-1; in topologies with translations, the
    identity has rank 0. A node without a link at a port is its own neighbour there. Arrays over all
    nodes are indexed by rank, and are allocated only when a method needs them. If an array would
    not fit into the machine's memory, the method raises a `LimitError`.

    Attributes:
        family: the name of the family, such as ``star``, ``nk-star`` or ``hypercube``.
        spec: the string that `starcast.topology` accepts, such as ``S5``.
        n: the size parameter, such as n of S_n and S_{n,k}, or d of Q_d.
        k: k of S_{n,k}; None for other families.
        nodes: the number of nodes, including switches; see `endpoints`.
        capacities: the capacity of each node's link at each port, in the order of `ports`, or 0 if
            the node has no link at the port; int64 ``[ports, nodes]``. None if all links have
            capacity 1, which is always the case with translations.
        latencies: the latency of each link, as an array like ``capacities``. None if all are 0.
        capacity_unit: the capacity that the value 1 in ``capacities`` represents, in bit/s if the
            capacities were given with units, and otherwise without a unit.
        ports: the ports, ascending; without translations, a node may lack links at some of them.
        has_translations: whether `translation` returns, for every node, an automorphism that maps
            the identity to this node. Then every node has a link at every port.
        translation_keeps_ports: whether `translation` maps every link to a link of the same port.
            Of the built-in topologies, this is False only for S_{n,k} with k < n-1, where it may
            change the ports of the links that replace the first symbol.
    """

    family: str
    spec: str
    n: int
    k: int | None
    nodes: int
    ports: tuple[int, ...]
    has_translations: bool = False
    translation_keeps_ports: bool = True
    capacities: NDArray[np.int64] | None = None
    latencies: NDArray[np.int64] | None = None
    capacity_unit: float = 1.0
    #: Whether a small neighbour table is cached under the topology's spec. False for topologies
    #: of plug-ins, because a plug-in may later define another topology with the same spec.
    _keeps_tables: bool = False

    @property
    def endpoints(self) -> int:
        """The number of endpoints, which send and receive messages of their own.

        Endpoints have the ranks 0..endpoints-1. All other nodes are switches, which only forward.
        """
        return self.nodes

    @property
    def has_equal_links(self) -> bool:
        """Whether all links have capacity 1 and latency 0."""
        return self.capacities is None and self.latencies is None

    @property
    def port_count(self) -> int:
        """The number of ports; in topologies without translations, it can exceed the degree."""
        return len(self.ports)

    @property
    def degree(self) -> int:
        """The largest number of links at a node."""
        return self.port_count if self.has_translations else int(self.degrees.max())

    @cached_property
    def degrees(self) -> NDArray[np.int32]:
        """The number of links at each node, int32 ``[nodes]``."""
        if self.has_translations:
            return np.broadcast_to(np.int32(self.port_count), self.nodes)
        counts = np.zeros(self.nodes, dtype=np.int32)
        for port in self.ports:
            counts += self.has_link(port)
        return freeze(counts)

    @property
    def _has_kept_table(self) -> bool:
        """Whether the neighbour table is cached: it is small, and `_keeps_tables` is True."""
        return self._keeps_tables and self.nodes * self.port_count <= _MAX_KEPT

    @property
    def node_capacities(self) -> NDArray[np.integer]:
        """The total capacity of the links at each node, int32 or int64 ``[nodes]``."""
        return self.degrees if self.capacities is None else self.capacities.sum(axis=0)

    @property
    def largest_capacity(self) -> int:
        """The largest capacity of a link."""
        return 1 if self.capacities is None else int(self.capacities.max())

    @property
    def links(self) -> int:
        """The number of undirected links, each of which consists of two directed links."""
        if self.has_translations:
            return self.nodes * self.degree // 2
        return int(self.degrees.sum()) // 2

    @property
    @abstractmethod
    def diameter(self) -> int:
        """The largest distance between two endpoints."""

    @property
    def mean_distance(self) -> Fraction:
        """The exact mean distance between two different endpoints."""
        return Fraction(self.distance_sum, sum(self.distance_profile()[1:]))

    @property
    def distance_sum(self) -> int:
        """The sum of the distances from any node to all others, in topologies with translations.

        In S_n, it is n!(n + 2/n + H_n - 4), for the harmonic number H_n; in Q_d, it is d 2^(d-1).
        In topologies without translations, it is the sum of the distances of all ordered pairs of
        endpoints instead.
        """
        return sum(distance * count for distance, count in enumerate(self.distance_profile()))

    @abstractmethod
    def distance_profile(self) -> tuple[int, ...]:
        """Return the number of nodes at distance 0, 1, .., diameter from any node.

        In topologies without translations, these numbers may differ between nodes; the numbers of
        ordered pairs of endpoints at each distance are returned instead.
        """

    def distance_sum_from(self, root: int) -> int:
        """Return the sum of the distances from a node to all endpoints."""
        if self.has_translations:
            return self.distance_sum
        return int(self.distances(root)[: self.endpoints].sum(dtype=np.int64))

    def centre(self) -> int:
        """Return the rank of the endpoint whose maximum distance to other endpoints is smallest.

        If there are several such endpoints, the lowest rank is returned. In a topology with
        translations, all nodes are equivalent, and the result is 0.

        Raises:
            LimitError: finding the centre needs more than `MAX_SEARCHES` breadth-first searches.
        """
        if self._centre is None:
            raise LimitError(
                f"the centre of {self.spec} is not known: finding it takes more than"
                f" {MAX_SEARCHES:,} searches",
                hint="use the label of a node instead of 'centre'",
            )
        return self._centre

    @cached_property
    def _centre(self) -> int | None:
        """The rank of the centre, or None if finding it needs too many searches.

        A breadth-first search from one node gives lower bounds on the eccentricities (maximum
        distances) of all other nodes (Takes & Kosters 2013).
        """
        if self.has_translations:
            return 0
        ranks = np.arange(self.endpoints)
        # Lower bounds on the eccentricities, which are exact for nodes from which a search began.
        least = np.zeros(self.endpoints, dtype=np.int32)
        is_open = np.ones(self.endpoints, dtype=bool)
        radius, best, furthest = self.nodes, 0, 0
        for _ in range(MAX_SEARCHES):
            candidates = np.flatnonzero(
                is_open & ((least < radius) | ((least == radius) & (ranks < best)))
            )
            if not len(candidates):
                return best
            # A search from the node furthest from the last candidate usually raises many lower
            # bounds.
            node = furthest if is_open[furthest] else int(candidates[least[candidates].argmin()])
            distances = self.distances(node)[: self.endpoints].astype(np.int32)
            largest = int(distances.max())
            np.maximum(least, np.maximum(distances, largest - distances), out=least)
            is_open[node] = False
            radius, best = min((radius, best), (largest, node))
            furthest = int(distances.argmax()) if node != furthest else node
        return None

    @abstractmethod
    def reverse_port(self, port: int) -> int:
        """Return the port that leads back from the neighbour across ``port``.

        Raises:
            InputError: the topology has no such port.
        """

    def reverse_ports(self) -> NDArray[np.uint8]:
        """Return each port's reverse port, uint8 ``[256]``, indexed by port; all others are 0."""
        table = np.zeros(256, dtype=np.uint8)
        for port in self.ports:
            table[port] = self.reverse_port(port)
        return table

    @abstractmethod
    def neighbours(self, port: int, ranks: ArrayLike | None = None) -> Ranks:
        """Return each node's neighbour across a port.

        Args:
            port: one of `ports`.
            ranks: the nodes, or None for all nodes.

        Returns:
            The ranks of the neighbours, int32 ``[nodes]`` or ``[len(ranks)]``; a node without a
            link at the port is its own neighbour.

        Raises:
            InputError: the topology has no such port, or a rank is out of range or not an integer.

        Example:
            >>> topology("S5").label(topology("S5").neighbours(5)[0])
            '52341'
        """

    def table(self) -> Ranks:
        """Return the neighbour of every node across every port, int32 ``[ports, nodes]``.

        The ports are in the order of `ports`.
        """
        # The kept table is shared, and callers may change the result, so a copy is returned.
        return kept_table(self).copy() if self._has_kept_table else self._compute_table()

    def _compute_table(self) -> Ranks:
        memory.require(
            4 * self.nodes * self.port_count,
            f"neighbours over {self.port_count} ports on {self.nodes:,} nodes",
        )
        out = np.empty((self.port_count, self.nodes), dtype=np.int32)
        for row, port in zip(out, self.ports, strict=True):
            self._fill_neighbours(port, row)
        return out

    def has_link(self, port: int) -> Mask:
        """Return a mask of the nodes that have a link at a port, bool ``[nodes]``."""
        return np.asarray(self.neighbours(port) != np.arange(self.nodes))

    def linked(self, node: int) -> list[int]:
        """Return the ranks of the nodes that are linked to a node, in the order of `ports`."""
        ends = (int(self.neighbours(port, [node])[0]) for port in self.ports)
        return [end for end in ends if end != node]

    def _fill_neighbours(self, port: int, out: Ranks) -> None:
        out[:] = self.neighbours(port)

    def chunks(self) -> list[slice]:
        """Return slices that cover all ranks; arrays over a slice fit into the CPU cache."""
        starts = range(0, self.nodes, _CHUNK)
        return [slice(start, min(start + _CHUNK, self.nodes)) for start in starts]

    def neighbour_ranks(self, port: int) -> Callable[[slice], Ranks]:
        """Return a function that maps a chunk of nodes to their neighbours across a port.

        The function takes one of the slices from `chunks`, and returns the neighbours' ranks, int32
        ``[chunk]``. Data shared by all chunks is computed only once.

        Raises:
            InputError: the topology has no such port.
        """
        self._check_port(port)
        return lambda chunk: self.neighbours(port, np.arange(chunk.start, chunk.stop))

    def neighbour_values(self, port: int) -> ValueReader:
        """Return a function that reads the values of an array at the neighbours across a port.

        The function takes an array over all nodes, such as distances, and a slice from `chunks`. It
        returns the array's values at the neighbours of the nodes in the slice.

        Raises:
            InputError: the topology has no such port.
        """
        return read_by_rank(self.neighbour_ranks(port))

    def step(self, ports: NDArray[np.uint8], ranks: NDArray[np.integer]) -> Ranks:
        """Return each node's neighbour across the port chosen for this node, int32 ``[count]``.

        Args:
            ports: the port chosen for each node, uint8 ``[count]``.
            ranks: the nodes, ``[count]``.
        """
        out = np.empty(len(ranks), dtype=np.int32)
        # The loop runs over ports, because `neighbours` handles many nodes but only one port.
        for port in np.unique(ports).tolist():
            chosen = ports == port
            out[chosen] = self.neighbours(port, ranks[chosen])
        return out

    @abstractmethod
    def distances(self, root: int | str = 0) -> Integers:
        """Return the distance of every node from the root, in links, ``[nodes]``.

        The dtype is uint8 if all distances are below 255, else int32.
        """

    def translation(self, root: int | str) -> Ranks:
        """Return the image of each node under the automorphism that maps the identity to the root.

        If `translation_keeps_ports` is True, every link is mapped to a link of the same port.
        Otherwise `carried_ports` returns the new ports.

        Returns:
            int32 ``[nodes]``.

        Raises:
            InputError: the topology has no translations, or the root does not exist.
        """
        raise InputError(
            f"{self.spec} has no translations: its nodes need not be equivalent",
            hint=f"build the trees or the schedule with the root {self.label(self.node(root))}",
        )

    def carried_ports(self, root: int | str, ports: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the ports of links after the translation that maps the identity to the root.

        Args:
            root: label or rank of the node to which the translation maps the identity.
            ports: for each node, the port of one of its links, or 0 for no link; uint8 ``[nodes]``.

        Returns:
            For each node, the port of its link after the translation, or 0; uint8 ``[nodes]``,
            indexed by the node before the translation.
        """
        self.node(root)
        return ports

    @abstractmethod
    def labels(self, ranks: ArrayLike | None = None) -> NDArray[np.str_]:
        """Return the labels of the given nodes, or of all nodes if ``ranks`` is None."""

    @abstractmethod
    def rank(self, label: str) -> int:
        """Return the rank of the node with the given label.

        Raises:
            InputError: no node has this label.
        """

    def label(self, rank: int) -> str:
        """Return the label of the node with the given rank.

        Raises:
            InputError: no node has this rank.
        """
        return str(self.labels([self.node(rank)])[0])

    def stored_label(self, rank: int) -> str:
        """Return a node's label in stored data, where the smallest symbol of permutations is 1.

        Raises:
            InputError: no node has this rank.
        """
        with labels_from(1):
            return self.label(rank)

    def node(self, node: int | str) -> int:
        """Return the rank of a node that is given by its label, its rank, or a text such as ``#6``.

        Raises:
            InputError: no node has this label or rank.
        """
        if isinstance(node, str):
            rank = RANK.fullmatch(node)
            if rank is None:
                return self.rank(node)
            node = int(rank[1])
        if isinstance(node, bool) or not isinstance(node, int | np.integer):
            raise InputError(
                f"{node!r} is neither a label nor a rank of {self.spec}",
                hint="use a label as a string, or a rank as an integer",
            )
        if not 0 <= node < self.nodes:
            raise InputError(
                f"{self.spec} has no node of rank {node}",
                hint=f"use a rank from 0 to {self.nodes - 1}, or a label as a string",
            )
        return int(node)

    def root(self, node: int | str) -> int:
        """Return the rank of a root, given by its label or its rank; a root must be an endpoint.

        Raises:
            InputError: no node has this label or rank, or the node is a switch.
        """
        rank = self.node(node)
        if rank >= self.endpoints:
            raise InputError(
                f"'{self.label(rank)}' of {self.spec} is a switch, which only forwards and cannot"
                " be a root",
                hint=f"use a node that is not a switch, such as {self.label(0)}",
            )
        return rank

    def ports_between(self, node: int, other: int) -> list[int]:
        """Return the ports of a node that lead to another node; both are given by their ranks.

        Raises:
            InputError: the two nodes are not adjacent.
        """
        ends = [int(self.neighbours(port, [node])[0]) for port in self.ports]
        ports = [port for port, end in zip(self.ports, ends, strict=True) if end == other != node]
        if not ports:
            label = self.label(node)
            raise InputError(
                f"'{label}-{self.label(other)}' is not a link of {self.spec}: the two nodes are not"
                " adjacent",
                hint=f"{label} is adjacent to {', '.join(map(self.label, self.linked(node)))}",
            )
        return ports

    def _check_ranks(self, ranks: ArrayLike) -> NDArray[np.int64]:
        array = np.array(ranks, ndmin=1)
        if len(array) and array.dtype.kind not in "iu":
            raise InputError(
                f"ranks must be integers, not {array.dtype}", hint="use a list of integers"
            )
        array = array.astype(np.int64)
        outside = array[(array < 0) | (array >= self.nodes)]
        if len(outside):
            self.node(int(outside[0]))  # raises the error for an unknown rank
        return array

    def _require_memory(self, bytes_per_node: int, content: str) -> None:
        memory.require(
            self.nodes * bytes_per_node, f"{content} of all {self.nodes:,} nodes of {self.spec}"
        )

    def _check_port(self, port: int) -> int:
        if port not in self.ports:
            first, last = self.ports[0], self.ports[-1]
            raise InputError(
                f"{self.spec} has no port {port!r}", hint=f"use a port from {first} to {last}"
            )
        return int(port)

    def __repr__(self) -> str:
        return f"topology({self.spec!r})"

    def __eq__(self, other: object) -> bool:
        # Specs are compared, because a worker process may have unpickled several objects for the
        # same topology.
        return isinstance(other, Topology) and other.spec == self.spec

    def __hash__(self) -> int:
        return hash(self.spec)


def known_diameter(topology: Topology) -> int | None:
    """Return a topology's diameter, or None if the topology is too large for an exact result."""
    try:
        return topology.diameter
    except LimitError:
        return None


def describe_topology(topology: Topology) -> dict[str, Any]:
    """Return the properties of a topology by name, as plain Python values.

    All outputs that show a topology select from these properties. If a network is too large to
    compute its diameter, the diameter is None. If it is too large to compute the distances of all
    pairs of nodes, the properties that need these distances are None.
    """
    profile: list[int] | None = None
    mean: Fraction | None = None
    with suppress(LimitError):
        profile = list(topology.distance_profile())
        mean = topology.mean_distance
    return {
        "spec": topology.spec,
        "family": topology.family,
        "n": topology.n,
        "k": topology.k,
        "nodes": topology.nodes,
        "endpoints": topology.endpoints,
        "links": topology.links,
        "degree": topology.degree,
        "port_count": topology.port_count,
        "ports": list(topology.ports),
        "reverse_ports": [topology.reverse_port(port) for port in topology.ports],
        "diameter": known_diameter(topology),
        "mean_distance": None if mean is None else float(mean),
        "exact_mean_distance": None if mean is None else str(mean),
        "distance_profile": profile,
        "has_translations": topology.has_translations,
        "translation_keeps_ports": topology.translation_keeps_ports,
        **describe_links(topology),
    }


def describe_links(topology: Topology) -> dict[str, Any]:
    """Return the distinct capacities and latencies of links, and the capacity unit, by name.

    Capacities and their unit are omitted if all capacities are 1, latencies if all are 0.
    """
    if topology.has_equal_links:
        return {}
    has_link = topology.table() != np.arange(topology.nodes)
    links = {"capacities": topology.capacities, "latencies": topology.latencies}
    found: dict[str, Any] = {
        name: np.unique(column[has_link]).tolist()
        for name, column in links.items()
        if column is not None
    }
    if topology.capacities is not None:
        found["capacity_unit"] = topology.capacity_unit
    return found


def degree_text(topology: Topology) -> str:
    """Return the degree as text: ``degree 4``, or ``degrees 1 to 4`` if nodes' degrees differ."""
    least = topology.degree if topology.has_translations else int(topology.degrees.min())
    if least == topology.degree:
        return f"degree {least}"
    return f"degrees {least} to {topology.degree}"


def ports_towards(topology: Topology, parents: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Return each node's port to its parent, uint8 ``[nodes]``; 0 if they are not linked."""
    return find_ports(topology, np.arange(topology.nodes), parents)


def find_ports(
    topology: Topology, sender: Integers, receiver: Integers, table: Ranks | None = None
) -> NDArray[np.uint8]:
    """Return, for each sender, the port that leads to its receiver.

    Args:
        topology: the topology of the nodes.
        sender: the ranks of the senders, int ``[rows]``.
        receiver: the ranks of the receivers, int ``[rows]``.
        table: the result of `Topology.table`; None to compute the neighbours in this call.

    Returns:
        uint8 ``[rows]``: the highest such port, or 0 if the two nodes are not linked.
    """
    ports = np.zeros(len(sender), dtype=np.uint8)
    for row, port in enumerate(topology.ports):
        neighbours = topology.neighbours(port) if table is None else table[row]
        ports[neighbours[sender] == receiver] = port
    # If sender and receiver are equal, the loop may find a port without a link, because a node is
    # its own neighbour there.
    ports[sender == receiver] = 0
    return ports


@lru_cache(maxsize=32)
def kept_table(topology: Topology) -> Ranks:
    """Return a topology's neighbour table, which is cached and read-only; see `Topology.table`."""
    return freeze(topology._compute_table())  # noqa: SLF001 - of this module
