"""Searches for spanning trees, and proofs that better trees do not exist.

**Trees of minimum height and bounded congestion** have a common root; there is one tree per port.
With congestion 1 the trees are arc-disjoint: they enter every node but the root over different
links, and each link of the root belongs to a different tree.

**Completely independent trees** are spanning trees in which the paths between any two nodes, one
path in each tree, share neither links nor inner nodes. By Araki (2014), k such trees exist if and
only if the nodes can be partitioned into k classes with two properties. Each class induces a
connected graph. In the graph formed by the links between two classes, no connected component is a
tree. The search finds the partition by simulated annealing. Some automorphisms permute the nodes in
cycles of equal length. If this length is a multiple of k, the search looks for a partition in which
the automorphism maps each class to the next class. Such a partition corresponds to a partition of a
quotient graph, which is much smaller.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import chain, combinations, count
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.records import Witness
from starcast.search.engines import Budget, Formula, require, require_fit, solve
from starcast.search.problem import (
    OPEN,
    Decision,
    FormulaProblem,
    Method,
    SearchProblem,
    TheoryBound,
)
from starcast.search.symmetry import NodeImages, fixing_root, orbits, rotation
from starcast.support.errors import LimitError
from starcast.topologies import Topology, ports_towards
from starcast.trees import constructions, forest
from starcast.trees.construction import CONSTRUCTIONS


def distances_without_root(graph: Topology, start: int) -> NDArray[np.int64]:
    """Return each node's distance from ``start`` on paths that avoid rank 0.

    The distance is -1 for rank 0 (the root), and for nodes that no such path reaches.
    """
    table = graph.table()
    distances = np.full(graph.nodes, -1)
    distances[start], front = 0, np.array([start])
    while len(front):
        following = np.unique(table[:, front])
        following = following[(distances[following] < 0) & (following != 0)]
        distances[following] = distances[front[0]] + 1
        front = following
    return distances


def _add_node(
    formula: Formula,
    table: NDArray[np.int32],
    node: int,
    chosen: NDArray[np.int32],
    within: NDArray[np.int32],
    distance: int,
) -> None:
    """Add the clauses for one node of a tree: exactly one parent, which is closer to the root.

    Args:
        formula: the formula, to which the clauses are added.
        table: the neighbours, ``[ports, nodes]``.
        node: the node; the root is 0.
        chosen: variables ``[nodes, ports]``, true if the port leads from the node to its parent.
        within: variables ``[nodes, height + 1]``, true if the node's level is at most the second
            index.
        distance: the node's distance from the root in the topology.
    """
    height = within.shape[1] - 1
    if node == 0:
        for port in range(len(table)):
            formula.add(-int(chosen[0, port]))
        # The root is declared to be within every level, so that the clauses for the root's children
        # are the same as for all other nodes.
        for level in range(height + 1):
            formula.add(int(within[0, level]))
        return
    formula.exactly_one(chosen[node].tolist())
    formula.add(int(within[node, height]))
    for level in range(height):
        # No tree path is shorter than the distance in the topology. Stating this saves most of the
        # solver's work.
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
    "translations: without loss of generality, the root is the identity{}. A second formula "
    "admits only trees that the rotation of the root's links maps to each other; its solutions are "
    "witnesses, but its refutation proves nothing"
)


class EdgeDisjointTrees(FormulaProblem):
    """The problem of finding arc-disjoint spanning trees of minimum height, one tree per port."""

    name = "edge-disjoint-trees"
    question = "smallest height of arc-disjoint spanning trees, one tree per port"
    variables = (
        "port i of node v leads to its parent in tree l; the level of v in tree l is at most d"
    )
    constraints = _CONSTRAINTS.format(1)
    symmetry = _SYMMETRY.format(", and each tree is assigned one link of the root")
    refuted = "no arc-disjoint spanning trees of height {target}"
    least_nodes = 4

    @property
    def congestion(self) -> int:
        """The maximum number of trees that may share a directed link."""
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
        constructed = [
            forest(graph, name)
            for name in constructions(graph)
            if CONSTRUCTIONS[name].one_tree_per_port
            and not CONSTRUCTIONS[name].partial
            and not CONSTRUCTIONS[name].arguments
            and name != "optimal-edge-disjoint"
        ]
        fitting = [each for each in constructed if each.congestion <= self.congestion]
        if fitting:
            return {"parent_port": min(fitting, key=lambda each: each.height).parent_port}
        # By Edmonds' theorem, arc-disjoint trees exist, but their height is unknown. So the search
        # begins with a generous height limit, and doubles it as long as no trees satisfy the limit.
        height = min(graph.diameter + 6, graph.nodes - 1)
        outcome = self.solve(height, budget)
        while outcome.result == "none" and height < graph.nodes - 1:
            height = min(2 * height, graph.nodes - 1)
            outcome = self.solve(height, budget)
        if outcome.witness is None:
            raise LimitError(
                f"no initial forest was found on {graph.spec} within {budget.seconds:.0f} s",
                hint="raise `timeout`, or choose a smaller topology",
            )
        return outcome.witness

    def methods(self) -> Sequence[Method]:
        methods = [Method("formula", self.solve)]
        # Rotated trees are tried first: a single tree determines the others, so the formula is
        # much smaller.
        images = rotation(self.topology)
        if images is not None:
            turned = partial(self._solve_rotated, images)
            methods.insert(0, Method("formula, rotated trees", turned, 0.5))
        return methods

    def literals(self, target: int) -> int:
        degree = self.topology.degree
        return degree * self.topology.nodes * degree * (3 * target + degree)

    def subject(self, target: int) -> str:
        spec = self.topology.spec
        return f"trees on {spec} of height {target}, congestion {self.congestion}"

    def write(self, target: int) -> tuple[Formula, NDArray[np.int32]]:
        """Return the formula for trees of height at most ``target``.

        Returns:
            The formula, and its variables ``chosen`` [trees, nodes, ports], which are true if the
            port leads from the node to its parent in the tree.
        """
        graph, congestion = self.topology, self.congestion
        trees, nodes, table = graph.degree, graph.nodes, graph.table()
        distances = graph.distances(0)
        formula = Formula()
        chosen = formula.new(trees, nodes, graph.degree)
        within = formula.new(trees, nodes, target + 1)
        for tree in range(trees):
            for node in range(nodes):
                _add_node(formula, table, node, chosen[tree], within[tree], int(distances[node]))
        # The load of a link never exceeds the number of trees, so larger limits need no clauses.
        if congestion < trees:
            for node in range(1, nodes):
                for port in range(graph.degree):
                    formula.at_most(chosen[:, node, port].tolist(), congestion)
        if congestion == 1:
            # Each tree is assigned a fixed link of the root; otherwise the solver would also try
            # all permutations of the same trees.
            for tree, child in enumerate(table[:, 0].tolist()):
                port = int(np.flatnonzero(table[:, child] == 0)[0])
                formula.add(int(chosen[tree, child, port]))
        return formula, chosen

    def read(self, values: NDArray[np.bool_]) -> Witness:
        ports = np.array(self.topology.ports, dtype=np.uint8)[values.argmax(axis=-1)]
        ports[..., 0] = 0
        return {"parent_port": ports}

    def _solve_rotated(self, images: NDArray[np.int64], target: int, budget: Budget) -> Decision:
        """Search for a forest in which all trees are rotations of one tree."""
        graph = self.topology
        subject = f"rotated trees on {graph.spec} of height {target}"
        require_fit(self.literals(target) // graph.degree, budget.memory, subject)
        table, degree = graph.table(), graph.degree
        formula = Formula()
        chosen = formula.new(graph.nodes, degree)
        within = formula.new(graph.nodes, target + 1)
        distances = graph.distances(0)
        for node in range(graph.nodes):
            _add_node(formula, table, node, chosen, within, int(distances[node]))
        # If a port leads from node v to w, the image of the port leads from the image of v to the
        # image of w. The array contains this image for each node v and port.
        port_image = (table[:, None, images] == images[table]).argmax(axis=0).T
        trees = [chosen]
        for _ in range(degree - 1):
            # The next tree contains the image of each (node, port) pair under the rotation.
            turned = np.empty_like(chosen)
            turned[images[:, None], port_image] = trees[-1]
            trees.append(turned)
        variables = np.stack(trees)
        # Links that the rotation maps to one another have the same constraint, so the constraint is
        # written once. Node 0 is omitted, because the root has no parent.
        links = variables[:, 1:].reshape(degree, -1).T.tolist()
        for literals in dict.fromkeys(tuple(sorted(link)) for link in links):
            formula.at_most(literals, self.congestion)
        status, values = solve(formula, budget, subject)
        if values is None or status != "satisfiable":
            return OPEN  # other forests may exist, even if none consists of rotated trees
        return Decision("witness", self.read(values[variables]))


class CongestionTrees(EdgeDisjointTrees):
    """The problem of finding spanning trees of minimum height and bounded congestion.

    There is one tree per port.
    """

    name = "congestion-trees"
    question = "smallest height of spanning trees with bounded congestion, one tree per port"
    constraints = _CONSTRAINTS.format("c")
    symmetry = _SYMMETRY.format("")
    refuted = "no spanning trees of height {target} with congestion {congestion}"
    arguments: ClassVar[Mapping[str, int]] = MappingProxyType({"congestion": 2})


#: Number of random automorphisms that are tried on a topology, and maximum number of nodes of a
#: topology on which they are tried.
_SAMPLES, _MAX_NODES = 300, 50_000
#: The temperatures of an annealing run, and the number of steps at each temperature.
_COOLING, _STEPS = np.geomspace(1.0, 0.1, 100), 2_000
#: A partition of a quotient can be invalid on the topology. After this many invalid partitions, the
#: search continues with the next quotient.
_REPEATS = 10


class Quotient(NamedTuple):
    """A topology whose nodes are merged into fewer nodes, so that partitions are found faster.

    In the partitions sought, an automorphism maps each class to the next class, so a power of the
    automorphism maps each class to itself. Nodes that this power maps to one another are merged.

    Attributes:
        number: for each node of the topology, the index of its merged node, int64 ``[nodes]``.
        table: the neighbours of the merged nodes, int64 ``[merged, ports]``.
        members: the merged nodes, int64 ``[bundles, classes]``. The automorphism maps each column
            to the next column, so the class of one node determines the classes of all nodes in its
            row (bundle). Without an automorphism, there is a single column.
    """

    number: NodeImages
    table: NDArray[np.int64]
    members: NDArray[np.int64]


def random_labels(quotient: Quotient, classes: int, chance: np.random.Generator) -> NodeImages:
    """Divide the nodes of a quotient at random into classes; return the class of each node.

    If the quotient was made from an automorphism, this automorphism maps each class to the next.
    """
    labels = np.empty(len(quotient.table), np.int64)
    first = chance.integers(0, classes, len(quotient.members))
    steps = np.arange(quotient.members.shape[1])
    labels[quotient.members] = (first[:, None] + steps) % classes
    return labels


def quotients(graph: Topology, classes: int, chance: np.random.Generator) -> list[Quotient]:
    """Return quotients of a topology by powers of random automorphisms, in ascending order of size.

    The last quotient in the list is the topology itself, without merged nodes. If the topology has
    more than `_MAX_NODES` nodes, the list has no other quotient.

    Args:
        graph: the topology.
        classes: the number of classes into which the search divides the nodes.
        chance: source of randomness.
    """
    found: dict[int, Quotient] = {}
    if graph.nodes <= _MAX_NODES:
        fixing = fixing_root(graph)
        for _ in range(_SAMPLES):
            images = graph.translation(int(chance.integers(graph.nodes))).astype(np.int64)
            # `fixing` generates a small group, the automorphisms that fix node 0. A product of
            # twenty random generators is nearly a uniformly random element of this group.
            for number in chance.integers(0, len(fixing), 20 * bool(fixing)):
                images = fixing[number][images]
            order = _common_order(images)
            # One quotient per order of the automorphism is enough, because the order determines the
            # size of the quotient.
            if order % classes == 0 and order not in found:
                found[order] = _quotient(graph, images, classes)
    everything = np.arange(graph.nodes)
    table = graph.table().T.astype(np.int64)
    undivided = Quotient(everything, table, everything[:, None])
    return [*(found[order] for order in sorted(found)[::-1]), undivided]


def _common_order(images: NodeImages) -> int:
    """Return the common length of a node permutation's cycles, or 1 if the lengths differ."""
    powers, everything, order = images, np.arange(len(images)), 1
    while not (fixed := powers == everything).any():
        powers, order = images[powers], order + 1
    return order if fixed.all() else 1


