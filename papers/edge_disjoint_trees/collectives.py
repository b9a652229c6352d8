"""Checks of Fragopoulou & Akl 1996, sections 4 and 5: broadcasts and other collectives.

EDT are the paper's n-1 edge-disjoint spanning trees, starcast's construction `edge-disjoint`. The
paper calls these trees subtrees, and numbers them 2..n.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import cached
from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number, divide, factorial
from starcast.claims.registry import Execution, checks, execute, executions, used_links
from starcast.collectives.model import Schedule
from starcast.collectives.one_to_all import build_pipeline
from starcast.judges.simulator import FaultLike, Simulation, simulate_acknowledged
from starcast.support.integers import ceil_div
from starcast.trees.model import Forest

from ..common import stars
from ..common.closed_forms import diameter, distance_sum


def execute_copies(
    check: ClaimCheck, collective: str, messages: int, copies: int, root: int = 0
) -> Execution:
    """Execute a collective on the edge-disjoint trees EDT, and return the execution.

    Each message is sent in the given number of copies. The check records whether the schedule is
    valid.
    """
    return execute(check, collective, "edge-disjoint", root=root, messages=messages, copies=copies)


def check_transmissions(
    check: ClaimCheck, executed: Execution, per_message: int, **place: int
) -> None:
    """Check that a collective of M messages takes M times ``per_message`` transmissions."""
    stated = executed.messages * per_message
    check.equal("transmissions", executed.transmissions, stated, **executed.place, **place)


# Sections 4.1, 4.2 and 5: broadcasts of M messages


#: Starcast's constructions of one spanning shortest-path tree.
SHORTEST_PATH_TREES = ("greedy", "necklace", "balanced", "near-balanced")


def numbers_of_messages(n: int) -> range:
    """Return 1..2n, the numbers of messages to try; 2n is more than twice the number of trees."""
    return range(1, 2 * n + 1)


#: The broadcasts of section 4.2 from the identity, with one copy of each message.
broadcasts = executions("broadcast", "edge-disjoint", messages=numbers_of_messages, copies=1)
#: Broadcasts of at least n-1 messages.
long_broadcasts = executions(
    "broadcast", "edge-disjoint", messages=lambda n: range(n - 1, 2 * n), copies=1
)


# Broadcasts along one tree


@checks("EDT.S41-pipe")
def pipelined_steps(check: ClaimCheck) -> None:
    """Check the number of steps of pipelined broadcasts along shortest-path trees.

    In a pipelined broadcast, the messages follow one another down the tree. For M messages on a
    graph of diameter D, the broadcast must take M + D - 1 steps.
    """
    for messages in (1, 2, 3, check.n - 1, 2 * check.n):
        for tree in shortest_path_trees(check):
            create = partial(pipelined, tree, messages)
            schedule = check.build(create, "pipelined", tree.id, tree.construction, messages)
            place = {"M": messages, "tree": tree.construction}
            check.takes(schedule, messages + diameter(check.n) - 1, **place)


def pipelined(tree: Forest, segments: int) -> Schedule:
    """Return the broadcast of a message in segments that follow one another down a tree."""
    draft = build_pipeline(tree, "all", segments)
    arguments = {"segments": segments}
    return draft.complete(tree.topology, "broadcast", tree.construction, arguments=arguments)


def shortest_path_trees(check: ClaimCheck) -> Iterator[Forest]:
    """Yield shortest-path trees of starcast's constructions, then random shortest-path trees."""
    roots = check.roots()
    for root in (*roots[:3], roots[-1]):
        yield check.forest("greedy", root=root)
    for construction in SHORTEST_PATH_TREES[1:]:
        yield check.forest(construction)
    for seed in range(3):
        row = _draw_tree(check, seed)
        yield Forest(check.topology, row[None], 0, f"random-{seed}", spanning=False)


