"""Checks of Tseng & Sheu 1997, sections 2 to 4: the star graph, and the trees L(r) and L-hat.

L(r) is the greedy shortest-path tree with root r (starcast's `greedy`). The label of rho^i(r) is
the label of r, shifted right cyclically by i positions. L-hat are the n-1 trees L(rho^i(r)) after
the path between rho^i(r) and r is reversed, which makes r the root (starcast's `multiple`).
"""

from collections.abc import Iterator
from functools import partial
from math import gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import CachedTopology, heights, search, tree_levels
from starcast.claims.check import ClaimCheck
from starcast.claims.growth import factorial
from starcast.claims.registry import Memory, checks, forests
from starcast.records import checkers
from starcast.topologies import permutations
from starcast.topologies.permutations import Ranks
from starcast.trees.model import Forest

from ..common import stars
from ..common.closed_forms import diameter

# Roots with shifted labels, and the paths between them


class ShiftPath(NamedTuple):
    """The path p_i from a root r to the shifted root rho^i(r) in the greedy tree L(rho^i(r)).

    Attributes:
        i: number of positions by which the label of r is shifted.
        nodes: ranks of the path's nodes, r first.
        ports: the dimensions of the path's links, in order.
    """

    i: int
    nodes: Ranks
    ports: NDArray[np.uint8]


def shifted_root(network: CachedTopology, root: int, i: int) -> int:
    """Return rho^i(r): the node with the label of r, shifted right cyclically by i positions."""
    label = network.label(root)
    return network.rank(label[len(label) - i :] + label[: len(label) - i])


def greedy_dimensions(network: CachedTopology, root: int) -> NDArray[np.int64]:
    """Return the dimension of each node's link to its parent in the greedy tree L(r).

    The dimensions are computed by Definition 1. The entry of the root r is 0.
    """
    rows = stars.symbols(network)
    goal = rows[root]
    position_of = np.zeros(network.n + 1, dtype=np.int64)
    position_of[goal] = np.arange(1, network.n + 1)
    differs = rows[:, 1:] != goal[1:]
    first_difference = np.where(differs.any(axis=1), differs.argmax(axis=1) + 2, 0)
    goal_position = position_of[rows[:, 0]]
    return np.where(goal_position == 1, first_difference, goal_position)


def greedy_ports(network: CachedTopology, root: int) -> NDArray[np.uint8]:
    """Return the port of each node towards its parent in starcast's greedy tree L(r)."""
    row: NDArray[np.uint8] = network.forest("greedy", root=root).parent_port[0]
    return row


def shift_paths(network: CachedTopology, root: int) -> list[ShiftPath]:
    """Return the paths p_1, .., p_{n-1} from a root to its shifted roots; see `ShiftPath`.

    If a mutation test has corrupted the tree so that it has a cycle, a path ends after as many
    links as there are nodes.
    """
    return [_shift_path(network, root, i) for i in range(1, network.n)]


def _shift_path(network: CachedTopology, root: int, i: int) -> ShiftPath:
    goal = shifted_root(network, root, i)
    row = greedy_ports(network, goal)
    nodes = [root]
    ports = []
    while nodes[-1] != goal and row[nodes[-1]] and len(nodes) <= network.nodes:
        ports.append(row[nodes[-1]])
        nodes.append(int(network.neighbours[int(ports[-1]) - 2, nodes[-1]]))
    return ShiftPath(i, np.array(nodes, dtype=np.int32), np.array(ports, dtype=np.uint8))


def loads_towards_roots(network: CachedTopology, root: int) -> NDArray[np.int64]:
    """Return in how many greedy trees with shifted roots each directed link leads to the parent.

    The trees are L(rho^i(r)), i = 1..n-1; see `shifted_root`.

    Returns:
        int64 ``[nodes, ports]``.
    """
    loads = np.zeros((network.nodes, network.degree), dtype=np.int64)
    for i in range(1, network.n):
        goal = shifted_root(network, root, i)
        for row in network.forest("greedy", root=goal).parent_port:
            for column, port in enumerate(network.ports):
                loads[:, column] += row == port
    return loads


# Section 2: the star graph


