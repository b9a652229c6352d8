"""The algorithms by name, each with its arguments and its paper."""

from collections.abc import Mapping
from difflib import get_close_matches

from starcast.collectives import (
    allgather,
    alltoall,
    broadcast,
    edge_disjoint,
    exact,
    gather,
    scatter,
)
from starcast.collectives.algorithm import Algorithm
from starcast.collectives.model import (
    BYTES_PER_ROW,
    COLLECTIVES,
    MAX_ROWS,
    Schedule,
    check_collective,
)
from starcast.errors import InputError, LimitError
from starcast.topologies import Topology, as_topology

_MODULES = (broadcast, allgather, scatter, gather, alltoall, exact, edge_disjoint)
ALGORITHMS: dict[tuple[str, str], Algorithm] = {
    (algorithm.collective, algorithm.name): algorithm
    for collective in COLLECTIVES
    for module in _MODULES
    for algorithm in module.ALGORITHMS
    if algorithm.collective == collective
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
        names = [row.name for row in algorithms(collective)]
        near = get_close_matches(str(name), names, n=1)
        meant = f"did you mean '{near[0]}'? " if near else ""
        raise InputError(
            f"'{name}' is no {collective} algorithm", hint=f"{meant}there are {', '.join(names)}"
        )
    return ALGORITHMS[collective, name]


def schedule(
    topology: Topology | str,
    collective: str,
    algorithm: str,
    ports: str | None = None,
    root: int | str = 0,
    **arguments: int | str,
) -> Schedule:
    """The schedule of an algorithm on a topology.

    Args:
        where: a `Topology` or its name.
        collective: ``broadcast``, ``allgather``, ``scatter``, ``gather`` or ``alltoall``.
        algorithm: one of `algorithms()`.
        ports: ``all`` (a node may use all its ports in a step) or ``one`` (it may send one packet and receive one); the
            algorithm's own unless given, ``all`` where it has both.
        root: label or rank of the root; of an allgather or alltoall, the source whose schedule stands for all. Where
            all sources are written out it means nothing.
        **arguments: the algorithm's own: ``segments`` per tree, ``messages``, ``copies``, ``tree``; each has a default.

    Where an algorithm sends along a forest of the catalogue, `Schedule.along` names it, and the column ``tree`` numbers its
    trees. With more than one message ``necklace`` and ``rotated-hamiltonian`` (allgather) and ``balanced`` (scatter, gather)
    use several trees of their own, ``dimension-change`` always: `Schedule.forest` stacks these, and ``tree`` numbers the stack.

    Raises:
        InputError: a name, the root or an argument is wrong, or the algorithm is not defined on the topology.
        LimitError: it has more rows than memory holds.
    """
    there = as_topology(topology)
    rule = find(collective, algorithm)
    check_topology(rule, there)
    model, values = rule.resolve_ports(ports), rule.resolve_arguments(there, arguments)
    at = there.node(root)
    _check_size(rule, there, model, values)
    return rule.build(there, at, model, **values)


def _check_size(
    rule: Algorithm, topology: Topology, ports: str, values: Mapping[str, int | str]
) -> None:
    """Refuse what memory cannot hold, before anything is built."""
    rows = rule.count(topology, ports, values)
    if rows > MAX_ROWS:
        given = " and ".join(
            f"{name} {value:,}" for name, value in values.items() if isinstance(value, int)
        )
        raise LimitError(
            f"{rule} on {topology.spec} with {given or 'all its messages'} has {rows:,} rows, about "
            f"{rows * BYTES_PER_ROW / 1e9:,.0f} GB; at most {MAX_ROWS:,} are built",
            hint="take fewer segments or messages, or a smaller topology",
        )


def algorithms_on(topology: Topology, collective: str | None = None) -> tuple[Algorithm, ...]:
    """Those of `algorithms` that are defined on a topology."""
    return tuple(row for row in algorithms(collective) if row.runs_on(topology))


def check_topology(rule: Algorithm, topology: Topology) -> None:
    """Accept a topology on which the algorithm is defined.

    Raises:
        InputError: it is not.
    """
    if not rule.runs_on(topology):
        names = (
            ", ".join(row.name for row in algorithms_on(topology, rule.collective))
            or f"no algorithms for {rule.collective}"
        )
        raise InputError(
            f"{rule} is not defined on {topology.spec}",
            hint=f"on {topology.spec} there are {names}",
        )
