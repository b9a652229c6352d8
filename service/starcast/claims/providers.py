"""Providers of prepared objects for checks.

A provider is the ``given`` argument of `starcast.claims.registry.checks`, or is called in a check:
``for execution in broadcasts(check)``. It yields objects at the size of a `ClaimCheck`. Sample
roots are those of `starcast.claims.reference.bfs.roots`: all nodes of small topologies, otherwise
a few.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from starcast.claims.check import ClaimCheck
from starcast.claims.reference import bfs
from starcast.claims.registry import Provider
from starcast.collectives.model import Schedule
from starcast.judges.simulator import Simulation
from starcast.topologies.permutations import Ranks
from starcast.trees.model import Forest

Argument = int | str


@dataclass(frozen=True)
class Execution:
    """A schedule with its simulation.

    Attributes:
        simulation: its execution without faults.
        arguments: the arguments of the algorithm.
        root: label of the root.
    """

    schedule: Schedule
    simulation: Simulation
    arguments: dict[str, Argument]
    root: str


@dataclass(frozen=True)
class RootDistances:
    """Distances of all nodes from a root.

    Attributes:
        label: label of the root.
        values: int32 ``[nodes]``, by breadth-first search.
    """

    label: str
    values: Ranks


def forests(construction: str, *, roots: int | None = 1, **arguments: Argument) -> Provider[Forest]:
    """Yield the forests of a construction at the sample roots.

    Args:
        construction: name in the catalogue of constructions.
        roots: number of sample roots (None: the default sample). One root is the identity.
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
    **arguments: Argument | Sequence[Argument],
) -> Provider[Execution]:
    """Yield the executed schedules of an algorithm at the sample roots.

    Each schedule is executed with `ClaimCheck.execute`, which records that it is carried out.

    Args:
        collective: name of the collective.
        algorithm: name in the catalogue of algorithms.
        ports: port model.
        roots: number of sample roots (None: the default sample). One root is the identity.
        arguments: arguments of the algorithm; all combinations of the values of those that are
            sequences, such as ``messages=(1, 2, 3)``.
    """
    names = tuple(arguments)
    choices = [_as_sequence(values) for values in arguments.values()]

    def provide(check: ClaimCheck) -> Iterator[Execution]:
        for root in _sample_roots(check, roots):
            for values in product(*choices):
                chosen = dict(zip(names, values, strict=True))
                schedule = check.schedule(collective, algorithm, ports, root, **chosen)
                simulation = check.execute(schedule)
                yield Execution(schedule, simulation, chosen, check.label(root))

    return provide


def distances(*, roots: int | None = None) -> Provider[RootDistances]:
    """Yield the distances of all nodes from each sample root, by breadth-first search."""

    def provide(check: ClaimCheck) -> Iterator[RootDistances]:
        for root in _sample_roots(check, roots):
            yield RootDistances(check.label(root), bfs.distances(check, root))

    return provide


def sample_roots(count: int | None = None) -> Provider[int]:
    """Yield the ranks of the sample roots."""

    def provide(check: ClaimCheck) -> Iterable[int]:
        return _sample_roots(check, count)

    return provide


def _sample_roots(check: ClaimCheck, count: int | None) -> tuple[int, ...]:
    if count == 1:
        return (0,)
    return bfs.roots(check) if count is None else bfs.roots(check, count)


def _as_sequence(values: Argument | Sequence[Argument]) -> Sequence[Argument]:
    return (values,) if isinstance(values, int | str) else values
