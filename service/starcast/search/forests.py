"""Spanning trees of minimum height and bounded congestion, as many as the degree.

The trees have a common root. With congestion 1 they are arc-disjoint: they enter every node but the
root over different links, and each link of the root belongs to a different tree.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from starcast.records import Witness
from starcast.search.engines import Budget, solve
from starcast.search.formula import Formula, require_fit
from starcast.search.problem import OPEN, Decision, FormulaProblem, Method, TheoryBound
from starcast.search.symmetry import rotation
from starcast.support.errors import LimitError
from starcast.topologies import Topology
from starcast.trees import constructions, forest
from starcast.trees.construction import CONSTRUCTIONS
from starcast.trees.model import Forest


def distances_without_root(graph: Topology, start: int) -> NDArray[np.int64]:
    """Return every node's distance from ``start`` on paths that avoid the root; -1 at the root."""
    table = graph.table()
    distances = np.full(graph.nodes, -1)
    distances[start], front = 0, np.array([start])
    while len(front):
        following = np.unique(table[:, front])
        following = following[(distances[following] < 0) & (following != 0)]
        distances[following] = distances[front[0]] + 1
        front = following
    return distances


def _best_construction(graph: Topology, congestion: int) -> Forest | None:
    """Return the lowest constructed forest within a congestion limit, or None."""
    candidates = [
        forest(graph, name)
        for name in constructions(graph)
        if CONSTRUCTIONS[name].one_tree_per_port
        and not CONSTRUCTIONS[name].partial
        and not CONSTRUCTIONS[name].arguments
        and name != "optimal-edge-disjoint"
    ]
    fitting = [each for each in candidates if each.congestion <= congestion]
    return min(fitting, key=lambda each: each.height, default=None)


def _one_tree(
    formula: Formula,
    table: NDArray[np.int32],
    node: int,
    chosen: NDArray[np.int32],
    within: NDArray[np.int32],
    distance: int,
) -> None:
    """Require that a node has exactly one parent in a tree, which is closer to the root."""
    height = within.shape[1] - 1
    if node == 0:
        for port in range(len(table)):
            formula.add(-int(chosen[0, port]))
        # The root is declared to be within every level, so that the clauses for its children are
        # the same as for all other nodes.
        for level in range(height + 1):
            formula.add(int(within[0, level]))
        return
    formula.exactly_one(chosen[node].tolist())
    formula.add(int(within[node, height]))
    for level in range(height):
        # No tree path is shorter than the distance in the topology. This constraint saves most of
        # the search.
        if level < distance:
            formula.add(-int(within[node, level]))
        else:
            formula.add(-int(within[node, level]), int(within[node, level + 1]))
    for port, neighbour in enumerate(table[:, node].tolist()):
        for level in range(1, height + 1):
            # A node within this level needs a parent within the previous level.
            formula.add(
                -int(chosen[node, port]),
                -int(within[node, level]),
                int(within[neighbour, level - 1]),
            )


_CONSTRAINTS = (
    "in each tree, every node but the root has one parent, which is closer to the root; at most {} "
    "of the trees use the same directed link"
)
_SYMMETRY = (
    "translations: the root is fixed as the identity{}; this loses nothing. A second formula "
    "admits only trees that the rotation of the links of the root maps to each other; it can find "
    "witnesses, but its refutation proves nothing"
)


