"""Li, Chen, Xiang & Yao, sections 2 and 3: the (n,k)-star, distances by cycles, the tree SP and its leaves."""

import numpy as np
from numpy.typing import NDArray

from starcast import checkers, permutations
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import arrangements, nk_diameter
from starcast.claims.reference import bfs
from starcast.claims.reference.nk_labels import cycles, size, symbols, turned
from starcast.claims.reference.place_labels import node_labels, outgoing_links
from starcast.claims.registry import check
from starcast.permutations import Ranks
from starcast.topologies import Topology


def tree(check: ClaimCheck, root: int = 0) -> tuple[Ranks, Ranks]:
    """The parents and levels of SP(root)."""
    topology = check.topology
    parents = bfs.parents(
        check.objects,
        topology,
        check.objects.forest(topology.spec, "nk-greedy", root=root).parent_port[0],
    )
    parents[root] = -1
    return parents, bfs.levels(parents, root)


def leaves(parents: Ranks) -> NDArray[np.intp]:
    """The nodes that are nobody's parent, in rank order."""
    inner = np.zeros(len(parents), dtype=bool)
    inner[parents[parents >= 0]] = True
    return np.flatnonzero(~inner)


def _each_pair(topology: Topology) -> int:
    """Bytes a node of what is kept of all pairs of nodes."""
    return 40 * topology.nodes


@check("NK.size")
def _size(check: ClaimCheck) -> None:
    n, k, topology = check.topology.n, size(check.topology), check.topology
    ordered = np.sort(check.objects.neighbours(topology.spec), axis=0)
    distinct = np.count_nonzero(np.diff(ordered, axis=0, prepend=-1) != 0, axis=0)
    check.equal("neighbours of each node", distinct, n - 1, node=topology.label)
    for root in bfs.roots(topology):
        label = topology.label(root)
        far = bfs.distances(check.objects, topology.spec, root)
        check.equal(
            "nodes that are reached", np.count_nonzero(far >= 0), arrangements(n, k), source=label
        )
        check.equal("greatest distance", far.max(), nk_diameter(n, k), source=label)


@check("NK.E1")
def _internal_cycles(check: ClaimCheck) -> None:
    topology, rows = check.topology, symbols(check.objects, check.topology)
    far, of = bfs.distances(check.objects, topology.spec), cycles(rows)
    home = np.arange(1, size(topology) + 1, dtype=np.uint8)
    node, first = np.nonzero(of.moved & (of.first == home - 1))
    corrected = permutations.arrangement_rank(
        np.where(of.first[node] == first[:, None], home, rows[node]), topology.n
    )
    m = of.length[node, first]
    stated = np.where(first == 0, m - 1, m + 1)
    check.equal("steps", far[node] - far[corrected], stated, node=topology.labels(node), symbols=m)
    inside = np.flatnonzero(of.beta == 0)
    check.equal(
        "steps of all internal cycles",
        far[inside],
        of.internal_steps[inside],
        node=topology.labels(inside),
    )


@check("NK.E2")
def _external_cycles(check: ClaimCheck) -> None:
    topology, of = check.topology, cycles(symbols(check.objects, check.topology))
    far = bfs.distances(check.objects, topology.spec)
    alone = np.flatnonzero((of.beta > 0) & ~of.moved.any(axis=1))
    check.equal("steps", far[alone], of.external_steps[alone], node=topology.labels(alone))
    check.equal("distance from Id", far, of.internal_steps + of.external_steps, node=topology.label)


@check("NK.T1")
def _greedy(check: ClaimCheck) -> None:
    topology, stated = check.topology, nk_diameter(check.topology.n, size(check.topology))
    for root in bfs.roots(topology):
        trees = check.objects.forest(topology.spec, "nk-greedy", root=root)
        check.passes(checkers.spanning(topology, trees.parent_port, root), of=trees)
        parents, levels = tree(check, root)
        far = bfs.distances(check.objects, topology.spec, root)
        child = np.flatnonzero(far > 0)
        check.equal(
            "distance of the parent",
            far[parents[child]],
            far[child] - 1,
            node=topology.labels(child),
            of=trees,
        )
        check.equal("height", levels.max(), stated, root=topology.label(root), of=trees)


