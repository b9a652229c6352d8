"""Times of a message that is cut into p segments and sent down trees, one segment after the other; their best p; parameters.

c (h + p - 1)(T_s + s b/p): height h, each packet has the share s/p of the message's b = m T_c, and every slot is c steps. Over
real p > 0 that is least at q = sqrt((h-1) s b/T_s), and it rises on both sides: the best whole number is one beside q, or 1.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.claims import growth
from starcast.claims.growth import Number
from starcast.claims.reference.surds import Surd, plus_root, root_down
from starcast.simulator import Simulation

#: Of n, T_s and b = m T_c.
Time = Callable[[int, Number, Number], Number]


@dataclass(frozen=True)
class Pipeline:
    """A pipeline by its height h, share s and steps a slot c; see the module."""

    height: Number
    share: Number = 1
    slot: Number = 1

    def time(self, p: Number, T_s: Number, b: Number) -> Number:  # noqa: N803 - as the papers write it
        """With p segments."""
        return self.slot * (self.height + p - 1) * (T_s + growth.divided(self.share * b, p))

    def square(self, T_s: Number, b: Number) -> Number:  # noqa: N803
        """The square of q, the best real p; T_s > 0."""
        return growth.divided((self.height - 1) * self.share * b, T_s)

    def least(self, T_s: Number, b: Number) -> Number:  # noqa: N803
        """With the best real p; as p goes to 0 or without end, where b or T_s is 0."""
        crossed = (self.height - 1) * self.share * b * T_s
        ends = (self.height - 1) * T_s + self.share * b
        return self.slot * (ends + 2 * growth.sqrt(crossed) if crossed else ends)

    def least_whole(self, T_s: Number, b: Number) -> Number:  # noqa: N803
        """With the best whole p >= 1; as p goes up without end, where T_s is 0."""
        if not T_s:
            return self.slot * self.share * b
        above = growth.rounded_up(growth.sqrt(self.square(T_s, b))) if b else 1
        return min(self.time(p, T_s, b) for p in (max(1, above - 1), max(1, above)))

    def exact_least(self, T_s: Fraction, b: Fraction) -> Fraction | Surd:  # noqa: N803
        """With the best real p, exactly."""
        crossed = (self.height - 1) * self.share * b * T_s
        ends = (self.height - 1) * T_s + self.share * b
        return plus_root(ends * self.slot, 4 * crossed * self.slot**2)

    def best_whole(self, T_s: Fraction, b: Fraction) -> int:  # noqa: N803
        """The best whole p >= 1, exactly; of two, the smaller."""
        below = root_down(self.square(T_s, b))
        return min((max(1, below), below + 1), key=lambda p: (self.time(p, T_s, b), p))


class Parameters(NamedTuple):
    """Messages and machines, each an array of whole numbers; in the order of m, then T_s, then T_c."""

    m: NDArray[Any]
    T_s: NDArray[Any]
    T_c: NDArray[Any]

    @property
    def place(self) -> dict[str, NDArray[Any]]:
        """As `See` takes them, to name a place."""
        return self._asdict()

    def each(self) -> Iterator[tuple[Fraction, Fraction]]:
        """T_s and b = m T_c, one after the other."""
        for m, start, byte in zip(*self, strict=True):
            yield Fraction(start), Fraction(m * byte)


def parameters(
    m: tuple[int, ...] = (1, 2), T_s: tuple[int, ...] = (1, 2, 4), T_c: tuple[int, ...] = (1, 2, 4)
) -> Parameters:  # noqa: N803
    """All of some values, the smallest first."""
    return Parameters(
        *(np.array(column, dtype=object) for column in zip(*product(m, T_s, T_c), strict=True))
    )


def exact_time(took: Simulation, units: int, of: Parameters) -> NDArray[Any]:
    """What an execution took, every step as long as its largest packet, of a message that was cut into so many units."""
    return _time(took.steps, Fraction(int(took.packet_sizes.sum()), units), of)


def slotted(steps: int, packet: Fraction, of: Parameters) -> NDArray[Any]:
    """So many steps, each as long as a packet of that share of the message."""
    return _time(steps, steps * packet, of)


def _time(steps: int, carried: Fraction, of: Parameters) -> NDArray[Any]:
    return np.asarray(of.T_s * int(steps) + of.m * of.T_c * carried)


def loads(n: int) -> list[tuple[Number, Number]]:
    """T_s and b = m T_c far apart and close together, on a wide grid of powers, and where one of them is 0."""
    powers = [
        Fraction(n) ** power * Fraction(4) ** turn
        for power in range(-4, 9)
        for turn in range(-2, 3)
    ]
    return [
        (1, 0),
        (0, 1),
        *((1, b) for b in powers),
        *((1, growth.sqrt(n) * b) for b in powers[2::5]),
    ]


def greatest(
    n: int, time: Time, stated: Time, of: Callable[[Number, Number], bool] = lambda *_: True
) -> Number:
    """The greatest quotient of a time and a stated order over all `loads`, or those that are chosen."""
    chosen = [load for load in loads(n) if of(*load)]
    return growth.greatest(growth.divided(time(n, *load), stated(n, *load)) for load in chosen)
