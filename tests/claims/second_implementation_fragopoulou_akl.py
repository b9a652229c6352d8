"""Second implementations for the failing claims of Fragopoulou & Akl 1993."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from math import ceil, factorial, lgamma, log

from claims.second_implementation import (
    Comparisons,
    contradiction,
    execute_allgather,
    fewer,
    more,
    reimplements,
    unbounded,
    unequal,
)
from oracles.allgather import cycle, mbst_copies, rotated_hamiltonian
from oracles.allgather_trees import mbst
from oracles.edge_disjoint import edt
from oracles.rooted_trees import load
from oracles.rotation import cycle_of, cycles, necklaces, period, position
from oracles.scatter import (
    Message,
    along,
    balanced_messages,
    one_port_exchange,
    rule_5,
    rule_8,
    rule_9,
)
from oracles.scatter_trees import (
    canonical,
    contest,
    displacement,
    perfectly_balanced,
    rank_by_ordering,
)
from oracles.schedule_rows import Row, execute, for_all, is_one_port
from oracles.star_graph import (
    Node,
    compose,
    diameter,
    distance_sum,
    distances,
    identity,
    label,
    mean_distance,
    nodes,
    swap,
)


@reimplements("FA.A1.transmissions")
def transmissions_of_algorithm_1(n: int) -> Comparisons:
    """Execute Algorithm 1, and compare its transmissions with n!(n-1)."""
    rows = rotated_hamiltonian(n, 1)
    execute_allgather(rows, n)
    yield unequal(factorial(n) * len(rows), factorial(n) * (n - 1))


@reimplements("FA.Tab1.allport-paths-M-time")
def runs_one_after_another(n: int) -> Comparisons:
    """Compare the steps of M runs of Algorithm 1 with ceil(M(n!-1)/(n-1))."""
    packets = execute_allgather(rotated_hamiltonian(n, 1), n)
    assert set(packets) == {1}
    for messages in range(1, n + 1):
        stated = ceil(Fraction(messages * (factorial(n) - 1), n - 1))
        yield unequal(messages * len(packets), stated, M=messages)


@reimplements("FA.MBST-clusters")
def smaller_cluster(n: int) -> Comparisons:
    """Find a cluster (the nodes that the MBST reaches in one step) whose size is not n-1."""
    rows = mbst_copies(n, 1)
    last = len(execute_allgather(rows, n))
    assert last == ceil(Fraction(factorial(n) - 1, n - 1))
    steps = [row.step for row in rows]
    for cluster in range(1, last + 1):
        yield unequal(steps.count(cluster), n - 1, step=cluster)


@reimplements("FA.T8.3")
def number_of_parent(n: int) -> Comparisons:
    """Find a node at distance 2 or more whose number exceeds its parent's by less than n-1."""
    tree, m, _ = mbst(n)
    for node in nodes(n):
        if distances(identity(n))[node] > 1:
            difference = m[node] - m[tree[node]]
            yield fewer(difference, n - 1, node=label(node))


def at_distance(n: int, k: int) -> list[Node]:
    """Return the nodes at distance k from 12..n."""
    return [node for node, distance in distances(identity(n)).items() if distance == k]


@reimplements("FA.B.D2")
def nodes_at_distance_2(n: int) -> Comparisons:
    """Compare the number of nodes at distance 2 with 2(n-1)."""
    yield unequal(len(at_distance(n, 2)), 2 * (n - 1))


@reimplements("FA.B.Dk")
def nodes_at_distances_between(n: int) -> Comparisons:
    """Find a distance below the diameter with fewer than 2(n-1) nodes."""
    for k in range(2, diameter(n)):
        yield fewer(len(at_distance(n, k)), 2 * (n - 1), k=k)


@reimplements("FA.B.even", "FA.B.odd")
def nodes_before_last(n: int) -> Comparisons:
    """Compare the number of nodes at distance K-1 with (l-1)!(n-1), where K is the diameter.

    l is 4 for even n, and 3 for odd n.
    """
    stated = factorial(2 if n % 2 else 3) * (n - 1)
    yield fewer(len(at_distance(n, diameter(n) - 1)), stated)


@reimplements("FA.B.ones")
def nodes_before_last_with_leading_1(n: int) -> Comparisons:
    """Compare the number of nodes that start with 1 and are at distance K-1 with n-1.

    K is the diameter.
    """
    yield fewer(sum(node[0] == 1 for node in at_distance(n, diameter(n) - 1)), n - 1)


