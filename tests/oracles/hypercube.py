"""The hypercube, and the binomial trees of Johnsson & Ho.

A node is a string of bits; bit 1 is the leftmost.
"""

from collections.abc import Sequence
from itertools import product

Tree = dict[str, str]


def nodes(d: int) -> list[str]:
    """Return all bit strings in ascending order."""
    return ["".join(bits) for bits in product("01", repeat=d)]


def flip(x: str, i: int) -> str:
    """Return the neighbour across port i, with bit i flipped."""
    return x[: i - 1] + "10"[int(x[i - 1])] + x[i:]


def port_between(a: str, b: str) -> int:
    """Return the port of the link between two neighbours."""
    (port,) = [i for i in range(1, len(a) + 1) if flip(a, i) == b]
    return port


def xor(x: str, r: str) -> str:
    """Return the label of x relative to r: the bitwise exclusive or."""
    return "".join("01"[a != b] for a, b in zip(x, r, strict=True))


def binomial(r: str, order: Sequence[int]) -> Tree:
    """Return the spanning binomial tree with root r, for an order of the bits.

    A child differs from its parent in one bit, which precedes all ones of the parent (relative to
    r) in that order. If the order is from left to right, this bit is one of Johnsson & Ho's
    leading zeros.
    """
    tree: Tree = {}

    def grow(x: str) -> None:
        for place, i in enumerate(order):
            if xor(x, r)[i - 1] == "1":
                return
            child = flip(x, i)
            assert all(xor(x, r)[j - 1] == "0" for j in order[:place])
            tree[child] = x
            grow(child)

    grow(r)
    return tree


def edge_disjoint_binomial(r: str) -> list[Tree]:
    """Return d edge-disjoint trees with root r.

    Tree i is the binomial tree with r's neighbour across port i as its root, re-rooted at r.
    """
    d, trees = len(r), []
    for i in range(1, d + 1):
        order = [(i - 1 + steps) % d + 1 for steps in range(d)]
        tree = binomial(flip(r, i), order)
        assert r not in tree.values()  # r is a leaf, so only its own link is reversed
        assert tree.pop(r) == flip(r, i)
        trees.append({**tree, flip(r, i): r})
    return trees
