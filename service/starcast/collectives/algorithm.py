"""The declaration of an algorithm: its topologies, ports, arguments, and number of rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from starcast.collectives.model import PORT_MODELS, Schedule, schedule_id
from starcast.errors import InputError
from starcast.registry import Argument, Entry
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology
from starcast.trees.catalogue import CONSTRUCTIONS

#: The arguments of a schedule by name, all with values: what `Algorithm.resolve_arguments` returns.
Arguments = Mapping[str, int | str]

SEGMENTS = Argument(
    "segments", "segments into which each tree's share of the message is cut", lambda _: 1
)
MESSAGES = Argument("messages", "messages of one unit, M", lambda _: 1)
COPIES = Argument(
    "copies",
    "edge-disjoint trees that carry each message",
    lambda _: 1,
    maximum=lambda topology: topology.degree,
)


class Refusal(NamedTuple):
    """Why an algorithm is not defined for some arguments, and which arguments to give instead."""

    reason: str
    hint: str


@dataclass(frozen=True)
class Algorithm(Entry):
    """A rule that yields schedules of one collective.

    Attributes:
        collective: the collective that its schedules perform.
        name: its name, unique among the algorithms of the collective.
        families: the families of topologies on which it may be defined.
        ports: its port models; the first one is its default.
        arguments: the arguments that it takes besides topology, root and port model.
        source: the paper, and the number of the algorithm or theorem there.
        build: ``build(topology, root, ports, **arguments)`` returns the schedule.
        rows: ``rows(topology, arguments)`` returns the number of rows of its schedule, of one
            source if there are many.
        forest_construction: ``forest_construction(topology, ports, arguments)`` returns the name
            of the construction along whose forest it sends, or None if that is not a construction
            of the catalogue.
        smallest: the least n for which it is defined.
        refusal: ``refusal(topology, arguments)`` returns why it is not defined for these
            arguments, or None if it is.
        sources: ``sources(topology, ports)`` returns how many sources its rows are written out
            for: 1 if a schedule of one source stands for all, or if there is only one.
        exclusion: ``exclusion(topology)`` returns why it is not defined on a topology of its
            families, or None if it is.
    """

    collective: Collective
    name: str
    families: tuple[str, ...]
    ports: tuple[Ports, ...]
    arguments: tuple[Argument, ...]
    source: str
    build: Callable[..., Schedule]
    rows: Callable[[Topology, Arguments], int]
    forest_construction: Callable[[Topology, str, Arguments], str | None]
    smallest: int = 2
    refusal: Callable[[Topology, Arguments], Refusal | None] = lambda _topology, _arguments: None
    sources: Callable[[Topology, str], int] = lambda _topology, _ports: 1
    exclusion: Callable[[Topology], str | None] = lambda _: None

    @property
    def split_argument(self) -> str | None:
        """The argument that splits the message: ``segments``, ``messages`` or None."""
        names = [argument.name for argument in self.arguments]
        return next((name for name in names if name in ("segments", "messages")), None)

    def count(self, topology: Topology, ports: str, arguments: Arguments) -> int:
        """Return the number of rows of its schedule, without building it."""
        return self.rows(topology, arguments) * self.sources(topology, ports)

    def id(self, topology: Topology, ports: str, arguments: Arguments, root: int) -> str:
        """Return the id of its schedule, without building it."""
        source = root if self.sources(topology, ports) == 1 else None
        return schedule_id(topology, self.collective, self.name, ports, arguments, source)

    def unsupported_reason(self, topology: Topology) -> str | None:
        """Return why the algorithm is not defined on a topology, or None if it is."""
        reason = super().unsupported_reason(topology) or self.exclusion(topology)
        if reason is not None:
            return reason
        if self.required_arguments:
            return None
        arguments = self.default_arguments(topology)
        construction = self.forest_construction(topology, self.ports[0], arguments)
        if construction is None:
            return None
        if construction in CONSTRUCTIONS and CONSTRUCTIONS[construction].supports(topology):
            return None
        return f"its construction '{construction}' is not"

    def resolve_arguments(
        self, topology: Topology, arguments: Mapping[str, object]
    ) -> dict[str, int | str]:
        """Return all arguments with their values: the value given, or else the default.

        Raises:
            InputError: an argument is unknown or impossible, or the algorithm is not defined for
                these values.
        """
        values = super().resolve_arguments(topology, arguments)
        refusal = self.refusal(topology, values)
        if refusal is not None:
            raise InputError(
                f"{self} on {topology.spec} is not defined for these arguments: {refusal.reason}",
                hint=refusal.hint,
            )
        return values

    def resolve_ports(self, ports: str | None) -> Ports:
        """Return the port model asked for, or the algorithm's default if None.

        Raises:
            InputError: the algorithm has no such port model.
        """
        if ports is None:
            return self.ports[0]
        for model in self.ports:
            if model == ports:
                return model
        models = " or ".join(f"{model} ({PORT_MODELS[model]})" for model in self.ports)
        raise InputError(f"{self} has no port model '{ports}'", hint=f"write {models}")

    def __str__(self) -> str:
        return f"{self.collective} by {self.name}"
