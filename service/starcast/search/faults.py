"""Search for the largest diameter of a topology after at most degree - 1 node faults.

The problem is not defined on the few topologies that degree - 1 faults can disconnect.

Faults make two nodes distant if every short path between them contains a fault as an inner node.
The search proposes a set of faults, finds short paths that avoid it, requires a fault on each of
these paths, and repeats. When no set of faults meets all requirements, the requirements form a
small unsatisfiable formula, for which a solver can write a proof.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.records import Witness
from starcast.records.model import RESTORE
from starcast.search.engines import Budget, Formula, race, require, require_fit
from starcast.search.problem import OPEN, Decision, Method, SearchProblem, TheoryBound
from starcast.search.symmetry import fixing_root, orbits
from starcast.support.errors import InputError, RejectedError
from starcast.support.text import pluralize
from starcast.topologies import Topology

NodePath = list[int]


def targets(graph: Topology) -> list[int]:
    """Return the nodes whose distance from rank 0 has to be examined: one node per orbit.

    The orbits are those of the automorphisms that fix rank 0. The node with the lowest rank
    represents an orbit. Rank 0 itself is omitted.
    """
    least = orbits(graph.nodes, fixing_root(graph))
    return [node for node in np.unique(least).tolist() if node]


def path_formula(graph: Topology, paths: list[NodePath]) -> Formula:
    """Return a formula for faults that interrupt, for at least one target, all given paths to it.

    The targets are the nodes that `targets` returns. A path is interrupted if one of its inner
    nodes is faulty. At most degree - 1 nodes are faulty.

    Args:
        graph: the topology.
        paths: paths from rank 0; each ends at a target.
    """
    formula = Formula()
    is_faulty = formula.new(graph.nodes)
    ends = targets(graph)
    is_target = dict(zip(ends, formula.new(len(ends)).tolist(), strict=True))
    formula.add(*is_target.values())
    # Distances are defined between nodes without faults, so neither end of a path is faulty.
    formula.add(-int(is_faulty[0]))
    for end, literal in is_target.items():
        formula.add(-literal, -int(is_faulty[end]))
    for path in paths:
        formula.add(-is_target[path[-1]], *(int(is_faulty[node]) for node in path[1:-1]))
    formula.at_most(is_faulty.tolist(), graph.degree - 1)
    return formula


class _Work(NamedTuple):
    """The input of `find_faults`.

    Attributes:
        table: for each node, the list of its neighbours.
        ends: candidate nodes; the faults must make at least one of these distant from rank 0.
        most: the maximum number of faults.
        distance: the minimum distance from rank 0 that one of ``ends`` must have after the faults.
    """

    table: list[list[int]]
    ends: list[int]
    most: int
    distance: int


def find_faults(work: _Work, seed: int) -> tuple[list[int] | None, int, list[NodePath]]:
    """Search for at most ``work.most`` faulty nodes that make some node distant from rank 0.

    The faults must give one of the nodes ``work.ends`` a distance of ``work.distance`` or more.

    Args:
        work: the topology as plain lists (so that a worker need not load plug-ins), the candidate
            nodes and the limits.
        seed: random seed.

    Returns:
        ``(faults, node, [])`` if such faults exist: the faulty nodes and the distant node.
        Otherwise ``(None, 0, paths)``. The paths prove that no set of faults suffices: for each
        candidate, every set of at most ``work.most`` faults leaves a path to it intact.
    """
    paths: list[NodePath] = []
    for end in work.ends:
        faults, excluding = _faults_for(work, end, seed)
        if faults is not None:
            return faults, end, []
        paths += excluding
    return None, 0, paths


def _faults_for(work: _Work, end: int, seed: int) -> tuple[list[int] | None, list[NodePath]]:
    """Search for faults that make the node ``end`` distant from rank 0.

    Returns:
        Two values: the faults, or None if no set of faults suffices; and the short paths to ``end``
        that the search found. If the faults are None, no allowed set of faults interrupts all of
        these paths.
    """
    from pysat.solvers import Solver  # noqa: PLC0415 - an optional library

    formula = Formula()
    is_faulty = formula.new(len(work.table)).tolist()
    formula.at_most(is_faulty, work.most)
    formula.add(-is_faulty[0])
    formula.add(-is_faulty[end])
    paths: list[NodePath] = []
    with Solver(name="cadical195") as solver:
        solver.configure({"seed": seed})
        solver.append_formula(formula.clauses)
        while solver.solve():
            model = solver.get_model()
            faults = {node for node, literal in enumerate(is_faulty) if model[literal - 1] > 0}
            short = _disjoint_short_paths(work.table, faults, end, work.distance)
            if not short:
                return sorted(faults), paths
            # Several paths are added at once, so that each run of the solver excludes more sets of
            # faults.
            for path in short:
                solver.add_clause([is_faulty[node] for node in path[1:-1]])
            paths += short
    return None, paths


def _disjoint_short_paths(
    table: list[list[int]], faults: set[int], end: int, distance: int
) -> list[NodePath]:
    """Return short paths from rank 0 to ``end`` without faults and without common inner nodes.

    A path is short if it has fewer than ``distance`` links.
    """
    used = set(faults)
    paths: list[NodePath] = []
    while (path := _shortest_path(table, used, end, distance - 1)) is not None:
        paths.append(path)
        # A path of one link has no inner node to exclude, so the loop would never end.
        if len(path) == 2:
            break
        used |= set(path[1:-1])
    return paths


def _shortest_path(
    table: list[list[int]], excluded: set[int], end: int, longest: int
) -> NodePath | None:
    paths = {0: [0]}
    front = [0]
    for node in front:
        if len(paths[node]) > longest:
            break
        for each in table[node]:
            if each in paths or each in excluded:
                continue
            paths[each] = [*paths[node], each]
            if each == end:
                return paths[each]
            front.append(each)
    return None


def _as_array(paths: list[NodePath]) -> NDArray[np.int32]:
    """Return paths as an array of ranks, one row per path, padded with -1 after its end."""
    longest = max(map(len, paths))
    return np.array([[*path, *[-1] * (longest - len(path))] for path in paths], dtype=np.int32)


class FaultDiameter(SearchProblem):
    """The problem of finding the largest diameter after at most degree - 1 node faults."""

    name = "fault-diameter"
    question = "largest diameter after degree - 1 node faults"
    variables = "node v is faulty; t is the node that the faults make distant from the identity"
    constraints = (
        "at most degree - 1 nodes are faulty; every path from the identity to t that is shorter "
        "than the target has a faulty inner node"
    )
    symmetry = (
        "translations and the automorphisms that fix the identity map every pair of distant nodes, "
        "with the faults, to the identity and one chosen node of each orbit. So without loss of "
        "generality, t is one of these chosen nodes"
    )
    refuted = "no faults that make the diameter {target}"
    least_nodes = 4

    def bound(self) -> TheoryBound:
        most = self.topology.nodes - self.topology.degree
        return TheoryBound(
            most, f"a shortest path visits at most the {most + 1} nodes without faults"
        )

    def start(self, _budget: Budget) -> Witness:
        """Return a first witness: no faults, and the pair of rank 0 and a node farthest from it."""
        end = int(self.topology.distances(0).argmax())
        return {"faults": np.empty(0, dtype=np.int64), "pair": np.array([0, end])}

    def methods(self) -> Sequence[Method]:
        return (Method("faults against short paths, in turn", self._search),)

    def literals(self, _target: int) -> int:
        return self.topology.nodes * self.topology.degree * 8 + 20_000 * self.topology.diameter

    def rebuild(self, _target: int, witness: Witness) -> Formula:
        """Return the formula that the record's proof refutes, built from the record's paths.

        Raises:
            RejectedError: the record has no paths, or a path does not end at one of `targets`.
        """
        rows = np.asarray(witness.get("paths", np.empty((0, 0)))).tolist()
        paths = [[node for node in row if node >= 0] for row in rows]
        ends = set(targets(self.topology))
        reason = "" if paths else "the record has no paths"
        if not all(path and path[-1] in ends for path in paths):
            reason = "a path does not end at the node that represents its orbit"
        if reason:
            raise RejectedError(
                f"the paths that prove the fault diameter of {self.topology.spec} are rejected:"
                f" {reason}",
                hint=RESTORE,
            )
        return path_formula(self.topology, paths)

    def _search(self, target: int, budget: Budget) -> Decision:
        """Look for faults that make the diameter at least ``target``.

        Raises:
            InputError: the faults found disconnect the topology.
            LimitError: the search does not fit into the memory limit.
            UnavailableError: python-sat is not installed.
        """
        require("pysat")
        graph = self.topology
        require_fit(self.literals(target), budget.memory, f"faults on {graph.spec}")
        subject = f"faults that make the diameter of {graph.spec} {target}"
        # Nodes far from rank 0 are tried first, because faults are more likely to give them the
        # required distance.
        from_root = graph.distances(0)
        ends = sorted(targets(graph), key=lambda node: -int(from_root[node]))
        work = _Work(graph.table().T.tolist(), ends, graph.degree - 1, target)
        answer = race(find_faults, work, budget, subject)
        if answer is None:
            return OPEN
        faults, end, paths = answer
        if faults is not None:
            if _shortest_path(work.table, set(faults), end, graph.nodes) is None:
                raise InputError(
                    f"{pluralize(len(faults), 'fault')} can disconnect {graph.spec}, so its fault"
                    " diameter is not defined",
                    hint="choose another topology",
                )
            pair = np.array([0, end])
            return Decision("witness", {"faults": np.array(faults), "pair": pair})
        return Decision(
            "none",
            formula=path_formula(graph, paths),
            evidence={"paths": _as_array(paths)},
            target=max(map(len, paths)),  # no diameter exceeds the longest path
        )
