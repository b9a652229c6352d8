"""Most completely independent spanning trees.

By Araki (2014) k of them exist if and only if the nodes can be partitioned into k classes such
that each class induces a connected graph, and no component of the links between two classes is a
tree. The search finds the partition: a formula with local constraints, to which a clause is added
for every class that is not connected and for every component that is a tree.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from starcast.records import Witness
from starcast.search.engines import Budget, race, require
from starcast.search.formula import Formula, require_fit
from starcast.search.problem import (
    OPEN,
    Decision,
    Method,
    SearchProblem,
    TheoryBound,
)
from starcast.search.symmetry import translation_order
from starcast.topologies import Topology, permutations

#: ``literal(node, class)``.
Literal = Callable[[int, int], int]
Table = list[list[int]]
#: Generators of a group: images of the nodes, and the number of classes that it moves a class on.
Symmetry = list[tuple[NDArray[np.int64], int]]
#: Nodes up to which translations are tried.
_MAX_NODES = 10_000


def _search(exact: bool, symmetric: bool, graph: Topology, target: int, budget: Budget) -> Decision:
    require("pysat")
    require_fit(_literals(graph, target), budget.memory, f"trees on {graph.spec}")
    if exact and graph.degree != 2 * target:
        return OPEN
    groups = symmetries(graph, target) if symmetric else [[]]
    for number, each in enumerate(groups):
        part = budget.part(1 / (len(groups) - number))
        subject = f"{target} completely independent trees on {graph.spec}"
        work = (graph.table().T.tolist(), target, exact, each)
        classes = race(partition, work, part, subject)
        if classes is not None and len(classes):
            return Decision("witness", {"parent_port": _trees(graph, classes, target)})
    return OPEN


def symmetries(graph: Topology, classes: int) -> list[Symmetry]:
    """Return groups of translations that may map classes to each other, the largest groups first.

    A group is given by generators, each with the number of classes that it moves a class on. They
    are the cyclic groups whose order is a multiple of the number of classes, one of each order,
    and for prime n, S_n and a divisor of n - 1 as the number of classes, the maps x -> a x + b of
    the symbols modulo n: those with a = 1 keep the classes.
    """
    if graph.nodes > _MAX_NODES:
        return []
    by_order: dict[int, Symmetry] = {}
    for node in range(1, graph.nodes):
        images = graph.translation(node).astype(np.int64)
        order = translation_order(images)
        if order % classes == 0 and order not in by_order:
            by_order[order] = [(images, 1)]
    return [*_affine(graph, classes), *(by_order[order] for order in sorted(by_order)[::-1])]


def _affine(graph: Topology, classes: int) -> Iterator[Symmetry]:
    size = graph.n
    is_prime = size > 3 and all(size % each for each in range(2, size))
    if graph.family != "star" or not is_prime or (size - 1) % classes:
        return
    symbols = np.arange(size)
    root = next(
        a for a in range(2, size) if len({pow(a, i, size) for i in range(size)}) == size - 1
    )
    shift = _translation(graph, (symbols + 1) % size)
    for exponent in range(1, size):
        if (size - 1) % (exponent * classes) == 0:
            factor = pow(root, exponent, size)
            yield [(shift, 0), (_translation(graph, factor * symbols % size), 1)]


def _translation(graph: Topology, symbols: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the translation of S_n that renames the symbols 0..n-1."""
    rank = permutations.arrangement_rank((symbols[None, :] + 1).astype(np.uint8), graph.n)
    return graph.translation(int(rank[0])).astype(np.int64)


def partition(work: tuple[Table, int, bool, Symmetry], seed: int) -> NDArray[np.int64]:
    """Return the class of each node, or no classes if there are none.

    Args:
        work: the neighbours, the number of classes, whether every node must have two neighbours in
            each class, and translations that map classes to each other.
        seed: random seed.
    """
    from pysat.solvers import Solver  # noqa: PLC0415 - an optional library

    table, classes, exact, symmetry = work
    formula, literal = _local_formula(table, classes, exact=exact, symmetry=symmetry)
    with Solver(name="cadical195") as solver:
        solver.configure({"seed": seed, "phase": seed % 2})
        solver.append_formula(formula.clauses)
        while solver.solve():
            model = solver.get_model()
            true = {number for number in model if number > 0}
            chosen = [
                next(each for each in range(classes) if literal(node, each) in true)
                for node in range(len(table))
            ]
            clauses = list(_violated(table, chosen, classes, literal))
            if not clauses:
                return np.array(chosen)
            solver.append_formula(clauses)
    return np.empty(0, dtype=np.int64)