@cached
def _draw_tree(check: ClaimCheck, seed: int) -> NDArray[np.uint8]:
    """Return a random shortest-path tree: each node's port towards its parent, uint8 ``[nodes]``.

    Each port is drawn from the node's ports that lead closer to the identity.
    """
    distance = check.distances()
    weight = np.random.default_rng([seed, check.n]).random(check.neighbours.shape)
    is_closer = distance[check.neighbours] < distance
    # Closer neighbours have random weights and the others 0, so `argmax` draws evenly among the
    # closer neighbours.
    ports = np.asarray(np.argmax(weight * is_closer, axis=0) + 2, dtype=np.uint8)
    ports[0] = 0
    return ports


# Section 4.2: lower bounds, steps, transmissions and links of broadcasts


def fewest_steps(check: ClaimCheck) -> tuple[NDArray[np.int64], NDArray[np.str_]]:
    """Return the fewest steps in which starcast broadcasts M messages, for M = 1..2n.

    The three all-port algorithms that send one unit over a link per step are executed.

    Returns:
        For each M, the minimum number of steps, and the name of an algorithm that attains it.
    """
    best = []
    for messages in numbers_of_messages(check.n):
        runs = (
            execute(check, "broadcast", "greedy", segments=messages),
            execute(check, "broadcast", "recursive-substar", messages=messages),
            execute_copies(check, "broadcast", messages, 1),
        )
        best.append(min(runs, key=lambda run: run.steps))
    algorithms = [run.schedule.algorithm for run in best]
    return np.array([run.steps for run in best]), np.array(algorithms)


