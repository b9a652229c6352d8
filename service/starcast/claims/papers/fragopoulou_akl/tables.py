"""Fragopoulou & Akl 1993, Tables 1 to 3: what the paper's algorithms take, executed."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import distance_sum, even_share
from starcast.claims.growth import divided, factorial, rounded_up
from starcast.claims.model import BYTES_PER_LINK
from starcast.claims.reference import bfs, lower_bound_counts
from starcast.claims.reference.necklaces import largest_branch, rule_9_steps
from starcast.claims.registry import check, register
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

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
    Row(
        "Tab1.oneport-M", "Table 1, SLA", "allgather", _CYCLE, "one", _many, _ONE_A_STEP, _RECEIVED
    ),
    Row(
        "Tab1.allport-paths-1", "Table 1, MLA", "allgather", _PATHS, "all", _one, _SHARED, _RECEIVED
    ),
    Row("Tab1.allport-paths-M", "Table 1, MLA", "allgather", _PATHS, "all", _many, None, _RECEIVED),
    Row(
        "Tab1.allport-necklace-1",
        "Table 1, MLA",
        "allgather",
        "necklace",
        "all",
        _one,
        _SHARED,
        _RECEIVED,
    ),
    Row("Tab2.oneport-1", "Table 2, SLA", "scatter", "one-port", "one", _one, _ONE_A_STEP, _WALKED),
    Row(
        "Tab2.oneport-M", "Table 2, SLA", "scatter", "one-port", "one", _many, _ONE_A_STEP, _WALKED
    ),
    Row(
        "Tab2.allport-balanced-1",
        "Table 2, MLA",
        "scatter",
        "balanced",
        "all",
        _one,
        _SHARED,
        _WALKED,
    ),
    Row(
        "Tab2.allport-near-1",
        "Table 2, MLA",
        "scatter",
        "near-balanced",
        "all",
        _one,
        None,
        _WALKED,
    ),
    Row(
        "Tab2.allport-perfect-M",
        "Table 2, MLA",
        "scatter",
        "perfectly-balanced",
        "all",
        _multiples,
        _SHARED,
        _WALKED,
    ),
    Row("Tab3.oneport-1", "Table 3, SLA", "alltoall", "one-port", "one", _one, _WALKED, _BY_ALL),
    Row("Tab3.oneport-M", "Table 3, SLA", "alltoall", "one-port", "one", _many, _WALKED, _BY_ALL),
    Row("Tab3.allport-near-1", "Table 3, MLA", "alltoall", "necklace", "all", _one, None, _BY_ALL),
    Row(
        "Tab3.allport-perfect-M",
        "Table 3, MLA",
        "alltoall",
        "perfectly-balanced",
        "all",
        _multiples,
        _WALKED_SHARED,
        _BY_ALL,
    ),
)


def _schedule(check: ClaimCheck, row: Row, messages: int, root: int = 0) -> Schedule:
    given: dict[str, Any] = (
        {}
        if (row.collective, row.algorithm) == ("alltoall", "necklace")
        else {"messages": messages}
    )
    return check.objects.schedule(
        check.topology.spec, row.collective, row.algorithm, ports=row.ports, root=root, **given
    )


def _roots(check: ClaimCheck, row: Row) -> tuple[int, ...]:
    return bfs.roots(check.topology, 3) if row.collective == "scatter" else (0,)


def _takes(check: ClaimCheck, *, row: Row, what: str, stated: Callable[[int, int], int]) -> None:
    """Every execution takes exactly what is stated."""
    for messages in row.amounts(check.topology.n):
        for root in _roots(check, row):
            schedule = _schedule(check, row, messages, root)
            took = check.execute(schedule)
            found = took.steps if what == "steps" else took.transmissions
            place: dict[str, Any] = (
                {"root": check.topology.label(root)} if row.collective == "scatter" else {}
            )
            if row.amounts is not _one:
                place = {"M": messages, **place}
            check.equal(
                f"{what} of {row.algorithm}",
                found,
                stated(check.topology.n, messages),
                **place,
                of=schedule,
            )


def _weight(topology: Topology, row: Row) -> int:
    """Schedules of all amounts: a row a node, and for each node a row a link of its path where it is addressed."""
    each = 1 if row.collective == "allgather" else topology.n
    return max(BYTES_PER_LINK * topology.degree, 80 * each * sum(row.amounts(topology.n)))


for _row in _ROWS:
    for _what, _suffix, _cell in (
        ("steps", "time", _row.steps),
        ("transmissions", "transmissions", _row.transmissions),
    ):
        if _cell is None:
            continue
        register(
            f"FA.{_row.cell}-{_suffix}",
            partial(_takes, row=_row, what=_what, stated=_cell[0]),
            bytes_per_node=partial(_weight, row=_row),
        )


def _repeated(check: ClaimCheck, messages: int) -> Schedule:
    """The rotated Hamiltonian paths for one message, run M times, one run after the other: a schedule of its own."""
    once = check.objects.schedule(check.topology.spec, "allgather", _PATHS)

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

    return check.objects.get_or_create(
        "schedule", (check.topology.spec, f"{_PATHS} repeated", messages), made
    )


@check("FA.Tab1.allport-paths-M-time", bytes_per_node=lambda topology: 80 * sum(_many(topology.n)))
def _one_after_the_other(check: ClaimCheck) -> None:
    n = check.topology.n
    true = check.correction("one run after the other takes M ceil((n!-1)/(n-1)) steps")
    for messages in _many(n):
        schedule = _repeated(check, messages)
        found = check.execute(schedule).steps
        check.equal("steps of all runs", found, _SHARED[0](n, messages), M=messages)
        true.equal(
            "steps of all runs", found, messages * ceil_div(_nodes(n) - 1, n - 1), M=messages
        )


@check(
    "FA.Tab1.allport-paths-M-overlapped-time",
    bytes_per_node=lambda topology: 80 * sum(_many(topology.n)),
)
def _overlapped(check: ClaimCheck) -> None:
    for messages in _many(check.topology.n):
        schedule = check.objects.schedule(
            check.topology.spec, "allgather", _PATHS, messages=messages
        )
        check.equal(
            "steps of all runs",
            check.execute(schedule).steps,
            _SHARED[0](check.topology.n, messages),
            M=messages,
            of=schedule,
        )


@check("FA.Tab2.allport-near-1-time")
def _near_scatter(check: ClaimCheck) -> None:
    schedule = check.objects.schedule(check.topology.spec, "scatter", "near-balanced", messages=1)
    steps = check.execute(schedule).steps
    necklaces = len(lower_bound_counts.necklace_distances(check.objects, check.topology.spec))
    check.equal(
        "steps of near-balanced, and necklaces without the root's", steps, necklaces, of=schedule
    )
    check.equal(
        "steps of near-balanced, and the closed form",
        steps,
        largest_branch(check.topology.n),
        of=schedule,
    )
    check.order(
        "necklaces / ceil((n!-1)/(n-1))", lambda n: divided(largest_branch(n), even_share(n))
    )


@check("FA.Tab3.allport-near-1-time", bytes_per_node=lambda topology: 80 * topology.n)
def _near_alltoall(check: ClaimCheck) -> None:
    schedule = check.objects.schedule(check.topology.spec, "alltoall", "necklace")
    steps = check.execute(schedule).steps
    away = int(lower_bound_counts.necklace_distances(check.objects, check.topology.spec).sum())
    check.equal(
        "steps of Rule 9, and the sum of the distances of the necklaces", steps, away, of=schedule
    )
    check.equal(
        "steps of Rule 9, and the closed form", steps, rule_9_steps(check.topology.n), of=schedule
    )
    check.order(
        "steps of Rule 9 / ceil(t_n/(n-1))",
        lambda n: divided(rule_9_steps(n), rounded_up(divided(distance_sum(n), n - 1))),
    )
