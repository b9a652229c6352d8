"""Round-robin assignment of message copies to edge-disjoint trees: loads differ by at most one.

Fragopoulou & Akl 1996, section 4.3, assign packets of messages and need an x that divides the
number of trees. Assigned one by one, copy after copy and message after message, any x up to the
number of trees works: x consecutive copies go to x different trees.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import Schedule, build_schedule
from starcast.collectives.rows import Columns
from starcast.support.integers import ceil_div
from starcast.trees import Forest


class Assignment(NamedTuple):
    """The trees of all copies, those of message 0 first; int64 ``[messages * copies]`` each.

    Attributes:
        message: the message of each copy, from 0.
        tree: the tree that carries the copy.
        position: the number of copies assigned to that tree before.
        largest: the greatest number of copies of a tree: ceil(messages * copies / trees).
    """

    message: NDArray[np.int64]
    tree: NDArray[np.int64]
    position: NDArray[np.int64]
    largest: int


def assign_round_robin(messages: int, copies: int, trees: int) -> Assignment:
    """Assign copy a of message j to tree (j * copies + a) mod trees; ``copies <= trees``."""
    number = np.arange(messages * copies)
    largest = ceil_div(messages * copies, trees)
    return Assignment(number // copies, number % trees, number // trees, largest)


def build_copies_schedule(
    rows: Columns, forest: Forest, root: int, messages: int, copies: int, **parameters: Any
) -> Schedule:
    """Return the schedule of a root from the rows of the identity.

    Args:
        rows: the rows of all copies; a link carries one unit per step.
        forest: the edge-disjoint trees, rooted at the identity.
        root: rank of the root.
        messages: the number of unit messages.
        copies: the number of copies of each message.
        parameters: the other parameters of `Schedule`.
    """
    schedule = build_schedule(
        rows,
        topology=forest.topology,
        algorithm=forest.construction,
        packets=False,
        arguments={"messages": messages, "copies": copies},
        forest=forest,
        **parameters,
    )
    return schedule.translate(root)