def check_star_size(check: ClaimCheck) -> None:
    """Check the number of nodes, the links of every node, and the diameter of S_n."""
    n = check.n
    label_symbols = stars.symbols(check)
    check.equal("nodes with labels of their own", len(np.unique(check.labels())), factorial(n))
    for port, heads in zip(check.ports, check.neighbours, strict=True):
        swapped = label_symbols.copy()
        swapped[:, [0, port - 1]] = swapped[:, [port - 1, 0]]
        exchanges = (label_symbols[heads] == swapped).all(axis=1)
        what = f"dimension {port} exchanges positions 1 and {port}"
        check.true(what, exchanges, node=check.ranks)
    check.equal("neighbours of a node", check.degrees, n - 1, node=check.ranks)
    for root in check.roots():
        distances = check.distances(root)
        check.equal("nodes reached", np.count_nonzero(distances >= 0), factorial(n), node=root)
        check.equal("greatest distance", distances.max(), diameter(n), node=root)


@checks("TS.size", memory=Memory(36, power=2))
def size_and_symmetry(check: ClaimCheck) -> None:
    """Check the number of nodes, the degree and the diameter of S_n, and its symmetry.

    Automorphisms must map any node to any other node, and any link to any other link.
    """
    check_star_size(check)
    ports = np.array(check.ports)
    node_images = []
    link_images = []
    for image, dimensions in generating_automorphisms(check):
        columns = np.searchsorted(ports, dimensions)
        measured = check.neighbours[columns][:, image]
        stated = image[check.neighbours]
        check.equal("links go to links", measured, stated, node=check.ranks)
        node_images.append(image)
        # The search works on node numbers, so every link gets a number: tail times degree plus
        # port index.
        link_images.append((image * check.degree + columns[:, None]).T.ravel())
    # A search along generators reaches all images under the automorphisms that they generate.
    nodes = search(np.stack(node_images), 0) >= 0
    what = "nodes to which automorphisms take the identity"
    check.equal(what, np.count_nonzero(nodes), factorial(check.n))
    links = search(np.stack(link_images), 0) >= 0
    what = "directed links to which they take the first link of the identity"
    check.equal(what, np.count_nonzero(links), factorial(check.n) * (check.n - 1))


def generating_automorphisms(check: ClaimCheck) -> Iterator[tuple[Ranks, NDArray[np.int64]]]:
    """Yield translations and the rotation R, each as the images of all nodes and of all ports."""
    ports = np.array(check.ports)
    for node in check.neighbours[:, 0].tolist():
        yield stars.translation(check, node), ports
    yield stars.rotation(check), stars.rotation_function(check.n)[ports]


@checks("TS.L3", given=forests("greedy", roots=None))
def greedy_links_lead_closer(check: ClaimCheck, tree: Forest) -> None:
    """Check that the greedy tree L(r) is a spanning tree whose links lead closer to the root.

    The ports of the tree must be those of Definition 1.
    """
    root = tree.root
    what = f"ports of L({check.label(root)})"
    stated = greedy_dimensions(check, root)
    check.equal(what, tree.parent_port, stated, node=check.ranks, of=tree)
    check.passes(checkers.spanning, tree)
    distances = check.distances(root)
    nodes = np.flatnonzero(np.arange(check.nodes) != root)
    parents = check.parents(tree.parent_port[0])[nodes]
    # The parent of a node may be -1 (none), which would select the distance of the last node. Such
    # nodes get an impossible distance instead.
    measured = np.where(parents < 0, check.nodes, distances[parents])
    expected = distances[nodes] - 1
    check.equal("distance of the next node", measured, expected, node=nodes, of=tree)


@checks("TS.L4", given=ClaimCheck.roots)
def congestion_towards_roots(check: ClaimCheck, root: int) -> None:
    """Check that each directed link leads to the parent in at most two trees with shifted roots.

    The trees are the greedy trees L(rho^i(r)), i = 1..n-1; see `shifted_root`.
    """
    loads = loads_towards_roots(check, root)
    stated = (check.n - 1) * (factorial(check.n) - 1)
    check.equal("links of all trees", loads.sum(), stated, node=root)
    check.at_most(f"trees on a link, r = {check.label(root)}", loads, 2, link=check.links)


@checks("TS.D2", given=forests("multiple", roots=3))
def reversed_trees(check: ClaimCheck, forest: Forest) -> None:
    """Check that each of the n-1 trees L-hat is a greedy spanning tree with a path reversed.

    The path of the i-th tree is p_i, which `ShiftPath` defines.
    """
    root = forest.root
    check.equal("number of trees", forest.trees, check.n - 1, of=forest)
    paths = shift_paths(check, root)
    for row, path in zip(forest.parent_port, paths, strict=False):
        goal = shifted_root(check, root, path.i)
        stated = greedy_ports(check, goal).copy()
        # L-hat is L with the path from the root to r reversed: r becomes the root, and the parents
        # of the other nodes on the path lead back along it.
        stated[path.nodes[0]] = 0
        stated[path.nodes[1:]] = path.ports
        check.equal("ports of L̂", row, stated, tree=path.i - 1, node=check.ranks, of=forest)
    check.passes(checkers.spanning, forest)