def _quotient(graph: Topology, images: NodeImages, classes: int) -> Quotient:
    """Return the quotient of a topology by a power of an automorphism.

    In the partitions that are searched for, the automorphism maps each class to the next class. So
    its power with the exponent ``classes`` maps each class to itself. The quotient has one node for
    each orbit of this power.

    Args:
        graph: the topology.
        images: the image of each node under the automorphism.
        classes: the number of classes, which divides the order of the automorphism.
    """
    powers = images
    for _ in range(classes - 1):
        powers = images[powers]
    # Now ``powers`` contains the images of all nodes under the power of the automorphism that maps
    # each class to itself.
    leaders, number = np.unique(orbits(graph.nodes, [powers]), return_inverse=True)
    moved = number[images[leaders]]
    columns = [np.unique(orbits(len(leaders), [moved]))]
    while len(columns) < classes:
        columns.append(moved[columns[-1]])
    table = number[graph.table().T.astype(np.int64)[leaders]]
    return Quotient(number, np.ascontiguousarray(table), np.stack(columns, axis=1))


def _near(table: list[list[int]], chosen: list[int], node: int, number: int) -> list[int]:
    """Return those neighbours of a node that are in the class ``number`` of a partition."""
    return [each for each in table[node] if chosen[each] == number]


def _trees(graph: Topology, chosen: NDArray[np.int64], classes: int) -> NDArray[np.uint8]:
    """Return completely independent trees for a valid partition of the nodes into classes.

    The result contains, for each tree, each node's port towards its parent. There is one tree per
    class: it spans the class, and all other nodes are its leaves. A leaf is attached by a link
    between the leaf's class and the tree's class. In each connected component of these links, every
    node is assigned a different link. This is possible because a component has at least as many
    links as nodes.
    """
    table = graph.table().T.tolist()
    labels = chosen.tolist()
    trees = [
        _spanning_links(table, labels, labels.index(number), number) for number in range(classes)
    ]
    for a, b in combinations(range(classes), 2):
        for node, neighbour in _oriented(table, labels, a, b).items():
            trees[labels[neighbour]].append((node, neighbour))
    return np.stack([_as_ports(graph, links) for links in trees])


