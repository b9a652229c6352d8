"""Load, name and split the sides (named sets of runs) of a comparison."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sqlalchemy.orm import Session

from starcast.catalogue.plugins import Provenance, name_plugins
from starcast.comparison.matching import Side, as_text, value
from starcast.experiments.design import commands as design_commands
from starcast.experiments.design import describe_missing, sort_runs
from starcast.experiments.faults import canonical_faults
from starcast.experiments.point import Point, has_root, stored_root
from starcast.stores.database import repository
from starcast.support.axes import (
    AXES,
    CENTRE,
    CHOICE,
    NONE,
    POINT_AXES,
    QUESTION,
    read_count,
    read_number,
)
from starcast.support.errors import InputError, NotFoundError, StarcastError
from starcast.support.progress import Reporter
from starcast.support.runs import Run
from starcast.topologies import Topology, as_topology, count_nodes
from starcast.topologies.base import degree_text

#: The separator in the name of a side that is part of an experiment, ``EXPERIMENT/PART``.
PART = "/"
#: The separator between the values of different sides, as in ``S5 | Q7``.
EACH = " | "
#: Conditions on runs: the allowed values of each axis, as texts that `as_text` returns. Roots and
#: faults are as the user wrote them, because their stored form depends on the topology of the run.
Conditions = Mapping[str, frozenset[str]]


def load_sides(
    session: Session, names: Iterable[str], conditions: Conditions, reporter: Reporter
) -> list[Side]:
    """Return experiments, or single runs given by number, as the sides of a comparison.

    Args:
        session: a session of the database.
        names: the names of experiments or the numbers of runs.
        conditions: conditions that the runs must meet.
        reporter: receives the number of missing runs of each experiment.

    Raises:
        NotFoundError: there is no such experiment or run, or no run of a side meets the conditions.
    """
    sides = [load_side(session, name) for name in names]
    for sentence in dict.fromkeys(side.incomplete for side in sides if side.incomplete):
        reporter.say(sentence)
    return select_runs(sides, conditions)


def load_side(session: Session, name: str) -> Side:
    """Return the runs of an experiment, or the run with the given number, as one compared side.

    Raises:
        NotFoundError: no such experiment or run is stored.
    """
    if name.isdecimal():
        run = repository.load_run(session, int(name))
        return Side(f"run {name}", (run,), (_command(run),), repeat=_repeat(name, [run]))
    return experiment_side(session, name)


def experiment_side(session: Session, name: str) -> Side:
    """Return the runs of an experiment as a side, in the order of the experiment's points.

    Raises:
        NotFoundError: no such experiment is stored.
    """
    experiment = repository.load_experiment(session, name)
    runs = tuple(sort_runs(experiment, repository.load_runs(session, experiment.id)))
    repeat = _repeat(name, runs)
    if not experiment.grid:
        commands = tuple(f"{_command(run)} --experiment {name}" for run in runs)
        return Side(name, runs, commands, repeat=repeat)
    commands = tuple(
        name_plugins(command, map(_plugins, runs))
        for command in design_commands(experiment.grid, name)
    )
    title = experiment.grid.get("title", "")
    return Side(name, runs, commands, title, repeat, describe_missing(experiment, runs))


def _command(run: Run) -> str:
    return name_plugins(Point.of(run).command(), [_plugins(run)])


def _repeat(name: str, runs: Iterable[Run]) -> str:
    return name_plugins(f"starcast experiment reproduce {name}", map(_plugins, runs))


def _plugins(run: Run) -> Provenance:
    used: Provenance = run.provenance.get("plugins", {})
    return used


def parent(sides: Sequence[Side]) -> str | None:
    """Return the name of the experiment of which all sides are parts, or None."""
    parents = {side.name.partition(PART)[0] if PART in side.name else None for side in sides}
    return parents.pop() if len(parents) == 1 else None


def with_short_names(sides: Sequence[Side]) -> tuple[Side, ...]:
    """Return the sides, named ``PART`` if all sides are parts of the same experiment."""
    if parent(sides) is None:
        return tuple(sides)
    return tuple(replace(side, name=side.name.partition(PART)[2]) for side in sides)


def names_contain(sides: Sequence[Side], values: str) -> bool:
    """Return whether each side's short name contains that side's value of a parameter.

    Args:
        sides: the sides.
        values: the parameter's values, one per side, such as ``S5 | Q7``.
    """
    each = values.split(EACH)
    words = (side.name.partition(PART)[2].split() for side in sides)
    return len(each) == len(sides) and all(
        value in name for name, value in zip(words, each, strict=False)
    )


def with_distinct_names(sides: Iterable[Side]) -> tuple[Side, ...]:
    """Append numbers to equal side names, because an experiment may be compared with itself."""
    seen: dict[str, int] = {}
    renamed = []
    for side in sides:
        count = seen[side.name] = seen.get(side.name, 0) + 1
        renamed.append(side if count == 1 else replace(side, name=f"{side.name} ({count})"))
    return tuple(renamed)


def find_side(sides: Sequence[Side], name: str) -> int:
    """Return the index of the side with the given name.

    A run can also be named by its number, and a part by its short name.

    Raises:
        NotFoundError: no side has this name.
    """
    names = [side.name for side in sides]
    short = (side.name for side in with_short_names(sides))
    # Full names are added last, because they take precedence over equal short names.
    known = {**dict(zip(short, names, strict=True)), **{each: each for each in names}}
    known |= {each.removeprefix("run "): each for each in names if each.startswith("run ")}
    if name not in known:
        raise NotFoundError(
            f"the baseline '{name}' is not part of this comparison",
            hint=f"use one of {', '.join(names)}",
        )
    return names.index(known[name])


def read_conditions(texts: Iterable[str]) -> Conditions:
    """Parse conditions on runs, each written as ``AXIS=VALUE``.

    Values of one axis are alternatives; conditions on different axes must all hold.

    Raises:
        InputError: a text is not a condition, or it names an unknown axis or an invalid value.
    """
    conditions: dict[str, set[str]] = {}
    for condition in texts:
        axis, equals, text = (part.strip() for part in condition.partition("="))
        if not equals or not text:
            raise InputError(
                f"'{condition}' is not a valid condition",
                hint="write AXIS=VALUE, such as topology=S5",
            )
        if axis not in POINT_AXES:
            raise InputError(
                f"'{axis}' cannot be used in a condition: runs have no such axis",
                hint=f"choose one of {', '.join(POINT_AXES)}",
            )
        conditions.setdefault(axis, set()).add(_normalize(axis, text))
    return {axis: frozenset(values) for axis, values in conditions.items()}


def select_runs(sides: Sequence[Side], conditions: Conditions) -> list[Side]:
    """Return the sides, each with only the runs that meet all conditions.

    Raises:
        NotFoundError: no run has the value that a condition requires, or no run of a side meets all
            conditions.
    """
    runs = [run for side in sides for run in side.runs]
    for axis, values in conditions.items():
        present = dict.fromkeys(as_text(value(run, axis)) for run in runs)
        missing = [
            each
            for each in sorted(values)
            if not any(_has_value(run, axis, {each}) for run in runs)
        ]
        if missing:
            raise NotFoundError(
                f"no run of this comparison has {axis} = {missing[0]}",
                hint=f"choose one of the values {', '.join(present)}",
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
                hint="use fewer conditions: a run must have one of the values given for each axis",
            )
    return selected


def _normalize(axis: str, text: str) -> str:
    """Return a condition's value in the notation of `as_text`, to compare it with runs."""
    if axis == "topology":
        return as_topology(text).spec
    if axis == "faults":
        return " ".join(sorted(text.split()))
    if AXES[axis].type is Fraction:
        return str(read_number(text, axis))
    return str(read_count(text, axis)) if AXES[axis].type is int else text


