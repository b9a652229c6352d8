"""A grid of experiment points: all combinations of the values on several axes."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from starcast.collectives.algorithm import Algorithm, check_topology, find_algorithm
from starcast.experiments.point import ARGUMENT_AXES, Point, Structure, resolve_faults
from starcast.support.axes import AXES, BEST, DEGREE, NONE, POINT_AXES, drawn_faults, read_axis
from starcast.support.errors import InputError, LimitError
from starcast.support.spec_syntax import format_spec, parse_spec
from starcast.support.text import did_you_mean
from starcast.topologies import Topology, as_topology

#: The maximum number of points in a grid.
MAX_POINTS = 100_000

#: The axes that vary for one algorithm on one topology. The first axis varies slowest. Axes that
#: affect only the cost of a schedule come last. The axis ``seed`` is not in the list, because it
#: varies together with the faults.
_VARIED = sorted(
    (name for name in POINT_AXES if name not in {"topology", "collective", "algorithm", "seed"}),
    key=lambda name: not AXES[name].is_structural,
)


@dataclass(frozen=True)
class Grid:
    """A grid of points: all combinations of the values on several axes.

    If an algorithm does not use an axis, the axis is ignored for this algorithm, so that no point
    is repeated. Arguments fixed in an algorithm, as in ``forest(base=multiple)``, replace those of
    the axes. If ports or base are not given, each algorithm's default is used; if messages are not
    given, the segments are used. Counts may be words: ``best`` stands for the optimal number
    (`starcast.costs.optimal_pieces`) at each message_bytes, t_s and t_c; ``degree`` stands for the
    degree of the topology, which is n-1 on S_n. Faults are ``none``, a number of faults to be drawn
    at random, such as ``2 nodes`` or ``1 link``, or labels of nodes and links separated by blanks.
    Seeds are ignored if no faults are drawn.

    Args:
        axes: values by axis, each a value or a list, as JSON values or as the keys of a TOML file.

    Attributes:
        axes: for each of `AXES`, a tuple of values in ascending order.

    Raises:
        InputError: a key is unknown, a required axis is missing, a value is not valid, or no
            algorithm uses an axis.
        LimitError: there are too many points.

    Example:
        >>> Grid({"topology": "S5", "algorithm": "multiple", "message_bytes": 1024}).points()
    """

    axes: Mapping[str, Any]

    def __post_init__(self) -> None:
        for key in self.axes:
            if key not in AXES:
                raise InputError(
                    f"'{key}' is not an axis of a grid",
                    hint=f"{did_you_mean(key, AXES)}the axes are {', '.join(AXES)}",
                )
        given = {
            axis: read_axis(axis, self.axes[axis], declared.read)
            for axis, declared in AXES.items()
            if axis in self.axes
        }
        for axis, declared in AXES.items():
            if declared.is_required and axis not in given:
                raise InputError(
                    f"the grid has no {axis}", hint=f"give at least one: {declared.option} ..."
                )
        axes = {}
        for axis, declared in AXES.items():
            order: Callable[[Any], Any] = _topology_order if axis == "topology" else _value_order
            axes[axis] = tuple(sorted(set(given.get(axis, declared.grid_default)), key=order))
        # The class is frozen; the attribute is set only here, while the object is created.
        object.__setattr__(self, "axes", axes)
        # Points are counted before any is created, because a few long axes could exhaust memory.
        most = prod(max(len(values), 1) for values in axes.values())
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
        return {axis: list(map(_as_json, values)) for axis, values in self.axes.items() if values}

    @cached_property
    def _groups(self) -> list[list[Point]]:
        return group_by_structure(self._points())

    def _points(self) -> Iterator[Point]:
        for spec, collective, text in product(
            *(self.axes[axis] for axis in ("topology", "collective", "algorithm"))
        ):
            algorithm, fixed = _find_algorithm(collective, text)
            own = {key: value for key, value in fixed.items() if key not in ARGUMENT_AXES}
            name = format_spec(algorithm.name, own)
            topology = as_topology(spec)
            check_topology(algorithm, topology)
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
            values = self.axes[axis]
            if axis == "ports":
                values = values or algorithm.ports[:1]
            elif axis == "faults":
                values = tuple(
                    (resolve_faults(topology, text, seed), seed)
                    for text in values
                    # The seed has no effect on faults given by labels.
                    for seed in (self.axes["seed"] if drawn_faults(text) else (0,))
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
        name = algorithm.split_argument
        if name is None:
            return (1,)
        if name in fixed:
            return (fixed[name],)
        messages = self.axes["messages"] if name == "messages" else ()
        shares: tuple[int | str, ...] = messages or self.axes["segments"]
        return shares

    def _check_use(self) -> None:
        """Raise an error if values are given for an axis that none of the algorithms uses."""
        names: set[str] = set()
        for pair in product(self.axes["collective"], self.axes["algorithm"]):
            algorithm, fixed = _find_algorithm(*pair)
            names |= _argument_names(algorithm) - fixed.keys()
        # If the axis ``messages`` is not given, `_shares` uses ``segments`` instead.
        if not self.axes["messages"] and "messages" in names:
            names.add("segments")
        for axis in ARGUMENT_AXES:
            if axis not in names and self.axes[axis] != AXES[axis].grid_default:
                *others, last = self.axes["algorithm"]
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
    return find_algorithm(collective, name), fixed


def _argument_names(algorithm: Algorithm) -> set[str]:
    return {argument.name for argument in algorithm.arguments}


def _as_json(value: Any) -> Any:
    return str(value) if isinstance(value, Fraction) else value


def _value_order(value: Any) -> tuple[bool, bool, Any]:
    """Return a sort key that puts numbers before words, and ``none`` before other words."""
    return isinstance(value, str), value != NONE, value


def _topology_order(spec: str) -> tuple[str, int]:
    topology = as_topology(spec)
    return topology.family, topology.nodes
