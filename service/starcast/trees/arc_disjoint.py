"""Arc-disjoint spanning trees on any topology, by default as many as exist.

Trees with a common root are *arc-disjoint* if no directed link is in two of them. The maximum
number of such trees is the smallest maximum flow from the root to another node (Edmonds 1973). This
number is the same for all roots (`starcast.topologies.flows`).

The trees grow together, level by level. A directed link from a node of a tree to a node outside the
tree is added to the tree if all trees can still be completed afterwards; the search for a few
augmenting paths decides this. Lovász (1976) grows one tree after the other. All trees can also grow
together, because Edmonds's theorem holds for any partial trees. A link that is rejected for a tree
is never tried again for this tree: with it, too few free links into some set of nodes would remain,
and links never become free again. So most links are tried only once, and the trees stay shallow.
Exchanges of parent links then reduce the heights further, but not always to the minimum.
"""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from starcast.catalogue.entries import Argument, Seed
from starcast.support.errors import LimitError
from starcast.support.progress import Task, computing
from starcast.support.text import format_duration
from starcast.topologies import Topology, memory
from starcast.topologies.flows import Arcs, link_connectivity
from starcast.trees.construction import construction, translate_ports
from starcast.trees.model import Forest

#: Building time in seconds per directed link of the topology (or of the trees, if they have more
#: links), with numba (True, measured on S_9) and without numba (False).
_SECONDS_PER_LINK = {True: 5e-5, False: 2e-3}
#: Trees are refused if the estimated time to build them exceeds this number of seconds.
MAX_SECONDS = 600
#: Memory in bytes per directed link: in arrays with numba (True), in lists without numba (False).
#: Links are counted as for `_SECONDS_PER_LINK`.
_LINK_BYTES = {True: 40, False: 250}
#: Number of candidate links (while trees grow) or of nodes (while their links are exchanged) that
#: are processed between two checks for Ctrl-C.
_CHUNK = 2**14

TreeCount = Annotated[
    int,
    Argument(
        "trees", "number of trees, by default as many as exist", link_connectivity,
        maximum=link_connectivity,
    ),
]  # fmt: skip


@construction(
    "arc-disjoint", description="as many arc-disjoint spanning trees as exist",
    source="Edmonds 1973; Lovász 1976",
    tree_count=lambda _, arguments: int(arguments["trees"]),
)  # fmt: skip
def arc_disjoint(topology: Topology, root: int, trees: TreeCount, seed: Seed) -> Forest:
    """Return a forest of ``trees`` arc-disjoint spanning trees with a common root.

    On a topology with translations, the trees are built at the identity and translated to the root.
    The seed determines the order in which links are tried.

    Raises:
        LimitError: the trees do not fit into memory, or would take longer than `MAX_SECONDS` to
            build, according to an estimate.
    """
    start = 0 if topology.has_translations else root
    rows = _Packing(topology, start, trees).build(seed)
    if topology.has_translations:
        rows = translate_ports(topology, rows, root)
    return Forest(topology, rows, root, "arc-disjoint", {"trees": trees, "seed": seed})


def _require_time(topology: Topology, trees: int, *, is_compiled: bool) -> None:
    links = topology.nodes * max(trees, topology.port_count)
    purpose = f"{trees} arc-disjoint trees on {topology.nodes:,} nodes"
    memory.require(links * _LINK_BYTES[is_compiled], purpose)
    seconds = links * _SECONDS_PER_LINK[is_compiled]
    if seconds > MAX_SECONDS:
        without = "" if is_compiled else " without numba"
        raise LimitError(
            f"building {purpose} of {topology.spec} would take about"
            f" {format_duration(seconds)}{without}; the limit is {format_duration(MAX_SECONDS)}",
            hint="choose a smaller topology" + ("" if is_compiled else ", or install numba"),
        )


