"""What fails of Fragopoulou & Akl 1993, looked at again."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import product
from math import ceil, factorial, lgamma, log, log2

from claims.definitions import (
    Node,
    Row,
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
from claims.definitions_allgather import allgather, clusters, numbering, over, rotated_paths
from claims.definitions_scatter import (
    Routes,
    alltoall,
    around,
    balanced,
    canonical,
    displacement,
    farthest_first,
    generators,
    hop_by_hop,
    one_after_another,
    parent_type,
    place_in,
    place_of_1,
    route,
    scatter,
    total,
)
from claims.second_implementation import Place, reimplements


def harmonic_mean_distance(n: int) -> Fraction:
    """The mean distance as printed: d = n + 2/n + H_n - 4."""
    return n + Fraction(2, n) + sum(Fraction(1, i) for i in range(1, n + 1)) - 4


@reimplements("FA.A1.transmissions")
def transmissions(spec: str) -> Place | None:
    n = size(spec)
    _, found = allgather(rotated_paths(n), n)
    stated = factorial(n) * (n - 1)
    return None if found == stated else {"n": n, "found": found, "stated": stated}


@reimplements("FA.Tab1.allport-paths-M-time")
def runs_one_after_another(spec: str) -> Place | None:
    n = size(spec)
    largest, _ = allgather(rotated_paths(n), n)
    assert set(largest.values()) == {1}
    for messages in range(1, n + 1):
        found, stated = (
            messages * max(largest),
            ceil(Fraction(messages * (factorial(n) - 1), n - 1)),
        )
        if found != stated:
            return {"n": n, "M": messages, "found": found, "stated": stated}
    return None


@reimplements("FA.MBST-clusters")
def smaller_cluster(spec: str) -> Place | None:
    n = size(spec)
    allgather(clusters(n), n)
    steps = [row[0] for row in clusters(n)]
    assert max(steps) == ceil(Fraction(factorial(n) - 1, n - 1))
    for step in range(1, max(steps) + 1):
        if steps.count(step) != n - 1:
            return {"n": n, "step": step, "found": steps.count(step), "stated": n - 1}
    return None


@reimplements("FA.T8.3")
def earlier(spec: str) -> Place | None:
    n = size(spec)
    m = {node: i for i, node in enumerate([identity(n), *numbering(n)])}
    for node in nodes(n):
        if distances(n)[node] > 1:
            found = m[node] - m[crossed(node, over(m[node], n))]
            if found < n - 1:
                return {"n": n, "node": text(node), "found": found, "stated": n - 1}
    return None


def at_distance(n: int, k: int) -> list[Node]:
    return [node for node in nodes(n) if distances(n)[node] == k]


def fewer(found: int, stated: int, **where: int) -> Place | None:
    return {**where, "found": found, "stated": stated} if found < stated else None


@reimplements("FA.B.D2")
def two_steps_away(spec: str) -> Place | None:
    n = size(spec)
    found, stated = len(at_distance(n, 2)), 2 * (n - 1)
    return None if found == stated else {"n": n, "found": found, "stated": stated}


@reimplements("FA.B.Dk")
def layers(spec: str) -> Place | None:
    n = size(spec)
    looked_at = (
        fewer(len(at_distance(n, k)), 2 * (n - 1), n=n, k=k) for k in range(2, diameter(n))
    )
    return next(filter(None, looked_at), None)


@reimplements("FA.B.even")
def before_the_last_even(spec: str) -> Place | None:
    n = size(spec)
    return fewer(len(at_distance(n, diameter(n) - 1)), 6 * (n - 1), n=n)


@reimplements("FA.B.odd")
def before_the_last_odd(spec: str) -> Place | None:
    n = size(spec)
    return fewer(len(at_distance(n, diameter(n) - 1)), 2 * (n - 1), n=n)


@reimplements("FA.B.ones")
def before_the_last_with_1(spec: str) -> Place | None:
    n = size(spec)
    return fewer(sum(node[0] == 1 for node in at_distance(n, diameter(n) - 1)), n - 1, n=n)


@reimplements("FA.D7")
def named(spec: str) -> Place | None:
    for beads in sorted(necklaces(size(spec))):
        found = len(generators(beads))
        if found != 1:
            return {"n": size(spec), "node": text(beads[0]), "found": found, "stated": 1}
    return None


def printed_parents(node: Node, repeated: bool) -> set[int]:
    """Definitions 13 and 15 as printed: the types towards the parents, by the second cycle from the left."""
    n = len(node)
    if node == identity(n):
        return set()
    if node[0] == 1:
        d, period = displacement(node), len(necklace(node))
        return {d + 2 + k * period for k in range((n - 1) // period if repeated else 1)}
    return {node[0] if len(cycles(node)) == 1 else canonical(node)[1][-1]}


def printed_children(node: Node, repeated: bool) -> set[int]:
    """Definitions 13 and 15 as printed: the types towards the children."""
    n, k = len(node), place_of_1(node)
    if node == identity(n):
        return set(range(2, n + 1))
    if node[0] == 1:
        return set()
    found = {j for j in range(2, n + 1) if node[j - 1] == j}
    leaf = crossed(node, k)
    if leaf != identity(n):
        apart = k - 2 - displacement(leaf)
        if apart == 0 or (repeated and apart > 0 and apart % len(necklace(leaf)) == 0):
            found.add(k)
    mine = next(cycle for cycle in cycles(node) if 1 in cycle)[1:]
    places = [place_in(k, symbol, n) for symbol in mine]
    return found | {mine[i] for i in range(1, len(mine) - 1) if places[i] < min(places[:i])}


def against_one_another(n: int, repeated: bool) -> Place | None:
    for node, j in product(nodes(n), range(1, n + 1)):
        found, stated = (
            j in printed_parents(node, repeated),
            j in printed_children(crossed(node, j), repeated),
        )
        if found != stated:
            return {"n": n, "node": text(node), "dimension": j, "found": found, "stated": stated}
    return None


@reimplements("FA.D13")
def near_balanced_as_printed(spec: str) -> Place | None:
    return against_one_another(size(spec), repeated=False)


@reimplements("FA.D15-printed")
def perfectly_balanced_as_printed(spec: str) -> Place | None:
    return against_one_another(size(spec), repeated=True)


def edge_disjoint(node: Node, tree: int) -> int:
    """The type towards the parent in an edge-disjoint tree, by the definitions page of these trees."""
    n, k, a = len(node), place_of_1(node), node[0]
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


def links(node: Node, types: list[int]) -> Iterator[tuple[Node, int]]:
    """The links of a route that ends in a node, backwards."""
    for dimension in reversed(types):
        node = crossed(node, dimension)
        yield node, dimension


def repeated_links(n: int) -> set[tuple[Node, int]]:
    """The links of the tree of Definition 15, as repaired."""
    found = set[tuple[Node, int]]()
    for node in nodes(n)[1:]:
        kinds = printed_parents(node, repeated=True) if node[0] == 1 else {parent_type(node)}
        found |= {(crossed(node, kind), kind) for kind in kinds}
    return found


def trees_in_turn(n: int, messages: int) -> Routes:
    """Each message along the next of the edge-disjoint trees."""
    parents = [partial(edge_disjoint, tree=tree) for tree in range(2, n + 1)]
    return {
        (node, i): route(node, parents[i % (n - 1)])
        for i in range(messages)
        for node in nodes(n)[1:]
    }


def numbered_on(n: int, messages: int) -> Routes:
    """The balanced trees of section 5.1, each message's numbers following those of the one before."""
    parents = [balanced(n, i * (factorial(n - 1) - 1)) for i in range(messages)]
    return {
        (node, i): route(node, parents[i].__getitem__)
        for i in range(messages)
        for node in nodes(n)[1:]
    }


