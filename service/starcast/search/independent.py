"""Most completely independent spanning trees.

By Araki (2014) k of them exist if and only if the nodes can be partitioned into k classes such
that each class induces a connected graph, and no component of the links between two classes is a
tree. The search finds the partition: a formula with local constraints, to which a clause is added
for every class that is not connected and for every component that is a tree.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.records import Witness
from starcast.search.engines import Budget, race, require
from starcast.search.formula import Formula, require_fit
from starcast.search.problem import (
    OPEN,
    Arguments,
    Decision,
    Method,
    PaperValue,
    SearchProblem,
    TheoryBound,
    too_small,
)
from starcast.topologies import Topology

#: ``literal(node, class)``.
Literal = Callable[[int, int], int]
Table = list[list[int]]


def _bound(graph: Topology, _arguments: Arguments) -> TheoryBound:
    most = graph.links // (graph.nodes - 1)
    return TheoryBound(most, f"each tree needs {graph.nodes - 1} of the {graph.links} links")


def _search(exact: bool, symmetric: bool) -> Callable[..., Decision]:
    def search(graph: Topology, _arguments: Arguments, target: int, budget: Budget) -> Decision:
        require("pysat")
        require_fit(_literals(graph, {}, target), budget.memory, f"trees on {graph.spec}")
        if exact and graph.degree != 2 * target:
            return OPEN
        images = _translations(graph, target) if symmetric else [None]
        for each in images:
            part = budget.part(1 / len(images))
            subject = f"{target} completely independent trees on {graph.spec}"
            work = (graph.table().T.tolist(), target, exact, each)
            classes = race(partition, work, part, subject)
            if classes is not None and len(classes):
                return Decision("witness", {"parent_port": _trees(graph, classes, target)})
        return OPEN

    return search


def _translations(graph: Topology, classes: int) -> list[NDArray[np.int64]]:
    """Return translations whose order is a multiple of the number of classes, highest first.

    All cycles of a translation have the same length, its order.
    """
    by_order: dict[int, NDArray[np.int64]] = {}
    for node in range(1, graph.nodes):
        images = graph.translation(node).astype(np.int64) if graph.nodes <= 10_000 else None
        if images is None:
            break
        order, image = 1, int(images[0])
        while image:
            order, image = order + 1, int(images[image])
        if order % classes == 0 and order not in by_order:
            by_order[order] = images
    return [by_order[order] for order in sorted(by_order, reverse=True)]


def partition(work: tuple[Table, int, bool, Any], seed: int) -> NDArray[np.int64]:
    """Return the class of each node, or no classes if there are none.

    Args:
        work: the neighbours, the number of classes, whether every node must have two neighbours in
            each class, and a translation that maps each class to the next one, or None.
        seed: random seed.
    """
    from pysat.solvers import Solver  # noqa: PLC0415 - an optional library

    table, classes, exact, images = work
    formula, literal = _local_formula(table, classes, exact=exact, images=images)
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
    table: Table, classes: int, *, exact: bool, images: NDArray[np.int64] | None
) -> tuple[Formula, Literal]:
    formula = Formula()
    nodes = len(table)
    first, shift = np.arange(nodes), np.zeros(nodes, dtype=np.int64)
    if images is not None:
        for node in range(nodes):
            image = int(images[node])
            while image != node and first[node] == node and first[image] == image:
                steps = _steps(images, node, image)
                first[image], shift[image] = node, steps % classes
                image = int(images[image])
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


def _steps(images: NDArray[np.int64], node: int, image: int) -> int:
    steps = 0
    while node != image:
        node, steps = int(images[node]), steps + 1
    return steps


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


def _start(graph: Topology, _arguments: Arguments, _budget: Budget) -> Witness:
    """Return a single tree by breadth-first search."""
    links = _spanning_links(graph.table().T.tolist(), [0] * graph.nodes, 0, 0)
    tree: list[set[int]] = [set() for _ in range(graph.nodes)]
    _add_links(tree, links)
    return {"parent_port": _as_ports(graph, tree)[None, :]}


def _papers(_graph: Topology, _arguments: Arguments) -> PaperValue | None:
    return None


def _literals(graph: Topology, _arguments: Arguments, target: int) -> int:
    return graph.nodes * target * graph.degree * (graph.degree + 3) * 8


PROBLEM = SearchProblem(
    name="independent-trees",
    question="most completely independent spanning trees",
    variables="node v belongs to class i (Araki 2014: a tree for each class)",
    constraints=(
        "each node is in one class and has neighbours in all of them; classes are connected, and "
        "no component between two of them is a tree, by clauses that are added when they fail"
    ),
    symmetry=(
        "none in the last method. The others admit only partitions that a translation maps to each "
        "other, or with two neighbours of each node in each class; they find witnesses"
    ),
    bound=_bound,
    papers=_papers,
    start=_start,
    methods=(
        Method("classes, two neighbours in each, by a translation", _search(True, True), 0.4),
        Method("classes by a translation", _search(False, True), 0.4),
        Method("classes", _search(False, False)),
    ),
    literals=_literals,
    statement=lambda _arguments, target: f"no {target} completely independent spanning trees",
    unsupported=too_small(3),
)
