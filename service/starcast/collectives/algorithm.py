"""Declare algorithms (`algorithm`), find them by name, and build schedules (`schedule`).

`starcast.collectives` imports the modules that declare the built-in algorithms.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack, get_args

from starcast.catalogue.entries import (
    Argument,
    Entry,
    Function,
    Registry,
    check_declaration,
    check_options,
    read_arguments,
)
from starcast.catalogue.plugins import Origin, guard, located, read_text, run_guarded
from starcast.collectives.columns import REQUIRED, schedule_from_columns
from starcast.collectives.model import (
    BYTES_PER_ROW,
    COLLECTIVES,
    MAX_ROWS,
    PORT_MODELS,
    Draft,
    Schedule,
    check_collective,
    schedule_id,
)
from starcast.support.errors import InputError, LimitError
from starcast.support.vocabulary import (
    EXPANDED,
    Arguments,
    Collective,
    Ports,
    parse_arguments,
    parse_spec,
)
from starcast.topologies import Topology, as_topology
from starcast.trees.construction import CONSTRUCTIONS

# Parameter types for algorithm functions; each type includes a help text and a default value.
Segments = Annotated[
    int,
    Argument(
        "segments",
        "number of segments into which each tree's share of the message is divided",
        lambda _: 1,
    ),
]
Messages = Annotated[
    int, Argument("messages", "number of messages, each of one unit (M)", lambda _: 1)
]
Copies = Annotated[
    int,
    Argument(
        "copies",
        "number of edge-disjoint trees that carry each message",
        lambda _: 1,
        maximum=lambda topology: topology.degree,
    ),
]


class Refusal(NamedTuple):
    """The reason why an algorithm is not defined for some arguments, and a hint on valid values."""

    reason: str
    hint: str


def count_messages(topology: Topology, arguments: Arguments) -> int:
    """Return the number of rows of a schedule that sends each message to every endpoint once.

    The root receives no message. If the algorithm has segments instead of messages, each segment
    counts as a message. This function is the default of `Algorithm.rows`.
    """
    messages = int(arguments.get("messages", arguments.get("segments", 1)))
    return messages * (topology.endpoints - 1)


@dataclass(frozen=True, kw_only=True, repr=False)
class Algorithm(Entry):
    """A recipe for building the schedules of one collective.

    Attributes:
        collective: the collective that the schedules perform.
        ports: the supported port models; the first one is the default.
        build: ``build(topology, root, ports, **arguments)`` returns the schedule.
        rows: ``rows(topology, arguments)`` returns the number of rows of the schedule. If the
            schedule contains the rows of all sources, the function returns the number of rows per
            source. On a topology with switches, the result may be an upper bound.
        forest_construction: ``forest_construction(topology, ports, arguments)`` returns the name of
            the construction whose trees are used, or None if no construction builds these trees.
        refusal: ``refusal(topology, arguments)`` returns a `Refusal` if the algorithm is not
            defined for these arguments, and None if it is defined.
        sources: ``sources(topology, ports)`` returns the number of sources whose rows the schedule
            contains: 1 if there is a single source, or if one source represents all.
    """

    collective: Collective
    ports: tuple[Ports, ...]
    build: Callable[..., Schedule]
    rows: Callable[[Topology, Arguments], int] = count_messages
    forest_construction: Callable[[Topology, str, Arguments], str | None] = lambda *_: None
    refusal: Callable[[Topology, Arguments], Refusal | None] = lambda *_: None
    sources: Callable[[Topology, str], int] = lambda *_: 1

    @property
    def split_argument(self) -> str | None:
        """The name of the argument that determines the number of units: segments or messages.

        None if the algorithm has neither argument.
        """
        names = self.argument_names
        return next((name for name in names if name in ("segments", "messages")), None)

    def count(self, topology: Topology, ports: str, arguments: Arguments) -> int:
        """Return the number of rows of the algorithm's schedule, without building it."""
        return self.rows(topology, arguments) * self.sources(topology, ports)

    def id(self, topology: Topology, ports: str, arguments: Arguments, root: int) -> str:
        """Return the id of the algorithm's schedule, without building it."""
        source = root if self.sources(topology, ports) == 1 else None
        return schedule_id(topology, self.collective, self.name, ports, arguments, source)

    def unsupported_reason(self, topology: Topology) -> str | None:
        """Return why the algorithm is not defined on a topology; None if it is defined."""
        reason = super().unsupported_reason(topology)
        if reason is not None:
            return reason
        if self.required_arguments:
            return None
        # The construction may depend on the arguments, which are not known here, so the default
        # values are used.
        arguments = self.default_arguments(topology)
        construction = self.forest_construction(topology, self.ports[0], arguments)
        if construction is None:
            return None
        if construction in CONSTRUCTIONS and CONSTRUCTIONS[construction].supports(topology):
            return None
        return f"its construction '{construction}' is not defined on this topology"

    def resolve_arguments(
        self, topology: Topology, arguments: Mapping[str, object]
    ) -> dict[str, int | str]:
        """Return the values of all arguments, by name: the given values or the defaults.

        Raises:
            InputError: an argument is unknown or invalid, or the algorithm is not defined for these
                values.
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
        """Return the requested port model, or the algorithm's default if ``ports`` is None.

        Raises:
            InputError: the algorithm does not support the port model.
        """
        if ports is None:
            return self.ports[0]
        # An element of `self.ports` is returned, because the type of ``ports`` is only `str`.
        for model in self.ports:
            if model == ports:
                return model
        models = " or ".join(f"{model} ({PORT_MODELS[model]})" for model in self.ports)
        raise InputError(f"{self} has no port model '{ports}'", hint=f"write {models}")

    def __str__(self) -> str:
        return f"{self.collective} by {self.name}"


#: One registry of algorithms per collective.
REGISTRIES: dict[str, Registry[Algorithm]] = {
    collective: Registry(f"{collective} algorithm") for collective in COLLECTIVES
}


class Foresight(TypedDict, total=False):
    """The optional arguments of `algorithm`: functions that describe a schedule before it is built.

    The class `Entry` documents ``exclusion``. The class `Algorithm` documents all other arguments.
    """

    exclusion: Callable[[Topology], str | None]
    rows: Callable[[Topology, Arguments], int]
    forest_construction: Callable[[Topology, str, Arguments], str | None]
    refusal: Callable[[Topology, Arguments], Refusal | None]
    sources: Callable[[Topology, str], int]


#: Functions that check and convert the results of the functions in `Foresight`, by argument name.
#: Only results of plug-ins are checked.
_FORESIGHT: Mapping[str, Callable[[Any], Any]] = {
    "exclusion": read_text,
    "rows": index,
    "forest_construction": read_text,
    "refusal": lambda result: result and Refusal(*map(str, result)),
    "sources": index,
}


def algorithm(
    collective: Collective,
    name: str,
    *,
    source: str,
    families: Sequence[str] = (),
    ports: Sequence[Ports] = ("all",),
    smallest: int = 1,
    elsewhere: str = "",
    **foresight: Unpack[Foresight],
) -> Callable[[Function], Function]:
    """Declare a function as an algorithm of a collective (used as a decorator).

    The function is called as ``function(topology, root, ports, **arguments)`` and returns a
    `Schedule`, or a mapping that `schedule_from_columns` accepts. The mapping has the columns
    ``step``, ``sender``, ``port`` and ``unit`` of equal length, in a reduction also ``combine``,
    and optionally the columns ``receiver`` and ``tree`` and the values ``units``, ``packets``,
    ``symmetric`` and ``forest``.

    The functions in starcast itself return a `Draft` instead. On topologies with translations, the
    draft's root may be the identity; the schedule is then translated to the given root.

    Args:
        collective: one of `COLLECTIVES`, such as ``broadcast``.
        name: lower-case words joined by hyphens.
        source: the paper and the number of the algorithm.
        families: the topology families on which the algorithm is defined; by default all families.
        ports: the supported port models; the first one is the default.
        smallest: the smallest n for which the algorithm is defined.
        elsewhere: the name of another algorithm, to be used on topologies on which this algorithm
            is not defined.
        **foresight: functions that return facts about a schedule without building it, such as
            ``rows``; see the attributes of `Algorithm`.

    Raises:
        InputError: the name is already used or malformed; an option has a wrong type; the
            collective, a family or a port model is unknown; ``ports`` is empty; or the function
            has a wrong signature.
    """

    def decorate(function: Function) -> Function:
        origin = Origin.of(function)
        check_options(origin, "the algorithm", {"collective": collective})
        with located("the collective of an algorithm", origin):
            check_collective(collective)
        check_declaration(
            f"{collective} algorithm", name, function, families, source=source, ports=ports,
            smallest=smallest,
        )  # fmt: skip
        if not ports or set(ports) - set(get_args(Ports)):
            raise InputError(
                f"{origin}: the port models of '{name}' are invalid: {list(ports)}",
                hint="use ['all'], ['one'] or ['all', 'one']",
            )

        def build(topology: Topology, root: int, model: Ports, **arguments: Any) -> Schedule:
            declared: dict[str, Any] = {
                "topology": topology, "collective": collective, "algorithm": name, "ports": model,
                "arguments": arguments,
            }  # fmt: skip
            # The results of plug-ins are checked at every call. The results of starcast's own
            # functions are checked by tests.
            if origin.is_shipped:
                draft: Draft = function(topology, root, ports=model, **arguments)
                schedule = draft.complete(**declared)
                has_root = entry.sources(topology, model) == 1
                return schedule.translate(root) if has_root and schedule.root != root else schedule
            noun = f"the {collective} algorithm '{name}'"
            result = run_guarded(
                noun, origin, lambda: function(topology, root, ports=model, **arguments)
            )
            with located(noun, origin):
                return schedule_from_columns(_read_columns(result), **declared, root=root)

        entry = Algorithm(
            collective=collective, name=name, source=source, origin=origin, smallest=smallest,
            families=tuple(families), ports=tuple(ports),
            arguments=read_arguments(name, origin, function, ("topology", "root", "ports")),
            elsewhere=elsewhere, build=build, **{
                option: guard(
                    f"'{option}' of the {collective} algorithm '{name}'", origin, value,
                    _FORESIGHT[option],
                )
                for option, value in dict[str, Any](foresight).items()
            },
        )  # fmt: skip
        REGISTRIES[collective].register(entry)
        return function

    return decorate


def _read_columns(result: Any) -> Mapping[str, Any]:
    if isinstance(result, Schedule):
        # The schedule is built again from its columns, because the function may have built it for
        # another topology, root or port model.
        return {
            **result.columns._asdict(),
            **{key: getattr(result, key) for key in ("units", "packets", "symmetric", "forest")},
        }
    if not isinstance(result, Mapping):
        raise InputError(
            f"the result is of type {type(result).__name__}, not a schedule",
            hint=f"return a mapping with the columns {', '.join(REQUIRED)}, or a Schedule",
        )
    return result


def algorithms(collective: str | None = None) -> tuple[Algorithm, ...]:
    """Return all algorithms, or the algorithms of one collective.

    Raises:
        InputError: the collective is unknown.

    Example:
        >>> [algorithm.name for algorithm in algorithms("alltoall")]
        ['necklace', 'perfectly-balanced', 'one-port', 'exact', 'edge-disjoint', 'greedy']
    """
    chosen = [*REGISTRIES] if collective is None else [check_collective(collective)]
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


def find_algorithm(collective: str, name: str, topology: Topology | None = None) -> Algorithm:
    """Return the algorithm with the given name.

    Args:
        collective: the collective of the algorithm.
        name: the name of the algorithm.
        topology: a topology on which the algorithm must be defined; by default not checked.

    Raises:
        InputError: the collective or the algorithm is unknown, or the algorithm is not defined on
            the topology.
    """
    check_collective(collective)
    return REGISTRIES[collective].find(name, topology)


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
    construction builds: for example ``dimension-change``, ``symbol-doubling``, and the scatter
    ``balanced`` with more than one message. Then `Schedule.forest` contains these trees, and
    ``tree`` refers to them.

    Args:
        topology: a `Topology` or its spec, such as ``S5``.
        collective: one of the collectives, such as ``broadcast`` or ``allreduce``.
        algorithm: the name of an algorithm (see `algorithms`); arguments can follow in parentheses:
            ``edge-disjoint(copies=2)``.
        ports: ``all`` (a node may use all its ports in a step) or ``one`` (a node may send one
            packet and receive one packet in a step); by default the first port model that the
            algorithm declares.
        root: label or rank of the root; by default rank 0, which is the identity in topologies
            with translations. In a symmetric schedule, the root is the source (in reductions, the
            destination) that represents all others. The root is ignored if the schedule contains
            the rows of all sources.
        **arguments: the arguments that the algorithm declares, by name, such as ``segments`` (per
            tree), ``messages`` or ``seed``. Of starcast's own algorithms, only ``forest`` has an
            argument without a default: ``base``.

    Returns:
        The schedule, sorted by step, sender, port, tree and unit.

    Raises:
        InputError: a name, the root or an argument is invalid, an argument is given twice, or the
            algorithm is not defined on the topology.
        LimitError: the schedule has more than `MAX_ROWS` rows or does not fit into memory, or its
            trees would take too long to build.

    Example:
        >>> schedule("S5", "broadcast", "multiple", segments=4).steps
        13
    """
    topology = as_topology(topology)
    name, own = parse_spec(algorithm, "algorithm")
    entry = find_algorithm(collective, name, topology)
    model = entry.resolve_ports(ports)
    if twice := own.keys() & arguments.keys():
        raise InputError(f"the argument '{min(twice)}' is given twice", hint="remove one of them")
    values = entry.resolve_arguments(topology, own | arguments)
    rank = topology.root(root)
    _check_size(entry, topology, model, values)
    return entry.build(topology, rank, model, **values)


