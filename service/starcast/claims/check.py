"""Evidence on claims, and the recorder `ClaimCheck`, to which checks report measured values."""

import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.claims.cached_topology import CachedTopology, ObjectCache
from starcast.claims.growth import Number, divide, find_order, format_number
from starcast.collectives.model import Schedule
from starcast.judges.simulator import Simulation
from starcast.records import checkers
from starcast.support.errors import InputError
from starcast.support.text import pluralize
from starcast.topologies import Topology
from starcast.trees.model import Forest

#: How measured values relate to stated values. The values are equal (``=``), the stated value is a
#: bound (``<=`` and ``>=``), or a quotient is bounded by a constant (``O``). The relation is
#: ``absent`` if the papers do not contain the subject of the claim.
Relation = Literal["=", "<=", ">=", "O", "absent"]
#: A value of a counterexample, as it is stored in JSON.
Plain = bool | int | str
#: A counterexample. Keys such as ``tree`` and ``node`` give the place where a comparison fails,
#: ``found`` is the measured value, and ``stated`` is the stated value.
Place = Mapping[str, Plain]
#: The value of ``stated`` in a counterexample of a claim that states an order of growth.
BOUNDED = "bounded"


@dataclass(frozen=True)
class Finding:
    """Measured values compared with what a claim states.

    Attributes:
        what: the compared quantity, in words.
        relation: the stated relation between measured and stated values.
        compared: number of compared pairs of values.
        measured: summary of the measured values. If `relation` is ``absent``, the reason why the
            claim cannot be checked.
        counterexample: None if the relation holds everywhere. Otherwise the first place where the
            relation is violated, the values ``found`` and ``stated``, and the size. The size is
            ``n`` for star graphs, ``n`` and ``k`` for (n,k)-stars, ``k`` (the dimension) for
            hypercubes, and the spec as ``size`` for other topologies.
        of: id of the measured forest or schedule, or a name that the check gave it; empty if
            neither was measured.
    """

    what: str
    relation: Relation
    compared: int
    measured: str
    counterexample: Place | None = None
    of: str = ""

    @property
    def met(self) -> bool:
        """Whether the relation could be checked and holds for all measured values."""
        return self.counterexample is None and self.relation != "absent"


@dataclass(frozen=True)
class Aside:
    """Findings that are reported with a claim but do not affect its verdict.

    Attributes:
        kind: ``reading`` for another reading of a damaged or ambiguous claim; ``instead`` for a
            corrected statement.
        words: the text of the other reading or of the corrected statement.
        findings: the findings about the other reading or the corrected statement.
    """

    kind: Literal["reading", "instead"]
    words: str
    findings: tuple[Finding, ...]

    @property
    def met(self) -> bool:
        """True if the aside has findings and all of them are met."""
        return bool(self.findings) and all(finding.met for finding in self.findings)


