"""The algorithms by name, each with its arguments and its paper."""

from dataclasses import dataclass

import numpy as np

from starcast.collectives import broadcast
from starcast.collectives.schedule import PORT_MODELS, Schedule
from starcast.errors import InputError, LimitError
from starcast.topologies import Topology, topology
from starcast.trees import constructions, forest
from starcast.trees.catalogue import CONSTRUCTIONS

#: A row takes 18 bytes in its columns and 60 more while they are sorted: what a machine of 16 GB can do.
MOST_ROWS = 100_000_000
BYTES_A_ROW = 80


@dataclass(frozen=True)
class Algorithm:
    """A rule that yields schedules: what it does, along which trees, and what its argument is called.

    ``argument`` is ``segments`` where the message is cut for each tree, ``messages`` where a stream of unit messages is sent.
    """

    collective: str
    name: str
    ports: tuple[str, ...]
    argument: str
    construction: str
    paper: str
    build: broadcast.Builder


ALGORITHMS: dict[tuple[str, str], Algorithm] = {
    (algorithm.collective, algorithm.name): algorithm
    for algorithm in (
        Algorithm(
            "broadcast",
            "greedy",
            ("all", "one"),
            "segments",
            "greedy",
            "Tseng & Sheu 1997, section 4",
            broadcast.pipelined,
        ),
        Algorithm(
            "broadcast",
            "multiple",
            ("all", "one"),
            "segments",
            "multiple",
            "Tseng & Sheu 1997, Algorithm 1, Theorems 1 and 2",
            broadcast.pipelined,
        ),
        Algorithm(
            "broadcast",
            "recursive-substar",
            ("all", "one"),
            "messages",
            "recursive-substar",
            "Sheu, Liaw & Chen 1993, section 2",
            broadcast.substar_stream,
        ),
    )
}


def algorithms(collective: str | None = None) -> tuple[Algorithm, ...]:
    """All algorithms, or those of one collective."""
    return tuple(row for row in ALGORITHMS.values() if collective in (None, row.collective))


def find(collective: str, name: str) -> Algorithm:
    """The algorithm of that name for that collective.

    Raises:
        InputError: there is no such collective, or no such algorithm for it.
    """
    check_collective(collective)
    if (collective, name) not in ALGORITHMS:
        names = ", ".join(row.name for row in algorithms(collective))
        raise InputError(f"'{name}' is no {collective} algorithm", hint=f"there are {names}")
    return ALGORITHMS[collective, name]


def check_collective(name: str) -> None:
    """Accept a collective for which there are algorithms.

    Raises:
        InputError: there are none.
    """
    known = sorted({row.collective for row in ALGORITHMS.values()})
    if name not in known:
        raise InputError(f"'{name}' is no collective", hint=f"there is {', '.join(known)}")


def schedule(
    where: Topology | str, collective: str, algorithm: str, ports: str = "all", root: int | str = 0, **arguments: int
) -> Schedule:
    """The schedule of an algorithm on a topology.

    Args:
        where: a `Topology` or its name.
        collective: ``broadcast``.
        algorithm: one of `algorithms()`.
        ports: ``all`` (a node may use all its ports in a step) or ``one`` (it may send one packet and receive one).
        root: label or rank of the root.
        **arguments: the algorithm's own, a whole number of at least 1; 1 unless given: ``segments`` per tree, or ``messages``.

    Raises:
        InputError: a name, the root or an argument is wrong, or the algorithm is not defined on the topology.
        LimitError: it has more rows than memory holds.
    """
    there = where if isinstance(where, Topology) else topology(where)
    rule = find(collective, algorithm)
    check_topology(rule, there)
    check_ports(rule, ports)
    share = share_of(rule, arguments)
    _check_size(rule, there, share)
    return rule.build(forest(there, rule.construction, root), rule.name, ports, rule.argument, share)


def _check_size(rule: Algorithm, where: Topology, share: int) -> None:
    """Refuse what memory cannot hold, before anything is built."""
    trees = where.degree if CONSTRUCTIONS[rule.construction].many else 1
    rows = share * trees * (where.nodes - 1)
    if rows > MOST_ROWS:
        raise LimitError(
            f"{rule.collective} by {rule.name} on {where.spec} with {rule.argument} {share:,} has {rows:,} rows, about "
            f"{rows * BYTES_A_ROW / 1e9:,.0f} GB; at most {MOST_ROWS:,} are built",
            hint="take fewer segments or messages, or a smaller topology",
        )


def algorithms_on(where: Topology, collective: str | None = None) -> tuple[Algorithm, ...]:
    """Those of `algorithms` whose trees grow on a topology."""
    grown = constructions(where)
    return tuple(row for row in algorithms(collective) if row.construction in grown)


def check_topology(rule: Algorithm, where: Topology) -> None:
    """Accept a topology on which the algorithm is defined.

    Raises:
        InputError: it is not.
    """
    here = algorithms_on(where, rule.collective)
    if rule not in here:
        names = ", ".join(row.name for row in here) or f"no algorithms for {rule.collective}"
        raise InputError(
            f"{rule.collective} by {rule.name} is not defined on {where.spec}", hint=f"on {where.spec} there are {names}"
        )


def check_ports(rule: Algorithm, ports: str) -> None:
    """Accept a port model that the algorithm has.

    Raises:
        InputError: it has not.
    """
    if ports not in rule.ports:
        models = " or ".join(f"{name} ({PORT_MODELS[name]})" for name in rule.ports)
        raise InputError(f"{rule.collective} by {rule.name} has no port model '{ports}'", hint=f"write {models}")


def share_of(rule: Algorithm, arguments: dict[str, int]) -> int:
    """The algorithm's one argument out of those given, 1 if none is.

    Raises:
        InputError: an argument is unknown, or not a whole number of at least 1.
    """
    unknown = next((name for name in arguments if name != rule.argument), None)
    if unknown is not None:
        raise InputError(
            f"{rule.collective} by {rule.name} has no argument '{unknown}'", hint=f"its argument is '{rule.argument}'"
        )
    share: object = arguments.get(rule.argument, 1)
    if isinstance(share, bool) or not isinstance(share, int | np.integer) or share < 1:
        raise InputError(
            f"{rule.argument} is {share!r}, not a whole number of at least 1", hint=f"give {rule.argument} 1 or more"
        )
    return int(share)