@checks("TS.L5")
def heights_of_trees(check: ClaimCheck) -> None:
    """Check whether each of the n-1 spanning trees L-hat has the height that Lemma 5 states.

    In fact, one tree on S_3 is lower.
    """
    n = check.n
    correction = check.correction()
    for forest in forests("multiple", roots=2)(check):
        observed = np.array(heights(forest))
        check.equal("number of trees", forest.trees, n - 1, of=forest)
        # A corrupted forest may have fewer trees; their number is recorded as a separate finding.
        i = np.arange(1, n)[: len(observed)]
        stated = diameter(n) + n + np.gcd(n, i) - 2
        place = {"i": i, "of": forest}
        check.equal("height of L̂(ρ^i(r))", observed, stated, **place)
        paths = shift_paths(check, forest.root)[: len(observed)]
        outside = np.array([level_outside_branch(check, path) for path in paths])
        lengths = np.array([len(path.ports) for path in paths])
        correction.equal("height", observed, lengths + outside, **place)
        correction.equal("e", outside, diameter(n) - ((n == 3) & (i == 2)), **place)


def level_outside_branch(check: ClaimCheck, path: ShiftPath) -> int:
    """Return the largest level of the nodes outside one branch of a greedy tree.

    The path leads from a root r to the shifted root rho^i(r), which is the root of the greedy tree.
    The branch is the subtree that contains r and whose root is a child of rho^i(r).
    """
    goal = shifted_root(check, int(path.nodes[0]), path.i)
    row = greedy_ports(check, goal)
    parent = check.parents(row)
    levels = tree_levels(parent, goal)
    # The branch of r is cut off from the root, so that its nodes are not reached.
    parent[path.nodes[-2]] = -1
    return int(levels[tree_levels(parent, goal) >= 0].max())


@checks("TS.h", given=forests("multiple"))
def greatest_height(check: ClaimCheck, forest: Forest) -> None:
    """Check the largest height of the n-1 spanning trees L-hat.

    On a star graph of diameter D_n, the height must be at least D_n + n - 1 and at most 2 D_n.
    """
    what = "greatest height of the trees L̂"
    height = max(heights(forest))
    check.at_least(what, height, diameter(check.n) + check.n - 1, of=forest)
    check.at_most(what, height, 2 * diameter(check.n), of=forest)


@checks("TS.L6", given=forests("multiple", roots=2))
def congestion_of_trees(check: ClaimCheck, forest: Forest) -> None:
    """Check that at most two of the n-1 spanning trees L-hat use the same directed link."""
    n = check.n
    loads = checkers.loads(check.topology, forest.parent_port, forest.root)
    check.equal("number of trees", forest.trees, n - 1, of=forest)
    check.equal("links of all trees", loads.sum(), (n - 1) * (factorial(n) - 1), of=forest)
    check.at_most("trees on a link", loads, 2, link=check.links, of=forest)


# Lemmas 5 and 6: the paths p_i from r to rho^i(r), their cycles and links


def sample_paths(check: ClaimCheck) -> Iterator[ShiftPath]:
    """Yield the paths p_1, .., p_{n-1} of `ShiftPath` from each sample root."""
    for root in check.roots():
        yield from shift_paths(check, root)


@checks("TS.L5-path", given=sample_paths)
def path_lengths(check: ClaimCheck, path: ShiftPath) -> None:
    """Check the ends and the lengths of the paths from roots to shifted roots.

    For a root r, the path p_i of `ShiftPath` must end at the shifted root rho^i(r), and have n +
    gcd(n, i) - 2 links.
    """
    root, end = int(path.nodes[0]), int(path.nodes[-1])
    place = {"node": root, "i": path.i}
    goal = shifted_root(check, root, path.i)
    check.equal("end of p_i", check.label(end), check.label(goal), **place)
    check.equal("length of p_i", len(path.ports), check.n + gcd(check.n, path.i) - 2, **place)


