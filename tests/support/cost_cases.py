"""Cost test cases: each algorithm on small topologies, by closed form and by simulation."""

from fractions import Fraction
from functools import cache
from itertools import product
from typing import NamedTuple

from oracles.paper_costs import Asked
from starcast import costs
from starcast.collectives import Schedule, schedule
from starcast.collectives.algorithm import Algorithm, algorithms, algorithms_on
from starcast.judges.simulator import Simulation, simulate
from starcast.topologies import as_topology

#: Cost parameters and a message size chosen so that two costs have equal times only if they have
#: equal numbers of start-ups and of bytes.
MACHINE, MESSAGE = costs.Machine(Fraction(1009), Fraction(1, 7)), Fraction(11, 3)
UNIT_MACHINE = costs.Machine(Fraction(1), Fraction(1))
STARS = tuple(f"S{n}" for n in range(2, 6))
NK_STARS = tuple(f"S{n},{k}" for n in range(2, 6) for k in range(1, n))
CUBES = ("Q1", "Q2", "Q3", "Q4")
SMALL = (*STARS, *NK_STARS, *CUBES)

#: The source of greedy algorithms in the catalogue; their costs have no closed form.
STEPWISE = "starcast: greedy matching (idea: Won et al. 2024)"
#: All algorithms with a closed-form cost, by collective and name.
ALGORITHMS: dict[tuple[str, str], Algorithm] = {
    (entry.collective, entry.name): entry
    for entry in algorithms()
    if entry.name != "forest" and entry.source != STEPWISE
}


class Case(NamedTuple):
    """An algorithm on a topology, with all arguments of its schedule except the root."""

    spec: str
    collective: str
    algorithm: str
    asked: Asked

    @property
    def key(self) -> tuple[str, str]:
        """Collective and name of the algorithm, by which its cost formula is found."""
        return self.collective, self.algorithm

    @property
    def definition(self) -> Algorithm:
        """The catalogue entry of the algorithm."""
        return ALGORITHMS[self.key]

    @property
    def arguments(self) -> dict[str, int | str]:
        """The values of the algorithm's arguments, by name."""
        definition = self.definition
        given = {"copies": self.asked.copies, str(definition.split_argument): self.asked.share}
        return {name: value for name, value in given.items() if name in definition.argument_names}


def priced(case: Case, m: Fraction = MESSAGE, machine: costs.Machine = MACHINE) -> costs.Cost:
    """Return the cost of a case according to its closed form."""
    return costs.closed_form(
        as_topology(case.spec),
        case.collective,
        case.algorithm,
        case.asked.ports,
        m,
        machine,
        **case.arguments,
    )


def unit(case: Case, m: Fraction = MESSAGE) -> Fraction:
    """Return the size of one unit in bytes."""
    return costs.unit_bytes(
        as_topology(case.spec), case.collective, case.algorithm, m, **case.arguments
    )


def built(case: Case) -> Schedule:
    """Return the schedule that starcast builds for a case."""
    return schedule(case.spec, case.collective, case.algorithm, case.asked.ports, **case.arguments)


@cache
def run(case: Case) -> Simulation:
    """Return the simulation of a case's schedule."""
    return simulate(built(case))


def simulated_cost(
    case: Case, m: Fraction = MESSAGE, machine: costs.Machine = MACHINE
) -> costs.Cost:
    """Return the cost of a case according to the simulation."""
    return costs.price_simulation(run(case), unit(case, m), machine)


@cache
def cases(*specs: str, shares: tuple[int, ...] = (1, 2, 3)) -> list[Case]:
    """Return cases for the algorithms in `ALGORITHMS` on the given topologies, in all port models.

    The number of parts of a message is d, 2d or one of ``shares``, and the number of copies is 1, 2
    or d, where d is the degree of the topology. Cases that an algorithm refuses are omitted.
    """
    result = []
    for spec in specs:
        topology = as_topology(spec)
        degree = topology.degree
        for entry in algorithms_on(topology):
            if (entry.collective, entry.name) not in ALGORITHMS:
                continue
            pieces = {*shares, degree, 2 * degree} if entry.split_argument else {1}
            copies = {1, min(2, degree), degree} if "copies" in entry.argument_names else {1}
            defaults = entry.default_arguments(topology)
            for settings in product(entry.ports, sorted(pieces), sorted(copies)):
                case = Case(spec, entry.collective, entry.name, Asked(*settings))
                if entry.refusal(topology, defaults | case.arguments) is None:
                    result.append(case)
    return result
