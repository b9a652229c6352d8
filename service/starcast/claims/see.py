"""The words in which a check says what it sees: found against stated, place by place."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast import checkers
from starcast.claims import growth
from starcast.claims.evidence import BOUNDED, Aside, Evidence, Finding, Plain, Relation
from starcast.claims.lab import Lab
from starcast.collectives.model import Schedule
from starcast.simulator import Simulation
from starcast.topologies import Topology
from starcast.trees.model import Forest

#: Where a value stands: itself, an array of one a value, or a function of its index.
Where = Any
_FEW = 12
#: What stands between a quotient at a size and the same far beyond all sizes, where it was measured.
FAR = " -> "
#: What is said behind a quotient whose reciprocal is meant.
REVERSED = ", the other way round"


class See:
    """Collects the findings of one check at one size.

    ``found`` and ``stated`` are numbers, fractions, strings, or arrays of them, of the same shape or one of them single. A
    place is named by keywords: ``node=t.label`` is called with the index of a value, ``tree=1`` is said as it is, and
    ``link=links`` is looked up in an array of the values' shape. Values are compared in the order of the arrays, so that the
    first that differs is the smallest: put nodes, links and steps in rank order. ``of`` names the forest or schedule looked at.

    Attributes:
        where: the topology.
        lab: where to get what is looked at.
    """

    def __init__(self, where: Topology, lab: Lab) -> None:
        self.where = where
        self.lab = lab
        self._findings: list[Finding] = []
        self._asides: list[tuple[Literal["reading", "instead"], str, See]] = []

    # What a check says

    def equal(
        self, what: str, found: ArrayLike | Fraction, stated: ArrayLike | Fraction, **place: Where
    ) -> None:
        """The values are those that are stated."""
        self._compare(what, "=", found, stated, place)

    def at_most(
        self, what: str, found: ArrayLike | Fraction, stated: ArrayLike | Fraction, **place: Where
    ) -> None:
        """No value is greater than what is stated; the statement is an inequality."""
        self._compare(what, "<=", found, stated, place)

    def at_least(
        self, what: str, found: ArrayLike | Fraction, stated: ArrayLike | Fraction, **place: Where
    ) -> None:
        """No value is less than what is stated; the statement is an inequality."""
        self._compare(what, ">=", found, stated, place)

    def true(self, what: str, found: ArrayLike, /, **place: Where) -> None:
        """Something is so. ``found`` and ``stated`` may be given as places, where they say more than False and True."""
        self._compare(what, "=", found, True, place)

    def checked(
        self,
        judgement: checkers.Evidence,
        relation: Relation = "=",
        of: Forest | Schedule | str = "",
    ) -> None:
        """What an independent checker says; ``relation`` is ``<=`` where it was given a bound that the paper states."""
        measured = (
            judgement.measured if isinstance(judgement.measured, tuple) else (judgement.measured,)
        )
        place = (
            None
            if judgement.counterexample is None
            else {"found": False, "stated": True, **judgement.counterexample}
        )
        self._add(judgement.check, relation, len(measured), np.array(measured), place, of)

    def executed(self, schedule: Schedule) -> Simulation:
        """The schedule keeps its port model and its promise: what the simulator found out, for more questions."""
        took = self.lab.simulation(schedule)
        kept = took.violation is None and took.complete
        why = took.violation or (f"{took.missing} units are missing" if took.missing else "")
        place = (
            {}
            if kept
            else {"found": why or "incomplete", "stated": "complete, without a violation"}
        )
        self.true(
            f"{schedule.collective} {schedule.algorithm} is carried out", kept, of=schedule, **place
        )
        return took

    def order(self, what: str, quotient: Callable[..., growth.Number]) -> None:
        """The quotient of a closed form and a stated order stays below one constant for all sizes.

        Args:
            what: what is divided by what.
            quotient: a function of n, and of k where the topology has one (of the dimension, on a hypercube), which works for
                huge n with the functions of `growth`; the greatest over all other parameters.
        """
        value = quotient(*self._numbers())
        grows, far = self._growing(quotient)
        place = None if grows is None else {"found": f"growing like {grows}", "stated": BOUNDED}
        self._add(
            what,
            "O",
            1,
            np.array([f"{growth.shown(value)}{FAR}{growth.shown(far)}"], dtype=object),
            place,
            "",
        )

    def same_order(self, what: str, quotient: Callable[..., growth.Number]) -> None:
        """Two closed forms are of the same order: their quotient and its reciprocal stay below one constant."""
        self.order(what, quotient)
        self.order(f"{what}{REVERSED}", lambda *size: growth.divided(1, quotient(*size)))

    def absent(self, what: str, why: str) -> None:
        """What the statement is about is not in the papers: the reason, in words that end without a full stop."""
        reason = self.lab.keep("absent", (what,), lambda: why)
        if not reason:
            self.true(f"{what} is in the papers", not reason)
            return
        self._add(what, "absent", 0, np.array([reason], dtype=object), None, "")

    # What is looked at beside the statement, and does not decide

    def reading(self, words: str) -> "See":
        """Another reading that can be defended: what is said to the answer is reported, and does not decide."""
        return self._aside("reading", words)

    def instead(self, words: str) -> "See":
        """What is true in place of a statement that fails: it is checked as any statement, and does not decide."""
        return self._aside("instead", words)

    # What was seen

    def evidence(self, claim: str, seconds: float = 0.0) -> Evidence:
        """All of it."""
        asides = tuple(
            Aside(kind, words, tuple(see._findings)) for kind, words, see in self._asides
        )  # noqa: SLF001 - its own kind
        return Evidence(claim, self.where.spec, tuple(self._findings), asides, seconds)

    def _aside(self, kind: Literal["reading", "instead"], words: str) -> "See":
        beside = type(self)(self.where, self.lab)
        self._asides.append((kind, words, beside))
        return beside

    def _compare(
        self, what: str, relation: Relation, found: Any, stated: Any, place: Mapping[str, Where]
    ) -> None:
        of = place.get("of", "")
        here, there = np.broadcast_arrays(_array(found), _array(stated))
        wrong = ~_related(relation, here, there)
        first = None
        if wrong.any():
            index = tuple(int(i) for i in np.argwhere(wrong)[0])
            values = {"found": here[index], "stated": there[index]}
            said = {
                name: _at(value, index, here.shape) for name, value in place.items() if name != "of"
            }
            first = {
                **said,
                **{name: _plain(value) for name, value in values.items() if name not in said},
            }
        self._add(what, relation, here.size, here, first, of)

    def _add(
        self,
        what: str,
        relation: Relation,
        compared: int,
        found: NDArray[Any],
        first: Mapping[str, Any] | None,
        of: Forest | Schedule | str,
    ) -> None:
        if first is not None:
            first = {**self._size(), **{name: _plain(value) for name, value in first.items()}}
        name = of if isinstance(of, str) else of.id
        self._findings.append(Finding(what, relation, compared, _short(found), first, name))

    def _size(self) -> dict[str, int]:
        if self.where.family == "hypercube":
            return {"k": self.where.n}
        return (
            {"n": self.where.n}
            if self.where.family == "star"
            else {"n": self.where.n, "k": int(self.where.k or 0)}
        )

    def _numbers(self) -> tuple[int, ...]:
        return tuple(self._size().values())

    def _growing(self, quotient: Callable[..., growth.Number]) -> tuple[str | None, growth.Number]:
        """How a quotient grows that does not stay bounded, along every way in which n, and k with it, can grow.

        And the greatest value that it has far out.
        """
        ways: list[Callable[[int], growth.Number]] = [quotient]
        if self.where.family == "nk-star":
            ways = [partial(_along, quotient, k) for k in _WAYS]
        judged = [growth.bounded(way) for way in ways]
        return next((order for stays, order, _ in judged if not stays), None), max(
            far for _, _, far in judged
        )


#: How k goes with n, where both grow: along the edges and through the middle of what they can be.
_WAYS: tuple[Callable[[int], int], ...] = (
    lambda n: 1,  # noqa: ARG005 - all are functions of n
    lambda n: 2,  # noqa: ARG005
    lambda n: n // 2,
    lambda n: n - 2,
    lambda n: n - 1,
)


def _along(
    quotient: Callable[..., growth.Number], k: Callable[[int], int], n: int
) -> growth.Number:
    return quotient(n, k(n))


def _array(values: Any) -> NDArray[Any]:
    if isinstance(values, Fraction):
        return np.array(values, dtype=object)
    if isinstance(values, list | tuple) and any(isinstance(value, Fraction) for value in values):
        return np.array(values, dtype=object)
    return np.asarray(values)


def _related(relation: Relation, found: NDArray[Any], stated: NDArray[Any]) -> NDArray[np.bool_]:
    if relation == "=":
        return np.asarray(found == stated, dtype=bool)
    return np.asarray(found <= stated if relation == "<=" else found >= stated, dtype=bool)


def _at(value: Where, index: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    if callable(value):
        return value(*index)
    if isinstance(value, np.ndarray) and value.shape == shape:
        return value[index]
    return value


def _plain(value: Any) -> Plain:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return _plain(value.item())
    return str(value)


def _short(values: NDArray[Any]) -> str:
    """All values of a few, else the least and the greatest."""
    flat = values.ravel()
    if not len(flat):
        return "none"
    if len(flat) <= _FEW or flat.dtype.kind not in "iuf":
        distinct = list(dict.fromkeys(str(_plain(value)) for value in flat[:1000]))
        return ", ".join(distinct[:_FEW]) + (", .." if len(distinct) > _FEW else "")
    least, most = flat.min(), flat.max()
    return str(least) if least == most else f"{least} to {most}"
