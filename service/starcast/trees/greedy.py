"""The greedy tree and its re-rooted copies on S_n and S_{n,k}, and the recursive-substar tree.

* The greedy tree L(r) with root r routes by the first symbol (Tseng & Sheu 1997, Def. 1).
* The n-1 trees L-hat(rho^i(r)), where rho shifts a label right by one position, are greedy trees
  with the roots rho^i(r), re-rooted at r. Together they have congestion 2 (Tseng & Sheu 1997, Def.
  2 and Lemma 6).
* SP(r) and MT(R_i) are these trees on S_{n,k} (Li, Chen, Xiang & Yao).
* The recursive-substar tree divides S_n into substars; a broadcast along it takes 2n-3 steps (Sheu,
  Liaw & Chen 1993).

docs/definitions/nk-star.md corrects the definition of SP(r), the shortest-path tree with root r.
Symbols are named by their positions in the root: v_1 = i means that the node v begins with the
root's i-th symbol. A symbol that the root lacks is *external*. The chain of an external symbol e in
v begins with the position j_1 of e in v. The root's symbol in position j_1 is in position j_2 of v,
and so on. The chain ends when the root's symbol in position j_m is not in v: this is the *desired
symbol* d(e). The first symbol v_1 determines the link from v to its parent:

* v_1 = 1: exchange positions 1 and i, for the smallest i >= 2 in which v differs from the root;
* 2 <= v_1 <= k: exchange positions 1 and v_1;
* v_1 external: replace v_1 by the smallest desired symbol of the *other* external symbols of v. If
  v has no other external symbol, replace v_1 by its own desired symbol d(v_1). The smallest desired
  symbol is the one with the lowest position in the root.

On S_n no symbol is external, and the rules are those of L(r).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.arrays import freeze
from starcast.topologies import Topology, permutations
from starcast.topologies.permutations import Perms, Ranks
from starcast.topologies.stars import ArrangementGraph
from starcast.trees.construction import (
    construction,
    reroot,
    translate_ports,
    write_first_differences,
)
from starcast.trees.model import Forest

# Number of labels processed at a time; the tables for them fit into the processor's cache.
_ROWS = 2**15


@construction(
    "greedy", families=["star"],
    description="the shortest-path tree that routes by the first symbol: L(r)",
    source="Tseng & Sheu 1997, Def. 1",
)  # fmt: skip
def greedy(topology: Topology, root: int) -> Forest:
    """Return the greedy tree L(r), a shortest-path tree with root r.

    The dimension from a node v to its parent is the position in r of v's first symbol. If this
    position is 1, the dimension is the first position in which v differs from r.

    Reference: Tseng & Sheu 1997, Def. 1.
    """
    return greedy_tree(topology, root, "greedy")


@construction(
    "multiple", families=["star"],
    description="n-1 trees: the greedy tree of each cyclic shift of r, re-rooted at r: L̂(ρ^i(r)); "
    "congestion 2",
    source="Tseng & Sheu 1997, Def. 2", one_tree_per_port=True,
)  # fmt: skip
def multiple(topology: Topology, root: int) -> Forest:
    """Return the n-1 trees L-hat(rho^i(r)), i = 1..n-1 (Tseng & Sheu 1997, Def. 2).

    Tree i-1 is the greedy tree of another root, re-rooted at r. The other root is rho^i(r), the
    label r shifted right by i positions.
    """
    return rerooted_trees(topology, root, "multiple")


def greedy_tree(topology: Topology, root: int, construction: str) -> Forest:
    """Return the forest with the greedy tree of a root: L(r) on S_n, SP(r) on S_{n,k}.

    Args:
        topology: a star graph or an (n,k)-star.
        root: the rank of the root r.
        construction: the name of the construction, which becomes part of the forest's id.
    """
    graph = _as_arrangement_graph(topology)
    rows = np.empty((1, graph.nodes), dtype=np.uint8)
    _write_greedy_ports(graph, graph.rows(root)[0], rows[0])
    return Forest(graph, freeze(rows), root, construction, verify_hubs=(root,))


def rerooted_trees(topology: Topology, root: int, construction: str) -> Forest:
    """Return the forest of n-1 greedy trees with other roots, re-rooted at the given root.

    The other roots are cyclic shifts of the root: its label is extended by the missing symbols,
    shifted right by 1..n-1 positions, and cut to its original length.

    Args:
        topology: a star graph or an (n,k)-star.
        root: the rank of the common root.
        construction: the name of the construction, which becomes part of the forest's id.
    """
    graph = _as_arrangement_graph(topology)
    extended = graph.extension(root)
    shifted = [permutations.shift(extended, i)[: graph.length] for i in range(1, graph.n)]
    old_roots = np.stack(shifted)
    rows = np.empty((graph.n - 1, graph.nodes), dtype=np.uint8)
    for row, old_root in zip(rows, old_roots, strict=True):
        _write_greedy_ports(graph, old_root, row)
        reroot(graph, row, root)
    # In each tree, almost all parents are closer to the old root than their children are. So the
    # old roots are good hubs.
    hubs = permutations.arrangement_rank(old_roots, graph.n)
    return Forest(graph, freeze(rows), root, construction, verify_hubs=tuple(hubs.tolist()))


def _as_arrangement_graph(topology: Topology) -> ArrangementGraph:
    if not isinstance(topology, ArrangementGraph):
        raise TypeError(f"{topology.spec} is neither a star graph nor an (n,k)-star")
    return topology


def _write_greedy_ports(topology: ArrangementGraph, root: Perms, out: NDArray[np.uint8]) -> None:
    """Write each node's port towards its parent in the greedy tree to ``out``; 0 at the root.

    If a node begins with the root's first symbol, the port is the first position in which the node
    differs from the root. If a node begins with another symbol of the root, the port is the
    position of this symbol in the root. `_residual_ports` computes the ports of all other nodes.

    Args:
        topology: a star graph or an (n,k)-star.
        root: the root's symbols, uint8 ``[length]``.
        out: uint8 ``[nodes]``.
    """
    n, block = topology.n, topology.nodes // topology.n
    home = np.zeros(n + 1, dtype=np.uint8)  # each symbol's position in the root, 0 if it has none
    home[root] = np.arange(1, len(root) + 1)
    # Nodes with the same first symbol have consecutive ranks, and often the same port, so runs of
    # equal ports are filled at once. Computing each port would take n operations per node.
    for symbol in range(1, n + 1):
        start, stop = (symbol - 1) * block, symbol * block
        if home[symbol] == 1:
            write_first_differences(n, root, start, out)
        elif home[symbol]:
            out[start:stop].fill(home[symbol])
        else:
            for first in range(start, stop, _ROWS):
                nodes = np.arange(first, min(first + _ROWS, stop))
                ports = _residual_ports(topology, root, home, topology.rows(nodes))
                out[first : first + len(nodes)] = ports


def _residual_ports(
    topology: ArrangementGraph, root: Perms, home: NDArray[np.uint8], rows: Perms
) -> NDArray[np.uint8]:
    """Return the greedy tree's parent ports for nodes whose first symbol the root lacks.

    Args:
        topology: the (n,k)-star.
        root: the root's symbols, uint8 ``[k]``.
        home: the position of each symbol in the root, 0 if it is missing, uint8 ``[n + 1]``.
        rows: the nodes' symbols, uint8 ``[count, k]``.
    """
    count, k = rows.shape
    # Column i: the position of the root's i-th symbol in each node, 0 if the node lacks the symbol.
    position = np.zeros((count, k + 1), dtype=np.uint8)
    np.put_along_axis(position, home[rows], np.arange(1, k + 1, dtype=np.uint8)[None, :], axis=1)
    own = np.ones(count, dtype=np.uint8)
    for _ in range(k):  # follow the chain of the first symbol
        successor = position[np.arange(count), own]
        own = np.where(successor > 0, successor, own)
    desired = position == 0  # the symbols that a node lacks are the desired symbols of its chains
    desired[:, 0] = False
    desired[np.arange(count), own] = False
    chosen = np.where(desired.any(axis=1), desired.argmax(axis=1), own)
    return topology.residual_port(rows, root[chosen - 1])


class _Front(NamedTuple):
    """The nodes informed in the latest step of a broadcast, as parallel arrays.

    Each node is the source in a substar S_dim1 and sends over the ports 2 to dim1 (Sheu, Liaw &
    Chen 1993, Rule 1). Unless dim2 is 0, the node is also a relay for S_dim2 and sends over the
    ports dim1 + 2 to dim2 (Rule 2).
    """

    node: Ranks
    dim1: NDArray[np.uint8]
    dim2: NDArray[np.uint8]


@construction(
    "recursive-substar", families=["star"], description="the tree of a broadcast in 2n-3 steps",
    source="Sheu, Liaw & Chen 1993, section 2",
)  # fmt: skip
def recursive_substar(topology: Topology, root: int) -> Forest:
    """Return the tree, of height 2n-3, of a broadcast that divides S_n recursively into substars.

    In the broadcast, each node sends to all its children in the step after it is informed.

    Reference: Sheu, Liaw & Chen 1993, section 2, Rules 1 and 2.
    """
    row = np.zeros(topology.nodes, dtype=np.uint8)
    front = _Front(np.zeros(1, np.int32), np.full(1, topology.n, np.uint8), np.zeros(1, np.uint8))
    while len(front.node):
        parts = [_send(topology, row, front, port) for port in topology.ports]
        front = _Front(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    rows = translate_ports(topology, row[None, :], root)
    return Forest(topology, rows, root, "recursive-substar")


def _send(topology: Topology, row: NDArray[np.uint8], front: _Front, port: int) -> _Front:
    """Let the nodes of a front send over one port; return the receivers as a new front.

    The receivers' ports to their parents are written to ``row``, uint8 ``[nodes]``.
    """
    last = front.dim1 == port  # Rule 1, port dim1: the receiver is a source only
    inner = port < front.dim1  # Rule 1, other ports: the receiver is also a relay for S_dim1
    # Rule 2: a relay sends over the ports from dim1 + 2 to dim2; dim1 + 1 leads to its parent.
    relayed = (front.dim1 + 2 <= port) & (port <= front.dim2)
    chosen = last | inner | relayed
    receivers = topology.neighbours(port, front.node[chosen])
    row[receivers] = port
    dim1 = np.full(len(receivers), port - 1, dtype=np.uint8)
    return _Front(receivers, dim1, np.where(inner, front.dim1, 0)[chosen].astype(np.uint8))
