"""What is to be run: a point, and a grid of points from axes of values."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Self

from starcast.collectives.algorithm import Algorithm
from starcast.collectives.catalogue import check_topology, find
from starcast.errors import InputError
from starcast.runs import models
from starcast.topologies import topology

#: The axes of a grid, slowest first: what shares a schedule lies together.
AXES = ("topology", "algorithm", "ports", "segments", "m", "T_s", "T_c")

#: Bounds m, T_s, T_c and p, numerators and denominators alike: every figure made of them still is a double in PostgreSQL.
LARGEST = 10**30

# Checked before `Fraction` reads it, which would write out every digit that an exponent stands for.
_NUMBER = re.compile(r"[+-]?(\d{1,31}/\d{1,31}|(\d{1,31}\.?\d{0,30}|\.\d{1,30})([eE][+-]?\d{1,2})?)", re.ASCII)
_BOUNDS = "numerator and denominator are at most 10^30"
_SHOWN = 40
_NAME = re.compile(r"(?!\d+$)[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, order=True)
class Point:
    """One run to be.

    ``p`` is the number of pieces that a tree's share of the message is cut into: ``segments``, or the packets that an
    algorithm of messages sends one after the other (Tseng & Sheu 1997, Table 1, row [16]). ``m`` is in bytes, ``T_s`` in
    time a packet, ``T_c`` in time a byte.
    """

    topology: str
    collective: str
    algorithm: str
    ports: str
    p: int
    m: Fraction
    T_s: Fraction
    T_c: Fraction

    def __post_init__(self) -> None:
        rule = self.rule
        check_topology(rule, topology(self.topology))
        if self.ports not in rule.ports:
            raise InputError(
                f"{self.collective} by {self.algorithm} has no port model '{self.ports}'",
                hint=f"write {' or '.join(rule.ports)}",
            )
        for axis in ("p", "m", "T_s", "T_c"):
            value = Fraction(getattr(self, axis))
            if max(abs(value.numerator), value.denominator) > LARGEST:
                raise InputError(f"{axis} is beyond what is computed here", hint=_BOUNDS)
        if self.p < 1:
            raise InputError(f"a message cannot be cut into {self.p} segments", hint="give --segments 1 or more")
        if self.m < 0:
            raise InputError(f"a message of {self.m} bytes cannot be", hint="give -m 0 or more")
        if min(self.T_s, self.T_c) < 0 or self.T_s == self.T_c == 0:
            raise InputError(f"T_s = {self.T_s} and T_c = {self.T_c} are no machine", hint="give 0 or more, and not 0 for both")

    @classmethod
    def of(cls, run: models.Run) -> Self:
        """The point that a stored run is at."""
        return cls(run.topology, run.collective, run.algorithm, run.ports, run.p, run.m, run.T_s, run.T_c)

    @property
    def rule(self) -> Algorithm:
        """The algorithm's entry in the catalogue."""
        return find(self.collective, self.algorithm)

    @property
    def arguments(self) -> dict[str, int]:
        """The pieces under the name that the algorithm has for them: ``segments`` or ``messages``."""
        return {str(self.rule.share): self.p}

    @property
    def messages(self) -> int:
        """M, the unit messages of the schedule; 1 where the algorithm takes segments."""
        return self.arguments.get("messages", 1)

    @property
    def structure(self) -> tuple[str, str, str, str, int]:
        """What decides the schedule; points that differ in m, T_s and T_c alone share it."""
        return self.topology, self.collective, self.algorithm, self.ports, self.p

    def command(self) -> str:
        """The command line that runs it."""
        return (
            f"starcast run once {self.topology} {self.collective} {self.algorithm} --ports {self.ports}"
            f" --segments {self.p} -m {self.m} --t-s {self.T_s} --t-c {self.T_c}"
        )


