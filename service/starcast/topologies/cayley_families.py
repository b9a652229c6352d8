"""Families of Cayley graphs: the hypercube, and families that are defined by their generators.

The nodes of the hypercube Q_d are bit strings of length d; port i flips the i-th bit from the left.
Akers & Krishnamurthy (1989) and Lakshmivarahan, Jwo & Dhall (1993) survey Cayley graphs of
permutations.
"""

from itertools import combinations
from math import comb, gcd

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.support.errors import InputError
from starcast.topologies.base import Topology
from starcast.topologies.cayley import CayleyGraph, Residues
from starcast.topologies.families import family
from starcast.topologies.permutations import Ranks

# 2^28 < 12!, so the largest hypercube has fewer nodes than S_12, the largest star graph.
SMALLEST, LARGEST = 1, 28


class Hypercube(Topology):
    """The hypercube Q_d for 1 <= d <= 28, with 2^d nodes, degree d and diameter d.

    The rank of a node is its label read as a binary number.
    """

    family = "hypercube"
    has_translations = True

    def __init__(self, d: int) -> None:
        self.spec = f"Q{d}"
        self.n = d
        self.k = None
        self.nodes = 2**d
        self.ports = tuple(range(1, d + 1))

    @property
    def diameter(self) -> int:
        """The diameter d, which is the distance between two nodes that differ in all bits."""
        return self.n

    def distance_profile(self) -> tuple[int, ...]:
        """Return the number of nodes at each distance from any node: comb(d, 0), .., comb(d, d)."""
        return tuple(comb(self.n, distance) for distance in range(self.n + 1))

    def reverse_port(self, port: int) -> int:
        """Return the port itself, because flipping the same bit twice leads back."""
        return self._check_port(port)

    def neighbours(self, port: int, ranks: ArrayLike | None = None) -> Ranks:
        """Return the neighbours across a port; crossing a port flips one bit of the label."""
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
        for bit in range(self.n):  # sets the distances of nodes 2^bit .. 2^(bit+1) - 1
            half = 1 << bit
            out[half : 2 * half] = out[:half] - 1 if rank & half else out[:half] + 1
        return out

    def translation(self, root: int | str) -> Ranks:
        """Return the rank x xor q for each node x, where q is the rank of the root."""
        rank = self.node(root)
        self._require_memory(4, "images")
        return self._xor(rank)

    def labels(self, ranks: ArrayLike | None = None) -> NDArray[np.str_]:
        """Return the labels of nodes, which are the d bits of each rank, most significant first."""
        if ranks is None:
            self._require_memory(8 * self.n, "labels")
            ranks = np.arange(self.nodes, dtype=np.int32)
        chosen = self._check_ranks(ranks)
        # A character of a NumPy string has 32 bits, so an array of uint32 code points can be viewed
        # as labels without a copy.
        codes = np.empty((len(chosen), self.n), dtype=np.uint32)
        for bit in range(self.n):
            codes[:, bit] = (chosen >> (self.n - 1 - bit)) & 1
        codes += ord("0")
        return codes.view(f"<U{self.n}")[:, 0]

    def rank(self, label: str) -> int:
        """Return the rank of a label, which is the label read as a binary number."""
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


Generators = list[list[int]]

_AK, _LJD = "Akers & Krishnamurthy 1989", "Lakshmivarahan, Jwo & Dhall 1993"


def _exchange(n: int, i: int, j: int) -> list[int]:
    """Return the permutation of 1..n that exchanges the positions i and j."""
    positions = list(range(1, n + 1))
    positions[i - 1], positions[j - 1] = j, i
    return positions


@family("pancake", pattern=r"P(\d+)", source=_AK, noun="pancake graphs", sizes=range(2, 13))
def pancake(n: int) -> Generators:
    """Return the generators of a pancake graph: reversals of the first 2, 3, .., n symbols."""
    return [[*range(k, 0, -1), *range(k + 1, n + 1)] for k in range(2, n + 1)]


