"""Runs that a comparison is narrowed to, by what they have on some axes: ``topology=S5``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from starcast.comparison.matching import PARAMETERS, Side, value, words
from starcast.errors import InputError, NotFoundError
from starcast.experiments.values import count, number
from starcast.topologies import topology

#: What runs may be chosen by: what they are compared by, and the seed with which their faults were drawn.
AXES = (*PARAMETERS, "seed")
#: Which values are wanted on an axis, as `words` writes them.
Wanted = Mapping[str, frozenset[str]]

_READ: dict[str, Callable[[str, str], Any]] = {
    "topology": lambda text, _: topology(text).spec,
    **dict.fromkeys(("message_bytes", "t_s", "t_c"), number),
    **dict.fromkeys(("segments", "copies", "seed"), count),
}


def wanted(conditions: Iterable[str]) -> Wanted:
    """What was written as ``AXIS=VALUE``: the values of one axis are alternatives, those of several must hold together.

    Raises:
        InputError: one is not written so, has no such axis, or a value that the axis cannot have.
    """
    found: dict[str, set[str]] = {}
    for condition in conditions:
        axis, equals, text = (part.strip() for part in condition.partition("="))
        if not equals or not text:
            raise InputError(
                f"'{condition}' is no condition", hint="write AXIS=VALUE, such as topology=S5"
            )
        if axis not in AXES:
            raise InputError(f"'{axis}' is no axis of a run", hint=f"there are {', '.join(AXES)}")
        read = _READ.get(axis)
        found.setdefault(axis, set()).add(text if read is None else str(read(text, axis)))
    return {axis: frozenset(values) for axis, values in found.items()}


def chosen(sides: Sequence[Side], conditions: Wanted) -> list[Side]:
    """The sides with those of their runs that meet all conditions.

    Raises:
        NotFoundError: no run has a value that is wanted, or a side has no run left.
    """
    for axis, values in conditions.items():
        there = dict.fromkeys(words(value(run, axis)) for side in sides for run in side.runs)
        missing = sorted(values - there.keys())
        if missing:
            raise NotFoundError(
                f"no run that is compared has {axis} = {missing[0]}",
                hint=f"there are {', '.join(there)}",
            )
    narrowed = [
        replace(side, runs=tuple(run for run in side.runs if _meets(run, conditions)))
        for side in sides
    ]
    empty = next(
        (
            side.name
            for side, whole in zip(narrowed, sides, strict=True)
            if whole.runs and not side.runs
        ),
        None,
    )
    if empty is not None:
        told = " and ".join(
            f"{axis} = {' or '.join(sorted(values))}" for axis, values in conditions.items()
        )
        raise NotFoundError(
            f"'{empty}' has no run with {told}",
            hint="values of one axis are alternatives, axes hold together",
        )
    return narrowed


def _meets(run: Any, conditions: Wanted) -> bool:
    return all(words(value(run, axis)) in values for axis, values in conditions.items())
