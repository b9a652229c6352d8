"""Rooted trees and their metrics; a tree is a dictionary from each non-root node to its parent."""

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Mapping
from math import factorial
from typing import TypeVar

from oracles.star_graph import Node, compose

Tree = dict[Node, Node]
Place = TypeVar("Place", bound=Hashable)


def rerooted(tree: Tree, root: Node) -> Tree:
    """Return the tree that has the same undirected links and the given root."""
    linked: dict[Node, list[Node]] = {}
    for child, parent in tree.items():
        linked.setdefault(child, []).append(parent)
        linked.setdefault(parent, []).append(child)
    parents: Tree = {}
    queue = deque([root])
    while queue:
        node = queue.popleft()
        for neighbour in linked[node]:
            if neighbour != parents.get(node):
                parents[neighbour] = node
                queue.append(neighbour)
    return parents


def translated(tree: Tree, q: Node) -> Tree:
    """Return the translation LC(q, T) of a tree: symbol s becomes q_s in every node."""
    return {compose(q, child): compose(q, parent) for child, parent in tree.items()}


def path(tree: Tree, x: Node) -> list[Node]:
    """Return the path from a node to the root; raise RuntimeError if it leads into a cycle."""
    chain = [x]
    while chain[-1] in tree:
        chain.append(tree[chain[-1]])
        if len(chain) > len(tree) + 1:
            raise RuntimeError(f"{x} leads into a cycle")
    return chain


def children(tree: Tree) -> dict[Node, set[Node]]:
    """Return the children of every node that is not a leaf."""
    result: dict[Node, set[Node]] = {}
    for child, parent in tree.items():
        result.setdefault(parent, set()).add(child)
    return result


def depths(tree: Mapping[Place, Place], root: Place) -> dict[Place, int]:
    """Return the level of every node.

    Raises:
        RuntimeError: the parents form a cycle.
        KeyError: the path from a node ends at another root.
    """
    result = {root: 0}
    for start in tree:
        trail, node = [], start
        while node not in result:
            trail.append(node)
            if len(trail) > len(tree):
                raise RuntimeError(f"{start} does not lead to {root}")
            node = tree[node]
        result |= {
            member: above for above, member in enumerate(reversed(trail), start=result[node] + 1)
        }
    return result


def sizes(tree: Mapping[Place, Place], root: Place) -> dict[Place, int]:
    """Return the number of nodes in the subtree of every node, including the node."""
    counts = dict.fromkeys(depths(tree, root), 0)
    for start in counts:
        node = start
        counts[node] += 1
        while node != root:
            node = tree[node]
            counts[node] += 1
    return counts


def load(trees: Iterable[Mapping[Place, Place]]) -> Counter[tuple[Place, Place]]:
    """Return the number of trees that use each directed link, from parent to child."""
    return Counter((parent, child) for tree in trees for child, parent in tree.items())


def is_spanning(tree: Tree, root: Node) -> bool:
    """Return whether the tree contains all nodes of S_n, and every path leads to the root."""
    try:
        return len(depths(tree, root)) == factorial(len(root)) and root not in tree
    except (KeyError, RuntimeError):
        return False
