"""How often trees use the directed links, from parent to child; opposite directions are two links."""

import numpy as np

from starcast.checkers.evidence import Evidence
from starcast.checkers.shape import forest
from starcast.checkers.traversal import Grown, Ports, Walk
from starcast.permutations import Ranks
from starcast.topologies import Topology


def loads(topology: Topology, parent_port: Ports, root: int) -> Ranks:
    """How many trees use each directed link, int32 ``[nodes, ports]``: from the node over the port, in the ports' order.

    The parent's port is the one across which the child is found.

    Raises:
        RejectedError: the array is no forest.
    """
    return _loads(*forest(topology, parent_port, root))


def congestion(topology: Topology, parent_port: Ports, root: int, bound: int) -> Evidence:
    """No directed link is used by more than ``bound`` trees. Measured: by how many at most.

    Raises:
        RejectedError: the array is no forest.
    """
    return _congestion("congestion", *forest(topology, parent_port, root), bound)


def edge_disjoint(topology: Topology, parent_port: Ports, root: int) -> Evidence:
    """No directed link is used by two trees. Measured: by how many at most.

    Raises:
        RejectedError: the array is no forest.
    """
    return _congestion("edge-disjoint", *forest(topology, parent_port, root), 1)


def _loads(walk: Walk, trees: list[Grown]) -> Ranks:
    load = np.zeros((walk.topology.degree, walk.topology.nodes), dtype=np.int32)
    for tree in trees:
        children = np.flatnonzero(tree.levels > 0)
        parents = tree.parents[children]
        for column, across in enumerate(walk.across):
            users = parents[across[parents] == children]
            load[column] += np.bincount(users, minlength=walk.topology.nodes).astype(np.int32)
    return np.ascontiguousarray(load.T)


def _congestion(check: str, walk: Walk, trees: list[Grown], bound: int) -> Evidence:
    load = _loads(walk, trees)
    most = int(load.max())
    if most <= bound:
        return Evidence(check, most)
    node, column = (int(index) for index in np.argwhere(load > bound)[0])
    child = int(walk.across[column, node])
    users = [
        number
        for number, tree in enumerate(trees)
        if tree.levels[child] > 0 and tree.parents[child] == node
    ]
    place: dict[str, int | str] = {
        "tree": users[bound],
        "link": walk.link(node, child),
        "found": int(load[node, column]),
        "stated": bound,
    }
    return Evidence(check, most, place)
