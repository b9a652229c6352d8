"""Properties of nodes in Fragopoulou & Akl 1993, as arrays: cycles, necklaces, links of a type.

All of them follow the definitions in sections 3 and 3.1, and use the neighbour table and the arrays
of `starcast.claims.reference` alone, nothing of the constructions.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.reference.bfs import distances
from starcast.claims.reference.star_labels import symbols
from starcast.topologies import permutations
from starcast.topologies.permutations import Perms, Ranks


def link_types(check: ClaimCheck) -> NDArray[np.int64]:
    """Return the types of links, 2..n."""
    return np.arange(2, check.n + 1)


def node_and_type(check: ClaimCheck) -> dict[str, Callable[[int, int], int | str]]:
    """Return the place of a value in an array ``[nodes, types]``: node and dimension."""
    return {"node": lambda node, _: check.label(node), "dimension": lambda _, index: index + 2}


def cycle_minima(check: ClaimCheck) -> Perms:
    """Return the smallest symbol of the cycle of each symbol, uint8 ``[nodes, n]``.

    A symbol in its own position is its own minimum.
    """

    def create() -> Perms:
        n = check.n
        labels = symbols(check)
        # Following all cycles at once, one symbol per round, keeps the loop short: n rounds for
        # all nodes instead of a walk per node.
        least = np.broadcast_to(np.arange(1, n + 1, dtype=np.uint8), labels.shape).copy()
        for _ in range(n):  # a cycle has at most n symbols
            least = np.minimum(least, np.take_along_axis(least, labels.astype(np.intp) - 1, axis=1))
        return least

    return check.array("least symbols of cycles", create)


def displaced(check: ClaimCheck) -> NDArray[np.bool_]:
    """Return whether each symbol is in a cycle of two or more, bool ``[nodes, n]``."""
    return np.asarray(symbols(check) != np.arange(1, check.n + 1))


def cycle_counts(check: ClaimCheck) -> NDArray[np.int64]:
    """Return c(x), the number of cycles of two or more symbols, for every node x."""
    is_minimum = cycle_minima(check) == np.arange(1, check.n + 1)
    return np.asarray((is_minimum & displaced(check)).sum(axis=1))


def displaced_counts(check: ClaimCheck) -> NDArray[np.int64]:
    """Return s(x), the number of symbols in these cycles, for every node x."""
    return np.asarray(displaced(check).sum(axis=1))


def moves_of_rules(check: ClaimCheck) -> NDArray[np.bool_]:
    """Return the moves that rules 2, 3 and 4 list, bool ``[nodes, types]``.

    Rule 2, of a node that starts with 1: any type whose symbol is displaced. Rule 3 and rule 4 (a):
    the type that is the first symbol. Rule 4 (b): any type whose symbol is in a cycle without 1.
    """
    first = symbols(check)[:, :1]
    apart = displaced(check)[:, 1:] & (cycle_minima(check)[:, 1:] != 1)
    return np.asarray(apart | ((first != 1) & (first == link_types(check))))


def moves_closer(check: ClaimCheck) -> NDArray[np.bool_]:
    """Return whether each link leads closer to 12..n, by search, bool ``[nodes, types]``."""
    distance = distances(check)
    return np.asarray(distance[check.neighbours.T] < distance[:, None])


def types_between(check: ClaimCheck, tail: Ranks, head: Ranks) -> NDArray[np.int64]:
    """Return the type of the link between each tail and head; 0 if they are not neighbours."""
    leads_to_head = check.neighbours.T[tail] == np.asarray(head)[:, None]
    return np.where(leads_to_head.any(axis=1), np.argmax(leads_to_head, axis=1) + 2, 0)


def cycle_notation(label: Perms) -> str:
    """Return the cycles of a node, such as ``(1 3)(2 4 5)``: x_s follows s."""
    notation = ""
    visited = set[int]()
    for start in range(1, len(label) + 1):
        cycle = list[int]()
        symbol = start
        while symbol not in visited:
            visited.add(symbol)
            cycle.append(symbol)
            symbol = int(label[symbol - 1])
        if len(cycle) > 1:
            notation += f"({' '.join(map(str, cycle))})"
    return notation


def node_of_cycles(n: int, *cycles: tuple[int, ...]) -> int:
    """Return the rank of the node with these cycles."""
    label = np.arange(1, n + 1, dtype=np.uint8)
    for cycle in cycles:
        label[np.array(cycle) - 1] = np.roll(cycle, -1)
    return int(permutations.rank(label[None, :])[0])
