"""All-to-all broadcast on S_{n,k}, level after level: what the links of each level carry, counted and executed.

Relabelling moves a tree from Id to any other source (LC), by any order of the symbols that the source lacks. The dimension
changes that S_{n,k} admits are its automorphisms that keep Id: for 2 <= k <= n-2 permutations of positions 2..k, which take
exchanges to exchanges and residual links to residual links; for k = n-1 and k = 1 all links are alike. A message that is cut
evenly for all of these loads the links of such a class alike: as many units m on each as the tree has links of the class on
that level, over the links of the class at a node.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims.formulas import arrangements, nk_diameter
from starcast.claims.growth import Number, divided, greatest
from starcast.claims.object_cache import ObjectCache
from starcast.claims.reference.bfs import depths, parents
from starcast.claims.reference.nk_labels import size, symbols, turned
from starcast.claims.reference.nk_pipelines import ONE_TREE
from starcast.collectives.broadcast import build_pipeline
from starcast.collectives.model import Schedule
from starcast.collectives.translation import ports_between
from starcast.topologies import Topology
from starcast.trees import Forest

_CHANGED = "nk-greedy with dimension changes"


def classes(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """The ports whose links an automorphism takes to one another."""
    k = size(topology)
    if k in (1, topology.n - 1):
        return (topology.ports,)
    return (topology.ports[: k - 1], topology.ports[k - 1 :])


def spread(objects: ObjectCache, topology: Topology, construction: str) -> NDArray[Any]:
    """Fractions ``[levels, classes]``: what each directed link of a class carries in the step of a level, over m.

    The message is cut evenly for all trees of the construction, and for all relabellings and dimension changes.
    """
    forest = objects.forest(topology.spec, construction)
    counts: dict[tuple[int, int], int] = {}
    depth = depths(objects, topology, forest.parent_port)
    if depth.min() < 0:
        raise ValueError(f"{forest.id} does not span {topology.spec}")
    for row, level in zip(forest.parent_port, depth, strict=True):
        for kind, ports in enumerate(classes(topology)):
            for at, links in enumerate(
                np.bincount(level[np.isin(row, ports) & (level > 0)]).tolist()
            ):
                counts[at, kind] = counts.get((at, kind), 0) + links
    return np.array(
        [
            [
                Fraction(counts.get((at, kind), 0), len(ports) * forest.trees)
                for kind, ports in enumerate(classes(topology))
            ]
            for at in range(1, int(depth.max()) + 1)
        ],
        dtype=object,
    )


def all_port(found: NDArray[Any]) -> Fraction:
    """The bytes that take time, over m: in every step those of the fullest link."""
    return sum((max(row) for row in found), Fraction(0))


def one_port(topology: Topology, found: NDArray[Any]) -> Fraction:
    """The same with a sub-slot a port in place of a step."""
    return sum(
        (
            load * len(ports)
            for row in found
            for load, ports in zip(row, classes(topology), strict=True)
        ),
        Fraction(0),
    )


def sub_slots(topology: Topology, found: NDArray[Any]) -> int:
    """The last sub-slot in which something is sent, n-1 for each level."""
    last = max(max(ports) for load, ports in zip(found[-1], classes(topology), strict=True) if load)
    return (len(found) - 1) * topology.degree + last - 1


def each_class(found: NDArray[Any]) -> Fraction:
    """The same as `all_port` or more: in every step those of the fullest link of each class."""
    return sum((sum(row, Fraction(0)) for row in found), Fraction(0))


def most(n: int, k: int) -> Number:
    """`each_class` of SP and of MT, for all n and k, so no less than `all_port`; for k = 1 and k = n-1, one class, the same.

    By Definition 3 as many nodes have a residual link to their parent in SP as begin with a symbol beyond k: N(n-k)/n, which
    n-k ports share. The other kN/n - 1 are exchanges, which k-1 ports share. SP(r) is SP(Id) relabelled, and MT has its links.
    """
    nodes = arrangements(n, k)
    if k in (1, n - 1):
        return divided(nodes - 1, n - 1)
    return divided(nodes, n) + divided(divided(k * nodes, n) - 1, k - 1)


def changed(objects: ObjectCache, topology: Topology) -> Schedule:
    """All-to-all broadcast on SP, all-port, by levels, a part of each message for every cyclic shift of the positions.

    Of positions 2..k, and of 2..n where k = n-1. For k = 1 the tree is its own image.
    """

    def make() -> Schedule:
        row = objects.forest(topology.spec, ONE_TREE).parent_port[0]
        above = parents(objects, topology, row)
        k, node = size(topology), np.arange(topology.nodes)
        last = topology.n if k == topology.n - 1 else k
        rows = np.zeros((max(1, last - 1), topology.nodes), dtype=np.uint8)
        rows[0] = row
        for by in range(1, last - 1):
            image = turned(topology, symbols(objects, topology), last, by)
            child, parent = image[node[above >= 0]], image[above[above >= 0]]
            rows[by, child] = ports_between(topology, child, parent)
        rows.flags.writeable = False
        along = Forest(topology, rows)
        return build_pipeline(
            along,
            "all",
            1,
            collective="allgather",
            algorithm=_CHANGED,
            packets=True,
            symmetric=True,
        )

    return objects.get_or_create("schedule", (topology.spec, "allgather", _CHANGED), make)


def changed_weight(topology: Topology) -> int:
    """Bytes a node of `changed`, written out for all sources where that is needed."""
    rows = topology.degree * (1 if topology.translation_keeps_ports else topology.nodes)
    return 200 * rows


def height_at_most(n: int, k: int) -> int:
    """2D, which no tree MT is higher than (Theorem 7)."""
    return 2 * nk_diameter(n, k)


def quotient(*terms: tuple[Number, Number]) -> Number:
    """The greatest quotient of a sum and a stated sum over all positive parameters, term by term."""
    return greatest(divided(found, stated) for found, stated in terms)
