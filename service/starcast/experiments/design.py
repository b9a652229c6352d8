"""Experiment designs: the points of an experiment, given by one or several grids.

Designs are read from TOML files and stored as JSON. Some come with starcast as examples.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

from starcast.experiments.grid import MAX_POINTS, Grid, grid_command, group_by_structure
from starcast.experiments.point import Point
from starcast.stores.database import models
from starcast.support.axes import AXES
from starcast.support.errors import InputError, LimitError, StarcastError
from starcast.support.limited import read_text
from starcast.support.paths import data_folder
from starcast.support.text import did_you_mean, pluralize

_TEXTS = ("title", "description")
_GRID = "grid"
#: Maximum number of points in all grids of a design together.
_MAX_POINTS = 2 * MAX_POINTS
_NAME = re.compile(r"(?!\d+$)[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Design:
    """The points of an experiment: the union of its grids, each point once."""

    grids: tuple[Grid, ...]
    title: str = ""
    description: str = ""

    def points(self) -> list[Point]:
        """Return all points in the order of the grids, grouped by `Point.structure`."""
        return [point for group in self.groups for point in group]

    @cached_property
    def groups(self) -> list[list[Point]]:
        """Lists of points with the same `Point.structure`, for which one execution is enough."""
        return group_by_structure(point for grid in self.grids for point in grid.points())

    def as_json(self) -> dict[str, Any]:
        """Return the design as JSON values: the axes of its grid, or a list of several grids."""
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
            InputError: a key is unknown, or the values of an axis are not valid; if there are
                several grids, the message names the grid.
        """
        texts = {key: _read_text(stored[key], key) for key in _TEXTS if key in stored}
        axes = {key: value for key, value in stored.items() if key not in _TEXTS}
        if _GRID not in axes:
            return cls((Grid(axes | dict(options or {})),), **texts)
        other = next((key for key in axes if key != _GRID), None)
        if other is not None:
            problem = "is outside the [[grid]] tables" if other in AXES else "is not a known key"
            raise InputError(
                f"'{other}' {problem}",
                hint="write all axes in the [[grid]] tables, or write one grid without a table",
            )
        return cls(tuple(_read_grids(axes[_GRID], options or {})), **texts)


def commands(stored: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the command lines that run a stored design, under the given experiment name."""
    if _GRID not in stored:
        return (grid_command(stored, name),)
    return (
        f"starcast experiment grid {name} > {name}.toml",
        f"starcast experiment run {name} --grid {name}.toml",
    )


def as_toml(stored: Mapping[str, Any]) -> str:
    """Return a stored design as the text of a TOML file."""
    lines = [f"{key} = {_quote(value)}" for key in _TEXTS if (value := stored.get(key))]
    for grid in stored.get(_GRID, [stored]):
        lines += ["", "[[grid]]"] if _GRID in stored else []
        lines += [
            f"{axis} = [{', '.join(map(_quote, grid[axis]))}]" for axis in AXES if axis in grid
        ]
    return "\n".join(lines).strip() + "\n"


def check_name(name: str) -> str:
    """Check an experiment name and return it.

    A name must not consist of digits only, because a number names a run.

    Raises:
        InputError: the name is not valid.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"'{name}' is not a valid name for an experiment",
            hint="use letters, digits, '.', '_' and '-', but not only digits",
        )
    return name


def read_design(name: str | None, options: Mapping[str, Any] | None = None) -> Design:
    """Read a design from a TOML file or an example, or build it from options alone.

    Args:
        name: path of a file, or name of an example that comes with starcast; None for options
            alone.
        options: axes that replace the axes of the same name in every grid.

    Raises:
        InputError: the file cannot be read, or is not a valid design; the message names the file,
            the grid and the key.
    """
    if name is None:
        return Design.from_json({}, options)
    shipped = examples()
    # A file in the working directory takes precedence over an example of the same name.
    is_example = name in shipped and not Path(name).exists()
    parsed = _parse(name, shipped[name] if is_example else Path(name))
    try:
        return Design.from_json(parsed, options)
    except StarcastError as error:
        raise type(error)(f"in {name}: {error.message}", hint=error.hint) from None


def stored_design(experiment: models.Experiment) -> Design:
    """Return the design of a stored experiment with grids.

    Raises:
        InputError: another version of starcast stored a design that is not valid in this version.
    """
    # The design is passed as text, because the cache needs a hashable key.
    return _read_stored(json.dumps(experiment.grid))


def sort_runs(experiment: models.Experiment, runs: Sequence[models.Run]) -> list[models.Run]:
    """Return the runs of an experiment in the order of its points.

    Parallel jobs store runs in any order. If the points cannot be determined, for example because
    the plug-in of an algorithm is not loaded, the stored order is kept.
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
    """Return the values on every axis of a stored design, as text.

    The points are not computed, so this also works for designs that are not valid in this version.
    """
    axes: dict[str, dict[str, None]] = {}
    for table in stored.get(_GRID, [stored]):
        for axis in table.keys() & set(AXES):
            axes.setdefault(axis, {}).update(dict.fromkeys(map(str, table[axis])))
    return {axis: list(values) for axis, values in axes.items()}


def describe_missing(experiment: models.Experiment, runs: Sequence[models.Run]) -> str | None:
    """Return a sentence that states how many runs are missing, or None if none is missing."""
    total = experiment.points or 0
    if total <= len(runs):
        return None
    count = pluralize(total - len(runs), "run is", "runs are")
    return f"the experiment '{experiment.name}' is incomplete: {count} missing of {total:,}"


def examples() -> dict[str, Path]:
    """Return the design files of the example experiments that come with starcast, by name."""
    return {file.stem: file for file in sorted(data_folder("examples").glob("*.toml"))}


# Cached, because computing several thousand points of a grid takes longer than loading their runs.
@lru_cache(maxsize=8)
def _read_stored(text: str) -> Design:
    return Design.from_json(json.loads(text))


def _read_grids(tables: Any, options: Mapping[str, Any]) -> list[Grid]:
    is_list = isinstance(tables, list) and bool(tables)
    if not is_list or not all(isinstance(table, Mapping) for table in tables):
        raise InputError(
            "'grid' is not a list of grids",
            hint="write [[grid]] and below it lines like message_bytes = [1024, 65536]",
        )
    grids: list[Grid] = []
    total = 0
    for number, table in enumerate(tables, start=1):
        try:
            grids.append(Grid({**table, **options}))
        except StarcastError as error:
            raise type(error)(f"grid {number}: {error.message}", hint=error.hint) from None
        total += len(grids[-1].points())
        if total > _MAX_POINTS:
            raise LimitError(
                f"the grids have more than {_MAX_POINTS:,} points together",
                hint="divide them into several experiments",
            )
    return grids


def _parse(name: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(file))
    except OSError as error:
        suggestion = did_you_mean(name, examples()).strip() or "see 'starcast experiment examples'"
        raise InputError(
            f"the grid {name} cannot be read: {error.strerror}",
            hint=f"give a file, or the name of an example: {suggestion}",
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"the grid {name} is not TOML: {error}",
            hint='write lines like message_bytes = [1024, "23/3"]',
        ) from None


def _read_text(value: object, key: str) -> str:
    if not isinstance(value, str):
        raise InputError(
            f"{key} is {value!r}, which is not text", hint=f'write it in quotes: {key} = "..."'
        )
    return value


def _quote(value: Any) -> str:
    """Return a value as TOML. A TOML string is a JSON string in which DEL is escaped too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
