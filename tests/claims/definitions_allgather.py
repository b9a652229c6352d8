"""The two trees of Fragopoulou & Akl 1993, section 3, from the definitions page: what the source 12..n sends when."""

from math import factorial

from claims.definitions import (
    Cycle,
    Node,
    Row,
    crossed,
    diameter,
    distances,
    execute,
    expanded,
    identity,
    necklaces,
    nodes,
    of_cycles,
    rotated,
    turned,
)


def ehrlich(m: int) -> list[int]:
    """The types of a Hamiltonian path of S_m."""
    b, c = list(range(m)), [0] * (m + 1)
    types: list[int] = []
    while True:
        k = 1
        while k < m and c[k] == k:
            c[k] = 0
            k += 1
        if k == m:
            return types
        c[k] += 1
        types.append(b[k] + 1)
        b[1:k] = b[1:k][::-1]


def rotated_paths(n: int) -> list[Row]:
    """Algorithm 1: rotated Hamiltonian paths of the substars, then the nodes that start with 1."""
    word = [2] + [kind + 1 for kind in ehrlich(n - 1)]
    rows: list[Row] = []
    for j in range(2, n + 1):
        node = identity(n)
        for step, kind in enumerate(word, 1):
            dimension = turned(kind, n, j - 2)
            rows.append((step, node, dimension, 0))
            node = crossed(node, dimension)
    for dimension in range(2, n + 1):
        leaves = [leaf for leaf in nodes(n)[1:] if leaf[0] == 1 and leaf[dimension - 1] == n]
        first = factorial(n - 1) + 1
        rows += [
            (step, crossed(leaf, dimension), dimension, 0)
            for step, leaf in enumerate(leaves, first)
        ]
    return rows


def special(n: int, k: int) -> tuple[Node, int] | None:
    """The generator of N_k1 with the type over which it gets its message; none for n odd and the greatest distance."""
    pairs = max(0, k + 1 - n)
    a = n - 2 * pairs if pairs else k + 1
    if a < 2:
        return None
    cycles: list[Cycle] = [(n - 2 * i, n - 2 * i - 1) for i in range(pairs)]
    return of_cycles(n, *cycles, tuple(range(a, 0, -1))), a + 1 if pairs else a


def numbering(n: int) -> list[Node]:
    """Algorithm 2: the nodes but 12..n in the order of m(x) = 1, 2, ...."""
    order: list[Node] = []
    away = distances(n)
    for k in range(1, diameter(n) + 1):
        layer = sorted(
            (one for one in necklaces(n) if away[one[0]] == k),
            key=lambda one: (one[0][0] == 1, one[0]),
        )
        chosen = special(n, k)
        if chosen:
            layer.sort(key=lambda one: chosen[0] not in one)
        for beads in layer:
            v = len(order) % (n - 1) + 2
            if chosen and chosen[0] in beads:
                first = rotated(chosen[0], (v - chosen[1]) % (n - 1))
            else:
                first = min(bead for bead in beads if away[crossed(bead, v)] < away[bead])
            order += [rotated(first, i) for i in range(len(beads))]
    return order


def over(m: int, n: int) -> int:
    """The type v over which the node with number m gets its message."""
    return (m - 1) % (n - 1) + 2


def clusters(n: int) -> list[Row]:
    """What 12..n sends along MBST: the node with number m gets the message in step ceil(m/(n-1))."""
    return [
        (-(-m // (n - 1)), crossed(node, over(m, n)), over(m, n), 0)
        for m, node in enumerate(numbering(n), 1)
    ]


def allgather(rows: list[Row], n: int) -> tuple[dict[int, int], int]:
    """All sources do as the source 12..n does: the largest packet of every step, and the transmissions."""
    sent = list(expanded(rows, n))
    largest, holds = execute(sent, {node: {(node, 0)} for node in nodes(n)})
    everything = {(node, 0) for node in nodes(n)}
    assert all(holds[node] == everything for node in nodes(n))
    return largest, len(sent)
