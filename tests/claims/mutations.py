"""Mutations of the values that claims state, and of the objects that their checks use."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast import Forest, Schedule, Simulation, StarcastError, topology
from starcast.claims import closed_forms as growth
from starcast.claims.cached_topology import ObjectCache
from starcast.claims.catalogue import Claim
from starcast.claims.check import ClaimCheck, Relation, as_array
from starcast.claims.verdict import judge
from starcast.claims.verify import run_check
from starcast.records import checkers

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


class CompletePapersCache(ObjectCache):
    """An object cache that reports every algorithm and value as present in the papers."""

    def intercept(self, kind: str, key: tuple[Any, ...], value: Any) -> Any:  # noqa: ARG002
        """Return an empty text instead of the reason why something is absent from the papers."""
        return "" if kind == "absent" else value


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


# Some of the following mutations of a forest give another valid forest.


def _ports(change: Callable[[Forest, NDArray[np.uint8]], None]) -> Change:
    def mutate(trees: Forest) -> Forest:
        ports = trees.parent_port.copy()
        change(trees, ports)
        return Forest(trees.topology, ports, trees.root)

    return mutate


def _leaf(trees: Forest, row: int) -> int:
    """Return a deepest leaf of one tree, given the row of the tree in the forest's arrays."""
    return int(np.argmax(trees.levels()[row]))


def _leaf_lost(trees: Forest, ports: NDArray[np.uint8]) -> None:
    ports[0, _leaf(trees, 0)] = 0


def _leaf_to(trees: Forest, ports: NDArray[np.uint8], row: int, sign: int) -> None:
    """Move a deepest leaf to its deepest other neighbour (sign 1), or to its highest one (-1)."""
    network, leaf = trees.topology, _leaf(trees, row)
    others = [port for port in network.ports if port != ports[row, leaf]]
    neighbours = [int(network.neighbours(port, [leaf])[0]) for port in others]
    if others:
        ports[row, leaf] = others[int(np.argmax(sign * trees.levels()[row, neighbours]))]


def _doubled(trees: Forest, ports: NDArray[np.uint8]) -> None:  # noqa: ARG001 - all change an array
    ports[-1] = ports[0]


def _columns(change: Callable[[dict[str, NDArray[Any]]], None]) -> Change:
    def mutate(schedule: Schedule) -> Schedule:
        columns = {
            name: getattr(schedule, name).copy()
            for name in ("step", "sender", "port", "receiver", "tree", "unit")
        }
        change(columns)
        return replace(schedule, **columns)

    return mutate


def _without_last(columns: dict[str, NDArray[Any]]) -> None:
    for name, column in columns.items():
        columns[name] = column[:-1]


def _later(columns: dict[str, NDArray[Any]]) -> None:
    columns["step"][int(np.argmax(columns["step"]))] += 1


def _at_once(columns: dict[str, NDArray[Any]]) -> None:
    columns["step"][:] = 1


def _result(**change: Callable[[Any], Any]) -> Change:
    def mutate(simulation: Simulation) -> Simulation:
        return replace(
            simulation, **{name: by(getattr(simulation, name)) for name, by in change.items()}
        )

    return mutate


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


def _exchanged(values: Any) -> Any:
    """Return a copy of an array with its first and last entries swapped."""
    if not isinstance(values, np.ndarray) or values.size < 2:
        return values
    out = values.copy().reshape(-1)
    out[0], out[-1] = out[-1].copy(), out[0].copy()
    return out.reshape(values.shape)


CHANGES: dict[str, dict[str, Change]] = {
    "forest": {
        "a leaf lost": _ports(_leaf_lost),
        "a leaf moved": _ports(partial(_leaf_to, row=0, sign=1)),
        "a leaf raised": _ports(partial(_leaf_to, row=-1, sign=-1)),
        "a tree doubled": _ports(_doubled),
    },
    "schedule": {
        "without its last row": _columns(_without_last),
        "one row later": _columns(_later),
        "all rows at once": _columns(_at_once),
    },
    "simulation": {
        "a step more": _result(steps=lambda steps: steps + 1),
        "no steps": _result(
            steps=lambda _: 0, packet_sizes=lambda sizes: sizes[:0], links_used=lambda use: use[:0]
        ),
        "a transmission more": _result(transmissions=lambda sent: sent + 1),
        "no transmission": _result(transmissions=lambda _: 0),
        "larger packets": _result(
            largest_packet=lambda most: most + 1, packet_sizes=lambda sizes: sizes + 1
        ),
        "smaller packets": _result(packet_sizes=lambda sizes: sizes - 1),
        "incomplete": _result(complete=lambda _: False, missing=lambda _: 1),
        "a violation": _result(violation=lambda _: "broken on purpose"),
        "complete whatever happens": _result(
            complete=lambda _: True, missing=lambda _: 0, undelivered=lambda _: ()
        ),
    },
    "array": {
        "its first entry": _entry(0),
        "its last entry": _entry(-1),
        "two entries exchanged": _exchanged,
    },
}


@dataclass(frozen=True)
class Mutation:
    """One change of one object that a check uses at one size."""

    size: str
    kind: str
    key: tuple[Any, ...]
    change: str

    def objects(self) -> ObjectCache:
        """Return an object cache in which the object is mutated."""
        return MutatingCache(self.kind, self.key, CHANGES[self.kind][self.change])


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


def mutations(claim: Claim, spec: str) -> Iterator[Mutation]:
    """Yield every mutation of every object that the check of a claim uses at a size."""
    objects = RecordingCache()
    run_check(claim, spec, objects)
    for kind, key in objects.used:
        for change in CHANGES.get(kind, {}):
            yield Mutation(spec, kind, key, change)


def smallest_sizes(claim: Claim, count: int) -> tuple[str, ...]:
    """Return the smallest topologies at which level quick checks a claim."""
    return tuple(sorted(claim.sizes.quick, key=lambda spec: topology(spec).nodes)[:count])
