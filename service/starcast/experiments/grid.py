"""A grid of experiment points: all combinations of the values on several axes."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, make_dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Self

from starcast.collectives import catalogue
from starcast.collectives.algorithm import Algorithm
from starcast.experiments.point import ARGUMENT_AXES, Point, Structure, resolve_faults
from starcast.support.axes import AXES, BEST, DEGREE, NONE, POINT_AXES, drawn_faults, read_axis
from starcast.support.errors import InputError, LimitError
from starcast.support.spec_syntax import format_spec, parse_spec
from starcast.support.text import did_you_mean
from starcast.topologies import Topology, as_topology

__all__ = ["Grid", "Point", "group_by_structure"]

#: The maximum number of points in a grid.
MAX_POINTS = 100_000

_REQUIRED = tuple(name for name, axis in AXES.items() if axis.is_required)
#: The axes that vary for one algorithm on one topology. The first axis varies slowest. Axes that
#: affect only the cost of a schedule come last. The axis ``seed`` is not in the list, because it
#: varies together with the faults.
_VARIED = sorted(
    (name for name in POINT_AXES if name not in {"topology", "collective", "algorithm", "seed"}),
    key=lambda name: not AXES[name].is_structural,
)

if TYPE_CHECKING:

    class _Axes:
        __dataclass_fields__: ClassVar[dict[str, Any]]

        def __init__(self, *required: Iterable[Any], **axes: Iterable[Any]) -> None: ...
        def __getattr__(self, axis: str) -> tuple[Any, ...]: ...

else:
    # The class has a field for each axis that is declared in `AXES`, so it is created dynamically.
    _OPTIONAL = [
        (name, tuple, field(default=axis.grid_default))
        for name, axis in AXES.items()
        if name not in _REQUIRED
    ]
    _Axes = make_dataclass(
        "_Axes",
        [*((name, tuple) for name in _REQUIRED), *_OPTIONAL],
        frozen=True,
        namespace={"__post_init__": None},  # defined by `Grid`
    )


class Grid(_Axes):
    """A grid of points: all combinations of the values on several axes.

    Each of `AXES` is an attribute that holds a tuple of values in ascending order. Topologies,
    algorithms and message_bytes are required and may be given by position in this order.

    If an algorithm does not use an axis, the axis is ignored for this algorithm, so that no point
    is repeated. Arguments fixed in an algorithm, as in ``forest(base=multiple)``, replace those of
    the axes. If ports or base are not given, each algorithm's default is used; if messages are not
    given, the segments are used. Counts may be words: ``best`` stands for the optimal number
    (`starcast.costs.optimal_pieces`) at each message_bytes, t_s and t_c; ``degree`` stands for the
    degree of the topology, which is n-1 on S_n. Faults are ``none``, a number of faults to be drawn
    at random, such as ``2 nodes`` or ``1 link``, or labels of nodes and links separated by blanks.
    Seeds are ignored if no faults are drawn.

    Example:
        >>> Grid(("S5",), ("multiple",), (Fraction(1024),), segments=(1, "best")).points()
    """

    def __post_init__(self) -> None:
        for axis, declared in AXES.items():
            values = getattr(self, axis)
            if not values and (declared.is_required or declared.grid_default):
                raise _missing(axis)
            order: Callable[[Any], Any] = _topology_order if axis == "topology" else _value_order
            # The class is frozen; attributes are set only here, while the object is created.
            object.__setattr__(self, axis, tuple(sorted(set(values), key=order)))
        # Points are counted before any is created, because a few long axes could exhaust memory.
        most = prod(max(len(getattr(self, axis)), 1) for axis in AXES)
        if most > MAX_POINTS:
            raise LimitError(
                f"the grid has {most:,} points, more than {MAX_POINTS:,}",
                hint="give fewer values per axis",
            )
        self._check_use()
        self.points()  # raises an error if a point is not valid

    def points(self) -> list[Point]:
        """Return all points; those with the same `Point.structure` are next to each other.

        Raises:
            InputError: a point is not valid.
        """
        return [point for group in self._groups for point in group]

    def as_json(self) -> dict[str, list[Any]]:
        """Return the grid as JSON values, with rational numbers as text."""
        axes = {axis: [_as_json(value) for value in getattr(self, axis)] for axis in AXES}
        return {axis: values for axis, values in axes.items() if values}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return a grid from its JSON values, or from the keys of a TOML file.

        Raises:
            InputError: a key is unknown, a required axis is missing, or a value is not valid.
        """
        for key in stored:
            if key not in AXES:
                raise InputError(
                    f"'{key}' is not an axis of a grid",
                    hint=f"{did_you_mean(key, AXES)}the axes are {', '.join(AXES)}",
                )
        axes = {
            axis: read_axis(axis, stored[axis], declared.read)
            for axis, declared in AXES.items()
            if axis in stored
        }
        missing = next((axis for axis in _REQUIRED if axis not in axes), None)
        if missing is not None:
            raise _missing(missing)
        return cls(**axes)

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
            for choice in product(*self._choices(algorithm, topology, fixed)):
                values = dict(zip(_VARIED, choice, strict=True))
                values["faults"], values["seed"] = values["faults"]
                if values["segments"] == BEST:
                    # Imported only when needed, because few grids need the closed forms.
                    from starcast import costs  # noqa: PLC0415

                    others = {"copies": values["copies"]}
                    _, values["segments"] = costs.optimal_pieces(
                        topology,
                        collective,
                        algorithm.name,
                        values["ports"],
                        values["message_bytes"],
                        costs.Machine(values["t_s"], values["t_c"]),
                        **(others if "copies" in _argument_names(algorithm) else {}),
                    )
                yield Point(spec, collective, name, **values)

    def _choices(
        self, algorithm: Algorithm, topology: Topology, fixed: Mapping[str, int | str]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield, for each axis of `_VARIED`, its values for an algorithm on a topology.

        A value of the axis ``faults`` is a pair: the faults, and the seed with which they were
        drawn.
        """
        names = _argument_names(algorithm)
        for axis in _VARIED:
            values = getattr(self, axis)
            if axis == "ports":
                values = values or algorithm.ports[:1]
            elif axis == "faults":
                values = tuple(
                    (resolve_faults(topology, text, seed), seed)
                    for text in values
                    # The seed has no effect on faults given by labels.
                    for seed in (self.seed if drawn_faults(text) else (0,))
                )
            elif axis == "segments":
                values = self._shares(algorithm, fixed)
            elif axis in ARGUMENT_AXES:
                usual = AXES[axis].usual
                is_open = axis in names and axis not in fixed and values
                values = values if is_open else (fixed.get(axis, usual),)
            yield tuple(topology.degree if value == DEGREE else value for value in values)

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
        """Raise an error if values are given for an axis that none of the algorithms uses."""
        names: set[str] = set()
        for pair in product(self.collective, self.algorithm):
            algorithm, fixed = _find_algorithm(*pair)
            names |= _argument_names(algorithm) - fixed.keys()
        # If the axis ``messages`` is not given, `_shares` uses ``segments`` instead.
        if not self.messages and "messages" in names:
            names.add("segments")
        for axis in ARGUMENT_AXES:
            if axis not in names and getattr(self, axis) != AXES[axis].grid_default:
                *others, last = self.algorithm
                none = f"neither {', '.join(others)} nor {last} takes" if others else ""
                raise InputError(f"{none or f'{last} takes no'} {axis}", hint=f"omit {axis}")


def grid_command(stored: Mapping[str, Any], name: str) -> str:
    """Return the command line that runs a stored grid as an experiment with the given name."""
    axes = [
        axis
        for axis, declared in AXES.items()
        if axis in stored
        and not (declared.has_usual and stored[axis] == list(map(_as_json, declared.grid_default)))
    ]
    axes.sort(key=lambda axis: axis != "collective")
    options = [
        f"{AXES[axis].option} {shlex.quote(str(value))}" for axis in axes for value in stored[axis]
    ]
    return f"starcast experiment run {name} {' '.join(options)}"


def group_by_structure(points: Iterable[Point]) -> list[list[Point]]:
    """Group distinct points by `Point.structure`, in order of first appearance."""
    groups: dict[Structure, dict[Point, None]] = {}
    for point in points:
        groups.setdefault(point.structure, {})[point] = None
    return [list(group) for group in groups.values()]


def _find_algorithm(collective: str, text: str) -> tuple[Algorithm, Mapping[str, int | str]]:
    """Return the algorithm in a text such as ``forest(base=multiple)``, and its fixed arguments.

    Raises:
        InputError: the algorithm is unknown.
    """
    name, fixed = parse_spec(text, "algorithm")
    return catalogue.find(collective, name), fixed


def _argument_names(algorithm: Algorithm) -> set[str]:
    return {argument.name for argument in algorithm.arguments}


def _missing(axis: str) -> InputError:
    return InputError(f"the grid has no {axis}", hint=f"give at least one: {AXES[axis].option} ...")


def _as_json(value: Any) -> Any:
    return str(value) if isinstance(value, Fraction) else value


def _value_order(value: Any) -> tuple[bool, bool, Any]:
    """Return a sort key that puts numbers before words, and ``none`` before other words."""
    return isinstance(value, str), value != NONE, value


def _topology_order(spec: str) -> tuple[str, int]:
    topology = as_topology(spec)
    return topology.family, topology.nodes
