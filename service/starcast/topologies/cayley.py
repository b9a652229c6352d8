"""Cayley graphs, and the groups whose elements are their nodes.

A Cayley graph is defined by a group and generators. Node x is linked to the product x∘g for every
generator g. If g is a permutation, it permutes the positions in the label of x: port i of a star
graph, for example, exchanges positions 1 and i. A translation x -> q∘x multiplies from the left, so
it maps every link to a link of the same port. Distances are found by breadth-first search.

The elements of a group are ranked in the lexicographic order of their labels; the identity has rank
0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from math import factorial, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.support.arrays import Integers, freeze
from starcast.support.errors import InputError
from starcast.topologies import permutations
from starcast.topologies.base import MAX_UINT8_DISTANCE, Topology
from starcast.topologies.permutations import Ranks

#: One element of a group as a row ``[n]``, or several as rows ``[count, n]``.
Elements = NDArray[np.integer[Any]]
#: The digits of residues in labels. If all residues are below 36, each is written as one digit.
_DIGITS = f"0{permutations.SYMBOLS}"
_MAX_NODES = factorial(12)  # as many nodes as the largest star graph; their ranks fit into int32
#: The maximum number of elements of a subgroup, whose ranks are all kept in memory.
_MAX_SUBGROUP = 10_000_000


@dataclass(frozen=True)
class Permutations:
    """The group of permutations of 1..n; the product x∘g is (x[g_1], .., x[g_n]).

    Attributes:
        n: the number of symbols.
        largest: the largest allowed n.
        generator: description of a valid generator, for messages.
    """

    n: int
    largest = 12
    generator = "a permutation of the positions 1 to {n}, but not the identity"

    @property
    def nodes(self) -> int:
        """The number of group elements."""
        return factorial(self.n)

    def elements(self, ranks: ArrayLike) -> Elements:
        """Return the group elements with the given ranks, ``[count, n]``."""
        return permutations.unrank(self.n, ranks)

    def ranks(self, elements: Elements) -> Ranks:
        """Return the ranks of group elements, int32 ``[count]``."""
        return permutations.rank(elements.astype(np.uint8))

    def product(self, left: Elements, right: Elements) -> Elements:
        """Return the product left∘right; one of the factors may be an array of elements."""
        return left[..., right - 1]

    def inverse(self, element: Elements) -> Elements:
        """Return the inverse of a group element."""
        return np.argsort(element) + 1

    def labels(self, elements: Elements) -> NDArray[np.str_]:
        """Return the labels of group elements."""
        return permutations.labels(elements.astype(np.uint8))

    def parse(self, label: str) -> Elements:
        """Return the group element with the given label.

        Raises:
            InputError: no element has this label.
        """
        return permutations.parse(label, self.n)

    def reduce(self, generator: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return a generator as a group element, or None if it is invalid or the identity."""
        identity = tuple(range(1, self.n + 1))
        return generator if tuple(sorted(generator)) == identity != generator else None