@reimplements("FA.S52-only")
def another_tree(spec: str) -> Place | None:
    n = size(spec)
    others: dict[str, Callable[[int, int], Routes]] = {
        "edge-disjoint-in-turn": trees_in_turn,
        "balanced": numbered_on,
    }
    for messages, trees in product(range(2, 2 * n), others):
        routes = others[trees](n, messages)
        if {link for unit in routes for link in links(unit[0], routes[unit])} <= repeated_links(n):
            continue
        found = scatter(n, farthest_first(n, routes, "all"))
        stated = ceil(Fraction(messages * (factorial(n) - 1), n - 1)) + 1
        if found < stated:
            return {"n": n, "M": messages, "trees": trees, "found": found, "stated": stated}
    return None


def rule_9(n: int) -> int:
    steps, _ = alltoall(n, one_after_another(n), "all")
    return steps


@reimplements("FA.R9.time")
def necklaces_times_mean(spec: str) -> Place | None:
    n = size(spec)
    found, stated = rule_9(n), len(necklaces(n)) * harmonic_mean_distance(n)
    return None if found == stated else {"n": n, "found": found, "stated": number(stated)}


@reimplements("FA.R9.bound")
def more_than_the_bound(spec: str) -> Place | None:
    n = size(spec)
    found, stated = rule_9(n), (2 * factorial(n - 1) - 1) * harmonic_mean_distance(n)
    return None if found <= stated else {"n": n, "found": found, "stated": number(stated)}


