"""The sides of a comparison: loading them by name, naming them, and selecting their runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from string import ascii_uppercase

from sqlalchemy.orm import Session

from starcast.comparison.matching import Side, as_text, value
from starcast.experiments.design import commands as design_commands
from starcast.experiments.design import describe_missing, sort_runs
from starcast.experiments.grid import Point
from starcast.stores.database import models, repository
from starcast.support.axes import AXES, POINT_AXES, read_count, read_number
from starcast.support.errors import InputError, NotFoundError
from starcast.topologies import as_topology

#: Separates the name of an experiment from the name of a part, if a side is only that part.
PART = "/"
#: Separates the values of the sides if they differ.
EACH = " | "
#: The selected values of each axis, as `as_text` writes them.
Conditions = Mapping[str, frozenset[str]]


def load_side(session: Session, name: str) -> Side:
    """Return the runs of an experiment, or the run with a number, as a side.

    Raises:
        NotFoundError: no such experiment or run is stored.
    """
    if name.isdecimal():
        run = repository.load_run(session, int(name))
        repeat = f"starcast experiment reproduce {name}"
        return Side(f"run {name}", (run,), (Point.of(run).command(),), repeat=repeat)
    return experiment_side(session, name)


def experiment_side(session: Session, name: str) -> Side:
    """Return the runs of an experiment, in the order of its points, as a side.

    Raises:
        NotFoundError: no such experiment is stored.
    """
    repeat = f"starcast experiment reproduce {name}"
    experiment = repository.load_experiment(session, name)
    runs = tuple(sort_runs(experiment, repository.load_runs(session, experiment.id)))
    if not experiment.grid:
        commands = tuple(f"{Point.of(run).command()} --experiment {name}" for run in runs)
        return Side(name, runs, commands, repeat=repeat)
    commands = design_commands(experiment.grid, name)
    title = experiment.grid.get("title", "")
    return Side(name, runs, commands, title, repeat, describe_missing(experiment, runs))


def letter(place: int) -> str:
    """Return A, B, ..., Z, AA, AB, ...: the names of columns in spreadsheets."""
    before, last = divmod(place, len(ascii_uppercase))
    return (letter(before - 1) if before else "") + ascii_uppercase[last]


def with_letters(sides: Sequence[Side]) -> tuple[Side, ...]:
    """Return the sides with the names A, B, ..."""
    return tuple(replace(side, name=letter(place)) for place, side in enumerate(sides))


def parent(sides: Sequence[Side]) -> str | None:
    """Return the experiment of which all sides are parts, or None."""
    parents = {side.name.partition(PART)[0] if PART in side.name else None for side in sides}
    return parents.pop() if len(parents) == 1 else None


def with_short_names(sides: Sequence[Side]) -> tuple[Side, ...]:
    """Return the sides without the name of the experiment of which all of them are parts."""
    if parent(sides) is None:
        return tuple(sides)
    return tuple(replace(side, name=side.name.partition(PART)[2]) for side in sides)


def names_contain(sides: Sequence[Side], values: str) -> bool:
    """Return whether each side's name contains its value, for values such as ``S5 | Q7``."""
    each = values.split(EACH)
    words = (side.name.partition(PART)[2].split() for side in sides)
    return len(each) == len(sides) and all(
        value in name for name, value in zip(words, each, strict=False)
    )


def with_distinct_names(sides: Iterable[Side]) -> tuple[Side, ...]:
    """Return the sides with distinct names: an experiment may be compared with itself."""
    seen: dict[str, int] = {}
    renamed = []
    for side in sides:
        count = seen[side.name] = seen.get(side.name, 0) + 1
        renamed.append(side if count == 1 else replace(side, name=f"{side.name} ({count})"))
    return tuple(renamed)


def find_side(sides: Sequence[Side], name: str) -> int:
    """Return the place of the side with this name.

    A run can also be named by its number, and a part by its short name.

    Raises:
        NotFoundError: no side has this name.
    """
    names = [side.name for side in sides]
    short = (side.name for side in with_short_names(sides))
    known = {**dict(zip(short, names, strict=True)), **{each: each for each in names}}
    known |= {each.removeprefix("run "): each for each in names if each.startswith("run ")}
    if name not in known:
        raise NotFoundError(
            f"the baseline '{name}' is not a side of this comparison",
            hint=f"give one of {', '.join(names)}",
        )
    return names.index(known[name])


def read_conditions(texts: Iterable[str]) -> Conditions:
    """Return the conditions written as ``AXIS=VALUE``.

    The values of one axis are alternatives; the conditions on several axes must all hold.

    Raises:
        InputError: a text is not a condition, or names an unknown axis or an impossible value.
    """
    conditions: dict[str, set[str]] = {}
    for condition in texts:
        axis, equals, text = (part.strip() for part in condition.partition("="))
        if not equals or not text:
            raise InputError(
                f"'{condition}' is not a condition", hint="write AXIS=VALUE, such as topology=S5"
            )
        if axis not in POINT_AXES:
            raise InputError(
                f"'{axis}' cannot be used in a condition: runs have no such axis",
                hint=f"the axes are {', '.join(POINT_AXES)}",
            )
        conditions.setdefault(axis, set()).add(_normalize(axis, text))
    return {axis: frozenset(values) for axis, values in conditions.items()}


def select_runs(sides: Sequence[Side], conditions: Conditions) -> list[Side]:
    """Return the sides with the runs that meet all conditions.

    Raises:
        NotFoundError: no run has one of the values, or a side has no run left.
    """
    for axis, values in conditions.items():
        present = dict.fromkeys(as_text(value(run, axis)) for side in sides for run in side.runs)
        missing = sorted(values - present.keys())
        if missing:
            raise NotFoundError(
                f"no run of this comparison has {axis} = {missing[0]}",
                hint=f"there are {', '.join(present)}",
            )
    selected = [
        replace(side, runs=tuple(run for run in side.runs if _meets(run, conditions)))
        for side in sides
    ]
    for side, before in zip(selected, sides, strict=True):
        if before.runs and not side.runs:
            parts = (
                f"{axis} = {' or '.join(sorted(values))}" for axis, values in conditions.items()
            )
            raise NotFoundError(
                f"'{side.name}' has no run with {' and '.join(parts)}",
                hint="values of one axis are alternatives; several axes must all hold",
            )
    return selected


def _normalize(axis: str, text: str) -> str:
    """Return the value in a condition as `as_text` writes it."""
    if axis == "topology":
        return as_topology(text).spec
    if AXES[axis].type is Fraction:
        return str(read_number(text, axis))
    return str(read_count(text, axis)) if AXES[axis].type is int else text


def _meets(run: models.Run, conditions: Conditions) -> bool:
    return all(as_text(value(run, axis)) in values for axis, values in conditions.items())
