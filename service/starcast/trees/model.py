"""`Forest`: trees stored as an array of the port towards the parent, for every tree and node.

Parents, levels, loads and all other properties are computed from that array and the topology.
`Forest.verify` checks that the array is a forest, whichever code built it.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.support.arrays import Integers, freeze, frozen_copy
from starcast.support.errors import InputError, RejectedError
from starcast.support.table import Displayable
from starcast.support.vocabulary import format_spec
from starcast.topologies import Topology, as_topology
from starcast.topologies.base import ValueReader
from starcast.topologies.permutations import Ranks
from starcast.trees import files

#: The construction name of a forest that was created from an array.
UNNAMED = "array"

#: The number of array entries for which parents (int32) are computed at a time. This is also the
#: maximum number of nodes with which `verify` follows every node to the root if there are no hubs.
_ENTRIES = 2**24
#: The maximum number of nodes with which `verify` ignores hubs and follows every node to the root.
_FEW_NODES = 2**16


def reduce_fields(record: Any) -> tuple[Any, ...]:
    """Return how to pickle a dataclass: by its fields, with the field ``arguments`` as a dict.

    Mapping proxies, such as ``arguments``, cannot be pickled.
    """
    values = {each.name: getattr(record, each.name) for each in fields(record)}
    return _restore, (type(record), {**values, "arguments": dict(record.arguments)})


def _restore(kind: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    return kind(**values)


@dataclass(frozen=True, eq=False, repr=False)
class Forest(Displayable):
    """Trees with a common root on one topology.

    Args:
        topology: a `Topology` or its spec, such as ``S5``.
        parent_port: uint8 ``[trees, nodes]``: each node's port towards its parent, 0 at the root
            and outside the tree. The array is kept read-only; a writable array is copied.
        root: label or rank of the root.
        construction: the name of the construction that built the trees.
        arguments: the arguments of the construction besides the root, by name.
        spanning: whether every tree must reach all nodes; False for partial trees such as the trees
            of ``perfectly-balanced``.
        verify_hubs: one node per tree, its hub: most parents in the tree should be closer to the
            hub than their children are. Hubs make `verify` fast and do not affect its result.

    Raises:
        InputError: the array has a wrong shape or type, a value outside 0..255 or too many trees,
            the root does not exist or is a switch, ``verify_hubs`` does not have one existing node
            per tree, or the construction and its arguments cannot be part of an id.

    Example:
        >>> own = Forest("S3", [[0, 3, 2, 2, 2, 3]])
        >>> own.verify()
    """

    topology: Topology
    parent_port: NDArray[np.uint8]
    root: int = 0
    construction: str = UNNAMED
    arguments: Mapping[str, str | int] = field(default_factory=dict)
    spanning: bool = True
    verify_hubs: Sequence[int] | None = None

    def __post_init__(self) -> None:
        topology = as_topology(self.topology)
        object.__setattr__(self, "topology", topology)
        object.__setattr__(self, "root", topology.root(self.root))
        object.__setattr__(self, "parent_port", _check_array(self.parent_port, topology))
        files.check_spec(self.construction, self.arguments)
        object.__setattr__(self, "arguments", MappingProxyType(dict(self.arguments)))
        if self.verify_hubs is None:
            return
        if len(self.verify_hubs) != self.trees:
            raise InputError(
                f"'verify_hubs' must have {self.trees} nodes, one per tree, not"
                f" {len(self.verify_hubs)}",
                hint="specify one node per tree, or omit 'verify_hubs'",
            )
        hubs = tuple(topology.node(hub) for hub in self.verify_hubs)
        object.__setattr__(self, "verify_hubs", hubs)

    def __reduce__(self) -> tuple[Any, ...]:
        return reduce_fields(self)

    @cached_property
    def id(self) -> str:
        """The id under which the forest is stored, such as ``S5:multiple:12345``."""
        construction = format_spec(self.construction, self.arguments)
        return f"{self.topology.spec}:{construction}:{self.topology.stored_label(self.root)}"

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Read a forest from a file that `save` wrote. The forest is not verified.

        Raises:
            InputError: the file cannot be read, is not a forest file, is damaged, or has an
                unknown version.
            LimitError: the trees or their network do not fit into memory.
        """
        return cls(**files.read_fields(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the forest to an npz file; if writing fails, an existing file stays unchanged.

        Raises:
            InputError: the file cannot be written.
        """
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        files.write_fields(path, values)

    @property
    def trees(self) -> int:
        """The number of trees."""
        return len(self.parent_port)

    def members(self) -> NDArray[np.bool_]:
        """Return whether each tree contains each node, bool ``[trees, nodes]``."""
        members: NDArray[np.bool_] = self.parent_port != 0
        members[:, self.root] = True
        return members

    def parents(self) -> Ranks:
        """Return each node's parent, int32 ``[trees, nodes]``; -1 at the root and outside the tree.

        Raises:
            RejectedError: an entry is invalid, or a tree that must be spanning is not.
        """
        self._check_entries()
        return self._parents(self.parent_port)

    def levels(self) -> Ranks:
        """Return each node's distance from the root in each tree, int32 ``[trees, nodes]``.

        The value is -1 for nodes outside the tree.

        Raises:
            RejectedError: the array is not a forest.
        """
        levels = np.empty(self.parent_port.shape, dtype=np.int32)
        for tree, parents in enumerate(self.parents()):
            levels[tree], top = _follow_parents(parents)
            if ((top != self.root) & (self.parent_port[tree] != 0)).any():
                raise self._lost(tree, parents)
            levels[tree, (self.parent_port[tree] == 0)] = -1
            levels[tree, self.root] = 0
        return freeze(levels)

    @cached_property
    def heights(self) -> NDArray[np.int64]:
        """The largest level in each tree, int64 ``[trees]``.

        Raises:
            RejectedError: the array is not a forest.
        """
        self._check_entries()
        at_once = max(1, _ENTRIES // self.topology.nodes)
        heights = [
            self._height(start + offset, parents)
            for start in range(0, self.trees, at_once)
            for offset, parents in enumerate(
                self._parents(self.parent_port[start : start + at_once])
            )
        ]
        return freeze(np.array(heights, dtype=np.int64))

    @property
    def height(self) -> int:
        """The largest level in any tree."""
        return int(self.heights.max())

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of nodes of each tree, including the root, int64 ``[trees]``.

        Raises:
            RejectedError: an entry is invalid, or a tree that must be spanning is not. Cycles are
                not detected.
        """
        self._check_entries()
        return freeze(np.asarray(np.count_nonzero(self.parent_port, axis=1) + 1, dtype=np.int64))

    @cached_property
    def leaves(self) -> NDArray[np.int64]:
        """The number of nodes without children in each tree, int64 ``[trees]``."""
        leaves = np.empty(self.trees, dtype=np.int64)
        for tree, parents in enumerate(self.parents()):
            inner = np.zeros(self.topology.nodes, dtype=bool)
            inner[parents[parents >= 0]] = True
            leaves[tree] = self.sizes[tree] - np.count_nonzero(inner)
        return freeze(leaves)

    def subtree_sizes(self) -> Ranks:
        """Return the size of each node's subtree, int32 ``[trees, nodes]``; 0 outside the tree.

        The subtree of a node contains the node itself.
        """
        sizes = self.members().astype(np.int32)
        for row, parents, levels in zip(sizes, self.parents(), self.levels(), strict=True):
            for nodes in reversed(split_levels(levels)):
                np.add.at(row, parents[nodes], row[nodes])
        return sizes

    def level_profile(self) -> Ranks:
        """Return each tree's number of nodes on each level, int32 ``[trees, height + 1]``."""
        levels = self.levels()
        width = int(levels.max()) + 1
        counts = [np.bincount(row[row >= 0], minlength=width) for row in levels]
        return np.stack(counts).astype(np.int32)

    def load(self) -> NDArray[np.int16]:
        """Return, for each directed link, the number of trees that use it from parent to child.

        The two directions of a link are two directed links (`docs/decisions/0003`).

        Returns:
            int16 ``[nodes, ports]``, indexed by the parent's rank and port, with ports in the
            topology's order; 0 if the node has no link at the port.

        Raises:
            RejectedError: an entry is invalid, or a tree that must be spanning is not. Cycles are
                not detected.

        Example:
            >>> forest("S5", "multiple").load()[0].tolist()
            [2, 1, 1, 1]
        """
        load = np.empty((self.topology.nodes, self.topology.port_count), dtype=np.int16)
        for column, port in enumerate(self._checked_ports()):
            load[:, column] = self._load_of(port)
        return load

    @cached_property
    def congestion(self) -> int:
        """The largest load of a directed link.

        Raises:
            RejectedError: an entry is invalid, or a tree that must be spanning is not. Cycles are
                not detected.
        """
        return max(int(self._load_of(port).max()) for port in self._checked_ports())

    def load_histogram(self) -> dict[int, int]:
        """Return, for each load that occurs, the number of directed links with this load.

        The load of unused links is 0.

        Raises:
            RejectedError: an entry is invalid, or a tree that must be spanning is not. Cycles are
                not detected.
        """
        counts: dict[int, int] = {}
        for port in self._checked_ports():
            loads = self._load_of(port)
            if not self.topology.has_translations:
                loads = loads[self.topology.has_link(port)]
            for load, links in enumerate(np.bincount(loads).tolist()):
                counts[load] = counts.get(load, 0) + links
        return {load: links for load, links in sorted(counts.items()) if links}

    @cached_property
    def is_shortest_path(self) -> bool:
        """Whether every tree reaches each of its nodes by a shortest path.

        Raises:
            RejectedError: the array is not a forest.
        """
        levels = self.levels()
        return bool(((levels == self.topology.distances(self.root)) | (levels < 0)).all())

    @property
    def is_edge_disjoint(self) -> bool:
        """Whether every directed link is used by at most one tree.

        Raises:
            RejectedError: an entry is invalid, or a tree that must be spanning is not. Cycles are
                not detected.
        """
        return self.congestion <= 1

    def verify(self) -> None:
        """Check that, in every tree, the parents lead from each node to the root.

        If ``spanning`` is True, every tree must also contain all nodes.

        On large topologies, `verify` takes less memory than `heights`, which follows all nodes to
        the root; with hubs, `verify` also takes less time. The hub of a tree is its entry in
        `verify_hubs`, by default the root. For nodes whose parent is closer to the hub, comparing
        distances is enough; only the other nodes are followed to the root.

        Raises:
            RejectedError: a tree is invalid; the message names an invalid node and the reason.
        """
        few = _ENTRIES if self.verify_hubs is None else _FEW_NODES
        if self.topology.nodes > few:
            self._check_entries()
            if all(map(self._reach_root, range(self.trees), self._exceptions())):
                return
        self.heights  # noqa: B018 - raises

    def __repr__(self) -> str:
        return f"<Forest {self.id}: {self.trees} trees on {self.topology.nodes} nodes>"

    # The methods below process one port or one tree at a time, so they need only a small multiple
    # of the memory of one tree.

    def _checked_ports(self) -> Iterator[int]:
        """Check the entries of ``parent_port``; return an iterator over the topology's ports."""
        self._check_entries()
        return iter(self.topology.ports)

    def _parents(self, rows: NDArray[np.uint8]) -> Ranks:
        """Return each node's parent for each row of ports (one row per tree); -1 for port 0.

        Returns:
            int32 ``[rows, nodes]``.
        """
        parents = np.empty(rows.shape, dtype=np.int32)
        readers = {port: self.topology.neighbour_ranks(port) for port in self.topology.ports}
        for chunk in self.topology.chunks():
            width = chunk.stop - chunk.start
            neighbours = np.full((max(readers) + 1, width), -1, dtype=np.int32)
            for port, read in readers.items():
                neighbours[port] = read(chunk)
            flat, columns = neighbours.ravel(), np.arange(width)
            for out, row in zip(parents, rows, strict=True):
                out[chunk] = flat.take(row[chunk] * np.intp(width) + columns)
        return parents

    def _load_of(self, port: int) -> NDArray[np.int16]:
        # A node's neighbour across the port is its child if the neighbour's parent port leads back.
        back = self.topology.reverse_port(port)
        users = np.count_nonzero(self.parent_port == back, axis=0).astype(np.int16)
        return np.asarray(users[self.topology.neighbours(port)])

    def _check_entries(self) -> None:
        ports = {0, *self.topology.ports}
        gaps = [port for port in range(max(ports)) if port not in ports]
        for tree, row in enumerate(self.parent_port):
            if row[self.root]:
                raise self._rejection(tree, self.root, "is the root, but has a parent")
            if row.max() > max(ports) or any((row == gap).any() for gap in gaps):
                node = int(np.flatnonzero(~np.isin(row, list(ports)))[0])
                reason = f"has parent port {row[node]}, which {self.topology.spec} does not have"
                raise self._rejection(tree, node, reason)
            if not self.topology.has_translations:
                self._check_links(tree, row)
            if self.spanning and np.count_nonzero(row) != self.topology.nodes - 1:
                outside = np.flatnonzero(row == 0)
                node = int(outside[outside != self.root][0])
                raise self._rejection(tree, node, "is not reached")

    def _check_links(self, tree: int, row: NDArray[np.uint8]) -> None:
        inside = np.flatnonzero(row)
        alone = inside[self.topology.step(row[inside], inside) == inside]
        if len(alone):
            node = int(alone[0])
            raise self._rejection(tree, node, f"has no link at its parent port {row[node]}")

    def _exceptions(self) -> list[NDArray[np.int64]]:
        """Return for each tree the nodes whose parent is not one link closer to the tree's hub.

        The search in a tree stops early if the tree has too many such nodes.
        """
        hubs = [self.root] * self.trees if self.verify_hubs is None else list(self.verify_hubs)
        distances = {hub: self.topology.distances(hub) for hub in set(hubs)}
        readers = {port: self.topology.neighbour_values(port) for port in self.topology.ports}
        found = [np.empty(0, dtype=np.int64) for _ in hubs]
        for chunk in self.topology.chunks():
            for tree, (row, hub) in enumerate(zip(self.parent_port, hubs, strict=True)):
                if len(found[tree]) > self._most_exceptions:
                    continue
                distance = distances[hub]
                # At the hub, 0 - 1 is -1, or 255 in uint8: a distance that no parent has.
                closer = distance[chunk] - np.uint8(1)
                at_parents = _values_at_parents(distance, row[chunk], chunk, readers)
                wrong = np.flatnonzero((at_parents != closer) & (row[chunk] != 0))
                found[tree] = np.append(found[tree], wrong + chunk.start)
        return found

    @property
    def _most_exceptions(self) -> int:
        return self.topology.nodes // 64 + self.topology.port_count

    def _reach_root(self, tree: int, exceptions: NDArray[np.int64]) -> bool:
        """Try to prove that a tree is valid by following only its exceptions to the root.

        Exceptions are the nodes whose parent is not one link closer to the tree's hub. True is
        returned if the tree is proven valid. False proves nothing: the tree is partial, it has too
        many exceptions, or the search ended before all exceptions reached the root.
        """
        # Distances do not show whether a chain of parents leaves a partial tree.
        if not self.spanning or len(exceptions) > self._most_exceptions:
            return False
        row = self.parent_port[tree]
        hub = self.root if self.verify_hubs is None else self.verify_hubs[tree]
        # Between two exceptions, each step towards the root leads one link closer to the hub, so
        # there are at most `longest` such steps. `Topology.diameter` is not used: it is unknown for
        # some networks.
        longest = int(self.topology.distances(hub).max())
        nodes = exceptions
        for _ in range((len(exceptions) + 1) * (longest + 1)):
            nodes = nodes[nodes != self.root]
            if not len(nodes):
                return True
            nodes = self.topology.step(row[nodes], nodes).astype(np.int64)
        return False

    def _height(self, tree: int, parents: Ranks) -> int:
        """Return the height of a tree, found by following all nodes of the tree to the root."""
        inside = self.parent_port[tree] != 0
        if not inside.any():
            return 0
        height = _greatest_steps(np.where(inside, parents, np.int32(self.root)), self.root)
        is_closed = self.spanning
        if not is_closed:
            ends = parents[inside]
            is_closed = bool((inside[ends] | (ends == self.root)).all())
        if height and is_closed:
            return height
        raise self._lost(tree, parents)

    def _lost(self, tree: int, parents: Ranks) -> RejectedError:
        """Return an error that names the first node whose parents do not lead to the root."""
        _, top = _follow_parents(parents)
        node = int(np.flatnonzero((top != self.root) & (self.parent_port[tree] != 0))[0])
        if parents[top[node]] < 0:
            outside = self.topology.label(int(top[node]))
            reason = f"is a descendant of {outside}, which is not in the tree"
            return self._rejection(tree, node, reason)
        return self._rejection(tree, node, "leads into a cycle and never to the root")

    def _rejection(self, tree: int, node: int, reason: str) -> RejectedError:
        label = self.topology.label(node)
        return RejectedError(
            f"{self.construction} on {self.topology.spec} is not a forest: tree {tree}, node "
            f"{label} {reason}",
            hint="each entry must be the port from the node to its parent, or 0 for the root",
        )


def split_levels(levels: Ranks) -> list[NDArray[np.intp]]:
    """Return a list of arrays: the nodes on each of the levels 1, 2, .. of a tree.

    ``levels`` contains each node's level in the tree; -1 for nodes outside the tree.
    """
    order = np.argsort(levels, kind="stable")
    starts = np.searchsorted(levels, np.arange(1, levels.max() + 1), sorter=order)
    return np.split(order, starts)[1:]


def _greatest_steps(pointers: Ranks, end: int) -> int:
    """Return the length of the longest chain of pointers; 0 if some chain does not end at ``end``.

    If all chains end at ``end``, the result is at least 1, even if ``end`` is the only node.

    Args:
        pointers: the next node after each node, int32 ``[nodes]``; ``end`` follows itself.
        end: the last node of every chain.
    """
    # Array i of `after` contains the node that each node reaches after 2^i steps.
    after = [pointers]
    while (after[-1] != end).any():
        if len(after) > len(pointers).bit_length():
            return 0
        after.append(after[-1].take(after[-1], mode="wrap"))
    # Find, bit by bit, the maximum number of steps after which some node is not yet at the end.
    nodes = None
    steps = 0
    for bit in reversed(range(len(after) - 1)):
        further = after[bit] if nodes is None else after[bit].take(nodes)
        further = further[further != end]
        if len(further):
            nodes = further
            steps += 1 << bit
    return steps + 1


def _values_at_parents(
    values: Integers,
    ports: NDArray[np.uint8],
    chunk: slice,
    readers: Mapping[int, ValueReader],
) -> Integers:
    """Return, for each node of a chunk, the value of the node's parent.

    For a node without a parent, the result is the node's own value.

    Args:
        values: the array over all nodes, such as distances.
        ports: the ports of the chunk's nodes to their parents, 0 for nodes without a parent.
        chunk: the range of nodes.
        readers: for each port, a function that reads values at the neighbours across this port.
    """
    first = int(ports[0])
    # A single port is handled separately, because constructions often write long runs of one port.
    if first and not np.count_nonzero(ports != first):
        return readers[first](values, chunk)
    at_parents = values[chunk].copy()
    for port in np.flatnonzero(np.bincount(ports, minlength=1)).tolist():
        if port:
            np.copyto(at_parents, readers[port](values, chunk), where=ports == port)
    return at_parents


def _check_array(parent_port: ArrayLike, topology: Topology) -> NDArray[np.uint8]:
    """Return an array of parent ports as read-only uint8, after checking shape, type and range."""
    rows_hint = "use one row per tree with one entry per node"
    ports_hint = "use uint8, or integers 0..255"
    try:
        array = np.asarray(parent_port)
    except ValueError:  # the rows have different lengths
        raise InputError(
            f"every row of a forest on {topology.spec} must have {topology.nodes} entries",
            hint=rows_hint,
        ) from None
    if array.ndim != 2 or array.shape[1] != topology.nodes or not len(array):
        raise InputError(
            f"a forest on {topology.spec} must be an array of shape [trees, {topology.nodes}] with"
            f" at least one tree, not {list(array.shape)}",
            hint=rows_hint,
        )
    files.check_trees(len(array))
    if array.dtype == np.uint8:
        return frozen_copy(array)
    if array.dtype.kind not in "iu":
        raise InputError(f"a forest's ports must be integers, not {array.dtype}", hint=ports_hint)
    if array.min() < 0 or array.max() > 255:
        raise InputError(
            f"a forest's ports must be 0 to 255, but range from {array.min()} to {array.max()}",
            hint=ports_hint,
        )
    return freeze(array.astype(np.uint8))


def _follow_parents(parents: Ranks) -> tuple[Ranks, Ranks]:
    """Return the length and the end of each node's chain of parents, by pointer doubling.

    A chain that leads into a cycle has no end; a node on the cycle is returned instead. The caller
    can recognize this node, because it has a parent, which the end of a chain does not have.
    """
    top = np.where(parents >= 0, parents, np.arange(len(parents), dtype=np.int32))
    steps = (parents >= 0).astype(np.int32)
    for _ in range(len(parents).bit_length()):
        higher = top[top]
        if np.array_equal(higher, top):
            break
        steps += steps[top]
        top = higher
    return steps, top
