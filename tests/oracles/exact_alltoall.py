"""Checkers for the alltoall ``exact``, and parts of its construction (fragopoulou-akl.md, A6).

The checkers follow the definition of the problem and do not use necklaces: every message must
travel from the root to its destination over existing links, and the rows of a step must have
different dimensions, so that the translations of all sources never share a directed link. They
return the violations as text.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from math import factorial
from operator import attrgetter

from oracles.rotation import cycles, necklaces
from oracles.schedule_rows import Row
from oracles.star_graph import Node, ceil_div, distance_sum_formula, identity, nodes, swap


def fewest_steps(n: int, messages: int) -> int:
    """Return the lower bound on the number of steps, ceil(M t_n / (n-1)).

    All sources together need n! M t_n transmissions, and a step has at most n!(n-1), one per
    directed link. M is the number of messages per pair of nodes, and t_n is the sum of the
    distances from a node to all others.
    """
    return ceil_div(messages * distance_sum_formula(n), n - 1)


def problems(rows: Sequence[Row], n: int, messages: int) -> set[str]:
    """Return the violations in the schedule of source 12..n.

    Unit ``destination * messages + i`` is message i to the node of rank ``destination``.
    """
    all_nodes = nodes(n)
    travelled: dict[int, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=attrgetter("step")):
        travelled[row.unit].append(row)
    result = set[str]()
    if set(travelled) != set(range(messages, factorial(n) * messages)):
        result.add("not exactly the messages to all other nodes")
    for unit, hops in travelled.items():
        result |= journey_problems(hops, all_nodes[unit // messages % len(all_nodes)])
    # No path is shorter than the distance. If the sums are equal, all paths are shortest paths.
    if len(rows) != messages * distance_sum_formula(n):
        result.add("not a shortest path")
    cells = Counter((row.step, row.port) for row in rows)
    if any(count > 1 for count in cells.values()):
        result.add("a dimension twice in a step")
    if max(row.step for row in rows) != fewest_steps(n, messages):
        result.add("not the fewest steps")
    return result


def journey_problems(hops: Sequence[Row], destination: Node) -> set[str]:
    """Return the violations in the path of one message, whose rows are sorted by step."""
    root = identity(len(destination))
    result = set[str]()
    if hops[0].step < 1:
        result.add("a step before the first")
    if any(after.step <= before.step for before, after in pairwise(hops)):
        result.add("not in increasing steps")
    if any(row.port < 2 or swap(row.sender, row.port) != row.receiver for row in hops):
        result.add("no link")
    if hops[0].sender != root or any(
        after.sender != before.receiver for before, after in pairwise(hops)
    ):
        result.add("the sender does not hold the message")
    if hops[-1].receiver != destination:
        result.add("not at its destination")
    return result


def short_nodes(n: int) -> list[Node]:
    """Return X, the nodes of necklaces with fewer than n-1 nodes, in ascending order."""
    return sorted(x for necklace in necklaces(n) if len(necklace) < n - 1 for x in necklace)


def full_necklaces(n: int) -> int:
    """Return the number of necklaces with n-1 nodes."""
    return sum(len(necklace) == n - 1 for necklace in necklaces(n))


def short_hops(n: int) -> int:
    """Return L, the number of displaced symbols plus the number of cycles, summed over X."""
    return sum(len(cycle) + 1 for x in short_nodes(n) for cycle in cycles(x))


def list_schedule(words: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the steps in which each job crosses its links, by list scheduling (A6).

    A job is a list of dimensions, crossed in this order. Each dimension is crossed by one job per
    step: the job with the most links left, or the first of several such jobs.
    """
    steps: list[list[int]] = [[] for _ in words]
    step = 0
    while any(len(done) < len(word) for done, word in zip(steps, words, strict=True)):
        step += 1
        going = [job for job, word in enumerate(words) if len(steps[job]) < len(word)]
        taken = set[int]()
        for job in sorted(going, key=lambda job: (len(steps[job]) - len(words[job]), job)):
            i = words[job][len(steps[job])]
            if i not in taken:
                taken.add(i)
                steps[job].append(step)
    return steps


def primes_of(number: int) -> list[int]:
    """Return the prime divisors of a number."""
    return [q for q in range(2, number + 1) if number % q == 0 and all(q % d for d in range(2, q))]


def most_short_nodes(n: int) -> int:
    """Return an upper bound on the number of nodes in X (see `short_nodes`).

    The bound is a sum over the prime divisors q of n-1. The term for q counts the permutations of
    2..n, except the identity, that commute with the rotation repeated (n-1)/q times.
    """
    return sum(q ** ((n - 1) // q) * factorial((n - 1) // q) - 1 for q in primes_of(n - 1))
