"""Tseng & Sheu 1997, sections 2 to 4: the star graph, the trees L(r) and L-hat, their paths, heights and congestion."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast import checkers
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.growth import factorial
from starcast.claims.papers.common import check_star_size
from starcast.claims.reference import bfs, cyclic_shifts, star_labels
from starcast.claims.reference.place_labels import outgoing_links
from starcast.claims.registry import check


@check("TS.size", bytes_per_node=lambda topology: 24 * topology.degree * topology.n)
def _size(check: ClaimCheck) -> None:
    check_star_size(check)
    topology, across = check.topology, check.objects.neighbours(check.topology.spec)
    maps = _automorphisms(check)
    ports = np.array(topology.ports)
    for image, turned in maps:
        columns = np.searchsorted(ports, turned)
        check.equal(
            "links go to links",
            across[columns][:, image],
            image[across],
            node=lambda _, v: topology.label(v),
        )
    nodes = np.stack([image for image, _ in maps])
    reached = bfs.search(nodes, 0) >= 0
    check.equal(
        "nodes to which automorphisms take the identity",
        np.count_nonzero(reached),
        factorial(topology.n),
    )
    links = [
        image * topology.degree + np.searchsorted(ports, turned)[:, None] for image, turned in maps
    ]
    moved = np.stack([several.T.ravel() for several in links])
    reached = bfs.search(moved, 0) >= 0
    directed = factorial(topology.n) * (topology.n - 1)
    check.equal(
        "directed links to which they take the first link of the identity",
        np.count_nonzero(reached),
        directed,
    )


def _automorphisms(check: ClaimCheck) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Translations by the neighbours of the identity, and R: the image of each node, and of each dimension.

    They generate all others: what they take the identity to is found by search.
    """
    objects, topology = check.objects, check.topology
    dimensions = np.array(topology.ports)
    by = objects.neighbours(topology.spec)[:, 0].tolist()
    made = [(star_labels.translation(objects, topology, node), dimensions) for node in by]
    return [
        *made,
        (
            star_labels.rotation(objects, topology),
            star_labels.rotation_function(topology.n)[dimensions],
        ),
    ]


@check("TS.L3")
def _greedy(check: ClaimCheck) -> None:
    topology = check.topology
    for root in bfs.roots(topology):
        tree = check.objects.forest(topology.spec, "greedy", root=root)
        at = topology.label(root)
        check.equal(
            f"ports of L({at})",
            tree.parent_port,
            cyclic_shifts.alpha(check.objects, topology, root),
            node=lambda _, v: topology.label(v),
            of=tree,
        )
        check.passes(checkers.spanning(topology, tree.parent_port, root), of=tree)
        distances = bfs.distances(check.objects, topology.spec, root)
        nodes = np.flatnonzero(np.arange(topology.nodes) != root)
        parents = bfs.parents(check.objects, topology, tree.parent_port[0])[nodes]
        found = np.where(parents < 0, topology.nodes, distances[parents])
        check.equal(
            "distance of the next node",
            found,
            distances[nodes] - 1,
            node=lambda v, of=nodes: topology.label(int(of[v])),
            of=tree,
        )


@check("TS.L4")
def _congestion_to_roots(check: ClaimCheck) -> None:
    topology = check.topology
    for root in bfs.roots(topology):
        loads = cyclic_shifts.loads_to(check.objects, topology, root)
        check.equal(
            "links of all trees",
            loads.sum(),
            (topology.n - 1) * (factorial(topology.n) - 1),
            node=topology.label(root),
        )
        check.at_most(
            f"trees on a link, r = {topology.label(root)}",
            loads,
            2,
            link=outgoing_links(check.objects, topology),
        )


