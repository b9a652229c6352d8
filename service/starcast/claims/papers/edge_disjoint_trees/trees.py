"""Fragopoulou & Akl, edge-disjoint spanning trees, section 3: the trees EDT, their depth, order and translations."""

import numpy as np
from numpy.typing import NDArray

from starcast import checkers
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.reference import bfs, low_depth_trees
from starcast.claims.reference import star_labels as labels
from starcast.claims.reference import tree_rules as rules
from starcast.claims.reference.place_labels import links_by_port, outgoing_links
from starcast.claims.registry import check
from starcast.permutations import Ranks
from starcast.topologies import Topology
from starcast.trees.model import Forest


def _edt(check: ClaimCheck, root: int = 0) -> Forest:
    """The trees EDT, which are n-1."""
    trees = check.objects.forest(check.topology.spec, "edge-disjoint", root=root)
    check.equal("subtrees of EDT", trees.trees, check.topology.n - 1, of=trees)
    return trees


# Definition 8


@check("EDT.D8.consistent")
def _consistent(check: ClaimCheck) -> None:
    rows, trees = labels.symbols(check.objects, check.topology), _edt(check)
    stated, children = rules.parents_edt(rows), rules.children_edt(rows)
    for own, row, parent, child in zip(
        check.topology.ports, trees.parent_port, stated, children, strict=False
    ):
        check.equal(
            "dimension toward the parent",
            row,
            parent,
            subtree=own,
            node=check.topology.label,
            of=trees,
        )
        found = rules.is_child(check.objects, check.topology, row)
        check.equal(
            "whether it is a child",
            found,
            child,
            subtree=own,
            link=links_by_port(check.objects, check.topology),
            of=trees,
        )


_EXAMPLES = (
    ("3124", 3, "1324"),
    ("3124", 4, "4123"),
    ("2143", 4, "1243"),
    ("2143", 3, "3142"),
    ("4123", 4, "1423"),
    ("4123", 3, "2143"),
)


@check("EDT.D8.examples")
def _examples(check: ClaimCheck) -> None:
    trees = _edt(check)
    topology, across = check.topology, check.objects.neighbours(check.topology.spec)
    for node, subtree, parent in _EXAMPLES:
        port = int(trees.parent_port[min(subtree - 2, trees.trees - 1), topology.rank(node)])
        found = int(across[port - 2, topology.rank(node)]) if port in topology.ports else -1
        check.equal(
            "rank of the parent",
            found,
            topology.rank(parent),
            node=node,
            subtree=subtree,
            parent=parent,
            of=trees,
        )


@check("EDT.D8.spanning")
def _spanning(check: ClaimCheck) -> None:
    topology, trees = check.topology, _edt(check)
    check.passes(checkers.spanning(topology, trees.parent_port, trees.root), of=trees)
    if (
        checkers.rooted(topology, trees.parent_port, trees.root).holds
        and trees.trees == topology.n - 1
    ):
        sizes = checkers.branch_sizes(topology, trees.parent_port, trees.root)
        stated = (topology.nodes - 1) * np.eye(topology.n - 1, dtype=int)
        check.equal(
            "nodes over each link of I",
            sizes,
            stated,
            subtree=lambda row, _: row + 2,
            dimension=lambda _, d: d + 2,
            of=trees,
        )


# Lemma 6


@check("EDT.L6.1")
def _disjoint(check: ClaimCheck) -> None:
    trees = _edt(check)
    check.passes(checkers.rooted(check.topology, trees.parent_port, trees.root), of=trees)
    if checkers.rooted(check.topology, trees.parent_port, trees.root).holds:
        check.passes(
            checkers.edge_disjoint(check.topology, trees.parent_port, trees.root), of=trees
        )


@check("EDT.L6.2")
def _rotations(check: ClaimCheck) -> None:
    topology, trees = check.topology, _edt(check)
    turn = labels.rotation(check.objects, topology)
    for tree, row in enumerate(trees.parent_port):
        further = trees.parent_port[(tree + 1) % trees.trees]
        stated = labels.rotation_function(topology.n)[row]
        check.equal(
            "dimension toward the parent of R(x)",
            further[turn],
            stated,
            subtree=tree + 2,
            x=topology.label,
            of=trees,
        )


