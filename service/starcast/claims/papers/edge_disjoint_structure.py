"""Fragopoulou & Akl, edge-disjoint spanning trees, section 2 and the start of 3: operations on S_n, and SPT and SPG."""

from math import factorial

import numpy as np
from numpy.typing import NDArray

from starcast import checkers
from starcast.claims.declaration import Family, only, stars
from starcast.claims.instruments import searching
from starcast.claims.instruments import star_labels as labels
from starcast.claims.instruments import star_rules as rules
from starcast.claims.instruments.naming import by_port, labelled
from starcast.claims.see import See
from starcast.permutations import Perms, Ranks

FAMILY = Family("edge_disjoint_structure")
claim = FAMILY.claim


@claim(
    "EDT.ex",
    "Definition 1, example",
    only("S6"),
    "In 341526 symbol s is followed by x_s, the symbol in position s: 1 -> 3 -> 1 and 2 -> 4 -> 5 -> 2, and 6 stays.",
)
def _cycle_notation(see: See) -> None:
    node = [int(symbol) for symbol in see.where.label(see.where.rank("341526"))]
    following = {
        a: b
        for cycle in ((1, 3), (2, 4, 5))
        for a, b in zip(cycle, (*cycle[1:], cycle[0]), strict=True)
    }
    symbol = np.arange(1, see.where.n + 1)
    see.equal(
        "symbol that follows", node, [following.get(s, s) for s in symbol.tolist()], symbol=symbol
    )


@claim(
    "EDT.S1",
    "Section 2",
    stars(6, 7, 8),
    "S^1 has (n-1)! nodes and no link; leaving out position k and symbol 1 takes S^k, k = 2..n, to S_{n-1}, links to links.",
)
def _substars(see: See) -> None:
    where, n = see.where, see.where.n
    rows, across = labels.symbols(see.lab, where), see.lab.neighbours(where.spec)
    k = labels.places(rows)[0]
    inner = np.array([np.count_nonzero(k == place) for place in range(1, n + 1)])
    see.equal("nodes of S^k", inner, factorial(n - 1), substar=np.arange(1, n + 1))
    nodes = np.flatnonzero(k == 1)
    see.equal(
        "nodes of S^1 next to one of S^1",
        (k[across[:, nodes]] == 1).sum(axis=0),
        0,
        node=labelled(where, nodes),
    )
    if n > 2 and (inner == factorial(n - 1)).all():
        _like_smaller(see, rows, k)


def _like_smaller(see: See, rows: Perms, k: NDArray[np.int64]) -> None:
    """Every S^k, k >= 2, is S_{n-1}: without its position k and symbol 1, a node keeps its neighbours in S^k."""
    where, n = see.where, see.where.n
    smaller = see.lab.topology(f"S{n - 1}")
    across, below = see.lab.neighbours(where.spec), see.lab.neighbours(smaller.spec)
    for place in range(2, n + 1):
        nodes = np.flatnonzero(k == place)
        short = np.clip(np.delete(rows, place - 1, axis=1) - 1, 1, n - 1)
        image = labels.ranked(see.lab, smaller, short[nodes])
        see.equal(
            "nodes of S_{n-1} that are met",
            np.sort(image),
            np.arange(smaller.nodes),
            node=nodes,
            substar=place,
        )
        for d in (d for d in range(2, n + 1) if d != place):
            there = across[d - 2, nodes]
            shorter = d - 1 if d > place else d
            found = np.where(k[there] == place, labels.ranked(see.lab, smaller, short[there]), -1)
            stated = below[shorter - 2, image]
            label = [where.label(int(node)) for node in nodes]
            see.equal(
                "neighbour in S_{n-1}",
                found,
                stated,
                substar=place,
                node=np.array(label),
                dimension=d,
            )


