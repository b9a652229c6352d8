"""Trees of multinode broadcasts, in which every node is a source.

Fragopoulou & Akl 1993 use rotated Hamiltonian paths, MBST and a Hamiltonian cycle
(docs/definitions/fragopoulou-akl.md, A1 to A4). Tseng & Sheu 1997 use label and dimension changes.

**Hamiltonian paths and cycles** of S_n are stored as words, which are sequences of dimensions to
cross. Fragopoulou & Akl 1993 (sections 3.1 and 4) do not specify which path and cycle to use; A1 in
docs/definitions/fragopoulou-akl.md documents the choice. The path is Ehrlich's path (Knuth 7.2.1.2,
Algorithm E). For n = 5, 7 and 8 it does not end next to its start, so the cycle is constructed
separately. All nodes with the same symbol in a fixed position form a substar. The cycle passes
through the n substars, one after another; the path in each substar is constructed recursively, down
to paths in S_4 that are found by a search.

**Rotated Hamiltonian paths.** S_{n-1}^i, i = 2..n, is the set of nodes with symbol 1 in position i.
*Phase 1* (section 3.1): the root's branch T_i across dimension i is a Hamiltonian path of
S_{n-1}^i. T_{i+1} is T_i rotated, so the n-1 links that are crossed in a step have n-1 different
dimensions. *Phase 2* (Rule 1): across dimension i, a node x receives the messages of the sources q
with q_1 = x_1 and q_n = x_i. So in the tree of the source 12..n, a node u that starts with 1 is a
leaf, and the dimension from u to its parent is the position of symbol n in u.

**MBST**, the multinode broadcast spanning tree (section 3.2). All nodes are numbered: m(root) = 0,
then 1..n!-1. The parent of node number m is across dimension v(m) = (m-1) mod (n-1) + 2, and the
node is reached in step ceil(m / (n-1)). So the links that are crossed in a step have different
dimensions.
Nodes are numbered necklace by necklace, in the order that A3 defines. The necklace N_k1, which
contains the generator G_k, comes first among the necklaces at distance k. Let v be the dimension of
the next unused number, and t_k the dimension towards the parent of G_k. In N_k1 the first node is
the rotation of G_k that maps t_k to v. In any other necklace the first node is the smallest node
whose neighbour across v is closer to the root. In cycle notation (a symbol s is followed by x_s)

* G_k = (k+1, k, .., 2, 1) and t_k = k+1 for k <= n-1;
* G_k = (n, n-1)(n-2, n-3) .. (a+2, a+1)(a, a-1, .., 1), with k+1-n pairs, and t_k = a+1 for k >= n.

**The Hamiltonian cycle** of S_n is used as a path (section 4).

**Label change LC(r, T) and dimension change DC(i, T)** of trees (Tseng & Sheu 1997, Def. 3 and 4).
LC changes symbols: every node y becomes r∘y and every link keeps its dimension, so that a tree
rooted at the identity becomes a tree rooted at r. On S_{n,k}, r is first extended by its missing
symbols in ascending order; the ports of residual links, which replace the first symbol by a missing
symbol, are recomputed at r∘y.

DC changes dimensions and keeps the root: a path from the root across the dimensions d1, d2, ..
becomes the path from the root across d1', d2', .., where d' = ((d-2+i) mod (n-1)) + 2. If the root
is the identity, DC(i, T) is the image of T under the rotation R^i. For another root r it is
r∘R^i(T'), where T' is T translated to the identity. On S_{n,k}, DC would map exchange links to
residual links, which no automorphism does for 2 <= k <= n-2. DC is defined on S_{n,n-1}, which is
isomorphic to S_n, and on S_{n,1}, the complete graph, where R^i rotates the symbols 2..n.
"""

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import factorial, isqrt
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.catalogue.entries import Argument
from starcast.support.arrays import freeze
from starcast.topologies import Topology, permutations
from starcast.topologies.necklaces import necklaces, rotate, rotated_dimension, rotation
from starcast.topologies.permutations import Perms, Ranks
from starcast.trees.construction import (
    construction,
    numbered_dimensions,
    plain_constructions,
    translate_forest,
    translate_ports,
)
from starcast.trees.model import Forest

PortWord = NDArray[np.uint8]


