"""Which schedules an ingest is to store, out of the words of a user.

A word names an algorithm: ``multiple``, ``allgather:necklace``, ``alltoall:edge-disjoint(copies=2)``; ``allgather:all`` names
all of a collective that are defined on the topology, ``all`` those of every collective. What is named has to be possible as it
is asked for; of what ``all`` covers, the rest is left out, with the reason.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from starcast.collectives.algorithm import Algorithm
from starcast.collectives.catalogue import algorithms, algorithms_on, check_topology, find
from starcast.collectives.model import PORT_MODELS, check_collective, check_ports
from starcast.errors import InputError
from starcast.support.integers import check_count
from starcast.topologies import Topology
from starcast.trees.spec_syntax import listed, parsed

ALL = "all"
BOTH = "both"
#: Where no port model is asked for: each algorithm's own first one.
OWN = "default"


@dataclass(frozen=True)
class Choice:
    """One schedule: its algorithm, port model and all its arguments."""

    rule: Algorithm
    ports: str
    arguments: Mapping[str, int | str]

    def key(self, topology: Topology, root: int) -> str:
        """The schedule's id."""
        return self.rule.id(topology, self.ports, self.arguments, root)


@dataclass
class Selection:
    """The schedules chosen, by id, and why others that ``all`` covers were left out."""

    chosen: dict[str, Choice] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def select(
    topology: Topology,
    schedules: str | Iterable[str],
    ports: str = OWN,
    segments: int | None = None,
    messages: int | None = None,
) -> Selection:
    """The schedules that these words mean.

    Args:
        where: the topology.
        schedules: words as above, one by one or separated by commas.
        ports: ``all``, ``one``, ``both``, or ``default``.
        segments: for algorithms that cut the message, where the word does not say; their default unless given.
        messages: likewise for algorithms of unit messages.

    Raises:
        InputError: a word, a port model or an argument is wrong, or a named algorithm does not have it.
    """
    models = _models(ports)
    shares = {
        name: value
        for name, value in (("segments", segments), ("messages", messages))
        if value is not None
    }
    for name, share in shares.items():
        check_count(name, share)
    found = Selection()
    for word in listed(schedules):
        name, given = parsed(word, "algorithm")
        collective, _, algorithm = name.rpartition(":")
        wildcard = algorithm == ALL
        rules = (
            _every(topology, collective, given)
            if wildcard
            else (_named(topology, collective, algorithm),)
        )
        for rule in rules:
            # A number for all is meant for those that have it; what stands in parentheses is meant for this one.
            asked = {
                name: value for name, value in shares.items() if name == rule.split_argument
            } | given
            _choose(found, rule, topology, models, asked, wildcard=wildcard)
    return found


def _choose(
    found: Selection,
    rule: Algorithm,
    topology: Topology,
    models: tuple[str | None, ...],
    asked: Mapping[str, int | str],
    *,
    wildcard: bool,
) -> None:
    try:
        arguments = rule.resolve_arguments(topology, asked)
        choices = [
            Choice(rule, rule.resolve_ports(model), arguments)
            for model in models
            if len(models) == 1 or model in rule.ports
        ]
    except InputError as error:
        if not wildcard:
            raise
        found.left_out.append(error.message)
        return
    for choice in choices:
        found.chosen[choice.key(topology, 0)] = choice


def _named(topology: Topology, collective: str, name: str) -> Algorithm:
    if not collective:
        collective = _collective_of(name)
    rule = find(collective, name)
    check_topology(rule, topology)
    return rule


def _collective_of(name: str) -> str:
    """The collective that an algorithm's name alone means: broadcast where that has it, else the only one."""
    having = [rule.collective for rule in algorithms() if rule.name == name]
    if len(having) > 1 and "broadcast" not in having:
        words = " or ".join(f"'{collective}:{name}'" for collective in having)
        raise InputError(f"'{name}' is an algorithm of several collectives", hint=f"write {words}")
    return having[0] if len(having) == 1 else "broadcast"


def _every(
    topology: Topology, collective: str, given: Mapping[str, object]
) -> tuple[Algorithm, ...]:
    if given:
        raise InputError(
            f"'{ALL}' takes no arguments",
            hint="give --segments or --messages, or name an algorithm",
        )
    if collective:
        check_collective(collective)
    return algorithms_on(topology, collective or None)


def _models(ports: str) -> tuple[str | None, ...]:
    if ports == OWN:
        return (None,)
    if ports == BOTH:
        return tuple(PORT_MODELS)
    check_ports(ports, (BOTH, OWN))
    return (ports,)
