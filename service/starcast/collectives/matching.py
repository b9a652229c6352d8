"""Steps of greedy schedules: which unit crosses which link next, decided step by step.

The functions are compiled if numba is installed, and run as Python functions otherwise. Both ways
give the same rows: all numbers are integers, and the random numbers come from `draw`.

**Spreading** (broadcast, allgather): in each step every directed link carries a unit that its
sender holds and its receiver lacks, and no unit goes twice to the same receiver. Among a few such
units, a link takes the one that the fewest nodes hold. In the one-port model, the links of a step
are a matching of senders with receivers.

**Routing** (scatter, alltoall): units travel along shortest paths. In each step every directed link
takes, among the waiting units that it brings nearer to their destinations, the one with the
longest way left. In the one-port model, the links of a step are a matching again.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import InputError

_Function = TypeVar("_Function", bound=Callable[..., Any])

try:
    from starcast.support.compiled import jit
except InputError:

    def jit(function: _Function) -> _Function:
        """Return the function itself, because numba is not installed."""
        return function


#: The generator of Park and Miller (1988): x becomes _FACTOR * x modulo _PRIME. The products fit
#: into 64 bits.
_FACTOR, _PRIME = 48_271, 2**31 - 1
#: The number of units among which a link takes the one that the fewest nodes hold.
_SAMPLES = 4

_Integers = NDArray[np.int32]


@jit
def draw(chance: NDArray[np.int64], limit: int) -> int:
    """Return a pseudo-random number from 0 to ``limit - 1`` and advance ``chance``, int64 [1]."""
    chance[0] = chance[0] * _FACTOR % _PRIME
    return chance[0] * limit // _PRIME


class Rows(NamedTuple):
    """The rows found so far, as arrays with room for all rows.

    Attributes:
        step: int32 ``[rows]``, from 1.
        node: int32 ``[rows]``, the receiver (when spreading) or the sender (when routing).
        slot: uint8 ``[rows]``, the index of that node's port.
        unit: int32 ``[rows]``.
        counts: int64 [2], the number of rows found and of steps taken.
    """

    step: NDArray[np.int32]
    node: NDArray[np.int32]
    slot: NDArray[np.uint8]
    unit: NDArray[np.int32]
    counts: NDArray[np.int64]


@jit
def _add_row(rows: Rows, node: int, slot: int, unit: int) -> None:
    count = rows.counts[0]
    rows.step[count], rows.node[count] = rows.counts[1], node
    rows.slot[count], rows.unit[count] = slot, unit
    rows.counts[0] = count + 1


class Holdings(NamedTuple):
    """Which node holds which units.

    Attributes:
        order: int32 ``[nodes, units]``, all units for each node, those that it holds first.
        place: int32 ``[nodes, units]``, the inverse permutations.
        held: int32 ``[nodes]``, the number of units that each node holds.
        before: int32 ``[nodes]``, the same at the beginning of the step.
        holders: int32 ``[units]``, the number of nodes that hold each unit.
    """

    order: _Integers
    place: _Integers
    held: _Integers
    before: _Integers
    holders: _Integers


@jit
def _pick(own: Holdings, sender: int, receiver: int, chance: NDArray[np.int64], samples: int) -> int:
    """Return a unit that the receiver lacks and the sender held before this step, or -1.

    The search begins at a random unit; of the first ``samples`` units found, the rarest is chosen.
    """
    units = own.order.shape[1]
    has, lacks = own.before[sender], units - own.held[receiver]
    best, least = -1, 0
    if has == 0 or lacks == 0:
        return best
    # The shorter of the two lists is searched.
    is_sender = has <= lacks
    length = min(has, lacks)
    position = draw(chance, length)
    for _ in range(length):
        if is_sender:
            unit = own.order[sender, position]
            is_found = own.place[receiver, unit] >= own.held[receiver]
        else:
            unit = own.order[receiver, own.held[receiver] + position]
            is_found = own.place[sender, unit] < has
        if is_found:
            if best < 0 or own.holders[unit] < least:
                best, least = unit, own.holders[unit]
            samples -= 1
            if samples == 0:
                return best
        position = position + 1 if position + 1 < length else 0
    return best


@jit
def _give(own: Holdings, node: int, unit: int) -> None:
    """Let a node hold a unit."""
    held, place = own.held[node], own.place[node, unit]
    other = own.order[node, held]
    own.order[node, held], own.order[node, place] = unit, other
    own.place[node, unit], own.place[node, other] = held, place
    own.held[node] = held + 1
    own.holders[unit] += 1


@jit
def _receive(
    table: _Integers, own: Holdings, node: int, rows: Rows, chance: NDArray[np.int64]
) -> None:
    """Let all links to a node carry units in an all-port step."""
    ports = table.shape[1]
    first, turn = rows.counts[0], draw(chance, ports)
    for index in range(ports):
        slot = (index + turn) % ports
        sender = table[node, slot]
        if sender == node:
            continue
        unit = _pick(own, sender, node, chance, _SAMPLES)
        if unit < 0:
            # Another link may give its unit to this one, and carry another unit itself.
            for row in range(first, rows.counts[0]):
                given = rows.unit[row]
                if own.place[sender, given] >= own.before[sender]:
                    continue
                other = _pick(own, table[node, rows.slot[row]], node, chance, _SAMPLES)
                if other >= 0:
                    rows.unit[row] = other
                    _give(own, node, other)
                    _add_row(rows, node, slot, given)
                    break
            continue
        _give(own, node, unit)
        _add_row(rows, node, slot, unit)


@jit
def match(
    table: _Integers,
    possible: NDArray[np.bool_],
    order: NDArray[np.int64],
    partner: _Integers,
    taken: _Integers,
    scratch: _Integers,
) -> None:
    """Find a maximum matching of nodes with neighbours; nodes first in the order are preferred.

    The sets of nodes that can be matched form a matroid. Therefore, augmenting the matching for
    the nodes in the order of their weights gives a maximum matching of maximum weight (Edmonds &
    Fulkerson 1965).

    Args:
        table: the neighbours, ``[nodes, ports]``.
        possible: bool ``[nodes, ports]``, which neighbours a node can be matched with.
        order: the nodes to match, by decreasing weight.
        partner: set to the index of the port to each node's partner, or -1; ``[nodes]``.
        taken: set to the node that each node is the partner of, or -1; ``[nodes]``.
        scratch: int32 ``[4, nodes]``; its row 0 must be -1, and is again afterwards.
    """
    ports = table.shape[1]
    reached_from, slot_of, queue, trail = scratch[0], scratch[1], scratch[2], scratch[3]
    for node in range(len(table)):
        partner[node] = taken[node] = -1
    for start in order:
        queue[0] = start
        head, tail, reached, end = 0, 1, 0, -1
        while head < tail and end < 0:
            node = queue[head]
            head += 1
            for slot in range(ports):
                other = table[node, slot]
                # A neighbour that was reached before leads only to nodes already tried.
                if not possible[node, slot] or reached_from[other] >= 0:
                    continue
                reached_from[other], slot_of[other] = node, slot
                trail[reached] = other
                reached += 1
                if taken[other] < 0:
                    end = other
                    break
                queue[tail] = taken[other]
                tail += 1
        # If the search fails, the neighbours that it reached stay marked, because no later
        # augmenting path can use them.
        if end < 0:
            continue
        while end >= 0:
            node = reached_from[end]
            following = table[node, partner[node]] if partner[node] >= 0 else -1
            taken[end], partner[node] = node, slot_of[end]
            end = following
        for position in range(reached):
            reached_from[trail[position]] = -1
    for node in range(len(table)):
        reached_from[node] = -1


@jit
def spread(
    table: _Integers,
    own: Holdings,
    rows: Rows,
    chance: NDArray[np.int64],
    one_port: bool,
    goal: int,
) -> None:
    """Take steps until there are at least ``goal`` rows."""
    nodes, ports = table.shape
    units = own.order.shape[1]
    possible = np.zeros((nodes, ports), np.bool_)
    ahead = np.zeros(nodes, np.int64)
    keys = np.zeros(nodes, np.int64)
    partner, taken = np.empty(nodes, np.int32), np.empty(nodes, np.int32)
    scratch = np.full((4, nodes), -1, np.int32)
    while rows.counts[0] < goal:
        rows.counts[1] += 1
        for node in range(nodes):
            own.before[node] = own.held[node]
        if not one_port:
            for node in range(nodes):
                if own.held[node] < units:
                    _receive(table, own, node, rows, chance)
            continue
        for node in range(nodes):
            ahead[node] = 0
            for slot in range(ports):
                ahead[node] += units - own.held[table[node, slot]]
                possible[node, slot] = _pick(own, table[node, slot], node, chance, 1) >= 0
        count = 0
        for node in range(nodes):
            if own.held[node] == units:
                continue
            further = 0
            for slot in range(ports):
                further += ahead[table[node, slot]]
            # Nodes that lack more units come first, then nodes that can send more units soon.
            weight = 16 * ports * (4 * ports * ports * (units - own.held[node]))
            weight += 16 * ports * ahead[node] + 4 * further + draw(chance, 8 * ports)
            keys[count] = -(weight * nodes + node)
            count += 1
        order = -np.sort(keys[:count]) % nodes
        match(table, possible, order, partner, taken, scratch)
        for node in range(nodes):
            if partner[node] >= 0:
                sender = table[node, partner[node]]
                unit = _pick(own, sender, node, chance, _SAMPLES)
                _give(own, node, unit)
                _add_row(rows, node, partner[node], unit)
