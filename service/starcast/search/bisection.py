"""Find the bisection width: the minimum number of links between two halves of the nodes.

Lower bounds come from a linear program with cutting planes. Automorphisms divide the pairs of nodes
(u, v) into orbits. The program has a variable for each orbit: the average of y_u y_v over the
pairs, where y_u is 1 if node u is in one half, and -1 if it is in the other half. Each integer
vector b gives an inequality: the square (b y)^2 of the scalar product is at least 0, and at least 1
if the sum of b is odd. These inequalities are the cutting planes. Each round adds inequalities that
the current solution violates, until none is found. Their vectors b are eigenvectors (of the
adjacency matrix, and of the matrix of averages), triangles (vectors with three nonzero entries,
each +-1), and vectors of small integers found by local search. The dual solution, rounded to
integers, is the certificate that `starcast.records.cut_bounds` checks.
"""

from collections.abc import Sequence
from itertools import product
from math import ceil
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from starcast.records import Witness
from starcast.records.cut_bounds import (
    LARGEST,
    certified_cut,
    pair_orbits,
    quadratic_form,
    round_cut,
)
from starcast.search.engines import Budget, Formula, race, require
from starcast.search.problem import OPEN, Decision, FormulaProblem, Method, TheoryBound
from starcast.search.symmetry import fixing_root, link_list
from starcast.support.arrays import Floats
from starcast.topologies import Topology, permutations

#: Maximum number of nodes for which the eigenvalues of a dense matrix are computed.
_DENSE = 5_040
#: Maximum number of tabu searches; each starts from different halves.
_STARTS = 60
#: A generous upper bound on the rounding error of a computed eigenvalue.
_ERROR = 1e-6
#: Eigenvectors are scaled so that their largest absolute entry is `_SCALE`, and then rounded to
#: integers. `_DENOMINATOR` is the common denominator of a certificate's multipliers.
_SCALE, _DENOMINATOR = 1_000, 10**15
#: Approximate number of eigenvectors with which the linear program starts; the actual number can be
#: twice as large.
_SPECTRAL = 100
#: Inequalities that are violated by at most this amount are ignored.
_TOLERANCE = 1e-6
#: Number of local searches for violated inequalities in each round.
_DESCENTS = 60
#: Parameters of the local searches for violated inequalities. An initial vector has one of the
#: `_SIZES` as its number of nonzero entries. A search ends at one of the `_SUMS` of absolute
#: entries; the vectors that prove the exact bisection width of S_6 have sums of more than 40. A
#: step changes two entries; `_STEEPEST` is the number of candidates for the first.
_SIZES, _SUMS, _STEEPEST = tuple(range(1, 23, 2)), (20, 40, 80, 160), 25
#: The search for a better bound ends after this many rounds of cutting planes without progress.
_PATIENCE = 15


def _second_eigenvalue(graph: Topology) -> float:
    """Return the second smallest eigenvalue of the Laplacian, or 0 if the graph is too large.

    The eigenvalues of star graphs and hypercubes are known for every size.
    """
    if graph.family == "star" and graph.n > 2:
        # The degree is n - 1, and the second largest eigenvalue of the adjacency matrix is n - 2.
        return 1.0
    if graph.family == "hypercube":
        return 2.0
    if graph.nodes > _DENSE:
        return 0.0
    laplacian = graph.degree * np.eye(graph.nodes)
    a, b = link_list(graph).T
    np.subtract.at(laplacian, (a, b), 1)
    np.subtract.at(laplacian, (b, a), 1)
    return float(np.linalg.eigvalsh(laplacian)[1])