def _spanning_links(
    table: list[list[int]], labels: list[int], start: int, number: int
) -> list[tuple[int, int]]:
    # Breadth-first search is used because it minimizes the height of the tree.
    visited, front, links = {start}, [start], []
    for node in front:
        for each in _near(table, labels, node, number):
            if each not in visited:
                visited.add(each)
                front.append(each)
                links.append((node, each))
    return links


def _oriented(table: list[list[int]], labels: list[int], a: int, b: int) -> dict[int, int]:
    """Assign each node of two classes, a and b, a neighbour in the other class.

    The links between the nodes and their assigned neighbours are all different.

    In each connected component of the links between a and b, a spanning tree is chosen, and each
    node is assigned its parent. The root of the spanning tree has no parent. So a link outside the
    tree is chosen, and the assignments on the tree path from one end of this link to the root are
    reversed: this end is assigned the other end, and all other nodes on the path are assigned their
    child on the path.
    """
    other = {a: b, b: a}
    target: dict[int, int] = {}
    for root in (node for node, label in enumerate(labels) if label in other):
        if root in target:
            continue
        target[root] = root
        front = [root]
        spare = (root, root)
        for node in front:
            for each in _near(table, labels, node, other[labels[node]]):
                if each not in target:
                    target[each] = node
                    front.append(each)
                elif each != target[node]:
                    spare = node, each
        node, following = spare
        while node != root:
            parent = target[node]
            target[node] = following
            node, following = parent, node
        target[root] = following
    return target


