"""Every check can fail: mutated claims or mutated objects change its verdict."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from starcast import Forest, Schedule, Simulation, StarcastError
from starcast.claims import claims, growth
from starcast.claims.cached_topology import ObjectCache
from starcast.claims.catalogue import Claim
from starcast.claims.check import ClaimCheck, Relation, as_array
from starcast.claims.verdict import judge
from starcast.claims.verify import run_check
from starcast.records import checkers
from starcast.topologies import count_nodes

CLAIMS = [claim for claim in claims().values() if claim.check is not None]
SIZES = 3
Change = Callable[[Any], Any]


class ContradictingCheck(ClaimCheck):
    """A check that compares every measured value with a value that contradicts the claim."""

    def _compare(
        self, what: str, relation: Relation, measured: Any, stated: Any, place: Mapping[str, Any]
    ) -> None:
        other = _contradict(relation, as_array(measured), as_array(stated))
        super()._compare(what, relation, measured, other, place)

    def _add_result(self, result: checkers.Evidence, relation: Relation, artifact: Any) -> None:
        """Record a checker's result with a counterexample, as if the checker had failed."""
        failed = replace(result, counterexample={"why": "broken on purpose"})
        super()._add_result(failed, relation, artifact)

    def order(self, what: str, quotient: Callable[..., growth.Number]) -> None:
        """Record the quotient multiplied by n^2, so that it seems to grow faster."""
        super().order(what, lambda n, *k: quotient(n, *k) * n * n)


class AgreeingCheck(ClaimCheck):
    """A check that compares every measured value with itself."""

    def _compare(
        self, what: str, relation: Relation, measured: Any, stated: Any, place: Mapping[str, Any]
    ) -> None:
        values, _ = np.broadcast_arrays(as_array(measured), as_array(stated))
        super()._compare(what, relation, values, values, place)

    def _add_result(self, result: checkers.Evidence, relation: Relation, artifact: Any) -> None:
        """Record a checker's result without a counterexample, as if the checker had succeeded."""
        super()._add_result(replace(result, counterexample=None), relation, artifact)

    def order(self, what: str, quotient: Callable[..., growth.Number]) -> None:  # noqa: ARG002
        """Record the constant 1, which is bounded, instead of the quotient."""
        super().order(what, lambda *_: 1)


def _contradict(relation: Relation, measured: NDArray[Any], stated: NDArray[Any]) -> NDArray[Any]:
    measured, stated = np.broadcast_arrays(measured, stated)
    if relation == "<=":
        return measured - 1
    if relation == ">=":
        return measured + 1
    if stated.dtype.kind == "b":
        return ~stated
    return np.char.add(stated, "x") if stated.dtype.kind == "U" else _other_values(stated)


