"""Fragopoulou & Akl 1993, Tables 1 to 3: steps and transmissions of the paper's algorithms.

`CELLS` has one row per algorithm and number of messages M; each row gives two claims, about
steps and about transmissions.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number, divide, even_share
from starcast.claims.papers.fragopoulou_akl.lower_bounds import (
    distances,
    distances_of_pairs,
    others,
    pairs,
    rule_9_quotient,
    shared_distances,
    shared_others,
)
from starcast.claims.reference import bfs, labels
from starcast.claims.registry import Execution, Memory, check_rows, checks, execute
from starcast.collectives.model import BYTES_PER_ROW, Schedule

#: A number of steps or transmissions, as a function of n and M.
Formula = Callable[[int, int], int]
#: The numbers M of messages that are executed, as a function of n.
Amounts = Callable[[int], tuple[int, ...]]


def one_message(_n: int) -> tuple[int, ...]:
    """Return 1 as the only number M of messages."""
    return (1,)


def any_messages(n: int) -> tuple[int, ...]:
    """Return numbers M of messages near 1 and near n."""
    return tuple(sorted({1, 2, 3, n - 1, n}))


def multiples(n: int) -> tuple[int, ...]:
    """Return two multiples of n-1 as numbers M of messages."""
    return (n - 1, 2 * (n - 1))


class ResultCell(NamedTuple):
    """An algorithm in Tables 1 to 3, with its numbers of messages.

    Attributes:
        collective, algorithm, ports: the schedules that are executed.
        amounts: the numbers M of messages.
        steps: the stated number of steps; None if the table states an order of growth, or if there
            is a separate check.
        transmissions: the stated number of transmissions.
    """

    collective: str
    algorithm: str
    ports: str
    amounts: Amounts
    steps: Formula | None
    transmissions: Formula


#: An algorithm of the tables, with the quantity of one claim about it and the stated formula.
Row = tuple[ResultCell, Literal["steps", "transmissions"], Formula]

_CYCLE = partial(ResultCell, "allgather", "hamiltonian-cycle", "one")
_PATHS = partial(ResultCell, "allgather", "rotated-hamiltonian", "all")
_SCATTER = partial(ResultCell, "scatter", "one-port", "one")
_EXCHANGE = partial(ResultCell, "alltoall", "one-port", "one")
_PERFECT = "perfectly-balanced"
CELLS = {
    "Tab1.oneport-1": _CYCLE(one_message, others, pairs),
    "Tab1.oneport-M": _CYCLE(any_messages, others, pairs),
    "Tab1.allport-paths-1": _PATHS(one_message, shared_others, pairs),
    "Tab1.allport-paths-M": _PATHS(any_messages, None, pairs),
    "Tab1.allport-necklace-1": ResultCell(
        "allgather", "necklace", "all", one_message, shared_others, pairs
    ),
    "Tab2.oneport-1": _SCATTER(one_message, others, distances),
    "Tab2.oneport-M": _SCATTER(any_messages, others, distances),
    "Tab2.allport-balanced-1": ResultCell(
        "scatter", "balanced", "all", one_message, shared_others, distances
    ),
    "Tab2.allport-near-1": ResultCell(
        "scatter", "near-balanced", "all", one_message, None, distances
    ),
    "Tab2.allport-perfect-M": ResultCell(
        "scatter", _PERFECT, "all", multiples, shared_others, distances
    ),
    "Tab3.oneport-1": _EXCHANGE(one_message, distances, distances_of_pairs),
    "Tab3.oneport-M": _EXCHANGE(any_messages, distances, distances_of_pairs),
    "Tab3.allport-near-1": ResultCell(
        "alltoall", "necklace", "all", one_message, None, distances_of_pairs
    ),
    "Tab3.allport-perfect-M": ResultCell(
        "alltoall", _PERFECT, "all", multiples, shared_distances, distances_of_pairs
    ),
}


def run_cell(check: ClaimCheck, cell: ResultCell, messages: int = 1, root: int = 0) -> Execution:
    """Execute a table's algorithm for a number of messages."""
    is_rule_9 = (cell.collective, cell.algorithm) == ("alltoall", "necklace")
    arguments = {} if is_rule_9 else {"messages": messages}  # Rule 9 has no parameter M
    return execute(check, cell.collective, cell.algorithm, cell.ports, root, **arguments)