@checks("TS.L5-cycles")
def cycles_of_shifts(check: ClaimCheck) -> None:
    """Check the cycles of the permutation of positions by which a label is shifted.

    The permutation maps each symbol's position in the label of a root r to its position in the
    label of rho^i(r), the root shifted by i positions. For every r and i, the permutation must have
    the gcd(n, i) cycles of formula (2). Also check the paper's example.
    """
    n = check.n
    for root in check.roots(6):
        label = check.label(root)
        for i in range(1, n):
            goal = check.label(shifted_root(check, root, i))
            name = f"positions of the symbols of {label} in {goal}"
            positions = [goal.index(symbol) for symbol in label]
            cycles = list(permutations.cycles(check.array(name, partial(np.array, positions))))
            observed = cycle_notation(cycles)
            place = {"node": root, "i": i}
            check.equal("cycles", len(cycles), gcd(n, i), **place)
            check.equal("cycles", observed, cycle_notation(shift_cycles(n, i)), **place)
            if (n, i, root) == (8, 6, 0):
                digits = "".join(str(permutations.SYMBOLS.index(symbol)) for symbol in goal)
                check.equal("ρ^6 of 01234567, from 0", digits, "23456701", i=i)
                check.equal("the example", observed, "(0 6 4 2)(1 7 5 3)", **place)


def shift_cycles(n: int, i: int) -> list[list[int]]:
    """Return the cycles C_0, .., C_{gcd(n,i)-1} of positions under a shift by i, by formula (2).

    Positions are counted from 0.
    """
    count = gcd(n, i)
    return [[(k + turn * i) % n for turn in range(n // count)] for k in range(count)]


def cycle_notation(cycles: list[list[int]]) -> str:
    """Return cycles as text, such as ``(0 2)(1 3)``."""
    return "".join(f"({' '.join(map(str, cycle))})" for cycle in cycles)


@checks("TS.L6-disjoint", given=ClaimCheck.roots)
def paths_are_disjoint(check: ClaimCheck, root: int) -> None:
    """Check that no two of the paths p_1, .., p_{n-1} from a root share a link.

    On p_i, all nodes after the root must have the root's first symbol in position i+1. `ShiftPath`
    defines the paths.
    """
    label_symbols = stars.symbols(check)
    ends = []
    for path in shift_paths(check, root):
        nodes = path.nodes[1:]
        moved, first = label_symbols[nodes, path.i], label_symbols[root, 0]
        check.equal("symbol in position i+1", moved, first, i=path.i, node=nodes)
        # Sorted ends identify a link in both directions.
        ends.append(np.sort([path.nodes[:-1], nodes], axis=0))
    links, counts = np.unique(np.concatenate(ends, axis=1), axis=1, return_counts=True)
    check.equal(f"paths on a link, r = {check.label(root)}", counts, 1, link=(links[0], links[1]))


@checks("TS.L6-dimensions", given=sample_paths)
def dimensions_of_paths(check: ClaimCheck, path: ShiftPath) -> None:
    """Check the dimensions of the links on the paths p_i of `ShiftPath`.

    Let C_0, C_1, .. be the cycles that `shift_cycles` returns, with positions counted from 1. The
    dimensions must be trail(C_0), C_1, first(C_1), C_2, first(C_2), .., where first(C) is the first
    position of a cycle C, and trail(C) is C without this position.
    """
    first, *others = shift_cycles(check.n, path.i)
    positions = first[1:]
    for cycle in others:
        positions += [*cycle, cycle[0]]
    stated = " ".join(str(position + 1) for position in positions)
    observed = " ".join(map(str, path.ports.tolist()))
    check.equal("dimensions", observed, stated, node=path.nodes[0], i=path.i)


@checks("TS.L6-opposite", given=ClaimCheck.roots)
def opposite_links(check: ClaimCheck, root: int) -> None:
    """Check how many greedy trees use the links of a path in the opposite direction.

    Each link of a path p_i of `ShiftPath`, reversed, must be in at most one of the greedy trees
    L(rho^j(r)), where rho^j(r) is a shifted root (see `shifted_root`). Both i and j are 1..n-1.
    """
    loads = loads_towards_roots(check, root)
    for path in shift_paths(check, root):
        tails, heads = path.nodes[1:], path.nodes[:-1]
        what = f"trees with the opposite of a link of p_i, r = {check.label(root)}"
        opposite = loads[tails, path.ports.astype(np.int64) - 2]
        check.at_most(what, opposite, 1, i=path.i, link=(tails, heads))
