"""Comparison across topologies or machines.

A comparison answers one question, which includes the topology. ``across topology`` makes the
topology a choice, like the algorithm: each side then runs on its own network, a change is a
change between networks, and nothing is normalised. The output therefore states the size of each
network, and each gap refers to the lower bound of the side's own network.

Other axes can be crossed as well, such as the port model and t_s. Those that cannot, because times
for different values have no common meaning, are declared in `starcast.support.axes`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from starcast.comparison.matching import Side, as_text, value
from starcast.stores.database import models
from starcast.support.axes import AXES, CHOICE, QUESTION
from starcast.support.errors import InputError
from starcast.topologies import as_topology, count_nodes

#: The axes of the question that can be crossed.
CROSSABLE = tuple(axis for axis in QUESTION if not AXES[axis].not_crossed)
#: The size of a side's network.
SIZES = ("nodes", "degree", "links")
#: The axes by which the runs of a single experiment are split into sides: all choices but the
#: segments, which are matched.
PARTS = CHOICE[:-1]


class Network(NamedTuple):
    """The size of a topology; each undirected link is two directed links."""

    spec: str
    nodes: int
    degree: int
    links: int

    def __str__(self) -> str:
        return f"{self.spec}: {self.nodes:,} nodes of degree {self.degree}, {self.links:,} links"


def check_crossed(axes: Iterable[str]) -> tuple[str, ...]:
    """Return axes to be crossed, each once, in the order of the question.

    Raises:
        InputError: an axis is unknown or cannot be crossed.
    """
    named = set(axes)
    for axis in sorted(named - set(CROSSABLE)):
        hint = f"cross {', '.join(CROSSABLE)}"
        if axis in CHOICE:
            raise InputError(
                f"{axis} is not part of the question; runs may always differ in it",
                hint=f"omit it; {hint}",
            )
        if axis in AXES and AXES[axis].not_crossed:
            raise InputError(f"{axis} cannot be crossed: {AXES[axis].not_crossed}", hint=hint)
        raise InputError(f"'{axis}' is not an axis of a comparison", hint=hint)
    return tuple(axis for axis in CROSSABLE if axis in named)


@cache
def network(spec: str) -> Network:
    """Return the size of a topology."""
    topology = as_topology(spec)
    return Network(topology.spec, topology.nodes, topology.degree, topology.links)


def networks(runs: Iterable[models.Run]) -> tuple[Network, ...]:
    """Return the networks of some runs in order of first appearance.

    Networks of plug-ins that are not loaded have no known size and are omitted.
    """
    specs = dict.fromkeys(run.topology for run in runs)
    return tuple(network(spec) for spec in specs if count_nodes(spec))


def crossed_values(side: Side, axes: Sequence[str]) -> dict[str, Any]:
    """Return a side's values on the crossed axes; with topologies also the network's size.

    The values are None if the side has no runs.
    """
    run = side.runs[0] if side.runs else None
    values: dict[str, Any] = {axis: None if run is None else value(run, axis) for axis in axes}
    if "topology" in axes:
        size = next(iter(networks([] if run is None else [run])), None)
        values |= {name: getattr(size, name, None) for name in SIZES}
    return values


def split_side(side: Side, axes: Sequence[str], *, alone: bool) -> list[Side]:
    """Return a side for each combination of values on the crossed axes, and of `PARTS` if alone."""
    groups: dict[tuple[Any, ...], list[models.Run]] = {}
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
    """Return the values that distinguish one part from the others.

    These are the crossed axes that vary; the algorithm if there are several; and its base and
    copies if they vary for this algorithm.
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
    """Return a value on a crossed axis with the axis: ``Q7``, ``one-port``, ``t_s=10``."""
    if axis in {"topology", "execution"}:
        return str(value)
    return f"{value}-port" if axis == "ports" else f"{axis}={value}"