@dataclass(frozen=True)
class Grid:
    """Every combination of the values on its axes, each axis in ascending order without repetition."""

    topology: tuple[str, ...]
    algorithm: tuple[str, ...]
    m: tuple[Fraction, ...]
    collective: str = "broadcast"
    ports: tuple[str, ...] = ("all",)
    segments: tuple[int, ...] = (1,)
    T_s: tuple[Fraction, ...] = (Fraction(100),)
    T_c: tuple[Fraction, ...] = (Fraction(1),)

    def __post_init__(self) -> None:
        for axis in AXES:
            values = getattr(self, axis)
            if not values:
                raise InputError(f"the grid has no {axis}", hint=f"give at least one: {_flag(axis)} ...")
            key = _size if axis == "topology" else None
            object.__setattr__(self, axis, tuple(sorted(set(values), key=key)))
        self.points()

    def points(self) -> list[Point]:
        """All points, the slowest axis first.

        Raises:
            InputError: one of them cannot be.
        """
        axes = product(*(getattr(self, axis) for axis in AXES))
        return [Point(values[0], self.collective, *values[1:]) for values in axes]

    def as_json(self) -> dict[str, Any]:
        """The grid in the form in which it is stored: rational numbers as text."""
        axes = {axis: [_plain(value) for value in getattr(self, axis)] for axis in AXES}
        return {"collective": self.collective, **axes}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """The grid from that form, or from a TOML file's keys; one value may stand without a list.

        Raises:
            InputError: a key is unknown, an axis without default is missing, or a value cannot be.
        """
        unknown = next((key for key in stored if key not in {"collective", *AXES}), None)
        if unknown is not None:
            raise InputError(f"'{unknown}' is no axis of a grid", hint=f"there are collective, {', '.join(AXES)}")
        axes: dict[str, Any] = {axis: tuple(_values(axis, stored[axis])) for axis in AXES if axis in stored}
        missing = next((axis for axis in ("topology", "algorithm", "m") if axis not in axes), None)
        if missing is not None:
            raise InputError(f"the grid has no {missing}", hint=f"give at least one: {_flag(missing)} ...")
        return cls(collective=str(stored.get("collective", "broadcast")), **axes)

    def command(self, name: str) -> str:
        """The command line that runs it as an experiment."""
        flags = [f"--collective {self.collective}"]
        flags += [f"{_flag(axis)} {shlex.quote(str(value))}" for axis in AXES for value in getattr(self, axis)]
        return f"starcast experiment run {name} {' '.join(flags)}"


def number(words: str | float | Fraction, axis: str) -> Fraction:
    """A rational number out of what a user wrote: ``1024``, ``2.5``, ``23/3``.

    Raises:
        InputError: it is none, or has too many digits.
    """
    text = str(words).strip()
    if not _NUMBER.fullmatch(text):
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise InputError(f"{axis} is '{shown}', which is no number here", hint=f"write 1024, 2.5 or 23/3; {_BOUNDS}")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise InputError(f"{axis} is '{text}', which is no number", hint="write 1024, 2.5 or 23/3") from None


def check_name(name: str) -> str:
    """Accept a name for an experiment; digits alone are a run's number.

    Raises:
        InputError: it cannot be one.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"'{name}' cannot name an experiment", hint="write letters, digits, '.', '_' and '-', not digits alone"
        )
    return name


def _values(axis: str, stored: Any) -> Iterator[Any]:
    listed: Sequence[Any] = stored if isinstance(stored, list | tuple) else [stored]
    for value in listed:
        if axis in {"m", "T_s", "T_c"}:
            yield number(value, axis)
        elif axis == "segments":
            whole = number(value, axis)
            if whole.denominator != 1:
                raise InputError(f"segments is {value}, no whole number", hint="give --segments 1 or more")
            yield int(whole)
        else:
            yield str(value)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Fraction) else value


def _flag(axis: str) -> str:
    return "-m" if axis == "m" else f"--{axis.replace('_', '-').lower()}"


def _size(spec: str) -> tuple[str, int]:
    where = topology(spec)
    return where.family, where.nodes