@check("EDT.L6.3")
def _parallel(check: ClaimCheck) -> None:
    topology, trees = check.topology, _edt(check)
    check.passes(checkers.spanning(topology, trees.parent_port, trees.root), of=trees)
    if checkers.spanning(topology, trees.parent_port, trees.root).holds:
        check.passes(checkers.disjoint_paths(topology, trees.parent_port, trees.root), of=trees)
        more = bfs.depths(check.objects, topology, trees.parent_port) - bfs.distances(
            check.objects, topology.spec
        )
        check.at_most(
            "links more than the distance",
            more,
            4,
            subtree=lambda row, _: row + 2,
            node=_second(topology),
            of=trees,
        )


def _second(topology: Topology) -> object:
    return lambda _, node: topology.label(node)


@check("EDT.L6.4")
def _depth(check: ClaimCheck) -> None:
    topology, trees = check.topology, _edt(check)
    spans = checkers.spanning(topology, trees.parent_port, trees.root)
    check.passes(spans, of=trees)
    if spans.holds:
        height = checkers.height(
            topology, trees.parent_port, trees.root, bound=diameter(topology.n) + 4
        )
        check.passes(height, "<=", of=trees)


@check("EDT.depth")
def _optimal_depth(check: ClaimCheck) -> None:
    topology, trees = check.topology, _edt(check)
    height = int(
        np.max(
            checkers.height(topology, trees.parent_port, trees.root, bound=topology.nodes).measured
        )
    )
    bound = low_depth_trees.least_depth(check.objects, topology)
    found = low_depth_trees.rotated_trees(check.objects, topology, height - 1)
    depth = _judged(topology, found)
    if depth is None:
        check.at_least("depth of any such trees, by the nodes' levels", bound, height, of=trees)
    else:
        what, told = "depth of trees that are rotations of one another", "".join(map(str, found[0]))
        check.at_least(what, depth, height, subtree=2, dimensions_to_parents_by_rank=told, of=trees)
    instead = check.correction(
        "no such trees are less deep than D_n + 2. EDT has it on S_3 and S_5, and 1 more on S_4, where others have it"
    )
    instead.equal("least depth by the nodes' levels", bound, diameter(topology.n) + 2)
    instead.equal(
        "depth of the best trees", height if depth is None else depth, diameter(topology.n) + 2
    )
    instead.equal("depth of EDT", height, diameter(topology.n) + (2 if topology.n % 2 else 3))


def _judged(topology: Topology, rows: NDArray[np.uint8]) -> int | None:
    """How deep such trees are by the checkers; None where they are not what they should be."""
    if len(rows) != topology.degree or not checkers.spanning(topology, rows, 0).holds:
        return None
    own = checkers.branch_sizes(topology, rows, 0) == (topology.nodes - 1) * np.eye(
        topology.degree, dtype=int
    )
    if not own.all() or not checkers.edge_disjoint(topology, rows, 0).holds:
        return None
    return int(np.max(checkers.height(topology, rows, 0, bound=topology.nodes).measured))


@check("EDT.twice")
def _twice(check: ClaimCheck) -> None:
    topology, trees = check.topology, _edt(check)
    across = check.objects.neighbours(topology.spec)
    links = outgoing_links(check.objects, topology)
    load = checkers.loads(topology, trees.parent_port, trees.root)
    check.equal("trees that have the directed link", load, 1, link=links, of=trees)
    instead = check.correction(
        "every directed link is in exactly one tree, but the n-1 links into I, which are in none"
    )
    instead.equal(
        "trees that have the directed link", load, np.where(across.T == 0, 0, 1), link=links
    )
    instead.equal("directed links of EDT", load.sum(), (topology.n - 1) * (topology.nodes - 1))


# Other roots, and the order of children


