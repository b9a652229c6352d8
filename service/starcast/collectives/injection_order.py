"""Units with one destination each, and the order in which they leave the root."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.rows import Integers


class Units(NamedTuple):
    """Units of the root; each array is int64 ``[units]``.

    Attributes:
        tree: the tree along which the unit travels.
        destination: the rank of its destination.
        unit: its number, which copies share.
    """

    tree: NDArray[np.int64]
    destination: NDArray[np.int64]
    unit: NDArray[np.int64]


def order_furthest_first(
    queue: Integers, level: Integers, unit: Integers, *, sequential: bool = False
) -> NDArray[np.int64]:
    """Return the step in which each unit leaves the root, the furthest units of a queue first.

    Every queue sends one unit per step, by falling level, then by unit.

    Args:
        queue: int ``[units]``, the queue of each unit.
        level: int32 ``[units]``, the level of its destination.
        unit: int64 ``[units]``, in the order of destination and message.
        sequential: True if a queue starts when the queue before it is empty; by default all
            queues start in step 1.
    """
    order = np.lexsort((unit, -level, queue))
    position = np.arange(len(order))
    if not sequential:
        position -= np.searchsorted(queue[order], queue[order])
    departure = np.empty(len(order), dtype=np.int64)
    departure[order] = position + 1
    return departure
