"""Execution under faults, step by step: what is down, or not held, does not move."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from starcast.simulator.faults import Outages
from starcast.simulator.links import Links
from starcast.simulator.ownership import Held, Places, at_the_start, places
from starcast.simulator.postconditions import Promise
from starcast.simulator.rows import Mask, Rows, runs


def carried_out(
    rows: Rows, promise: Promise, outages: Outages, sent: Mask | None = None
) -> tuple[Mask, Held]:
    """Which rows are carried out, and who holds what in the end.

    Args:
        rows: all of them are well addressed.
        promise: who holds what at the start.
        outages: the faults.
        sent: bool ``[rows]``: the rows that are tried at all; all unless given.
    """
    up = _up(rows, outages)
    if sent is not None:
        up &= sent
    topology = places(promise, rows, len(rows))
    held, done = at_the_start(promise, topology), np.zeros(len(rows), dtype=bool)
    for batch in rows.batches(len(rows)):
        tried = np.flatnonzero(up[batch]) + batch.start
        done[tried] = _batch(rows, tried, topology, held)
    return done, lambda node, unit: held[topology.of(node, unit)]


def _batch(rows: Rows, tried: NDArray[np.int64], topology: Places, held: Mask) -> Mask:
    """Carry out what can be of some rows, in the order of time."""
    source = topology.of(rows.sender[tried], rows.unit[tried])
    target = topology.of(rows.receiver[tried], rows.unit[tried])
    done = np.zeros(len(tried), dtype=bool)
    begins = np.flatnonzero(~runs(rows.step[tried])).tolist()
    for begin, end in pairwise([*begins, len(tried)]):
        done[begin:end] = held[source[begin:end]]
        held[target[begin:end][done[begin:end]]] = True
    return done


def _up(rows: Rows, outages: Outages) -> Mask:
    """The rows whose link carries something in their step; a dead node's links are all down."""
    links, up = Links(outages.topology), np.empty(len(rows), dtype=bool)
    down_from = outages.down_from(links)
    for batch in rows.batches(len(rows)):
        up[batch] = rows.step[batch] < down_from[links.number(rows.sender[batch], rows.port[batch])]
    return up
