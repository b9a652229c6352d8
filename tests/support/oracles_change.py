"""DC(i, T) (Tseng & Sheu 1997, Def. 4) path by path.

Slow, and independent of the array implementation. `oracles.label_change` is LC node by node.
"""

from collections.abc import Callable

from support.oracles import Node, Tree, depths, dimension_between, identity, swap


def moved(dimension: int, i: int, n: int) -> int:
    """A4: d' = ((d-2+i) mod (n-1)) + 2."""
    return (dimension - 2 + i) % (n - 1) + 2


def dimension_change(
    i: int, tree: Tree, root: Node, move: Callable[[int, int, int], int] = moved
) -> Tree:
    """A4: the path d1, d2, .. from the root becomes the path d1', d2', .. from the root."""
    image = {root: root}
    for node in sorted(tree, key=depths(tree, root).__getitem__):
        dimension = move(dimension_between(tree[node], node), i, len(root))
        image[node] = swap(image[tree[node]], dimension)
    return {image[child]: image[parent] for child, parent in tree.items()}


# S_{n,k}


def extended(p: Node, n: int) -> Node:
    """The node's symbols, then the missing ones ascending."""
    return p + tuple(symbol for symbol in identity(n) if symbol not in p)


def literally_changed(i: int, tree: Tree, n: int, k: int) -> set[Node]:
    """The ends of the paths with moved dimensions, on labels of n symbols."""
    label = {identity(k): identity(n)}
    image = {identity(k): identity(n)}
    for node in sorted(tree, key=depths(tree, identity(k)).__getitem__):
        above = label[tree[node]]
        (dimension,) = [d for d in range(2, n + 1) if swap(above, d)[:k] == node]
        label[node] = swap(above, dimension)
        image[node] = swap(image[tree[node]], moved(dimension, i, n))
    return {item[:k] for item in image.values()}
