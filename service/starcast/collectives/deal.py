"""How the copies of messages are dealt to edge-disjoint trees, so that the trees' loads differ by one at most.

Fragopoulou & Akl 1996, section 4.3, deal packets of messages and need an x that divides the number of trees. Dealt like
cards, copy after copy and message after message, any x from 1 to the number of trees will do: x cards in a row go to x
different trees.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.whole import ceiling


class Deal(NamedTuple):
    """Copies, each int64 ``[messages * copies]``: those of message 0 first.

    Attributes:
        message: the message, from 0.
        tree: the tree that carries it.
        place: how many copies that tree got before.
        share: the most copies that a tree got: ceil(messages * copies / trees).
    """

    message: NDArray[np.int64]
    tree: NDArray[np.int64]
    place: NDArray[np.int64]
    share: int


def dealt(messages: int, copies: int, trees: int) -> Deal:
    """Copy a of message j to tree (j * copies + a) mod trees; ``copies`` is at most ``trees``."""
    card = np.arange(messages * copies)
    return Deal(card // copies, card % trees, card // trees, share(messages, copies, trees))


def share(messages: int, copies: int, trees: int) -> int:
    """The most copies that a tree carries."""
    return ceiling(messages * copies, trees)
