"""Experiment designs: the points (combinations of parameters) for which an experiment has runs.

A design is the union of one or several grids. Designs are read from TOML files and stored as JSON.
Some designs come with starcast as examples.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache, partial
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from starcast.collectives.algorithm import Algorithm, find_algorithm
from starcast.experiments.faults import resolve_faults
from starcast.experiments.point import ARGUMENT_AXES, Point, PointStructure, find_root, has_root
from starcast.support.axes import (
    AXES,
    BEST,
    DEGREE,
    NONE,
    POINT_AXES,
    drawn_faults,
    read_axis,
    read_word,
)
from starcast.support.errors import InputError, LimitError, StarcastError, errors_in, unreadable
from starcast.support.installation import data_folder
from starcast.support.limited import parse_toml, read_text
from starcast.support.runs import Run
from starcast.support.text import did_you_mean, pluralize
from starcast.support.vocabulary import MAX_NAME, format_spec, parse_spec
from starcast.topologies import Topology, as_topology

if TYPE_CHECKING:
    from starcast.stores.database import models

#: The maximum number of combinations of the values in a grid, and thus of its points.
MAX_POINTS = 100_000

#: The axes whose values are combined for each algorithm on each topology; the first axis varies
#: most slowly. Axes that affect only the cost of a schedule come last. The axis ``seed`` is not
#: included, because seeds are combined with ``faults`` only.
_VARIED = sorted(
    (name for name in POINT_AXES if name not in {"topology", "collective", "algorithm", "seed"}),
    key=lambda name: not AXES[name].is_structural,
)


@dataclass(frozen=True)
class Grid:
    """A grid of points: all combinations of the values on several axes.

    If an algorithm does not use an axis, the axis is ignored for this algorithm, so that no point
    is repeated. Arguments in parentheses, such as ``forest(base=multiple)``, replace the values of
    the axes. If ``ports`` or ``base`` is not given, the algorithm's default is used; if
    ``messages`` is not given, the values of ``segments`` are used.

    A number of segments or messages may also be ``best``, the optimal number for each combination
    of message_bytes, t_s and t_c (`starcast.costs.optimal_pieces`). A number of segments, messages
    or copies may be ``degree``, the degree of the topology (n-1 on S_n). A value of ``faults`` is a
    string in one of three forms: ``none``; a number of random faults, such as ``2 nodes`` or ``1
    link``; or labels of nodes and links, separated by spaces. The root is never a random fault. If
    a collective has no root, ``root`` is ignored. If there are no random faults, seeds are ignored.

    Args:
        axes: a value or a list of values for each axis, as JSON or TOML values.

    Attributes:
        axes: a tuple of values in ascending order for each axis in `AXES`.

    Raises:
        InputError: a key is not an axis, a required axis is missing, a value is invalid, or an axis
            has values that no algorithm of the grid uses.
        LimitError: the values have more than `MAX_POINTS` combinations.

    Example:
        >>> axes = {"topology": ["S4", "S5"], "algorithm": "multiple", "message_bytes": 1024}
        >>> len(Grid(axes).points())
        2
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
                    f"the grid has no {axis}",
                    hint=f"specify at least one value: {declared.option} ...",
                )
        axes = {}
        for axis, declared in AXES.items():
            order: Callable[[Any], Any] = _topology_order if axis == "topology" else _value_order
            axes[axis] = tuple(sorted(set(given.get(axis, declared.grid_default)), key=order))
        # object.__setattr__ is used, because the class is frozen.
        object.__setattr__(self, "axes", axes)
        # Combinations are counted before points are created, because the points of a few long axes
        # could exhaust memory.
        most = prod(max(len(values), 1) for values in axes.values())
        if most > MAX_POINTS:
            raise LimitError(
                f"the grid has {most:,} points; at most {MAX_POINTS:,} are supported",
                hint="use fewer values per axis",
            )
        self._check_use()
        self.points()  # raises an error if a point is invalid

    def points(self) -> list[Point]:
        """Return all points of the grid; points with equal `Point.structure` are consecutive.

        Raises:
            InputError: a point is invalid.
        """
        return [point for group in self._groups for point in group]

    def as_json(self) -> dict[str, list[Any]]:
        """Return the grid as JSON values, with rational numbers as strings."""
        return {axis: list(map(_as_json, values)) for axis, values in self.axes.items() if values}

    @cached_property
    def _groups(self) -> list[list[Point]]:
        return group_by_structure(self._points())

    def _points(self) -> Iterator[Point]:
        for spec, collective, text in product(
            *(self.axes[axis] for axis in ("topology", "collective", "algorithm"))
        ):
            topology = as_topology(spec)
            algorithm, fixed = _find_algorithm(collective, text, topology)
            own = {key: value for key, value in fixed.items() if key not in ARGUMENT_AXES}
            name = format_spec(algorithm.name, own)
            find_faults = cache(partial(resolve_faults, topology))
            for choice in product(*self._choices(algorithm, topology, fixed)):
                values = dict(zip(_VARIED, choice, strict=True))
                described, values["seed"] = values["faults"]
                root = find_root(topology, values["root"])
                values["faults"] = find_faults(described, values["seed"], root)
                if values["segments"] == BEST:
                    # The closed forms are imported only here, because few grids need them.
                    from starcast import costs  # noqa: PLC0415

                    others = {"copies": values["copies"]}
                    _, values["segments"] = costs.optimal_pieces(
                        topology,
                        collective,
                        algorithm.name,
                        values["ports"],
                        values["message_bytes"],
                        costs.Machine(values["t_s"], values["t_c"]),
                        **(others if "copies" in algorithm.argument_names else {}),
                    )
                yield Point(spec, collective, name, **values)

    def _choices(
        self, algorithm: Algorithm, topology: Topology, fixed: Mapping[str, int | str]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the values of each axis in `_VARIED` for an algorithm on a topology.

        A value of the axis ``faults`` is a pair: the text in the grid, such as ``2 nodes``, and the
        seed with which these faults are drawn.

        Args:
            algorithm: the algorithm.
            topology: the topology.
            fixed: the arguments that follow the algorithm's name in parentheses in the grid.
        """
        names = algorithm.argument_names
        for axis in _VARIED:
            values = self.axes[axis]
            if axis == "ports":
                values = values or algorithm.ports[:1]
            elif axis == "faults":
                values = tuple(
                    (text, seed)
                    for text in values
                    # If faults are given by labels, the seed has no effect.
                    for seed in (self.axes["seed"] if drawn_faults(text) else (0,))
                )
            elif axis == "root":
                values = (values if has_root(algorithm.collective) else ()) or (None,)
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
        """Raise an InputError if an axis has values that no algorithm of the grid uses."""
        if self.axes["root"] and not any(map(has_root, self.axes["collective"])):
            listed = ", ".join(self.axes["collective"])
            raise InputError(f"none of these collectives has a root: {listed}", hint="omit root")
        names: set[str] = set()
        for spec, collective, text in product(
            *(self.axes[axis] for axis in ("topology", "collective", "algorithm"))
        ):
            algorithm, fixed = _find_algorithm(collective, text, as_topology(spec))
            names |= set(algorithm.argument_names) - fixed.keys()
        # If the axis ``messages`` is not given, `_shares` uses ``segments`` instead.
        if not self.axes["messages"] and "messages" in names:
            names.add("segments")
        for axis in ARGUMENT_AXES:
            if axis not in names and self.axes[axis] != AXES[axis].grid_default:
                *others, last = self.axes["algorithm"]
                none = f"neither {', '.join(others)} nor {last} has an" if others else ""
                raise InputError(
                    f"{none or f'{last} has no'} argument '{axis}'", hint=f"omit {axis}"
                )


def grid_command(stored: Mapping[str, Any], name: str) -> str:
    """Return the command line that executes an experiment with the given grid and name."""
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
    """Group points by `Point.structure`, in order of first appearance, without repeated points."""
    groups: dict[PointStructure, dict[Point, None]] = {}
    for point in points:
        groups.setdefault(point.structure, {})[point] = None
    return [list(group) for group in groups.values()]


def _find_algorithm(
    collective: str, text: str, topology: Topology
) -> tuple[Algorithm, Mapping[str, int | str]]:
    """Return the algorithm and the arguments in a string such as ``forest(base=multiple)``.

    Raises:
        InputError: the algorithm is unknown, or not defined on the topology.
    """
    name, fixed = parse_spec(text, "algorithm")
    return find_algorithm(collective, name, topology), fixed


def _as_json(value: Any) -> Any:
    return str(value) if isinstance(value, Fraction) else value


def _value_order(value: Any) -> tuple[bool, bool, Any]:
    """Return a sort key that sorts numbers before words, and ``none`` before other words."""
    return isinstance(value, str), value != NONE, value


def _topology_order(spec: str) -> tuple[str, int]:
    topology = as_topology(spec)
    return topology.family, topology.nodes


_TEXTS = ("title", "description")
_GRID = "grid"
#: Maximum total number of points in the grids of a design.
_MAX_POINTS = 2 * MAX_POINTS
_NAME = re.compile(r"(?!\d+$)[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Design:
    """The design of an experiment: the union of the points of one or several grids."""

    grids: tuple[Grid, ...]
    title: str = ""
    description: str = ""

    def points(self) -> list[Point]:
        """Return all points of the design, in the order of `groups`."""
        return [point for group in self.groups for point in group]

    @cached_property
    def groups(self) -> list[list[Point]]:
        """The points in groups with equal `Point.structure`; a group needs only one execution."""
        return group_by_structure(point for grid in self.grids for point in grid.points())

    def as_json(self) -> dict[str, Any]:
        """Return the design as JSON values: the axes of a single grid, or a list of grids."""
        texts = {key: value for key in _TEXTS if (value := getattr(self, key))}
        grids = [grid.as_json() for grid in self.grids]
        return texts | (grids[0] if len(grids) == 1 else {_GRID: grids})

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> Self:
        """Return a design from its JSON values, or from the keys of a TOML file.

        Args:
            stored: the axes of one grid, or the key ``grid`` with a list of grids; optionally
                also ``title`` and ``description``.
            options: axes that replace the axes of the same name in every grid.

        Raises:
            InputError: a key is unknown, or a grid is invalid (see `Grid`); if there are several
                grids, the message contains the number of the grid.
            LimitError: a grid, or all grids together, have too many points.
        """
        texts = {key: read_word(stored[key], key) for key in _TEXTS if key in stored}
        axes = {key: value for key, value in stored.items() if key not in _TEXTS}
        if _GRID not in axes:
            return cls((Grid(axes | dict(options or {})),), **texts)
        other = next((key for key in axes if key != _GRID), None)
        if other is not None:
            problem = "is outside the [[grid]] tables" if other in AXES else "is not a known key"
            raise InputError(
                f"'{other}' {problem}",
                hint="write only title and description outside the [[grid]] tables, or write one"
                " grid without a table",
            )
        return cls(tuple(_read_grids(axes[_GRID], options or {})), **texts)


def commands(stored: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the command lines that execute an experiment with the given design and name."""
    if _GRID not in stored:
        return (grid_command(stored, name),)
    return (
        f"starcast experiment grid {name} > {name}.toml",
        f"starcast experiment run {name} --grid {name}.toml",
    )


def as_toml(stored: Mapping[str, Any]) -> str:
    """Return a stored design as the content of a TOML file."""
    lines = [f"{key} = {_quote(value)}" for key in _TEXTS if (value := stored.get(key))]
    for grid in stored.get(_GRID, [stored]):
        lines += ["", "[[grid]]"] if _GRID in stored else []
        lines += [
            f"{axis} = [{', '.join(map(_quote, grid[axis]))}]" for axis in AXES if axis in grid
        ]
    return "\n".join(lines).strip() + "\n"


def check_name(name: object) -> str:
    """Check an experiment name and return it.

    A name must not consist only of digits, because commands read digits as the number of a run. The
    length is limited, because names become parts of URLs and file names.

    Raises:
        InputError: the name is invalid.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise InputError(
            f"'{name}' is not a valid name for an experiment",
            hint="use letters, digits, '.', '_' and '-', but not only digits, and at most "
            f"{MAX_NAME} characters",
        )
    return name


def read_design(
    name: str | None,
    options: Mapping[str, Any] | None = None,
    convert: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
) -> Design:
    """Read a design from a TOML file or an example, or create a design from options alone.

    Args:
        name: path of a file, or name of an example that comes with starcast; None to use only
            ``options``.
        options: axes that replace the axes of the same name in every grid.
        convert: a function that replaces values of the file that a grid cannot contain, such as
            paths of network files.

    Raises:
        InputError: the file cannot be read, or the design is invalid.
        LimitError: a grid, or all grids together, have too many points.
    """
    if name is None:
        return Design.from_json({}, options)
    shipped = examples()
    # A file in the working directory takes precedence over an example of the same name.
    is_example = name in shipped and not Path(name).exists()
    parsed = _parse(name, shipped[name] if is_example else Path(name))
    with errors_in(f"in {name}"):
        return Design.from_json(convert(parsed), options)


def stored_design(experiment: "models.Experiment") -> Design:
    """Return the design of a stored experiment with grids.

    Raises:
        InputError: the stored design, written by another version, is invalid in this version.
    """
    # The design is passed as a string, because the cache needs a hashable key.
    return _read_stored(json.dumps(experiment.grid))


def sort_runs(experiment: "models.Experiment", runs: Sequence[Run]) -> list[Run]:
    """Return the runs of an experiment in the order of the experiment's points.

    Parallel processes store runs in any order. The given order is kept if the experiment has no
    grids, or if its points cannot be determined, for example because a plug-in is not loaded.
    """
    if not experiment.grid:
        return list(runs)
    try:
        points = stored_design(experiment).points()
    except StarcastError:
        return list(runs)
    places = {point: place for place, point in enumerate(points)}
    return sorted(runs, key=lambda run: places.get(Point.of(run), len(places)))


def stored_axes(stored: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the values of each axis of a stored design, as strings.

    The points are not computed, so designs that are invalid in this version can be read too.
    """
    axes: dict[str, dict[str, None]] = {}
    for table in stored.get(_GRID, [stored]):
        for axis in table.keys() & set(AXES):
            axes.setdefault(axis, {}).update(dict.fromkeys(map(str, table[axis])))
    return {axis: list(values) for axis, values in axes.items()}


def describe_missing(experiment: "models.Experiment", runs: Sequence[Run]) -> str | None:
    """Return a sentence with an experiment's number of missing runs; None if no run is missing."""
    total = experiment.points or 0
    if total <= len(runs):
        return None
    count = pluralize(total - len(runs), "run is", "runs are")
    return f"the experiment '{experiment.name}' is incomplete: {count} missing of {total:,}"


def examples() -> dict[str, Path]:
    """Return the design files of starcast's example experiments, keyed by name."""
    return {file.stem: file for file in sorted(data_folder("examples").glob("*.toml"))}


# Designs are cached, because computing thousands of points takes longer than loading the runs.
@lru_cache(maxsize=8)
def _read_stored(text: str) -> Design:
    return Design.from_json(json.loads(text))


def _read_grids(tables: Any, options: Mapping[str, Any]) -> list[Grid]:
    is_list = isinstance(tables, list) and bool(tables)
    if not is_list or not all(isinstance(table, Mapping) for table in tables):
        raise InputError(
            "'grid' is not a list of one or more tables",
            hint="write [[grid]], followed by lines like message_bytes = [1024, 65536]",
        )
    grids: list[Grid] = []
    total = 0
    for number, table in enumerate(tables, start=1):
        with errors_in(f"grid {number}"):
            grids.append(Grid({**table, **options}))
        total += len(grids[-1].points())
        if total > _MAX_POINTS:
            raise LimitError(
                f"the grids have more than {_MAX_POINTS:,} points in total",
                hint="divide them into several experiments",
            )
    return grids


def _parse(name: str, file: Path) -> dict[str, Any]:
    try:
        return parse_toml(read_text(file))
    except OSError as error:
        suggestion = did_you_mean(name, examples()).strip() or "see 'starcast experiment examples'"
        hint = f"name a file or an example: {suggestion}"
        raise unreadable(f"the grid {name}", error, hint) from None
    except ValueError as error:
        raise InputError(
            f"the grid {name} cannot be read as TOML: {error}",
            hint='write lines like message_bytes = [1024, "23/3"]',
        ) from None


def _quote(value: Any) -> str:
    """Return a value in TOML syntax: as in JSON, but with the character DEL escaped too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
