"""Second implementations of the claims of Fragopoulou & Akl 1993 that fail."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import product
from math import ceil, factorial, lgamma, log, log2

from claims.definitions import (
    Node,
    crossed,
    cycles,
    diameter,
    distances,
    execute,
    identity,
    necklace,
    necklaces,
    nodes,
    number,
    one_port,
    size,
    text,
)
from claims.definitions_allgather import allgather, clusters, numbering, rotated_paths, type_of
from claims.definitions_scatter import (
    Routes,
    alltoall,
    along_one_cycle,
    balanced_parents,
    canonical_notation,
    displacement,
    distance_sum,
    farthest_first,
    generators,
    hop_by_hop,
    necklace_by_necklace,
    order_index,
    parent_type,
    position_of_1,
    route,
    scatter,
)
from claims.second_implementation import Place, reimplements


def unequal(found: int, stated: int | Fraction, **place: int) -> Place | None:
    """Return a place with the found and the stated value if they differ."""
    return None if found == stated else {**place, "found": found, "stated": number(stated)}


def fewer(found: int, stated: int, **place: int) -> Place | None:
    """Return a place with the found and the stated value if fewer were found than stated."""
    return {**place, "found": found, "stated": stated} if found < stated else None


def mean_distance_as_printed(n: int) -> Fraction:
    """Return d = n + 2/n + H_n - 4."""
    return n + Fraction(2, n) + sum(Fraction(1, i) for i in range(1, n + 1)) - 4


@reimplements("FA.A1.transmissions")
def transmissions_of_algorithm_1(spec: str) -> Place | None:
    """Execute algorithm 1 and compare its transmissions with n!(n-1)."""
    n = size(spec)
    _, transmissions = allgather(rotated_paths(n), n)
    return unequal(transmissions, factorial(n) * (n - 1), n=n)


@reimplements("FA.Tab1.allport-paths-M-time")
def runs_one_after_another(spec: str) -> Place | None:
    """Compare M runs of algorithm 1 with ceil(M(n!-1)/(n-1)) steps."""
    n = size(spec)
    largest, _ = allgather(rotated_paths(n), n)
    assert set(largest.values()) == {1}
    for messages in range(1, n + 1):
        stated = ceil(Fraction(messages * (factorial(n) - 1), n - 1))
        if place := unequal(messages * max(largest), stated, n=n, M=messages):
            return place
    return None


@reimplements("FA.MBST-clusters")
def smaller_cluster(spec: str) -> Place | None:
    """Find a cluster of fewer than n-1 nodes."""
    n = size(spec)
    allgather(clusters(n), n)
    steps = [row[0] for row in clusters(n)]
    assert max(steps) == ceil(Fraction(factorial(n) - 1, n - 1))
    for step in range(1, max(steps) + 1):
        if place := unequal(steps.count(step), n - 1, n=n, step=step):
            return place
    return None


@reimplements("FA.T8.3")
def number_of_parent(spec: str) -> Place | None:
    """Find a node x with m(x) - m(x') < n-1."""
    n = size(spec)
    m = {node: i for i, node in enumerate([identity(n), *numbering(n)])}
    for node in nodes(n):
        if distances(n)[node] > 1:
            difference = m[node] - m[crossed(node, type_of(m[node], n))]
            if difference < n - 1:
                return {"n": n, "node": text(node), "found": difference, "stated": n - 1}
    return None


def at_distance(n: int, k: int) -> list[Node]:
    """Return the nodes at distance k from 12..n."""
    return [node for node in nodes(n) if distances(n)[node] == k]


@reimplements("FA.B.D2")
def nodes_at_distance_2(spec: str) -> Place | None:
    """Compare the nodes at distance 2 with 2(n-1)."""
    n = size(spec)
    return unequal(len(at_distance(n, 2)), 2 * (n - 1), n=n)


@reimplements("FA.B.Dk")
def nodes_at_distances_between(spec: str) -> Place | None:
    """Find a distance below the greatest with fewer than 2(n-1) nodes."""
    n = size(spec)
    for k in range(2, diameter(n)):
        if place := fewer(len(at_distance(n, k)), 2 * (n - 1), n=n, k=k):
            return place
    return None


@reimplements("FA.B.even")
def nodes_before_last_for_even_n(spec: str) -> Place | None:
    """Compare the nodes at distance K-1 with 3!(n-1)."""
    n = size(spec)
    return fewer(len(at_distance(n, diameter(n) - 1)), 6 * (n - 1), n=n)


@reimplements("FA.B.odd")
def nodes_before_last_for_odd_n(spec: str) -> Place | None:
    """Compare the nodes at distance K-1 with 2!(n-1)."""
    n = size(spec)
    return fewer(len(at_distance(n, diameter(n) - 1)), 2 * (n - 1), n=n)


@reimplements("FA.B.ones")
def nodes_before_last_with_leading_1(spec: str) -> Place | None:
    """Compare the nodes at distance K-1 that start with 1 with n-1."""
    n = size(spec)
    return fewer(sum(node[0] == 1 for node in at_distance(n, diameter(n) - 1)), n - 1, n=n)


@reimplements("FA.D7")
def named_generators(spec: str) -> Place | None:
    """Find a necklace of which Definition 7 does not name exactly one node."""
    for members in sorted(necklaces(size(spec))):
        count = len(generators(members))
        if count != 1:
            return {"n": size(spec), "node": text(members[0]), "found": count, "stated": 1}
    return None


def printed_parents(node: Node, repeated: bool) -> set[int]:
    """Return the types towards the parents by Definition 13 or 15 as printed."""
    n = len(node)
    if node == identity(n):
        return set()
    if node[0] == 1:
        period = len(necklace(node))
        copies = (n - 1) // period if repeated else 1
        return {displacement(node) + 2 + k * period for k in range(copies)}
    return {node[0] if len(cycles(node)) == 1 else canonical_notation(node)[1][-1]}


def printed_children(node: Node, repeated: bool) -> set[int]:
    """Return the types towards the children by Definition 13 or 15 as printed."""
    n = len(node)
    k = position_of_1(node)
    if node == identity(n):
        return set(range(2, n + 1))
    if node[0] == 1:
        return set()
    types = {j for j in range(2, n + 1) if node[j - 1] == j}
    leaf = crossed(node, k)
    if leaf != identity(n):
        apart = k - 2 - displacement(leaf)
        if apart == 0 or (repeated and apart > 0 and apart % len(necklace(leaf)) == 0):
            types.add(k)
    own = next(cycle for cycle in cycles(node) if 1 in cycle)[1:]
    indices = [order_index(k, symbol, n) for symbol in own]
    return types | {own[i] for i in range(1, len(own) - 1) if indices[i] < min(indices[:i])}


def not_inverse(n: int, repeated: bool) -> Place | None:
    """Find a node and a dimension for which the printed functions contradict each other."""
    for node, j in product(nodes(n), range(1, n + 1)):
        is_parent = j in printed_parents(node, repeated)
        is_child = j in printed_children(crossed(node, j), repeated)
        if is_parent != is_child:
            place: Place = {"n": n, "node": text(node), "dimension": j}
            return {**place, "found": is_parent, "stated": is_child}
    return None


@reimplements("FA.D13")
def near_balanced_as_printed(spec: str) -> Place | None:
    """Compare parents and children by Definition 13 as printed."""
    return not_inverse(size(spec), repeated=False)


@reimplements("FA.D15-printed")
def perfectly_balanced_as_printed(spec: str) -> Place | None:
    """Compare parents and children by Definition 15 as printed."""
    return not_inverse(size(spec), repeated=True)


def edge_disjoint_parent(node: Node, tree: int) -> int:
    """Return the type towards the parent in an edge-disjoint tree, by their definitions page."""
    n = len(node)
    k = position_of_1(node)
    a = node[0]
    if a == 1:
        return tree
    to_the_right = [*range(k + 1, n + 1), *range(2, k + 1)]
    p = a if a != k else next(j for j in to_the_right if node[j - 1] != j)
    q = node[p - 1]
    if tree == k:
        symbol = q
    elif a == k:
        symbol = 1 if tree == q else tree
    elif q == k:
        symbol = 1 if tree == a else tree
    else:
        symbol = {a: 1, q: k}.get(tree, tree)
    return node.index(symbol) + 1


def links_of_route(node: Node, types: list[int]) -> Iterator[tuple[Node, int]]:
    """Yield the links of a route to a node, backwards."""
    for dimension in reversed(types):
        node = crossed(node, dimension)
        yield node, dimension


def links_of_definition_15(n: int) -> set[tuple[Node, int]]:
    """Return the links of the tree of Definition 15, as repaired."""
    links = set[tuple[Node, int]]()
    for node in nodes(n)[1:]:
        types = printed_parents(node, repeated=True) if node[0] == 1 else {parent_type(node)}
        links |= {(crossed(node, dimension), dimension) for dimension in types}
    return links


def routes_along(n: int, parents: list[Callable[[Node], int]]) -> Routes:
    """Return the routes of messages 0, 1, .. along one tree per message."""
    return {
        (node, i): route(node, parent) for i, parent in enumerate(parents) for node in nodes(n)[1:]
    }


def edge_disjoint_routes(n: int, messages: int) -> Routes:
    """Return routes that use the edge-disjoint trees in turn, one per message."""
    trees = [partial(edge_disjoint_parent, tree=i % (n - 1) + 2) for i in range(messages)]
    return routes_along(n, [*trees])


def balanced_routes(n: int, messages: int) -> Routes:
    """Return routes along the trees of section 5.1, numbered from message to message."""
    trees = [balanced_parents(n, i * (factorial(n - 1) - 1)) for i in range(messages)]
    return routes_along(n, [tree.__getitem__ for tree in trees])


@reimplements("FA.S52-only")
def other_trees(spec: str) -> Place | None:
    """Find other trees than those of Definition 15 that take as few steps."""
    n = size(spec)
    routes_of: dict[str, Callable[[int, int], Routes]] = {
        "edge-disjoint-in-turn": edge_disjoint_routes,
        "balanced": balanced_routes,
    }
    for messages, trees in product(range(2, 2 * n), routes_of):
        routes = routes_of[trees](n, messages)
        links = {link for unit in routes for link in links_of_route(unit[0], routes[unit])}
        if links <= links_of_definition_15(n):
            continue
        steps = scatter(n, farthest_first(n, routes, "all"))
        stated = ceil(Fraction(messages * (factorial(n) - 1), n - 1)) + 1
        if steps < stated:
            return {"n": n, "M": messages, "trees": trees, "found": steps, "stated": stated}
    return None


def rule_9_steps(n: int) -> int:
    """Return the steps of rule 9, executed."""
    steps, _ = alltoall(n, necklace_by_necklace(n), "all")
    return steps


@reimplements("FA.R9.time")
def necklaces_times_mean(spec: str) -> Place | None:
    """Compare the steps of rule 9 with h d."""
    n = size(spec)
    return unequal(rule_9_steps(n), len(necklaces(n)) * mean_distance_as_printed(n), n=n)


@reimplements("FA.R9.bound")
def more_than_the_bound(spec: str) -> Place | None:
    """Compare the steps of rule 9 with the bound (2(n-1)! - 1) d."""
    n = size(spec)
    steps = rule_9_steps(n)
    stated = (2 * factorial(n - 1) - 1) * mean_distance_as_printed(n)
    return None if steps <= stated else {"n": n, "found": steps, "stated": number(stated)}


def cycle_allgather(n: int) -> tuple[int, int]:
    """Execute the allgather of section 4; return steps and transmissions."""
    rows = along_one_cycle(n)
    largest, holds = execute(rows, {node: {node} for node in nodes(n)})
    assert one_port(rows)
    assert set(largest.values()) == {1}
    assert all(holds[node] == set(nodes(n)) for node in nodes(n))
    return max(largest), len(rows)


def balanced_scatter(n: int, ports: str) -> tuple[int, int]:
    """Execute the scatter over the tree of section 5.1; return steps and transmissions."""
    rows = farthest_first(n, balanced_routes(n, 1), ports)
    assert ports == "all" or one_port(rows)
    return scatter(n, rows), len(rows)


@reimplements("FA.S2-optimal")
def nine_bounds(spec: str) -> Place | None:
    """Compare the algorithms of sections 3 to 8 with the nine bounds of section 2."""
    n = size(spec)
    count = factorial(n)
    total = distance_sum(n)
    largest, transmissions = allgather(rotated_paths(n), n)
    # One-port and all-port steps and transmissions, fewest transmissions, fewest one-port steps.
    problems = [
        (cycle_allgather(n), (max(largest), transmissions), count * (count - 1), count - 1),
        (balanced_scatter(n, "one"), balanced_scatter(n, "all"), total, count - 1),
        (
            alltoall(n, hop_by_hop(n), "one"),
            alltoall(n, necklace_by_necklace(n), "all"),
            count * total,
            total,
        ),
    ]
    for one_port_counts, all_port_counts, fewest, least in problems:
        pairs = [
            (one_port_counts[1], fewest),
            (all_port_counts[1], fewest),
            (one_port_counts[0], least),
            (all_port_counts[0], ceil(Fraction(least, n - 1))),
        ]
        for found, stated in pairs:
            if found != stated:
                return {"n": n, "found": found, "stated": stated}
    return None


def cube_dimension(n: float) -> float:
    """Return the dimension k = log2 n! of the hypercube with as many nodes."""
    return lgamma(n + 1) / log(2)


def half_cube_dimension(n: float) -> float:
    """Return the mean distance on that hypercube."""
    return cube_dimension(n) / 2


def mean_distance(n: float) -> float:
    """Return the mean distance on the star graph, without the part that goes to 0."""
    return n + log(n) + 0.5772156649 - 4


def same(_: float) -> float:
    """Return 1."""
    return 1.0


Quantity = Callable[[float], float]

#: Steps or transmissions on star graph and hypercube in the cells of "any other case", over the
#: power of N = n! = 2^k that both have.
OTHER_CELLS: Mapping[str, tuple[Quantity, Quantity]] = {
    "allgather, N(N-1) transmissions": (same, same),
    "allgather, one-port, N-1 steps": (same, same),
    "scatter, one-port, N-1 steps": (same, same),
    "alltoall, one-port, the sum of the distances": (mean_distance, half_cube_dimension),
}


def describe_growth(quotient: Quantity) -> str:
    """Describe the growth of a quotient between n = 2^64 and n = 2^128, where log n doubles."""
    growth = log2(quotient(2.0**128) / quotient(2.0**64))
    # It falls, stays, or grows like log n.
    assert min(abs(growth + 1), abs(growth), abs(growth - 1)) < 0.05
    return "growing like log n" if growth > 0.5 else "bounded"


def unbounded(n: int, *quotients: Quantity) -> Place | None:
    """Return the growth of the first quotient that is unbounded."""
    for quotient in quotients:
        growth = describe_growth(quotient)
        if growth != "bounded":
            return {"n": n, "found": growth, "stated": "bounded"}
    return None


@reimplements("FA.Tab6.alltoall-oneport-time-hypercube")
def hypercube_exchange(spec: str) -> Place | None:
    """Compare the k 2^(k-1) hops that a node of Q_k passes on with n! n; 2^k = n!."""
    return unbounded(size(spec), lambda n: cube_dimension(n) / (2 * n))


@reimplements("FA.hyper.other")
def other_cells(spec: str) -> Place | None:
    """Compare star graph and hypercube in the other cells, in both directions."""

    def divided(first: Quantity, second: Quantity) -> Quantity:
        return lambda n: first(n) / second(n)

    quotients: list[Quantity] = []
    for star, cube in OTHER_CELLS.values():
        quotients += [divided(star, cube), divided(cube, star)]
    return unbounded(size(spec), *quotients)
