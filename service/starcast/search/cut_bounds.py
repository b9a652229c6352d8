"""Lower bounds on bisections by cutting planes, with a certificate.

A linear program has a variable for each orbit of pairs of nodes: the average of y_u y_v. Vectors b
whose inequality the solution violates are added until none is found: eigenvectors of the matrix of
averages, triangles, and vectors of small numbers by local search. The dual solution in whole
numbers is the certificate that `starcast.records.cut_bounds` checks.
"""

from time import monotonic

import numpy as np
from numpy.typing import NDArray

from starcast.records.cut_bounds import LARGEST, certified_cut, pair_orbits, quadratic_form
from starcast.search.engines import Budget, race, require
from starcast.search.problem import OPEN, Decision
from starcast.search.symmetry import fixing_root
from starcast.topologies import Topology

#: Scale of eigenvectors in whole numbers, and denominator of the multipliers.
_SCALE, _DENOMINATOR = 1_000, 10**15
#: Greatest violation that is ignored.
_TOLERANCE = 1e-6
_STARTS = 40
#: Rounds without progress after which the bound is taken as it is.
_PATIENCE = 15

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def supports(graph: Topology) -> bool:
    """Return whether the matrices are small enough."""
    return graph.nodes <= LARGEST


def bound_cuts(graph: Topology, target: int, budget: Budget) -> Decision:
    """Look for a certificate that no bisection has at most ``target`` links."""
    require("ortools")
    translations = [graph.translation(int(node)) for node in graph.table()[:, 0]]
    maps = np.array([*translations, *fixing_root(graph)], dtype=np.int64)
    orbit = pair_orbits(graph, maps)
    linked = np.zeros(int(orbit.max()) + 1)
    for port in graph.ports:
        np.add.at(linked, orbit[np.arange(graph.nodes), graph.neighbours(port)], 1)
    # The clock of all processes; the process needs time to send its answer.
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


def find_certificate(
    work: tuple[Integers, Floats, int, float], seed: int
) -> tuple[Integers, Integers]:
    """Return the vectors and multipliers of a certificate; see the module."""
    orbit, linked, links, end = work
    generator = np.random.default_rng(seed)
    program = _Program(orbit, linked)
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
    """The linear program: least cut over the averages of all orbits."""

    def __init__(self, orbit: Integers, linked: Floats) -> None:
        self._orbit = orbit
        self._linked = linked
        self._sizes = np.bincount(orbit.ravel())
        self._vectors: list[Integers] = []
        self._rows: list[Integers] = []
        self._known: set[bytes] = set()
        self._dual = np.zeros(1)

    def add(self, vector: Integers) -> bool:
        """Add the inequality of a vector, unless the program has it already."""
        row = quadratic_form(self._orbit, vector, len(self._sizes))
        key = row.tobytes()
        if key in self._known:
            return False
        self._known.add(key)
        self._vectors.append(vector)
        self._rows.append(row)
        return True

    def solve(self) -> Floats:
        """Return the averages of the least cut."""
        from ortools.linear_solver import pywraplp  # noqa: PLC0415 - an optional library

        solver = pywraplp.Solver.CreateSolver("GLOP")
        diagonal = int(self._orbit[0, 0])
        averages = [
            solver.NumVar(1 if number == diagonal else -1, 1, "")
            for number in range(len(self._sizes))
        ]
        constraints = []
        for vector, row in zip(self._vectors, self._rows, strict=True):
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

    def certificate(self) -> tuple[Integers, Integers]:
        """Return the vectors with a multiplier, and the multipliers times `_DENOMINATOR`."""
        rounded = np.rint(self._dual * _DENOMINATOR).astype(np.int64)
        used = np.flatnonzero(rounded[:-1] > 0)
        vectors = np.array([self._vectors[number] for number in used], dtype=np.int64)
        if not len(used):
            vectors = np.zeros((0, len(self._orbit)), dtype=np.int64)
        return vectors, np.append(rounded[used], rounded[-1])


def _violated(matrix: Floats, generator: np.random.Generator) -> list[Integers]:
    """Return vectors whose inequalities a matrix of averages violates."""
    values, vectors = np.linalg.eigh(matrix)
    negative = vectors[:, values < -_TOLERANCE][:, :10]
    largest = np.abs(negative).max(axis=0, initial=1e-9)
    found = list(np.rint(negative / largest * _SCALE).astype(np.int64).T)
    found += _triangles(matrix, generator)
    for _ in range(_STARTS):
        vector = _descend(matrix, generator)
        if vector is not None:
            found.append(vector)
    return found


def _triangles(matrix: Floats, generator: np.random.Generator) -> list[Integers]:
    """Return vectors of three entries +-1, one at rank 0, that are violated."""
    first = matrix[0]
    found = []
    for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        sums = a * first[:, None] + b * first[None, :] + a * b * matrix
        pairs = np.argwhere(sums < -1 - _TOLERANCE)
        for u, v in generator.permutation(pairs)[:20].tolist():
            if len({0, u, v}) == 3:
                vector = np.zeros(len(matrix), dtype=np.int64)
                vector[[0, u, v]] = 1, a, b
                found.append(vector)
    return found


def _descend(matrix: Floats, generator: np.random.Generator) -> Integers | None:
    """Return a vector with an odd sum and a violated inequality, by steps in two entries."""
    size = int(generator.choice([each for each in (3, 5, 7, 9) if each <= len(matrix)]))
    vector = np.zeros(len(matrix), dtype=np.int64)
    chosen = generator.choice(len(matrix), size, replace=False)
    vector[chosen] = generator.choice((-1, 1), size)
    value = float(vector @ matrix @ vector)
    gradient = matrix @ vector
    while np.abs(vector).sum() < 40:
        best, step = -_TOLERANCE, None
        for a in (-1, 1):
            for b in (-1, 1):
                change = 2 * (a * gradient[:, None] + b * gradient[None, :] + 1 + a * b * matrix)
                np.fill_diagonal(change, np.inf)
                place = int(change.argmin())
                if change.flat[place] < best:
                    best, step = float(change.flat[place]), (*divmod(place, len(matrix)), a, b)
        if step is None:
            break
        u, v, a, b = step
        vector[u] += a
        vector[v] += b
        value += best
        gradient = gradient + a * matrix[u] + b * matrix[v]
    return vector if value < 1 - 10 * _TOLERANCE else None
