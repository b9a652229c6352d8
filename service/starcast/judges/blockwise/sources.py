"""Formulas for the constructions that can be verified block by block.

A formula is evaluated with the identity as root. For another root, the trees are images under the
translation of S_n that maps the identity to this root; translations are automorphisms that keep
ports. The dimension change DC(i, T) is the image of T under the rotation R^i, an automorphism that
maps port d to port R^i(d) (docs/definitions/tseng-sheu.md, A4). An automorphism maps every edge of
one forest to an edge of the other, so levels and loads are the same. The results for the identity
therefore hold for the images too. Error messages name the nodes of the images.
"""

from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import NDArray

from starcast.judges.blockwise.formulas import EDGE_DISJOINT, GREEDY, SUBSTAR, Blocks
from starcast.support.errors import InputError, LimitError
from starcast.support.vocabulary import format_spec, parse_construction
from starcast.topologies import permutations
from starcast.topologies.necklaces import rotate, rotated_dimension
from starcast.topologies.permutations import Perms
from starcast.trees.construction import CONSTRUCTIONS

#: Maximum number of leading positions whose symbols vary within a block; the nodes of a block share
#: all other symbols. With 7 symbols, the largest table has 6! x 6! entries, or 1 MB, and most
#: tables fit into the processor's cache.
MAX_BLOCK = 7
#: Maximum n. A 64-bit integer counts the trees that use each port of a node, with 4 bits per port.
#: 4 bits count up to 15, and there are at most n-1 trees.
LARGEST = 16
_KINDS = {
    "greedy": GREEDY,
    "multiple": GREEDY,
    "recursive-substar": SUBSTAR,
    "edge-disjoint": EDGE_DISJOINT,
}
_CHANGES = ("label-change", "dimension-change")

#: Address of a node in a tree: the number of the node's block, the number of the tree, and the
#: node's index in the block.
Address = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Source:
    """A forest in closed form: formulas determine the parent ports of its nodes.

    The formulas describe a forest with the identity as root. The forest with the id ``id`` is the
    image of that forest under an automorphism. The automorphism consists of ``rotations``
    rotations, followed by the translation that maps the identity to ``root``.

    Attributes:
        id: the id of the forest, such as ``S13:multiple:123456789abcd``.
        blocks: the formulas for the identity as root.
        exceptions: the nodes whose potential (see `formulas`) need not be larger by 1 than that of
            the parent, each as (block, tree, index in the block).
        root: the root of the forest, uint8 ``[n]``.
        rotations: the number of rotations of a ``dimension-change``; 0 for other constructions.
    """

    id: str
    blocks: Blocks
    exceptions: frozenset[Address]
    root: Perms
    rotations: int

    @property
    def n(self) -> int:
        """The number of symbols of S_n."""
        return self.blocks.n

    @property
    def trees(self) -> int:
        """The number of trees."""
        return len(self.blocks.homes)

    @property
    def count(self) -> int:
        """The number of blocks."""
        return factorial(self.n) // factorial(self.blocks.m)

    def image(self, nodes: Perms) -> Perms:
        """Return the images of nodes under the forest's automorphism, uint8 ``[nodes, n]``."""
        return permutations.compose(self.root, rotate(nodes, self.rotations))

    def image_port(self, port: int) -> int:
        """Return the port to which the forest's automorphism maps a port.

        Numbers that are not ports, such as 0, are returned unchanged.
        """
        return rotated_dimension(port, self.rotations, self.n) if 2 <= port <= self.n else port


def closed_form(
    spec: str,
    construction: str,
    root: str | None = None,
    *,
    m: int = MAX_BLOCK,
    **arguments: int | str,
) -> Source:
    """Return the closed form of a construction on a star graph.

    Args:
        spec: the spec of a star graph, such as ``S13``; up to S16.
        construction: ``greedy``, ``multiple``, ``recursive-substar``, ``edge-disjoint``, or a
            ``label-change`` or ``dimension-change`` of one of these. Arguments can follow in
            parentheses.
        root: the label of the root; the identity by default.
        m: the number of leading positions whose symbols vary within a block, from 2 to 7.
        **arguments: the arguments of the construction, such as ``base``.

    Raises:
        InputError: the topology is not a star graph or is smaller than S3, the construction has no
            closed form, or the root or an argument is invalid.
        LimitError: the star graph is larger than S16.
    """
    n = _read_size(spec)
    name, given = parse_construction(construction, arguments)
    entry = CONSTRUCTIONS.find(name)
    base, rotations = entry.name, 0
    if entry.name in _CHANGES:
        base = CONSTRUCTIONS.find(str(given["base"])).name if given.get("base") else ""
        rotations = _check_arguments(n, entry.name, given)
    elif given:
        raise InputError(
            f"the construction '{entry.name}' cannot be verified block by block with the argument"
            f" '{next(iter(given))}'",
            hint="omit the argument",
        )
    if base not in _KINDS:
        raise InputError(
            f"'{base or entry.name}' cannot be verified block by block"
            + ("" if base else " without a base construction"),
            hint=f"choose {', '.join(_KINDS)}, or {' or '.join(_CHANGES)} of one of them",
        )
    identity = np.arange(1, n + 1, dtype=np.uint8)
    parsed = identity if root is None else permutations.parse(root, n)
    # The symbols of labels in ids always begin at 1, even if the caller prints symbols from 0.
    with permutations.labels_from(1):
        label = permutations.labels(parsed[None, :])[0]
    blocks, exceptions = _blocks(n, min(m, n), base)
    return Source(
        f"S{n}:{format_spec(entry.name, given)}:{label}", blocks, exceptions, parsed, rotations
    )


