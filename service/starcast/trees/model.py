"""A forest is one array: for every tree and node, the port towards the parent.

Everything else about a forest (parents, levels, loads) is computed from that array and the topology, and `Forest.verify`
judges it without knowing who made it.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.errors import InputError, RejectedError
from starcast.permutations import Ranks
from starcast.support.arrays import freeze, frozen_copy
from starcast.topologies import Topology, as_topology
from starcast.topologies.base import Sight
from starcast.trees import files, spec_syntax

#: The construction of a forest that no rule of the catalogue made.
UNNAMED = "array"

_NO_ARGUMENTS: Mapping[str, str | int] = MappingProxyType({})


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    """Trees with one root on one topology.

    Args:
        topology: where the trees grow; a `Topology` or its name.
        parent_port: uint8 ``[trees, nodes]``: each node's port towards its parent, 0 at the root and where a node is not
            in that tree. Kept read-only; an array that somebody could still write is copied.
        root: label or rank of the common root.
        construction: the rule that made the trees.
        arguments: the rule's arguments beyond the root.
        spanning: every tree reaches all nodes; partial trees (`perfectly-balanced`) say False.
        toward: for each tree a node that most parents lead closer to. It makes `verify` fast and never decides it.

    Raises:
        InputError: the array has a wrong shape or type, or the root is no node.
    """

    topology: Topology
    parent_port: NDArray[np.uint8]
    root: int = 0
    construction: str = UNNAMED
    arguments: Mapping[str, str | int] = field(default_factory=lambda: _NO_ARGUMENTS)
    spanning: bool = True
    verify_hubs: Sequence[int] | None = None

    def __post_init__(self) -> None:
        topology = as_topology(self.topology)
        object.__setattr__(self, "topology", topology)
        object.__setattr__(self, "root", topology.node(self.root))
        object.__setattr__(self, "parent_port", _frozen(self.parent_port, topology))
        object.__setattr__(self, "arguments", MappingProxyType(dict(self.arguments)))
        if self.verify_hubs is not None and len(self.verify_hubs) != self.trees:
            raise InputError(
                f"{len(self.verify_hubs)} nodes are given as 'toward' for {self.trees} trees",
                hint="give one a tree, or leave it out",
            )
        object.__setattr__(
            self,
            "toward",
            None
            if self.verify_hubs is None
            else tuple(topology.node(hub) for hub in self.verify_hubs),
        )

    @property
    def id(self) -> str:
        """The name under which the forest is stored: ``S5:multiple:12345``."""
        return f"{self.topology.spec}:{spec_syntax.written(self.construction, self.arguments)}:{self.topology.label(self.root)}"

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """The forest in a file that `save` wrote. `verify` judges it, like any other.

        Raises:
            InputError: the file cannot be read, is no forest file, is of another version, or is damaged.
        """
        return cls(**files.read(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the forest to a file (npz): its array, its name and its arguments, whole or not at all.

        Raises:
            InputError: the file cannot be written.
        """
        files.write(self, path)

    @property
    def trees(self) -> int:
        """How many trees there are."""
        return len(self.parent_port)

    def members(self) -> NDArray[np.bool_]:
        """Whether a node is in a tree, bool ``[trees, nodes]``; the root is in every tree."""
        members: NDArray[np.bool_] = self.parent_port != 0
        members[:, self.root] = True
        return members

    def parents(self) -> Ranks:
        """The parent of each node, int32 ``[trees, nodes]``; -1 at the root and outside the tree.

        Raises:
            RejectedError: an entry is no port.
        """
        parents = np.full(self.parent_port.shape, -1, dtype=np.int32)
        for port in self._ports():
            across = self.topology.neighbours(port)
            for tree, chosen in self._users(port):
                parents[tree, chosen] = across[chosen]
        return parents

    def levels(self) -> Ranks:
        """The distance of each node from the root within each tree, int32 ``[trees, nodes]``; -1 outside the tree.

        Raises:
            RejectedError: the array is no forest.
        """
        levels = np.empty(self.parent_port.shape, dtype=np.int32)
        for tree, parents in enumerate(self.parents()):
            levels[tree], top = _climb(parents)
            lost = np.flatnonzero((top != self.root) & (self.parent_port[tree] != 0))
            if len(lost):
                self._reject_lost(tree, parents, top, lost)
            levels[tree, (self.parent_port[tree] == 0)] = -1
            levels[tree, self.root] = 0
        return freeze(levels)

    @cached_property
    def heights(self) -> NDArray[np.int64]:
        """The greatest level of each tree, int64 ``[trees]``."""
        return freeze(self.levels().max(axis=1).astype(np.int64))

    @property
    def height(self) -> int:
        """The greatest level of all trees."""
        return int(self.heights.max())

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many nodes each tree has, the root included, int64 ``[trees]``.

        Raises:
            RejectedError: an entry is no port, the root has a parent, or a node of a spanning tree is missing.
        """
        self._check_entries()
        return freeze(np.asarray(np.count_nonzero(self.parent_port, axis=1) + 1, dtype=np.int64))

    @cached_property
    def leaves(self) -> NDArray[np.int64]:
        """How many nodes of each tree have no child, int64 ``[trees]``; a root without children counts."""
        leaves = np.empty(self.trees, dtype=np.int64)
        for tree, parents in enumerate(self.parents()):
            inner = np.zeros(self.topology.nodes, dtype=bool)
            inner[parents[parents >= 0]] = True
            leaves[tree] = self.sizes[tree] - np.count_nonzero(inner)
        return freeze(leaves)

    def subtree_sizes(self) -> Ranks:
        """How many nodes hang below and at each node, itself included, int32 ``[trees, nodes]``; 0 outside the tree."""
        sizes = self.members().astype(np.int32)
        for row, parents, levels in zip(sizes, self.parents(), self.levels(), strict=True):
            order = np.argsort(levels, kind="stable")
            starts = np.searchsorted(levels, np.arange(1, levels.max() + 2), sorter=order)
            for first, last in reversed(
                list(pairwise(starts.tolist()))
            ):  # level by level, the deepest first
                nodes = order[first:last]
                np.add.at(row, parents[nodes], row[nodes])
        return sizes

    def level_profile(self) -> Ranks:
        """How many nodes each tree has on each level, int32 ``[trees, height + 1]``."""
        levels = self.levels()
        width = int(levels.max()) + 1
        return np.stack([np.bincount(row[row >= 0], minlength=width) for row in levels]).astype(
            np.int32
        )

    def load(self) -> NDArray[np.int16]:
        """How many trees use each directed link parent -> child, int16 ``[nodes, ports]``, ports in the topology's order.

        Opposite directions of a link are two directed links (`docs/decisions/0003`).

        Raises:
            RejectedError: an entry is no port, the root has a parent, or a node of a spanning tree is missing.
        """
        load = np.empty((self.topology.nodes, self.topology.degree), dtype=np.int16)
        for column, port in enumerate(self._ports()):
            load[:, column] = self._load_of(port)
        return load

    @cached_property
    def congestion(self) -> int:
        """The greatest load of a directed link.

        Raises:
            RejectedError: an entry is no port, the root has a parent, or a node of a spanning tree is missing.
        """
        return max(int(self._load_of(port).max()) for port in self._ports())

    def load_histogram(self) -> dict[int, int]:
        """How many directed links have each load that occurs; unused links count under 0.

        Raises:
            RejectedError: an entry is no port, the root has a parent, or a node of a spanning tree is missing.
        """
        counts: dict[int, int] = {}
        for port in self._ports():
            for load, links in enumerate(np.bincount(self._load_of(port)).tolist()):
                counts[load] = counts.get(load, 0) + links
        return {load: links for load, links in sorted(counts.items()) if links}

    def is_shortest_path(self) -> bool:
        """Whether every tree leads to each of its nodes by a shortest path."""
        levels = self.levels()
        return bool(((levels == self.topology.distances(self.root)) | (levels < 0)).all())

    def is_edge_disjoint(self) -> bool:
        """Whether no directed link is used by two trees.

        Raises:
            RejectedError: an entry is no port, the root has a parent, or a node of a spanning tree is missing.
        """
        return self.congestion <= 1

    def verify(self) -> None:
        """Prove that every tree is one: rooted at the root, without cycles, spanning unless declared partial.

        A tree is proved by a node that its parents lead closer to (`toward`, else the root), by distances alone; the few
        nodes whose parent leads elsewhere are followed to the root. Where they are many, all nodes are followed.

        Raises:
            RejectedError: names the first offending tree, the first node of it and the reason.
        """
        self._check_entries()
        for tree, astray in enumerate(self._astray()):
            if len(
                astray
            ) > self.topology.nodes // 64 + self.topology.degree or not self._reach_root(
                tree, astray
            ):
                self._follow_all(tree)

    def __repr__(self) -> str:
        return f"<Forest {self.id}: {self.trees} trees on {self.topology.nodes} nodes>"

    # Everything below works on one port or one tree at a time, so that memory stays a small multiple of one tree.

    def _ports(self) -> Iterator[int]:
        self._check_entries()
        return iter(self.topology.ports)

    def _users(self, port: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
        for tree, row in enumerate(self.parent_port):
            chosen = np.flatnonzero(row == port)
            if len(chosen):
                yield tree, chosen

    def _load_of(self, port: int) -> NDArray[np.int16]:
        # The child across this port uses the link if its own port towards the parent is the way back.
        back = self.topology.reverse_port(port)
        users = np.count_nonzero(self.parent_port == back, axis=0).astype(np.int16)
        return np.asarray(users[self.topology.neighbours(port)])

    def _check_entries(self) -> None:
        ports = {0, *self.topology.ports}
        gaps = [port for port in range(max(ports)) if port not in ports]
        for tree, row in enumerate(self.parent_port):
            if row[self.root]:
                raise self._rejected(tree, self.root, "is the root and has a parent")
            if row.max() > max(ports) or any((row == gap).any() for gap in gaps):
                node = int(np.flatnonzero(~np.isin(row, list(ports)))[0])
                raise self._rejected(
                    tree,
                    node,
                    f"has port {row[node]} towards its parent, which {self.topology.spec} lacks",
                )
            if self.spanning and np.count_nonzero(row) != self.topology.nodes - 1:
                outside = np.flatnonzero(row == 0)
                raise self._rejected(tree, int(outside[outside != self.root][0]), "is not reached")

    def _astray(self) -> list[NDArray[np.int64]]:
        """For each tree, the nodes whose parent is not one step closer to the tree's `toward`."""
        hubs = [self.root] * self.trees if self.verify_hubs is None else list(self.verify_hubs)
        distances = {hub: self.topology.distances(hub) for hub in set(hubs)}
        sights = {port: self.topology.neighbour_values(port) for port in self.topology.ports}
        astray: list[list[NDArray[np.int64]]] = [[] for _ in hubs]
        for chunk in self.topology.chunks():
            for row, hub, found in zip(self.parent_port, hubs, astray, strict=True):
                distance = distances[hub]
                closer = distance[chunk] - np.uint8(
                    1
                )  # wraps around at the hub, which has nobody closer
                wrong = np.flatnonzero(_at_parents(distance, row[chunk], chunk, sights) != closer)
                if len(wrong):
                    found.append(wrong + chunk.start)
        nodes = [np.concatenate([np.empty(0, dtype=np.int64), *found]) for found in astray]
        return [found[row[found] != 0] for row, found in zip(self.parent_port, nodes, strict=True)]

    def _reach_root(self, tree: int, astray: NDArray[np.int64]) -> bool:
        """Whether these nodes come to the root; all others come to one of them or to the root, by distances."""
        if not self.spanning:  # a chain may end outside the tree, which distances do not see
            return False
        row = self.parent_port[tree]
        at = astray
        for _ in range((len(astray) + 1) * (self.topology.diameter + 1)):
            at = at[at != self.root]
            if not len(at):
                return True
            at = self.topology.step(row[at], at).astype(np.int64)
        return False

    def _follow_all(self, tree: int) -> None:
        parents = Forest(
            self.topology, self.parent_port[tree : tree + 1], self.root, spanning=False
        ).parents()[0]
        _, top = _climb(parents)
        lost = np.flatnonzero((top != self.root) & (self.parent_port[tree] != 0))
        if len(lost):
            self._reject_lost(tree, parents, top, lost)

    def _reject_lost(self, tree: int, parents: Ranks, top: Ranks, lost: NDArray[np.intp]) -> None:
        node = int(lost[0])
        if parents[top[node]] < 0:
            outside = self.topology.label(int(top[node]))
            raise self._rejected(tree, node, f"hangs from {outside}, which is not in the tree")
        raise self._rejected(tree, node, "leads into a cycle and never to the root")

    def _rejected(self, tree: int, node: int, reason: str) -> RejectedError:
        label = self.topology.label(node)
        return RejectedError(
            f"{self.construction} on {self.topology.spec} is no forest: tree {tree}, node {label} {reason}",
            hint="mend the array: each entry is the port from the node towards its parent, 0 at the root",
        )