@family(
    "burnt-pancake", pattern=r"BP(\d+)", source="Gates & Papadimitriou 1979",
    noun="burnt pancake graphs", group="signed permutations", sizes=range(2, 10),
)  # fmt: skip
def burnt_pancake(n: int) -> Generators:
    """Return the generators of a burnt pancake graph.

    The generators reverse the order, and change the signs, of the first 1, 2, .., n symbols.
    """
    return [[*range(-k, 0), *range(k + 1, n + 1)] for k in range(1, n + 1)]


@family("bubble-sort", pattern=r"B(\d+)", source=_AK, noun="bubble-sort graphs", sizes=range(2, 13))
def bubble_sort(n: int) -> Generators:
    """Return the generators of a bubble-sort graph: exchanges of two adjacent symbols."""
    return [_exchange(n, i, i + 1) for i in range(1, n)]


@family(
    "bubble-sort-star", pattern=r"BS(\d+)", source="Chou, Hsu & Sheu 1996",
    noun="bubble-sort star graphs", sizes=range(2, 13),
)  # fmt: skip
def bubble_sort_star(n: int) -> Generators:
    """Return the generators of a bubble-sort star graph.

    Each generator swaps the first symbol and another symbol, or two adjacent symbols.
    """
    first = [_exchange(n, 1, i) for i in range(2, n + 1)]
    return first + [_exchange(n, i, i + 1) for i in range(2, n)]


@family(
    "modified-bubble-sort", pattern=r"MB(\d+)", source=_LJD,
    noun="modified bubble-sort graphs", sizes=range(3, 13),
)  # fmt: skip
def modified_bubble_sort(n: int) -> Generators:
    """Return the generators of a modified bubble-sort graph.

    Each generator swaps two adjacent symbols, or the first symbol and the last.
    """
    return [*bubble_sort(n), _exchange(n, 1, n)]


@family(
    "complete-transposition", pattern=r"CT(\d+)", source=_LJD,
    noun="complete transposition graphs", sizes=range(2, 13),
)  # fmt: skip
def complete_transposition(n: int) -> Generators:
    """Return the generators of a complete transposition graph: exchanges of any two symbols."""
    return [_exchange(n, i, j) for i, j in combinations(range(1, n + 1), 2)]


@family(
    "alternating-group", pattern=r"AG(\d+)", source="Jwo, Lakshmivarahan & Dhall 1993",
    noun="alternating group graphs", group="even permutations", sizes=range(3, 13),
)  # fmt: skip
def alternating_group(n: int) -> Generators:
    """Return the generators of an alternating group graph.

    For each i from 3 to n, two generators rotate the symbols in positions 1, 2 and i, one in each
    direction.
    """
    generators = []
    for i in range(3, n + 1):
        for first, second, third in ((2, i, 1), (i, 1, 2)):
            generators.append([first, second, *range(3, i), third, *range(i + 1, n + 1)])
    return generators


@family(
    "torus", pattern=r"T(\d+)x(\d+)(?:x(\d+))?", source="Dally & Seitz 1986", noun="tori",
    spelling="T4x4 or T4x4x4 for a torus", group="residues",
)  # fmt: skip
def torus(*sides: int) -> Generators:
    """Return the generators of a torus: single steps along each dimension, in both directions."""
    return [
        [step if other == axis else 0 for other in range(len(sides))]
        for axis, side in enumerate(sides)
        for step in sorted({1, side - 1})
    ]


@family("ring", pattern=r"Ring(\d+)", source="Harary 1969", noun="rings", sizes=range(3, 10_001))
def ring(n: int) -> CayleyGraph:
    """Return the ring of n nodes."""
    return CayleyGraph(f"Ring{n}", "ring", [[1], [n - 1]], Residues((n,)))


@family(
    "complete", pattern=r"K(\d+)", source="Harary 1969", noun="complete graphs",
    sizes=range(2, 256),
)  # fmt: skip
def complete(n: int) -> CayleyGraph:
    """Return the complete graph of n nodes."""
    return CayleyGraph(f"K{n}", "complete", [[step] for step in range(1, n)], Residues((n,)))