@checks("EDT.S42-bound")
def lower_bound(check: ClaimCheck) -> None:
    """Check whether starcast's broadcasts obey the lower bounds of sections 4.1 and 4.2.

    Each bound is a minimum number of steps for a broadcast of M messages. In fact, the bound of
    section 4.2 is one step too large, because a single message is broadcast in D steps, where D is
    the diameter.
    """
    n = check.n
    messages = np.array(numbers_of_messages(n))
    bound = -(-messages // (n - 1)) + diameter(n)
    fewest, algorithms = fewest_steps(check)
    place = {"M": messages, "algorithm": algorithms}
    check.at_least("steps", fewest, bound, **place)
    instead = check.correction()
    instead.at_least("steps", fewest, bound - 1, **place)
    instead.equal("steps for M = 1", fewest[0], diameter(n))
    other = check.reading("with - 1, as in section 4.1 and Table 1")
    other.at_least("steps", fewest, bound - 1, **place)


@checks("EDT.SNB.steps")
def steps_of_broadcasts(check: ClaimCheck) -> None:
    """Check the number of steps of broadcasts along the n-1 edge-disjoint trees EDT.

    For M messages on a graph of diameter D, the number must be at most ceil(M/(n-1)) + D + 3. The
    identity broadcasts 1 to 2n messages, and other sources broadcast n messages.
    """
    n = check.n
    for broadcast in broadcasts(check):
        bound = ceil_div(broadcast.messages, n - 1) + diameter(n) + 3
        check.at_most("steps", broadcast.steps, bound, **broadcast.place)
    for root in check.roots():
        broadcast = execute_copies(check, "broadcast", n, 1, root)
        bound = ceil_div(n, n - 1) + diameter(n) + 3
        check.at_most("steps", broadcast.steps, bound, **broadcast.place, root=root)


@checks("EDT.SNB.transmissions", given=broadcasts)
def transmissions_of_broadcasts(check: ClaimCheck, broadcast: Execution) -> None:
    """Check that a broadcast of M messages along edge-disjoint trees has M(n!-1) transmissions."""
    check_transmissions(check, broadcast, factorial(check.n) - 1)


@checks("EDT.SNB.speedup")
def speedup_in_the_limit(check: ClaimCheck) -> None:
    """Check that n-1 edge-disjoint trees broadcast many messages n-1 times as fast as one tree.

    For n-1 more messages, one tree must take n-1 times as many additional steps as the
    edge-disjoint trees EDT. With more and more messages, the ratio of the total steps tends to this
    ratio.
    """
    for messages in range(1, 2 * check.n):
        # Along one tree and along EDT, the number of additional steps for n-1 more messages is the
        # same for every M. So for large M, the ratio of the total steps tends to the ratio of the
        # additional steps.
        more = messages + check.n - 1
        one_tree = [
            execute(check, "broadcast", "greedy", segments=count).steps
            for count in (more, messages)
        ]
        longer = execute_copies(check, "broadcast", more, 1)
        shorter = execute_copies(check, "broadcast", messages, 1)
        several_trees = longer.steps - shorter.steps
        more_steps = one_tree[0] - one_tree[1]
        limit = Fraction(more_steps, several_trees) if several_trees else Fraction(0)
        what = "limit of the quotient of the steps"
        check.equal(what, limit, Fraction(check.n - 1), M=messages, of=longer.schedule)


@checks("EDT.SNB.links")
def directed_links_are_used(check: ClaimCheck) -> None:
    """Check whether broadcasts along the edge-disjoint trees EDT use every directed link.

    The broadcasts have n-1 or more messages. In fact, links to the source are not used.
    """
    instead = check.correction()
    what = "whether the directed link carries a message"
    for broadcast in long_broadcasts(check):
        messages = broadcast.messages
        used = used_links(broadcast.schedule)
        check.true(what, used, **broadcast.place, link=check.links)
        # A link whose head has rank 0 leads to the source, which already has all messages.
        instead.equal(what, used, check.neighbours.T != 0, M=messages, link=check.links)
        stated = (check.n - 1) * (factorial(check.n) - 1)
        count = np.count_nonzero(used)
        instead.equal("directed links that carry a message", count, stated, M=messages)


@checks("EDT.SNB-links-undirected", given=long_broadcasts)
def undirected_links_are_used(check: ClaimCheck, broadcast: Execution) -> None:
    """Check that a broadcast along edge-disjoint trees uses every link in at least one direction.

    The broadcast has n-1 or more messages.
    """
    used = used_links(broadcast.schedule)
    reverse = [used[row, port] for port, row in enumerate(check.neighbours)]
    either = used | np.stack(reverse, axis=1)
    check.true("whether the link carries a message", either, **broadcast.place, link=check.links)
    count = np.count_nonzero(either)
    stated = factorial(check.n) * (check.n - 1)
    what = "links that carry a message, each from both ends"
    check.equal(what, count, stated, M=broadcast.messages)


@checks("EDT.concl-optimal")
def steps_against_the_bound(check: ClaimCheck) -> None:
    """Check whether broadcasts along the edge-disjoint trees EDT attain a lower bound on steps.

    The bound is ceil(M/(n-1)) + D - 1, for M messages on a graph of diameter D. In fact, the
    broadcast takes two more steps for odd n, and three more for even n.
    """
    n = check.n
    instead = check.correction()
    for broadcast in broadcasts(check):
        bound = ceil_div(broadcast.messages, n - 1) + diameter(n) - 1
        check.at_most("steps", broadcast.steps, bound, **broadcast.place)
        instead.equal("steps", broadcast.steps, bound + (2 if n % 2 else 3), M=broadcast.messages)


# Sections 4.4 to 4.6: allgather, scatter and alltoall in n-1 copies


#: The largest n + M, where M is the number of messages per node or per pair of nodes, for which
#: schedules are expanded to the rows of all sources.
MAX_EXPANDED = 6


#: Collectives from the identity that send each message in n-1 copies, one along each tree.
in_all_trees = partial(executions, algorithm="edge-disjoint", copies=lambda n: n - 1)
allgathers = in_all_trees("allgather", messages=(1, 2, 3))
scatters = in_all_trees("scatter", messages=(1, 2, 3))
alltoalls = in_all_trees("alltoall", messages=(1, 2, 3))


@checks("EDT.MNB.conflict-free", given=allgathers)
def check_conflict_free(check: ClaimCheck, executed: Execution) -> None:
    """Check that no directed link carries two messages in a step if all n! sources send.

    The schedule has the rows of one source. For these rows, the simulator verifies that no two
    links of a step have the same dimension, which excludes conflicts between sources. Small
    schedules are also expanded to all sources.
    """
    what = "messages on a directed link in a step, at most"
    check.equal(what, executed.simulation.largest_packet, 1, **executed.place)
    if check.n + executed.messages > MAX_EXPANDED:
        return
    expanded = check.build(executed.schedule.expand, executed.schedule.id, "expanded")
    place = {"M": executed.messages, "of": expanded}
    largest_packet = check.execute(expanded).largest_packet
    check.equal("messages on a directed link, written out", largest_packet, 1, **place)
    # Step, sender and port (at most n) are combined into one number. Two rows with the same number
    # would use the same link in the same step.
    senders = expanded.step.astype(np.int64) * check.nodes + expanded.sender
    link_steps = np.unique(senders * (check.n + 1) + expanded.port)
    what = "rows on different links or in different steps"
    check.equal(what, len(link_steps), len(expanded), **place)


# Section 4.4: allgather


def execute_acknowledged(
    check: ClaimCheck, schedule: Schedule, faults: Sequence[FaultLike]
) -> Simulation:
    """Execute an allgather along edge-disjoint trees with acknowledgements, as in the paper.

    A node sends a message to its next child only after the previous child has acknowledged the
    message.
    """

    def create() -> Simulation:
        return simulate_acknowledged(schedule, faults).simulation

    key = ("acknowledged", schedule.id, *map(str, faults))
    return check.objects.get_or_create("simulation", key, create)


@checks("EDT.MNB.steps", given=allgathers)
def allgather_steps(check: ClaimCheck, allgather: Execution) -> None:
    """Check the number of steps of allgathers along the n-1 edge-disjoint trees EDT.

    For M messages per node, the number must be M(n!-1), with and without acknowledgements. Also
    check that in each step, exactly one message of the source crosses a link of each subtree.
    """
    schedule = allgather.schedule
    messages = allgather.messages
    stated = messages * (factorial(check.n) - 1)
    check.equal("steps", allgather.steps, stated, **allgather.place)
    acknowledged = execute_acknowledged(check, schedule, []).steps
    check.equal("steps, waiting for acknowledgements", acknowledged, stated, M=messages)
    rows = np.lexsort((schedule.step, schedule.tree))
    what = "step of a row of a subtree"
    expected = np.resize(np.arange(1, allgather.steps + 1), len(schedule))
    subtree = schedule.tree[rows] + 2
    check.equal(what, schedule.step[rows], expected, subtree=subtree, **allgather.place)


@checks("EDT.MNB.transmissions", given=allgathers)
def allgather_transmissions(check: ClaimCheck, allgather: Execution) -> None:
    """Check the number of transmissions of allgathers along the n-1 edge-disjoint trees EDT.

    For M messages per node, the number must be M n!(n-1)(n!-1).
    """
    nodes = factorial(check.n)
    check_transmissions(check, allgather, nodes * (check.n - 1) * (nodes - 1))


# Section 4.5: scatter


def scatters_from_roots(check: ClaimCheck) -> Iterator[Execution]:
    """Yield scatters along the edge-disjoint trees EDT from the identity and from other roots.

    The identity sends 1, 2 or 3 messages per node, and other roots send one message per node.
    """
    yield from scatters(check)
    for root in check.roots()[1:]:
        yield execute_copies(check, "scatter", 1, check.n - 1, root)


@checks("EDT.SC.steps", given=scatters_from_roots)
def scatter_steps(check: ClaimCheck, scatter: Execution) -> None:
    """Check that a scatter along the edge-disjoint trees EDT takes M(n!-1) steps.

    M is the number of messages per node. Also check that messages to the deepest nodes leave first.
    """
    n = check.n
    schedule = scatter.schedule
    stated = scatter.messages * (factorial(n) - 1)
    place = {"root": schedule.root, **scatter.place}
    check.equal("steps", scatter.steps, stated, **place)
    # The number of links that a unit crosses in a tree is the level of its destination.
    keys = schedule.unit * np.int64(n) + schedule.tree
    levels = np.bincount(keys, minlength=schedule.units * n)
    tree, unit = _first_hops(schedule)
    level = levels[unit * n + tree]
    is_deepest_first = (np.diff(level) <= 0) | (np.diff(tree) > 0)
    what = "whether a deeper node's message does not leave later"
    check.true(what, is_deepest_first, subtree=tree[1:] + 2, **place)


def _first_hops(schedule: Schedule) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the tree number and the unit of each row in which the root sends.

    The rows are sorted by tree, then by step.
    """
    leaves = np.flatnonzero(schedule.sender == schedule.root)
    order = leaves[np.lexsort((schedule.step[leaves], schedule.tree[leaves]))]
    return schedule.tree[order].astype(np.int64), schedule.unit[order].astype(np.int64)


@checks("EDT.SC.bottleneck", given=scatters_from_roots)
def scatter_bound(check: ClaimCheck, scatter: Execution) -> None:
    """Check how many messages a scatter sends over each link of the source.

    The scatter uses the n-1 edge-disjoint trees EDT. For M messages per node, each of these links
    must carry one copy of every message. So the scatter takes at least M(n!-1) steps.
    """
    schedule = scatter.schedule
    root = schedule.root
    stated = scatter.messages * (factorial(check.n) - 1)
    leaving = np.bincount(schedule.port[schedule.sender == root], minlength=check.n + 1)[2:]
    link = (root, check.neighbours[:, root])
    check.equal("messages over a link of the source", leaving, stated, **scatter.place, link=link)
    check.at_least("steps", scatter.steps, stated, **scatter.place, root=root)


def level_sum(n: int) -> Number:
    """Return the sum of the levels of all nodes in one of the edge-disjoint trees EDT.

    The sum is t_n + 3(n-2)(n-1)! - 2(n-2)! + 2, where t_n is the sum of all distances from a node.
    """
    return distance_sum(n) + 3 * (n - 2) * factorial(n - 1) - 2 * factorial(n - 2) + 2


def _levels_by_distances(n: int) -> Number:
    return divide(level_sum(n), distance_sum(n))


@checks("EDT.SC.transmissions")
def scatter_transmissions(check: ClaimCheck) -> None:
    """Check the number of transmissions of scatters along the n-1 edge-disjoint trees EDT.

    For M messages per node, the number must be M(n-1) times `level_sum`. Also check that the number
    grows like M(n-1) t_n, where t_n is the sum of all distances from a node.
    """
    for scatter in scatters(check):
        check_transmissions(check, scatter, (check.n - 1) * int(level_sum(check.n)))
    check.same_order("transmissions / (M(n-1) t_n)", _levels_by_distances)


# Section 4.6: alltoall


@checks("EDT.TE.conflict-free")
def alltoall_is_conflict_free(check: ClaimCheck) -> None:
    """Check that alltoalls along edge-disjoint trees send at most one message per link and step.

    Also check the order in which the source sends along each tree: for every h, the h-th
    destination must be the rotation of the h-th destination along the previous tree.
    """
    for alltoall in alltoalls(check):
        check_conflict_free(check, alltoall)
    schedule = execute_copies(check, "alltoall", 1, check.n - 1).schedule
    _, unit = _first_hops(schedule)
    # `np.resize` repeats or truncates the array, so that a corrupted schedule is reported as a
    # counterexample instead of an error about array shapes.
    destination = np.resize(unit, (check.n - 1, factorial(check.n) - 1))
    rotated = stars.rotation(check)
    what = "destinations through the next subtree"
    stated = rotated[destination[:-1]]
    check.equal(what, destination[1:], stated, subtree=lambda row, _: row + 3, of=schedule)


@checks("EDT.TE.steps")
def alltoall_steps(check: ClaimCheck) -> None:
    """Check the number of steps of alltoalls along the n-1 edge-disjoint trees EDT.

    For M messages per pair of nodes, the number must be M times `level_sum`. Also check that the
    number of steps beyond M(n!-1) has at most the order of M t_n, where t_n is the sum of all
    distances from a node.
    """
    for alltoall in alltoalls(check):
        stated = alltoall.messages * int(level_sum(check.n))
        check.equal("steps", alltoall.steps, stated, **alltoall.place)
    what = "(steps - M(n!-1)) / (M t_n)"
    check.order(what, lambda n: divide(level_sum(n) - factorial(n) + 1, distance_sum(n)))


@checks("EDT.TE.transmissions")
def alltoall_transmissions(check: ClaimCheck) -> None:
    """Check the number of transmissions of alltoalls along the n-1 edge-disjoint trees EDT.

    For M messages per pair of nodes, the number must be M n!(n-1) times `level_sum`. Also check
    that the number has the order of M n!(n-1) t_n, where t_n is the sum of all distances from a
    node.
    """
    per_message = factorial(check.n) * (check.n - 1) * int(level_sum(check.n))
    for alltoall in alltoalls(check):
        check_transmissions(check, alltoall, per_message)
    check.same_order("transmissions / (M n!(n-1) t_n)", _levels_by_distances)


@checks("EDT.TE.fault-tolerant", given=in_all_trees("alltoall", messages=(1, 2)))
def alltoall_paths(check: ClaimCheck, alltoall: Execution) -> None:
    """Check that an alltoall sends every message along n-1 internally node-disjoint paths."""
    schedule = alltoall.schedule
    messages = alltoall.messages
    order = np.lexsort((schedule.step, schedule.tree, schedule.unit))
    unit = schedule.unit[order].astype(np.int64)
    tree = schedule.tree[order].astype(np.int64)
    sender = schedule.sender[order].astype(np.int64)
    receiver = schedule.receiver[order].astype(np.int64)
    # Units are numbered by destination, then by message.
    destination = unit // messages
    first = np.append(True, (unit[1:] != unit[:-1]) | (tree[1:] != tree[:-1]))
    last = np.append(first[1:], True)
    place = alltoall.place

    begins = {"destination": destination[first], "subtree": tree[first] + 2}
    check.equal("where a path begins", sender[first], 0, **begins, **place)
    subtrees = tree[last] + 2
    check.equal("where a path ends", receiver[last], destination[last], subtree=subtrees, **place)
    onward = destination[~first]
    check.equal("next hop from", sender[~first], receiver[~last], destination=onward, **place)

    units = np.arange(messages, check.nodes * messages)
    paths = np.bincount(unit[first], minlength=check.nodes * messages)[messages:]
    destinations = units // messages
    check.equal("paths of a message", paths, check.n - 1, destination=destinations, **place)
    inner = receiver[~last]
    inner_of_unit = unit[~last] * check.nodes + inner
    distinct = len(np.unique(inner_of_unit))
    what = "inner nodes of a message's paths, all different"
    check.equal(what, distinct, len(inner_of_unit), **place)
    direct = np.count_nonzero(first & last)
    check.equal("paths of a single link", direct, messages * check.degree, **place)
    # All paths of a message have the same two ends, so no path may pass an end as an inner node.
    is_own_end = (inner == 0) | (inner == destination[~last])
    check.equal("paths that pass their own ends", np.count_nonzero(is_own_end), 0, **place)