def _as_ports(graph: Topology, links: list[tuple[int, int]]) -> NDArray[np.uint8]:
    """Return each node's port towards its parent in the tree with the given links and root 0."""
    adjacent: list[list[int]] = [[] for _ in range(graph.nodes)]
    for a, b in links:
        adjacent[a].append(b)
        adjacent[b].append(a)
    parent = np.full(graph.nodes, -1)
    front = [0]
    for node in front:
        for each in adjacent[node]:
            if each != parent[node]:
                parent[each] = node
                front.append(each)
    return ports_towards(graph, parent)


class IndependentTrees(SearchProblem):
    """The problem of finding as many completely independent spanning trees as possible."""

    name = "independent-trees"
    question = "largest number of completely independent spanning trees"
    variables = "the class of node v (by Araki 2014, each class gives a tree)"
    constraints = (
        "each class is connected; no connected component of the links between two classes is a tree"
    )
    symmetry = (
        "first, partitions whose classes an automorphism permutes cyclically, beginning with the "
        "automorphisms of the largest order; then, arbitrary partitions. The search finds "
        "witnesses, but proves no bounds"
    )
    refuted = "no {target} completely independent spanning trees"
    least_nodes = 3

    def bound(self) -> TheoryBound:
        needed, links = self.topology.nodes - 1, self.topology.links
        return TheoryBound(links // needed, f"each tree needs {needed} of the {links} links")

    def start(self, _budget: Budget) -> Witness:
        """Return a first witness, a single tree found by breadth-first search."""
        graph = self.topology
        links = _spanning_links(graph.table().T.tolist(), [0] * graph.nodes, 0, 0)
        return {"parent_port": _as_ports(graph, links)[None, :]}

    def methods(self) -> Sequence[Method]:
        name = "simulated annealing of classes, in quotients by automorphisms"
        return (Method(name, self._search, solves_formulas=False),)

    def _search(self, target: int, budget: Budget) -> Decision:
        """Search, by annealing, for a partition of a quotient that is valid on the topology too."""
        require("numba")
        graph = self.topology
        annealing = import_module("starcast.search.local_search")
        chance = np.random.default_rng(budget.seed)
        neighbours = graph.table().T.astype(np.int64)
        work = np.empty(graph.nodes * target, np.int64), np.empty(graph.nodes * target, bool)
        candidates = quotients(graph, target, chance)
        # Trying small quotients is fast, so before each larger quotient all smaller ones are tried
        # again.
        for quotient in chain.from_iterable(candidates[:number] for number in count(1)):
            defects = 0
            for _ in range(_REPEATS):
                labels = random_labels(quotient, target, chance)
                for temperature in _COOLING:
                    if budget.left <= 0:
                        return OPEN
                    partition = quotient.table, quotient.members, labels, target
                    defects = annealing.anneal(*partition, _STEPS, temperature, chance)
                    if defects == 0:
                        break
                if defects:
                    break
                lifted = labels[quotient.number]
                # A class that is connected in the quotient may be disconnected in the topology.
                if annealing.count_defects(neighbours, lifted, target, *work) == 0:
                    return Decision("witness", {"parent_port": _trees(graph, lifted, target)})
        raise AssertionError  # `count` never ends
