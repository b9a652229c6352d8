"""Where checks get what they look at. It is built once and shared by all statements about it."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar, cast

from numpy.typing import NDArray

from starcast.collectives.catalogue import schedule
from starcast.collectives.model import Schedule
from starcast.permutations import Ranks
from starcast.simulator import FaultLike, Simulation, simulate
from starcast.topologies import Topology, topology
from starcast.trees.catalogue import forest
from starcast.trees.model import Forest

Made = TypeVar("Made")


class Lab:
    """Topologies, forests, schedules, executions and arrays, each made once and kept as long as the lab is.

    Everything passes through `made` once, by kind: that is where the tests of the ledger break it.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], Any] = {}
        self._known: dict[int, tuple[Any, ...]] = {}

    def made(self, kind: str, key: tuple[Any, ...], value: Any) -> Any:  # noqa: ARG002 - those who break things look at the key
        """What is handed out for something that was just made."""
        return value

    def keep(self, kind: str, key: tuple[Any, ...], make: Callable[[], Made]) -> Made:
        """Something of a kind (``forest``, ``schedule``, ``simulation``, ``array``, ``absent``), made if it is not there yet.

        What needs the same long computation in several checks is kept as an ``array``, under a key that names it.
        """
        place = (kind, *key)
        if place not in self._kept:
            value = self.made(kind, key, make())
            self._kept[place] = value
            self._known[id(value)] = place
        return cast("Made", self._kept[place])

    def array(self, name: str, spec: str, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """An array of values of a topology, such as ``distances by search``."""
        return self.keep("array", (name, spec), make)

    def topology(self, spec: str) -> Topology:
        """A topology by its name."""
        return topology(spec)

    def neighbours(self, spec: str) -> Ranks:
        """All neighbours, int32 ``[ports, nodes]``, as `Topology.table` has them."""
        return self.array("neighbours", spec, lambda: topology(spec).table())

    def forest(
        self, spec: str, construction: str, root: int | str = 0, **arguments: int | str
    ) -> Forest:
        """A forest of the catalogue."""
        key = (spec, construction, root, *sorted(arguments.items()))
        return self.keep("forest", key, lambda: forest(spec, construction, root=root, **arguments))

    def schedule(
        self,
        spec: str,
        collective: str,
        algorithm: str,
        ports: str = "all",
        root: int | str = 0,
        **arguments: int | str,
    ) -> Schedule:
        """A schedule of the catalogue."""
        key = (spec, collective, algorithm, ports, root, *sorted(arguments.items()))
        return self.keep(
            "schedule",
            key,
            lambda: schedule(spec, collective, algorithm, ports=ports, root=root, **arguments),
        )

    def simulation(self, of: Schedule, faults: Sequence[FaultLike] = ()) -> Simulation:
        """A schedule, executed; kept where the schedule itself is."""
        place = self._known.get(id(of))
        if place is None:
            return cast(
                "Simulation", self.made("simulation", (of.id, *faults), simulate(of, faults=faults))
            )
        return self.keep(
            "simulation", (*place, *map(str, faults)), lambda: simulate(of, faults=faults)
        )


def exact(value: int | Fraction) -> int | Fraction:
    """A fraction, as a whole number where it is one."""
    return int(value) if Fraction(value).denominator == 1 else Fraction(value)