def _other_values(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind in "iuf":
        return values.astype(np.int64 if values.dtype.kind != "f" else np.float64) + 1
    changed = np.empty(values.shape, dtype=object)
    for index, value in np.ndenumerate(values):
        changed[index] = _other_value(value)
    return changed


def _other_value(value: Any) -> Any:
    if isinstance(value, str):
        return f"{value}x"
    return None if value is None else value + 1


class RecordingCache(ObjectCache):
    """An object cache that records the kind and key of every requested object."""

    def __init__(self) -> None:
        super().__init__()
        self.used: list[tuple[str, tuple[Any, ...]]] = []

    def intercept(self, kind: str, key: tuple[Any, ...], value: Any) -> Any:
        """Record the kind and key of an object, and return the object."""
        self.used.append((kind, key))
        return value


class MutatingCache(ObjectCache):
    """An object cache that changes one object."""

    def __init__(self, kind: str, key: tuple[Any, ...], change: Change) -> None:
        super().__init__()
        self._target = (kind, key)
        self._change = change

    def intercept(self, kind: str, key: tuple[Any, ...], value: Any) -> Any:
        """Return the target object changed, and every other object unchanged."""
        return self._change(value) if (kind, key) == self._target else value


def _ports(change: Callable[[Forest, NDArray[np.uint8]], None]) -> Change:
    def mutate(trees: Forest) -> Forest:
        ports = trees.parent_port.copy()
        change(trees, ports)
        return Forest(trees.topology, ports, trees.root)

    return mutate


def _leaf_lost(trees: Forest, ports: NDArray[np.uint8]) -> None:
    ports[0, int(np.argmax(trees.levels()[0]))] = 0


def _doubled(_: Forest, ports: NDArray[np.uint8]) -> None:
    ports[-1] = ports[0]


def _without_last(schedule: Schedule) -> Schedule:
    columns = ("step", "sender", "port", "receiver", "tree", "unit")
    return replace(schedule, **{name: getattr(schedule, name)[:-1] for name in columns})


def _at_once(schedule: Schedule) -> Schedule:
    return replace(schedule, step=np.ones_like(schedule.step))


def _a_step_more(simulation: Simulation) -> Simulation:
    return replace(simulation, steps=simulation.steps + 1)


def _entry(index: int) -> Change:
    def mutate(values: Any) -> Any:
        if not isinstance(values, np.ndarray) or not values.size:
            return values
        out = values.copy().reshape(-1)
        out[index] = _changed(out[index])
        return out.reshape(values.shape)

    return mutate


def _changed(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, str):
        return value[::-1]
    return value - 1 if value > 0 else value + 1


#: Changes of the objects that checks use, by kind of object.
CHANGES: dict[str, tuple[Change, ...]] = {
    "forest": (_ports(_leaf_lost), _ports(_doubled)),
    "schedule": (_without_last, _at_once),
    "simulation": (_a_step_more,),
    "array": (_entry(0), _entry(-1)),
}


def verdict_word(
    claim: Claim,
    spec: str,
    objects: ObjectCache | None = None,
    recorder: type[ClaimCheck] = ClaimCheck,
) -> str:
    """Return the verdict on a claim at one size, or ``rejected`` if the check raises an error."""
    try:
        return judge(run_check(claim, spec, objects or ObjectCache(), recorder).findings)
    except (
        StarcastError,
        ArithmeticError,
        ValueError,
        IndexError,
        KeyError,
        TypeError,
        AssertionError,
        StopIteration,
    ):
        return "rejected"


def mutations(claim: Claim, spec: str) -> Iterator[ObjectCache]:
    """Yield an object cache for every change of every object that the check uses at a size."""
    objects = RecordingCache()
    run_check(claim, spec, objects)
    for kind, key in objects.used:
        for change in CHANGES.get(kind, ()):
            yield MutatingCache(kind, key, change)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_changing_the_stated_values_changes_the_verdict(claim: Claim) -> None:
    """If the check uses contradicting values, a claim that holds fails at some size.

    If the check uses the measured values instead of the stated ones, a claim that fails holds. A
    claim that is not checkable at any size has no stated values.
    """
    for spec in claim.sizes.quick:
        original = verdict_word(claim, spec)
        recorder = AgreeingCheck if original == "fails" else ContradictingCheck
        changed = verdict_word(claim, spec, recorder=recorder)
        if changed not in (original, "rejected"):
            return
    assert original == "not checkable", "other stated values never change the verdict"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_mutation_of_a_used_object_changes_the_verdict(claim: Claim) -> None:
    """On its smallest topologies, the check detects at least one mutation of an object it uses."""
    tried = 0
    for spec in sorted(claim.sizes.quick, key=count_nodes)[:SIZES]:
        original = verdict_word(claim, spec)
        if original == "fails":
            continue  # the test above covers failing claims
        for objects in mutations(claim, spec):
            tried += 1
            if verdict_word(claim, spec, objects) != original:
                return
    assert tried == 0, f"none of {tried} mutations changes the verdict"
