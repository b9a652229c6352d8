"""Fragopoulou & Akl 1996, sections 4.1, 4.2 and 5: broadcasts of M messages."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from math import factorial

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import diameter
from starcast.claims.reference import bfs
from starcast.claims.registry import Execution, checks, execute, executions
from starcast.collectives.broadcast import build_pipeline
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div
from starcast.trees.model import Forest


def execute_copies(
    check: ClaimCheck, collective: str, messages: int, copies: int, root: int = 0
) -> Execution:
    """Execute a collective along the trees EDT, record that its schedule is valid, return it."""
    return execute(check, collective, "edge-disjoint", root=root, messages=messages, copies=copies)


def check_transmissions(
    check: ClaimCheck, executed: Execution, per_message: int, **place: int
) -> None:
    """Check that a collective takes ``per_message`` transmissions for each message."""
    stated = executed.messages * per_message
    check.equal("transmissions", executed.transmissions, stated, **executed.place, **place)


# Sections 4.1, 4.2 and 5: broadcasts of M messages


#: Constructions of the catalogue with one spanning shortest-path tree.
SHORTEST_PATH_TREES = ("greedy", "necklace", "balanced", "near-balanced")


def numbers_of_messages(n: int) -> range:
    """Return the numbers of messages to try: 1 to 2n, more than twice the number n-1 of trees."""
    return range(1, 2 * n + 1)


#: The broadcasts of section 4.2 from the identity, one copy of each message.
broadcasts = executions("broadcast", "edge-disjoint", messages=numbers_of_messages, copies=1)
#: Broadcasts of at least n-1 messages.
long_broadcasts = executions(
    "broadcast", "edge-disjoint", messages=lambda n: range(n - 1, 2 * n), copies=1
)


# Broadcasts along one tree


@checks("EDT.S41-pipe")
def pipelined_steps(check: ClaimCheck) -> None:
    """Check the number of steps of pipelined broadcasts along shortest-path trees."""
    for messages in (1, 2, 3, check.n - 1, 2 * check.n):
        for tree in shortest_path_trees(check):
            create = partial(pipelined, tree, messages)
            schedule = check.build(create, "pipelined", tree.id, tree.construction, messages)
            place = {"M": messages, "tree": tree.construction}
            check.takes(schedule, messages + diameter(check.n) - 1, **place)


def pipelined(tree: Forest, segments: int) -> Schedule:
    """Return the broadcast that pipelines segments down a tree."""
    draft = build_pipeline(tree, "all", segments)
    arguments = {"segments": segments}
    return draft.complete(tree.topology, "broadcast", tree.construction, arguments=arguments)


def shortest_path_trees(check: ClaimCheck) -> Iterator[Forest]:
    """Yield shortest-path trees of the catalogue, then trees drawn at random."""
    roots = bfs.roots(check)
    for root in (*roots[:3], roots[-1]):
        yield check.forest("greedy", root=root)
    for construction in SHORTEST_PATH_TREES[1:]:
        yield check.forest(construction)
    for seed in range(3):
        row = check.array(f"shortest-path tree {seed}", partial(_draw_tree, check, seed))
        yield Forest(check.topology, row[None], 0, f"random-{seed}", spanning=False)


def _draw_tree(check: ClaimCheck, seed: int) -> NDArray[np.uint8]:
    """For each node, draw one of the ports that lead closer to the identity, uint8 ``[nodes]``."""
    distance = bfs.distances(check)
    weight = np.random.default_rng([seed, check.n]).random(check.neighbours.shape)
    is_closer = distance[check.neighbours] < distance
    # Closer neighbours have random weights and the others 0, so `argmax` draws evenly among the
    # closer neighbours.
    ports = np.asarray(np.argmax(weight * is_closer, axis=0) + 2, dtype=np.uint8)
    ports[0] = 0
    return ports


# Bounds, and the time of section 4.2


def fewest_steps(check: ClaimCheck) -> tuple[NDArray[np.int64], NDArray[np.str_]]:
    """Return, for each number of messages, the steps of starcast's fastest broadcast.

    Every all-port algorithm that sends one unit over a link per step is executed.

    Returns:
        The fewest steps, and the algorithms that achieve them.
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
    """Check that the catalogue's broadcasts obey the bounds of sections 4.2 and 4.1 (Table 1)."""
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
    """Check the steps of broadcasts of 1 to 2n messages, and of n messages from other sources."""
    n = check.n
    for broadcast in broadcasts(check):
        bound = ceil_div(broadcast.messages, n - 1) + diameter(n) + 3
        check.at_most("steps", broadcast.steps, bound, **broadcast.place)
    for root in bfs.roots(check):
        broadcast = execute_copies(check, "broadcast", n, 1, root)
        bound = ceil_div(n, n - 1) + diameter(n) + 3
        check.at_most("steps", broadcast.steps, bound, **broadcast.place, root=root)