def _check_size(algorithm: Algorithm, topology: Topology, ports: str, arguments: Arguments) -> None:
    """Check, before a schedule is built, that it will have at most `MAX_ROWS` rows.

    Raises:
        LimitError: the schedule would have more rows.
    """
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
        topology: the topology of the schedule.
        root: rank of the root.
        ports: the port model.
        arguments: the values of all arguments of the algorithm, by name.
    """

    algorithm: Algorithm
    topology: Topology
    root: int
    ports: str
    arguments: Mapping[str, int | str]

    @property
    def id(self) -> str:
        """The id of the schedule, which includes the port model, all arguments and the root."""
        return self.algorithm.id(self.topology, self.ports, self.arguments, self.root)

    def count_rows(self) -> int:
        """Return the number of rows of the schedule, without building it."""
        return self.algorithm.count(self.topology, self.ports, self.arguments)

    def build(self) -> Schedule:
        """Build the schedule without verifying it.

        Raises:
            LimitError: the schedule has more than `MAX_ROWS` rows or does not fit into memory, or
                its trees would take too long to build.
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
    """Parse the id of a schedule; return the parameters from which the schedule can be built.

    In a short id such as ``S5:broadcast:multiple(segments=4)``, the port model is the algorithm's
    default and the root is the node of rank 0, which is the identity in S_5.

    Raises:
        InputError: the id is malformed, or its topology, algorithm or another part is invalid.

    Example:
        >>> parse_schedule_id("S4:broadcast:greedy").id
        'S4:broadcast:greedy:all:segments=1:1234'
    """
    parts = schedule_id.split(":") if schedule_id.count(":") == 5 else ()
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
            hint="write an id such as S5:broadcast:multiple:all:segments=4:12345, or its short"
            " form S5:broadcast:multiple(segments=4)",
        )
    topology = as_topology(spec)
    algorithm = find_algorithm(collective, name, topology)
    return ScheduleParameters(
        algorithm,
        topology,
        # Neither a short id nor the id of an expanded schedule, which has the rows of all sources,
        # contains a root; the root is then the node of rank 0.
        0 if root.lower() == EXPANDED else topology.root(root),
        algorithm.resolve_ports(ports),
        algorithm.resolve_arguments(topology, arguments),
    )