@check("NK.C1.worded", bytes_per_node=_each_pair)
def _adjacent_if(check: ClaimCheck) -> None:
    topology, levels = check.topology, tree(check)[1].astype(np.int64)
    across = check.objects.neighbours(topology.spec)
    adjacent = np.zeros((topology.nodes, topology.nodes), dtype=bool)
    adjacent[np.arange(topology.nodes), across] = True
    node, other = np.nonzero(np.triu(np.abs(levels[:, None] - levels) <= 1, 1))
    check.true(
        "two nodes on the same level or on consecutive levels are adjacent",
        adjacent[node, other],
        of=check.objects.forest(topology.spec, "nk-greedy"),
        node=node_labels(topology, node),
        other=node_labels(topology, other),
    )
    true = check.correction("adjacent nodes are on the same level or on consecutive levels")
    true.at_most("difference of the levels", np.abs(levels[across] - levels).T, 1)


@check("NK.C1.converse")
def _same_or_next_level(check: ClaimCheck) -> None:
    topology = check.topology
    across = check.objects.neighbours(topology.spec)
    for root in bfs.roots(topology, 3):
        levels = tree(check, root)[1]
        check.true(
            "the levels are the same or consecutive",
            (np.abs(levels[across] - levels) <= 1).T & (levels >= 0)[:, None],
            link=outgoing_links(check.objects, topology),
            root=topology.label(root),
        )


@check("NK.C2.balance")
def _balance(check: ClaimCheck) -> None:
    n, k, topology = check.topology.n, size(check.topology), check.topology
    parents, levels = tree(check)
    leaf = leaves(parents)
    depth = levels[leaf].astype(np.int64)
    # For each depth, the first leaf that differs from it by more than 1; else the first that differs most.
    other = np.zeros(len(leaf), dtype=np.intp)
    for value in np.unique(depth):
        apart = np.abs(depth - value)
        other[depth == value] = np.argmax(apart > 1) if (apart > 1).any() else np.argmax(apart)
    check.at_most(
        "difference of the levels",
        np.abs(depth - depth[other]),
        1,
        node=topology.labels(leaf),
        other=topology.labels(leaf[other]),
        of=check.objects.forest(topology.spec, "nk-greedy"),
    )
    true = check.correction(
        "the highest leaf is on level k, for k = 2 and n >= 4 on level 3, and the deepest on level D"
    )
    true.equal("level of the highest leaf", depth.min(), 3 if k == 2 and n >= 4 else k)
    true.equal("level of the deepest leaf", depth.max(), nk_diameter(n, k))


@check("NK.C2.s42")
def _balance_of_s42(check: ClaimCheck) -> None:
    parents, levels = tree(check)
    leaf = leaves(parents)
    check.equal("level", levels[leaf], levels[leaf[0]], node=check.topology.labels(leaf))


@check("NK.C2.farthest")
def _farthest(check: ClaimCheck) -> None:
    n, k, topology = check.topology.n, size(check.topology), check.topology
    rows = symbols(check.objects, topology)
    of, first = cycles(rows), rows[:, 0] == 1
    fixed = first & (np.count_nonzero(of.length == 1, axis=1) == 1)  # position 1 alone is as in Id
    none = np.count_nonzero(of.length == 1, axis=1) == 0
    beta, single, threes = of.beta, of.chained == of.beta, of.internal_of(3)
    twos = 2 * of.internal_of(2) + 3 * threes + of.chained + first == k
    if k <= n // 2:
        stated = (first & (beta == k - 1)) | (beta == k)
    else:
        stated = (
            single & (beta == n - k) & twos & (threes == 0) & (fixed if n % 2 else none & ~first)
        )
        if n % 2 == 0:
            stated |= single & (beta == n - k) & twos & (threes == 1) & fixed
    far = bfs.distances(check.objects, topology.spec)
    check.equal(
        "distance by (1) and (2), as the proof has it",
        of.internal_steps + of.external_steps,
        far,
        node=topology.label,
    )
    at = np.flatnonzero(far == nk_diameter(n, k))
    check.true("it has one of the forms", stated[at], node=topology.labels(at))
    if n % 2 == 0 and k > n // 2:
        longer = fixed & (beta == n - k) & (of.chained == beta + 1) & twos & (threes == 0)
        fewer = fixed & single & (beta == n - k - 1) & (beta > 0) & twos & (threes == 0)
        stated |= longer | fewer
    true = check.correction(
        "for n even and k > n/2 there are two more forms, both with p_1 = 1 and internal cycles of length 2: n-k external "
        "chains, one of length 2 and the others of length 1, or n-k-1 >= 1 external chains of length 1; then exactly these "
        "nodes but Id are at distance D"
    )
    true.equal("distance D", far == nk_diameter(n, k), stated & (far > 0), node=topology.label)


