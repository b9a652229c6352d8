"""Fragopoulou & Akl, edge-disjoint spanning trees, section 2 and the start of 3: operations on S_n, and SPT and SPG."""

from math import factorial

import numpy as np
from numpy.typing import NDArray

from starcast import checkers
from starcast.claims.check import ClaimCheck
from starcast.claims.reference import bfs
from starcast.claims.reference import star_labels as labels
from starcast.claims.reference import tree_rules as rules
from starcast.claims.reference.place_labels import links_by_port, node_labels
from starcast.claims.registry import check
from starcast.permutations import Perms, Ranks


@check("EDT.ex")
def _cycle_notation(check: ClaimCheck) -> None:
    node = [int(symbol) for symbol in check.topology.label(check.topology.rank("341526"))]
    following = {
        a: b
        for cycle in ((1, 3), (2, 4, 5))
        for a, b in zip(cycle, (*cycle[1:], cycle[0]), strict=True)
    }
    symbol = np.arange(1, check.topology.n + 1)
    check.equal(
        "symbol that follows", node, [following.get(s, s) for s in symbol.tolist()], symbol=symbol
    )


@check("EDT.S1")
def _substars(check: ClaimCheck) -> None:
    topology, n = check.topology, check.topology.n
    rows, across = labels.symbols(check.objects, topology), check.objects.neighbours(topology.spec)
    k = labels.positions(rows)[0]
    inner = np.array([np.count_nonzero(k == place) for place in range(1, n + 1)])
    check.equal("nodes of S^k", inner, factorial(n - 1), substar=np.arange(1, n + 1))
    nodes = np.flatnonzero(k == 1)
    check.equal(
        "nodes of S^1 next to one of S^1",
        (k[across[:, nodes]] == 1).sum(axis=0),
        0,
        node=node_labels(topology, nodes),
    )
    if n > 2 and (inner == factorial(n - 1)).all():
        _like_smaller(check, rows, k)


def _like_smaller(check: ClaimCheck, rows: Perms, k: NDArray[np.int64]) -> None:
    """Every S^k, k >= 2, is S_{n-1}: without its position k and symbol 1, a node keeps its neighbours in S^k."""
    topology, n = check.topology, check.topology.n
    smaller = check.objects.topology(f"S{n - 1}")
    across, below = check.objects.neighbours(topology.spec), check.objects.neighbours(smaller.spec)
    for place in range(2, n + 1):
        nodes = np.flatnonzero(k == place)
        short = np.clip(np.delete(rows, place - 1, axis=1) - 1, 1, n - 1)
        image = labels.ranks_of(check.objects, smaller, short[nodes])
        check.equal(
            "nodes of S_{n-1} that are met",
            np.sort(image),
            np.arange(smaller.nodes),
            node=nodes,
            substar=place,
        )
        for d in (d for d in range(2, n + 1) if d != place):
            there = across[d - 2, nodes]
            shorter = d - 1 if d > place else d
            found = np.where(
                k[there] == place, labels.ranks_of(check.objects, smaller, short[there]), -1
            )
            stated = below[shorter - 2, image]
            label = [topology.label(int(node)) for node in nodes]
            check.equal(
                "neighbour in S_{n-1}",
                found,
                stated,
                substar=place,
                node=np.array(label),
                dimension=d,
            )


@check("EDT.L1")
def _translation(check: ClaimCheck) -> None:
    topology = check.topology
    across, dims = check.objects.neighbours(topology.spec), np.array(topology.ports)[:, None]
    for h in range(topology.nodes) if topology.n <= 5 else bfs.roots(topology, 24):
        image = labels.translation(check.objects, topology, h)
        check.equal(
            "nodes that are met",
            np.sort(image),
            np.arange(topology.nodes),
            h=topology.label(h),
            node=topology.label,
        )
        found = _dimension(across, image, image[across])
        check.equal(
            "dimension of the translated link",
            found,
            dims,
            h=topology.label(h),
            link=links_by_port(check.objects, topology),
        )


