"""Exact searches for best objects on small topologies, with witnesses and proofs.

`search` improves the record of a problem until it is optimal, or until its time limit.
"""

from starcast.search.catalogue import PROBLEMS, find_problem
from starcast.search.engines import ENGINES, Budget
from starcast.search.problem import Bound, PaperValue, Problem
from starcast.search.proofs import make_proof, verify_bound
from starcast.search.running import search

__all__ = [
    "ENGINES",
    "PROBLEMS",
    "Bound",
    "Budget",
    "PaperValue",
    "Problem",
    "find_problem",
    "make_proof",
    "search",
    "verify_bound",
]
