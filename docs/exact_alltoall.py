"""Compute the tables of exact-alltoall.md, about the alltoall algorithm `exact` on star graphs.

The tables contain the numbers of the proof and the construction, and two complete schedules. The
rest of the page is written by hand.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from math import factorial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from marked import fill_tables, head, row

from starcast.collectives import Schedule, schedule
from starcast.collectives.alltoall import full_necklaces, plan_opening
from starcast.support.integers import ceil_div
from starcast.topologies import topology

PAGE = Path(__file__).parent / "exact-alltoall.md"
SIZES = range(3, 9)


class Figures(NamedTuple):
    """Numbers that describe the alltoall `exact` on S_n, for M messages to each node.

    Attributes:
        total: t_n, the sum of all distances from a node.
        short: the number of nodes in short necklaces.
        hops: M L, the number of hops of the messages to the nodes in short necklaces; L is the
            number for M = 1.
        share: ceil(M L/(n-1)), the number of these hops per dimension if they are divided evenly.
        opening_steps: T_s, the number of steps that the messages to the nodes in short necklaces
            take.
        early: a = T_s - ceil(M L/(n-1)), the number of groups whose first hops are in the steps
            1..T_s; a group consists of one message to each node of a full necklace.
        full: F, the number of full necklaces.
        steps: the number of steps of the schedule.
        bound: ceil(M t_n/(n-1)), a lower bound on the number of steps.
    """

    total: int
    short: int
    hops: int
    share: int
    opening_steps: int
    early: int
    full: int
    steps: int
    bound: int


def page() -> str:
    """Return the text of exact-alltoall.md with newly computed tables."""
    return fill_tables(PAGE, Path(__file__).name, TABLES)


@cache
def figures(n: int, messages: int = 1) -> Figures:
    """Return the `Figures` of the alltoall `exact` on S_n, after building its schedule."""
    star = topology(f"S{n}")
    opening = plan_opening(n, messages)
    hops = sum(len(word.dimensions) for word in opening.words)
    total = star.distance_sum
    return Figures(
        total=total,
        short=len({word.node for word in opening.words}),
        hops=hops,
        share=ceil_div(hops, n - 1),
        opening_steps=opening.length,
        early=opening.idle.shape[1],
        full=len(full_necklaces(star).length),
        steps=exact(n, messages).steps,
        bound=ceil_div(messages * total, n - 1),
    )


@cache
def exact(n: int, messages: int = 1) -> Schedule:
    """Return the schedule of the alltoall `exact` on S_n, for the source 12..n."""
    return schedule(f"S{n}", "alltoall", "exact", messages=messages)


def necklaces() -> Iterator[str]:
    """Yield the lines of a table with both sides of the inequality in Lemma 4, for each n."""
    yield from head(
        "n", "n!", "nodes of short necklaces", "L", "full necklaces F", "(n-2) L", "(n-1) F"
    )
    for n in SIZES:
        size = figures(n)
        sides = ((n - 2) * size.hops, (n - 1) * size.full)
        yield row(n, factorial(n), size.short, size.hops, size.full, *sides)


def construction() -> Iterator[str]:
    """Yield the lines of a table with the `Figures` for one message to each node."""
    yield from head(
        "n",
        "t_n",
        "L",
        "ceil(L/(n-1))",
        "T_s",
        "a",
        "F",
        "Rule 9 takes",
        "steps",
        "ceil(t_n/(n-1))",
    )
    for n in SIZES:
        size = figures(n)
        by_rule_9 = schedule(f"S{n}", "alltoall", "necklace").steps
        opening = (size.hops, size.share, size.opening_steps, size.early, size.full)
        yield row(n, size.total, *opening, by_rule_9, size.steps, size.bound)


def messages() -> Iterator[str]:
    """Yield the lines of a table with the `Figures` for several messages to each node."""
    yield from head(
        "n", "M", "M t_n", "M L", "ceil(M L/(n-1))", "T_s", "a", "M F", "steps", "ceil(M t_n/(n-1))"
    )
    for n in range(3, 8):
        for count in range(2, n):
            size = figures(n, count)
            opening = (size.hops, size.share, size.opening_steps, size.early, count * size.full)
            yield row(n, count, count * size.total, *opening, size.steps, size.bound)


def cells(n: int) -> Iterator[str]:
    """Yield the lines of a table that shows the schedule for one message to each node.

    The table has a row for each step, and a column for each dimension.
    """
    built = exact(n)
    opening = plan_opening(n, 1)
    short = {word.node for word in opening.words}
    length = Counter(built.unit.tolist())
    #: The number of links that the message to each node has crossed.
    done = Counter[int]()
    cell: dict[tuple[int, int], str] = {}
    for step, port, node in zip(
        built.step.tolist(), built.port.tolist(), built.unit.tolist(), strict=True
    ):
        done[node] += 1
        text = f"{built.topology.label(node)} {done[node]}/{length[node]}"
        early = step <= opening.length
        cell[step, port] = f"**{text}**" if node in short else f"*{text}*" if early else text
    yield from head("step", *(f"dimension {port}" for port in built.topology.ports))
    for step in range(1, built.steps + 1):
        yield row(step, *(cell.get((step, port), "idle") for port in built.topology.ports))


def loads() -> Iterator[str]:
    """Yield the lines of a table of the paths from 1234 to the nodes of short necklaces of S_4."""
    opening = plan_opening(4, 1)
    crossed = Counter(dimension for word in opening.words for dimension in word.dimensions)
    labels = topology("S4").labels(np.array([word.node for word in opening.words]))
    yield from head("node", "path from the root", "dimension 2", "dimension 3", "dimension 4")
    for label, word in zip(labels.tolist(), opening.words, strict=True):
        yield row(
            label,
            " ".join(map(str, word.dimensions)),
            *(word.dimensions.count(port) for port in (2, 3, 4)),
        )
    yield row("together", "", *(crossed[port] for port in (2, 3, 4)))


TABLES = {
    "necklaces": necklaces,
    "loads": loads,
    "S3": lambda: cells(3),
    "S4": lambda: cells(4),
    "construction": construction,
    "messages": messages,
}
