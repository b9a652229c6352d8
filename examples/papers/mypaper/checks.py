"""The checks of the claims: they record measured values next to the values that the paper states.

A check states no verdict. One rule derives it from the recorded values; the first value that
differs is the counterexample.
"""

import numpy as np

from starcast.claims.check import ClaimCheck
from starcast.claims.registry import checks, forests
from starcast.trees.model import Forest


@checks("MYPAPER.diameter")
def diameter(check: ClaimCheck) -> None:
    """Compare the diameter, found by breadth-first search, with the formula."""
    check.equal("diameter", check.diameter, 3 * (check.n - 1) // 2)


@checks("MYPAPER.children", given=forests("greedy"))
def children(check: ClaimCheck, tree: Forest) -> None:
    """Count the children of every node; the correction excludes the root from the bound."""
    parents = check.parents(tree.parent_port[0])
    counted = np.bincount(parents[parents >= 0], minlength=check.nodes)
    check.at_most("children of a node", counted, check.n - 2, node=check.ranks, of=tree)
    corrected = check.correction()
    corrected.equal("children of the root", counted[tree.root], check.n - 1)
    others = check.ranks != tree.root
    corrected.at_most("children of another node", counted[others], check.n - 2)