@construction(
    "rotated-hamiltonian", families=["star"],
    description="n-1 rotated Hamiltonian paths from the root, and a leaf for each node with the "
    "first symbol of the root", source="Fragopoulou & Akl 1993, section 3.1",
)  # fmt: skip
def rotated_hamiltonian(topology: Topology, root: int) -> Forest:
    """Return the tree of rotated Hamiltonian paths (Fragopoulou & Akl 1993, section 3.1).

    In phase 1, the tree grows by n-1 paths from the root, one across each dimension j. In step t,
    the path is extended across the dimension ``phase_1_word(n)[t-1]``, rotated j-2 times. In phase
    2, the nodes that start with 1 become leaves.
    """
    n = topology.n
    row = np.zeros((1, topology.nodes), dtype=np.uint8)
    word, turn = phase_1_word(n), rotation(n)
    path = walk(n, word)[1:]
    for turns in range(n - 1):
        row[0, path] = rotated_dimension(word, turns, n)
        path = turn[path]
    row[0, : topology.nodes // n] = phase_2_ports(n)
    row[0, 0] = 0
    return Forest(topology, translate_ports(topology, row, root), root, "rotated-hamiltonian")


def phase_1_word(n: int) -> PortWord:
    """Return the dimensions that the Hamiltonian path T_2 crosses, uint8 ``[(n-1)!]``.

    The path leads from 12..n to 213..n and then to all other nodes with symbol 1 in position 2.
    """
    return np.concatenate([np.array([2], dtype=np.uint8), path_word(n - 1) + np.uint8(1)])


def phase_2_ports(n: int) -> NDArray[np.uint8]:
    """Return the position of symbol n in every node that starts with 1, uint8 ``[(n-1)!]``.

    By Rule 1, this position is the port towards the node's parent in phase 2. The entry of the
    identity, rank 0, is unused, because the root has no parent.
    """
    others = permutations.arrangements(n - 1, n - 1) + np.uint8(1)
    return np.asarray(np.argmax(others == n, axis=1) + 2, dtype=np.uint8)


class Generator(NamedTuple):
    """The generator G_k of a necklace, and the dimension t_k towards G_k's parent in the tree MBST.

    The module's docstring defines G_k and t_k.
    """

    node: Perms
    dimension: int


class _NecklaceList(NamedTuple):
    """All necklaces but the root's, as parallel arrays, in the order in which nodes are numbered.

    Attributes:
        smallest: the smallest rank in each necklace.
        period: the number of nodes in each necklace.
        number: the number m of the first node of each necklace.
    """

    smallest: Ranks
    period: NDArray[np.int64]
    number: NDArray[np.int64]


@construction(
    "necklace", families=["star"],
    description="a shortest-path tree given by numbering the nodes necklace by necklace (MBST)",
    source="Fragopoulou & Akl 1993, section 3.2",
)  # fmt: skip
def necklace(topology: Topology, root: int) -> Forest:
    """Return MBST, a shortest-path tree whose parent ports follow from the `numbering` of nodes.

    Reference: Fragopoulou & Akl 1993, section 3.2.
    """
    row = numbered_dimensions(topology.n, numbering(topology))[None, :]
    rows = translate_ports(topology, row, root)
    return Forest(topology, rows, root, "necklace", verify_hubs=(root,))


def numbering(topology: Topology) -> Ranks:
    """Return the number m of every node of S_n in the tree MBST rooted at 12..n, int32 ``[n!]``.

    The module's docstring defines the numbers.
    """
    turn = rotation(topology.n)
    orbits = _list_necklaces(topology)
    nodes = _first_nodes(topology, orbits, turn)
    numbers = np.zeros(topology.nodes, dtype=np.int32)
    for turns in range(topology.n - 1):
        chosen = orbits.period > turns
        numbers[nodes[chosen]] = orbits.number[chosen] + turns
        nodes = turn[nodes]
    return numbers


def generators(topology: Topology) -> dict[int, Generator]:
    """Return, for each distance k >= 1, the generator G_k of the first necklace, as a dict by k.

    If n is odd, there is no generator for the maximum distance.
    """
    defined = range(1, topology.diameter + 1 - topology.n % 2)
    return {k: _generator(topology.n, k) for k in defined}


def _generator(n: int, k: int) -> Generator:
    pairs = max(0, k + 1 - n)
    # The largest symbol of the cycle with 1: a or k+1 in the module's docstring.
    last = n - 2 * pairs if pairs else k + 1
    node = np.arange(1, n + 1, dtype=np.uint8)
    node[:last] = [last, *range(1, last)]
    for upper in range(n, n - 2 * pairs, -2):
        node[upper - 2 : upper] = upper, upper - 1
    return Generator(node, last + 1 if pairs else last)


def _list_necklaces(topology: Topology) -> _NecklaceList:
    orbits = necklaces(topology.n)
    smallest = np.flatnonzero(orbits.leader == np.arange(topology.nodes))[1:].astype(np.int32)
    # Necklaces of generators are of kind 0. Of the other necklaces, those whose nodes start with 1,
    # and thus have the lowest ranks, are of kind 2; all others are of kind 1.
    kind = np.where(smallest < topology.nodes // topology.n, 2, 1)
    nodes = np.stack([generator.node for generator in generators(topology).values()])
    kind[np.isin(smallest, orbits.leader[permutations.rank(nodes)])] = 0
    # Necklaces are sorted by distance, then kind, then smallest node.
    smallest = smallest[np.lexsort((smallest, kind, topology.distances()[smallest]))]
    period = orbits.period[smallest].astype(np.int64)
    return _NecklaceList(smallest, period, np.cumsum(period) - period + 1)


def _first_nodes(topology: Topology, orbits: _NecklaceList, turn: Ranks) -> Ranks:
    """Return the first node of each necklace: the node that gets the necklace's lowest number.

    The module's docstring contains the rule. ``turn`` is each node's image under the rotation R.
    """
    distances = topology.distances()
    v = numbered_dimensions(topology.n, orbits.number)
    first = np.full(len(orbits.smallest), topology.nodes, dtype=np.int32)
    nodes = orbits.smallest
    for _ in range(topology.n - 1):
        closer = distances[topology.step(v, nodes)] < distances[nodes]
        first = np.where(closer & (nodes < first), nodes, first)
        nodes = turn[nodes]
    # In necklace N_k1, the first node is a rotation of the generator instead of the smallest node.
    for k, generator in generators(topology).items():
        index = np.searchsorted(distances[orbits.smallest], k)
        node = permutations.rank(generator.node[None, :])
        for _ in range((int(v[index]) - generator.dimension) % (topology.n - 1)):
            node = turn[node]
        first[index] = node[0]
    return first


@construction(
    "hamiltonian-cycle", families=["star"],
    description="a Hamiltonian path whose last node is next to the root",
    source="Fragopoulou & Akl 1993, section 4",
)  # fmt: skip
def hamiltonian_cycle(topology: Topology, root: int) -> Forest:
    """Return a Hamiltonian path from the root to a neighbour of the root.

    Together with the link between these two nodes, the path is a Hamiltonian cycle. The paths of
    different roots are translations of one another, so the messages of all roots cross the same
    dimension in each step. In the paper, all roots use the same cycle (`walk` along `cycle_word`);
    each root starts at its own node of this cycle.

    Reference: Fragopoulou & Akl 1993, section 4.
    """
    row = np.zeros((1, topology.nodes), dtype=np.uint8)
    word = cycle_word(topology.n)[:-1]
    row[0, walk(topology.n, word)[1:]] = word
    return Forest(topology, translate_ports(topology, row, root), root, "hamiltonian-cycle")


# The smallest m >= 3 such that S_m has a Hamiltonian path between any two nodes of opposite parity.
_BASE = 4


def path_word(m: int) -> PortWord:
    """Return the dimensions that Ehrlich's Hamiltonian path of S_m crosses, uint8 ``[m! - 1]``.

    Algorithm E has a table b, initially b[j] = j, and counters c[1..m-1]. When counter k advances,
    the path crosses dimension b[k] + 1, and b[1..k-1] is reversed. Counter k advances k times.
    Before, between and after these advances, the counters 1..k-1 run through all their values. So
    the word for the counters 1..k contains k + 1 copies of the word for 1..k-1, each of them built
    with the table at that time.

    Reference: Knuth, The Art of Computer Programming, 7.2.1.2, Algorithm E.
    """
    # The word for the counters 1..k, as indices of the table b at the beginning of the word.
    word = np.zeros(0, dtype=np.intp)
    # The table after the word: its entry j was at the index after[j] before the word.
    after = np.arange(m)
    for k in range(1, m):
        reversal = np.r_[0, np.arange(k - 1, 0, -1), np.arange(k, m)]
        table = after
        parts = [word]
        for _ in range(k):
            parts.append(table[k : k + 1])
            table = table[reversal]
            parts.append(table[word])
            table = table[after]
        word, after = np.concatenate(parts), table
    return (word + 1).astype(np.uint8)


def cycle_word(n: int) -> PortWord:
    """Return the dimensions that a Hamiltonian cycle of S_n crosses from the identity, ``[n!]``."""
    if n < _BASE:
        return np.resize(np.arange(2, n + 1, dtype=np.uint8), factorial(n))
    start = np.arange(1, n + 1, dtype=np.uint8)[None, :]
    goal = start.copy()
    goal[:, :2] = 2, 1
    return np.append(_paths_between(start, start, goal)[0], np.uint8(2))


def walk(n: int, word: PortWord) -> Ranks:
    """Return the nodes on the path from the identity that crosses the dimensions in ``word``.

    Returns:
        int32 ``[len(word) + 1]``; the first node is the identity.
    """
    side = isqrt(len(word)) + 1
    # Each row is a part of the word. The padding, position 0, swaps the first symbol with itself.
    positions = np.zeros((side, side), dtype=np.intp)
    positions.reshape(-1)[1 : len(word) + 1] = word - 1
    nodes = np.empty((side, side, n), dtype=np.uint8)
    run = np.arange(side)
    current = np.tile(np.arange(1, n + 1, dtype=np.uint8), (side, 1))
    # The word is divided into about sqrt(len(word)) parts. The first loop follows all parts at the
    # same time, each from the identity. The second loop joins the parts. So the two loops together
    # have only about 2 sqrt(len(word)) steps.
    for step, position in enumerate(positions.T):
        current[run, 0], current[run, position] = current[run, position], current[run, 0]
        nodes[:, step] = current
    for before, after in pairwise(nodes):
        after[:] = permutations.compose(before[-1], after)
    return permutations.rank(nodes.reshape(-1, n)[: len(word) + 1])


def _paths_between(position: NDArray[np.uint8], start: Perms, goal: Perms) -> PortWord:
    """Return the words of Hamiltonian paths in several substars S_m, m >= 4, ``[count, m! - 1]``.

    Args:
        position: the free positions of each substar, ascending from 1, ``[count, m]``.
        start: the symbols of each path's first node in the free positions, ``[count, m]``.
        goal: the symbols of each path's last node in the free positions, an odd permutation of
            ``start``.
    """
    count, m = position.shape
    if m == _BASE:
        relative = np.argmax(start[:, :, None] == goal[:, None, :], axis=1) + 1
        paths = _s4_paths()[permutations.rank(relative.astype(np.uint8))]
        return np.take_along_axis(position, paths.astype(np.intp), axis=1)
    rows = np.arange(count)
    # Each substar is divided by the symbol in one position: the last position in which the path's
    # start and goal differ.
    fixed = m - 1 - np.argmax((start != goal)[:, ::-1], axis=1)
    kept = np.arange(m - 1) + (np.arange(m - 1) >= fixed[:, None])
    legs = _legs(
        _visiting_order(start, start[rows, fixed], goal[rows, fixed]),
        np.take_along_axis(start, kept, axis=1),
        np.take_along_axis(goal, kept, axis=1),
    )
    inner = np.repeat(np.take_along_axis(position, kept, axis=1), m, axis=0)
    words = np.empty((count, m, factorial(m - 1)), dtype=np.uint8)
    words[:, :, :-1] = _paths_between(inner, *legs).reshape(count, m, -1)
    # The last entry leads to the next substar. It is removed from the last substar's word below.
    words[:, :, -1] = position[rows, fixed][:, None]
    return words.reshape(count, -1)[:, :-1]


def _visiting_order(symbols: Perms, first: NDArray[np.uint8], last: NDArray[np.uint8]) -> Perms:
    """Return the fixed symbols of substars, in the order in which Hamiltonian paths visit them.

    The nodes of a substar have the same symbol, its fixed symbol, in one position. A path begins in
    the substar of its start, ends in the substar of its goal, and visits the other substars in the
    order of their fixed symbols.

    Args:
        symbols: the fixed symbols of the substars of each path, in any order, ``[count, m]``.
        first: the fixed symbol of the substar of each path's start, ``[count]``.
        last: the fixed symbol of the substar of each path's goal, ``[count]``.
    """
    # The goal's symbol gets the sort key 256, which puts it last. Keys are int16, because 256 does
    # not fit into uint8.
    key = symbols.astype(np.int16)
    key[symbols == first[:, None]] = 0
    key[symbols == last[:, None]] = 256
    return np.take_along_axis(symbols, np.argsort(key, axis=1), axis=1)


def _legs(order: Perms, start: Perms, goal: Perms) -> tuple[Perms, Perms]:
    """Return the nodes at which a Hamiltonian path enters and leaves each substar.

    The path leaves a substar at a node that begins with the fixed symbol of the next substar, so
    that the link across the fixed position leads there. The other symbols of this node ascend; its
    last two symbols are swapped if this is necessary to make the node an odd permutation of the
    entry node (see `_paths_between`). The path ends at the goal.

    Args:
        order: the fixed symbol of each substar, in the order of the visits, ``[count, m]``.
        start: the first node of each path, without its fixed symbol, ``[count, m - 1]``.
        goal: the last node of each path, without its fixed symbol, ``[count, m - 1]``.

    Returns:
        The entry nodes and the leaving nodes, without the fixed symbol, ``[count * m, m - 1]``.
    """
    count, m = order.shape
    enter, leave = np.empty((2, count, m, m - 1), dtype=np.uint8)
    first = start
    for k in range(m):
        last = goal if k == m - 1 else _leaving_node(order, k, first)
        enter[:, k], leave[:, k] = first, last
        first = np.column_stack([order[:, k], last[:, 1:]])
    return enter.reshape(-1, m - 1), leave.reshape(-1, m - 1)


def _leaving_node(order: Perms, k: int, entered: Perms) -> Perms:
    others = np.sort(np.delete(order, [k, k + 1], axis=1), axis=1)
    left = np.column_stack([order[:, k + 1], others])
    wrong = np.flatnonzero(permutations.is_odd(left) == permutations.is_odd(entered))
    left[wrong, -2:] = left[wrong, :-3:-1]
    return left


@lru_cache(maxsize=1)
def _s4_paths() -> NDArray[np.uint8]:
    """Return a Hamiltonian path of S_4 from the identity to each odd permutation.

    Returns:
        uint8 ``[24, 23]``, indexed by the rank of the last node and the step. Each entry is the
        position, 1..3, that the step swaps with position 0. Rows of even permutations are 0.
    """
    paths = np.zeros((factorial(_BASE), factorial(_BASE) - 1), dtype=np.uint8)
    perms = permutations.table(_BASE)
    for rank in np.flatnonzero(permutations.is_odd(perms)):
        paths[rank] = _search([tuple(range(_BASE))], tuple(perms[rank].tolist()))
    return paths


def _search(nodes: list[tuple[int, ...]], goal: tuple[int, ...]) -> list[int]:
    """Complete a Hamiltonian path in S_4 by a depth-first search.

    Args:
        nodes: the nodes that the path has visited so far.
        goal: the last node.

    Returns:
        The position that each further step swaps with position 0; empty if no such path exists.
    """
    node = nodes[-1]
    for position in range(1, _BASE):
        neighbour = (node[position], *node[1:position], node[0], *node[position + 1 :])
        if neighbour == goal and len(nodes) == factorial(_BASE) - 1:
            return [position]
        if neighbour != goal and neighbour not in nodes:
            rest = _search([*nodes, neighbour], goal)
            if rest:
                return [position, *rest]
    return []


BaseForest = Annotated[
    Forest,
    Argument(
        "base",
        "the trees to change: a construction without arguments, such as 'multiple'",
        kind="construction",
        choices=plain_constructions,
        noun="a construction without arguments",
    ),
]
Shift = Annotated[
    int,
    Argument(
        "i",
        "the number of places by which dimensions move cyclically, 0 to n-2",
        kind="index",
        maximum=lambda topology: topology.n - 2,
    ),
]


def _no_dimension_change(topology: Topology) -> str | None:
    """Return why a dimension change (DC) is not defined on a topology, or None if it is defined."""
    if topology.k is None or topology.k in (1, topology.n - 1):
        return None
    return "no automorphism maps links that exchange symbols to links that replace the first symbol"


@construction(
    "label-change", families=["star", "nk-star"],
    description="the trees of another construction, translated to the root: LC(r, T)",
    source="Tseng & Sheu 1997, Def. 3",
)  # fmt: skip
def label_change(topology: Topology, root: int, base: BaseForest) -> Forest:  # noqa: ARG001 - the topology is that of the base
    """Return the label change LC(root, T) of every tree T in ``base``.

    LC(root, T) is the tree T, whose root is the identity, translated to the given root.

    Reference: Tseng & Sheu 1997, Def. 3.
    """
    return replace(
        translate_forest(base, root),
        construction="label-change",
        arguments={"base": base.construction},
    )


@construction(
    "dimension-change", families=["star", "nk-star"],
    description="the trees of another construction, each dimension moved by i places: DC(i, T)",
    source="Tseng & Sheu 1997, Def. 4", exclusion=_no_dimension_change,
)  # fmt: skip
def dimension_change(topology: Topology, root: int, base: BaseForest, i: Shift) -> Forest:
    """Return the dimension change DC(i, T) of every tree T in ``base``, translated to the root.

    In DC(i, T), each dimension is moved by i places, cyclically.

    Args:
        topology: the topology of the forest.
        root: rank of the root.
        base: the trees T, rooted at the identity.
        i: the number of places by which the dimensions move, 0 to n-2. Larger numbers would
            result in the same trees, because dimensions move cyclically, but with other ids.

    Reference: Tseng & Sheu 1997, Def. 4.
    """
    rows = np.empty_like(base.parent_port)
    for chunk in topology.chunks():
        nodes = np.arange(chunk.start, chunk.stop)
        ports = _rotate_ports(topology, nodes, base.parent_port[:, chunk], i)
        rows[:, _rotate_nodes(topology, nodes, i)] = ports
    hubs = base.verify_hubs
    if hubs is not None:
        hubs = tuple(_rotate_nodes(topology, np.array(hubs), i).tolist())
    rotated = replace(base, parent_port=freeze(rows), verify_hubs=hubs)
    return replace(
        label_change(topology, root, rotated),
        construction="dimension-change",
        arguments={"base": base.construction, "i": int(i)},
    )


def _rotate_nodes(topology: Topology, nodes: NDArray[np.integer], i: int) -> Ranks:
    """Return the rank of each node's image under the rotation R^i, int32 ``[count]``.

    R maps each symbol and position d to d+1 (2 <= d < n), and n to 2. S_{n,n-1} needs no special
    case, because its nodes have the same ranks as those of S_n.
    """
    if topology.k == 1:
        return np.asarray(_rotated_symbols(topology.n, i)[nodes + 1], dtype=np.int32) - 1
    return permutations.rank(rotate(permutations.unrank(topology.n, nodes), i))


def _rotate_ports(
    topology: Topology, nodes: NDArray[np.integer], rows: NDArray[np.uint8], i: int
) -> NDArray[np.uint8]:
    """Return the images of the nodes' parent ports under the rotation R^i; 0 stays 0.

    Returns:
        uint8 ``[trees, count]``.
    """
    if topology.k != 1:
        symbols = _rotated_symbols(topology.n, i)
        return np.concatenate([[0, 0], symbols[2:]]).astype(np.uint8)[rows]
    # On S_{n,1}, a node is a single symbol, and port 1+s leads to the symbol s places later.
    parents = (nodes + rows.astype(np.int64) - 1) % topology.n
    steps = _rotate_nodes(topology, parents, i) - _rotate_nodes(topology, nodes, i)
    return np.where(rows > 0, 1 + steps % topology.n, 0).astype(np.uint8)


def _rotated_symbols(n: int, i: int) -> NDArray[np.uint8]:
    """Return each symbol's (or dimension's) image after i rotations, uint8 ``[n + 1]``.

    Entry 0 is unused.
    """
    rotated = [rotated_dimension(symbol, i, n) for symbol in range(2, n + 1)]
    return np.array([0, 1, *rotated], dtype=np.uint8)