class EvenPermutations(Permutations):
    """The even permutations of 1..n, the alternating group.

    The permutations of ranks 2i and 2i+1 differ by exchanging the last two symbols, so exactly one
    of the two is even.
    """

    generator = "an even permutation of the positions 1 to {n}, but not the identity"

    @property
    def nodes(self) -> int:
        """The number of elements, which is half the number of permutations."""
        return factorial(self.n) // 2

    def elements(self, ranks: ArrayLike) -> Elements:
        """Return the even permutations with the given ranks, ``[count, n]``."""
        rows = permutations.unrank(self.n, 2 * np.array(ranks, dtype=np.int64, ndmin=1))
        odd = permutations.is_odd(rows)
        # The permutations of ranks 2i and 2i+1 differ by exchanging the last two symbols, so this
        # exchange makes an odd permutation even.
        rows[odd, -2:] = rows[odd, :-3:-1]
        return rows

    def ranks(self, elements: Elements) -> Ranks:
        """Return the ranks of group elements among the even permutations, int32 ``[count]``."""
        # An even permutation has rank 2i or 2i+1 among all permutations.
        return super().ranks(elements) // 2

    def parse(self, label: str) -> Elements:
        """Return the group element with the given label.

        Raises:
            InputError: no permutation has this label, or the permutation is odd.
        """
        row = super().parse(label)
        if permutations.is_odd(row[None, :])[0]:
            raise InputError(
                f"the label '{label}' is an odd permutation, but all nodes are even permutations",
                hint="exchange two of its symbols",
            )
        return row

    def reduce(self, generator: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return a generator as a group element, or None if it is odd, invalid or the identity."""
        reduced = super().reduce(generator)
        return None if reduced is None or permutations.is_odd(np.array([reduced]))[0] else reduced


class SignedPermutations(Permutations):
    """The permutations of 1..n with a sign for each symbol; in labels, -1 is ``a``, -2 is ``b``, ..

    A negative position in a generator changes the sign of the symbol that it moves.
    """

    largest = 9  # ranks are int32, and 10! * 2^10 nodes would exceed their range
    generator = "a permutation of the positions 1 to {n} with signs, but not the identity"

    @property
    def nodes(self) -> int:
        """The number of elements, n! 2^n, because each permutation has 2^n choices of signs."""
        return factorial(self.n) << self.n

    def elements(self, ranks: ArrayLike) -> Elements:
        """Return the group elements with the given ranks, ``[count, n]``."""
        rest = np.array(ranks, dtype=np.int64, ndmin=1)
        rows = np.empty((len(rest), self.n), dtype=np.int8)
        signs = np.empty_like(rows)
        for position in reversed(range(self.n)):
            rest, digit = np.divmod(rest, 2 * (self.n - position))
            is_negative, rows[:, position] = np.divmod(digit, self.n - position)
            signs[:, position] = 1 - 2 * is_negative
            rows[:, position + 1 :] += rows[:, position + 1 :] >= rows[:, position, None]
        return signs * (rows + 1)

    def ranks(self, elements: Elements) -> Ranks:
        """Return the ranks of group elements, int32 ``[count]``; positive symbols sort first."""
        ranks = np.zeros(len(elements), dtype=np.int32)
        for position in range(self.n):
            symbol = np.abs(elements[:, position, None])
            smaller = np.count_nonzero(np.abs(elements[:, position + 1 :]) < symbol, axis=1)
            size = self.n - position
            ranks = ranks * (2 * size) + smaller + size * (elements[:, position] < 0)
        return ranks.astype(np.int32)

    def product(self, left: Elements, right: Elements) -> Elements:
        """Return the signed product left∘right; one of the factors may be an array of elements."""
        return np.sign(right) * left[..., np.abs(right) - 1]

    def inverse(self, element: Elements) -> Elements:
        """Return the inverse of a group element.

        For each signed symbol s at position p, the inverse has p, with the sign of s, at position
        |s|.
        """
        order = np.argsort(np.abs(element))
        return np.sign(element)[order] * (order + 1)

    def labels(self, elements: Elements) -> NDArray[np.str_]:
        """Return the labels of group elements, with letters for negative symbols."""
        symbols = np.abs(elements).astype(np.uint8)
        # Code points are changed for all labels at once: changing strings would need a Python loop.
        codes = permutations.labels(symbols).view(np.uint32).reshape(symbols.shape)
        codes = np.where(elements < 0, symbols + np.uint32(ord("a") - 1), codes)
        return np.ascontiguousarray(codes).view(f"<U{self.n}")[:, 0]

    def parse(self, label: str) -> Elements:
        """Return the group element with the given label.

        Raises:
            InputError: no element has this label.
        """
        first = permutations.first_symbol()
        letters = {chr(ord("a") + index): str(index + first) for index in range(self.n)}
        lower = str(label).lower()
        symbols = permutations.parse("".join(letters.get(each, each) for each in lower), self.n)
        signs = np.array([-1 if each in letters else 1 for each in lower])
        return signs * symbols

    def reduce(self, generator: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return a generator as a group element, or None if it is invalid or the identity."""
        identity = tuple(range(1, self.n + 1))
        is_one = tuple(sorted(map(abs, generator))) == identity != generator
        return generator if is_one else None


@dataclass(frozen=True)
class Residues:
    """The group of vectors of residues under addition; the moduli of the residues are called sides.

    Raises:
        InputError: a side, or the product of all sides, is out of range.
    """

    sides: tuple[int, ...]
    generator = "{n} steps, at least one of them not 0 modulo its side"

    def __post_init__(self) -> None:
        if min(self.sides) < 2 or self.nodes > _MAX_NODES:
            raise InputError(
                f"the sides {', '.join(map(str, self.sides))} are out of range",
                hint=f"use sides of at least 2 whose product is at most {_MAX_NODES:,}",
            )

    @property
    def n(self) -> int:
        """The number of sides."""
        return len(self.sides)

    @property
    def nodes(self) -> int:
        """The number of elements, which is the product of the sides."""
        return prod(self.sides)

    def elements(self, ranks: ArrayLike) -> Elements:
        """Return elements by rank, ``[count, n]``; the last residue varies fastest."""
        return np.stack(np.unravel_index(np.array(ranks, ndmin=1), self.sides), axis=-1)

    def ranks(self, elements: Elements) -> Ranks:
        """Return the ranks of group elements, int32 ``[count]``."""
        return np.asarray(np.ravel_multi_index(tuple(elements.T), self.sides), dtype=np.int32)

    def product(self, left: Elements, right: Elements) -> Elements:
        """Return the sum of two elements, or of an element and each element of an array."""
        return np.asarray((left + right) % np.array(self.sides))

    def inverse(self, element: Elements) -> Elements:
        """Return the negative of a group element."""
        return np.asarray(-element % np.array(self.sides))

    @property
    def _label_format(self) -> tuple[int, int]:
        """The number base of labels, and the number of digits per residue.

        If all residues are below 36, each residue is a single digit or letter; otherwise residues
        are decimal numbers of equal length.
        """
        largest = max(self.sides) - 1
        return (len(_DIGITS), 1) if largest < len(_DIGITS) else (10, len(str(largest)))

    def labels(self, elements: Elements) -> NDArray[np.str_]:
        """Return the labels of group elements, in which all residues have equally many digits."""
        base, width = self._label_format
        digits = elements[..., None] // base ** np.arange(width)[::-1] % base
        codes = np.array([*map(ord, _DIGITS)], dtype=np.uint32)[digits]
        labels: NDArray[np.str_] = codes.reshape(len(elements), -1).view(f"<U{self.n * width}")
        return labels[:, 0]

    def parse(self, label: str) -> Elements:
        """Return the group element with the given label.

        Raises:
            InputError: the label has a wrong length or character, or a residue is not smaller than
                the side of its dimension.
        """
        base, width = self._label_format
        text = str(label).lower()
        residues = [0] * self.n
        for place, digit in enumerate(map(_DIGITS.find, text)):
            if digit not in range(base) or place >= self.n * width:
                break
            residues[place // width] = base * residues[place // width] + digit
        else:
            if len(text) == self.n * width and all(map(int.__lt__, residues, self.sides)):
                return np.array(residues)
        first, last = self.labels(np.array([[0] * self.n, np.array(self.sides) - 1]))
        raise InputError(f"'{label}' is not a label", hint=f"use a label from {first} to {last}")

    def reduce(self, generator: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return a generator's steps as residues; None if their number is wrong or all are 0."""
        if len(generator) != self.n:
            return None
        reduced = tuple(step % side for step, side in zip(generator, self.sides, strict=True))
        return reduced if any(reduced) else None


#: Maximum number of generators. Each generator has a port, and ports are uint8 numbers from 2 on.
MAX_GENERATORS = 254


@dataclass(frozen=True)
class Subgroup(Permutations):
    """The subgroup that is generated by given elements of a group.

    Attributes:
        whole: the group that contains the subgroup.
        generators: the generators, as elements of ``whole``.

    Raises:
        InputError: the generators generate too many elements. This error is raised when the
            elements are first needed.
    """

    whole: Permutations | Residues
    generators: tuple[tuple[int, ...], ...]

    @cached_property
    def _members(self) -> Ranks:
        """The ranks of the subgroup's elements in the whole group, in ascending order."""
        members = frontier = np.zeros(1, dtype=np.int32)
        while len(frontier):
            reached = [_move(self.whole, frontier, each) for each in self.generators]
            frontier = np.setdiff1d(np.concatenate(reached), members)
            members = np.union1d(members, frontier)
            if len(members) > _MAX_SUBGROUP:
                raise InputError(
                    f"the generators generate more than {_MAX_SUBGROUP:,} elements",
                    hint="use generators of a smaller group",
                )
        return freeze(members)

    @property
    def nodes(self) -> int:
        """The number of group elements."""
        return len(self._members)

    def elements(self, ranks: ArrayLike) -> Elements:
        """Return the group elements with the given ranks, ``[count, n]``."""
        return self.whole.elements(self._members[np.array(ranks, ndmin=1)])

    def ranks(self, elements: Elements) -> Ranks:
        """Return the ranks of group elements, int32 ``[count]``."""
        return np.searchsorted(self._members, self.whole.ranks(elements)).astype(np.int32)

    def product(self, left: Elements, right: Elements) -> Elements:
        """Return the product left∘right; one of the factors may be an array of elements."""
        return self.whole.product(left, right)

    def inverse(self, element: Elements) -> Elements:
        """Return the inverse of a group element."""
        return self.whole.inverse(element)

    def labels(self, elements: Elements) -> NDArray[np.str_]:
        """Return the labels of group elements, which are the same as in the whole group."""
        return self.whole.labels(elements)

    def parse(self, label: str) -> Elements:
        """Return the group element with the given label.

        Only the elements that the generators generate have labels.

        Raises:
            InputError: no element has this label.
        """
        element = self.whole.parse(label)
        if self.whole.ranks(element[None, :])[0] not in self._members:
            raise InputError(
                f"'{label}' is not a label: the generators do not generate this element",
                hint="use the label of a node of the graph",
            )
        return element


Group = Permutations | Residues


class CayleyGraph(Topology):
    """The Cayley graph of a group and generators; the group is by default all permutations of 1..n.

    Args:
        spec: the spec of the graph, such as ``P5``.
        family: the name of the family.
        generators: elements of the group; ports are numbered from 2 in the order of this list.
        group: a group, or a class of permutation groups (default: all permutations of 1..n). With
            `Subgroup`, nodes are only the elements that the generators generate.

    Raises:
        InputError: the number of generators or their length is out of range, the generators are not
            distinct elements of the group, one generator is the identity, the inverse of a
            generator is missing, or a `Subgroup` has too many elements.

    Example:
        >>> CayleyGraph("P3", "pancake", [[2, 1, 3], [3, 2, 1]]).diameter
        3
    """

    has_translations = True

    def __init__(
        self,
        spec: str,
        family: str,
        generators: Sequence[Sequence[int]],
        group: type[Permutations] | Residues = Permutations,
    ) -> None:
        self.spec = spec
        self.family = family
        self.group, self.generators = check_generators(generators, group)
        # For a cyclic group, whose elements are single residues, n is the number of elements.
        self.n = self.group.nodes if self.group.n == 1 else self.group.n
        self.k = None
        self.nodes = self.group.nodes
        self.ports = tuple(range(2, len(self.generators) + 2))
        numbers = dict(zip(self.generators, self.ports, strict=True))
        self._reverse = {port: numbers[_inverse(self.group, g)] for g, port in numbers.items()}

    @property
    def diameter(self) -> int:
        """The largest distance between two nodes, found by breadth-first search.

        Raises:
            InputError: the generators do not generate the group.
        """
        return len(self.distance_profile()) - 1

    def distance_profile(self) -> tuple[int, ...]:
        """Return the number of nodes at each distance from any node, found by breadth-first search.

        Raises:
            InputError: the generators do not generate the group.
        """
        return tuple(np.bincount(self._distances()).tolist())

    def reverse_port(self, port: int) -> int:
        """Return the port of the inverse generator, which leads back across the same link."""
        return self._reverse[self._check_port(port)]

    def neighbours(self, port: int, ranks: ArrayLike | None = None) -> Ranks:
        """Return the neighbours across a port; see `Topology.neighbours`."""
        generator = self.generators[self._check_port(port) - 2]
        if ranks is not None:
            return _move(self.group, self._check_ranks(ranks), generator)
        self._require_memory(4, "neighbours")
        out = np.empty(self.nodes, dtype=np.int32)
        for chunk in self.chunks():
            out[chunk] = _move(self.group, np.arange(chunk.start, chunk.stop), generator)
        return out

    def distances(self, root: int | str = 0) -> Integers:
        """Return the distance of every node from the root; see `Topology.distances`.

        Raises:
            InputError: the generators do not generate the group.
        """
        rank = self.node(root)
        distances = self._distances()
        if rank == 0:
            return distances
        inverse = self.group.inverse(self.group.elements(rank)[0])
        # Translations keep distances, so one search from the identity suffices for all roots.
        return distances[self.translation(int(self.group.ranks(inverse[None, :])[0]))]

    def translation(self, root: int | str) -> Ranks:
        """Return the rank of q∘x for the root q and each node x; see `Topology.translation`."""
        image = self.group.elements(self.node(root))[0]
        self._require_memory(4, "images")
        out = np.empty(self.nodes, dtype=np.int32)
        for chunk in self.chunks():
            nodes = self.group.elements(np.arange(chunk.start, chunk.stop))
            out[chunk] = self.group.ranks(self.group.product(image, nodes))
        return out

    def labels(self, ranks: ArrayLike | None = None) -> NDArray[np.str_]:
        """Return the labels of nodes; see `Topology.labels`."""
        if ranks is None:
            self._require_memory(5 * self.group.n, "labels")
            ranks = np.arange(self.nodes)
        return self.group.labels(self.group.elements(self._check_ranks(ranks)))

    def rank(self, label: str) -> int:
        """Return the rank of the node with the given label; see `Topology.rank`."""
        return int(self.group.ranks(self.group.parse(label)[None, :])[0])

    def _distances(self) -> Integers:
        self._require_memory(9, "distances")
        distances = _search(self.group, self.generators)
        reached = int(np.count_nonzero(distances)) + 1
        if reached < self.nodes:
            raise InputError(
                f"the generators of {self.spec} reach only {reached:,} of its {self.nodes:,} nodes",
                hint='use generators of the whole group, or group="generated", which restricts'
                " the nodes to the elements that the generators generate",
            )
        return distances


def check_generators(
    generators: Sequence[Sequence[int]], group: type[Permutations] | Residues = Permutations
) -> tuple[Group, tuple[tuple[int, ...], ...]]:
    """Check generators; return the group of the graph, and the generators as group elements.

    Raises:
        InputError: the number of generators or their length is out of range, a generator is
            malformed, repeated or the identity, or the inverse of a generator is missing.
    """
    try:
        given = [tuple(int(value) for value in generator) for generator in generators]
    except (TypeError, ValueError):
        raise InputError(
            f"invalid generators {generators!r}: not a list of lists of integers",
            hint="write each generator as a list of integers, such as [2, 1, 3]",
        ) from None
    if not 1 <= len(given) <= MAX_GENERATORS:
        raise InputError(
            f"the number of generators is {len(given)}, which is out of range",
            hint=f"use 1 to {MAX_GENERATORS} generators",
        )
    whole = group
    if group is Subgroup:
        is_signed = any(value < 0 for generator in given for value in generator)
        whole = SignedPermutations if is_signed else Permutations
    elements = whole(_check_size(whole, given[0])) if isinstance(whole, type) else whole
    rows = []
    for generator in given:
        row = elements.reduce(generator)
        if row is None:
            raise InputError(
                f"{list(generator)} is not a generator",
                hint=f"use {elements.generator.format(n=elements.n)}",
            )
        rows.append(row)
    for row in rows:
        inverse = _inverse(elements, row)
        if inverse not in rows:
            raise InputError(
                f"the inverse of the generator {list(row)} is missing",
                hint=f"add {list(inverse)}, because links lead both ways",
            )
    repeated = next((a for a, b in pairwise(sorted(rows)) if a == b), None)
    if repeated is not None:
        raise InputError(f"the generator {list(repeated)} is repeated", hint="list it once")
    if group is Subgroup:
        elements = Subgroup(elements.n, elements, tuple(rows))
    return elements, tuple(rows)


def _check_size(group: type[Permutations], generator: tuple[int, ...]) -> int:
    if not 2 <= len(generator) <= group.largest:
        raise InputError(
            f"the generators have the length {len(generator)}, which is out of range",
            hint=f"use generators of a length from 2 to {group.largest}",
        )
    return len(generator)


def _inverse(group: Group, generator: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(group.inverse(np.array(generator)).tolist())


def _move(group: Group, ranks: NDArray[np.integer], generator: Sequence[int]) -> Ranks:
    """Return the ranks of the products x∘g, for nodes x and a generator g, int32 ``[count]``."""
    return group.ranks(group.product(group.elements(ranks), np.array(generator)))


@lru_cache(maxsize=4)
def _search(group: Group, generators: tuple[tuple[int, ...], ...]) -> Integers:
    """Return each node's distance from the identity; nodes that are not reached have distance 0."""
    distances: Integers = np.zeros(group.nodes, dtype=np.uint8)
    # The root has distance 0, so 0 cannot mark the nodes that are not reached yet.
    is_new = np.ones(len(distances), dtype=bool)
    is_new[0] = False
    frontier = np.zeros(1, dtype=np.int32)
    distance = 0
    while len(frontier):
        distance += 1
        if distance > MAX_UINT8_DISTANCE and is_new.any():
            distances = distances.astype(np.int32)
        for generator in generators:
            nodes = _move(group, frontier, generator)
            distances[nodes[is_new[nodes]]] = distance
            is_new[nodes] = False
        # Several generators may reach the same new node, but `distances` contains each node once.
        frontier = np.flatnonzero(distances == distance).astype(np.int32)
    return freeze(distances)