def _meets(run: Run, conditions: Conditions) -> bool:
    return all(_has_value(run, axis, values) for axis, values in conditions.items())


def _has_value(run: Run, axis: str, values: Collection[str]) -> bool:
    """Return whether a run has one of the given values on an axis."""
    if axis == "root" and not has_root(run.collective):
        values = {as_text(None) if each == "#0" else each for each in values}
    elif axis in ("root", "faults"):
        values = {_as_stored(run.topology, axis, each) for each in values}
    return as_text(value(run, axis)) in values


def _as_stored(spec: str, axis: str, text: str) -> str:
    """Return a root, or faults, in the form in which runs on a topology store them.

    For example, a node that is given by its rank, such as ``#6``, is replaced by its label. A text
    that names no root, or no faults, on the topology is returned unchanged.
    """
    try:
        return _find_stored(spec, axis, text)
    except StarcastError:
        return text


@lru_cache(maxsize=4096)
def _find_stored(spec: str, axis: str, text: str) -> str:
    topology = as_topology(spec)
    if axis == "root":
        return as_text(stored_root(topology, text))
    named = text.split() if text != NONE else ()
    return as_text(tuple(sorted(canonical_faults(topology, named))))


# Compared runs normally have the same topology. With ``across topology`` their topologies may
# differ: each side then runs on its own network, and figures are compared as they are, without
# dividing them by the size of the network. The output therefore shows the size of each network, and
# each gap refers to the lower bound of the side's own network.
#
# `across` can name other axes as well, such as the port model and t_s, but not axes on which
# different values make times incomparable. `starcast.support.axes` declares which axes these are.


#: The axes of `QUESTION` that ``across`` can name, so that compared runs may differ on them.
ALLOWED_ACROSS = tuple(axis for axis in QUESTION if not AXES[axis].why_not_across)
#: The counts that describe a network's size: they are table columns and `Topology` attributes.
SIZES = ("nodes", "degree", "links")
#: The axes by which the runs of a single experiment are split into sides: all of `CHOICE` except
#: the segments, because runs are matched on the segments.
PARTS = CHOICE[:-1]


