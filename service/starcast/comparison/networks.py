"""Across an axis of the question: runs that answer it on different networks, or machines, set beside each other on purpose.

A comparison answers one question, and the topology is a part of it. Whoever asks for ``across topology`` makes it a choice, as
the algorithm is: each side then runs on a network of its own, a change is one between networks, and nothing is normalised. So
it is said how large each network is. The gap stays what it was: each run's time by the bound of its own network.

The port model, T_s and T_c may be crossed as well. The collective and m may not, since a shorter time for another job says
nothing; nor may the faults, since a schedule's time does not depend on them, only what is missing in the end.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from starcast.comparison.matching import CHOICE, Side, value, words
from starcast.database import models
from starcast.errors import InputError
from starcast.topologies import topology

#: The axes of the question that may be made a choice.
CROSSABLE = ("topology", "ports", "t_s", "t_c")
#: What is told of each side's network.
NETWORK = ("nodes", "degree", "links")
#: What a run alone may be told apart by from others of its experiment.
PARTS = ("algorithm", "base", "copies")

_WHY_NOT = {
    "collective": "a shorter time for another collective says nothing",
    "message_bytes": "a shorter time for fewer bytes says nothing; '--crossovers' and the plots go along m",
    "faults": "the time of a schedule does not depend on them",
    "seed": "it only chooses the faults, and they are part of the question",
}


class Network(NamedTuple):
    """A topology's size: the wires are its undirected links, each two directed ones."""

    spec: str
    nodes: int
    degree: int
    links: int

    def __str__(self) -> str:
        return f"{self.spec}: {self.nodes:,} nodes of degree {self.degree}, {self.links:,} links"


def crossed(axes: Iterable[str]) -> tuple[str, ...]:
    """Accept axes to be crossed; each once, in the order of the question.

    Raises:
        InputError: one is no axis of the question, or none that can be crossed; it says why.
    """
    named = set(axes)
    for axis in sorted(named - set(CROSSABLE)):
        known = f"cross {', '.join(CROSSABLE)}"
        if axis in CHOICE:
            raise InputError(
                f"{axis} is no part of the question, but a choice already",
                hint=f"leave it out; {known}",
            )
        if axis in _WHY_NOT:
            raise InputError(f"{axis} cannot be crossed: {_WHY_NOT[axis]}", hint=known)
        raise InputError(f"'{axis}' is no axis of a comparison", hint=known)
    return tuple(axis for axis in CROSSABLE if axis in named)


@cache
def network(spec: str) -> Network:
    """The size of a topology."""
    where = topology(spec)
    return Network(where.spec, where.nodes, where.degree, where.links)


def networks(runs: Iterable[models.Run]) -> tuple[Network, ...]:
    """Those that some runs are on, in their order."""
    return tuple(network(spec) for spec in dict.fromkeys(run.topology for run in runs))


def facts(side: Side, axes: Sequence[str]) -> dict[str, Any]:
    """What a side has in the crossed axes, and the size of its network where that is one of them; None where it has no runs."""
    run = side.runs[0] if side.runs else None
    told: dict[str, Any] = {axis: None if run is None else value(run, axis) for axis in axes}
    if "topology" in axes:
        size = None if run is None else network(run.topology)
        told |= {name: getattr(size, name, None) for name in NETWORK}
    return told


def apart(side: Side, axes: Sequence[str], *, alone: bool) -> list[Side]:
    """A side for each combination of values that its runs have on the crossed axes, and of `PARTS` if it is alone."""
    parts: dict[tuple[Any, ...], list[models.Run]] = {}
    names = (*axes, *PARTS) if alone else axes
    for run in side.runs:
        parts.setdefault(tuple(getattr(run, name) for name in names), []).append(run)
    if len(parts) < 2:
        return [side]
    keys = list(parts)
    return [
        replace(side, name=f"{side.name}/{_named(key, keys, axes)}", runs=tuple(runs))
        for key, runs in parts.items()
    ]


def _named(key: Sequence[Any], keys: Sequence[Sequence[Any]], axes: Sequence[str]) -> str:
    """Of the crossed axes those that vary; an algorithm if it is not the only one, with its tree and copies if they vary."""
    crossing = [
        word(axis, key[at])
        for at, axis in enumerate(axes)
        if len({other[at] for other in keys}) > 1
    ]
    parts, others = key[len(axes) :], [other[len(axes) :] for other in keys]
    alike = [other for other in others if other[:1] == parts[:1]]
    several = [at for at in range(1, len(parts)) if len({other[at] for other in alike}) > 1]
    algorithm = parts[:1] if not crossing or len({other[:1] for other in others}) > 1 else ()
    return " ".join([*crossing, *algorithm, *(f"{PARTS[at]}={words(parts[at])}" for at in several)])


def word(axis: str, of: Any) -> str:
    """A value on an axis that may be crossed, so that it says which axis: ``Q7``, ``one-port``, ``T_s=10``."""
    if axis == "topology":
        return str(of)
    return f"{of}-port" if axis == "ports" else f"{axis}={of}"