@checks("EDT.SNB.transmissions", given=broadcasts)
def transmissions_of_broadcasts(check: ClaimCheck, broadcast: Execution) -> None:
    """Check that a broadcast of M messages takes M(n!-1) transmissions."""
    check_transmissions(check, broadcast, factorial(check.n) - 1)


@checks("EDT.SNB.speedup")
def speedup_in_the_limit(check: ClaimCheck) -> None:
    """Compare the additional steps for n-1 additional messages: along one tree, and along EDT."""
    for messages in range(1, 2 * check.n):
        # If n-1 messages are added, the number of steps grows by the same amount for every M, along
        # one tree as along EDT. So for large M, the quotient of both numbers of steps tends to the
        # quotient of these amounts.
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


def _used_links(schedule: Schedule) -> NDArray[np.bool_]:
    """Return whether each directed link carries a message, bool ``[nodes, ports]``."""
    used = np.zeros((schedule.topology.nodes, schedule.topology.degree), dtype=bool)
    used[schedule.sender, schedule.port.astype(np.int64) - 2] = True
    return used


@checks("EDT.SNB.links")
def directed_links_are_used(check: ClaimCheck) -> None:
    """Check which directed links carry a message in long broadcasts."""
    instead = check.correction()
    what = "whether the directed link carries a message"
    for broadcast in long_broadcasts(check):
        messages = broadcast.messages
        used = _used_links(broadcast.schedule)
        check.true(what, used, **broadcast.place, link=check.links)
        # A link whose head has rank 0 leads to the source, which already has all messages.
        instead.equal(what, used, check.neighbours.T != 0, M=messages, link=check.links)
        stated = (check.n - 1) * (factorial(check.n) - 1)
        count = np.count_nonzero(used)
        instead.equal("directed links that carry a message", count, stated, M=messages)


@checks("EDT.SNB-links-undirected", given=long_broadcasts)
def undirected_links_are_used(check: ClaimCheck, broadcast: Execution) -> None:
    """Check that every link carries a message in at least one direction."""
    used = _used_links(broadcast.schedule)
    reverse = [used[row, port] for port, row in enumerate(check.neighbours)]
    either = used | np.stack(reverse, axis=1)
    check.true("whether the link carries a message", either, **broadcast.place, link=check.links)
    count = np.count_nonzero(either)
    stated = factorial(check.n) * (check.n - 1)
    what = "links that carry a message, each from both ends"
    check.equal(what, count, stated, M=broadcast.messages)


@checks("EDT.concl-optimal")
def steps_against_the_bound(check: ClaimCheck) -> None:
    """Compare the number of steps of the broadcast with the lower bound."""
    n = check.n
    instead = check.correction()
    for broadcast in broadcasts(check):
        bound = ceil_div(broadcast.messages, n - 1) + diameter(n) - 1
        check.at_most("steps", broadcast.steps, bound, **broadcast.place)
        instead.equal("steps", broadcast.steps, bound + (2 if n % 2 else 3), M=broadcast.messages)
