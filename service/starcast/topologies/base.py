"""`Topology`, the base class of all topologies."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.support.arrays import freeze
from starcast.support.errors import InputError
from starcast.support.table import Displayable
from starcast.topologies import memory
from starcast.topologies.permutations import Ranks, labels_from

_CHUNK = 2**15
#: Topologies with at most this many directed links keep a table of all neighbours: looking up a few
#: neighbours in it is much faster than computing them.
_MAX_KEPT = 2**15

#: A function that returns an array's values at the neighbours of a chunk of nodes; see
#: `Topology.neighbour_values`.
ValueReader = Callable[[NDArray[np.uint8], slice], NDArray[np.uint8]]


def read_by_rank(neighbour_ranks: Callable[[slice], Ranks]) -> ValueReader:
    """Return a function that reads a node array's values at the neighbours of a chunk of nodes.

    The function keeps the neighbours' ranks of the last chunk, since callers read several arrays
    per chunk.
    """
    kept_chunk, kept_ranks = slice(0, 0), np.empty(0, dtype=np.int32)

    def read(values: NDArray[np.uint8], chunk: slice) -> NDArray[np.uint8]:
        nonlocal kept_chunk, kept_ranks
        if chunk != kept_chunk:
            kept_chunk, kept_ranks = chunk, neighbour_ranks(chunk)
        # All ranks are in range. With the mode "clip", numpy does not check the range again.
        return np.take(values, kept_ranks, mode="clip")

    return read


class Topology(Displayable, ABC):
    """A vertex-symmetric graph with numbered ports.

    Nodes are the ranks 0..nodes-1 of their labels in lexicographic order; the identity is 0.
    Arrays over all nodes are indexed by rank, and are allocated only when a method needs them. If
    an array would not fit into the machine's memory, the method raises a `LimitError`.

    Attributes:
        family: ``star``, ``nk-star``, ``hypercube``, or the family of a plug-in.
        spec: the string that `starcast.topology` accepts, such as ``S5``.
        n: n of S_n and S_{n,k}, d of Q_d.
        k: k of S_{n,k}, else None.
        nodes: the number of nodes.
        ports: the ports of every node, ascending.
        translation_keeps_ports: whether `translation` maps every link to a link of the same port;
            False only for S_{n,k} with k < n-1, where it changes the ports of residual links.
    """

    family: str
    spec: str
    n: int
    k: int | None
    nodes: int
    ports: tuple[int, ...]
    translation_keeps_ports: bool = True
    #: Topologies of plug-ins do not keep tables: another topology may have the same spec later.
    _keeps_tables: bool = False

    @property
    def degree(self) -> int:
        """The number of links at each node."""
        return len(self.ports)

    @property
    def _has_kept_table(self) -> bool:
        """Whether `neighbours` reads `kept_table`, as small topologies of some families do."""
        return self._keeps_tables and self.nodes * self.degree <= _MAX_KEPT

    @property
    def links(self) -> int:
        """The number of undirected links, each of which is two directed links."""
        return self.nodes * self.degree // 2

    @property
    @abstractmethod
    def diameter(self) -> int:
        """The largest distance between two nodes."""

    @property
    def mean_distance(self) -> Fraction:
        """The exact mean distance from a node to all other nodes."""
        return Fraction(self.distance_sum, self.nodes - 1)

    @property
    def distance_sum(self) -> int:
        """The sum of the distances from one node to all nodes.

        The sum is n!(n + 2/n + H_n - 4) in S_n, for the harmonic number H_n, and d 2^(d-1) in Q_d.
        """
        return sum(distance * count for distance, count in enumerate(self.distance_profile()))

    @abstractmethod
    def distance_profile(self) -> tuple[int, ...]:
        """Return the number of nodes at each distance 0, 1, .., diameter from any node."""

    @abstractmethod
    def reverse_port(self, port: int) -> int:
        """Return the port that leads back over the link that ``port`` crosses.

        Raises:
            InputError: the topology has no such port.
        """

    def reverse_ports(self) -> NDArray[np.uint8]:
        """Return `reverse_port` as a table, uint8 ``[256]``, with 0 where there is no such port."""
        table = np.zeros(256, dtype=np.uint8)
        for port in self.ports:
            table[port] = self.reverse_port(port)
        return table

    @abstractmethod
    def neighbours(self, port: int, ranks: ArrayLike | None = None) -> Ranks:
        """Return the neighbours across a port.

        Args:
            port: one of `ports`.
            ranks: the nodes, or None for all nodes.

        Returns:
            The ranks of the neighbours, int32 ``[nodes]`` or ``[len(ranks)]``.

        Raises:
            InputError: there is no such port or rank.

        Example:
            >>> topology("S5").label(topology("S5").neighbours(5)[0])
            '52341'
        """

    def table(self) -> Ranks:
        """Return the neighbour of every node across every port, int32 ``[ports, nodes]``.

        The ports are in the order of `ports`.
        """
        # Callers may change the returned table, so the kept table, which is shared, is copied.
        return kept_table(self).copy() if self._has_kept_table else self._compute_table()

    def _compute_table(self) -> Ranks:
        memory.require(
            4 * self.nodes * self.degree,
            f"neighbours over {self.degree} ports on {self.nodes:,} nodes",
        )
        out = np.empty((self.degree, self.nodes), dtype=np.int32)
        for row, port in zip(out, self.ports, strict=True):
            self._fill_neighbours(port, row)
        return out

    def _fill_neighbours(self, port: int, out: Ranks) -> None:
        out[:] = self.neighbours(port)

    def chunks(self) -> list[slice]:
        """Return slices that together cover all ranks; each is small enough for the cache."""
        starts = range(0, self.nodes, _CHUNK)
        return [slice(start, min(start + _CHUNK, self.nodes)) for start in starts]

    def neighbour_ranks(self, port: int) -> Callable[[slice], Ranks]:
        """Return a function that takes one of `chunks` and returns its neighbours across a port.

        The neighbours are ranks, int32.

        Data that all chunks share is computed once.

        Raises:
            InputError: the topology has no such port.
        """
        self._check_port(port)
        return lambda chunk: self.neighbours(port, np.arange(chunk.start, chunk.stop))

    def neighbour_values(self, port: int) -> ValueReader:
        """Return a function that reads the values of a node array at the neighbours across a port.

        The function takes an array over all nodes, uint8 ``[nodes]``, and one of `chunks`. It
        returns the array's values at the neighbours of the chunk's nodes.

        Raises:
            InputError: the topology has no such port.
        """
        return read_by_rank(self.neighbour_ranks(port))

    def step(self, ports: NDArray[np.uint8], ranks: NDArray[np.integer]) -> Ranks:
        """Return each node's neighbour across the port given for it, int32 ``[count]``.

        Args:
            ports: the port of each node, uint8 ``[count]``.
            ranks: the nodes, ``[count]``.
        """
        out = np.empty(len(ranks), dtype=np.int32)
        # The loop runs over ports, because `neighbours` handles many nodes but only one port.
        for port in np.unique(ports).tolist():
            chosen = ports == port
            out[chosen] = self.neighbours(port, ranks[chosen])
        return out

    @abstractmethod
    def distances(self, root: int | str = 0) -> NDArray[np.uint8]:
        """Return the distance of every node from the root, in links, uint8 ``[nodes]``."""

    @abstractmethod
    def translation(self, root: int | str) -> Ranks:
        """Return the image of each node under the automorphism that maps the identity to the root.

        If `translation_keeps_ports` is True, every link is mapped to a link of the same port.
        Otherwise `carried_ports` returns the new ports.

        Returns:
            int32 ``[nodes]``.
        """

    def carried_ports(self, root: int | str, ports: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the ports of links after the translation that maps the identity to the root.

        Args:
            root: label or rank of the node to which the translation maps the identity.
            ports: for each node one of its ports, which selects a link, or 0; uint8 ``[nodes]``.

        Returns:
            For each node, the port of its translated link at its translated node, or 0; uint8
            ``[nodes]``, indexed by the node before translation.
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
        """Return the label under which a node is stored, whose symbols start at 1 as in ids.

        Raises:
            InputError: no node has this rank.
        """
        with labels_from(1):
            return self.label(rank)

    def node(self, node: int | str) -> int:
        """Return the rank of a node that is given by its label or its rank.

        Raises:
            InputError: there is no such node.
        """
        if isinstance(node, str):
            return self.rank(node)
        if isinstance(node, bool) or not isinstance(node, int | np.integer):
            raise InputError(
                f"{node!r} is neither a label nor a rank of {self.spec}",
                hint="give a string or an integer",
            )
        if not 0 <= node < self.nodes:
            raise InputError(
                f"{self.spec} has no node of rank {node}",
                hint=f"give a rank from 0 to {self.nodes - 1}, or a label as a string",
            )
        return int(node)

    def ports_between(self, node: int, other: int) -> list[int]:
        """Return the ports of a node that lead to another node; both are given by their ranks.

        Raises:
            InputError: the two nodes are not adjacent.
        """
        neighbours = [int(self.neighbours(port, [node])[0]) for port in self.ports]
        ports = [port for port, end in zip(self.ports, neighbours, strict=True) if end == other]
        if not ports:
            label = self.label(node)
            raise InputError(
                f"'{label}-{self.label(other)}' is not a link of {self.spec}: the two nodes are not"
                " adjacent",
                hint=f"{label} is adjacent to {', '.join(map(self.label, neighbours))}",
            )
        return ports

    def _check_ranks(self, ranks: ArrayLike) -> NDArray[np.int64]:
        array = np.array(ranks, ndmin=1)
        if len(array) and array.dtype.kind not in "iu":
            raise InputError(
                f"ranks are whole numbers, not {array.dtype}", hint="give a list of integers"
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
                f"{self.spec} has no port {port!r}", hint=f"its ports are {first} to {last}"
            )
        return int(port)

    def __repr__(self) -> str:
        return f"topology({self.spec!r})"

    def __eq__(self, other: object) -> bool:
        # Specs are compared, because a worker process may have several objects for the same
        # topology, which it has unpickled.
        return isinstance(other, Topology) and other.spec == self.spec

    def __hash__(self) -> int:
        return hash(self.spec)


def describe_topology(topology: Topology) -> dict[str, Any]:
    """Return the properties of a topology by name, as plain Python values.

    All outputs that show a topology select from these properties.
    """
    return {
        "spec": topology.spec,
        "family": topology.family,
        "n": topology.n,
        "k": topology.k,
        "nodes": topology.nodes,
        "links": topology.links,
        "degree": topology.degree,
        "ports": list(topology.ports),
        "reverse_ports": [topology.reverse_port(port) for port in topology.ports],
        "diameter": topology.diameter,
        "mean_distance": float(topology.mean_distance),
        "exact_mean_distance": str(topology.mean_distance),
        "distance_profile": list(topology.distance_profile()),
        "translation_keeps_ports": topology.translation_keeps_ports,
    }


def ports_towards(topology: Topology, parents: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Return each node's port to its parent, uint8 ``[nodes]``; 0 if they are not neighbours."""
    ports = np.zeros(topology.nodes, dtype=np.uint8)
    for port in topology.ports:
        ports[topology.neighbours(port) == parents] = port
    return ports


@lru_cache(maxsize=32)
def kept_table(topology: Topology) -> Ranks:
    """Return the read-only table of all neighbours in a small topology; see `Topology.table`."""
    return freeze(topology._compute_table())  # noqa: SLF001 - of this module
