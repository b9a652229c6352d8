"""Execute schedules under faults, step by step, and drop rows that cannot deliver their unit."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from starcast.collectives.model import Schedule
from starcast.judges.simulator.faults import FaultLike, Outages
from starcast.judges.simulator.ownership import (
    Held,
    PairIndex,
    Postcondition,
    derive_postcondition,
    initial_ownership,
    make_pair_index,
)
from starcast.judges.simulator.rows import Indices, Links, Mask, Rows, repeats_previous
from starcast.judges.simulator.sums import Sums


def execute_under_faults(
    rows: Rows, postcondition: Postcondition, outages: Outages, attempted: Mask | None = None
) -> tuple[Mask, Held, Sums | None]:
    """Execute rows under faults, and drop those that cannot deliver their unit.

    Args:
        rows: rows with valid nodes, ports and units.
        postcondition: the postcondition of the rows, which determines the source of each unit.
        outages: the faults.
        attempted: bool ``[rows]``, the rows that are attempted; by default all rows.

    Returns:
        Three values: which rows are executed, bool ``[rows]``; which nodes hold which units at the
        end; and the partial sums of a reduction.
    """
    possible = _find_links_up(rows, outages)
    if attempted is not None:
        possible &= attempted
    if postcondition.reduces:
        sums = Sums(postcondition, rows, len(rows), outages, possible)
        return sums.executed, sums.held_after(len(rows)), sums
    pair_index = make_pair_index(postcondition, rows, len(rows))
    held = initial_ownership(postcondition, pair_index)
    executed = np.zeros(len(rows), dtype=bool)
    for batch in rows.batches(len(rows)):
        selected = np.flatnonzero(possible[batch]) + batch.start
        executed[selected] = _execute_batch(rows, selected, pair_index, held)
    return executed, lambda node, unit: held[pair_index.of(node, unit)], None


def find_executed(schedule: Schedule, faults: Iterable[FaultLike]) -> Mask:
    """Return which rows of a schedule are executed under faults, bool ``[rows]``.

    Args:
        schedule: a schedule that `starcast.simulate` accepts, and that is not symmetric.
        faults: as in `starcast.simulate`.

    Raises:
        InputError: a fault is neither a node nor a link.
    """
    outages = Outages(schedule.topology, faults)
    return execute_under_faults(Rows(schedule), derive_postcondition(schedule), outages)[0]


def _execute_batch(rows: Rows, selected: Indices, pair_index: PairIndex, held: Mask) -> Mask:
    """Execute the selected rows of a batch step by step, and record deliveries in ``held``."""
    source = pair_index.of(rows.sender[selected], rows.unit[selected])
    target = pair_index.of(rows.receiver[selected], rows.unit[selected])
    executed = np.zeros(len(selected), dtype=bool)
    # Steps are executed one by one, because each row depends on the deliveries of earlier steps.
    begins = np.flatnonzero(~repeats_previous(rows.step[selected])).tolist()
    for begin, end in pairwise([*begins, len(selected)]):
        executed[begin:end] = held[source[begin:end]]
        held[target[begin:end][executed[begin:end]]] = True
    return executed


def _find_links_up(rows: Rows, outages: Outages) -> Mask:
    """Return which rows have a working link in their step, bool ``[rows]``.

    All links of a dead node are down.
    """
    links = Links(outages.topology)
    down_from = outages.down_from(links)
    up = np.empty(len(rows), dtype=bool)
    for batch in rows.batches(len(rows)):
        up[batch] = rows.step[batch] < down_from[links.number(rows.sender[batch], rows.port[batch])]
    return up
