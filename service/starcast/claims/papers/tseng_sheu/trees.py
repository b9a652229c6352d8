"""Tseng & Sheu 1997, sections 2 to 4: the star graph, the trees L(r), and the trees L-hat."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from starcast import checkers
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.growth import factorial
from starcast.claims.papers.common import check_star_size
from starcast.claims.papers.tseng_sheu.closed_forms import heights
from starcast.claims.providers import forests, sample_roots
from starcast.claims.reference import bfs, cyclic_shifts, star_labels
from starcast.claims.reference.place_labels import node_labels, outgoing_links
from starcast.claims.registry import check
from starcast.permutations import Ranks
from starcast.trees.model import Forest


@check("TS.size", bytes_per_node=lambda topology: 24 * topology.degree * topology.n)
def size_and_symmetry(check: ClaimCheck) -> None:
    """Check nodes, degree and diameter, and that automorphisms reach all nodes and links."""
    check_star_size(check)
    ports = np.array(check.ports)
    node_images = []
    link_images = []
    for image, dimensions in generating_automorphisms(check):
        columns = np.searchsorted(ports, dimensions)
        measured = check.neighbours[columns][:, image]
        stated = image[check.neighbours]
        check.equal("links go to links", measured, stated, node=lambda _, node: check.label(node))
        node_images.append(image)
        link_images.append((image * check.degree + columns[:, None]).T.ravel())
    # A search along the generators reaches the images under all automorphisms that they generate.
    nodes = bfs.search(np.stack(node_images), 0) >= 0
    what = "nodes to which automorphisms take the identity"
    check.equal(what, np.count_nonzero(nodes), factorial(check.n))
    links = bfs.search(np.stack(link_images), 0) >= 0
    what = "directed links to which they take the first link of the identity"
    check.equal(what, np.count_nonzero(links), factorial(check.n) * (check.n - 1))


def generating_automorphisms(check: ClaimCheck) -> Iterator[tuple[Ranks, NDArray[np.int64]]]:
    """Yield translations by the neighbours of the identity, and R: images of nodes and ports."""
    ports = np.array(check.ports)
    for node in check.neighbours[:, 0].tolist():
        yield star_labels.translation(check, node), ports
    rotation = star_labels.rotation(check)
    yield rotation, star_labels.rotation_function(check.n)[ports]


@check("TS.L3", given=forests("greedy", roots=None))
def greedy_links_lead_closer(check: ClaimCheck, tree: Forest) -> None:
    """Check the ports of L(r), that it spans, and that every link leads closer to r."""
    root = tree.root
    what = f"ports of L({check.label(root)})"
    stated = cyclic_shifts.greedy_dimensions(check, root)
    check.equal(what, tree.parent_port, stated, node=lambda _, node: check.label(node), of=tree)
    check.passes(checkers.spanning(check.topology, tree.parent_port, root), of=tree)
    distances = bfs.distances(check, root)
    nodes = np.flatnonzero(np.arange(check.nodes) != root)
    parents = bfs.parents(check, tree.parent_port[0])[nodes]
    measured = np.where(parents < 0, check.nodes, distances[parents])
    expected = distances[nodes] - 1
    check.equal(
        "distance of the next node", measured, expected, node=node_labels(check, nodes), of=tree
    )


@check("TS.L4", given=sample_roots())
def congestion_towards_roots(check: ClaimCheck, root: int) -> None:
    """Check that at most two of the trees L(rho^i(r)) contain a link towards their roots."""
    label = check.label(root)
    loads = cyclic_shifts.loads_towards_roots(check, root)
    stated = (check.n - 1) * (factorial(check.n) - 1)
    check.equal("links of all trees", loads.sum(), stated, node=label)
    links = outgoing_links(check)
    check.at_most(f"trees on a link, r = {label}", loads, 2, link=links)


@check("TS.D2", given=forests("multiple", roots=3))
def reversed_trees(check: ClaimCheck, forest: Forest) -> None:
    """Check the ports of every L-hat against L(rho^i(r)) and p_i, and that it spans."""
    root = forest.root
    check.equal("number of trees", forest.trees, check.n - 1, of=forest)
    paths = cyclic_shifts.shift_paths(check, root)
    for row, path in zip(forest.parent_port, paths, strict=False):
        goal = cyclic_shifts.shifted_root(check, root, path.i)
        stated = cyclic_shifts.greedy_ports(check, goal).copy()
        stated[path.nodes[0]] = 0
        stated[path.nodes[1:]] = path.ports
        check.equal("ports of L-hat", row, stated, tree=path.i - 1, node=check.label, of=forest)
    check.passes(checkers.spanning(check.topology, forest.parent_port, root), of=forest)


@check("TS.L5")
def heights_of_trees(check: ClaimCheck) -> None:
    """Check the height of every tree L-hat(rho^i(r))."""
    n = check.n
    correction = check.correction(
        "the height is |p_i| + e, e the greatest level of L(rho^i(r)) outside of the branch that "
        "p_i arrives by, and e = D_n but for n = 3, i = 2, where e = D_n - 1"
    )
    for forest in forests("multiple", roots=2)(check):
        observed = np.array(heights(forest))
        check.equal("number of trees", forest.trees, n - 1, of=forest)
        i = np.arange(1, n)[: len(observed)]
        stated = diameter(n) + n + np.gcd(n, i) - 2
        place = {"i": i, "of": forest}
        check.equal("height of L-hat(rho^i(r))", observed, stated, **place)
        paths = cyclic_shifts.shift_paths(check, forest.root)
        paths = paths[: len(observed)]
        outside = np.array([level_outside_branch(check, path) for path in paths])
        lengths = np.array([len(path.ports) for path in paths])
        correction.equal("height", observed, lengths + outside, **place)
        correction.equal("e", outside, diameter(n) - ((n == 3) & (i == 2)), **place)


def level_outside_branch(check: ClaimCheck, path: cyclic_shifts.Path) -> int:
    """Return the greatest level of L(rho^i(r)) outside of the branch by which p_i arrives."""
    goal = cyclic_shifts.shifted_root(check, int(path.nodes[0]), path.i)
    row = cyclic_shifts.greedy_ports(check, goal)
    parent = bfs.parents(check, row)
    levels = bfs.levels(parent, goal)
    parent[path.nodes[-2]] = -1  # detaches the branch: its nodes no longer lead to the root
    return int(levels[bfs.levels(parent, goal) >= 0].max())


@check("TS.h", given=forests("multiple"))
def greatest_height(check: ClaimCheck, forest: Forest) -> None:
    """Check both bounds on the greatest height of the trees L-hat."""
    n = check.n
    what = "greatest height of the trees L-hat"
    height = max(heights(forest))
    check.at_least(what, height, diameter(n) + n - 1, of=forest)
    check.at_most(what, height, 2 * diameter(n), of=forest)


@check("TS.L6", given=forests("multiple", roots=2))
def congestion_of_trees(check: ClaimCheck, forest: Forest) -> None:
    """Check that at most two of the trees L-hat use a directed link."""
    n = check.n
    loads = checkers.loads(check.topology, forest.parent_port, forest.root)
    check.equal("number of trees", forest.trees, n - 1, of=forest)
    check.equal("links of all trees", loads.sum(), (n - 1) * (factorial(n) - 1), of=forest)
    links = outgoing_links(check)
    check.at_most("trees on a link", loads, 2, link=links, of=forest)
