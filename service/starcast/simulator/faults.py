"""Faults: nodes and links that are down, from the start or from a later step on."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from starcast.errors import InputError
from starcast.simulator.links import Links
from starcast.simulator.postconditions import Promise
from starcast.simulator.rows import Mask
from starcast.topologies import Topology

End = int | str
_NO_FAULT = "write a node (21345), a link (12345-21345), or either from a step on (21345@3)"
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Fault:
    """A node or a link that is down from a step on. A node then neither sends nor receives, a link carries nothing either way.

    Args:
        what: a node (label or rank), or a link: a pair of neighbours.
        step: the first step in which it is down; 1 is from the start.

    Raises:
        InputError: it is neither, or there is no such step.
    """

    what: End | tuple[End, End]
    step: int = 1

    def __post_init__(self) -> None:
        given: object = self.what
        if isinstance(given, list | tuple):
            object.__setattr__(self, "what", tuple(given))
        if isinstance(given, list | tuple) and len(given) != 2:
            raise InputError(
                f"{given!r} is neither a node nor a link",
                hint="a faulty link is a pair of neighbours",
            )
        step: object = self.step
        if isinstance(step, bool) or not isinstance(step, int | np.integer) or step < 1:
            raise InputError(
                f"the fault {given!r} is from step {step!r} on",
                hint="steps count from 1, which is the start",
            )

    @classmethod
    def parse(cls, text: str) -> Self:
        """The fault that is written so: ``21345``, ``12345-21345``, ``21345@3``; ``#6`` is the node of rank 6.

        Raises:
            InputError: it is no fault.
        """
        what, at, step = text.strip().partition("@")
        ends = tuple(_end(word.strip()) for word in what.split("-"))
        if (
            not 1 <= len(ends) <= 2
            or "" in ends
            or (at and not (step.isascii() and step.isdigit()))
        ):
            raise InputError(f"'{text}' is no fault", hint=_NO_FAULT)
        return cls(ends[0] if len(ends) == 1 else (ends[0], ends[1]), int(step) if at else 1)

    @property
    def ends(self) -> tuple[End, ...]:
        """The node, or the two ends of the link."""
        return self.what if isinstance(self.what, tuple) else (self.what,)

    def on(self, topology: Topology) -> "Fault":
        """The same fault by labels, the end of lower rank first.

        Raises:
            InputError: it is no node and no link of the topology.
        """
        ranks = sorted(topology.node(end) for end in self.ends)
        labels = [topology.label(rank) for rank in ranks]
        if len(ranks) == 1:
            return Fault(labels[0], self.step)
        if not _ports_between(topology, *ranks):
            raise InputError(
                f"{labels[0]} and {labels[1]} are not linked in {topology.spec}",
                hint="a faulty link is a pair of neighbours",
            )
        return Fault((labels[0], labels[1]), self.step)

    def __str__(self) -> str:
        what = "-".join(end if isinstance(end, str) else f"#{end}" for end in self.ends)
        return what if self.step == 1 else f"{what}@{self.step}"


FaultLike = Fault | End | tuple[End, End]


class Outages:
    """The faults of a run, each node and link once, with its earliest step: what is down, and from when on.

    Raises:
        InputError: a fault is no node and no link.
    """

    def __init__(self, topology: Topology, faults: Iterable[FaultLike]) -> None:
        self.topology = topology
        earliest: dict[object, Fault] = {}
        for fault in (_fault(topology, given) for given in _listed(faults)):
            earliest[fault.what] = min(
                fault, earliest.get(fault.what, fault), key=lambda one: one.step
            )
        self.faults = tuple(earliest.values())

    def __bool__(self) -> bool:
        return bool(self.faults)

    def alive(self) -> Mask:
        """The nodes that never die, bool ``[nodes]``."""
        alive = np.ones(self.topology.nodes, dtype=bool)
        alive[[rank for rank, _ in self._dead()]] = False
        return alive

    def down_from(self, links: Links) -> NDArray[np.int64]:
        """The first step in which each directed link carries nothing, int64 ``[links]``; the greatest number where it stays."""
        topology, first = self.topology, np.full(links.count, _NEVER, dtype=np.int64)
        for fault in self.faults:
            one, *other = (topology.node(end) for end in fault.ends)
            for port in _ports_between(topology, one, *other) if other else topology.ports:
                across = int(topology.neighbours(port, [one])[0])
                ends, ports = np.array([one, across]), np.array([port, topology.reverse_port(port)])
                both = links.number(ends, ports)
                first[both] = np.minimum(first[both], fault.step)
        return first

    def remarks(self, promise: Promise) -> tuple[str, ...]:
        """What dead nodes mean for the promise, where that is not what one would think at once."""
        dead = self._dead()
        if promise.many_senders and promise.collective != "gather" and dead:
            what = (
                f"{len(dead)} nodes are"
                if len(dead) > 1
                else f"node {self.topology.label(dead[0][0])} is"
            )
            they, them = ("they", "them") if len(dead) > 1 else ("it", "it")
            return (
                f"{what} dead: nobody is owed what {they} had to send, and nothing is owed to {them}",
            )
        return tuple(self._at_root(promise, step) for rank, step in dead if rank == promise.root)

    def _at_root(self, promise: Promise, step: int) -> str:
        root = f"node {self.topology.label(promise.root)} is the root and dead from"
        if promise.collective == "gather":
            return f"{root} {_when(step)}: nobody is owed anything"
        return f"{root} {_when(step)}: nothing leaves it{'' if step == 1 else ' from then on'}"

    def _dead(self) -> list[tuple[int, int]]:
        return [
            (self.topology.node(fault.what), fault.step)
            for fault in self.faults
            if not isinstance(fault.what, tuple)
        ]


def _when(step: int) -> str:
    return "the start" if step == 1 else f"step {step}"


def _listed(faults: Iterable[FaultLike]) -> Iterable[FaultLike]:
    if isinstance(faults, str | Fault) or not isinstance(faults, Iterable):
        raise InputError(
            f"the faults are {faults!r}, not a list",
            hint="give a list of nodes and pairs: faults=['21345']",
        )
    return faults


def _fault(topology: Topology, given: FaultLike) -> Fault:
    return (given if isinstance(given, Fault) else Fault(given)).on(topology)


def _end(word: str) -> End:
    rank = word.removeprefix("#")
    return int(rank) if rank != word and rank.isascii() and rank.isdigit() else word


def _ports_between(topology: Topology, one: int, other: int) -> list[int]:
    return [port for port in topology.ports if int(topology.neighbours(port, [one])[0]) == other]