class _Packing:
    """Arc-disjoint trees under construction, stored in arrays for the loops of `packing_loops`."""

    def __init__(self, topology: Topology, root: int, trees: int) -> None:
        from starcast.support import optional_numba  # noqa: PLC0415 - loads numba

        _require_time(topology, trees, is_compiled=optional_numba.IS_COMPILED)
        from starcast.trees import packing_loops  # noqa: PLC0415

        self._loops = packing_loops
        self._as_workspace = optional_numba.as_workspace
        self._topology, self._trees = topology, trees
        self._arcs = Arcs.of(topology)
        nodes, links = topology.nodes, len(self._arcs.tails)
        ends = np.arange(nodes).repeat(topology.port_count)
        owner = np.where(self._arcs.tails == ends, packing_loops.MISSING, packing_loops.FREE)
        level = np.full((trees, nodes), -1, dtype=np.int32)
        level[:, root] = 0
        self._tails, self._twins, self._owner, self._level = self._as_workspaces(
            self._arcs.tails, self._arcs.twins, owner.astype(np.int16), level.ravel()
        )
        distances = topology.distances(root).astype(np.int32)
        self._workspaces = self._as_workspaces(
            # `packing_loops.is_allowed` explains these arrays, in this order.
            np.zeros(links, dtype=np.uint8),
            np.zeros(trees, dtype=np.int32),
            np.zeros(nodes + trees, dtype=np.int64),
            np.zeros(nodes, dtype=np.int64),
            distances,
            np.full(distances.max() + 1, -1, dtype=np.int32),
            np.zeros(nodes, dtype=np.int32),
            np.zeros(trees * nodes, dtype=np.int32),
        )

    def _as_workspaces(self, *arrays: NDArray[Any]) -> tuple[Any, ...]:
        return tuple(self._as_workspace(array) for array in arrays)

    def build(self, seed: int) -> NDArray[np.uint8]:
        """Build the trees; return each node's port towards its parent, uint8 ``[trees, nodes]``."""
        places = self._trees * self._topology.nodes
        with computing("growing arc-disjoint trees", places, "nodes") as task:
            self._grow(seed, task)
        self._lower()
        rows = np.zeros((self._trees, self._topology.nodes), dtype=np.uint8)
        owner = np.asarray(self._owner)
        chosen = np.flatnonzero(owner >= 0)
        node, port = np.divmod(chosen, self._topology.port_count)
        rows[owner[chosen], node] = np.array(self._topology.ports)[port]
        return rows

    def _grow(self, seed: int, progress: Task) -> None:
        """Grow the trees level by level, until all nodes are in all trees."""
        nodes, ports = self._topology.nodes, self._topology.port_count
        leaving = self._arcs.twins.reshape(nodes, ports)
        height, stamp = 0, 0
        while True:
            level = np.asarray(self._level)
            tree, node = np.divmod(np.flatnonzero(level == height), nodes)
            if not len(tree):
                return
            progress.advance(len(tree))
            takers, links = tree.repeat(ports), leaving[node].reshape(-1)
            is_useful = level[takers * nodes + links // ports] < 0
            is_useful &= np.asarray(self._owner)[links] == self._loops.FREE
            takers, links = takers[is_useful], links[is_useful]
            order = np.argsort(_mix(takers * (nodes * ports) + links, seed), kind="stable")
            for begin in range(0, len(order), _CHUNK):
                part = order[begin : begin + _CHUNK]
                stamp = self._loops.grow(
                    self._as_workspace(takers[part]), self._as_workspace(links[part]), ports,
                    self._tails, self._twins, self._owner, self._level, self._workspaces, stamp,
                )  # fmt: skip
            height += 1

    def _lower(self) -> None:
        """Reduce the heights of the trees by exchanging links, until no exchange helps."""
        nodes, ports = self._topology.nodes, self._topology.port_count
        below = self._as_workspace(self._heights_below())
        stack = self._as_workspace(np.zeros(nodes, dtype=np.int32))
        exchanges = 1
        while exchanges:
            exchanges = sum(
                self._loops.lower_trees(
                    first, min(first + _CHUNK, nodes), ports, self._tails, self._twins,
                    self._owner, self._level, below, stack,
                )
                for first in range(0, nodes, _CHUNK)
            )  # fmt: skip

    def _heights_below(self) -> NDArray[np.int32]:
        """Return the height of each node's subtree in each tree, int32 ``[trees * nodes]``."""
        nodes = self._topology.nodes
        owner, level = np.asarray(self._owner), np.asarray(self._level)
        links = np.flatnonzero(owner >= 0)
        child = owner[links] * np.int64(nodes) + links // self._topology.port_count
        parent = owner[links] * np.int64(nodes) + self._arcs.tails[links]
        below = np.zeros(len(level), dtype=np.int32)
        for height in range(int(level.max()), 0, -1):
            chosen = level[child] == height
            np.maximum.at(below, parent[chosen], below[child[chosen]] + 1)
        return below


def _mix(values: NDArray[np.integer], seed: int) -> NDArray[np.uint64]:
    """Return different pseudo-random numbers for different values (SplitMix64, Steele et al. 2014).

    The numbers are the same on every platform and with every version of numpy.
    """
    mixed = values.astype(np.uint64) + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
