"""Checks of Fragopoulou & Akl 1993, sections 5 to 9: scatter, gather and alltoall.

The paper calls the alltoall total exchange.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import tree_levels
from starcast.claims.check import ClaimCheck
from starcast.claims.growth import factorial
from starcast.claims.registry import Execution, Memory, checks, execute, executions, used_links
from starcast.collectives.model import BYTES_PER_ROW, Draft, Schedule
from starcast.collectives.one_to_all import build_scatter
from starcast.collectives.rows import route_units
from starcast.records import checkers
from starcast.support.vocabulary import Ports
from starcast.trees.metrics import root_ports
from starcast.trees.model import Forest

from ..common import lower_bound_counts, stars
from ..common.closed_forms import (
    distance_sum,
    even_share,
    largest_branch,
    largest_branch_quotient,
    rule_9_quotient,
    rule_9_steps,
    starting_necklaces,
)
from .scatter_trees import RANDOM_TREES, random_trees
from .tables import distances_of_pairs, shared_distances, shared_others

_SEED = 1993
_SINGLE_TREES = ("balanced", "near-balanced", "necklace", "greedy")
#: The number of rows of a scatter along a path grows with the square of the number of nodes, so the
#: tree `hamiltonian-cycle` is used only up to S_5.
_LONG_TREE_NODES = 120
#: Memory of a check that executes a scatter of 2(n-1) messages per node.
SCATTERS = Memory(3 * BYTES_PER_ROW, power=2)


def scatter_along(
    check: ClaimCheck, forest: Forest, name: str, ports: Ports = "all", messages: int = 1
) -> Schedule:
    """Return a scatter along the given forest, in the order of rule 5 or rule 8.

    The root sends to the farthest nodes first: in all subtrees at once by rule 5 or, in the
    one-port model, in one subtree after the other by rule 8.
    """

    def create() -> Schedule:
        draft, arguments = build_scatter(forest, ports, messages), {"messages": messages}
        return draft.complete(forest.topology, "scatter", name, ports, arguments=arguments)

    return check.build(create, "along", name, ports, forest.root, messages)


def scatter_roots(check: ClaimCheck) -> tuple[int, ...]:
    """Return a few of the check's sample roots, from which scatters are executed."""
    roots = check.roots()
    return roots[:: max(1, len(roots) // 4)]


def random_balanced_trees(check: ClaimCheck) -> Iterator[tuple[Forest, str]]:
    """Yield random balanced trees of the kind that section 5.1 allows, each with a name."""
    for number, row in enumerate(random_trees(check, RANDOM_TREES)):
        yield Forest(check.topology, row[None]), f"drawn-{number}"


# Rule 5: the order in which the root of any tree sends


@checks("FA.R5")
def largest_subtree_determines_steps(check: ClaimCheck) -> None:
    """Check that a scatter by rule 5 takes as many steps as the root's largest subtree has nodes.

    Also check that the messages to the farthest nodes of each subtree leave first.
    """
    for forest, name in spanning_trees(check):
        largest = checkers.branch_sizes(check.topology, forest.parent_port, forest.root).max()
        for schedule in (scatter_along(check, forest, name), random_ties(check, forest, name)):
            check_furthest_first(check, schedule, forest, in_turn=False)
            check.takes(schedule, largest, root=forest.root)


def check_furthest_first(
    check: ClaimCheck, schedule: Schedule, forest: Forest, *, in_turn: bool
) -> None:
    """Check that a scatter uses the links of its tree, and that the root sends by rule 5 or rule 8.

    By rule 5, the root sends into all subtrees at once, to the farthest nodes of each subtree
    first. With ``in_turn``, rule 8 is checked, by which the root serves one subtree after the
    other.
    """
    place = {"root": schedule.root, "of": schedule}
    receiver = schedule.receiver
    above = forest.parent_port[0, receiver]
    check.equal("type of the link to a node", schedule.port, above, node=receiver, **place)

    sent = np.flatnonzero(schedule.sender == schedule.root)
    sent = sent[np.lexsort((schedule.step[sent], schedule.port[sent]))]
    port = schedule.port[sent]
    node = schedule.unit[sent]
    # By rule 5 every port starts in step 1; by rule 8 the ports take turns.
    first = 0 if in_turn else np.searchsorted(port, port)
    stated = np.arange(len(sent)) - first + 1
    check.equal("step in which the root sends", schedule.step[sent], stated, node=node, **place)

    parent = check.parents(forest.parent_port[0])
    level = tree_levels(parent, forest.root)[node]
    not_further = (level[1:] <= level[:-1]) | (port[1:] != port[:-1])
    what = "no node is further away than the one before it"
    check.true(what, not_further, node=node[1:], **place)


def random_ties(check: ClaimCheck, forest: Forest, name: str) -> Schedule:
    """Return a scatter by rule 5 down a tree, with random choices where the rule allows them.

    Rule 5 does not specify the order of nodes on the same level of the same subtree.
    """

    def create() -> Schedule:
        nodes = np.delete(np.arange(check.nodes), forest.root)
        subtree = root_ports(forest)[0, nodes]
        level = forest.levels()[0, nodes]
        # The random key is the least significant: it orders nodes on one level of one subtree.
        order = np.lexsort((np.random.default_rng(_SEED).random(len(nodes)), -level, subtree))
        departure = np.empty(len(nodes), dtype=np.int64)
        first = np.searchsorted(subtree[order], subtree[order])
        departure[order] = np.arange(len(nodes)) - first + 1
        rows = route_units(forest, np.zeros_like(nodes), nodes, departure, nodes)
        return Draft(rows, check.nodes, forest).complete(check.topology, "scatter", name)

    return check.build(create, "ties at random", name, forest.root)


def spanning_trees(check: ClaimCheck) -> Iterator[tuple[Forest, str]]:
    """Yield spanning trees with their names.

    The trees are built by starcast's constructions or at random, each at several roots. The random
    trees of `random_balanced_trees` follow.
    """
    names = list(_SINGLE_TREES)
    if check.nodes <= _LONG_TREE_NODES:
        names.append("hamiltonian-cycle")
    for root in (0, check.nodes // 2, check.nodes - 1):
        for name in names:
            yield check.forest(name, root=root), name
        for seed in range(RANDOM_TREES):
            row = check.random_tree(seed, root)
            yield Forest(check.topology, row[None], root), f"random-{seed}"
    yield from random_balanced_trees(check)


@checks("FA.S51.steps", memory=SCATTERS)
def balanced_scatter(check: ClaimCheck) -> None:
    """Check scatters over balanced trees, from several roots.

    A scatter must take ceil((n!-1)/(n-1)) steps. Its number of transmissions must be t_n, the sum
    of all distances from a node.
    """
    roots = scatter_roots(check)
    schedules = [check.schedule("scatter", "balanced", root=root) for root in roots]
    schedules += [scatter_along(check, *drawn) for drawn in random_balanced_trees(check)]
    for schedule in schedules:
        check.takes(schedule, even_share(check.n), distance_sum(check.n), root=schedule.root)


# Section 6: one-port scatter and gather


def one_port_scatters(check: ClaimCheck) -> Iterator[tuple[Schedule, Forest]]:
    """Yield one-port scatters by rule 8, each with its tree (of section 5.1 or Definition 13)."""
    for root in scatter_roots(check):
        balanced = check.forest("balanced", root=root)
        yield scatter_along(check, balanced, "one-port-balanced", "one"), balanced
        near = check.forest("near-balanced", root=root)
        yield check.schedule("scatter", "one-port", ports="one", root=root), near
    for forest, name in random_balanced_trees(check):
        yield scatter_along(check, forest, f"one-port-{name}", "one"), forest


@checks("FA.R8", given=one_port_scatters)
def one_port_scatter(check: ClaimCheck, scatter: tuple[Schedule, Forest]) -> None:
    """Check that a one-port scatter by rule 8 takes n!-1 steps and t_n transmissions.

    Here t_n is the sum of all distances from a node. Also check that messages leave in the order of
    rule 8: for one subtree after the other, and for the farthest nodes of each subtree first.
    """
    schedule, forest = scatter
    check_furthest_first(check, schedule, forest, in_turn=True)
    stated = (factorial(check.n) - 1, distance_sum(check.n))
    check.takes(schedule, *stated, root=schedule.root)


@checks("FA.R8-clock", given=one_port_scatters)
def last_message_of_each_subtree(check: ClaimCheck, scatter: tuple[Schedule, Forest]) -> None:
    """Check the step in which a scatter's root sends the last message into each subtree.

    The step's number must be the total number of nodes in the subtree and all earlier subtrees.
    """
    schedule, forest = scatter
    from_root = schedule.sender == schedule.root
    last = np.zeros(check.n + 1, dtype=np.int64)
    np.maximum.at(last, schedule.port[from_root], schedule.step[from_root])
    sizes = checkers.branch_sizes(check.topology, forest.parent_port, forest.root)[0]
    place = {"root": schedule.root, "subtree": lambda index: index + 1}
    what = "step of the last message, from 0"
    check.equal(what, last[2:] - 1, np.cumsum(sizes) - 1, **place, of=schedule)


@checks("FA.gather", memory=SCATTERS)
def gather_is_reversed_scatter(check: ClaimCheck) -> None:
    """Check that each gather is the corresponding scatter, reversed in time and direction.

    The gather must have the same number of steps and transmissions as the scatter.
    """
    for algorithm in ("balanced", "near-balanced", "perfectly-balanced", "one-port"):
        ports = "one" if algorithm == "one-port" else "all"
        for messages in (check.n - 1,) if algorithm == "perfectly-balanced" else (1, 2):
            for root in scatter_roots(check)[:2]:
                scatter = check.schedule("scatter", algorithm, ports, root, messages=messages)
                gather = check.schedule("gather", algorithm, ports, root, messages=messages)
                _check_reversed(check, scatter, gather, messages)


def _check_reversed(check: ClaimCheck, scatter: Schedule, gather: Schedule, messages: int) -> None:
    forward = check.execute(scatter)
    place: dict[str, Any] = {"M": messages, "root": gather.root}
    check.takes(gather, forward.steps, forward.transmissions, **place)
    # In reversed time, a row of the last step comes first and goes in the opposite direction.
    step = scatter.steps + 1 - scatter.step
    reversed_rows = (step, scatter.receiver, scatter.sender, scatter.unit, scatter.tree)
    gather_rows = (gather.step, gather.sender, gather.receiver, gather.unit, gather.tree)
    place |= {"of": gather}
    check.equal("rows", len(gather), len(scatter), **place)
    if len(gather) == len(scatter):
        what = "step, sender, receiver, message and tree of each row"
        stated = _sorted_rows(reversed_rows)
        check.equal(what, _sorted_rows(gather_rows), stated, **place, row=lambda row, _: row)


def _sorted_rows(columns: tuple[NDArray[np.integer], ...]) -> NDArray[np.int64]:
    rows = np.column_stack(columns).astype(np.int64)
    # `np.lexsort` uses the last key as the primary sort key, so the columns are reversed.
    return rows[np.lexsort(rows.T[::-1])]


# M messages per node (section 5.2)


def amounts(check: ClaimCheck) -> tuple[int, ...]:
    """Return sample values of M, the number of messages per node.

    The values are small numbers, numbers near n-1, and multiples of n-1.
    """
    n = check.n
    return tuple(sorted({1, 2, 3, n - 2, n - 1, n, 2 * (n - 1)} - {0}))


@checks("FA.M.balanced", memory=SCATTERS)
def balanced_scatter_of_messages(check: ClaimCheck) -> None:
    """Check the number of steps of a scatter of M messages per node over a single balanced tree.

    The number must be M ceil((n!-1)/(n-1)).
    """
    forest = check.forest("balanced")
    for messages in amounts(check):
        schedule = scatter_along(check, forest, "balanced", messages=messages)
        check.takes(schedule, messages * even_share(check.n), M=messages)


@checks("FA.M.near", memory=SCATTERS)
def near_balanced_scatter_of_messages(check: ClaimCheck) -> None:
    """Check how many steps a scatter of M messages per node takes over the near-balanced tree.

    The number must be M times the size of the largest subtree of the root. Also check the order of
    growth of the number divided by M ceil((n!-1)/(n-1)). Definition 13 defines the tree.
    """
    for messages in amounts(check):
        schedule = check.schedule("scatter", "near-balanced", messages=messages)
        check.takes(schedule, messages * largest_branch(check.n), M=messages)
    check.order("steps / M ceil((n!-1)/(n-1))", largest_branch_quotient)


@checks("FA.M.minimum", memory=SCATTERS)
def least_steps(check: ClaimCheck) -> None:
    """Check that no scatter of M messages per node takes fewer than ceil(M(n!-1)/(n-1)) steps."""
    n = check.n
    counts = lower_bound_counts.count_from_node(check)
    check.equal("nodes other than the root", counts.nodes - 1, int(factorial(n)) - 1)
    check.equal("links of the root", counts.links, n - 1)
    for messages in (1, 2, n - 1, n):
        schedules = lower_bound_counts.unit_schedules(check, "scatter", messages=messages)
        stated = shared_others(n, messages)
        lower_bound_counts.check_not_beaten(check, schedules, stated, "steps", M=messages)


@checks("FA.M.perfect", memory=SCATTERS)
def perfectly_balanced_scatter(check: ClaimCheck) -> None:
    """Check that scatters over perfectly balanced trees take ceil(M(n!-1)/(n-1)) steps.

    Definition 15 defines the trees. The number M of messages per node is a multiple of n-1. Also
    check that all trees that contain a node carry the same number of the node's messages.
    """
    for messages in (check.n - 1, 2 * (check.n - 1)):
        for root in scatter_roots(check):
            scatter = execute(check, "scatter", "perfectly-balanced", root=root, messages=messages)
            place = {"root": root, **scatter.place}
            _check_shares(check, scatter.schedule, messages, place)
            check.equal("steps", scatter.steps, shared_others(check.n, messages), **place)


def _check_shares(
    check: ClaimCheck, schedule: Schedule, messages: int, place: dict[str, Any]
) -> None:
    """Check that each node's messages arrive over the trees of Definition 15 that contain the node.

    Equally many messages must arrive over each of these trees.
    """
    forest = check.forest("perfectly-balanced", root=schedule.root)
    receiver = schedule.receiver
    above = forest.parent_port[schedule.tree, receiver]
    check.equal("type of the link to a node", schedule.port, above, **place, node=receiver)
    arrived = schedule.receiver == schedule.unit // messages
    shares = np.zeros(forest.parent_port.shape, dtype=np.int64)
    np.add.at(shares, (schedule.tree[arrived], schedule.receiver[arrived]), 1)
    inside = forest.parent_port > 0
    what = "messages of a node that come along a tree"
    stated = np.where(inside, messages // np.maximum(inside.sum(axis=0), 1), 0)
    trees = np.arange(forest.trees)[:, None]
    check.equal(what, shares, stated, **place, tree=trees, node=check.ranks)


@checks("FA.M.multiple")
def shares_are_integers(check: ClaimCheck) -> None:
    """Check that M messages can be divided evenly among trees if and only if n-1 divides M.

    Definition 15 defines the trees. A node whose necklace (orbit of the rotation R) has p nodes is
    in k = (n-1)/p of the trees, and receives M/k messages over each of these k trees.
    """
    degree = check.n - 1
    period = stars.periods(check)[1:]
    check.equal("remainder of n-1 by the period", degree % period, 0, node=check.ranks[1:])
    k = degree // np.unique(period)
    messages = np.arange(1, 3 * degree + 1)
    integral = (messages[:, None] % k == 0).all(axis=1)
    check.equal("all shares are whole", integral, messages % degree == 0, M=messages)


@checks("FA.S52-only", memory=SCATTERS)
def other_trees_take_longer(check: ClaimCheck) -> None:
    """Check whether scatters take more steps along other trees than along perfectly balanced trees.

    Definition 15 defines the perfectly balanced trees. In fact, the scatter `balanced` of M
    messages per node takes only ceil(M(n!-1)/(n-1)) steps.
    """
    n = check.n
    perfect = check.schedule("scatter", "perfectly-balanced", messages=n - 1)
    words = "no other trees take so few steps with the fewest transmissions too, M t_n"
    shortest = check.reading(words)
    correction = check.correction()
    disjoint = check.forest("edge-disjoint")
    for messages in range(2, 2 * n - 1):
        in_turn = scatter_along(check, disjoint, "edge-disjoint-in-turn", messages=messages)
        balanced = check.schedule("scatter", "balanced", messages=messages)
        for schedule in (in_turn, balanced):
            if np.array_equal(used_links(schedule), used_links(perfect)):
                continue
            _check_longer(check, schedule, messages)
            # The reading `shortest` is about shortest-path trees only, so schedules along other
            # trees, which have more transmissions, are excluded.
            transmissions = check.objects.simulation(schedule).transmissions
            if transmissions == messages * distance_sum(n):
                _check_longer(shortest, schedule, messages)
        correction.takes(balanced, shared_others(n, messages), M=messages)


def _check_longer(check: ClaimCheck, schedule: Schedule, messages: int) -> None:
    bound = shared_others(check.n, messages) + 1
    place = {"M": messages, "trees": schedule.algorithm, "of": schedule}
    check.at_least("steps along other trees", check.execute(schedule).steps, bound, **place)


# Total exchange (sections 7 to 9)


#: The largest number of nodes for which the schedule of all sources is executed too: that of S_5,
#: or that of S_4 for several messages per pair of nodes.
_ALL_SOURCES_NODES = 120
_ALL_SOURCES_NODES_OF_MESSAGES = 24
#: Memory of a check that executes one source's part of an alltoall, one message per pair of nodes.
_ONE_SOURCE = Memory(3 * BYTES_PER_ROW)

rule_9 = executions("alltoall", "necklace")


def check_conflict_free(
    check: ClaimCheck, schedule: Schedule, all_sources_nodes: int = _ALL_SOURCES_NODES
) -> None:
    """Check that one source's schedule is valid and never uses a link type twice in a step.

    On topologies of up to ``all_sources_nodes`` nodes, the schedule of all sources is executed too.
    """
    check.execute(schedule)
    types = np.unique(schedule.step.astype(np.int64) * (check.n + 1) + schedule.port)
    what = "links that share type and step with another"
    check.equal(what, len(schedule) - len(types), 0, of=schedule)
    if check.nodes <= all_sources_nodes:
        check.execute(check.build(schedule.expand, "written out", schedule.id))


def check_groups(check: ClaimCheck, schedule: Schedule, messages: int) -> None:
    """Check that an alltoall follows rule 9, or rule 10 for several messages.

    A group is the set of messages that leave a source in the same step. All messages of a group
    must go to one necklace, an orbit of the rotation R. Groups to the nearest necklaces must leave
    first, and messages must never wait. By rule 9, one group goes to each necklace. By rule 10,
    with M messages per pair of nodes, M p/(n-1) groups go to a necklace of p nodes.
    """
    leader = stars.leaders(check)
    distance = check.distances()
    departs = schedule.sender == 0
    arrives = schedule.receiver == schedule.unit // messages
    node = schedule.unit[departs] // messages
    step = schedule.step[departs]
    # Units that leave the source in the same step are a group.
    begin, first, group = np.unique(step, return_index=True, return_inverse=True)
    necklace = leader[node[first]]
    what = "necklace of those that leave together"
    check.equal(what, leader[node], necklace[group], step=step, of=schedule)
    group_distance = distance[node[first]].astype(np.int64)
    stated = np.sort(group_distance)
    check.equal("distances do not fall", group_distance, stated, step=begin, of=schedule)
    stated = np.cumsum(group_distance) - group_distance + 1
    check.equal("step in which a group leaves", begin, stated, of=schedule)

    leaders = np.unique(leader)[1:]
    groups = np.bincount(necklace, minlength=check.nodes)[leaders]
    stated_groups = messages * stars.periods(check)[leaders] // (check.n - 1) if messages > 1 else 1
    check.equal("groups of a necklace", groups, stated_groups, of=schedule)

    travel = np.zeros(check.nodes * messages, dtype=np.int64)
    travel[schedule.unit[arrives]] += schedule.step[arrives]
    travel[schedule.unit[departs]] -= step
    stated = np.repeat(np.maximum(distance - 1, 0), messages)
    check.equal("steps from the first hop to the last", travel, stated, of=schedule)


def check_mean_distance(check: ClaimCheck) -> Fraction:
    """Check the closed form of the mean distance by breadth-first search, and return the mean."""
    mean = Fraction(distance_sum(check.n), int(factorial(check.n)))
    check.equal("mean distance, by search", Fraction(check.distance_sum, check.nodes), mean)
    return mean


@checks("FA.R9.conflict-free", memory=_ONE_SOURCE)
def rule_9_is_conflict_free(check: ClaimCheck) -> None:
    """Check that the alltoall `necklace` is valid and follows rule 9.

    By rule 9, each source sends to one necklace (orbit of the rotation R) after the other; see
    `check_groups`.
    """
    schedule = check.schedule("alltoall", "necklace")
    check_groups(check, schedule, 1)
    check_conflict_free(check, schedule)


@checks("FA.R9.transmissions", given=rule_9, memory=_ONE_SOURCE)
def rule_9_transmissions(check: ClaimCheck, exchange: Execution) -> None:
    """Check that rule 9's alltoall takes n! t_n transmissions; t_n is a node's sum of distances."""
    stated = distances_of_pairs(check.n)
    check.equal("transmissions", exchange.transmissions, stated, of=exchange.schedule)


@checks("FA.R9.time", given=rule_9, memory=_ONE_SOURCE)
def rule_9_time(check: ClaimCheck, exchange: Execution) -> None:
    """Check whether rule 9's alltoall takes the stated number of steps.

    The paper states h d steps, where h is the number of necklaces (orbits of the rotation R) other
    than {12..n}, and d is the mean distance between nodes. In fact, the number of steps is the sum
    of the necklaces' distances from 12..n.
    """
    steps = exchange.steps
    h = len(np.unique(stars.leaders(check))) - 1
    d = check_mean_distance(check)
    check.equal("steps", steps, h * d, of=exchange.schedule)
    reading = check.reading("h counts the necklace of 12..n too")
    reading.equal("steps", steps, (h + 1) * d, of=exchange.schedule)
    correction = check.correction()
    total = int(stars.leader_distances(check).sum(dtype=np.int64))
    correction.equal("steps, by the distances of the necklaces", steps, total)
    correction.equal("steps, in closed form", steps, rule_9_steps(check.n))


@checks("FA.R9.h")
def number_of_necklaces(check: ClaimCheck) -> None:
    """Check that at most 2(n-1)! - 1 necklaces (orbits of the rotation R) differ from {12..n}."""
    h = len(np.unique(stars.leaders(check))) - 1
    bound = 2 * factorial(check.n - 1) - 1
    check.at_most("necklaces", h, bound)
    check.reading("h counts the necklace of 12..n too").at_most("necklaces", h + 1, bound)
    stated = factorial(check.n - 1) + starting_necklaces(check.n)
    check.equal("necklaces, by Burnside's count", h, stated)


@checks("FA.R9.bound", given=rule_9, memory=_ONE_SOURCE)
def rule_9_bound(check: ClaimCheck, exchange: Execution) -> None:
    """Check whether the steps of rule 9's alltoall obey the stated upper bound.

    The paper states (2(n-1)! - 1) d, where d is the mean distance between nodes. In fact, only
    2(n-1)! d is an upper bound.
    """
    nodes = 2 * factorial(check.n - 1)
    steps = exchange.steps
    d = check_mean_distance(check)
    check.at_most("steps", steps, (nodes - 1) * d, of=exchange.schedule)
    check.correction().at_most("steps", steps, nodes * d, of=exchange.schedule)


@checks("FA.R9.order", given=rule_9, memory=_ONE_SOURCE)
def rule_9_order(check: ClaimCheck, exchange: Execution) -> None:
    """Check that the alltoall of rule 9 takes as many steps as `rule_9_steps` states.

    Also check the order of growth of the number of steps divided by the lower bound
    ceil(t_n/(n-1)), where t_n is the sum of all distances from a node.
    """
    stated = rule_9_steps(check.n)
    check.equal("steps, in closed form", exchange.steps, stated, of=exchange.schedule)
    check.order("steps / ceil(t_n/(n-1))", rule_9_quotient)


@checks("FA.R10", memory=Memory(6 * BYTES_PER_ROW, power=2))
def rule_10(check: ClaimCheck) -> None:
    """Check the numbers of steps and transmissions of rule 10's alltoall.

    Let M, a multiple of n-1, be the number of messages per pair of nodes, and t_n the sum of all
    distances from a node. The alltoall must be valid, and take ceil(M t_n/(n-1)) steps and M n! t_n
    transmissions.
    """
    n = check.n
    # Rule 10 is defined only for multiples of n-1.
    for messages in (n - 1, 2 * (n - 1)):
        schedule = check.schedule("alltoall", "perfectly-balanced", messages=messages)
        check_groups(check, schedule, messages)
        check_conflict_free(check, schedule, _ALL_SOURCES_NODES_OF_MESSAGES)
        transmissions = distances_of_pairs(n, messages)
        check.takes(schedule, shared_distances(n, messages), transmissions, M=messages)


@checks("FA.S8", given=executions("alltoall", "one-port", ports="one"), memory=_ONE_SOURCE)
def one_port_exchange(check: ClaimCheck, exchange: Execution) -> None:
    """Check that the one-port alltoall takes t_n steps and n! t_n transmissions.

    Here t_n is the sum of all distances from a node. Also check that in each step, exactly one
    message of every source crosses a link.
    """
    schedule, simulation = exchange
    what = "messages on their way from a source in a step"
    check.equal(what, np.bincount(schedule.step)[1:], 1, step=lambda index: index + 1, of=schedule)
    check.equal("steps", simulation.steps, distance_sum(check.n), of=schedule)
    check.equal("transmissions", simulation.transmissions, distances_of_pairs(check.n), of=schedule)
    if check.nodes <= _ALL_SOURCES_NODES:
        check.execute(check.build(schedule.expand, "written out", schedule.id))


@checks("FA.open", memory=_ONE_SOURCE)
def exact_exchange(check: ClaimCheck) -> None:
    """Check that the alltoall `exact` is valid, and check its number of steps.

    The number must be ceil(t_n/(n-1)), where t_n is the sum of all distances from a node.
    """
    schedule = check.schedule("alltoall", "exact")
    check_conflict_free(check, schedule)
    check.takes(schedule, shared_distances(check.n))