def _read_size(spec: str) -> int:
    if not (spec[:1] == "S" and spec[1:].isdecimal() and spec.isascii() and len(spec) <= 6):
        raise InputError(
            f"'{spec}' cannot be verified block by block: it is not a star graph",
            hint=f"choose a star graph, S3 to S{LARGEST}",
        )
    n = int(spec[1:])
    if n > LARGEST:
        raise LimitError(
            f"{spec} is too large to be verified block by block",
            hint=f"choose a star graph, S3 to S{LARGEST}",
        )
    if n < 3:
        raise InputError(
            f"{spec} is too small to be verified block by block",
            hint="omit `blocks`: the forest fits into memory",
        )
    return n


def _check_arguments(n: int, name: str, arguments: dict[str, int | str]) -> int:
    """Check the arguments of a label or dimension change; return the number of rotations.

    The result for a label change is 0.
    """
    expected = {"base", "i"} if name == "dimension-change" else {"base"}
    if set(arguments) != expected:
        raise InputError(
            f"'{name}' takes exactly these arguments: {', '.join(sorted(expected))}",
            hint=f"write '{name}(base=multiple{',i=2' if 'i' in expected else ''})'",
        )
    turns = arguments.get("i", 0)
    if not isinstance(turns, int) or not 0 <= turns <= n - 2:
        raise InputError(
            f"the argument i is {turns}, which is out of range on S{n}",
            hint=f"use an integer from 0 to {n - 2}",
        )
    return turns


def _blocks(n: int, m: int, base: str) -> tuple[Blocks, frozenset[Address]]:
    """Return a construction's formulas and its `Source.exceptions`, for the identity as root.

    For a label or dimension change, ``base`` is the construction that it changes.
    """
    identity = np.arange(1, n + 1, dtype=np.uint8)
    hubs = [identity]
    if base == "multiple":
        hubs = [permutations.shift(identity, i) for i in range(1, n)]
    trees = n - 1 if base == "edge-disjoint" else len(hubs)
    homes = np.zeros((trees, n + 1), dtype=np.uint8)
    for row, hub in zip(homes, hubs, strict=False):
        row[1:] = permutations.inverse(hub)
    changes: list[tuple[int, int, int, int]] = []
    if base == "multiple":
        # The formula leads to the hub, which is not the root. So on the path between root and hub
        # the ports differ from the formula (Tseng & Sheu 1997, Def. 2).
        for tree, hub in enumerate(hubs):
            path, ports = _greedy_path(identity, hub)
            changes += [
                (*locate(node, tree, m), port) for node, port in zip(path, [0, *ports], strict=True)
            ]
    kind = _KINDS[base]
    root = [(*locate(identity, tree, m), 0) for tree in range(trees)]
    exceptions = frozenset((block, tree, index) for block, tree, index, _ in [*changes, *root])
    array = np.array(sorted(changes), dtype=np.int64).reshape(-1, 4)
    return Blocks(kind, n, m, homes, array), exceptions


def _greedy_path(start: Perms, root: Perms) -> tuple[Perms, list[int]]:
    """Return the path from a node to the root of the greedy tree.

    Returns:
        The nodes on the path, uint8 ``[length + 1, n]``, and a list of the ``length`` ports that
        the path crosses.
    """
    node, goal = start.tolist(), root.tolist()
    nodes, ports = [list(node)], []
    while node != goal:
        index = goal.index(node[0])
        if index == 0:
            index = next(i for i in range(1, len(goal)) if node[i] != goal[i])
        node[0], node[index] = node[index], node[0]
        nodes.append(list(node))
        ports.append(index + 1)
    return np.array(nodes, dtype=np.uint8), ports


def locate(node: Perms, tree: int, m: int) -> Address:
    """Return the address of a node: its block, the tree, and the index in the block."""
    rank = 0
    free = list(range(1, len(node) + 1))
    for symbol in [*node[m:].tolist(), *node[:m].tolist()]:
        rank = rank * len(free) + free.index(symbol)
        free.remove(symbol)
    block, index = divmod(rank, factorial(m))
    return block, tree, index


def label(source: Source, node: NDArray[np.uint8]) -> str:
    """Return the label of the image of a node under the forest's automorphism."""
    return str(permutations.labels(source.image(node[None, :]))[0])
