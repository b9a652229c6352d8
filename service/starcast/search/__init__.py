"""Searches for optimal schedules, trees, cycles and cuts on small topologies, with proofs.

The function `search` improves a problem's record (the best known object and the best bound) until
the record is optimal or the time limit is reached.
"""

# Each module defines search problems; `starcast` lists the problems in this import order.
# isort: off
from starcast.search import broadcast, hamiltonian, forests, faults, bisection  # noqa: F401
# isort: on

from starcast.search.engines import Budget
from starcast.search.keeping import find_trusted, save_record
from starcast.search.problem import PROBLEMS, SearchProblem, TheoryBound, find_problem
from starcast.search.proofs import (
    CheckedRecord,
    check_record,
    check_record_proof,
    make_proof,
    prove_again,
    verify_bound,
)
from starcast.search.running import search

__all__ = [
    "PROBLEMS",
    "Budget",
    "CheckedRecord",
    "SearchProblem",
    "TheoryBound",
    "check_record",
    "check_record_proof",
    "find_problem",
    "find_trusted",
    "make_proof",
    "prove_again",
    "save_record",
    "search",
    "verify_bound",
]
