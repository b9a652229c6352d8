"""The two trees of Fragopoulou & Akl 1993, section 3, as rows that the source 12..n sends.

Written from the definitions page alone.
"""

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


def ehrlich_types(m: int) -> list[int]:
    """Return the types of a Hamiltonian path of S_m, by Ehrlich's algorithm."""
    b = list(range(m))
    c = [0] * (m + 1)
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
    """Return algorithm 1: rotated Hamiltonian paths, then the nodes that start with 1."""
    path_types = [2] + [dimension + 1 for dimension in ehrlich_types(n - 1)]
    rows: list[Row] = []
    for j in range(2, n + 1):
        node = identity(n)
        for step, path_type in enumerate(path_types, 1):
            dimension = turned(path_type, n, j - 2)
            rows.append((step, node, dimension, 0))
            node = crossed(node, dimension)
    for dimension in range(2, n + 1):
        leaves = [leaf for leaf in nodes(n)[1:] if leaf[0] == 1 and leaf[dimension - 1] == n]
        for step, leaf in enumerate(leaves, factorial(n - 1) + 1):
            rows.append((step, crossed(leaf, dimension), dimension, 0))
    return rows


def first_generator(n: int, k: int) -> tuple[Node, int] | None:
    """Return the generator of N_k1 with the type over which it receives its message.

    There is none for odd n and the greatest distance.
    """
    pairs = max(0, k + 1 - n)
    length = n - 2 * pairs if pairs else k + 1
    if length < 2:
        return None
    cycles: list[Cycle] = [(n - 2 * i, n - 2 * i - 1) for i in range(pairs)]
    node = of_cycles(n, *cycles, tuple(range(length, 0, -1)))
    return node, length + 1 if pairs else length


def numbering(n: int) -> list[Node]:
    """Return the nodes but 12..n in the order of m(x) = 1, 2, .. of algorithm 2."""
    order: list[Node] = []
    distance = distances(n)
    for k in range(1, diameter(n) + 1):
        layer = [members for members in necklaces(n) if distance[members[0]] == k]
        layer.sort(key=lambda members: (members[0][0] == 1, members[0]))
        generator = first_generator(n, k)
        if generator:
            layer.sort(key=lambda members: generator[0] not in members)
        for members in layer:
            v = type_of(len(order) + 1, n)
            if generator and generator[0] in members:
                first = rotated(generator[0], (v - generator[1]) % (n - 1))
            else:
                first = min(node for node in members if distance[crossed(node, v)] < k)
            order += [rotated(first, turns) for turns in range(len(members))]
    return order


def type_of(m: int, n: int) -> int:
    """Return the type v over which the node with number m receives its message."""
    return (m - 1) % (n - 1) + 2


def clusters(n: int) -> list[Row]:
    """Return the rows of 12..n along MBST: node m receives the message in step ceil(m/(n-1))."""
    rows: list[Row] = []
    for m, node in enumerate(numbering(n), 1):
        dimension = type_of(m, n)
        rows.append((-(-m // (n - 1)), crossed(node, dimension), dimension, 0))
    return rows


def allgather(rows: list[Row], n: int) -> tuple[dict[int, int], int]:
    """Execute the rows of 12..n for all sources.

    Returns:
        The largest packet of every step, and the number of transmissions.
    """
    all_rows = list(expanded(rows, n))
    largest, holds = execute(all_rows, {node: {(node, 0)} for node in nodes(n)})
    everything = {(node, 0) for node in nodes(n)}
    assert all(holds[node] == everything for node in nodes(n))
    return largest, len(all_rows)
