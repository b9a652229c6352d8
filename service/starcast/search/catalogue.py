"""The catalogue of search problems."""

from starcast.search import bisection, broadcast, faults, forests, hamiltonian, independent
from starcast.search.problem import SearchProblem
from starcast.support.errors import InputError
from starcast.support.text import did_you_mean

_ALL: tuple[type[SearchProblem], ...] = (
    broadcast.OnePortBroadcast,
    hamiltonian.HamiltonianDecomposition,
    forests.EdgeDisjointTrees,
    forests.CongestionTrees,
    independent.IndependentTrees,
    faults.FaultDiameter,
    bisection.BisectionWidth,
)
#: All search problems, by name.
PROBLEMS = {problem.name: problem for problem in _ALL}


def find_problem(name: str) -> type[SearchProblem]:
    """Return the search problem with the given name.

    Raises:
        InputError: no problem has this name.
    """
    if name not in PROBLEMS:
        raise InputError(
            f"unknown problem '{name}'",
            hint=f"{did_you_mean(name, PROBLEMS)}choose one of {', '.join(PROBLEMS)}",
        )
    return PROBLEMS[name]
