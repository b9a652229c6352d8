"""What every topology answers, whatever its family."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.errors import InputError
from starcast.permutations import Ranks


class Topology(ABC):
    """A vertex-symmetric graph with numbered ports; nodes are ranks 0..nodes-1, the identity is 0.

    Nothing is allocated before an array is asked for. Arrays over all nodes are indexed by rank.
    """

    #: "star", "nk-star" or "hypercube".
    family: ClassVar[str]

    spec: str
    n: int
    k: int | None
    nodes: int
    diameter: int
    ports: tuple[int, ...]

    @property
    def degree(self) -> int:
        """Links at each node."""
        return len(self.ports)

    @property
    def links(self) -> int:
        """Undirected links; each is two directed ones."""
        return self.nodes * self.degree // 2

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

    @abstractmethod
    def distances(self, root: int | str = 0) -> NDArray[np.uint8]:
        """The distance from every node to the root, in links, uint8 ``[nodes]``."""

    @abstractmethod
    def translation(self, root: int | str) -> Ranks:
        """The automorphism that takes the identity to the root and keeps ports, int32 ``[nodes]``: image of each node."""

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
            raise InputError(f"{node!r} is neither a label nor a rank of {self.spec}", hint="give a string or an integer")
        if not 0 <= node < self.nodes:
            raise InputError(
                f"{self.spec} has no node of rank {node}", hint=f"ranks go from 0 to {self.nodes - 1}; labels are strings"
            )
        return int(node)

    def _nodes(self, ranks: ArrayLike) -> NDArray[np.int64]:
        given = np.array(ranks, dtype=np.int64, ndmin=1)
        outside = given[(given < 0) | (given >= self.nodes)]
        if len(outside):
            self.node(int(outside[0]))  # says what is wrong
        return given

    def _port(self, port: int) -> int:
        if port not in self.ports:
            first, last = self.ports[0], self.ports[-1]
            raise InputError(f"{self.spec} has no port {port}", hint=f"its ports are {first} to {last}")
        return int(port)

    def __repr__(self) -> str:
        return f"topology({self.spec!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Topology) and other.spec == self.spec

    def __hash__(self) -> int:
        return hash(self.spec)