class CongestionTrees(FormulaProblem):
    """The problem of finding spanning trees of minimum height, as many as the degree."""

    name = "congestion-trees"
    question = "smallest height of as many spanning trees as the degree, with bounded congestion"
    variables = (
        "port i of node v leads to its parent in tree l; the level of v in tree l is at most d"
    )
    constraints = _CONSTRAINTS.format("c")
    symmetry = _SYMMETRY.format("")
    arguments: ClassVar[Mapping[str, int]] = MappingProxyType({"congestion": 2})
    least_nodes = 4

    @property
    def congestion(self) -> int:
        """The number of trees that may share a directed link."""
        return self.values.get("congestion", 1)

    def bound(self) -> TheoryBound:
        graph = self.topology
        if self.congestion > 1:
            return TheoryBound(graph.diameter, "the diameter")
        first = [int(graph.neighbours(port, [0])[0]) for port in graph.ports]
        height = max(1 + int(distances_without_root(graph, node).max()) for node in first)
        return TheoryBound(
            height,
            "the root has a single child in each tree, so the other nodes are reached from it "
            "without the root",
        )

    def start(self, budget: Budget) -> Witness:
        graph = self.topology
        found = _best_construction(graph, self.congestion)
        if found is not None:
            return {"parent_port": found.parent_port}
        # Any sufficiently large height limit will do: by Edmonds' theorem, such trees exist,
        # because there are enough links.
        outcome = self.solve(graph.diameter + 6, budget)
        if outcome.witness is None:
            raise LimitError(
                f"no forest to start from was found on {graph.spec} in {budget.seconds:.0f} s",
                hint="raise --timeout, or choose a smaller topology",
            )
        return outcome.witness

    def methods(self) -> Sequence[Method]:
        methods = [Method("formula", self.solve)]
        # If the trees are rotations of one another, one tree determines the forest. So the formula
        # is smaller by a factor of the degree.
        images = rotation(self.topology)
        if images is not None:
            turned = partial(self._solve_rotated, images)
            methods.insert(0, Method("formula, rotated trees", turned, 0.5))
        return methods

    def literals(self, target: int) -> int:
        degree = self.topology.degree
        return degree * self.topology.nodes * degree * (3 * target + degree)

    def statement(self, target: int) -> str:
        return f"no spanning trees of height {target} with congestion {self.congestion}"

    def subject(self, target: int) -> str:
        spec = self.topology.spec
        return f"trees on {spec} of height {target}, congestion {self.congestion}"

    def write(self, target: int) -> tuple[Formula, NDArray[np.int32]]:
        """Return the formula for trees of a height, and its variables [trees, nodes, ports]."""
        graph, congestion = self.topology, self.congestion
        trees, nodes, table = graph.degree, graph.nodes, graph.table()
        distances = graph.distances(0)
        formula = Formula()
        chosen = formula.new(trees, nodes, graph.degree)
        within = formula.new(trees, nodes, target + 1)
        for tree in range(trees):
            for node in range(nodes):
                _one_tree(formula, table, node, chosen[tree], within[tree], int(distances[node]))
        # The load of a link never exceeds the number of trees, so a larger limit needs no clauses.
        if congestion < trees:
            for node in range(1, nodes):
                for port in range(graph.degree):
                    formula.at_most(chosen[:, node, port].tolist(), congestion)
        if congestion == 1:
            # Each tree is assigned one fixed link of the root, because permuting the trees gives no
            # new solutions.
            for tree, child in enumerate(table[:, 0].tolist()):
                port = int(np.flatnonzero(table[:, child] == 0)[0])
                formula.add(int(chosen[tree, child, port]))
        return formula, chosen

    def read(self, values: NDArray[np.bool_]) -> Witness:
        ports = np.array(self.topology.ports, dtype=np.uint8)[values.argmax(axis=-1)]
        ports[..., 0] = 0
        return {"parent_port": ports}

    def _solve_rotated(self, images: NDArray[np.int64], target: int, budget: Budget) -> Decision:
        """Search for a forest in which the other trees are images of one tree under a rotation."""
        graph = self.topology
        subject = f"rotated trees on {graph.spec} of height {target}"
        require_fit(self.literals(target) // graph.degree, budget.memory, subject)
        table, degree = graph.table(), graph.degree
        formula = Formula()
        chosen = formula.new(graph.nodes, degree)
        within = formula.new(graph.nodes, target + 1)
        distances = graph.distances(0)
        for node in range(graph.nodes):
            _one_tree(formula, table, node, chosen, within, int(distances[node]))
        # If a port leads from node v to w, its image leads from the image of v to that of w. The
        # array has the index of this image for each node and port.
        port_image = (table[:, None, images] == images[table]).argmax(axis=0).T
        trees = [chosen]
        for _ in range(degree - 1):
            # The image of a (node, port) pair of a tree is a pair of the next tree.
            turned = np.empty_like(chosen)
            turned[images[:, None], port_image] = trees[-1]
            trees.append(turned)
        variables = np.stack(trees)
        # The constraint is the same for all links that the rotation maps to one another, so it is
        # written once. The root has no links to a parent.
        links = variables[:, 1:].reshape(degree, -1).T.tolist()
        for literals in dict.fromkeys(tuple(sorted(link)) for link in links):
            formula.at_most(literals, self.congestion)
        status, values = solve(formula, budget, subject)
        if values is None or status != "satisfiable":
            return OPEN  # other forests may exist, even if none consists of rotated trees
        return Decision("witness", self.read(values[variables]))


class EdgeDisjointTrees(CongestionTrees):
    """The problem of finding arc-disjoint spanning trees (congestion 1) of minimum height."""

    name = "edge-disjoint-trees"
    question = "smallest height of as many arc-disjoint spanning trees as the degree"
    constraints = _CONSTRAINTS.format(1)
    symmetry = _SYMMETRY.format(", and each tree is named after its link of the root")
    arguments: ClassVar[Mapping[str, int]] = MappingProxyType({})

    def statement(self, target: int) -> str:
        return f"no arc-disjoint spanning trees of height {target}"