def _halves(order: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return a bisection: 1 for each node in the first half of the list ``order``, else 0."""
    side = np.zeros(len(order), dtype=np.uint8)
    side[order[: len(order) // 2]] = 1
    return side


def _substar_halves(graph: Topology) -> NDArray[np.uint8]:
    """Return each node's half, 0 or 1; if possible, each half consists of entire substars.

    A substar of S_n or S_{n,k} consists of all nodes with the same last symbol. If n is odd, one
    substar is divided in the same way, by the symbols before the last one. In other families, the
    nodes with the lower ranks form one half.
    """
    order = np.arange(graph.nodes)
    if graph.family in ("star", "nk-star"):
        # The primary sort key of lexsort is its last row, here the last symbol of each node.
        order = np.lexsort(permutations.arrangements(graph.n, graph.k or graph.n).T)
    return _halves(order)


def _perturbed(side: NDArray[np.uint8], generator: np.random.Generator) -> NDArray[np.uint8]:
    """Return a copy of the halves after moving random nodes from each half to the other half.

    Each half loses N/10 nodes, but at least one; N is the total number of nodes.
    """
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
    """Exchange nodes between the halves by tabu search, until the cut stops improving.

    Each step moves one node from each half to the other half: the node whose move leaves the fewest
    cut links. Nodes that have moved recently are avoided. The search also ends when it reaches the
    target or the time limit.

    Args:
        table: the neighbours, ``[ports, nodes]``.
        side: the half of each node, 0 or 1; modified in place.
        generator: source of randomness.
        target: the number of cut links at which the search ends.
        budget: the time limit.

    Returns:
        The half of each node in the best bisection found, and its number of cut links.
    """
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
            # If all nodes of this half have moved recently, any of them may move again.
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


def find_certificate(
    work: tuple[NDArray[np.int64], Floats, int, float], seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Search for a proof of a lower bound on the bisection width; return vectors and multipliers.

    The docstring of `starcast.records.cut_bounds` explains how vectors and multipliers prove a
    bound.

    Args:
        work: four values: the index of each node pair's orbit, ``[nodes, nodes]``; the number of
            links in each orbit, counted from both ends; the total number of links; and the end time
            on the `monotonic` clock.
        seed: random seed.
    """
    orbit, linked, links, end = work
    generator = np.random.default_rng(seed)
    program = _Program(orbit, linked)
    # Start with eigenvectors of the adjacency matrix: the inequalities of all eigenvectors together
    # prove the eigenvalue bound. The vectors that are added later improve this bound.
    spectral = np.linalg.eigh((linked > 0)[orbit].astype(float))[1]
    for vector in spectral.T[:: max(len(orbit) // _SPECTRAL, 1)]:
        program.add(_scaled(vector))
    best, idle = 0.0, 0
    while idle < _PATIENCE and monotonic() < end:
        averages = program.solve()
        value = float(links - linked @ averages / 2) / 2
        idle = 0 if value > best + 1e-3 else idle + 1
        best = max(best, value)
        added = sum(program.add(vector) for vector in _violated(averages[orbit], generator))
        if not added:
            break
    program.solve()
    return program.certificate()


class _Program:
    """The linear program that gives a lower bound on the number of cut links.

    Each orbit of node pairs (u, v) has a variable z: the average of y_u y_v over the orbit, where
    y_u is 1 or -1, depending on the half of node u.
    """

    def __init__(self, orbit: NDArray[np.int64], linked: Floats) -> None:
        self._orbit = orbit
        self._linked = linked
        self._sizes = np.bincount(orbit.ravel())
        self._vectors: list[NDArray[np.int64]] = []
        self._rows: list[NDArray[np.int64]] = []
        self._known: set[bytes] = set()
        self._dual = np.zeros(1)

    def add(self, vector: NDArray[np.int64]) -> bool:
        """Add the inequality of a vector b; return False if the program contains it already.

        The inequality states that the square (b y)^2 is at least 0, and at least 1 if the sum of b
        is odd.
        """
        row = quadratic_form(self._orbit, vector, len(self._sizes))
        key = row.tobytes()
        if key in self._known:
            return False
        self._known.add(key)
        self._vectors.append(vector)
        self._rows.append(row)
        return True

    def solve(self) -> Floats:
        """Solve the program; return the average z for each orbit in an optimal solution."""
        from ortools.linear_solver import pywraplp  # noqa: PLC0415 - an optional library

        solver = pywraplp.Solver.CreateSolver("GLOP")
        diagonal = int(self._orbit[0, 0])
        averages = [
            solver.NumVar(1 if number == diagonal else -1, 1, "")
            for number in range(len(self._sizes))
        ]
        constraints = []
        for vector, row in zip(self._vectors, self._rows, strict=True):
            # Coefficients are scaled, because they reach millions and the solver expects values
            # near 1.
            scale = float(np.abs(row).max())
            constraint = solver.Constraint((int(vector.sum()) % 2) / scale, solver.infinity())
            for number in np.flatnonzero(row).tolist():
                constraint.SetCoefficient(averages[number], float(row[number]) / scale)
            constraints.append((constraint, scale))
        total = float(len(self._orbit) % 2)
        balance = solver.Constraint(total, total)
        objective = solver.Objective()
        for number, average in enumerate(averages):
            balance.SetCoefficient(average, float(self._sizes[number]))
            objective.SetCoefficient(average, -float(self._linked[number]) / 4)
        objective.SetMinimization()
        solver.Solve()
        duals = [constraint.dual_value() / scale for constraint, scale in constraints]
        self._dual = np.array([*duals, balance.dual_value()])
        return np.array([average.solution_value() for average in averages])

    def certificate(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the vectors with positive multipliers, and the multipliers, rounded to integers.

        The last multiplier does not belong to a vector, but to the condition that the halves differ
        by at most one node.
        """
        # The rounded dual solution still proves a bound, although its terms no longer cancel
        # exactly: the check of the certificate subtracts the small remainders from the bound.
        rounded = np.rint(self._dual * _DENOMINATOR).astype(np.int64)
        used = np.flatnonzero(rounded[:-1] > 0)
        vectors = np.array([self._vectors[number] for number in used], dtype=np.int64)
        # Without vectors, `np.array` returns an array with only one dimension.
        vectors = vectors.reshape(-1, len(self._orbit))
        return vectors, np.append(rounded[used], rounded[-1])


def _violated(matrix: Floats, generator: np.random.Generator) -> list[NDArray[np.int64]]:
    """Return vectors b for which ``matrix`` violates the cutting plane (b y)^2 >= 0.

    If the sum of b is odd, the cutting plane is (b y)^2 >= 1. The docstring of this module explains
    y. The entry ``matrix[u, v]`` is the average of y_u y_v over the orbit of the node pair (u, v),
    so (b y)^2 becomes the sum of b_u b_v ``matrix[u, v]`` over all pairs.
    """
    values, vectors = np.linalg.eigh(matrix)
    found = [_scaled(vector) for vector in vectors[:, values < -_TOLERANCE].T[:10]]
    found += _triangles(matrix, generator)
    for _ in range(_DESCENTS):
        vector = _descend(matrix, generator)
        if vector is not None:
            found.append(vector)
    return found


def _scaled(vector: Floats) -> NDArray[np.int64]:
    """Round a vector to integers after scaling its largest absolute entry to `_SCALE`."""
    scaled: NDArray[np.int64] = np.rint(vector / np.abs(vector).max() * _SCALE).astype(np.int64)
    return scaled


def _triangles(matrix: Floats, generator: np.random.Generator) -> list[NDArray[np.int64]]:
    """Return some triangles b for which ``matrix`` violates the cutting plane (b y)^2 >= 1.

    A triangle is a vector with three nonzero entries: 1 at rank 0, and +-1 at two other ranks.
    `_violated` describes ``matrix``.
    """
    first = matrix[0]
    found = []
    for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        sums = a * first[:, None] + b * first[None, :] + a * b * matrix
        pairs = np.argwhere(sums < -1 - _TOLERANCE)
        # There are thousands of such vectors. Only some are added, because most of their
        # inequalities are nearly the same.
        for u, v in generator.permutation(pairs)[:20].tolist():
            if len({0, u, v}) == 3:
                vector = np.zeros(len(matrix), dtype=np.int64)
                vector[[0, u, v]] = 1, a, b
                found.append(vector)
    return found


def _descend(matrix: Floats, generator: np.random.Generator) -> NDArray[np.int64] | None:
    """Search locally for a vector b for which ``matrix`` violates the cutting plane (b y)^2 >= 1.

    Each step adds +-1 to two entries of b, whose sum is odd. The docstrings of this module and of
    `_violated` explain y and ``matrix``.

    Returns:
        The vector, int64 ``[nodes]``; None if none is found.
    """
    sizes = [size for size in _SIZES if size <= len(matrix)]
    chosen = generator.choice(len(matrix), int(generator.choice(sizes)), replace=False)
    vector = np.zeros(len(matrix), dtype=np.int64)
    vector[chosen] = generator.choice((-1, 1), len(chosen))
    value, gradient = float(vector @ matrix @ vector), matrix @ vector
    largest = int(generator.choice(_SUMS))
    while np.abs(vector).sum() < largest:
        best, step = -_TOLERANCE, None
        for a, b in product((-1, 1), repeat=2):
            # Trying all pairs of entries would take much longer. The best pairs contain an entry
            # whose change alone decreases the value quickly, so the first entry is one of these.
            first = np.argsort(a * gradient)[:_STEEPEST]
            change = 2 * (a * gradient[first, None] + b * gradient + 1 + a * b * matrix[first])
            change[np.arange(len(first)), first] = np.inf
            place = int(change.argmin())
            if change.flat[place] < best:
                u, v = divmod(place, len(matrix))
                best, step = float(change.flat[place]), (int(first[u]), v, a, b)
        if step is None:
            break
        u, v, a, b = step
        vector[u] += a
        vector[v] += b
        value += best
        gradient = gradient + a * matrix[u] + b * matrix[v]
    return vector if value < 1 - 10 * _TOLERANCE else None


class BisectionWidth(FormulaProblem):
    """The problem of dividing the nodes into two halves with the fewest links between them."""

    name = "bisection-width"
    question = "smallest number of links between two halves of the nodes"
    variables = "node v is in half 1; link e is cut"
    constraints = (
        "every link between the halves is cut; at most as many links as the target are cut; the "
        "numbers of nodes of the halves differ by at most one. Cutting planes bound the average of "
        "y_u y_v over all images of a pair of nodes (`starcast.records.cut_bounds`)"
    )
    symmetry = (
        "without loss of generality, the identity is in half 0, because the halves can be "
        "exchanged. Cutting planes are averaged over all automorphisms; this does not weaken the "
        "lower bound"
    )
    refuted = "no halves with at most {target} links between them"
    least_nodes = 3

    def bound(self) -> TheoryBound:
        """Return the eigenvalue bound on the bisection width (Fiedler, Mohar).

        Let the halves have a and b nodes, let N = a + b, and let lambda be the second smallest
        eigenvalue of the Laplacian. The bound is lambda a b / N, rounded up to a number of links
        that a bisection can cut.
        """
        graph = self.topology
        second = _second_eigenvalue(graph)
        halves = (graph.nodes // 2) * ((graph.nodes + 1) // 2)
        # A rounding error must not raise the bound above the true value.
        value = max(ceil(second * halves / graph.nodes - _ERROR * graph.nodes), 1)
        parity = "" if graph.nodes % 2 else "; all these cuts have the same parity"
        return TheoryBound(
            round_cut(graph, value),
            f"the second eigenvalue of the Laplacian is {second:.4f}, so a cut into halves of a "
            f"and b nodes has at least {second:.4f} a b / N links (Mohar 1991){parity}",
        )

    def start(self, _budget: Budget) -> Witness:
        return {"side": _substar_halves(self.topology)}

    def methods(self) -> Sequence[Method]:
        planes = Method("cutting planes", self.bound_cuts, 0.3, solves_formulas=False)
        exchanges = "exchanges of nodes between the halves (tabu search)"
        return (
            # The matrices of the linear program do not fit into memory for larger topologies.
            *([planes] if self.topology.nodes <= LARGEST else []),
            Method(exchanges, self._exchange_nodes, 0.5, solves_formulas=False),
            Method("formula", self.solve),
        )

    def subject(self, target: int) -> str:
        return f"halves of {self.topology.spec} with {target} links"

    def literals(self, target: int) -> int:
        return 8 * self.topology.links * target + 4 * self.topology.nodes**2

    def write(self, target: int) -> tuple[Formula, NDArray[np.int32]]:
        """Return a formula for bisections with at most ``target`` cut links.

        Returns:
            The formula, and its variables ``side`` [nodes], which are true for the nodes in half 1.
        """
        graph = self.topology
        # If parity rules out cuts of exactly ``target`` links, the formula is written for
        # ``target - 1``, which is equivalent. So the same bisections are always excluded by the
        # same formula, and the formula of a proof can be rebuilt from the record's bound.
        rounded = round_cut(graph, target)
        most = rounded if rounded == target else rounded - 2
        formula = Formula()
        side = formula.new(graph.nodes)
        links = link_list(graph)
        is_cut = formula.new(len(links)).tolist()
        # The identity can be fixed in half 0, because swapping the halves gives another solution.
        formula.add(-int(side[0]))
        for (a, b), literal in zip(links.tolist(), is_cut, strict=True):
            formula.add(-int(side[a]), int(side[b]), literal)
            formula.add(int(side[a]), -int(side[b]), literal)
        formula.at_most(is_cut, most)
        more = (graph.nodes + 1) // 2
        formula.at_most(side.tolist(), more)
        formula.at_most((-side).tolist(), more)
        return formula, side

    def read(self, values: NDArray[np.bool_]) -> Witness:
        return {"side": values.astype(np.uint8)}

    def solve(self, target: int, budget: Budget) -> Decision:
        decision = super().solve(target, budget)
        # If the parity makes cuts of ``target + 1`` links impossible, a refutation of the target
        # excludes ``target + 1`` too.
        excluded = round_cut(self.topology, target + 1) - 1
        return decision._replace(target=excluded) if decision.result == "none" else decision

    def bound_cuts(self, target: int, budget: Budget) -> Decision:
        """Look for a certificate that every bisection cuts more than ``target`` links."""
        require("ortools")
        graph = self.topology
        translations = [graph.translation(int(node)) for node in graph.table()[:, 0]]
        maps = np.array([*translations, *fixing_root(graph)], dtype=np.int64)
        orbit = pair_orbits(graph, maps)
        linked = np.zeros(int(orbit.max()) + 1)
        for port in graph.ports:
            np.add.at(linked, orbit[np.arange(graph.nodes), graph.neighbours(port)], 1)
        # All processes share the `monotonic` clock, so they can use one end time. The end time is
        # earlier than the time limit, so that a process has time to send its answer.
        work = (orbit, linked, graph.links, monotonic() + 0.7 * budget.left)
        answer = race(find_certificate, work, budget, f"cutting planes for halves of {graph.spec}")
        if answer is None:
            return OPEN
        vectors, multipliers = answer
        value = certified_cut(graph, maps, vectors, multipliers, _DENOMINATOR)
        if value <= target:
            return OPEN
        evidence = {
            "automorphisms": maps.astype(np.int16),
            "vectors": vectors.astype(np.int16),
            "multipliers": multipliers,
            "denominator": np.array([_DENOMINATOR]),
        }
        return Decision("none", evidence=evidence, target=value - 1)

    def _exchange_nodes(self, target: int, budget: Budget) -> Decision:
        """Run tabu searches with different initial halves.

        The halves of the first search consist of substars. Those of a later search are random, or
        are the best halves so far after a random change.
        """
        graph = self.topology
        generator = np.random.default_rng(budget.seed)
        table = graph.table().astype(np.int64)
        best: NDArray[np.uint8] | None = None
        best_cut = graph.links
        with budget.reporter.task(f"halves of {graph.spec}", _STARTS, "starts") as task:
            for _ in range(_STARTS):
                if budget.left <= 0:
                    break
                # The first start uses substars, which give the best possible halves on S_4 and S_6.
                if best is None:
                    side = _substar_halves(graph)
                elif generator.random() < 0.5:
                    side = _halves(generator.permutation(graph.nodes))
                else:
                    side = _perturbed(best, generator)
                side, cut = _tabu(table, side, generator, target, budget)
                if cut < best_cut:
                    best, best_cut = side, cut
                if cut <= target:
                    break
                task.advance()
        # Halves that miss the target are returned too, because they may still improve the record.
        return OPEN if best is None else Decision("witness", {"side": best})
