"""Units with one destination each that wait at the root: which there are, and in which order they leave."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.rows import Integers


class Units(NamedTuple):
    """Units of the root, each int64 ``[units]``: the tree that it takes, where to, and its number, which copies share."""

    tree: NDArray[np.int64]
    destination: NDArray[np.int64]
    unit: NDArray[np.int64]


def furthest_first(
    queue: Integers, level: Integers, unit: Integers, *, in_turn: bool = False
) -> NDArray[np.int64]:
    """The step in which each unit leaves the root, int64 ``[units]``: one a step of each queue, by falling level, then unit.

    Args:
        queue: int ``[units]``: the queue in which each unit waits.
        level: int32 ``[units]``: of its destination.
        unit: int64 ``[units]``: in the order of destination and message.
        in_turn: a queue begins when the one before it is empty; else all begin with step 1.
    """
    order = np.lexsort((unit, -level, queue))
    place = np.arange(len(order))
    if not in_turn:
        place -= np.searchsorted(queue[order], queue[order])
    departure = np.empty(len(order), dtype=np.int64)
    departure[order] = place + 1
    return departure
