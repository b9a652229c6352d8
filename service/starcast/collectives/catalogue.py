"""The algorithms by collective and name, and `schedule`, which runs them."""

# Each module declares its algorithms; they are listed in this order.
# isort: off
from starcast.collectives import (  # noqa: F401
    broadcast,
    allgather,
    allgather_units,
    allgather_nk,
    scatter,
    alltoall,
    exact,
    edge_disjoint_broadcast,
    edge_disjoint_personalized,
    recorded,
    substar_doubling,
    symbol_doubling,
    yardsticks,
    any_forest,
    reversal,
    allreduce,
)

# isort: on
from starcast.collectives.algorithm import REGISTRIES, Algorithm, Arguments
from starcast.collectives.model import BYTES_PER_ROW, MAX_ROWS, Schedule, check_collective
from starcast.support.errors import InputError, LimitError
from starcast.support.spec_syntax import parse_spec
from starcast.topologies import Topology, as_topology


def algorithms(collective: str | None = None) -> tuple[Algorithm, ...]:
    """Return all algorithms, or those of one collective.

    Example:
        >>> [algorithm.name for algorithm in algorithms("alltoall")]
        ['necklace', 'perfectly-balanced', 'one-port', 'exact', 'edge-disjoint']
    """
    chosen = [name for name in REGISTRIES if collective in (None, name)]
    return tuple(algorithm for name in chosen for algorithm in REGISTRIES[name].values())


def algorithms_on(topology: Topology, collective: str | None = None) -> tuple[Algorithm, ...]:
    """Return the algorithms that are defined on a topology, of all collectives or of one.

    Algorithms with a required argument, such as ``forest``, are not among them.
    """
    return tuple(
        algorithm
        for algorithm in algorithms(collective)
        if algorithm.supports(topology) and not algorithm.required_arguments
    )


def find(collective: str, name: str) -> Algorithm:
    """Return the algorithm of a name.

    Raises:
        InputError: the collective is unknown, or has no algorithm of this name.
    """
    check_collective(collective)
    return REGISTRIES[collective].find(name)


def check_topology(algorithm: Algorithm, topology: Topology) -> None:
    """Check that an algorithm is defined on a topology.

    Raises:
        InputError: it is not.
    """
    REGISTRIES[algorithm.collective].check_topology(algorithm, topology)


def schedule(
    topology: Topology | str,
    collective: str,
    algorithm: str,
    ports: str | None = None,
    root: int | str = 0,
    **arguments: int | str,
) -> Schedule:
    """Return the schedule of an algorithm on a topology.

    If the algorithm sends along a forest of the catalogue, `Schedule.forest_id` is the id of that
    forest, and the column ``tree`` numbers its trees. With more than one message, ``necklace`` and
    ``rotated-hamiltonian`` (allgather) and ``balanced`` (scatter, gather) use several trees of
    their own, as ``dimension-change`` always does: then `Schedule.forest` stacks these trees, and
    ``tree`` numbers the stack.

    Args:
        topology: a `Topology` or its spec, such as ``S5``.
        collective: one of the collectives, such as ``broadcast`` or ``allreduce``.
        algorithm: the name of one of `algorithms`; its arguments can follow in parentheses:
            ``edge-disjoint(copies=2)``.
        ports: ``all`` (a node may use all its ports in a step) or ``one`` (it may send one packet
            and receive one); by default the algorithm's own, ``all`` if it has both.
        root: label or rank of the root. For an allgather or alltoall it is the source whose
            schedule stands for all; it is ignored if all sources are written out.
        **arguments: the arguments that the algorithm declares: ``segments`` per tree,
            ``messages``, ``copies``, ``base``; each has a default.

    Returns:
        The schedule, sorted by step, sender, port, tree and unit.

    Raises:
        InputError: a name, the root or an argument is wrong or is given twice, or the algorithm is
            not defined on the topology.
        LimitError: the schedule has more rows than fit into memory.

    Example:
        >>> schedule("S5", "broadcast", "multiple", segments=4).steps
        13
    """
    topology = as_topology(topology)
    name, own = parse_spec(algorithm, "algorithm")
    entry = find(collective, name)
    check_topology(entry, topology)
    model = entry.resolve_ports(ports)
    if twice := own.keys() & arguments.keys():
        raise InputError(f"the argument '{min(twice)}' is given twice", hint="remove one of them")
    values = entry.resolve_arguments(topology, own | arguments)
    rank = topology.node(root)
    _check_size(entry, topology, model, values)
    return entry.build(topology, rank, model, **values)


def _check_size(algorithm: Algorithm, topology: Topology, ports: str, arguments: Arguments) -> None:
    """Refuse a schedule that does not fit into memory, before anything is built."""
    rows = algorithm.count(topology, ports, arguments)
    if rows <= MAX_ROWS:
        return
    counts = [f"{name} {value:,}" for name, value in arguments.items() if isinstance(value, int)]
    raise LimitError(
        f"{algorithm} on {topology.spec} with {' and '.join(counts) or 'all its messages'} has"
        f" {rows:,} rows, about {rows * BYTES_PER_ROW / 1e9:,.0f} GB;"
        f" at most {MAX_ROWS:,} are built",
        hint="use fewer segments or messages, or a smaller topology",
    )