def _local_formula(
    table: Table, classes: int, *, exact: bool, symmetry: Symmetry
) -> tuple[Formula, Literal]:
    formula = Formula()
    nodes = len(table)
    first, shift = _orbits(nodes, classes, symmetry)
    variables = formula.new(nodes, classes)

    def literal(node: int, number: int) -> int:
        return int(variables[first[node], (number - shift[node]) % classes])

    for node, neighbours in enumerate(table):
        if first[node] != node:
            continue
        formula.exactly_one([literal(node, each) for each in range(classes)])
        for each in range(classes):
            near = [literal(neighbour, each) for neighbour in neighbours]
            if not exact:
                formula.add(*set(near))
                continue
            for three in combinations(near, 3):
                formula.add(*{-one for one in three})
            for rest in combinations(near, len(near) - 1):
                formula.add(*set(rest))
    return formula, literal


def _orbits(
    nodes: int, classes: int, symmetry: Symmetry
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first node of each node's orbit, and by how many classes it is behind the node."""
    first, shift = np.full(nodes, -1), np.zeros(nodes, dtype=np.int64)
    for start in range(nodes):
        if first[start] >= 0:
            continue
        first[start], front = start, [start]
        for node in front:
            for images, step in symmetry:
                image = int(images[node])
                if first[image] < 0:
                    first[image], shift[image] = start, (shift[node] + step) % classes
                    front.append(image)
    return first, shift


def _violated(
    table: Table, chosen: list[int], classes: int, literal: Literal
) -> Iterator[list[int]]:
    """Yield clauses that exclude classes in pieces, and components that are trees."""
    for number in range(classes):
        members = [node for node, each in enumerate(chosen) if each == number]
        own = dict.fromkeys(range(classes), number)
        pieces = list(_components(members, partial(_follow, table, chosen, own)))
        for piece in pieces if len(pieces) > 1 else []:
            around = {each for node in piece for each in table[node]} - set(piece)
            kept = [-literal(node, number) for node in piece]
            yield list({*kept, *(literal(node, number) for node in around)})
    for a, b in combinations(range(classes), 2):
        members = [node for node, each in enumerate(chosen) if each in (a, b)]
        other = {a: b, b: a}
        for piece in _components(members, partial(_follow, table, chosen, other)):
            links = sum(len(_near(table, chosen, v, other[chosen[v]])) for v in piece) // 2
            if links < len(piece):
                yield _grow_clause(table, chosen, piece, other, literal)


def _follow(table: Table, chosen: list[int], following: dict[int, int], node: int) -> list[int]:
    """Return the neighbours of a node in the class that follows its own."""
    return _near(table, chosen, node, following[chosen[node]])


def _grow_clause(
    table: Table, chosen: list[int], piece: list[int], other: dict[int, int], literal: Literal
) -> list[int]:
    """Return the clause that a node of a tree changes its class, or that a node is added to it."""
    inside = set(piece)
    clause = {-literal(node, chosen[node]) for node in piece}
    for node in piece:
        clause |= {literal(each, other[chosen[node]]) for each in table[node] if each not in inside}
        # Nodes inside, of the same class, could also change theirs: the first part covers it.
    return list(clause)


def _near(table: Table, chosen: list[int], node: int, number: int) -> list[int]:
    return [each for each in table[node] if chosen[each] == number]


def _components(members: list[int], neighbours: Callable[[int], list[int]]) -> Iterator[list[int]]:
    unvisited = set(members)
    while unvisited:
        piece = [unvisited.pop()]
        for node in piece:
            for each in neighbours(node):
                if each in unvisited:
                    unvisited.remove(each)
                    piece.append(each)
        yield piece


def _trees(graph: Topology, chosen: NDArray[np.int64], classes: int) -> NDArray[np.uint8]:
    """Return the trees of a partition: each spans its class, and the other nodes are leaves.

    The leaves of a class are assigned to the links between the classes: in each component every
    node gets a link of its own, since a component with as many links as nodes can be oriented.
    """
    table = graph.table().T.tolist()
    labels = chosen.tolist()
    adjacent: list[list[set[int]]] = [[set() for _ in labels] for _ in range(classes)]
    for number in range(classes):
        members = [node for node, each in enumerate(labels) if each == number]
        _add_links(adjacent[number], _spanning_links(table, labels, members[0], number))
    for a, b in combinations(range(classes), 2):
        for node, neighbour in _oriented(table, labels, a, b).items():
            tree = adjacent[labels[neighbour]]
            _add_links(tree, [(node, neighbour)])
    return np.stack([_as_ports(graph, tree) for tree in adjacent])


def _add_links(tree: list[set[int]], links: list[tuple[int, int]]) -> None:
    for a, b in links:
        tree[a].add(b)
        tree[b].add(a)


def _spanning_links(
    table: Table, labels: list[int], start: int, number: int
) -> list[tuple[int, int]]:
    visited, front, links = {start}, [start], []
    for node in front:
        for each in _near(table, labels, node, number):
            if each not in visited:
                visited.add(each)
                front.append(each)
                links.append((node, each))
    return links


def _oriented(table: Table, labels: list[int], a: int, b: int) -> dict[int, int]:
    """Return a neighbour in the other class for each node, over links that are all distinct.

    In each component a closed walk is followed in one direction; the other nodes point to it.
    """
    other = {a: b, b: a}
    members = [node for node, each in enumerate(labels) if each in other]

    def near(node: int) -> list[int]:
        return _near(table, labels, node, other[labels[node]])

    target: dict[int, int] = {}
    for piece in _components(members, near):
        cycle = _find_cycle(piece, near)
        target |= dict(zip(cycle, [*cycle[1:], cycle[0]], strict=True))
        front = list(cycle)
        for node in front:
            for each in near(node):
                if each not in target:
                    target[each] = node
                    front.append(each)
    return target


def _find_cycle(piece: list[int], near: Callable[[int], list[int]]) -> list[int]:
    """Return a cycle of a component by removing leaves, then following links."""
    degree = {node: len(near(node)) for node in piece}
    leaves = [node for node in piece if degree[node] == 1]
    for node in leaves:
        degree[node] = 0
        for each in near(node):
            if degree[each]:
                degree[each] -= 1
                if degree[each] == 1:
                    leaves.append(each)
    path = [next(node for node in piece if degree[node])]
    place = {path[0]: 0}
    while True:
        before = path[-2] if len(path) > 1 else -1
        following = next(each for each in near(path[-1]) if degree[each] and each != before)
        if following in place:
            return path[place[following] :]
        place[following] = len(path)
        path.append(following)


def _as_ports(graph: Topology, tree: list[set[int]]) -> NDArray[np.uint8]:
    """Return the ports to the parents if the tree has rank 0 as its root."""
    parent = np.full(graph.nodes, -1)
    visited, front = {0}, [0]
    for node in front:
        for each in tree[node] - visited:
            visited.add(each)
            parent[each] = node
            front.append(each)
    ports = np.zeros(graph.nodes, dtype=np.uint8)
    for port in graph.ports:
        ports[graph.neighbours(port) == parent] = port
    return ports


def _literals(graph: Topology, target: int) -> int:
    return graph.nodes * target * graph.degree * (graph.degree + 3) * 8


class IndependentTrees(SearchProblem):
    """Most completely independent spanning trees."""

    name = "independent-trees"
    question = "most completely independent spanning trees"
    variables = "node v belongs to class i (Araki 2014: a tree for each class)"
    constraints = (
        "each node is in one class and has neighbours in all of them; classes are connected, and "
        "no component between two of them is a tree, by clauses that are added when they fail"
    )
    symmetry = (
        "none in the last method. The others admit only partitions that a group of translations "
        "maps to themselves, or with two neighbours of each node in each class; they find witnesses"
    )
    least_nodes = 3

    def bound(self) -> TheoryBound:
        needed, links = self.topology.nodes - 1, self.topology.links
        return TheoryBound(links // needed, f"each tree needs {needed} of the {links} links")

    def start(self, _budget: Budget) -> Witness:
        """Return a single tree by breadth-first search."""
        graph = self.topology
        links = _spanning_links(graph.table().T.tolist(), [0] * graph.nodes, 0, 0)
        tree: list[set[int]] = [set() for _ in range(graph.nodes)]
        _add_links(tree, links)
        return {"parent_port": _as_ports(graph, tree)[None, :]}

    def methods(self) -> Sequence[Method]:
        both = partial(_search, True, True, self.topology)
        symmetric = partial(_search, False, True, self.topology)
        return (
            Method("classes, two neighbours in each, by translations", both, 0.4),
            Method("classes by translations", symmetric, 0.4),
            Method("classes", partial(_search, False, False, self.topology)),
        )

    def literals(self, target: int) -> int:
        return _literals(self.topology, target)

    def statement(self, target: int) -> str:
        return f"no {target} completely independent spanning trees"