@reimplements("FA.D7")
def named_generators(n: int) -> Comparisons:
    """Find a necklace for which Definition 7 does not determine exactly one generator."""
    for members in necklaces(n):
        if members[0][0] == 1:
            rivals = list(contest(members[0]).values())
            count = rivals.count(min(rivals))
        else:
            count = sum(node[1] == 1 for node in members)
        yield unequal(count, 1, node=label(members[0]))


def printed_parents(node: Node, repeated: bool) -> set[int]:
    """Return the dimensions of the links to a node's parents, as printed in the paper.

    The dimensions follow Definition 15 if ``repeated``, else Definition 13.
    """
    n = len(node)
    if node == identity(n):
        return set()
    if node[0] == 1:
        copies = (n - 1) // period(node) if repeated else 1
        return {displacement(node) + 2 + k * period(node) for k in range(copies)}
    return {node[0] if len(cycles(node)) == 1 else canonical(node)[1][-1]}


def printed_children(node: Node, repeated: bool) -> set[int]:
    """Return the dimensions of the links to a node's children, as printed in the paper.

    The dimensions follow Definition 15 if ``repeated``, else Definition 13.
    """
    n = len(node)
    k = position(node, 1)
    if node == identity(n):
        return set(range(2, n + 1))
    if node[0] == 1:
        return set()
    types = {j for j in range(2, n + 1) if node[j - 1] == j}
    leaf = swap(node, k)
    if leaf != identity(n):
        apart = k - 2 - displacement(leaf)
        if apart == 0 or (repeated and apart > 0 and apart % period(leaf) == 0):
            types.add(k)
    own = cycle_of(node, 1)[1:]
    indices = [rank_by_ordering(k, symbol, n) for symbol in own]
    return types | {own[i] for i in range(1, len(own) - 1) if indices[i] < min(indices[:i])}


def not_inverse(n: int, repeated: bool) -> Comparisons:
    """Find a node and a dimension for which the printed parents and children disagree."""
    for node, j in product(nodes(n), range(1, n + 1)):
        is_parent = j in printed_parents(node, repeated)
        is_child = j in printed_children(swap(node, j), repeated)
        if is_parent != is_child:
            yield contradiction(is_parent, is_child, node=label(node), dimension=j)


reimplements("FA.D13")(partial(not_inverse, repeated=False))
reimplements("FA.D15-printed")(partial(not_inverse, repeated=True))


Trees = Callable[[int, int], list[Message]]


def edge_disjoint_messages(n: int, messages: int) -> list[Message]:
    """Return the messages of a scatter; message i to a node uses edge-disjoint tree i mod n-1."""
    trees = edt(identity(n))
    return [
        along(trees[i % (n - 1)], node, i % (n - 1), i)
        for i in range(messages)
        for node in nodes(n)[1:]
    ]


#: Scatters of source 12..n along trees other than those of Definition 15.
OTHER_TREES: Mapping[str, Trees] = {
    "edge-disjoint-in-turn": edge_disjoint_messages,
    "balanced": lambda n, messages: balanced_messages(identity(n), messages),
}


@reimplements("FA.S52-only")
def other_trees(n: int) -> Comparisons:
    """Find a scatter with the minimum number of steps along trees other than Definition 15's."""
    links_of_definition_15 = set(load(perfectly_balanced(identity(n))))
    for messages, trees in product(range(2, 2 * n), OTHER_TREES):
        sent = OTHER_TREES[trees](n, messages)
        if {link for message in sent for link in pairwise(message.path)} <= links_of_definition_15:
            continue
        steps, _ = scatter(rule_5(sent, messages), n)
        stated = ceil(Fraction(messages * (factorial(n) - 1), n - 1)) + 1
        yield fewer(steps, stated, M=messages, trees=trees)