def check_across(axes: Iterable[str]) -> tuple[str, ...]:
    """Return the axes in ``across``, without repetition, in the order of `QUESTION`.

    Raises:
        InputError: an axis is unknown, compared runs cannot differ on it, or compared runs may
            always differ on it.
    """
    named = set(axes)
    for axis in sorted(named - set(ALLOWED_ACROSS)):
        hint = f"choose among {', '.join(ALLOWED_ACROSS)}"
        if axis in CHOICE:
            raise InputError(
                f"`across` need not name {axis}, because compared runs may always differ in {axis}",
                hint=f"omit {axis}, or {hint}",
            )
        if axis in AXES and AXES[axis].why_not_across:
            raise InputError(
                f"compared runs cannot differ in {axis}: {AXES[axis].why_not_across}",
                hint=hint,
            )
        raise InputError(f"'{axis}' is not an axis of a comparison", hint=hint)
    return tuple(axis for axis in ALLOWED_ACROSS if axis in named)


def describe_networks(runs: Iterable[Run]) -> list[str]:
    """Return one text per network in the runs, with its size, in order of first appearance.

    If the centre is the root of a run, the text names the centre too. Networks of plug-ins that are
    not loaded are omitted, because their size is unknown.
    """
    roots: dict[str, set[str | None]] = {}
    for run in runs:
        roots.setdefault(run.topology, set()).add(run.root)
    texts = []
    for spec in filter(count_nodes, roots):
        network = as_topology(spec)
        centre = f", {CENTRE} {network.label(network.centre())}" if CENTRE in roots[spec] else ""
        size = f"{network.nodes:,} nodes of {degree_text(network)}, {_endpoints(network)}"
        size += f"{network.links:,} links"
        texts.append(f"{spec}: {size}{centre}")
    return texts


def _endpoints(topology: Topology) -> str:
    """Return the number of endpoints as text, or an empty text if all nodes are endpoints."""
    count = topology.endpoints
    return "" if count == topology.nodes else f"{count:,} of them endpoints, "


def values_across(side: Side, axes: Sequence[str]) -> dict[str, Any]:
    """Return a side's values on the axes in ``across``, as a dict by axis.

    If the side has no runs, all values are None. If the topology is among the axes, the result also
    contains the counts of the side's network that are listed in `SIZES`.
    """
    run = side.runs[0] if side.runs else None
    values: dict[str, Any] = {axis: None if run is None else value(run, axis) for axis in axes}
    if "topology" in axes:
        spec = "" if run is None else run.topology
        network = as_topology(spec) if count_nodes(spec) else None
        values |= {name: getattr(network, name, None) for name in SIZES}
    return values


def split_side(side: Side, axes: Sequence[str], *, alone: bool) -> list[Side]:
    """Split a side into one side for each combination of its runs' values on ``axes``.

    If ``alone`` is True, the axes in `PARTS` are used as well.
    """
    groups: dict[tuple[Any, ...], list[Run]] = {}
    names = (*axes, *PARTS) if alone else axes
    for run in side.runs:
        groups.setdefault(tuple(getattr(run, name) for name in names), []).append(run)
    if len(groups) < 2:
        return [side]
    keys = list(groups)
    return [
        replace(side, name=f"{side.name}/{_part_name(key, keys, axes)}", runs=tuple(runs))
        for key, runs in groups.items()
    ]


def _part_name(key: Sequence[Any], keys: Sequence[Sequence[Any]], axes: Sequence[str]) -> str:
    """Return the name of a part of an experiment: the values that distinguish it from other parts.

    The name contains the part's values on those axes in ``across`` that vary. It contains the
    algorithm if there are several algorithms, or if none of these axes varies. It contains the base
    and copies if they vary for this algorithm.
    """
    words = []
    for place, axis in enumerate(axes):
        if len({other[place] for other in keys}) > 1:
            words.append(axis_value(axis, key[place]))
    parts = key[len(axes) :]
    others = [other[len(axes) :] for other in keys]
    if parts and (not words or len({other[0] for other in others}) > 1):
        words.append(parts[0])
    same_algorithm = [other for other in others if other[:1] == parts[:1]]
    words += [
        f"{PARTS[place]}={as_text(parts[place])}"
        for place in range(1, len(parts))
        if len({other[place] for other in same_algorithm}) > 1
    ]
    return " ".join(words)


def axis_value(axis: str, value: Any) -> str:
    """Return the value of a run parameter as text, such as ``Q7``, ``one-port`` or ``t_s=10``."""
    if axis in {"topology", "execution"}:
        return str(value)
    return f"{value}-port" if axis == "ports" else f"{axis}={as_text(value)}"
