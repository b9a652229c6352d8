"""Trees of (n,k)-stars and hypercubes, trees from records, and breadth-first trees.

**(n,k)-stars** have the trees SP(r) and MT(R_i), which `starcast.trees.greedy` defines.

**Spanning binomial trees** of the hypercube Q_d (Johnsson & Ho 1989). Ports number the bits of a
label from the left, and c = x xor r is a node's *relative label* for the root r.

* Spanning binomial tree: the link from x to its parent flips the leftmost 1 of c. The links to its
  children flip the 0s to the left of that 1.
* The d edge-disjoint spanning binomial trees: tree i-1 is a spanning binomial tree rooted at the
  neighbour of r across port i, with the bits in the cyclic order i, i+1, .., d, 1, .., i-1 instead
  of from left to right. In that tree r is a leaf; if the link to r, across port i, is reversed, r
  becomes the root. The link from x to its parent flips bit i if bit i of c is 0. Otherwise the link
  flips the first 1 after bit i in the cyclic order, or bit i if c has no other 1.

Each directed link except the links into the root is in exactly one of the d trees. The link to x
over port p is in the tree of port p if bit p of c is 0. Otherwise the link is in the tree of the
last 1 before bit p in the cyclic order, or in the tree of port p if c has no other 1.

**Records** are stored search results that come with starcast; some of them are edge-disjoint
spanning trees of minimum height. The **breadth-first** tree exists on every topology: each node's
parent is across its lowest port that leads closer to the root.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import Topology, as_topology
from starcast.trees.construction import construction, translate_ports
from starcast.trees.greedy import greedy_tree, rerooted_trees
from starcast.trees.model import Forest


@construction(
    "nk-greedy", families=["nk-star"],
    description="the shortest-path tree that routes by the first symbol: SP(r)",
    source="Li, Chen, Xiang & Yao, Def. 3",
)  # fmt: skip
def nk_greedy(topology: Topology, root: int) -> Forest:
    """Return the shortest-path tree SP(r) with root r.

    `starcast.trees.greedy` defines the tree.

    Reference: Li, Chen, Xiang & Yao, Def. 3.
    """
    return greedy_tree(topology, root, "nk-greedy")


@construction(
    "nk-multiple", families=["nk-star"],
    description="n-1 trees: the shortest-path tree of each cyclic shift of r, re-rooted at r: "
    "MT(R_i)",
    source="Li, Chen, Xiang & Yao, Def. 4 and 5", one_tree_per_port=True,
)  # fmt: skip
def nk_multiple(topology: Topology, root: int) -> Forest:
    """Return the n-1 trees MT(R_i): shortest-path trees with other roots, re-rooted at r.

    Tree i-1 is the shortest-path tree SP(R_i(r)), re-rooted at r. To compute R_i(r), the label r is
    extended by its missing symbols and shifted right by i positions; the first k symbols of the
    result are the label of R_i(r).

    Reference: Li, Chen, Xiang & Yao, Def. 4 and 5.
    """
    return rerooted_trees(topology, root, "nk-multiple")


@construction(
    "binomial", families=["hypercube"], description="the spanning binomial tree",
    source="Johnsson & Ho 1989",
)  # fmt: skip
def binomial(topology: Topology, root: int) -> Forest:
    """Return the spanning binomial tree, a shortest-path tree with comb(d, l) nodes on level l.

    Reference: Johnsson & Ho 1989.
    """
    row = np.zeros((1, topology.nodes), dtype=np.uint8)
    for port in topology.ports:  # the nodes whose leftmost 1 is this bit have consecutive ranks
        first = topology.nodes >> port
        row[0, first : 2 * first] = port
    rows = translate_ports(topology, row, root)
    return Forest(topology, rows, root, "binomial", verify_hubs=(root,))


@construction(
    "edge-disjoint-binomial", families=["hypercube"],
    description="d directed edge-disjoint spanning binomial trees", source="Johnsson & Ho 1989",
    one_tree_per_port=True,
)  # fmt: skip
def edge_disjoint_binomial(topology: Topology, root: int) -> Forest:
    """Return the d edge-disjoint spanning binomial trees, of height d+1 (height 1 if d = 1).

    Reference: Johnsson & Ho 1989.
    """
    d = topology.n
    rows = np.empty((d, topology.nodes), dtype=np.uint8)
    for i, row in zip(topology.ports, rows, strict=True):
        row.fill(i)
        cube = row.reshape((2,) * d)  # a view with one axis per bit, the leftmost first
        # Bits are processed in cyclic order from the furthest to the nearest bit after bit i, so
        # the port of the nearest 1 is written last.
        for steps in range(d - 1, 0, -1):
            p = (i - 1 + steps) % d + 1
            ones = tuple(1 if port in {i, p} else slice(None) for port in topology.ports)
            cube[ones] = p
        row[0] = 0
    rows = translate_ports(topology, rows, root)
    hubs = tuple(int(topology.neighbours(port, [root])[0]) for port in topology.ports)
    return Forest(topology, rows, root, "edge-disjoint-binomial", verify_hubs=hubs)


_PROBLEM = "edge-disjoint-trees"


def record_witness(problem: str, topology: Topology | str) -> Mapping[str, NDArray[Any]]:
    """Return the witness of a record that comes with starcast: the arrays of the stored solution.

    Args:
        problem: the name of a search problem, such as ``edge-disjoint-trees``.
        topology: the topology of the record, or its spec.

    Raises:
        NotFoundError: starcast has no record of this problem on the topology.
    """
    # `starcast.records` is imported only when needed, because it loads pydantic.
    from starcast.records import shipped_record  # noqa: PLC0415

    return shipped_record(problem, as_topology(topology).spec).witness


def missing_record(problem: str, topology: Topology) -> str | None:
    """Return why starcast has no record with a proven optimum on a topology; None if it has one."""
    from starcast.records.files import missing_reason  # noqa: PLC0415

    return missing_reason(problem, topology.spec, optimal=True)


@construction(
    "optimal-edge-disjoint", families=["star", "nk-star", "hypercube"],
    description="directed edge-disjoint spanning trees of minimum height, found by a search",
    source="starcast: records of edge-disjoint-trees", smallest=3, one_tree_per_port=True,
    exclusion=partial(missing_record, _PROBLEM),
)  # fmt: skip
def optimal_edge_disjoint(topology: Topology, root: int) -> Forest:
    """Return arc-disjoint spanning trees of minimum height, one tree per port of the root."""
    rows = record_witness(_PROBLEM, topology)["parent_port"].copy()
    return Forest(topology, translate_ports(topology, rows, root), root, "optimal-edge-disjoint")


@construction(
    "breadth-first",
    description="the shortest-path tree in which each node uses its lowest port that leads closer",
    source="starcast: on every topology",
)  # fmt: skip
def breadth_first(topology: Topology, root: int) -> Forest:
    """Return the tree in which each node's parent is across its lowest port towards the root."""
    distances = topology.distances(root)
    row = np.zeros((1, topology.nodes), dtype=np.uint8)
    # The lowest port is written last, so it replaces the higher ports.
    for port in reversed(topology.ports):
        row[0, distances[topology.neighbours(port)] < distances] = port
    return Forest(topology, row, root, "breadth-first", verify_hubs=(root,))
