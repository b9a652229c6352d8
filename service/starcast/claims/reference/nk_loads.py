"""All-to-all broadcast on S_{n,k}, level by level: loads of the links, computed and executed.

Relabelling moves a tree from Id to any other source (LC), for any order of the missing symbols. The
dimension changes that S_{n,k} admits are its automorphisms that fix Id: for 2 <= k <= n-2 the
permutations of positions 2..k, which map exchanges to exchanges and residual links to residual
links; for k = n-1 and k = 1 all links are alike. If a message is cut evenly for all of them, the
links of such a class have equal loads: the number of links of the class on that level of the tree,
divided by the number of links of the class at a node, in units of m.
"""

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import arrangements, nk_diameter
from starcast.claims.growth import Number, divided, greatest
from starcast.claims.object_cache import CachedTopology
from starcast.claims.reference.bfs import depths, parents
from starcast.claims.reference.nk_labels import shift_nodes, symbols
from starcast.claims.reference.nk_pipelines import ONE_TREE
from starcast.claims.reference.pipelines import allgather_by_levels
from starcast.collectives.model import Schedule
from starcast.collectives.translation import ports_between
from starcast.topologies import Topology
from starcast.trees import Forest

_ALGORITHM = "nk-greedy with dimension changes"


def link_classes(network: CachedTopology) -> tuple[tuple[int, ...], ...]:
    """Return the ports of each class of links that automorphisms map to each other."""
    n, k = network.n_and_k
    if k in (1, n - 1):
        return (network.ports,)
    return (network.ports[: k - 1], network.ports[k - 1 :])


def class_loads(check: ClaimCheck, construction: str) -> NDArray[Any]:
    """Return the load of a directed link of each class in the step of each level, divided by m.

    The message is cut evenly for all trees of the construction, relabellings and dimension changes.

    Returns:
        fractions ``[levels, classes]``.
    """
    forest = check.forest(construction)
    depth = depths(check, forest.parent_port)
    if depth.min() < 0:
        raise ValueError(f"{forest.id} does not span {check.spec}")
    classes = link_classes(check)
    links = Counter[tuple[int, int]]()
    for row, level in zip(forest.parent_port, depth, strict=True):
        for kind, ports in enumerate(classes):
            per_level = np.bincount(level[np.isin(row, ports) & (level > 0)])
            for at, count in enumerate(per_level.tolist()):
                links[at, kind] += count
    loads = np.empty((int(depth.max()), len(classes)), dtype=object)
    for at, kind in np.ndindex(loads.shape):
        shares = len(classes[kind]) * forest.trees
        loads[at, kind] = Fraction(links[at + 1, kind], shares)
    return loads


def all_port_bytes(loads: NDArray[Any]) -> Fraction:
    """Return the all-port bytes as a multiple of m: the sum of the largest loads of the levels."""
    return sum((max(level) for level in loads), Fraction(0))


def one_port_bytes(network: CachedTopology, loads: NDArray[Any]) -> Fraction:
    """Return the one-port bytes as a multiple of m: the loads of all ports and levels, summed."""
    sizes = [len(ports) for ports in link_classes(network)]
    return sum((loads @ sizes).tolist(), Fraction(0))


def last_sub_slot(network: CachedTopology, loads: NDArray[Any]) -> int:
    """Return the last sub-slot in which a node sends, with n-1 sub-slots per level."""
    classes = zip(loads[-1], link_classes(network), strict=True)
    last_port = max(max(ports) for load, ports in classes if load)
    return (len(loads) - 1) * network.degree + last_port - 1


def bytes_by_class(loads: NDArray[Any]) -> Fraction:
    """Return the sum of the loads of all classes and levels, at least `all_port_bytes`."""
    return sum(loads.ravel().tolist(), Fraction(0))


def bytes_formula(n: int, k: int) -> Number:
    """Return `bytes_by_class` of SP and of MT, for all n and k.

    It is at least `all_port_bytes`, and equal for k = 1 and k = n-1, where there is one class. By
    Definition 3 the nodes that begin with a symbol beyond k have a residual link to their parent in
    SP: N(n-k)/n, which n-k ports share. The other kN/n - 1 links are exchanges, which k-1 ports
    share. SP(r) is SP(Id) relabelled, and MT has its links.
    """
    nodes = arrangements(n, k)
    if k in (1, n - 1):
        return divided(nodes - 1, n - 1)
    return divided(nodes, n) + divided(divided(k * nodes, n) - 1, k - 1)


def optimal_bytes(n: int, k: int) -> Number:
    """Return (N-1)/(n-1)."""
    return divided(arrangements(n, k) - 1, n - 1)


def dimension_change_allgather(network: CachedTopology) -> Schedule:
    """Return the all-port all-to-all broadcast on SP by levels, with dimension changes.

    Each message has a part for every cyclic shift of positions 2..k, or 2..n for k = n-1. For k = 1
    the tree is its own image.
    """

    def create() -> Schedule:
        n, k = network.n_and_k
        last = n if k == n - 1 else k
        row = network.forest(ONE_TREE).parent_port[0]
        parent = parents(network, row)
        child = np.flatnonzero(parent >= 0)
        rows = np.zeros((max(1, last - 1), network.nodes), dtype=np.uint8)
        rows[0] = row
        for places in range(1, last - 1):
            image = shift_nodes(network, symbols(network), last, places)
            tails, heads = image[child], image[parent[child]]
            rows[places, tails] = ports_between(network.topology, tails, heads)
        rows.flags.writeable = False
        return allgather_by_levels(Forest(network.topology, rows), _ALGORITHM)

    return network.build(create, "allgather", _ALGORITHM)


def allgather_bytes(topology: Topology) -> int:
    """Estimate the memory, in bytes per node, of an all-to-all broadcast with all its rows."""
    return 200 * topology.degree * (1 if topology.translation_keeps_ports else topology.nodes)


def height_bound(n: int, k: int) -> int:
    """Return 2D, the largest possible height of a tree MT (Theorem 7)."""
    return 2 * nk_diameter(n, k)


def greatest_quotient(*terms: tuple[Number, Number]) -> Number:
    """Return the largest quotient of two sums over all positive parameters.

    ``terms`` are the coefficients of each parameter in the measured and in the stated sum.
    """
    return greatest(divided(measured, stated) for measured, stated in terms)
