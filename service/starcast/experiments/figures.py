"""Check of the figures of runs that others computed, without executing them.

The closed form and the lower bound of a point are computed again. The simulated figures follow
from the profile of the steps and the size of a unit, and no schedule without faults can beat the
lower bound.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NoReturn

from starcast import costs
from starcast.experiments.execution import bound_cost, formula_costs
from starcast.experiments.point import Point
from starcast.experiments.run_records import CostRecord, RunRecord
from starcast.support.errors import InputError, RejectedError
from starcast.topologies import as_topology, count_nodes

_FIGURES = ("steps", "start_ups", "transmissions", "bytes", "time")
#: Figures of a bound that no execution without faults can beat.
_BOUNDED = ("steps", "transmissions", "time")


def check_figures(point: Point, run: RunRecord) -> None:
    """Check that the figures of a run are possible.

    Args:
        point: the point of the run.

    Raises:
        InputError: the run has costs, a profile or an error that do not fit its status.
        RejectedError: a figure contradicts a formula, a bound or another figure.
    """
    stated: dict[str, CostRecord] = {cost.kind: cost for cost in run.costs}
    formulas = _known_costs(point, run, stated.get("lower bound")) if run.costs else {}
    complete = run.status == "complete"
    kinds = sorted([*formulas, "simulated"]) if complete else []
    if complete == bool(run.error) or sorted(cost.kind for cost in run.costs) != kinds:
        raise InputError("a run has figures or an error that do not fit its status")
    if not complete:
        if run.profile:
            raise InputError("a failed run has a profile")
        return
    judge = _Judge(point)
    for kind, formula in formulas.items():
        for name in _FIGURES:
            judge.compare(f"{kind}, {name}", getattr(stated[kind], name), getattr(formula, name))
    judge.check_simulated(stated["simulated"], run.profile)
    if not point.faults:
        judge.compare("missing units", run.missing, 0)
        judge.check_bound(stated["simulated"], formulas["lower bound"])


def _known_costs(
    point: Point, run: RunRecord, bound: CostRecord | None
) -> Mapping[str, costs.Cost | CostRecord]:
    """Return the costs that follow without an execution, by kind.

    An algorithm of a plug-in has no closed form. Without the plug-in, the stated bound says whether
    the algorithm takes messages, and the bound on an unknown topology cannot be computed.
    """
    if not run.needs_plugin:
        return formula_costs(point)
    if bound is None or not count_nodes(point.topology):
        return {"lower bound": bound} if bound else {}
    return {"lower bound": bound_cost(point, takes_messages=bound.transmissions is not None)}


class _Judge:
    """Compares figures of a point; a contradiction is a `RejectedError`."""

    def __init__(self, point: Point) -> None:
        self._point = point

    def compare(self, figure: str, stated: object, expected: object) -> None:
        """Reject a stated figure that is not the expected one."""
        if stated != expected:
            self._reject(f"{figure} is {_shown(stated)} and must be {_shown(expected)}")

    def check_simulated(self, cost: CostRecord, profile: Sequence[tuple[int, ...]]) -> None:
        """Check that the simulated figures follow from the profile and the size of a unit."""
        packets = sum(row[1] for row in profile)
        largest = sum(row[2] for row in profile)
        # No packet of a step has more units than its largest, and each has one at least.
        most_units = sum(row[1] * row[2] for row in profile)
        for links, sent, units in profile:
            # A busy link carries one packet in a step, so the two numbers are equal.
            if links != sent or (sent == 0) != (units == 0):
                self._reject(f"a step has {links} links with {sent} packets of up to {units} units")
        self.compare("simulated, steps", cost.steps, len(profile))
        if cost.transmissions is None or not packets <= cost.transmissions <= most_units:
            self._reject(
                f"simulated, transmissions is {_shown(cost.transmissions)}, and its profile has"
                f" {packets} packets of at most {most_units} units together"
            )
        if cost.start_ups is None or cost.bytes is None:
            self._reject("its execution has no start-ups or bytes")
        if self._point.execution == "synchronous":
            self.compare("simulated, start_ups", cost.start_ups, len(profile))
            self._check_bytes(cost.bytes, largest)
        time = cost.start_ups * self._point.t_s + cost.bytes * self._point.t_c
        self.compare("simulated, time", cost.time, time)

    def check_bound(self, cost: CostRecord, bound: costs.Cost | CostRecord) -> None:
        """Reject an execution that beats the lower bound."""
        for name in _BOUNDED:
            least, stated = getattr(bound, name), getattr(cost, name)
            if least is not None and stated < least:
                self._reject(
                    f"simulated, {name} is {_shown(stated)}, below the bound {_shown(least)}"
                )

    def _check_bytes(self, stated: Fraction, units: int) -> None:
        """Check the bytes of a number of units, into which the message is divided equally."""
        point = self._point
        if (point.collective, point.algorithm) in costs.FORMS:
            unit = costs.unit_bytes(
                as_topology(point.topology),
                point.collective,
                point.algorithm,
                point.message_bytes,
                **point.arguments,
            )
            self.compare("simulated, bytes", stated, units * unit)
            return
        # Without a closed form the size of a unit is unknown, but it divides the message.
        sent = units * point.message_bytes
        if (stated == 0) != (sent == 0) or (stated and (sent / stated).denominator != 1):
            self._reject(f"simulated, bytes is {_shown(stated)}, not a multiple of a unit")

    def _reject(self, contradiction: str) -> NoReturn:
        raise RejectedError(
            f"a run with the command '{self._point.command()}' contradicts itself or a formula:"
            f" {contradiction}",
            hint="nothing was stored; run it here with this command",
        )


def _shown(value: object) -> str:
    return "nothing" if value is None else str(value)