def _dimension(across: Ranks, tail: Ranks, head: Ranks) -> NDArray[np.int64]:
    """The dimension of the link from each node ``[nodes]`` to others ``[ports, nodes]``; 0 where there is none."""
    found = np.zeros(head.shape, dtype=np.int64)
    for row, there in enumerate(across):
        found = np.where(there[tail] == head, row + 2, found)
    return found


@check("EDT.L2")
def _rotation(check: ClaimCheck) -> None:
    topology, n = check.topology, check.topology.n
    across, dims = check.objects.neighbours(topology.spec), np.array(topology.ports)
    turn, rows = labels.rotation(check.objects, topology), labels.symbols(check.objects, topology)
    check.equal("nodes that are met", np.sort(turn), np.arange(topology.nodes), node=topology.label)
    found = _dimension(across, turn, turn[across])
    check.equal(
        "dimension of the rotated link",
        found,
        labels.rotation_function(n)[dims][:, None],
        link=links_by_port(check.objects, topology),
    )
    kept = rows[turn, 0] == rows[:, 0]
    check.equal("whether the first symbol is kept", kept, rows[:, 0] == 1, node=topology.label)
    for root in bfs.roots(topology):
        before, after = (
            bfs.distances(check.objects, topology.spec, node) for node in (root, int(turn[root]))
        )
        check.equal(
            "distance after the rotation",
            after[turn],
            before,
            of_node=topology.label(root),
            node=topology.label,
        )
    check.equal(
        "different dimensions of a link and its rotations",
        _distinct(across, turn),
        n - 1,
        link=links_by_port(check.objects, topology),
    )


def _distinct(across: Ranks, turn: Ranks) -> NDArray[np.int64]:
    """How many dimensions each link has in n-2 rotations and as it is, ``[ports, nodes]``."""
    seen = np.zeros((len(across), *across.shape), dtype=bool)
    tail, head = np.arange(across.shape[1], dtype=np.int32), across
    for _ in range(len(across)):
        dimension = _dimension(across, tail, head)
        seen |= dimension == np.arange(2, len(across) + 2)[:, None, None]
        tail, head = turn[tail], turn[head]
    return np.asarray(seen.sum(axis=0))


@check("EDT.L3")
def _necklaces(check: ClaimCheck) -> None:
    topology, n = check.topology, check.topology.n
    turn, rows = labels.rotation(check.objects, topology), labels.symbols(check.objects, topology)
    size = _orbit_sizes(turn, n)
    outside = np.flatnonzero(rows[:, 0] != 1)
    check.equal(
        "nodes of a necklace outside S^1", size[outside], n - 1, node=node_labels(topology, outside)
    )
    check.equal(
        "n-1 modulo the nodes of a necklace", (n - 1) % np.maximum(size, 1), 0, node=topology.label
    )
    check.true("a necklace ends within n-1 rotations", size > 0, node=topology.label)
    distance = bfs.distances(check.objects, topology.spec)
    check.equal("distance along a necklace", distance[turn], distance, node=topology.label)
    for example in (("4123", "2413", "3421"), ("13254", "15432")):
        if len(example[0]) == n:
            ranks = np.array([topology.rank(label) for label in example])
            check.equal(
                "nodes of the example, rotated",
                turn[ranks],
                np.roll(ranks, -1),
                node=np.array(example),
            )
            check.equal(
                "nodes of the example's necklace", size[ranks], len(ranks), node=np.array(example)
            )


def _orbit_sizes(turn: Ranks, n: int) -> NDArray[np.int64]:
    """After how many rotations each node is itself again; 0 if not within n-1."""
    here = np.arange(len(turn), dtype=np.int32)
    size, at = np.zeros(len(turn), dtype=np.int64), here
    for count in range(1, n):
        at = turn[at]
        size = np.where((at == here) & (size == 0), count, size)
    return size


