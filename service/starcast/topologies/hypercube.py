"""The hypercube Q_d: nodes are bit strings of length d, port i flips the i-th bit from the left."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.support.errors import InputError
from starcast.topologies.base import Topology
from starcast.topologies.families import family
from starcast.topologies.permutations import Ranks
from starcast.topologies.profiles import hypercube_profile

SMALLEST, LARGEST = 1, 28  # 2^28 < 12! < 2^29, and S_12 is the largest star


class Hypercube(Topology):
    """Q_d for 1 <= d <= 28: 2^d nodes, degree and diameter d.

    The rank of a node is its label read as a binary number.
    """

    family = "hypercube"

    def __init__(self, d: int) -> None:
        self.spec = f"Q{d}"
        self.n = d
        self.k = None
        self.nodes = 2**d
        self.ports = tuple(range(1, d + 1))

    @property
    def diameter(self) -> int:
        """The largest distance: d, between nodes that differ in all bits."""
        return self.n

    def distance_profile(self) -> tuple[int, ...]:
        """Return the number of nodes at each distance from any node: binomial coefficients."""
        return hypercube_profile(self.n)

    def reverse_port(self, port: int) -> int:
        """Return the same port: flipping twice leads back."""
        return self._check_port(port)

    def neighbours(self, port: int, ranks: ArrayLike | None = None) -> Ranks:
        """Return the neighbours across a port, which flips one bit."""
        bit = 1 << (self.n - self._check_port(port))
        if ranks is None:
            self._require_memory(4, "neighbours")
            return self._xor(bit)
        return (self._check_ranks(ranks) ^ bit).astype(np.int32)

    def distances(self, root: int | str = 0) -> NDArray[np.uint8]:
        """Return the number of bits in which each node differs from the root."""
        rank = self.node(root)
        self._require_memory(1, "distances")
        out = np.full(self.nodes, rank.bit_count(), dtype=np.uint8)
        for bit in range(self.n):  # the nodes from 2^bit on differ from those before in this bit
            half = 1 << bit
            out[half : 2 * half] = out[:half] - 1 if rank & half else out[:half] + 1
        return out

    def translation(self, root: int | str) -> Ranks:
        """Return the images under x -> x xor q for the root q."""
        rank = self.node(root)
        self._require_memory(4, "images")
        return self._xor(rank)

    def labels(self, ranks: ArrayLike | None = None) -> NDArray[np.str_]:
        """Return labels: the d bits of ranks, the most significant bit first."""
        if ranks is None:
            self._require_memory(8 * self.n, "labels")
            ranks = np.arange(self.nodes, dtype=np.int32)
        chosen = self._check_ranks(ranks)
        # A character of NumPy's text has 32 bits, so the codes become labels without a copy.
        codes = np.empty((len(chosen), self.n), dtype=np.uint32)
        for bit in range(self.n):
            codes[:, bit] = (chosen >> (self.n - 1 - bit)) & 1
        codes += ord("0")
        return codes.view(f"<U{self.n}")[:, 0]

    def rank(self, label: str) -> int:
        """Return the rank of a label: the label read as a binary number."""
        if not isinstance(label, str):
            raise InputError(
                f"{label!r} is not a label: labels are strings",
                hint=f"write a string of {self.n} bits, such as '{'0' * self.n}'",
            )
        if len(label) != self.n or set(label) - set("01"):
            raise InputError(
                f"the label '{label}' is not a node of {self.spec}",
                hint=f"write {self.n} bits, such as {'0' * self.n}",
            )
        return int(label, 2)

    def _xor(self, value: int) -> Ranks:
        out = np.arange(self.nodes, dtype=np.int32)
        out ^= np.int32(value)
        return out


@family(
    "hypercube", pattern=r"Q(\d+)", source="Johnsson & Ho 1989", noun="hypercubes",
    sizes=range(SMALLEST, LARGEST + 1),
)  # fmt: skip
def _hypercube(d: int) -> Hypercube:
    return Hypercube(d)
