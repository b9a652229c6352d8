"""The design of an experiment: one grid or several, with a title; read from TOML, stored as JSON, shipped as examples."""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

from starcast.database import models
from starcast.errors import InputError, StarcastError
from starcast.experiments.grid import AXES, Grid, Point, sharing
from starcast.resources import folder
from starcast.support.text import pluralize

_WORDS = ("title", "description")
_GRID = "grid"


@dataclass(frozen=True)
class Design:
    """The points of an experiment: the union of its grids, each point once."""

    grids: tuple[Grid, ...]
    title: str = ""
    description: str = ""

    def points(self) -> list[Point]:
        """All points, those that share a schedule together, else in the order of the grids."""
        return [point for together in self.together for point in together]

    @cached_property
    def together(self) -> list[list[Point]]:
        """The points, those together that share a schedule."""
        return sharing(point for grid in self.grids for point in grid.points())

    def as_json(self) -> dict[str, Any]:
        """The form in which it is stored: of one grid its axes, of several a list of them."""
        told = {word: value for word in _WORDS if (value := getattr(self, word))}
        grids = [grid.as_json() for grid in self.grids]
        return told | (grids[0] if len(grids) == 1 else {_GRID: grids})

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], flags: Mapping[str, Any] | None = None) -> Self:
        """The design from that form, or from the keys of a TOML file.

        Args:
            stored: the axes of one grid, or ``grid`` with a list of such; ``title`` and ``description`` where there are.
            flags: axes that replace those of every grid.

        Raises:
            InputError: a key is unknown, or an axis cannot be; it says in which of several grids.
        """
        told = {word: _text(stored[word], word) for word in _WORDS if word in stored}
        axes = {key: value for key, value in stored.items() if key not in _WORDS}
        if _GRID not in axes:
            return cls((Grid.from_json(axes | dict(flags or {})),), **told)
        beside = next((key for key in axes if key != _GRID), None)
        if beside is not None:
            known = "stands beside [[grid]] tables" if beside in AXES else "is no axis of a grid"
            raise InputError(
                f"'{beside}' {known}",
                hint="move it into the tables, or write one grid without a table",
            )
        return cls(tuple(_grids(axes[_GRID], flags or {})), **told)

    def commands(self, name: str) -> tuple[str, ...]:
        """The command lines that run it as an experiment."""
        if len(self.grids) == 1:
            return (self.grids[0].command(name),)
        return (
            f"starcast experiment show {name} --toml > {name}.toml",
            f"starcast experiment run {name} --grid {name}.toml",
        )

    def toml(self) -> str:
        """The file that `read` reads it from."""
        lines = [f"{word} = {_quoted(value)}" for word in _WORDS if (value := getattr(self, word))]
        for grid in self.grids:
            lines += ["", "[[grid]]"] if len(self.grids) > 1 else []
            lines += [
                f"{axis} = [{', '.join(map(_quoted, values))}]"
                for axis, values in grid.as_json().items()
            ]
        return "\n".join(lines).strip() + "\n"


def read(named: str | None, flags: Mapping[str, Any] | None = None) -> Design:
    """The design of a TOML file or a shipped example, or of flags alone.

    Args:
        named: path of a file, or name of an example; None where there are only flags.
        flags: axes that replace those of every grid.

    Raises:
        InputError: there is no such file, or what it says cannot be; the sentence names the file, the grid and the key.
    """
    if named is None:
        return Design.from_json({}, flags)
    shipped = examples()
    parsed = _parsed(
        named, shipped[named] if named in shipped and not Path(named).exists() else Path(named)
    )
    try:
        return Design.from_json(parsed, flags)
    except StarcastError as error:
        raise type(error)(f"in {named}: {error.message}", hint=error.hint) from None


def stored_design(experiment: models.Experiment) -> Design:
    """The design that an experiment with a grid was made from.

    Raises:
        InputError: another starcast stored it, and this one does not accept it.
    """
    return _read_stored(json.dumps(experiment.grid))


def in_order(experiment: models.Experiment, runs: Sequence[models.Run]) -> list[models.Run]:
    """The runs of an experiment in the order of its points: in that of storing, those of several jobs are mixed."""
    if not experiment.grid:
        return list(runs)
    place = {point: number for number, point in enumerate(stored_design(experiment).points())}
    return sorted(runs, key=lambda run: place.get(Point.of(run), len(place)))


def stored_axes(stored: Mapping[str, Any]) -> dict[str, list[str]]:
    """Every axis of a stored design with the values that it has in any of its grids, as they were written: none is expanded.

    So it says also of a design of another starcast what this one may not accept.
    """
    axes: dict[str, dict[str, None]] = {}
    for table in stored.get(_GRID, [stored]):
        for axis in table.keys() & set(AXES):
            axes.setdefault(axis, {}).update(dict.fromkeys(map(str, table[axis])))
    return {axis: list(values) for axis, values in axes.items()}


def missing_points(experiment: models.Experiment, runs: Iterable[models.Run]) -> list[Point]:
    """The points of an experiment's grids that none of its runs is at, in order; none where single runs are collected."""
    if not experiment.grid:
        return []
    there = {Point.of(run) for run in runs}
    return [point for point in stored_design(experiment).points() if point not in there]


def incomplete(experiment: models.Experiment, runs: Sequence[models.Run]) -> str | None:
    """The sentence that says how many runs an experiment lacks; None where it lacks none."""
    missing = len(missing_points(experiment, runs))
    if not missing:
        return None
    lacking = pluralize(missing, "run is", "runs are")
    return f"the experiment '{experiment.name}' is incomplete: {lacking} missing of {missing + len(runs):,}"


def examples() -> dict[str, Path]:
    """The files of the shipped experiments, by name."""
    return {file.stem: file for file in sorted(folder("examples").glob("*.toml"))}


# Expanding a grid of some thousand points takes longer than to load their runs.
@lru_cache(maxsize=8)
def _read_stored(text: str) -> Design:
    return Design.from_json(json.loads(text))


def _grids(tables: Any, flags: Mapping[str, Any]) -> list[Grid]:
    if (
        not isinstance(tables, list)
        or not tables
        or not all(isinstance(table, Mapping) for table in tables)
    ):
        raise InputError(
            "'grid' holds no grids", hint="write [[grid]] and below it lines like m = [1024, 65536]"
        )
    grids = []
    for place, table in enumerate(tables, start=1):
        try:
            grids.append(Grid.from_json({**table, **flags}))
        except StarcastError as error:
            raise type(error)(f"grid {place}: {error.message}", hint=error.hint) from None
    return grids


def _parsed(named: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        near = get_close_matches(named, examples(), n=1)
        meant = f"did you mean '{near[0]}'?" if near else "see 'starcast experiment examples'"
        raise InputError(
            f"the grid {named} cannot be read: {error.strerror}",
            hint=f"give a file, or the name of an example: {meant}",
        ) from None
    except ValueError as error:
        raise InputError(
            f"the grid {named} is not TOML: {error}", hint='write lines like m = [1024, "23/3"]'
        ) from None


def _text(value: object, key: str) -> str:
    if not isinstance(value, str):
        raise InputError(
            f"{key} is {value!r}, which is no text", hint=f'write it in quotes: {key} = "..."'
        )
    return value


def _quoted(value: Any) -> str:
    """A value as TOML: JSON's strings are TOML's basic strings, but that TOML wants DEL escaped too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