# SPT and SPG


@check("EDT.D6")
def _inverse_spt(check: ClaimCheck) -> None:
    rows, row = (
        labels.symbols(check.objects, check.topology),
        check.objects.forest(check.topology.spec, "shortest-path").parent_port[0],
    )
    check.equal(
        "dimension toward the parent in SPT",
        row,
        rules.parents_spt(rows),
        node=check.topology.label,
    )
    found = rules.is_child(check.objects, check.topology, row)
    check.equal(
        "whether it is a child in SPT",
        found,
        rules.children_spt(rows),
        link=links_by_port(check.objects, check.topology),
    )


@check("EDT.L4")
def _shortest(check: ClaimCheck) -> None:
    topology = check.topology
    tree = check.objects.forest(topology.spec, "shortest-path")
    check.passes(checkers.rooted(topology, tree.parent_port, tree.root), of=tree)
    across, k = (
        check.objects.neighbours(topology.spec),
        labels.positions(labels.symbols(check.objects, topology))[0],
    )
    parent = bfs.parents(check.objects, topology, tree.parent_port[0])
    hangs = rules.branches(parent, 0)
    stated = np.where(k > 1, across[np.maximum(k - 2, 0), 0], -1)
    nodes = np.arange(1, topology.nodes)
    check.equal(
        "neighbour of the root above",
        hangs[1:],
        stated[1:],
        node=node_labels(topology, nodes),
        of=tree,
    )
    level, distance = bfs.levels(parent, 0), bfs.distances(check.objects, topology.spec)
    outside = np.flatnonzero(k > 1)
    check.equal(
        "level in SPT",
        level[outside],
        distance[outside],
        node=node_labels(topology, outside),
        of=tree,
    )


@check("EDT.D7")
def _inverse_spg(check: ClaimCheck) -> None:
    topology, rows = check.topology, labels.symbols(check.objects, check.topology)
    trees = check.objects.forest(topology.spec, "shortest-path-graph")
    check.equal("subtrees of SPG", trees.trees, topology.n - 1, of=trees)
    k, dims = labels.positions(rows)[0], np.array(topology.ports)
    for own, row, children in zip(dims, trees.parent_port, rules.children_spg(rows), strict=False):
        stated = np.where(k == 1, own, np.where(k == own, rules.parents_spt(rows), 0))
        stated[0] = 0
        check.equal(
            "dimension toward the parent in SPG",
            row,
            stated,
            subtree=own,
            node=topology.label,
            of=trees,
        )
        found = rules.is_child(check.objects, topology, row)
        check.equal(
            "whether it is a child in SPG",
            found,
            children,
            subtree=own,
            link=links_by_port(check.objects, topology),
            of=trees,
        )


@check("EDT.L5")
def _parallel(check: ClaimCheck) -> None:
    topology = check.topology
    trees = check.objects.forest(topology.spec, "shortest-path-graph")
    check.equal("subtrees of SPG", trees.trees, topology.n - 1, of=trees)
    check.passes(checkers.rooted(topology, trees.parent_port, trees.root), of=trees)
    inner = np.flatnonzero(labels.symbols(check.objects, topology)[:, 0] == 1)[1:]
    member = (trees.parent_port[:, inner] != 0).sum(axis=0)
    check.equal(
        "subtrees that have the node",
        member,
        topology.n - 1,
        node=node_labels(topology, inner),
        of=trees,
    )
    check.passes(checkers.disjoint_paths(topology, trees.parent_port, trees.root), of=trees)
    level = bfs.depths(check.objects, topology, trees.parent_port)
    distance, across = (
        bfs.distances(check.objects, topology.spec),
        check.objects.neighbours(topology.spec),
    )
    least = (1 + distance[across[:, inner]]).sum(axis=0)
    check.equal(
        "total length of the paths",
        level[:, inner].sum(axis=0),
        least,
        node=node_labels(topology, inner),
        of=trees,
    )