def scatter(rows: Sequence[Row], n: int) -> tuple[int, int]:
    """Execute a scatter of source 12..n, and return the numbers of steps and transmissions.

    With M messages per node, unit rank*M + i is message i to the node with that rank.
    """
    units = {row.unit for row in rows}
    execution = execute(rows, {identity(n): units})
    assert execution.lacking == 0
    assert set(execution.packets.values()) == {1}
    messages = len(units) // (factorial(n) - 1)
    assert units == set(range(messages, factorial(n) * messages))
    assert all(unit in execution.holds[nodes(n)[unit // messages]] for unit in units)
    return max(execution.packets), len(rows)


def alltoall(rows: Sequence[Row], n: int) -> tuple[int, int]:
    """Execute an alltoall, and return the numbers of steps and transmissions.

    The given rows are those of source 12..n, and their units are the ranks of the destinations.
    """
    all_rows = for_all(rows, nodes(n))
    execution = execute(
        all_rows, {source: {(source, rank) for rank in range(factorial(n))} for source in nodes(n)}
    )
    assert execution.lacking == 0
    assert set(execution.packets.values()) == {1}
    assert all(
        (source, rank) in execution.holds[compose(source, node)]
        for source in nodes(n)
        for rank, node in enumerate(nodes(n))
    )
    return max(execution.packets), len(all_rows)


def rule_9_steps(n: int) -> int:
    """Execute the alltoall of Rule 9, and return its number of steps."""
    steps, _ = alltoall(rule_9(identity(n)), n)
    return steps


@reimplements("FA.R9.time")
def necklaces_times_mean(n: int) -> Comparisons:
    """Compare the steps of Rule 9 with the number of necklaces times the mean distance."""
    yield unequal(rule_9_steps(n), len(necklaces(n)) * mean_distance(n))


@reimplements("FA.R9.bound")
def more_than_the_bound(n: int) -> Comparisons:
    """Compare the steps of Rule 9 with the bound (2(n-1)! - 1) d, where d is the mean distance."""
    steps = rule_9_steps(n)
    stated = (2 * factorial(n - 1) - 1) * mean_distance(n)
    yield more(steps, stated)


@reimplements("FA.S2-optimal")
def nine_bounds(n: int) -> Comparisons:
    """Compare the algorithms of sections 3 to 8 with the nine lower bounds of section 2."""
    root = identity(n)
    count = factorial(n)
    total = distance_sum(n)
    sent = balanced_messages(root, 1)
    assert is_one_port(for_all(cycle(n, 1), nodes(n)))
    assert is_one_port(rule_8(sent, 1))
    assert is_one_port(for_all(one_port_exchange(root, 1), nodes(n)))
    gathers = [cycle(n, 1), rotated_hamiltonian(n, 1)]
    cycle_packets, packets = (execute_allgather(rows, n) for rows in gathers)
    assert set(cycle_packets) == {1}
    # For each collective: steps and transmissions of the one-port algorithm and of the all-port
    # algorithm, the lower bound on transmissions, and the lower bound on one-port steps.
    problems = [
        (
            (len(cycle_packets), count * len(gathers[0])),
            (len(packets), count * len(gathers[1])),
            count * (count - 1),
            count - 1,
        ),
        (scatter(rule_8(sent, 1), n), scatter(rule_5(sent, 1), n), total, count - 1),
        (
            alltoall(one_port_exchange(root, 1), n),
            alltoall(rule_9(root), n),
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
            yield unequal(found, stated)


def cube_dimension(n: float) -> float:
    """Return the dimension k = log2 n! of the hypercube with as many nodes as S_n."""
    return lgamma(n + 1) / log(2)


@reimplements("FA.Tab6.alltoall-oneport-time-hypercube")
def hypercube_exchange(_: int) -> Comparisons:
    """Compare each node's k 2^(k-1) sends in an alltoall on Q_k with n! n, where 2^k = n!."""
    yield unbounded(lambda n: cube_dimension(n) / (2 * n))


def star_over_cube(n: float) -> float:
    """Return the mean distance in S_n divided by that in a hypercube with as many nodes.

    The claim concerns "any other case" in Table 6. Among these cases, only the one-port alltoall
    has different counts on the star graph and on the hypercube. They differ by this factor.
    """
    # For huge n, the term 2/n of the mean distance in S_n does not matter.
    return (n + log(n) + 0.5772156649 - 4) / (cube_dimension(n) / 2)


@reimplements("FA.hyper.other")
def other_cells(_: int) -> Comparisons:
    """Check that `star_over_cube` and its reciprocal are bounded."""
    yield unbounded(star_over_cube)
    yield unbounded(lambda n: 1 / star_over_cube(n))