@claim(
    "EDT.L1",
    "Lemma 1",
    stars(6, 7, 7),
    "For every h (all at n <= 5, else drawn), link and dimension d: x - g_d(x) becomes T_h(x) - g_d(T_h(x)).",
)
def _translation(see: See) -> None:
    where = see.where
    across, dims = see.lab.neighbours(where.spec), np.array(where.ports)[:, None]
    for h in range(where.nodes) if where.n <= 5 else searching.roots(where, 24):
        image = labels.translation(see.lab, where, h)
        see.equal(
            "nodes that are met",
            np.sort(image),
            np.arange(where.nodes),
            h=where.label(h),
            node=where.label,
        )
        found = _dimension(across, image, image[across])
        see.equal(
            "dimension of the translated link",
            found,
            dims,
            h=where.label(h),
            link=by_port(see.lab, where),
        )


def _dimension(across: Ranks, tail: Ranks, head: Ranks) -> NDArray[np.int64]:
    """The dimension of the link from each node ``[nodes]`` to others ``[ports, nodes]``; 0 where there is none."""
    found = np.zeros(head.shape, dtype=np.int64)
    for row, there in enumerate(across):
        found = np.where(there[tail] == head, row + 2, found)
    return found


@claim(
    "EDT.L2",
    "Lemma 2",
    stars(6, 7, 8),
    "R takes links of dimension d to dimension r(d), keeps the first symbol of S^1 and of no other node, and distances; "
    "a link and its n-2 rotations have all dimensions 2..n.",
)
def _rotation(see: See) -> None:
    where, n = see.where, see.where.n
    across, dims = see.lab.neighbours(where.spec), np.array(where.ports)
    turn, rows = labels.rotation(see.lab, where), labels.symbols(see.lab, where)
    see.equal("nodes that are met", np.sort(turn), np.arange(where.nodes), node=where.label)
    found = _dimension(across, turn, turn[across])
    see.equal(
        "dimension of the rotated link",
        found,
        labels.r(n)[dims][:, None],
        link=by_port(see.lab, where),
    )
    kept = rows[turn, 0] == rows[:, 0]
    see.equal("whether the first symbol is kept", kept, rows[:, 0] == 1, node=where.label)
    for root in searching.roots(where):
        before, after = (
            searching.distances(see.lab, where.spec, node) for node in (root, int(turn[root]))
        )
        see.equal(
            "distance after the rotation",
            after[turn],
            before,
            of_node=where.label(root),
            node=where.label,
        )
    see.equal(
        "different dimensions of a link and its rotations",
        _distinct(across, turn),
        n - 1,
        link=by_port(see.lab, where),
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


@claim(
    "EDT.L3",
    "Lemma 3",
    stars(7, 8, 8),
    "The orbits of R have n-1 nodes outside S^1, in S^1 a divisor of n-1 (so n-1 at most), and one distance from I each; "
    "(4123, 2413, 3421) and (13254, 15432) are two of them.",
)
def _necklaces(see: See) -> None:
    where, n = see.where, see.where.n
    turn, rows = labels.rotation(see.lab, where), labels.symbols(see.lab, where)
    size = _orbit_sizes(turn, n)
    outside = np.flatnonzero(rows[:, 0] != 1)
    see.equal(
        "nodes of a necklace outside S^1", size[outside], n - 1, node=labelled(where, outside)
    )
    see.equal(
        "n-1 modulo the nodes of a necklace", (n - 1) % np.maximum(size, 1), 0, node=where.label
    )
    see.true("a necklace ends within n-1 rotations", size > 0, node=where.label)
    distance = searching.distances(see.lab, where.spec)
    see.equal("distance along a necklace", distance[turn], distance, node=where.label)
    for example in (("4123", "2413", "3421"), ("13254", "15432")):
        if len(example[0]) == n:
            ranks = np.array([where.rank(label) for label in example])
            see.equal(
                "nodes of the example, rotated",
                turn[ranks],
                np.roll(ranks, -1),
                node=np.array(example),
            )
            see.equal(
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


@claim(
    "EDT.D6",
    "Definition 6",
    stars(7, 8, 8),
    "g_d(x) is among children_SPT(x) exactly where parent_SPT(g_d(x)) = x, for all x in S^2, .., S^n and I.",
)
def _inverse_spt(see: See) -> None:
    rows, row = (
        labels.symbols(see.lab, see.where),
        see.lab.forest(see.where.spec, "shortest-path").parent_port[0],
    )
    see.equal(
        "dimension toward the parent in SPT", row, rules.toward_root(rows), node=see.where.label
    )
    found = rules.is_child(see.lab, see.where, row)
    see.equal(
        "whether it is a child in SPT",
        found,
        rules.children_spt(rows),
        link=by_port(see.lab, see.where),
    )


@claim(
    "EDT.L4",
    "Lemma 4",
    stars(7, 8, 8),
    "In SPT exactly the nodes of S^k hang over the root's link of dimension k, k = 2..n, each on the level of its distance.",
)
def _shortest(see: See) -> None:
    where = see.where
    tree = see.lab.forest(where.spec, "shortest-path")
    see.checked(checkers.rooted(where, tree.parent_port, tree.root), of=tree)
    across, k = see.lab.neighbours(where.spec), labels.places(labels.symbols(see.lab, where))[0]
    parent = searching.parents(see.lab, where, tree.parent_port[0])
    hangs = rules.branch(parent, 0)
    stated = np.where(k > 1, across[np.maximum(k - 2, 0), 0], -1)
    nodes = np.arange(1, where.nodes)
    see.equal(
        "neighbour of the root above", hangs[1:], stated[1:], node=labelled(where, nodes), of=tree
    )
    level, distance = searching.levels(parent, 0), searching.distances(see.lab, where.spec)
    outside = np.flatnonzero(k > 1)
    see.equal(
        "level in SPT", level[outside], distance[outside], node=labelled(where, outside), of=tree
    )


@claim(
    "EDT.D7",
    "Definition 7",
    stars(7, 8, 8),
    "g_d(x) is among children_SPG(x) of subtree l exactly where parent_SPG(g_d(x), l) = x, for all l, d, x.",
)
def _inverse_spg(see: See) -> None:
    where, rows = see.where, labels.symbols(see.lab, see.where)
    trees = see.lab.forest(where.spec, "shortest-path-graph")
    see.equal("subtrees of SPG", trees.trees, where.n - 1, of=trees)
    k, dims = labels.places(rows)[0], np.array(where.ports)
    for own, row, children in zip(dims, trees.parent_port, rules.children_spg(rows), strict=False):
        stated = np.where(k == 1, own, np.where(k == own, rules.toward_root(rows), 0))
        stated[0] = 0
        see.equal(
            "dimension toward the parent in SPG",
            row,
            stated,
            subtree=own,
            node=where.label,
            of=trees,
        )
        found = rules.is_child(see.lab, where, row)
        see.equal(
            "whether it is a child in SPG",
            found,
            children,
            subtree=own,
            link=by_port(see.lab, where),
            of=trees,
        )


@claim(
    "EDT.L5",
    "Lemma 5",
    stars(6, 7, 8),
    "Every x in S^1 but I is in each of the n-1 subtrees of SPG. Its n-1 paths share no inner node, and their lengths sum up "
    "to the sum over d of 1 + d(g_d(x)), which no n-1 node-disjoint paths beat: they leave x over all its links.",
)
def _parallel(see: See) -> None:
    where = see.where
    trees = see.lab.forest(where.spec, "shortest-path-graph")
    see.equal("subtrees of SPG", trees.trees, where.n - 1, of=trees)
    see.checked(checkers.rooted(where, trees.parent_port, trees.root), of=trees)
    inner = np.flatnonzero(labels.symbols(see.lab, where)[:, 0] == 1)[1:]
    member = (trees.parent_port[:, inner] != 0).sum(axis=0)
    see.equal(
        "subtrees that have the node", member, where.n - 1, node=labelled(where, inner), of=trees
    )
    see.checked(checkers.disjoint_paths(where, trees.parent_port, trees.root), of=trees)
    level = searching.depths(see.lab, where, trees.parent_port)
    distance, across = searching.distances(see.lab, where.spec), see.lab.neighbours(where.spec)
    least = (1 + distance[across[:, inner]]).sum(axis=0)
    see.equal(
        "total length of the paths",
        level[:, inner].sum(axis=0),
        least,
        node=labelled(where, inner),
        of=trees,
    )
