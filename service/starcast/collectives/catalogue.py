"""Look-up of algorithms, `schedule`, which builds a schedule, and `parse_schedule_id`."""

from collections.abc import Mapping
from typing import NamedTuple

# Each module declares its algorithms; `starcast` lists them in this order.
# isort: off
from starcast.collectives import (  # noqa: F401
    broadcast,
    allgather,
    scatter,
    alltoall,
    edge_disjoint,
    yardsticks,
    doubling,
    any_forest,
    reductions,
)

# isort: on
from starcast.collectives.algorithm import REGISTRIES, Algorithm, Arguments
from starcast.collectives.model import (
    BYTES_PER_ROW,
    EXPANDED,
    MAX_ROWS,
    Schedule,
    check_collective,
)
from starcast.support.errors import InputError, LimitError
from starcast.support.spec_syntax import normalize_id, parse_arguments, parse_spec
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
    """Return the algorithms defined on a topology, for all collectives or for one.

    Algorithms with a required argument, such as ``forest``, are omitted.
    """
    return tuple(
        algorithm
        for algorithm in algorithms(collective)
        if algorithm.supports(topology) and not algorithm.required_arguments
    )


def find(collective: str, name: str, topology: Topology | None = None) -> Algorithm:
    """Return the algorithm with a name.

    Args:
        collective: the collective of the algorithm.
        name: the name of the algorithm.
        topology: a topology on which the algorithm must be defined.

    Raises:
        InputError: the collective is unknown, has no algorithm of this name, or the algorithm is
            not defined on the topology.
    """
    check_collective(collective)
    return REGISTRIES[collective].find(name, topology)


def check_topology(algorithm: Algorithm, topology: Topology) -> None:
    """Check that an algorithm is defined on a topology.

    Raises:
        InputError: the algorithm is not defined on the topology.
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

    If the algorithm sends along the forest of a construction, `Schedule.forest_id` is the id of
    that forest, and the column ``tree`` refers to its trees. Some algorithms use trees that no
    construction builds: ``dimension-change`` and, with more than one message, ``necklace`` and
    ``rotated-hamiltonian`` (allgather) and ``balanced`` (scatter, gather). Then `Schedule.forest`
    contains these trees, and ``tree`` refers to them.

    Args:
        topology: a `Topology` or its spec, such as ``S5``.
        collective: one of the collectives, such as ``broadcast`` or ``allreduce``.
        algorithm: the name of one of `algorithms`; its arguments can follow in parentheses:
            ``edge-disjoint(copies=2)``.
        ports: ``all`` (a node may use all its ports in a step) or ``one`` (it may send one packet
            and receive one); by default the first port model of the algorithm, which is ``all`` if
            the algorithm supports both.
        root: label or rank of the root. For an allgather or alltoall it is the source that
            represents all sources; it is ignored if the schedule contains the rows of all sources.
        **arguments: the arguments that the algorithm declares: ``segments`` per tree,
            ``messages``, ``copies``, ``base``; each has a default.

    Returns:
        The schedule, sorted by step, sender, port, tree and unit.

    Raises:
        InputError: a name, the root or an argument is invalid, an argument is given twice, or the
            algorithm is not defined on the topology.
        LimitError: the schedule has more rows than fit into memory.

    Example:
        >>> schedule("S5", "broadcast", "multiple", segments=4).steps
        13
    """
    topology = as_topology(topology)
    name, own = parse_spec(algorithm, "algorithm")
    entry = find(collective, name, topology)
    model = entry.resolve_ports(ports)
    if twice := own.keys() & arguments.keys():
        raise InputError(f"the argument '{min(twice)}' is given twice", hint="remove one of them")
    values = entry.resolve_arguments(topology, own | arguments)
    rank = topology.node(root)
    _check_size(entry, topology, model, values)
    return entry.build(topology, rank, model, **values)


def _check_size(algorithm: Algorithm, topology: Topology, ports: str, arguments: Arguments) -> None:
    """Check, before building a schedule, that it fits into memory."""
    rows = algorithm.count(topology, ports, arguments)
    if rows <= MAX_ROWS:
        return
    counts = [f"{name} {value:,}" for name, value in arguments.items() if isinstance(value, int)]
    raise LimitError(
        f"{algorithm} on {topology.spec} with {' and '.join(counts) or 'all its messages'} has"
        f" {rows:,} rows, about {rows * BYTES_PER_ROW / 1e9:,.0f} GB;"
        f" at most {MAX_ROWS:,} rows are supported",
        hint="use fewer segments or messages, or a smaller topology",
    )


class ScheduleParameters(NamedTuple):
    """The parameters that determine a schedule.

    Attributes:
        algorithm: the algorithm that builds the schedule.
        topology: the topology.
        root: rank of the root.
        ports: the port model.
        arguments: all arguments of the algorithm.
    """

    algorithm: Algorithm
    topology: Topology
    root: int
    ports: str
    arguments: Mapping[str, int | str]

    @property
    def id(self) -> str:
        """The complete id of the schedule."""
        return self.algorithm.id(self.topology, self.ports, self.arguments, self.root)

    def count_rows(self) -> int:
        """Return the schedule's number of rows, without building it."""
        return self.algorithm.count(self.topology, self.ports, self.arguments)

    def build(self) -> Schedule:
        """Build the schedule without verifying it.

        Raises:
            LimitError: the schedule does not fit into memory.
        """
        return schedule(
            self.topology,
            self.algorithm.collective,
            self.algorithm.name,
            ports=self.ports,
            root=self.root,
            **self.arguments,
        )


def parse_schedule_id(schedule_id: str) -> ScheduleParameters:
    """Return the parameters of the schedule with an id.

    In a short id such as ``S5:broadcast:multiple(segments=4)``, the port model is the algorithm's
    default and the root is the identity.

    Raises:
        InputError: the id has another form, or names something that does not exist.

    Example:
        >>> parse_schedule_id("S4:broadcast:greedy").id
        'S4:broadcast:greedy:all:segments=1:1234'
    """
    parts = normalize_id(schedule_id).split(":") if schedule_id.count(":") == 5 else ()
    if parts:
        spec, collective, name, model, argument_text, root = parts
        ports: str | None = model
        arguments = parse_arguments(argument_text)
    elif schedule_id.count(":") == 2:
        spec, collective, algorithm_text = schedule_id.split(":")
        name, arguments = parse_spec(algorithm_text, "algorithm")
        ports, root = None, EXPANDED
    else:
        raise InputError(
            f"'{schedule_id}' is not the id of a schedule",
            hint="write it as S5:broadcast:multiple:all:segments=4:12345, or in short as"
            " S5:broadcast:multiple(segments=4)",
        )
    topology = as_topology(spec)
    algorithm = find(collective, name, topology)
    return ScheduleParameters(
        algorithm,
        topology,
        # An expanded schedule has the rows of all sources, so its id contains no root; as with a
        # short id, the root defaults to the identity.
        0 if root == EXPANDED else topology.node(root),
        algorithm.resolve_ports(ports),
        algorithm.resolve_arguments(topology, arguments),
    )