def _at_parents(
    values: NDArray[np.uint8], ports: NDArray[np.uint8], chunk: slice, sights: Mapping[int, Sight]
) -> NDArray[np.uint8]:
    """What an array has at the parents of a chunk of nodes; at the node itself where it has none."""
    first = int(ports[0])
    if first and not np.count_nonzero(
        ports != first
    ):  # constructions run in long stretches of one port
        return sights[first](values, chunk)
    seen = values[chunk].copy()
    for port in np.flatnonzero(np.bincount(ports, minlength=1)).tolist():
        if port:
            np.copyto(seen, sights[port](values, chunk), where=ports == port)
    return seen


def _frozen(array: ArrayLike, topology: Topology) -> NDArray[np.uint8]:
    try:
        given = np.asarray(array)
    except ValueError:  # rows of different lengths
        raise InputError(
            f"the rows of a forest on {topology.spec} have {topology.nodes} entries each",
            hint="give one row a tree, one entry a node",
        ) from None
    if given.ndim != 2 or given.shape[1] != topology.nodes or not len(given):
        raise InputError(
            f"a forest on {topology.spec} is an array [trees, {topology.nodes}], not {list(given.shape)}",
            hint="give one row a tree, one entry a node",
        )
    if given.dtype != np.uint8:
        if given.dtype.kind not in "iu":
            raise InputError(
                f"a forest is an array of ports, not of {given.dtype}",
                hint="give uint8, or integers 0..255",
            )
        if given.min() < 0 or given.max() > 255:
            raise InputError(
                f"a forest is an array of ports, not of numbers from {given.min()} to {given.max()}",
                hint="give uint8, or integers 0..255",
            )
        given = freeze(given.astype(np.uint8))
    return frozen_copy(given)


def _climb(parents: Ranks) -> tuple[Ranks, Ranks]:
    """By pointer doubling: each node's number of steps to where its chain of parents ends, and that end.

    On a cycle there is no end, and the node named has a parent.
    """
    top = np.where(parents >= 0, parents, np.arange(len(parents), dtype=np.int32))
    steps = (parents >= 0).astype(np.int32)
    for _ in range(len(parents).bit_length()):
        further = top[top]
        if np.array_equal(further, top):
            break
        steps += steps[top]
        top = further
    return steps, top
