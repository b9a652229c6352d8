"""How the copies of messages are dealt to edge-disjoint trees, so that the trees' loads differ by one at most.

Fragopoulou & Akl 1996, section 4.3, deal packets of messages and need an x that divides the number of trees. Dealt like
cards, copy after copy and message after message, any x from 1 to the number of trees will do: x cards in a row go to x
different trees.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import Schedule
from starcast.collectives.rows import Columns, arranged
from starcast.collectives.translation import moved
from starcast.support.integers import ceil_div
from starcast.trees import Forest


class Deal(NamedTuple):
    """Copies, each int64 ``[messages * copies]``: those of message 0 first.

    Attributes:
        message: the message, from 0.
        tree: the tree that carries it.
        place: how many copies that tree got before.
        most: the most copies that a tree got: ceil(messages * copies / trees).
    """

    message: NDArray[np.int64]
    tree: NDArray[np.int64]
    place: NDArray[np.int64]
    most: int


def dealt(messages: int, copies: int, trees: int) -> Deal:
    """Copy a of message j to tree (j * copies + a) mod trees; ``copies`` is at most ``trees``."""
    card = np.arange(messages * copies)
    return Deal(card // copies, card % trees, card // trees, most_dealt(messages, copies, trees))


def most_dealt(messages: int, copies: int, trees: int) -> int:
    """The most copies that a tree carries."""
    return ceil_div(messages * copies, trees)


def carried(
    rows: Columns,
    along: Forest,
    collective: str,
    ports: str,
    root: int,
    messages: int,
    copies: int,
    **parameters: Any,
) -> Schedule:
    """The schedule of copies, one a link, whose rows are those of the identity; ``parameters`` are the others of `Schedule`."""
    made = arranged(
        rows,
        topology=along.topology,
        collective=collective,
        algorithm=along.construction,
        ports=ports,
        packets=False,
        arguments={"messages": messages, "copies": copies},
        forest=along,
        **parameters,
    )
    return moved(made, root)
