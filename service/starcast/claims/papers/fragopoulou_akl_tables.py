"""Fragopoulou & Akl 1993, Tables 1 to 3: what the paper's algorithms take, executed."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from starcast.claims.declaration import USUAL, Family, stars
from starcast.claims.formulas import distance_sum, even_share
from starcast.claims.growth import divided, factorial, rounded_up
from starcast.claims.instruments import counting, searching
from starcast.claims.instruments.necklaces import largest_branch, rule_9_steps
from starcast.claims.see import See
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

FAMILY = Family("fragopoulou_akl_tables")
claim = FAMILY.claim

Amounts = Callable[[int], tuple[int, ...]]


def _one(_n: int) -> tuple[int, ...]:
    return (1,)


def _many(n: int) -> tuple[int, ...]:
    return tuple(sorted({1, 2, 3, n - 1, n}))


def _multiples(n: int) -> tuple[int, ...]:
    return (n - 1, 2 * (n - 1))


def _nodes(n: int) -> int:
    return int(factorial(n))


class Row(NamedTuple):
    """A cell of Tables 1 to 3 that is an equality.

    Attributes:
        cell: what the ids call it, without ``-time`` and ``-transmissions``.
        number: what the paper calls it.
        collective, algorithm, ports: what is executed.
        amounts: how many messages M, by n.
        steps, transmissions: stated, functions of n and M, and in symbols; None where the cell is no equality.
    """

    cell: str
    number: str
    collective: str
    algorithm: str
    ports: str
    amounts: Amounts
    steps: tuple[Callable[[int, int], int], str] | None
    transmissions: tuple[Callable[[int, int], int], str]


_RECEIVED = (lambda n, m: m * _nodes(n) * (_nodes(n) - 1), "M n!(n!-1)")
_ONE_A_STEP = (lambda n, m: m * (_nodes(n) - 1), "M(n!-1)")
_SHARED = (lambda n, m: ceil_div(m * (_nodes(n) - 1), n - 1), "ceil(M(n!-1)/(n-1))")
_WALKED = (lambda n, m: m * distance_sum(n), "M t_n")
_BY_ALL = (lambda n, m: m * _nodes(n) * distance_sum(n), "M n! t_n")
_WALKED_SHARED = (lambda n, m: ceil_div(m * distance_sum(n), n - 1), "ceil(M t_n/(n-1))")
_CYCLE, _PATHS = "hamiltonian-cycle", "rotated-hamiltonian"
_ROWS = (
    Row("Tab1.oneport-1", "Table 1, SLA", "allgather", _CYCLE, "one", _one, _ONE_A_STEP, _RECEIVED),
    Row("Tab1.oneport-M", "Table 1, SLA", "allgather", _CYCLE, "one", _many, _ONE_A_STEP, _RECEIVED),
    Row("Tab1.allport-paths-1", "Table 1, MLA", "allgather", _PATHS, "all", _one, _SHARED, _RECEIVED),
    Row("Tab1.allport-paths-M", "Table 1, MLA", "allgather", _PATHS, "all", _many, None, _RECEIVED),
    Row("Tab1.allport-necklace-1", "Table 1, MLA", "allgather", "necklace", "all", _one, _SHARED, _RECEIVED),
    Row("Tab2.oneport-1", "Table 2, SLA", "scatter", "one-port", "one", _one, _ONE_A_STEP, _WALKED),
    Row("Tab2.oneport-M", "Table 2, SLA", "scatter", "one-port", "one", _many, _ONE_A_STEP, _WALKED),
    Row("Tab2.allport-balanced-1", "Table 2, MLA", "scatter", "balanced", "all", _one, _SHARED, _WALKED),
    Row("Tab2.allport-near-1", "Table 2, MLA", "scatter", "near-balanced", "all", _one, None, _WALKED),
    Row("Tab2.allport-perfect-M", "Table 2, MLA", "scatter", "perfectly-balanced", "all", _multiples, _SHARED, _WALKED),
    Row("Tab3.oneport-1", "Table 3, SLA", "alltoall", "one-port", "one", _one, _WALKED, _BY_ALL),
    Row("Tab3.oneport-M", "Table 3, SLA", "alltoall", "one-port", "one", _many, _WALKED, _BY_ALL),
    Row("Tab3.allport-near-1", "Table 3, MLA", "alltoall", "necklace", "all", _one, None, _BY_ALL),
    Row("Tab3.allport-perfect-M", "Table 3, MLA", "alltoall", "perfectly-balanced", "all", _multiples, _WALKED_SHARED, _BY_ALL),
)  # fmt: skip


def _schedule(see: See, row: Row, messages: int, root: int = 0) -> Schedule:
    given: dict[str, Any] = (
        {}
        if (row.collective, row.algorithm) == ("alltoall", "necklace")
        else {"messages": messages}
    )
    return see.lab.schedule(
        see.where.spec, row.collective, row.algorithm, ports=row.ports, root=root, **given
    )


def _roots(see: See, row: Row) -> tuple[int, ...]:
    return searching.roots(see.where, 3) if row.collective == "scatter" else (0,)


def _takes(see: See, *, row: Row, what: str, stated: Callable[[int, int], int]) -> None:
    """Every execution takes exactly what is stated."""
    for messages in row.amounts(see.where.n):
        for root in _roots(see, row):
            schedule = _schedule(see, row, messages, root)
            took = see.executed(schedule)
            found = took.steps if what == "steps" else took.transmissions
            place: dict[str, Any] = (
                {"root": see.where.label(root)} if row.collective == "scatter" else {}
            )
            if row.amounts is not _one:
                place = {"M": messages, **place}
            see.equal(
                f"{what} of {row.algorithm}",
                found,
                stated(see.where.n, messages),
                **place,
                of=schedule,
            )


def _weight(where: Topology, row: Row) -> int:
    """Schedules of all amounts: a row a node, and for each node a row a link of its path where it is addressed."""
    each = 1 if row.collective == "allgather" else where.n
    return max(USUAL * where.degree, 80 * each * sum(row.amounts(where.n)))


for _row in _ROWS:
    for _what, _suffix, _cell in (
        ("steps", "time", _row.steps),
        ("transmissions", "transmissions", _row.transmissions),
    ):
        if _cell is None:
            continue
        _m = {_one: "M = 1", _many: "any M", _multiples: "M a multiple of n-1"}[_row.amounts]
        FAMILY.add(
            f"FA.{_row.cell}-{_suffix}", _row.number, stars(6, 7, 8),
            f"{_row.collective} {_row.algorithm}, {_row.ports}-port, {_m}: {_cell[1]} {_what}.",
            partial(_takes, row=_row, what=_what, stated=_cell[0]), weight=partial(_weight, row=_row),
        )  # fmt: skip


def _repeated(see: See, messages: int) -> Schedule:
    """The rotated Hamiltonian paths for one message, run M times, one run after the other: a schedule of its own."""
    once = see.lab.schedule(see.where.spec, "allgather", _PATHS)

    def made() -> Schedule:
        run = np.repeat(np.arange(messages, dtype=np.int32), len(once))
        columns: dict[str, Any] = {
            name: np.tile(getattr(once, name), messages)
            for name in ("sender", "port", "receiver", "tree")
        }
        step = np.tile(once.step, messages) + run * np.int32(once.steps)
        return replace(
            once,
            step=step,
            unit=run,
            units=messages,
            algorithm=f"{_PATHS}-repeated",
            arguments={"messages": messages},
            forest=None,
            **columns,
        )

    return see.lab.keep("schedule", (see.where.spec, f"{_PATHS} repeated", messages), made)


@claim(
    "FA.Tab1.allport-paths-M-time",
    "Table 1, MLA",
    stars(6, 7, 8),
    "allgather rotated-hamiltonian with M = 1, executed M times, one run after the other: ceil(M(n!-1)/(n-1)) steps.",
    reading="the table says 'M times', and section 3.1 gives the algorithm for one message only, so that a run begins where "
    "the one before it has ended; runs that overlap are FA.Tab1.allport-paths-M-overlapped-time",
    weight=lambda where: 80 * sum(_many(where.n)),
)
def _one_after_the_other(see: See) -> None:
    n = see.where.n
    true = see.instead("one run after the other takes M ceil((n!-1)/(n-1)) steps")
    for messages in _many(n):
        schedule = _repeated(see, messages)
        found = see.executed(schedule).steps
        see.equal("steps of all runs", found, _SHARED[0](n, messages), M=messages)
        true.equal(
            "steps of all runs", found, messages * ceil_div(_nodes(n) - 1, n - 1), M=messages
        )


@claim(
    "FA.Tab1.allport-paths-M-overlapped-time",
    "Table 1, MLA",
    stars(6, 7, 8),
    "allgather rotated-hamiltonian, M messages at once: ceil(M(n!-1)/(n-1)) steps.",
    reading="the paper does not say how runs overlap; the schedule is ours: all first phases, then one second phase for all",
    weight=lambda where: 80 * sum(_many(where.n)),
)
def _overlapped(see: See) -> None:
    for messages in _many(see.where.n):
        schedule = see.lab.schedule(see.where.spec, "allgather", _PATHS, messages=messages)
        see.equal(
            "steps of all runs",
            see.executed(schedule).steps,
            _SHARED[0](see.where.n, messages),
            M=messages,
            of=schedule,
        )


@claim(
    "FA.Tab2.allport-near-1-time",
    "Table 2, MLA",
    stars(6, 7, 8),
    "scatter near-balanced, all-port, M = 1: O(ceil((n!-1)/(n-1))) steps; it takes as many as there are necklaces.",
)
def _near_scatter(see: See) -> None:
    schedule = see.lab.schedule(see.where.spec, "scatter", "near-balanced", messages=1)
    steps = see.executed(schedule).steps
    necklaces = len(counting.necklace_distances(see.lab, see.where.spec))
    see.equal(
        "steps of near-balanced, and necklaces without the root's", steps, necklaces, of=schedule
    )
    see.equal(
        "steps of near-balanced, and the closed form",
        steps,
        largest_branch(see.where.n),
        of=schedule,
    )
    see.order("necklaces / ceil((n!-1)/(n-1))", lambda n: divided(largest_branch(n), even_share(n)))


@claim(
    "FA.Tab3.allport-near-1-time",
    "Table 3, MLA",
    stars(6, 7, 8),
    "alltoall necklace (Rule 9), all-port, M = 1: O(ceil(t_n/(n-1))) steps; it takes the sum of the necklaces' distances.",
    weight=lambda where: 80 * where.n,
)
def _near_alltoall(see: See) -> None:
    schedule = see.lab.schedule(see.where.spec, "alltoall", "necklace")
    steps = see.executed(schedule).steps
    away = int(counting.necklace_distances(see.lab, see.where.spec).sum())
    see.equal(
        "steps of Rule 9, and the sum of the distances of the necklaces", steps, away, of=schedule
    )
    see.equal("steps of Rule 9, and the closed form", steps, rule_9_steps(see.where.n), of=schedule)
    see.order(
        "steps of Rule 9 / ceil(t_n/(n-1))",
        lambda n: divided(rule_9_steps(n), rounded_up(divided(distance_sum(n), n - 1))),
    )
