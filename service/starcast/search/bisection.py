"""Fewest links between two halves of the nodes."""

from collections.abc import Sequence
from functools import partial
from math import ceil

import numpy as np
from numpy.typing import NDArray

from starcast.records import Witness
from starcast.records.cut_bounds import round_cut
from starcast.search.cut_bounds import bound_cuts, supports
from starcast.search.engines import Budget, solve
from starcast.search.formula import Formula, require_fit
from starcast.search.problem import (
    OPEN,
    Decision,
    Method,
    SearchProblem,
    TheoryBound,
)
from starcast.search.symmetry import link_list
from starcast.topologies import Topology, permutations

#: Nodes up to which the eigenvalues of a dense matrix are computed.
_DENSE = 5_040
#: Starts of the tabu search.
_STARTS = 60
#: Largest error of an eigenvalue, generously.
_ERROR = 1e-6


def _bound(graph: Topology) -> TheoryBound:
    """Return N lambda / 4 for the second eigenvalue lambda of the Laplacian (Fiedler, Mohar)."""
    second = _second_eigenvalue(graph)
    halves = (graph.nodes // 2) * ((graph.nodes + 1) // 2)
    value = max(ceil(second * halves / graph.nodes - _ERROR * graph.nodes), 1)
    value = round_cut(graph, value)
    return TheoryBound(
        value,
        f"the second eigenvalue of the Laplacian is {second:.4f}, and a cut of halves has at least "
        f"{second:.4f} N / 4 links (Mohar 1991), all cuts of halves with the same parity",
    )


def _second_eigenvalue(graph: Topology) -> float:
    """Return the second least eigenvalue of the Laplacian; for large graphs 0, which is less."""
    if graph.family == "star" and graph.n > 2:
        return 1.0  # the eigenvalues of S_n are all integers of absolute value below n
    if graph.family == "hypercube":
        return 2.0
    if graph.nodes > _DENSE:
        return 0.0
    laplacian = graph.degree * np.eye(graph.nodes)
    a, b = link_list(graph).T
    np.subtract.at(laplacian, (a, b), 1)
    np.subtract.at(laplacian, (b, a), 1)
    return float(np.linalg.eigvalsh(laplacian)[1])


def _substar_halves(graph: Topology) -> NDArray[np.uint8]:
    """Return halves that consist of substars, one of which is divided in the same way for odd n.

    The substars of S_n and S_{n,k} are those of the last symbol; the halves of other families are
    those in rank order.
    """
    order = np.arange(graph.nodes)
    if graph.family in ("star", "nk-star"):
        # The last key of lexsort counts most.
        order = np.lexsort(permutations.arrangements(graph.n, graph.k or graph.n).T)
    side = np.zeros(graph.nodes, dtype=np.uint8)
    side[order[: graph.nodes // 2]] = 1
    return side


def _exchange_nodes(graph: Topology, target: int, budget: Budget) -> Decision:
    """Exchange pairs of nodes by tabu search, from substars, random halves and the last best."""
    generator = np.random.default_rng(budget.seed)
    table = graph.table().astype(np.int64)
    best: NDArray[np.uint8] | None = None
    best_cut = graph.links
    with budget.reporter.task(f"halves of {graph.spec}", _STARTS, "starts") as task:
        for _ in range(_STARTS):
            if budget.left <= 0:
                break
            if best is None:
                side = _substar_halves(graph)
            elif generator.random() < 0.5:
                side = _random_halves(graph, generator)
            else:
                side = _perturbed(best, generator)
            side, cut = _tabu(table, side, generator, target, budget)
            if cut < best_cut:
                best, best_cut = side, cut
            if cut <= target:
                break
            task.advance()
    # Perhaps not as good as the target, but better than what is known.
    return OPEN if best is None else Decision("witness", {"side": best})


def _random_halves(graph: Topology, generator: np.random.Generator) -> NDArray[np.uint8]:
    side = np.zeros(graph.nodes, dtype=np.uint8)
    side[generator.permutation(graph.nodes)[: graph.nodes // 2]] = 1
    return side


def _perturbed(side: NDArray[np.uint8], generator: np.random.Generator) -> NDArray[np.uint8]:
    changed = side.copy()
    count = max(len(side) // 10, 1)
    for value in (0, 1):
        chosen = generator.choice(np.flatnonzero(side == value), count, replace=False)
        changed[chosen] = 1 - value
    return changed


def _tabu(
    table: NDArray[np.int64],
    side: NDArray[np.uint8],
    generator: np.random.Generator,
    target: int,
    budget: Budget,
) -> tuple[NDArray[np.uint8], int]:
    """Exchange the best pair that was not moved lately, until nothing improves for a while."""
    nodes = len(side)
    free_at = np.zeros(nodes, dtype=np.int64)
    outside = (side[table] != side).sum(axis=0)
    cut = int(outside.sum()) // 2
    best, best_cut, idle = side.copy(), cut, 0
    step = 0
    while idle < 20 * nodes and best_cut > target and budget.left > 0:
        step += 1
        idle += 1
        for value in (0, 1):
            gain = 2 * outside - len(table)
            free = (side == value) & (free_at <= step)
            allowed = free if free.any() else side == value
            choices = np.flatnonzero(allowed & (gain == gain[allowed].max()))
            node = int(generator.choice(choices))
            cut -= int(gain[node])
            side[node] = 1 - value
            free_at[node] = step + generator.integers(3, 12)
            near = table[:, node]
            outside[near] += np.where(side[near] != side[node], 1, -1)
            outside[node] = len(table) - outside[node]
        if cut < best_cut:
            best, best_cut, idle = side.copy(), cut, 0
    return best, best_cut


def _formula(graph: Topology, target: int) -> tuple[Formula, NDArray[np.int32]]:
    """Return the formula, and the variables ``side`` [nodes]."""
    formula = Formula()
    side = formula.new(graph.nodes)
    links = link_list(graph)
    is_cut = formula.new(len(links)).tolist()
    formula.add(-int(side[0]))
    for (a, b), literal in zip(links.tolist(), is_cut, strict=True):
        formula.add(-int(side[a]), int(side[b]), literal)
        formula.add(int(side[a]), -int(side[b]), literal)
    formula.at_most(is_cut, target)
    more = (graph.nodes + 1) // 2
    formula.at_most(side.tolist(), more)
    formula.at_most((-side).tolist(), more)
    return formula, side


def _solve(graph: Topology, target: int, budget: Budget) -> Decision:
    subject = f"halves of {graph.spec} with {target} links"
    require_fit(_literals(graph, target), budget.memory, subject)
    formula, side = _formula(graph, target)
    status, values = solve(formula, budget, subject)
    if status == "unsatisfiable":
        # No halves have the next number of links either if it has the wrong parity.
        return Decision("none", formula=formula, target=round_cut(graph, target + 1) - 1)
    if values is None:
        return OPEN
    return Decision("witness", {"side": values[side].astype(np.uint8)})


def _literals(graph: Topology, target: int) -> int:
    return 8 * graph.links * target + 4 * graph.nodes**2


class BisectionWidth(SearchProblem):
    """Fewest links between two halves."""

    name = "bisection-width"
    question = "fewest links between two halves"
    variables = "node v is in half 1; link e is cut"
    constraints = (
        "a link between the halves is cut; at most the target of the links are cut; the halves "
        "differ by at most one node. Cutting planes bound the average of y_u y_v over all images "
        "of a pair of nodes (`starcast.records.cut_bounds`)"
    )
    symmetry = (
        "the identity is in half 0, which loses nothing: the halves can be exchanged. Cutting "
        "planes average over all automorphisms, which loses nothing for a lower bound"
    )
    least_nodes = 3

    def bound(self) -> TheoryBound:
        return _bound(self.topology)

    def start(self, _budget: Budget) -> Witness:
        return {"side": _substar_halves(self.topology)}

    def methods(self) -> Sequence[Method]:
        graph = self.topology
        planes = Method("cutting planes", partial(bound_cuts, graph), 0.3, solves_formulas=False)
        return (
            *([planes] if supports(graph) else []),
            Method(
                "exchanges of nodes between the halves (tabu search)",
                partial(_exchange_nodes, graph),
                0.5,
                solves_formulas=False,
            ),
            Method("formula", partial(_solve, graph)),
        )

    def literals(self, target: int) -> int:
        return _literals(self.topology, target)

    def statement(self, target: int) -> str:
        return f"no halves with at most {target} links between them"

    def rebuild(self, target: int, _witness: Witness) -> Formula:
        # The last number of links of the right parity.
        rounded = round_cut(self.topology, target)
        return _formula(self.topology, rounded - 2 * (rounded > target))[0]