def cycle_run(n: int) -> tuple[int, int]:
    """Steps and transmissions of the allgather of section 4, executed."""
    rows = around(n)
    largest, holds = execute(rows, {node: {node} for node in nodes(n)})
    assert one_port(rows)
    assert set(largest.values()) == {1}
    assert all(holds[node] == set(nodes(n)) for node in nodes(n))
    return max(largest), len(rows)


def best_scatter(n: int, ports: str) -> tuple[int, int]:
    parents = balanced(n)
    rows: list[Row] = farthest_first(
        n, {(node, 0): route(node, parents.__getitem__) for node in nodes(n)[1:]}, ports
    )
    assert ports == "all" or one_port(rows)
    return scatter(n, rows), len(rows)


@reimplements("FA.S2-optimal")
def nine_bounds(spec: str) -> Place | None:
    n = size(spec)
    others, away = factorial(n) - 1, total(n)
    paths, sent = allgather(rotated_paths(n), n)
    problems: list[tuple[tuple[int, int], tuple[int, int], int, int]] = [
        (cycle_run(n), (max(paths), sent), factorial(n) * others, others),
        (best_scatter(n, "one"), best_scatter(n, "all"), away, others),
        (
            alltoall(n, hop_by_hop(n), "one"),
            alltoall(n, one_after_another(n), "all"),
            factorial(n) * away,
            away,
        ),
    ]
    for one, all_ports, fewest, least in problems:
        pairs = [
            (one[1], fewest),
            (all_ports[1], fewest),
            (one[0], least),
            (all_ports[0], ceil(Fraction(least, n - 1))),
        ]
        for found, stated in pairs:
            if found != stated:
                return {"n": n, "found": found, "stated": stated}
    return None


def ports_of_a_cube(n: float) -> float:
    """The dimension k = log2 n! of the hypercube of as many nodes."""
    return lgamma(n + 1) / log(2)


def mean_distance(n: float) -> float:
    return n + log(n) + 0.5772156649 - 4


def same(_: float) -> float:
    return 1.0


#: What star and hypercube take in the cells of "any other case", over the power of N = n! = 2^k that both have.
OTHER_CELLS: Mapping[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "allgather, N(N-1) transmissions": (same, same),
    "allgather, one-port, N-1 steps": (same, same),
    "scatter, one-port, N-1 steps": (same, same),
    "alltoall, one-port, the sum of the distances": (
        mean_distance,
        lambda n: ports_of_a_cube(n) / 2,
    ),
}


def grows(quotient: Callable[[float], float]) -> str:
    """How a quotient grows between n = 2^64 and n = 2^128: log n doubles."""
    growth = log2(quotient(2.0**128) / quotient(2.0**64))
    assert (
        min(abs(growth + 1), abs(growth), abs(growth - 1)) < 0.05
    )  # falls, stays, or grows like log n
    return "growing like log n" if growth > 0.5 else "bounded"


def unbounded(n: int, *quotients: Callable[[float], float]) -> Place | None:
    for quotient in quotients:
        found = grows(quotient)
        if found != "bounded":
            return {"n": n, "found": found, "stated": "bounded"}
    return None


@reimplements("FA.Tab6.alltoall-oneport-time-hypercube")
def hypercube_exchange(spec: str) -> Place | None:
    """A node of Q_k has k 2^(k-1) hops to pass on: over n! n it leaves k/(2n), as 2^k = n!."""
    return unbounded(size(spec), lambda n: ports_of_a_cube(n) / (2 * n))


@reimplements("FA.hyper.other")
def in_any_other_case(spec: str) -> Place | None:
    def over_the_other(
        first: Callable[[float], float], second: Callable[[float], float]
    ) -> Callable[[float], float]:
        return lambda n: first(n) / second(n)

    both_ways = [
        pair for star, cube in OTHER_CELLS.values() for pair in ((star, cube), (cube, star))
    ]
    return unbounded(size(spec), *(over_the_other(*pair) for pair in both_ways))