@check("TS.D2")
def _reversed(check: ClaimCheck) -> None:
    topology, objects = check.topology, check.objects
    for root in bfs.roots(topology, 3):
        trees = objects.forest(topology.spec, "multiple", root=root)
        check.equal("number of trees", trees.trees, topology.n - 1, of=trees)
        for row, way in zip(
            trees.parent_port, cyclic_shifts.paths(objects, topology, root), strict=False
        ):
            stated = cyclic_shifts.ports_to(
                objects, topology, cyclic_shifts.shifted(topology, root, way.i)
            ).copy()
            stated[way.nodes[0]] = 0
            stated[way.nodes[1:]] = way.ports
            check.equal(
                "ports of L-hat", row, stated, tree=way.i - 1, node=topology.label, of=trees
            )
        check.passes(checkers.spanning(topology, trees.parent_port, root), of=trees)


@check("TS.L5")
def _heights(check: ClaimCheck) -> None:
    n, topology = check.topology.n, check.topology
    i = np.arange(1, n)
    true = check.correction(
        "the height is |p_i| + e, e the greatest level of L(rho^i(r)) outside of the branch that p_i arrives by, and "
        "e = D_n but for n = 3, i = 2, where e = D_n - 1"
    )
    for root in bfs.roots(topology, 2):
        trees = check.objects.forest(topology.spec, "multiple", root=root)
        found = np.array(
            checkers.height(topology, trees.parent_port, trees.root, bound=topology.nodes).measured
        )
        check.equal("number of trees", trees.trees, n - 1, of=trees)
        stated = diameter(n) + n + np.gcd(n, i) - 2
        check.equal(
            "height of L-hat(rho^i(r))", found, stated[: len(found)], i=i[: len(found)], of=trees
        )
        outside = np.array(
            [
                _outside(check, root, way)
                for way in cyclic_shifts.paths(check.objects, topology, root)
            ]
        )[: len(found)]
        lengths = np.array(
            [len(way.ports) for way in cyclic_shifts.paths(check.objects, topology, root)]
        )[: len(found)]
        true.equal("height", found, lengths + outside, i=i[: len(found)], of=trees)
        true.equal(
            "e",
            outside,
            (diameter(n) - ((n == 3) & (i == 2)))[: len(found)],
            i=i[: len(found)],
            of=trees,
        )


def _outside(check: ClaimCheck, root: int, way: cyclic_shifts.Path) -> int:
    """The greatest level of L(rho^i(r)) but for the branch by which p_i comes to rho^i(r)."""
    topology = check.topology
    goal = cyclic_shifts.shifted(topology, root, way.i)
    parent = bfs.parents(
        check.objects, topology, cyclic_shifts.ports_to(check.objects, topology, goal)
    )
    levels = bfs.levels(parent, goal)
    parent[way.nodes[-2]] = -1  # cut off: what hangs there does not come to the root any more
    return int(levels[bfs.levels(parent, goal) >= 0].max())


@check("TS.h")
def _greatest_height(check: ClaimCheck) -> None:
    n, trees = check.topology.n, check.objects.forest(check.topology.spec, "multiple")
    measured = checkers.height(
        check.topology, trees.parent_port, trees.root, bound=check.topology.nodes
    ).measured
    h = int(np.max(measured))
    check.at_least("greatest height of the trees L-hat", h, diameter(n) + n - 1, of=trees)
    check.at_most("greatest height of the trees L-hat", h, 2 * diameter(n), of=trees)


@check("TS.L6")
def _congestion(check: ClaimCheck) -> None:
    topology = check.topology
    for root in bfs.roots(topology, 2):
        trees = check.objects.forest(topology.spec, "multiple", root=root)
        loads = checkers.loads(topology, trees.parent_port, root)
        check.equal("number of trees", trees.trees, topology.n - 1, of=trees)
        check.equal(
            "links of all trees",
            loads.sum(),
            (topology.n - 1) * (factorial(topology.n) - 1),
            of=trees,
        )
        check.at_most(
            "trees on a link", loads, 2, link=outgoing_links(check.objects, topology), of=trees
        )
