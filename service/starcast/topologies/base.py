"""What every topology answers, whatever its family."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.errors import InputError
from starcast.permutations import Ranks
from starcast.topologies import memory

_CHUNK = 2**15


#: See `Topology.sight`.
Sight = Callable[[NDArray[np.uint8], slice], NDArray[np.uint8]]


class Lookup:
    """A `Sight` by ranks; those of the last chunk are kept, since several arrays are looked up in it."""

    def __init__(self, across: Callable[[slice], Ranks]) -> None:
        self._across = across
        self._chunk, self._ranks = slice(0, 0), np.empty(0, dtype=np.int32)

    def __call__(self, values: NDArray[np.uint8], chunk: slice) -> NDArray[np.uint8]:
        """What stands across from each node of the chunk."""
        if chunk != self._chunk:
            self._chunk, self._ranks = chunk, self._across(chunk)
        return np.take(values, self._ranks, mode="clip")


class Topology(ABC):
    """A vertex-symmetric graph with numbered ports; nodes are ranks 0..nodes-1, the identity is 0.

    Nothing is allocated before an array is asked for, and arrays over all nodes, indexed by rank, are refused with a
    `LimitError` where they are larger than the memory of the machine.
    """

    #: "star", "nk-star" or "hypercube".
    family: ClassVar[str]

    spec: str
    n: int
    k: int | None
    nodes: int
    diameter: int
    ports: tuple[int, ...]

    #: Whether `translation` takes a link to one of the same port; it does but for the residual links of S_{n,k}.
    translation_keeps_ports: bool = True

    @property
    def degree(self) -> int:
        """Links at each node."""
        return len(self.ports)

    @property
    def links(self) -> int:
        """Undirected links; each is two directed ones."""
        return self.nodes * self.degree // 2

    @property
    def mean_distance(self) -> Fraction:
        """The mean of a node's distances to the nodes - 1 others, exact."""
        return Fraction(self.distance_sum, self.nodes - 1)

    @property
    def distance_sum(self) -> int:
        """t, the sum of a node's distances to all others: n!(n + 2/n + H_n - 4) in S_n, d 2^(d-1) in Q_d."""
        return sum(distance * count for distance, count in enumerate(self.distance_profile()))

    @abstractmethod
    def distance_profile(self) -> tuple[int, ...]:
        """How many nodes are 0, 1, .., diameter links away from a node, whichever; counted, so no array is made."""

    @abstractmethod
    def reverse_port(self, port: int) -> int:
        """The port that leads back over the link which ``port`` crosses.

        Raises:
            InputError: there is no such port.
        """

    def reverse_ports(self) -> NDArray[np.uint8]:
        """`reverse_port` as a table, uint8 ``[256]``; 0 for what is no port."""
        table = np.zeros(256, dtype=np.uint8)
        for port in self.ports:
            table[port] = self.reverse_port(port)
        return table

    @abstractmethod
    def neighbours(self, port: int, ranks: ArrayLike | None = None) -> Ranks:
        """The node across that port, int32: for every node ``[nodes]``, or for the ranks asked for.

        Raises:
            InputError: there is no such port.
        """

    def table(self) -> Ranks:
        """All neighbours, int32 ``[ports, nodes]``: the rank across each port, ports in the topology's order."""
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
        """All nodes as slices of ranks, small enough for temporaries to stay in the cache."""
        return [
            slice(start, min(start + _CHUNK, self.nodes)) for start in range(0, self.nodes, _CHUNK)
        ]

    def neighbour_ranks(self, port: int) -> Callable[[slice], Ranks]:
        """A function from one of `chunks` to the nodes across that port; what all chunks share is prepared once.

        Raises:
            InputError: there is no such port.
        """
        self._port(port)
        return lambda chunk: self.neighbours(port, np.arange(chunk.start, chunk.stop))

    def neighbour_values(self, port: int) -> Sight:
        """A function of an array over all nodes and one of `chunks`: what the array has at the nodes across that port.

        Raises:
            InputError: there is no such port.
        """
        return Lookup(self.neighbour_ranks(port))

    def step(self, ports: NDArray[np.uint8], ranks: NDArray[np.integer]) -> Ranks:
        """Where each of some nodes gets to over a port of its own, int32 ``[count]``."""
        out = np.empty(len(ranks), dtype=np.int32)
        for port in np.unique(ports).tolist():
            chosen = ports == port
            out[chosen] = self.neighbours(port, ranks[chosen])
        return out

    @abstractmethod
    def distances(self, root: int | str = 0) -> NDArray[np.uint8]:
        """The distance from every node to the root, in links, uint8 ``[nodes]``."""

    @abstractmethod
    def translation(self, root: int | str) -> Ranks:
        """The automorphism that takes the identity to the root, int32 ``[nodes]``: the image of each node.

        It keeps the port of every link where `translation_keeps_ports` says so; else see `carried_ports`.
        """

    def carried_ports(self, root: int | str, ports: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Where the translation to the root takes links, uint8 ``[nodes]``.

        Args:
            root: as in `translation`.
            ports: uint8 ``[nodes]``: for each node one of its ports, 0 for none; the answer has at the same place the port
                of the link's image at the node's image.
        """
        self.node(root)
        return ports

    @abstractmethod
    def labels(self, ranks: ArrayLike | None = None) -> NDArray[np.str_]:
        """Labels of every node, or of the ranks asked for."""

    @abstractmethod
    def rank(self, label: str) -> int:
        """The rank of the node with this label.

        Raises:
            InputError: the label is no node.
        """

    def label(self, rank: int) -> str:
        """The label of the node with this rank.

        Raises:
            InputError: the rank is no node.
        """
        return str(self.labels([self.node(rank)])[0])

    def node(self, node: int | str) -> int:
        """The rank of a node given by its label or its rank.

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
                hint=f"ranks go from 0 to {self.nodes - 1}; labels are strings",
            )
        return int(node)

    def _nodes(self, ranks: ArrayLike) -> NDArray[np.int64]:
        given = np.array(ranks, ndmin=1)
        if len(given) and given.dtype.kind not in "iu":
            raise InputError(
                f"ranks are whole numbers, not {given.dtype}", hint="give a list of integers"
            )
        given = given.astype(np.int64)
        outside = given[(given < 0) | (given >= self.nodes)]
        if len(outside):
            self.node(int(outside[0]))  # says what is wrong
        return given

    def _demand_memory(self, bytes_a_node: int, what: str) -> None:
        memory.require(
            self.nodes * bytes_a_node, f"{what} of all {self.nodes:,} nodes of {self.spec}"
        )

    def _port(self, port: int) -> int:
        if port not in self.ports:
            first, last = self.ports[0], self.ports[-1]
            raise InputError(
                f"{self.spec} has no port {port!r}", hint=f"its ports are {first} to {last}"
            )
        return int(port)

    def __repr__(self) -> str:
        return f"topology({self.spec!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Topology) and other.spec == self.spec

    def __hash__(self) -> int:
        return hash(self.spec)
