"""What an algorithm declares: what it promises, where it runs, what it has to be given, and how many rows it writes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from starcast.collectives.model import PORT_MODELS, Schedule, schedule_id
from starcast.errors import InputError
from starcast.support.integers import check_count
from starcast.topologies import Topology
from starcast.trees.catalogue import constructions, single_trees

#: The arguments of a schedule by name, each with a value: what `Algorithm.settled` returns.
Arguments = Mapping[str, int | str]


@dataclass(frozen=True)
class Argument:
    """What an algorithm can be given beside topology, ports and root.

    A "count" is a whole number of at least 1, and at most ``most(topology)`` where that is said; a "construction" names a
    single spanning tree. ``default(topology)`` stands where nothing is given.
    """

    name: str
    what: str
    default: Callable[[Topology], int | str] = lambda _: 1
    most: Callable[[Topology], int] | None = None
    kind: str = "count"


SEGMENTS = Argument("segments", "pieces that a tree's share of the message is cut into")
MESSAGES = Argument("messages", "unit messages, M")
COPIES = Argument(
    "copies", "edge-disjoint trees that carry each message", most=lambda topology: topology.degree
)


class Refusal(NamedTuple):
    """Why an algorithm is not defined for some arguments, and what to give instead."""

    reason: str
    hint: str


@dataclass(frozen=True)
class Algorithm:
    """A rule that yields schedules.

    Attributes:
        collective, name: what it is called by.
        families: the topologies that it is defined on.
        ports: the port models that it has; the first one is taken where none is asked for.
        arguments: what it can be given.
        paper: paper and number.
        build: ``build(topology, root, ports, **arguments)`` gets every argument.
        rows: ``rows(topology, arguments)``: how many rows the schedule has, of one source if there are many.
        forest_construction: ``forest_construction(topology, ports, arguments)``: the construction whose forest its ``tree`` column numbers; None where it
            is none of the catalogue's, and `Schedule.along` then too.
        smallest: the least n that it is defined for.
        sources: ``sources(topology, ports)``: of how many sources the rows are written out; one stands for all, or is all.
        refusal: ``refusal(topology, arguments)``: why it is not defined for these, and what is; None where it is.
    """

    collective: str
    name: str
    families: tuple[str, ...]
    ports: tuple[str, ...]
    arguments: tuple[Argument, ...]
    paper: str
    build: Callable[..., Schedule]
    rows: Callable[[Topology, Arguments], int]
    forest_construction: Callable[[Topology, str, Arguments], str | None]
    smallest: int = 2
    refusal: Callable[[Topology, Arguments], Refusal | None] = lambda _topology, _arguments: None
    sources: Callable[[Topology, str], int] = lambda _topology, _ports: 1

    @property
    def split_argument(self) -> str | None:
        """The argument that cuts the message: ``segments`` or ``messages``, None where it has neither."""
        return next(
            (one.name for one in self.arguments if one.name in ("segments", "messages")), None
        )

    def count(self, topology: Topology, ports: str, arguments: Arguments) -> int:
        """How many rows its schedule has under a port model, counted without building it."""
        return self.rows(topology, arguments) * self.sources(topology, ports)

    def id(self, topology: Topology, ports: str, arguments: Arguments, root: int) -> str:
        """The id of its schedule under a port model, known without building it."""
        at = root if self.sources(topology, ports) == 1 else None
        return schedule_id(topology, self.collective, self.name, ports, arguments, at)

    def runs_on(self, topology: Topology) -> bool:
        """Whether it is defined on a topology."""
        if topology.family not in self.families or topology.n < self.smallest:
            return False
        along = self.forest_construction(topology, self.ports[0], self._defaults(topology))
        return along is None or along in constructions(topology)

    def resolve_arguments(
        self, topology: Topology, given: Mapping[str, object]
    ) -> dict[str, int | str]:
        """Every argument with its value: the one given, else its default.

        Raises:
            InputError: an argument is unknown or impossible, or the algorithm is not defined for them.
        """
        known = [one.name for one in self.arguments]
        unknown = next((name for name in given if name not in known), None)
        if unknown is not None:
            hint = f"its arguments are {', '.join(known)}" if known else "it has none"
            raise InputError(f"{self} has no argument '{unknown}'", hint=hint)
        values = {
            one.name: _value(one, topology, given[one.name])
            if one.name in given
            else one.default(topology)
            for one in self.arguments
        }
        refusal = self.refusal(topology, values)
        if refusal is not None:
            raise InputError(
                f"{self} is not defined so on {topology.spec}: {refusal.reason}", hint=refusal.hint
            )
        return values

    def resolve_ports(self, ports: str | None) -> str:
        """The port model asked for, the first of its own where none is.

        Raises:
            InputError: it has no such model.
        """
        if ports is None:
            return self.ports[0]
        if ports not in self.ports:
            models = " or ".join(f"{name} ({PORT_MODELS[name]})" for name in self.ports)
            raise InputError(f"{self} has no port model '{ports}'", hint=f"write {models}")
        return ports

    def _defaults(self, topology: Topology) -> dict[str, int | str]:
        return {one.name: one.default(topology) for one in self.arguments}

    def __str__(self) -> str:
        return f"{self.collective} by {self.name}"


def _value(argument: Argument, topology: Topology, given: object) -> int | str:
    if argument.kind == "construction":
        return _single_tree(argument, topology, given)
    return check_count(
        argument.name, given, argument.most and argument.most(topology), f"on {topology.spec}"
    )


def _single_tree(argument: Argument, topology: Topology, given: object) -> str:
    names = single_trees(topology)
    if given not in names:
        raise InputError(
            f"{argument.name} is {given!r}, which is no single spanning tree on {topology.spec}",
            hint=f"take one of {', '.join(names)}",
        )
    return str(given)