@check("EDT.root")
def _any_root(check: ClaimCheck) -> None:
    topology, trees = check.topology, _edt(check)
    for root in bfs.roots(topology):
        there = _edt(check, root)
        image = labels.translation(check.objects, topology, root)
        check.passes(checkers.spanning(topology, there.parent_port, root), of=there)
        if not checkers.spanning(topology, there.parent_port, root).holds:
            return
        check.passes(checkers.edge_disjoint(topology, there.parent_port, root), of=there)
        for own, row, moved in zip(
            topology.ports, trees.parent_port, there.parent_port, strict=False
        ):
            place = {"h": topology.label(root), "subtree": own, "of": there}
            check.equal(
                "dimension toward the parent of T_h(x)",
                moved[image],
                row,
                x=topology.label,
                **place,
            )
            child, other = (
                rules.is_child(check.objects, topology, ports) for ports in (moved, row)
            )
            check.equal(
                "whether T_h(x) has a child there",
                child[:, image],
                other,
                x=_second(topology),
                **place,
            )


@check("EDT.order")
def _order(check: ClaimCheck) -> None:
    topology, trees = check.topology, _edt(check)
    spans = checkers.spanning(topology, trees.parent_port, trees.root)
    check.passes(spans, of=trees)
    if not spans.holds or trees.trees != topology.n - 1:
        return
    turn = labels.rotation(check.objects, topology)
    walks = np.stack(
        [
            _traversal(check, row, own)
            for own, row in zip(topology.ports, trees.parent_port, strict=True)
        ]
    )
    hop = np.arange(1, topology.nodes)
    for tree, walk in enumerate(walks):
        further = walks[(tree + 1) % len(walks)]
        check.equal(
            "node that link h leads to, rotated",
            further,
            turn[walk],
            subtree=tree + 2,
            h=hop,
            of=trees,
        )
    dims = np.sort([row[walk] for row, walk in zip(trees.parent_port, walks, strict=True)], axis=0)
    check.equal(
        "dimensions of links h, sorted",
        dims.T,
        np.arange(2, topology.n + 1),
        h=lambda h, _: h + 1,
        of=trees,
    )


def _traversal(check: ClaimCheck, row: NDArray[np.uint8], own: int) -> Ranks:
    """The nodes of a tree but the root, in the order of its depth-first traversal in the order phi_own."""
    across, child = (
        check.objects.neighbours(check.topology.spec),
        rules.is_child(check.objects, check.topology, row),
    )
    phi = [(own - 2 + turn) % check.topology.degree for turn in range(check.topology.degree)]
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += [int(across[port, node]) for port in reversed(phi) if child[port, node]]
    return np.array(order[1:], dtype=np.int32)


@check("EDT.L7")
def _no_conflict(check: ClaimCheck) -> None:
    topology = check.topology
    images = labels.translations(check.objects, topology)
    made = check.objects.schedule(
        topology.spec, "allgather", "edge-disjoint", messages=1, copies=topology.n - 1
    )
    rng = np.random.default_rng(topology.n)
    sets = [
        (rng.integers(topology.nodes, size=topology.degree), np.arange(topology.degree))
        for _ in range(10)
    ]
    steps = rng.permutation(np.arange(1, made.steps + 1))[:20]
    of_steps = [
        (made.sender[made.step == step], made.port[made.step == step].astype(np.int64) - 2)
        for step in steps
    ]
    check.equal(
        "different dimensions",
        [len(set(ports.tolist())) for _, ports in of_steps],
        topology.n - 1,
        step=steps,
        of=made,
    )
    across = check.objects.neighbours(topology.spec)
    named = outgoing_links(check.objects, topology)
    for nodes, ports in (*sets, *of_steps):
        first = named(int(nodes[0]), int(ports[0]))
        # Where a link really leads after the translation decides its dimension.
        tail, head = (
            np.clip(images[:, ends], 0, topology.nodes - 1)
            for ends in (nodes, across[ports, nodes])
        )
        used = np.unique(tail.astype(np.int64) * topology.nodes + head)
        check.equal("directed links used", len(used), topology.nodes * len(ports), first_link=first)
        check.equal(
            "links of another dimension",
            np.count_nonzero(across[ports, tail] != head),
            0,
            first_link=first,
        )
