"""Registration of checks and of their memory estimates, and providers of objects for checks."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from starcast.catalogue.packs import PACKAGE
from starcast.catalogue.plugins import Origin
from starcast.claims.check import ClaimCheck
from starcast.collectives.model import Schedule
from starcast.collectives.one_to_all import build_pipeline
from starcast.judges.simulator import Simulation
from starcast.support.errors import InputError
from starcast.support.vocabulary import ArgumentValue
from starcast.topologies import Topology
from starcast.trees.model import Forest

Object = TypeVar("Object")
TableRow = TypeVar("TableRow")
AnyCheck = TypeVar("AnyCheck", bound=Callable[..., None])
#: A function that prepares the objects of a check, such as forests, and yields them one by one.
Provider = Callable[[ClaimCheck], Iterable[Object]]
CheckFunction = Callable[[ClaimCheck], None]


@dataclass(frozen=True)
class Memory:
    """The memory that a check needs, estimated by one rule: ``bytes * degree**power`` per node.

    Attributes:
        bytes: the factor of the rule. For power 1, it is the number of bytes per directed link; the
            default allows for a few arrays over all links. A row of a schedule takes
            `starcast.collectives.model.BYTES_PER_ROW` bytes.
        power: exponent of the degree. Use 1 for data per link, 2 if every link has as many schedule
            rows as a node has ports, and 0 if the degree does not matter.
        of_pairs: ``of_pairs(topology)`` returns whether the rule gives the bytes per pair of nodes
            instead of per node. Pairs are needed, for example, for a schedule with the rows of all
            sources.
    """

    bytes: int = 64
    power: int = 1
    of_pairs: Callable[[Topology], bool] = lambda _: False

    def required(self, size: Topology) -> int:
        """Return the estimated number of bytes that the check needs on a topology."""
        nodes = size.nodes**2 if self.of_pairs(size) else size.nodes
        return int(nodes * self.bytes * size.degree**self.power)


#: Memory for a few arrays over all links, which suffices for most checks.
LINK_ARRAYS = Memory()


def all_pairs(_: Topology) -> bool:
    """Return True; use this as `Memory.of_pairs` if a check always stores data for all pairs."""
    return True


def unless_symmetric(size: Topology) -> bool:
    """Return whether schedules on a topology need the rows of all sources.

    If translations keep the ports of links, the rows of one source determine those of all others.
    Use this function as `Memory.of_pairs`.
    """
    return not size.translation_keeps_ports


@dataclass(frozen=True)
class RegisteredCheck:
    """A check function, its memory estimate, and the module that registered it.

    The attributes other than ``origin`` are copied to the `starcast.claims.catalogue.Claim`.
    """

    check: CheckFunction
    memory: Memory
    section: str
    origin: Origin


#: Name of the module attribute that contains the module's checks. A module that is imported again
#: is a new module without this attribute, so earlier checks are not kept.
_CHECKS = "__starcast_checks__"


def registered_checks(package: str) -> dict[str, RegisteredCheck]:
    """Return the checks that the modules of a package have registered, by claim id.

    Raises:
        InputError: two modules have a check of the same claim.
    """
    found: dict[str, RegisteredCheck] = {}
    for name, module in list(sys.modules.items()):
        if f"{name}.".startswith(f"{package}."):
            registered = vars(module).get(_CHECKS, {})
            for claim_id in registered:
                if claim_id in found:
                    raise _two_checks(claim_id, registered[claim_id].origin)
            found |= registered
    return found


def checks(
    claim_id: str,
    *,
    given: Provider[Any] | None = None,
    memory: Memory = Memory(),
) -> Callable[[AnyCheck], AnyCheck]:
    """Register the decorated function as the check of a claim.

    Args:
        claim_id: id of an entry in the paper's ``claims.toml``.
        given: provider of prepared objects, such as `forests`. The decorated function is called
            once for each object. Without a provider, the function is called once, with only the
            `ClaimCheck`.
        memory: estimate of the memory that the check needs.

    Raises:
        InputError: the claim already has a check.

    Example:
        >>> @checks("TS.L6", given=forests("multiple", roots=2))
        ... def link_congestion(check: ClaimCheck, forest: Forest) -> None:
        ...     loads = checkers.loads(forest.topology, forest.parent_port, forest.root)
        ...     check.at_most("trees on a link", loads, 2, of=forest)
    """

    def decorate(function: AnyCheck) -> AnyCheck:
        check = function if given is None else _each_check(function, given)
        _register(claim_id, check, memory, function)
        return function

    return decorate


def check_rows(
    function: Callable[[ClaimCheck, TableRow], None],
    rows: Mapping[str, TableRow],
    *,
    memory: Memory = Memory(),
) -> None:
    """Register one check function for several claims, such as the cells of a table.

    Args:
        function: called with the `ClaimCheck` and the claim's value in ``rows``.
        rows: for each claim id, the second argument of the function, such as a table cell.
        memory: estimate of the memory that each check needs.

    Raises:
        InputError: a claim already has a check.
    """
    for claim_id, row in rows.items():
        _register(claim_id, _row_check(function, row), memory, function)


def _each_check(function: Callable[..., None], given: Provider[Any]) -> CheckFunction:
    def check_each(check: ClaimCheck) -> None:
        # Each object is checked before the next one is prepared. The provider records findings too,
        # such as the execution of a schedule, and these findings should directly precede the
        # check's findings about the same object.
        for prepared in given(check):
            function(check, prepared)

    return check_each


def _row_check(function: Callable[[ClaimCheck, TableRow], None], row: TableRow) -> CheckFunction:
    return lambda check: function(check, row)


def _register(claim_id: str, check: CheckFunction, memory: Memory, function: Any) -> None:
    origin = Origin.of(function)
    registered = function.__globals__.setdefault(_CHECKS, {})
    if claim_id in registered:
        raise _two_checks(claim_id, origin)
    section = function.__module__.removeprefix(f"{PACKAGE}.")
    registered[claim_id] = RegisteredCheck(check, memory, section, origin)


def _two_checks(claim_id: str, origin: Origin) -> InputError:
    return InputError(f"{origin}: claim {claim_id} has two checks", hint="remove one check")


# Providers of prepared objects for checks
#
# A provider is passed as the ``given`` argument of `checks`, or is called in a check: ``for forest
# in provider(check)``. A provider yields objects on the topology of a `ClaimCheck`. Sample roots
# come from `CachedTopology.roots`: all nodes of a small topology, otherwise a few nodes.


#: One or several values of an argument, or a function of n that returns them.
Choices = (
    ArgumentValue
    | Sequence[ArgumentValue]
    | Callable[[int], ArgumentValue | Sequence[ArgumentValue]]
)


class Execution(NamedTuple):
    """A schedule, and its simulation without faults."""

    schedule: Schedule
    simulation: Simulation

    @property
    def steps(self) -> int:
        """The number of executed steps."""
        return self.simulation.steps

    @property
    def transmissions(self) -> int:
        """The number of executed transmissions."""
        return self.simulation.transmissions

    @property
    def messages(self) -> int:
        """The number M of messages, an argument of the algorithm."""
        return self.argument("messages")

    @property
    def place(self) -> dict[str, Any]:
        """Keyword arguments ``M`` (messages) and ``of`` (schedule) for `ClaimCheck` methods."""
        return {"M": self.messages, "of": self.schedule}

    @property
    def share(self) -> Fraction:
        """The sum of the largest packet sizes of all steps, for a message of size 1."""
        return Fraction(int(self.simulation.packet_sizes.sum()), self.schedule.message_units)

    def argument(self, name: str) -> int:
        """Return the value of a numeric argument of the algorithm, such as ``segments``."""
        return int(self.schedule.arguments[name])


def execute(
    check: ClaimCheck,
    collective: str,
    algorithm: str,
    ports: str = "all",
    root: int = 0,
    **arguments: ArgumentValue,
) -> Execution:
    """Build and execute a schedule, record whether it is valid, and return the execution."""
    schedule = check.schedule(collective, algorithm, ports, root, **arguments)
    return Execution(schedule, check.execute(schedule))


def forests(
    construction: str, *, roots: int | None = 1, **arguments: ArgumentValue
) -> Provider[Forest]:
    """Return a provider that yields one forest of a construction for each sample root.

    Args:
        construction: name of the construction.
        roots: number of sample roots, as in `CachedTopology.roots` (None: the default of that
            method). If the number is 1, the root is the identity.
        arguments: arguments of the construction.
    """

    def provide(check: ClaimCheck) -> Iterator[Forest]:
        for root in _sample_roots(check, roots):
            yield check.forest(construction, root=root, **arguments)

    return provide


def executions(
    collective: str,
    algorithm: str,
    *,
    ports: str = "all",
    roots: int | None = 1,
    **arguments: Choices,
) -> Provider[Execution]:
    """Return a provider that yields executions of an algorithm for each sample root.

    Each schedule is executed by `ClaimCheck.execute`, which records whether the schedule is valid.

    Args:
        collective: name of the collective.
        algorithm: name of the algorithm.
        ports: port model.
        roots: number of sample roots, as in `CachedTopology.roots` (None: the default of that
            method). If the number is 1, the root is the identity.
        arguments: arguments of the algorithm. If some arguments are sequences, such as
            ``messages=(1, 2, 3)``, or functions of n that return sequences, all combinations are
            executed.
    """

    def provide(check: ClaimCheck) -> Iterator[Execution]:
        choices = [_as_sequence(values, check.n) for values in arguments.values()]
        for root in _sample_roots(check, roots):
            for values in product(*choices):
                chosen = dict(zip(arguments, values, strict=True))
                yield execute(check, collective, algorithm, ports, root, **chosen)

    return provide


def _sample_roots(check: ClaimCheck, count: int | None) -> tuple[int, ...]:
    if count == 1:
        return (0,)
    return check.roots() if count is None else check.roots(count)


def _as_sequence(values: Choices, n: int) -> Sequence[ArgumentValue]:
    if callable(values):
        values = values(n)
    return (values,) if isinstance(values, int | str) else values


# Schedules that checks of several papers use


def allgather_by_levels(forest: Forest, algorithm: str) -> Schedule:
    """Return the all-port allgather in which each source sends along a translated forest.

    For each source, the forest is translated so that its root becomes the source. In step t the
    messages cross the links to the nodes at level t.
    """
    draft = build_pipeline(forest, "all", 1, packets=True)._replace(symmetric=True)
    return draft.complete(forest.topology, "allgather", algorithm)


def used_links(schedule: Schedule) -> NDArray[np.bool_]:
    """Return whether a schedule uses each directed link, bool ``[nodes, ports]``."""
    ports = schedule.topology.ports
    used = np.zeros((schedule.topology.nodes, len(ports)), dtype=bool)
    used[schedule.sender, np.searchsorted(ports, schedule.port)] = True
    return used
