"""The problems by name."""

from starcast.errors import InputError
from starcast.search import bisection, broadcast, faults, forests, hamiltonian, independent
from starcast.search.problem import SearchProblem
from starcast.support.text import did_you_mean

_ALL = (
    broadcast.PROBLEM,
    hamiltonian.PROBLEM,
    forests.EDGE_DISJOINT,
    forests.CONGESTION,
    independent.PROBLEM,
    faults.PROBLEM,
    bisection.PROBLEM,
)
#: All problems by name.
PROBLEMS: dict[str, SearchProblem] = {problem.name: problem for problem in _ALL}


def find_problem(name: str) -> SearchProblem:
    """Return the problem of a name.

    Raises:
        InputError: no problem has this name.
    """
    if name not in PROBLEMS:
        raise InputError(
            f"unknown problem '{name}'",
            hint=f"{did_you_mean(name, PROBLEMS)}choose one of {', '.join(PROBLEMS)}",
        )
    return PROBLEMS[name]
