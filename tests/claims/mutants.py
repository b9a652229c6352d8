"""What is broken on purpose, to see that a check notices: stated values, forests, schedules, executions, arrays."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast import Forest, Schedule, Simulation, StarcastError, checkers, topology
from starcast.claims import growth
from starcast.claims.checking import look
from starcast.claims.declaration import Claim
from starcast.claims.evidence import Finding, Relation
from starcast.claims.lab import Lab
from starcast.claims.see import See, _array
from starcast.claims.verdict import judged

Broken = Callable[[Any], Any]


class Wrong(See):
    """Every value is held against another one than the paper states."""

    def _compare(
        self, what: str, relation: Relation, found: Any, stated: Any, place: Mapping[str, Any]
    ) -> None:
        super()._compare(
            what, relation, found, _wrong(relation, _array(found), _array(stated)), place
        )

    def checked(self, judgement: checkers.Evidence, relation: Relation = "=", of: Any = "") -> None:
        """No checker says yes."""
        super().checked(
            replace(judgement, counterexample={"why": "broken on purpose"}), relation, of
        )

    def order(self, what: str, quotient: Callable[..., growth.Number]) -> None:
        """Every quotient grows faster by n^2."""
        super().order(what, lambda n, *k: quotient(n, *k) * n * n)


class Right(See):
    """Every value is stated as it is found."""

    def _compare(
        self, what: str, relation: Relation, found: Any, stated: Any, place: Mapping[str, Any]
    ) -> None:
        here, _ = np.broadcast_arrays(_array(found), _array(stated))
        super()._compare(what, relation, here, here, place)

    def checked(self, judgement: checkers.Evidence, relation: Relation = "=", of: Any = "") -> None:
        """No checker says no."""
        super().checked(replace(judgement, counterexample=None), relation, of)

    def order(self, what: str, quotient: Callable[..., growth.Number]) -> None:  # noqa: ARG002 - replaced
        """Every quotient is 1."""
        super().order(what, lambda *_: 1)


def _wrong(relation: Relation, found: NDArray[Any], stated: NDArray[Any]) -> NDArray[Any]:
    here, there = np.broadcast_arrays(found, stated)
    if relation == "<=":
        return here - 1
    if relation == ">=":
        return here + 1
    if there.dtype.kind == "b":
        return ~there
    return np.char.add(there, "x") if there.dtype.kind == "U" else _other(there)


def _other(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind in "iuf":
        return values.astype(np.int64 if values.dtype.kind != "f" else np.float64) + 1
    out = np.empty(values.shape, dtype=object)
    for index, value in np.ndenumerate(values):
        out[index] = f"{value}x" if isinstance(value, str) else None if value is None else value + 1
    return out


class Found(Lab):
    """What is absent from the papers is in them."""

    def made(self, kind: str, key: tuple[Any, ...], value: Any) -> Any:  # noqa: ARG002
        """Nothing is absent."""
        return "" if kind == "absent" else value


class Watched(Lab):
    """Remembers what it handed out."""

    def __init__(self) -> None:
        super().__init__()
        self.used: list[tuple[str, tuple[Any, ...]]] = []

    def made(self, kind: str, key: tuple[Any, ...], value: Any) -> Any:
        """What was made, as it is."""
        self.used.append((kind, key))
        return value


class Spoilt(Lab):
    """Hands out one thing broken."""

    def __init__(self, kind: str, key: tuple[Any, ...], broken: Broken) -> None:
        super().__init__()
        self._which, self._broken = (kind, key), broken

    def made(self, kind: str, key: tuple[Any, ...], value: Any) -> Any:
        """What was made, broken if it is the one."""
        return self._broken(value) if (kind, key) == self._which else value


# What is done to trees: each is still an array of ports, and some are still forests


def _ports(change: Callable[[Forest, NDArray[np.uint8]], None]) -> Broken:
    def broken(trees: Forest) -> Forest:
        ports = trees.parent_port.copy()
        change(trees, ports)
        return Forest(trees.topology, ports, trees.root)

    return broken


def _leaf(trees: Forest, row: int) -> int:
    """A deepest node of a tree."""
    return int(np.argmax(trees.levels()[row]))


def _leaf_lost(trees: Forest, ports: NDArray[np.uint8]) -> None:
    ports[0, _leaf(trees, 0)] = 0


def _leaf_moved(trees: Forest, ports: NDArray[np.uint8]) -> None:
    """The deepest leaf hangs from another neighbour."""
    where, leaf = trees.topology, _leaf(trees, 0)
    others = [port for port in where.ports if port != ports[0, leaf]]
    levels = [int(trees.levels()[0, int(where.neighbours(port, [leaf])[0])]) for port in others]
    if others:
        ports[0, leaf] = others[int(np.argmax(levels))]


def _leaf_raised(trees: Forest, ports: NDArray[np.uint8]) -> None:
    """The last node hangs from its highest neighbour."""
    where, leaf = trees.topology, _leaf(trees, -1)
    levels = [
        int(trees.levels()[-1, int(where.neighbours(port, [leaf])[0])]) for port in where.ports
    ]
    ports[-1, leaf] = where.ports[int(np.argmin(levels))]


def _doubled(trees: Forest, ports: NDArray[np.uint8]) -> None:  # noqa: ARG001 - all change an array
    ports[-1] = ports[0]


def _reversed(trees: Forest, ports: NDArray[np.uint8]) -> None:  # noqa: ARG001
    ports[:] = ports[::-1].copy()


def _cut(trees: Forest, ports: NDArray[np.uint8]) -> None:
    """A child of the root leads back to where it came from."""
    children = np.flatnonzero(trees.levels()[0] == 1)
    below = np.flatnonzero(trees.levels()[0] == 2)
    if len(below):
        ports[0, int(children[0])] = trees.topology.reverse_port(int(ports[0, int(below[0])]))


# What is done to schedules


def _columns(change: Callable[[dict[str, NDArray[Any]]], None]) -> Broken:
    def broken(given: Schedule) -> Schedule:
        columns = {
            name: getattr(given, name).copy()
            for name in ("step", "sender", "port", "receiver", "tree", "unit")
        }
        change(columns)
        return replace(given, **columns)

    return broken


def _without(row: int) -> Callable[[dict[str, NDArray[Any]]], None]:
    def change(columns: dict[str, NDArray[Any]]) -> None:
        for name, column in columns.items():
            columns[name] = np.delete(column, row)

    return change


def _later(columns: dict[str, NDArray[Any]]) -> None:
    columns["step"][int(np.argmax(columns["step"]))] += 1


def _all_later(columns: dict[str, NDArray[Any]]) -> None:
    columns["step"] += 1


def _at_once(columns: dict[str, NDArray[Any]]) -> None:
    columns["step"][:] = 1


def _twice(columns: dict[str, NDArray[Any]]) -> None:
    last = int(columns["step"].max())
    for name, column in columns.items():
        columns[name] = np.append(
            column, column[0] if name != "step" else column.dtype.type(last + 1)
        )


# What is done to executions and arrays


def _result(**change: Callable[[Any], Any]) -> Broken:
    def broken(took: Simulation) -> Simulation:
        return replace(took, **{name: by(getattr(took, name)) for name, by in change.items()})

    return broken


def _entry(index: int) -> Broken:
    def broken(values: Any) -> Any:
        if not isinstance(values, np.ndarray) or not values.size:
            return values
        out = values.copy().reshape(-1)
        out[index] = _changed(out[index])
        return out.reshape(values.shape)

    return broken


def _changed(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, str):
        return value[::-1]
    return value - 1 if value > 0 else value + 1


def _exchanged(values: Any) -> Any:
    """The first and the last entry that differ change places."""
    if not isinstance(values, np.ndarray) or values.size < 2:
        return values
    out = values.copy().reshape(-1)
    out[0], out[-1] = out[-1].copy(), out[0].copy()
    return out.reshape(values.shape)


MUTANTS: dict[str, dict[str, Broken]] = {
    "forest": {
        "a leaf lost": _ports(_leaf_lost),
        "a leaf moved": _ports(_leaf_moved),
        "a leaf raised": _ports(_leaf_raised),
        "a tree doubled": _ports(_doubled),
        "trees in reverse order": _ports(_reversed),
        "a cycle": _ports(_cut),
    },
    "schedule": {
        "without its last row": _columns(_without(-1)),
        "without its first row": _columns(_without(0)),
        "one row later": _columns(_later),
        "all rows later": _columns(_all_later),
        "all rows at once": _columns(_at_once),
        "a row twice": _columns(_twice),
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
class Mutant:
    """One thing broken in one way at one size."""

    size: str
    kind: str
    key: tuple[Any, ...]
    how: str

    def lab(self) -> Lab:
        """A lab that hands it out."""
        return Spoilt(self.kind, self.key, MUTANTS[self.kind][self.how])


def word(claim: Claim, spec: str, lab: Lab | None = None, see: type[See] = See) -> str:
    """What the findings at one size alone say; ``rejected`` where the check could not go on with what it was given."""
    try:
        return judged(look(claim, spec, lab or Lab(), see).findings)
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


def findings(claim: Claim, spec: str) -> tuple[Finding, ...]:
    return look(claim, spec, Lab()).findings


def mutants(claim: Claim, spec: str) -> Iterator[Mutant]:
    """Everything that the check is given at that size, broken in every way."""
    lab = Watched()
    look(claim, spec, lab)
    for kind, key in lab.used:
        for how in MUTANTS.get(kind, {}):
            yield Mutant(spec, kind, key, how)


def smallest(claim: Claim, most: int) -> tuple[str, ...]:
    """The first few sizes of a claim that the statement speaks of."""
    return tuple(sorted(claim.sizes.quick, key=lambda spec: topology(spec).nodes)[:most])