def quantity_is_exact(check: ClaimCheck, row: Row) -> None:
    """Check that every execution takes exactly the stated steps or transmissions."""
    cell, quantity, formula = row
    has_root = cell.collective == "scatter"
    for messages in cell.amounts(check.n):
        for root in bfs.roots(check, 3) if has_root else (0,):
            run = run_cell(check, cell, messages, root)
            place: dict[str, Any] = {"of": run.schedule}
            if cell.amounts is not one_message:
                place["M"] = messages
            if has_root:
                place["root"] = root
            what = f"{quantity} of {cell.algorithm}"
            check.equal(what, getattr(run, quantity), formula(check.n, messages), **place)


for _name, _cell in CELLS.items():
    _rows: dict[str, Row] = {
        f"FA.{_name}-transmissions": (_cell, "transmissions", _cell.transmissions)
    }
    if _cell.steps is not None:
        _rows[f"FA.{_name}-time"] = (_cell, "steps", _cell.steps)
    # If there are several messages for every node, each has one row per link of its path.
    _is_large = _cell.collective != "allgather" and _cell.amounts is not one_message
    _memory = Memory(5 * BYTES_PER_ROW, power=2 if _is_large else 1)
    check_rows(quantity_is_exact, _rows, memory=_memory)


def repeated_paths(check: ClaimCheck, messages: int) -> Schedule:
    """Return M consecutive one-message runs of the rotated Hamiltonian paths."""
    algorithm = "rotated-hamiltonian"
    single = check.schedule("allgather", algorithm)

    def create() -> Schedule:
        run = np.repeat(np.arange(messages, dtype=np.int32), len(single))
        names = ("sender", "port", "receiver", "tree")
        columns: dict[str, Any] = {name: np.tile(getattr(single, name), messages) for name in names}
        return replace(
            single,
            step=np.tile(single.step, messages) + run * np.int32(single.steps),
            unit=run,
            units=messages,
            algorithm=f"{algorithm}-repeated",
            arguments={"messages": messages},
            forest=None,
            **columns,
        )

    return check.build(create, f"{algorithm} repeated", messages)


@checks("FA.Tab1.allport-paths-M-time", memory=Memory(5 * BYTES_PER_ROW))
def runs_one_after_the_other(check: ClaimCheck) -> None:
    """Check the steps of M consecutive runs, which do not overlap."""
    n = check.n
    correction = check.correction()
    for messages in any_messages(n):
        steps = check.execute(repeated_paths(check, messages)).steps
        check.equal("steps of all runs", steps, shared_others(n, messages), M=messages)
        correction.equal("steps of all runs", steps, messages * shared_others(n, 1), M=messages)


@checks("FA.Tab1.allport-paths-M-overlapped-time", memory=Memory(5 * BYTES_PER_ROW))
def overlapping_runs(check: ClaimCheck) -> None:
    """Check the steps of M runs that overlap."""
    n = check.n
    cell = CELLS["Tab1.allport-paths-M"]
    for messages in any_messages(n):
        run = run_cell(check, cell, messages)
        check.equal("steps of all runs", run.steps, shared_others(n, messages), **run.place)


@checks("FA.Tab2.allport-near-1-time")
def near_balanced_scatter(check: ClaimCheck) -> None:
    """Check the steps of a scatter over the tree of Definition 13, and their order of growth."""
    schedule, simulation = run_cell(check, CELLS["Tab2.allport-near-1"])
    count = len(labels.leader_distances(check))
    what = "steps of near-balanced, and necklaces without the root's"
    check.equal(what, simulation.steps, count, of=schedule)
    what = "steps of near-balanced, and the closed form"
    check.equal(what, simulation.steps, labels.largest_branch(check.n), of=schedule)
    check.order("necklaces / ceil((n!-1)/(n-1))", largest_branch_quotient)


def largest_branch_quotient(n: int) -> Number:
    """Return the size of Definition 13's largest subtree divided by an even share of the nodes."""
    return divide(labels.largest_branch(n), even_share(n))


@checks("FA.Tab3.allport-near-1-time", memory=Memory(2 * BYTES_PER_ROW))
def rule_9_exchange(check: ClaimCheck) -> None:
    """Check the steps of Rule 9, and their order of growth."""
    schedule, simulation = run_cell(check, CELLS["Tab3.allport-near-1"])
    total = labels.leader_distances(check).sum()
    what = "steps of Rule 9, and the sum of the distances of the necklaces"
    check.equal(what, simulation.steps, int(total), of=schedule)
    what = "steps of Rule 9, and the closed form"
    check.equal(what, simulation.steps, labels.rule_9_steps(check.n), of=schedule)
    check.order("steps of Rule 9 / ceil(t_n/(n-1))", rule_9_quotient)
