"""Groups whose Cayley graphs are topologies: permutations (all, even or signed) and residues.

Elements are ranked in the lexicographic order of their labels; the identity has rank 0.
"""

from dataclasses import dataclass
from math import factorial, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.support.errors import InputError
from starcast.topologies import permutations
from starcast.topologies.permutations import Ranks

#: One element of a group as a row ``[n]``, or several as rows ``[count, n]``.
Elements = NDArray[np.integer[Any]]
#: The digits that represent residues in labels.
_DIGITS = f"0{permutations.SYMBOLS}"
_MAX_NODES = factorial(12)  # the number of nodes of the largest star graph; ranks are int32


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
    generator = "a permutation of the positions 1 to {n} that moves one of them"

    @property
    def nodes(self) -> int:
        """The number of elements."""
        return factorial(self.n)

    def elements(self, ranks: ArrayLike) -> Elements:
        """Return the elements of some ranks, ``[count, n]``."""
        return permutations.unrank(self.n, ranks)

    def ranks(self, elements: Elements) -> Ranks:
        """Return the ranks of elements, int32 ``[count]``."""
        return permutations.rank(elements.astype(np.uint8))

    def product(self, left: Elements, right: Elements) -> Elements:
        """Return the product left∘right; one of them may be several elements."""
        return left[..., right - 1]

    def inverse(self, element: Elements) -> Elements:
        """Return the inverse of an element."""
        return np.argsort(element) + 1

    def labels(self, elements: Elements) -> NDArray[np.str_]:
        """Return the labels of elements."""
        return permutations.labels(elements.astype(np.uint8))

    def parse(self, label: str) -> Elements:
        """Return the element of a label.

        Raises:
            InputError: no element has this label.
        """
        return permutations.parse(label, self.n)

    def reduce(self, generator: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return a generator as an element, or None if it is invalid or the identity."""
        identity = tuple(range(1, self.n + 1))
        return generator if tuple(sorted(generator)) == identity != generator else None


class EvenPermutations(Permutations):
    """The even permutations of 1..n, the alternating group.

    The permutations of ranks 2i and 2i+1 differ in their last two symbols, so one of them is even.
    """

    generator = "an even permutation of the positions 1 to {n} that moves one of them"

    @property
    def nodes(self) -> int:
        """The number of elements: half of the permutations."""
        return factorial(self.n) // 2

    def elements(self, ranks: ArrayLike) -> Elements:
        """Return the elements of some ranks, ``[count, n]``: the even permutation of each pair."""
        rows = permutations.unrank(self.n, 2 * np.array(ranks, dtype=np.int64, ndmin=1))
        odd = permutations.is_odd(rows)
        # Exchanging the last two symbols gives the other permutation of the pair.
        rows[odd, -2:] = rows[odd, :-3:-1]
        return rows

    def ranks(self, elements: Elements) -> Ranks:
        """Return the ranks of elements among the even permutations, int32 ``[count]``."""
        # An even permutation has rank 2i or 2i+1 among all permutations.
        return super().ranks(elements) // 2

    def parse(self, label: str) -> Elements:
        """Return the element of a label.

        Raises:
            InputError: the label is not that of a permutation, or the permutation is odd.
        """
        row = super().parse(label)
        if permutations.is_odd(row[None, :])[0]:
            raise InputError(
                f"the label '{label}' is an odd permutation", hint="exchange two of its symbols"
            )
        return row

    def reduce(self, generator: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return a generator as an element, or None if it is odd, invalid or the identity."""
        reduced = super().reduce(generator)
        return None if reduced is None or permutations.is_odd(np.array([reduced]))[0] else reduced


class SignedPermutations(Permutations):
    """The permutations of 1..n with a sign per symbol; labels write -1 as ``a``, -2 as ``b``, ...

    A negative position in a generator changes the sign of the symbol that it moves.
    """

    largest = 9  # the ranks are int32
    generator = "a permutation of the positions 1 to {n}, some of them negative"

    @property
    def nodes(self) -> int:
        """The number of elements: n! permutations with 2^n choices of signs."""
        return factorial(self.n) << self.n

    def elements(self, ranks: ArrayLike) -> Elements:
        """Return the elements of some ranks; a digit selects an unused symbol and its sign."""
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
        """Return the ranks of elements, int32 ``[count]``; negative symbols come last."""
        ranks = np.zeros(len(elements), dtype=np.int32)
        for position in range(self.n):
            symbol = np.abs(elements[:, position, None])
            smaller = np.count_nonzero(np.abs(elements[:, position + 1 :]) < symbol, axis=1)
            size = self.n - position
            ranks = ranks * (2 * size) + smaller + size * (elements[:, position] < 0)
        return ranks.astype(np.int32)

    def product(self, left: Elements, right: Elements) -> Elements:
        """Return the signed product left∘right; one of them may be several elements."""
        return np.sign(right) * left[..., np.abs(right) - 1]

    def inverse(self, element: Elements) -> Elements:
        """Return the inverse of an element; a symbol keeps its sign."""
        order = np.argsort(np.abs(element))
        return np.sign(element)[order] * (order + 1)

    def labels(self, elements: Elements) -> NDArray[np.str_]:
        """Return the labels of elements, with letters for negative symbols."""
        symbols = np.abs(elements).astype(np.uint8)
        # Code points are changed for all labels at once: changing strings would need a Python loop.
        codes = permutations.labels(symbols).view(np.uint32).reshape(symbols.shape)
        codes = np.where(elements < 0, symbols + np.uint32(ord("a") - 1), codes)
        return np.ascontiguousarray(codes).view(f"<U{self.n}")[:, 0]

    def parse(self, label: str) -> Elements:
        """Return the element of a label.

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
        """Return a generator as an element, or None if it is invalid or the identity."""
        identity = tuple(range(1, self.n + 1))
        is_one = tuple(sorted(map(abs, generator))) == identity != generator
        return generator if is_one else None


@dataclass(frozen=True)
class Residues:
    """Vectors of residues modulo given numbers, called sides; the group operation is addition.

    Raises:
        InputError: a side, or their product, is out of range.
    """

    sides: tuple[int, ...]
    generator = "{n} steps, one of them not 0"

    def __post_init__(self) -> None:
        if min(self.sides) < 2 or max(self.sides) > len(_DIGITS) or self.nodes > _MAX_NODES:
            raise InputError(
                f"the sides {', '.join(map(str, self.sides))} are out of range",
                hint=f"sides go from 2 to {len(_DIGITS)}, their product to {_MAX_NODES:,}",
            )

    @property
    def n(self) -> int:
        """The number of sides."""
        return len(self.sides)

    @property
    def nodes(self) -> int:
        """The number of elements: the product of the sides."""
        return prod(self.sides)

    def elements(self, ranks: ArrayLike) -> Elements:
        """Return the elements of some ranks, ``[count, n]``; the last residue varies fastest."""
        return np.stack(np.unravel_index(np.array(ranks, ndmin=1), self.sides), axis=-1)

    def ranks(self, elements: Elements) -> Ranks:
        """Return the ranks of elements, int32 ``[count]``."""
        return np.asarray(np.ravel_multi_index(tuple(elements.T), self.sides), dtype=np.int32)

    def product(self, left: Elements, right: Elements) -> Elements:
        """Return the sum of elements, residue by residue; one of them may be several elements."""
        return np.asarray((left + right) % np.array(self.sides))

    def inverse(self, element: Elements) -> Elements:
        """Return the negative of an element."""
        return np.asarray(-element % np.array(self.sides))

    def labels(self, elements: Elements) -> NDArray[np.str_]:
        """Return the labels of elements: each residue is a digit, or a letter from 10 on."""
        codes = np.array([*map(ord, _DIGITS)], dtype=np.uint32)[elements]
        return np.ascontiguousarray(codes).view(f"<U{self.n}")[:, 0]

    def parse(self, label: str) -> Elements:
        """Return the element of a label.

        Raises:
            InputError: the label has a wrong length, or a digit is not smaller than its side.
        """
        digits = [_DIGITS.find(each) for each in str(label).lower()]
        if len(digits) != self.n or not all(
            0 <= digit < side for digit, side in zip(digits, self.sides, strict=True)
        ):
            last = "".join(_DIGITS[side - 1] for side in self.sides)
            raise InputError(
                f"'{label}' is not a label", hint=f"labels go from {'0' * self.n} to {last}"
            )
        return np.array(digits)

    def reduce(self, generator: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return a generator's steps as residues; None if their number is wrong or all are 0."""
        if len(generator) != self.n:
            return None
        reduced = tuple(step % side for step, side in zip(generator, self.sides, strict=True))
        return reduced if any(reduced) else None