@dataclass(frozen=True)
class Evidence:
    """Everything that a check recorded on one topology.

    Attributes:
        claim: id of the claim.
        size: spec of the topology, such as ``S5``.
        findings: the findings, in the order in which they were recorded.
        asides: other readings and corrections.
        seconds: duration of the check, including the creation of objects that were not cached.
        undefined: the reason why the check is not defined on this topology; empty if the check is
            defined.
    """

    claim: str
    size: str
    findings: tuple[Finding, ...]
    asides: tuple[Aside, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    undefined: str = ""


#: The node, link or tree to which each measured value belongs: a constant, an array that numpy can
#: broadcast to the measured values, or a function of a value's index. A link is given by the pair
#: of its tail and its head.
PlaceValue = Any
#: Names of the keyword arguments whose values are nodes. A value that is an integer is a rank; the
#: counterexample contains the label of the node instead.
_NODES = ("node", "other", "root", "source", "destination")
#: Measured or stated values.
Values = ArrayLike | Fraction
_RELATED = {"=": operator.eq, "<=": operator.le, ">=": operator.ge}
#: Maximum number of values that a finding lists. If there are more integers or floats, the finding
#: states only the smallest and the largest value.
_LISTED_VALUES = 12
#: In `Finding.measured`, this text separates the quotient at the checked size from the quotient for
#: a huge n.
FAR = " -> "
#: In `Finding.what`, this suffix follows the name of a quotient whose reciprocal was measured.
REVERSED = ", the other way round"


class ClaimCheck(CachedTopology):
    """Recorder of the findings of one check on one topology (claims call a topology a size).

    Measured and stated values are numbers, fractions, strings, or arrays of these types that
    broadcast to one shape. Keyword arguments name the place of each value, such as a node or link.
    A place is a constant (``tree=1``), an array that broadcasts to the values
    (``node=check.ranks``), a pair of such arrays (``link=(tails, heads)``), or a function that is
    called with the index of the value. Nodes are given as ranks; the counterexample shows their
    labels. The first value that violates the relation becomes the counterexample, so arrays should
    be in rank order. The argument ``of`` is the forest or schedule to which the values belong.

    Attributes:
        topology: the topology on which the claim is checked.
        objects: cache for forests, schedules, simulations and arrays.
        correct_statement: the claim's ``correction`` in claims.toml; empty if there is none.

    Example:
        >>> check = ClaimCheck(topology("S4"), ObjectCache())
        >>> check.equal("nodes", check.topology.nodes, 24)
        >>> check.evidence("TS.size").findings[0].met
        True
    """

    def __init__(
        self, topology: Topology, objects: ObjectCache, correct_statement: str = ""
    ) -> None:
        super().__init__(topology, objects)
        self.correct_statement = correct_statement
        self._findings: list[Finding] = []
        self._asides: list[tuple[Literal["reading", "instead"], str, ClaimCheck]] = []

    # Findings that decide the verdict

    def equal(self, what: str, measured: Values, stated: Values, /, **place: PlaceValue) -> None:
        """Record whether measured values equal the stated values."""
        self._compare(what, "=", measured, stated, place)

    def at_most(self, what: str, measured: Values, stated: Values, /, **place: PlaceValue) -> None:
        """Record whether all measured values are at most the stated upper bound."""
        self._compare(what, "<=", measured, stated, place)

    def at_least(self, what: str, measured: Values, stated: Values, /, **place: PlaceValue) -> None:
        """Record whether all measured values are at least the stated lower bound."""
        self._compare(what, ">=", measured, stated, place)

    def true(self, what: str, measured: ArrayLike, /, **place: PlaceValue) -> None:
        """Record whether a condition holds for all measured values.

        By default a counterexample reads "found no, stated yes". The arguments ``found`` and
        ``stated`` replace these values.
        """
        self._compare(what, "=", measured, True, place)

    def passes(
        self,
        checker: Callable[..., checkers.Evidence],
        forest: Forest,
        relation: Relation = "=",
        of: str | None = None,
        **options: int,
    ) -> bool:
        """Apply a checker to a forest, and record its result.

        Args:
            checker: a function of `starcast.records.checkers`.
            forest: the forest.
            relation: ``=``, or ``<=`` if the options contain a bound that the paper states.
            of: a name to record instead of the forest's id.
            options: further arguments of the checker.

        Returns:
            Whether the checked property holds.
        """
        result = checker(forest.topology, forest.parent_port, forest.root, **options)
        self._add_result(result, relation, forest if of is None else of)
        return result.holds

    def execute(self, schedule: Schedule) -> Simulation:
        """Execute a schedule; record whether it obeys its port model and delivers every unit.

        Returns:
            The simulation, for further measurements.
        """
        simulation = self.objects.simulation(schedule)
        succeeded = simulation.violation is None and simulation.complete
        place = {}
        if not succeeded:
            missing = f"{pluralize(simulation.missing, 'unit is', 'units are')} missing"
            reason = simulation.violation or (missing if simulation.missing else "incomplete")
            place = {"found": reason, "stated": "complete, without a violation"}
        what = f"{schedule.collective} {schedule.algorithm} is carried out"
        self.true(what, succeeded, of=schedule, **place)
        return simulation

    def takes(
        self,
        schedule: Schedule,
        steps: Values,
        transmissions: Values | None = None,
        /,
        **place: PlaceValue,
    ) -> None:
        """Execute a schedule; record whether its numbers of steps and transmissions are as stated.

        Without ``transmissions``, only the number of steps is compared.
        """
        simulation = self.execute(schedule)
        place |= {"of": schedule}
        self.equal("steps", simulation.steps, steps, **place)
        if transmissions is not None:
            self.equal("transmissions", simulation.transmissions, transmissions, **place)

    def order(self, what: str, quotient: Callable[..., Number]) -> None:
        """Record whether a closed form, divided by its stated order of growth, is bounded.

        Args:
            what: the quotient in words, such as ``D_n / n``.
            quotient: function of n for star graphs, of the dimension for hypercubes, and of n and k
                for (n,k)-stars. It returns the maximum over all other parameters. The function must
                use the functions of `starcast.claims.growth`, so that it works for huge n.
        """
        is_nk_star = self.topology.family == "nk-star"
        value = quotient(*self.n_and_k) if is_nk_star else quotient(self.n)
        order, far_value = self._growth_order(quotient)
        place = None
        if order is not None:
            place = {"found": f"growing like {order}", "stated": BOUNDED}
        measured = f"{format_number(value)}{FAR}{format_number(far_value)}"
        self._add(what, "O", np.array([measured], dtype=object), place)

    def same_order(self, what: str, quotient: Callable[..., Number]) -> None:
        """Record whether two closed forms have the same order of growth.

        They have the same order if their quotient and the reciprocal of the quotient are bounded.
        """
        self.order(what, quotient)
        self.order(f"{what}{REVERSED}", lambda *size: divide(1, quotient(*size)))

    def absent(self, what: str, reason: str) -> None:
        """Record that the subject of the claim (an algorithm or formula) is not in the papers.

        Args:
            what: the missing algorithm or formula.
            reason: why the claim cannot be checked, without a full stop at the end.
        """
        self._add(what, "absent", np.array([reason], dtype=object))

    # Findings that are reported but do not affect the verdict

    def reading(self, words: str) -> "ClaimCheck":
        """Return a recorder for findings about another plausible reading of the claim."""
        return self._aside("reading", words)

    def correction(self) -> "ClaimCheck":
        """Return a recorder for findings about the claim's ``correction`` in claims.toml.

        The findings are reported only if the claim fails.

        Raises:
            InputError: the claim has no correction.
        """
        if not self.correct_statement:
            caller = sys._getframe(1)  # noqa: SLF001 - the line of the check, for the message
            raise InputError(
                f"{caller.f_code.co_filename}:{caller.f_lineno}: this check calls correction(), but"
                " its claim has no correction",
                hint="add the key 'correction' to the claim in claims.toml, or remove the call",
            )
        return self._aside("instead", self.correct_statement)

    def evidence(self, claim_id: str, seconds: float = 0.0) -> Evidence:
        """Return the evidence: everything that this check has recorded so far."""
        asides = tuple(
            Aside(kind, words, tuple(aside._findings))  # noqa: SLF001 - of the same class
            for kind, words, aside in self._asides
        )
        return Evidence(claim_id, self.topology.spec, tuple(self._findings), asides, seconds)

    def _aside(self, kind: Literal["reading", "instead"], words: str) -> "ClaimCheck":
        aside = type(self)(self.topology, self.objects)
        self._asides.append((kind, words, aside))
        return aside

    def _compare(
        self,
        what: str,
        relation: Relation,
        measured: Any,
        stated: Any,
        place: Mapping[str, PlaceValue],
    ) -> None:
        artifact = place.get("of", "")
        measured, stated = np.broadcast_arrays(as_array(measured), as_array(stated))
        exact = measured
        if {measured.dtype.kind, stated.dtype.kind} in ({"i", "f"}, {"u", "f"}):
            # numpy would round the integers to floats, but Python compares them exactly.
            exact = measured.astype(object)
        differs = ~np.asarray(_RELATED[relation](exact, stated), dtype=bool)
        counterexample = None
        if differs.any():
            # Values are in rank order, so the first difference is the smallest counterexample.
            index = tuple(int(i) for i in np.argwhere(differs)[0])
            values = {"found": measured[index], "stated": stated[index]}
            counterexample = {
                name: self._place_at(name, value, index, measured.shape)
                for name, value in place.items()
                if name != "of"
            }
            for name, value in values.items():
                counterexample.setdefault(name, _plain(value))
        self._add(what, relation, measured, counterexample, artifact)

    def _add_result(
        self, result: checkers.Evidence, relation: Relation, artifact: Forest | str
    ) -> None:
        place = None
        if result.counterexample is not None:
            place = {"found": False, "stated": True, **result.counterexample}
        measured = np.atleast_1d(np.array(result.measured))
        self._add(result.check, relation, measured, place, artifact)

    def _add(
        self,
        what: str,
        relation: Relation,
        measured: NDArray[Any],
        counterexample: Mapping[str, Any] | None = None,
        artifact: Forest | Schedule | str = "",
    ) -> None:
        if counterexample is not None:
            place = {name: _plain(value) for name, value in counterexample.items()}
            counterexample = {**self._size(), **place}
        if not isinstance(what, str):
            raise TypeError(f"the first argument must be text that names the quantity, not {what}")
        artifact_id = artifact if isinstance(artifact, str) else artifact.id
        compared = 0 if relation == "absent" else measured.size
        finding = Finding(what, relation, compared, _summary(measured), counterexample, artifact_id)
        self._findings.append(finding)

    def _place_at(
        self, name: str, value: PlaceValue, index: tuple[int, ...], shape: tuple[int, ...]
    ) -> Any:
        if isinstance(value, tuple):
            return " -> ".join(self._place_at("node", end, index, shape) for end in value)
        if callable(value):
            value = value(*index)
        elif isinstance(value, np.ndarray):
            value = np.broadcast_to(value, shape)[index]
        is_rank = name in _NODES and isinstance(value, int | np.integer)
        return self.label(int(value)) if is_rank else value

    def _size(self) -> dict[str, Plain]:
        size = self.topology
        # The papers call the dimension of a hypercube k.
        if size.family == "hypercube":
            return {"k": size.n}
        if size.family == "nk-star":
            return {"n": size.n, "k": int(size.k or 0)}
        return {"n": size.n} if size.family == "star" else {"size": size.spec}

    def _growth_order(self, quotient: Callable[..., Number]) -> tuple[str | None, Number]:
        """Return a quotient's order of growth (None if bounded) and its value for a very large n.

        On (n,k)-stars, the functions k(n) in `_K_OF_N` are tried; the result consists of the first
        unbounded order and the largest value.
        """
        paths: list[Callable[[int], Number]] = [quotient]
        if self.topology.family == "nk-star":
            paths = [partial(_along, quotient, k_of_n) for k_of_n in _K_OF_N]
        results = [find_order(path) for path in paths]
        unbounded = (order for is_bounded, order, _ in results if not is_bounded)
        return next(unbounded, None), max(far_value for _, _, far_value in results)


#: Functions k(n) for which the growth of quotients on (n,k)-stars is determined: k at both ends and
#: in the middle of its range.
_K_OF_N: tuple[Callable[[int], int], ...] = (
    lambda n: 1,  # noqa: ARG005 - all are functions of n
    lambda n: 2,  # noqa: ARG005
    lambda n: n // 2,
    lambda n: n - 2,
    lambda n: n - 1,
)


def _along(quotient: Callable[..., Number], k_of_n: Callable[[int], int], n: int) -> Number:
    return quotient(n, k_of_n(n))


def as_array(values: Any) -> NDArray[Any]:
    """Return values as an array; fractions and huge integers are kept exact as objects."""
    if isinstance(values, Fraction):
        return np.array(values, dtype=object)
    array = np.asarray(values)
    # numpy rounds integers to floats if a list also contains floats, or if the integers do not fit
    # into one type.
    is_rounded = array.dtype.kind == "f" and isinstance(values, list | tuple)
    is_exact = int | Fraction if is_rounded else Fraction
    if isinstance(values, list | tuple) and any(isinstance(value, is_exact) for value in values):
        return np.array(values, dtype=object)
    return array


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


def _summary(values: NDArray[Any]) -> str:
    """Return the measured values as text.

    If there are more than `_LISTED_VALUES` integers or floats, only the smallest and the largest
    are listed. Otherwise, at most the first `_LISTED_VALUES` different values are listed.
    """
    flat = values.ravel()
    if not len(flat):
        return "none"
    if len(flat) <= _LISTED_VALUES or flat.dtype.kind not in "iuf":
        # Only the first thousand strings or exact numbers are read, because the summary lists few.
        listed = flat[:1000].tolist()
        if flat.dtype != object:
            listed = list(dict.fromkeys(listed))
        distinct = list(dict.fromkeys(str(_plain(value)) for value in listed))
        more = ", .." if len(distinct) > _LISTED_VALUES else ""
        return ", ".join(distinct[:_LISTED_VALUES]) + more
    least, greatest = flat.min(), flat.max()
    return str(least) if least == greatest else f"{least} to {greatest}"