@family(
    "circulant", pattern=r"Circ(\d+),(\d+)(?:,(\d+))?(?:,(\d+))?", source="Elspas & Turner 1970",
    noun="circulant graphs", sizes=range(3, 10_001),
    spelling="Circ12,1,3 for a circulant graph (the number of nodes, then one to three steps)",
)  # fmt: skip
def circulant(n: int, *steps: int) -> CayleyGraph:
    """Return the graph in which node i is linked to i+s and i-s, modulo n, for every step s."""
    if [*steps] != sorted({*steps}) or steps[0] < 1 or steps[-1] > n // 2 or gcd(n, *steps) > 1:
        raise InputError(
            f"the steps {', '.join(map(str, steps))} of the circulant graph are invalid",
            hint=f"use ascending steps from 1 to {n // 2} with gcd(steps, {n}) = 1",
        )
    spec = f"Circ{n},{','.join(map(str, steps))}"
    generators = [[move] for step in steps for move in sorted({step, n - step})]
    return CayleyGraph(spec, "circulant", generators, Residues((n,)))


@family(
    "hyperx", pattern=r"HX(\d+)x(\d+)(?:x(\d+))?", source="Ahn et al. 2009", noun="HyperX networks",
    spelling="HX3x4 or HX3x4x5 for a HyperX network", group="residues",
)  # fmt: skip
def hyperx(*sides: int) -> Generators:
    """Return the generators of a HyperX network: steps of any length along each dimension."""
    return [
        [step if other == axis else 0 for other in range(len(sides))]
        for axis, side in enumerate(sides)
        for step in range(1, side)
    ]


def _flips(d: int) -> Generators:
    """Return the generators of a hypercube, each of which flips one bit."""
    return [[int(bit == other) for other in range(d)] for bit in range(d)]


@family(
    "folded-cube", pattern=r"FQ(\d+)", source="El-Amawy & Latifi 1991", noun="folded cubes",
    sizes=range(2, LARGEST + 1),
)  # fmt: skip
def folded_cube(d: int) -> CayleyGraph:
    """Return the hypercube in which each node is also linked to its complement."""
    return CayleyGraph(f"FQ{d}", "folded-cube", [*_flips(d), [1] * d], Residues((2,) * d))


@family(
    "augmented-cube", pattern=r"AQ(\d+)", source="Choudum & Sunitha 2002", noun="augmented cubes",
    sizes=range(2, LARGEST + 1),
)  # fmt: skip
def augmented_cube(d: int) -> CayleyGraph:
    """Return the hypercube with d-1 more links per node, which flip the last 2, 3, .., d bits."""
    last = [[0] * (d - count) + [1] * count for count in range(2, d + 1)]
    return CayleyGraph(f"AQ{d}", "augmented-cube", _flips(d) + last, Residues((2,) * d))


@family(
    "cube-connected-cycles", pattern=r"CCC(\d+)", source="Preparata & Vuillemin 1981",
    noun="cube-connected cycles graphs", group="generated", sizes=range(3, 10),
)  # fmt: skip
def cube_connected_cycles(d: int) -> Generators:
    """Return the generators of a cube-connected cycles graph.

    Two generators rotate all symbols, one in each direction; the third changes the sign of the
    first symbol. The signs of a node select its cycle, and its first symbol selects its place on
    this cycle.
    """
    rotations = [[*range(2, d + 1), 1], [d, *range(1, d)]]
    return [*rotations, [-1, *range(2, d + 1)]]


@family(
    "butterfly", pattern=r"BF(\d+)", source="Annexstein, Baumslag & Rosenberg 1990",
    noun="wrapped butterfly graphs", group="generated", sizes=range(3, 10),
)  # fmt: skip
def butterfly(d: int) -> Generators:
    """Return the generators of a wrapped butterfly graph.

    Two generators rotate all symbols, one in each direction. Two others also change the sign of the
    symbol that moves from one end to the other. The first symbol of a node is its level, and the
    signs are its row.
    """
    rotations = [[*range(2, d + 1), 1], [d, *range(1, d)]]
    return [*rotations, [*range(2, d + 1), -1], [-d, *range(1, d)]]
