"""A grid: the points at all combinations of the values on some axes."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, Self

from starcast import costs
from starcast.collectives import catalogue
from starcast.collectives.algorithm import Algorithm
from starcast.errors import InputError, LimitError
from starcast.experiments.faults import NONE, is_drawn, normalise_faults, resolve_faults
from starcast.experiments.point import ARGUMENT_AXES, Point, Structure
from starcast.experiments.values import (
    BEST,
    DEGREE,
    read_axis,
    read_count,
    read_number,
    read_seed,
    read_word,
    reject_renamed,
)
from starcast.support.text import did_you_mean
from starcast.topologies import Topology, as_topology
from starcast.trees.spec_syntax import format_spec, parse_spec

__all__ = ["AXES", "Grid", "Point", "group_by_structure"]

#: The largest number of points in a grid.
MOST_POINTS = 100_000

#: The axes of a grid, the slowest first, each with the function that reads one of its values.
READERS: dict[str, Callable[[Any, str], Any]] = {
    "topology": read_word,
    "collective": read_word,
    "algorithm": read_word,
    "base": read_word,
    "ports": read_word,
    "execution": read_word,
    "segments": lambda value, axis: read_count(value, axis, (BEST, DEGREE)),
    "messages": lambda value, axis: read_count(value, axis, (BEST, DEGREE)),
    "copies": lambda value, axis: read_count(value, axis, (DEGREE,)),
    "faults": lambda value, axis: normalise_faults(read_word(value, axis)),
    "seed": read_seed,
    "message_bytes": read_number,
    "t_s": read_number,
    "t_c": read_number,
}
AXES = tuple(READERS)
_REQUIRED = ("topology", "algorithm", "message_bytes")
#: Axes that a command line omits if they have their default values.
_OMITTED = ("execution", "copies", "faults", "seed")


@dataclass(frozen=True)
class Grid:
    """All combinations of the values on the axes, each axis in ascending order.

    An axis that an algorithm does not have is ignored for it, so that no point is repeated. Counts
    may be words: ``best`` is the integer of `starcast.costs.optimal_pieces` at each message_bytes,
    t_s and t_c; ``degree`` is the degree of the topology, n-1 on S_n.

    Attributes:
        topology, algorithm, collective: names. An algorithm may fix its arguments, which replace
            those of the axes: ``forest(base=multiple)``.
        message_bytes, t_s, t_c: as in `Point`.
        ports: port models; if empty, the first one of each algorithm.
        execution: execution models, ``synchronous`` and ``asynchronous``.
        base: constructions for algorithms that take one; if empty, each algorithm's default.
        segments: pieces of each tree's share; also the messages of an algorithm of messages if
            ``messages`` is empty.
        messages: numbers of unit messages.
        copies: trees that carry each unit.
        faults: ``none``, ``2 nodes`` or ``1 link`` to be drawn at random, or labels of nodes and
            links separated by blanks.
        seed: random seeds; ignored if no faults are drawn.
    """

    topology: tuple[str, ...]
    algorithm: tuple[str, ...]
    message_bytes: tuple[Fraction, ...]
    collective: tuple[str, ...] = ("broadcast",)
    ports: tuple[str, ...] = ()
    base: tuple[str, ...] = ()
    segments: tuple[int | str, ...] = (1,)
    messages: tuple[int | str, ...] = ()
    copies: tuple[int | str, ...] = (1,)
    faults: tuple[str, ...] = (NONE,)
    seed: tuple[int, ...] = (0,)
    t_s: tuple[Fraction, ...] = (Fraction(100),)
    t_c: tuple[Fraction, ...] = (Fraction(1),)
    execution: tuple[str, ...] = ("synchronous",)

    def __post_init__(self) -> None:
        defaults = _defaults()
        for axis in AXES:
            values = getattr(self, axis)
            if not values and defaults.get(axis) != ():
                raise InputError(
                    f"the grid has no {axis}", hint=f"give at least one: {option_name(axis)} ..."
                )
            order: Callable[[Any], Any] = _topology_order if axis == "topology" else _value_order
            object.__setattr__(self, axis, tuple(sorted(set(values), key=order)))
        most = prod(max(len(getattr(self, axis)), 1) for axis in AXES)
        if most > MOST_POINTS:
            raise LimitError(
                f"the grid has {most:,} points, more than {MOST_POINTS:,}",
                hint="give fewer values per axis",
            )
        self._check_use()
        self.points()  # raises for a point that is not valid

    def points(self) -> list[Point]:
        """Return all points, the slowest axis first, points of the same structure together.

        Raises:
            InputError: a point is not valid.
        """
        return [point for group in self._groups for point in group]

    def as_json(self) -> dict[str, list[Any]]:
        """Return the grid as it is stored: rational numbers as text."""
        axes = {axis: [_as_json(value) for value in getattr(self, axis)] for axis in AXES}
        return {axis: values for axis, values in axes.items() if values}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return a grid from its stored form, or from the keys of a TOML file.

        Raises:
            InputError: a key is unknown, a required axis is missing, or a value is not valid.
        """
        for key in stored:
            reject_renamed(key)
            if key not in AXES:
                raise InputError(
                    f"'{key}' is not an axis of a grid",
                    hint=f"{did_you_mean(key, AXES)}there are {', '.join(AXES)}",
                )
        axes = {
            axis: read_axis(axis, stored[axis], read)
            for axis, read in READERS.items()
            if axis in stored
        }
        missing = next((axis for axis in _REQUIRED if axis not in axes), None)
        if missing is not None:
            raise InputError(
                f"the grid has no {missing}", hint=f"give at least one: {option_name(missing)} ..."
            )
        return cls(**axes)

    def command(self, name: str) -> str:
        """Return the command line that runs the grid as an experiment with this name."""
        defaults = _defaults()
        axes = [
            axis for axis in AXES if axis not in _OMITTED or getattr(self, axis) != defaults[axis]
        ]
        axes.sort(key=lambda axis: axis != "collective")
        options = [
            f"{option_name(axis)} {shlex.quote(str(value))}"
            for axis in axes
            for value in getattr(self, axis)
        ]
        return f"starcast experiment run {name} {' '.join(options)}"

    @cached_property
    def _groups(self) -> list[list[Point]]:
        return group_by_structure(self._points())

    def _points(self) -> Iterator[Point]:
        for spec, collective, text in product(self.topology, self.collective, self.algorithm):
            algorithm, fixed = _find_algorithm(collective, text)
            own = {key: value for key, value in fixed.items() if key not in ARGUMENT_AXES}
            name = format_spec(algorithm.name, own)
            topology = as_topology(spec)
            catalogue.check_topology(algorithm, topology)
            for ports, execution, base, copies, (faults, seed), share, *costing in self._choices(
                algorithm, topology, fixed
            ):
                message_bytes, t_s, t_c = costing
                segments = topology.degree if share == DEGREE else share
                if segments == BEST:
                    others = {"copies": copies} if "copies" in _argument_names(algorithm) else {}
                    machine = costs.Machine(t_s, t_c)
                    _, segments = costs.optimal_pieces(
                        topology,
                        collective,
                        algorithm.name,
                        ports,
                        message_bytes,
                        machine,
                        **others,
                    )
                yield Point(
                    spec, collective, name, ports, int(segments), message_bytes, t_s, t_c, copies,
                    base, faults, seed, execution,
                )  # fmt: skip

    def _choices(
        self, algorithm: Algorithm, topology: Topology, fixed: Mapping[str, int | str]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the values on all other axes for one algorithm on one topology.

        These are ports, execution, base, copies, faults with their seed, segments or messages,
        message_bytes, t_s and t_c.
        """
        names = _argument_names(algorithm)
        copies: list[int | str] = [fixed.get("copies", 1)]
        if "copies" in names and "copies" not in fixed:
            copies = [topology.degree if count == DEGREE else count for count in self.copies]
        bases: tuple[int | str | None, ...] = (fixed.get("base"),)
        if "base" in names and self.base and "base" not in fixed:
            bases = self.base
        faults = [
            (resolve_faults(topology, text, seed), seed)
            for text in self.faults
            for seed in (self.seed if is_drawn(text) else (0,))
        ]
        return product(
            self.ports or algorithm.ports[:1],
            self.execution,
            bases,
            copies,
            faults,
            self._shares(algorithm, fixed),
            self.message_bytes,
            self.t_s,
            self.t_c,
        )

    def _shares(
        self, algorithm: Algorithm, fixed: Mapping[str, int | str]
    ) -> tuple[int | str, ...]:
        if algorithm.split_argument is None:
            return (1,)
        if algorithm.split_argument in fixed:
            return (fixed[algorithm.split_argument],)
        if algorithm.split_argument == "messages":
            return self.messages or self.segments
        return self.segments

    def _check_use(self) -> None:
        """Reject values on an axis that none of the algorithms has."""
        names: set[str] = set()
        for pair in product(self.collective, self.algorithm):
            algorithm, fixed = _find_algorithm(*pair)
            names |= _argument_names(algorithm) - fixed.keys()
        if not self.messages and "messages" in names:
            names.add("segments")
        for axis in ("base", "segments", "messages", "copies"):
            if axis not in names and getattr(self, axis) != _defaults()[axis]:
                *others, last = self.algorithm
                none = f"neither {', '.join(others)} nor {last} takes" if others else ""
                raise InputError(f"{none or f'{last} takes no'} {axis}", hint=f"omit {axis}")


def group_by_structure(points: Iterable[Point]) -> list[list[Point]]:
    """Return points without repetition, grouped by structure, in order of first appearance."""
    groups: dict[Structure, dict[Point, None]] = {}
    for point in points:
        groups.setdefault(point.structure, {})[point] = None
    return [list(group) for group in groups.values()]


def option_name(axis: str) -> str:
    """Return the command line option of an axis."""
    return "-m" if axis == "message_bytes" else f"--{axis.replace('_', '-')}"


def _find_algorithm(collective: str, text: str) -> tuple[Algorithm, Mapping[str, int | str]]:
    """Return the algorithm in a text such as ``forest(base=multiple)``, and its fixed arguments.

    Raises:
        InputError: it is unknown.
    """
    name, fixed = parse_spec(text, "algorithm")
    return catalogue.find(collective, name), fixed


def _argument_names(algorithm: Algorithm) -> set[str]:
    return {argument.name for argument in algorithm.arguments}


def _defaults() -> dict[str, Any]:
    return {field.name: field.default for field in fields(Grid) if field.name not in _REQUIRED}


def _as_json(value: Any) -> Any:
    return str(value) if isinstance(value, Fraction) else value


def _value_order(value: Any) -> tuple[bool, bool, Any]:
    """Sort numbers before words, and ``none`` before other words."""
    return isinstance(value, str), value != NONE, value


def _topology_order(spec: str) -> tuple[str, int]:
    topology = as_topology(spec)
    return topology.family, topology.nodes
