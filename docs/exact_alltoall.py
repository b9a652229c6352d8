"""The tables of exact-alltoall.md: the figures of the proof and of the construction, and two schedules cell by cell.

The page is written by hand but for what stands between the marks of a table; `page` computes every table anew.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from math import factorial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from marked import filled, head, row

from starcast.collectives import Schedule, schedule
from starcast.collectives.exact import full_necklaces
from starcast.collectives.exact_short import plan_opening
from starcast.support.integers import ceil_div
from starcast.topologies import topology

PAGE = Path(__file__).parent / "exact-alltoall.md"
SIZES = range(3, 9)


class Figures(NamedTuple):
    """What the construction on S_n has for M messages to each node."""

    total: int  # t_n
    short: int  # nodes of short necklaces
    hops: int  # M L
    share: int  # ceil(M L / (n-1))
    plan_opening: int  # T_s
    early: int  # a
    full: int  # full necklaces
    steps: int
    bound: int


def page() -> str:
    """The page with its tables as they are."""
    return filled(PAGE, Path(__file__).name, TABLES)


@cache
def figures(n: int, messages: int = 1) -> Figures:
    """Measured on the schedule itself where it can be."""
    where = topology(f"S{n}")
    begun = plan_opening(n, messages)
    hops = sum(len(word.dimensions) for word in begun.words)
    total = where.distance_sum
    return Figures(
        total=total,
        short=len({word.node for word in begun.words}),
        hops=hops,
        share=ceil_div(hops, n - 1),
        plan_opening=begun.length,
        early=begun.idle.shape[1],
        full=len(full_necklaces(where).length),
        steps=exact(n, messages).steps,
        bound=ceil_div(messages * total, n - 1),
    )


@cache
def exact(n: int, messages: int = 1) -> Schedule:
    """The schedule of source 12..n."""
    return schedule(f"S{n}", "alltoall", "exact", messages=messages)


def necklaces() -> Iterator[str]:
    """The inequality that the proof needs, by n."""
    yield from head(
        "n", "n!", "nodes of short necklaces", "L", "full necklaces F", "(n-2) L", "(n-1) F"
    )
    for n in SIZES:
        made = figures(n)
        yield row(
            n,
            factorial(n),
            made.short,
            made.hops,
            made.full,
            (n - 2) * made.hops,
            (n - 1) * made.full,
        )


def construction() -> Iterator[str]:
    """One message to each node."""
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
        made = figures(n)
        by_rule_9 = schedule(f"S{n}", "alltoall", "necklace").steps
        least = (
            made.total,
            made.hops,
            made.share,
            made.plan_opening,
            made.early,
            made.full,
            by_rule_9,
            made.steps,
            made.bound,
        )
        yield row(n, *least)


def messages() -> Iterator[str]:
    """Several messages to each node."""
    yield from head(
        "n", "M", "M t_n", "M L", "ceil(M L/(n-1))", "T_s", "a", "M F", "steps", "ceil(M t_n/(n-1))"
    )
    for n in range(3, 8):
        for count in range(2, n):
            made = figures(n, count)
            begun = (made.hops, made.share, made.plan_opening, made.early, count * made.full)
            yield row(n, count, count * made.total, *begun, made.steps, made.bound)


def cells(n: int) -> Iterator[str]:
    """A schedule of one message to each node, a row a step and a column a dimension."""
    made, begun = exact(n), plan_opening(n, 1)
    short = {word.node for word in begun.words}
    length = Counter(made.unit.tolist())
    done = Counter[int]()
    cell: dict[tuple[int, int], str] = {}
    for step, port, node in zip(
        made.step.tolist(), made.port.tolist(), made.unit.tolist(), strict=True
    ):
        done[node] += 1
        text = f"{made.topology.label(node)} {done[node]}/{length[node]}"
        early = step <= begun.length
        cell[step, port] = f"**{text}**" if node in short else f"*{text}*" if early else text
    yield from head("step", *(f"dimension {port}" for port in made.topology.ports))
    for step in range(1, made.steps + 1):
        yield row(step, *(cell.get((step, port), "idle") for port in made.topology.ports))


def loads() -> Iterator[str]:
    """How often the words of S_4's short necklaces cross each dimension, and with which entries."""
    begun = plan_opening(4, 1)
    crossed = Counter(dimension for word in begun.words for dimension in word.dimensions)
    labels = topology("S4").labels(np.array([word.node for word in begun.words]))
    yield from head("node", "path from the root", "dimension 2", "dimension 3", "dimension 4")
    for label, word in zip(labels.tolist(), begun.words, strict=True):
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
