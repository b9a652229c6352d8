"""A grid of points from axes of values."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, Self

from starcast import costs
from starcast.collectives.algorithm import Algorithm
from starcast.collectives.catalogue import check_topology, find
from starcast.errors import InputError, LimitError
from starcast.experiments.faults import NONE, faults, is_drawn, spoken
from starcast.experiments.point import Point, Structure
from starcast.experiments.values import BEST, DEGREE, count, listed, number, seed, word
from starcast.topologies import Topology, topology

__all__ = ["AXES", "Grid", "Point", "sharing"]

#: More points than an experiment holds: a grid is a product, and a product is soon too large.
MOST_POINTS = 100_000

#: The axes of a grid, slowest first, each with what reads one of its values.
READERS: dict[str, Callable[[Any, str], Any]] = {
    "topology": word,
    "collective": word,
    "algorithm": word,
    "tree": word,
    "ports": word,
    "segments": lambda value, axis: count(value, axis, (BEST, DEGREE)),
    "messages": lambda value, axis: count(value, axis, (BEST, DEGREE)),
    "copies": lambda value, axis: count(value, axis, (DEGREE,)),
    "faults": lambda value, axis: spoken(word(value, axis)),
    "seed": seed,
    "m": number,
    "T_s": number,
    "T_c": number,
}
AXES = tuple(READERS)
_NEEDED = ("topology", "algorithm", "m")
#: The axes that a command line leaves out where they are as they are by default.
_QUIET = ("copies", "faults", "seed")


@dataclass(frozen=True)
class Grid:
    """Every combination of the values on its axes, each axis in ascending order without repetition.

    An axis that an algorithm does not have collapses for it, so that no point comes twice. Counts may be words: ``best`` is
    the whole number of `starcast.costs.optimal_pieces` at each m, T_s and T_c, ``degree`` the degree of the topology, n-1 on S_n.

    Attributes:
        topology, algorithm, m, T_s, T_c: as in `Point`; m, T_s and T_c in bytes, time a packet and time a byte.
        collective: what the algorithms are asked for.
        ports: port models; each algorithm's own first one where there is none.
        tree: constructions, for algorithms that take one; their default where there is none.
        segments: pieces of a tree's share; for an algorithm of messages, its messages, where ``messages`` is empty.
        messages: unit messages M.
        copies: trees that carry each unit.
        faults: ``none``, ``2 nodes`` or ``1 link`` drawn by lot, or nodes and links by their labels, separated by blanks.
        seed: of the lots; it collapses where nothing is drawn.
    """

    topology: tuple[str, ...]
    algorithm: tuple[str, ...]
    m: tuple[Fraction, ...]
    collective: tuple[str, ...] = ("broadcast",)
    ports: tuple[str, ...] = ()
    tree: tuple[str, ...] = ()
    segments: tuple[int | str, ...] = (1,)
    messages: tuple[int | str, ...] = ()
    copies: tuple[int | str, ...] = (1,)
    faults: tuple[str, ...] = (NONE,)
    seed: tuple[int, ...] = (0,)
    T_s: tuple[Fraction, ...] = (Fraction(100),)
    T_c: tuple[Fraction, ...] = (Fraction(1),)

    def __post_init__(self) -> None:
        defaults = _defaults()
        for axis in AXES:
            values = getattr(self, axis)
            if not values and defaults.get(axis) != ():
                raise InputError(
                    f"the grid has no {axis}", hint=f"give at least one: {flag(axis)} ..."
                )
            object.__setattr__(
                self, axis, tuple(sorted(set(values), key=_size if axis == "topology" else _order))
            )
        most = prod(max(len(getattr(self, axis)), 1) for axis in AXES)
        if most > MOST_POINTS:
            raise LimitError(
                f"the grid has {most:,} points, more than {MOST_POINTS:,}",
                hint="take fewer values an axis",
            )
        self._check_use()
        self.points()  # one that cannot be is refused here

    def points(self) -> list[Point]:
        """All points, the slowest axis first, those that share a schedule together.

        Raises:
            InputError: one of them cannot be.
        """
        return [point for together in self._together for point in together]

    def as_json(self) -> dict[str, list[Any]]:
        """The grid in the form in which it is stored: rational numbers as text."""
        axes = {axis: [_plain(value) for value in getattr(self, axis)] for axis in AXES}
        return {axis: values for axis, values in axes.items() if values}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The grid from that form, or from a TOML file's keys; one value may stand without a list.

        Raises:
            InputError: a key is unknown, an axis without default is missing, or a value cannot be.
        """
        for key in stored:
            if key not in AXES:
                near = get_close_matches(key, AXES, n=1)
                meant = f"did you mean '{near[0]}'? " if near else ""
                raise InputError(
                    f"'{key}' is no axis of a grid", hint=f"{meant}there are {', '.join(AXES)}"
                )
        axes = {
            axis: listed(axis, stored[axis], read)
            for axis, read in READERS.items()
            if axis in stored
        }
        missing = next((axis for axis in _NEEDED if axis not in axes), None)
        if missing is not None:
            raise InputError(
                f"the grid has no {missing}", hint=f"give at least one: {flag(missing)} ..."
            )
        return cls(**axes)

    def command(self, name: str) -> str:
        """The command line that runs it as an experiment."""
        defaults = _defaults()
        told = [
            axis for axis in AXES if axis not in _QUIET or getattr(self, axis) != defaults[axis]
        ]
        told.sort(key=lambda axis: axis != "collective")
        flags = [
            f"{flag(axis)} {shlex.quote(str(value))}"
            for axis in told
            for value in getattr(self, axis)
        ]
        return f"starcast experiment run {name} {' '.join(flags)}"

    @cached_property
    def _together(self) -> list[list[Point]]:
        return sharing(self._points())

    def _points(self) -> Iterator[Point]:
        for spec, collective, name in product(self.topology, self.collective, self.algorithm):
            rule, where = find(collective, name), topology(spec)
            check_topology(rule, where)
            for ports, tree, copies, (lost, lot), share, m, t_s, t_c in self._of(rule, where):
                p = where.degree if share == DEGREE else share
                if p == BEST:
                    others = {"copies": copies} if "copies" in _arguments(rule) else {}
                    p = costs.optimal_pieces(
                        where, collective, name, ports, m, costs.Machine(t_s, t_c), **others
                    )[1]
                yield Point(
                    spec, collective, name, ports, int(p), m, t_s, t_c, copies, tree, lost, lot
                )

    def _of(self, rule: Algorithm, topology: Topology) -> Iterator[tuple[Any, ...]]:
        """Ports, tree, copies, faults with their seed, share, m, T_s and T_c of one algorithm on one topology."""
        names = _arguments(rule)
        copies = (
            [topology.degree if one == DEGREE else one for one in self.copies]
            if "copies" in names
            else [1]
        )
        return product(
            self.ports or rule.ports[:1],
            (self.tree or (None,)) if "base" in names else (None,),
            copies,
            [
                (faults(topology, words, lot), lot)
                for words in self.faults
                for lot in self._lots(words)
            ],
            self._shares(rule),
            self.m,
            self.T_s,
            self.T_c,
        )

    def _lots(self, words: str) -> tuple[int, ...]:
        return self.seed if is_drawn(words) else (0,)

    def _shares(self, rule: Algorithm) -> tuple[int | str, ...]:
        if rule.split_argument is None:
            return (1,)
        return (
            self.messages or self.segments if rule.split_argument == "messages" else self.segments
        )

    def _check_use(self) -> None:
        """Refuse values on an axis that none of the algorithms has: whoever wrote them expects something of them."""
        rules = [find(*pair) for pair in product(self.collective, self.algorithm)]
        names = set().union(*map(_arguments, rules))
        if not self.messages and "messages" in names:
            names.add("segments")
        for axis in ("tree", "segments", "messages", "copies"):
            if axis not in names and getattr(self, axis) != _defaults()[axis]:
                *others, last = self.algorithm
                nobody = (
                    f"neither {', '.join(others)} nor {last} takes"
                    if others
                    else f"{last} takes no"
                )
                raise InputError(f"{nobody} {axis}", hint=f"leave {axis} out")


def sharing(points: Iterable[Point]) -> list[list[Point]]:
    """Points without repetition, those together that share a schedule; both in order of their first appearance."""
    together: dict[Structure, dict[Point, None]] = {}
    for point in points:
        together.setdefault(point.structure, {})[point] = None
    return [list(some) for some in together.values()]


def flag(axis: str) -> str:
    """The flag of the command line that an axis goes by."""
    return "-m" if axis == "m" else f"--{axis.replace('_', '-').lower()}"


def _arguments(rule: Algorithm) -> set[str]:
    return {argument.name for argument in rule.arguments}


def _defaults() -> dict[str, Any]:
    return {field.name: field.default for field in fields(Grid) if field.name not in _NEEDED}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Fraction) else value


def _order(value: Any) -> tuple[bool, bool, Any]:
    """Numbers before words, and of words ``none`` first."""
    return isinstance(value, str), value != NONE, value


def _size(spec: str) -> tuple[str, int]:
    where = topology(spec)
    return where.family, where.nodes