@check("NK.S51-EC")
def _dimension_change(check: ClaimCheck) -> None:
    n, k, topology = check.topology.n, size(check.topology), check.topology
    other = check.reading("the same with the brackets sorted at every node")
    for i in range(n - 1):
        shifted = np.array([0, 0, *((np.arange(2, n + 1) - 2 + i) % (n - 1) + 2)])
        check.equal(
            "times that the node is reached", _images(check, shifted), 1, i=i, node=topology.label
        )
        other.equal(
            "times that the node is reached",
            _images(check, shifted, in_order=True),
            1,
            i=i,
            node=topology.label,
        )
    true = check.correction(
        "for k = 1 and k = n-1 it does; for all others the cyclic shifts of positions 2..k alone, without the brackets, take "
        "it to spanning trees"
    )
    last = n if k in (1, n - 1) else k
    for i in range(last - 1):
        shifted = np.arange(n + 1)
        shifted[2 : last + 1] = (np.arange(last - 1) + i) % (last - 1) + 2
        if 1 < k < n - 1:
            reached = np.bincount(
                turned(topology, symbols(check.objects, topology), last, i),
                minlength=topology.nodes,
            )
            true.equal(
                "times that the node is reached as an image", reached, 1, i=i, node=topology.label
            )
        true.equal(
            "times that the node is reached", _images(check, shifted), 1, i=i, node=topology.label
        )


def _images(
    check: ClaimCheck, dimension: NDArray[np.int64], *, in_order: bool = False
) -> NDArray[np.int64]:
    """How often each node is reached by the paths of SP from Id with other dimensions; labels are written with brackets."""
    n, k, topology = check.topology.n, size(check.topology), check.topology
    parents, levels = tree(check)
    rows = symbols(check.objects, topology)
    label = np.tile(np.arange(1, n + 1, dtype=np.uint8), (topology.nodes, 1))
    image = label.copy()
    for level in range(1, int(levels.max()) + 1):
        node = np.flatnonzero(levels == level)
        above = label[parents[node]]
        crossed = np.argmax(
            above == rows[node, :1], axis=1
        )  # where the symbol stood that now comes first
        label[node] = _crossed(above, crossed, k, in_order=in_order)
        image[node] = _crossed(
            image[parents[node]], dimension[crossed + 1] - 1, k, in_order=in_order
        )
    ranks = permutations.arrangement_rank(image[levels >= 0, :k], n)
    return np.bincount(ranks, minlength=topology.nodes)


def _crossed(
    label: NDArray[np.uint8], place: NDArray[np.intp], k: int, *, in_order: bool
) -> NDArray[np.uint8]:
    """Labels with the first symbol and that of a place exchanged, places counted from 0."""
    out, row = label.copy(), np.arange(len(label))
    out[row, 0], out[row, place] = label[row, place], label[row, 0]
    if in_order:
        out[:, k:] = np.sort(out[:, k:], axis=1)
    return out


@check("NK.T4.links")
def _links(check: ClaimCheck) -> None:
    n, k, topology = check.topology.n, size(check.topology), check.topology
    across = check.objects.neighbours(topology.spec).astype(np.int64)
    ends = np.arange(topology.nodes) * np.ones_like(across)
    directed = len(np.unique(ends * topology.nodes + across))
    undirected = len(
        np.unique(np.minimum(ends, across) * topology.nodes + np.maximum(ends, across))
    )
    nodes = arrangements(n, k)
    check.equal("directed links", directed, (n - 1) * (nodes - 1))
    check.reading("undirected links").equal("links", undirected, (n - 1) * (nodes - 1))
    true = check.correction("there are N(n-1) directed links, N(n-1)/2 undirected ones")
    true.equal("directed links", directed, nodes * (n - 1))
    true.equal("undirected links, twice", 2 * undirected, nodes * (n - 1))
