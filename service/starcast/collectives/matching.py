"""Choose, step by step, which unit crosses which link in a greedy schedule.

The functions are compiled if numba is installed, and run as Python functions otherwise. The rows
are the same in both cases, because all numbers are integers and the random numbers come from
`draw`.

**Spreading** (broadcast, allgather): in each step every directed link carries a unit that its
sender has and its receiver lacks, if there is one, and no unit goes twice to the same receiver. A
link of capacity c carries up to c units. Of the first `_SAMPLES` suitable units found, a link takes
the unit that the fewest nodes have. In the one-port model, the links of a step are a matching of
senders with receivers.

**Routing** (scatter, alltoall): units travel along shortest paths. In each step every directed link
of capacity c carries up to c waiting units, each of which it brings nearer to its destination;
units with the largest remaining distances go first. In the one-port model, the links of a step are
again a matching.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.optional_numba import jit

#: The random generator of Park and Miller (1988), in which x becomes _FACTOR * x modulo _PRIME. The
#: products fit into 64 bits.
_FACTOR, _PRIME = 48_271, 2**31 - 1
#: Maximum number of candidate units for a link. The link carries the candidate that the fewest
#: nodes hold.
_SAMPLES = 2

#: The factor by which the fractional weights of one-port matchings are multiplied before they are
#: rounded down to integers.
_SCALE = 4096
#: The number of units stored in one int64 of `Holdings`. With at most 63 bits in use, the integers
#: are never negative.
_BITS = 62

_Integers = NDArray[np.int32]


@jit
def draw(chance: NDArray[np.int64], limit: int) -> int:
    """Return a pseudo-random integer in 0..limit-1; update the generator state ``chance``."""
    chance[0] = chance[0] * _FACTOR % _PRIME
    return int(chance[0] * limit // _PRIME)


class FoundRows(NamedTuple):
    """The rows found so far, at the beginning of arrays that are long enough for all rows.

    Attributes:
        step: int32 ``[rows]``, the step of each row, from 1.
        node: int32 ``[rows]``, the receiver (when spreading) or the sender (when routing).
        slot: uint8 ``[rows]``, the index, from 0, of ``node``'s port among the topology's ports.
        unit: int32 ``[rows]``, the index of the unit, from 0.
        counts: int64 [2], the number of rows found and the number of the current step.
    """

    step: NDArray[np.int32]
    node: NDArray[np.int32]
    slot: NDArray[np.uint8]
    unit: NDArray[np.int32]
    counts: NDArray[np.int64]


def allocate_rows(rows: int) -> FoundRows:
    """Return a `FoundRows` without rows, whose arrays are long enough for ``rows`` rows."""
    step, node, unit = np.empty((3, rows), dtype=np.int32)
    return FoundRows(step, node, np.empty(rows, dtype=np.uint8), unit, np.zeros(2, dtype=np.int64))


def seed_chance(seed: int) -> NDArray[np.int64]:
    """Return the state of the random generator, int64 [1], for a seed from 0 to _PRIME - 2."""
    chance = np.array([seed + 1], dtype=np.int64)
    # The first numbers drawn with neighbouring seeds are similar, so they are skipped.
    for _ in range(4):
        draw(chance, 1)
    return chance


@jit
def _add_row(rows: FoundRows, node: int, slot: int, unit: int) -> None:
    count = rows.counts[0]
    rows.step[count], rows.node[count] = rows.counts[1], node
    rows.slot[count], rows.unit[count] = slot, unit
    rows.counts[0] = count + 1


class Holdings(NamedTuple):
    """The units that each node holds; unit u is bit ``u % _BITS`` of word ``u // _BITS``.

    Attributes:
        before: int64 ``[nodes, words]``, the units held at the beginning of the step.
        now: int64 ``[nodes, words]``, these units and the units received in this step.
        lacks: int64 ``[nodes]``, the number of units that each node lacks.
        holders: int64 ``[units]``, the number of nodes that hold each unit.
    """

    before: NDArray[np.int64]
    now: NDArray[np.int64]
    lacks: NDArray[np.int64]
    holders: NDArray[np.int64]


def allocate_holdings(nodes: int, source: NDArray[np.int64]) -> Holdings:
    """Return the holdings before the first step, when each unit is held only by its source.

    Args:
        nodes: the number of nodes.
        source: the rank of each unit's source, int64 ``[units]``.
    """
    unit = np.arange(len(source))
    now = np.zeros((nodes, -(-len(unit) // _BITS)), dtype=np.int64)
    np.bitwise_or.at(now, (source, unit // _BITS), 1 << (unit % _BITS))
    lacks = len(unit) - np.bincount(source, minlength=nodes)
    return Holdings(now.copy(), now, lacks, np.ones(len(unit), dtype=np.int64))


@jit
def _lowest_bit(word: int) -> int:
    """Return the index of the lowest set bit of a positive word."""
    index = 0
    for width in (32, 16, 8, 4, 2, 1):
        if word & ((1 << width) - 1) == 0:
            word >>= width
            index += width
    return index


@jit
def _pick(
    held: Holdings, sender: int, receiver: int, chance: NDArray[np.int64], samples: int
) -> int:
    """Return a unit that the receiver lacks and that the sender held before this step.

    The search begins at a random unit. Of the first ``samples`` units found, the unit that the
    fewest nodes hold is returned; -1 if no unit is found.
    """
    words = held.now.shape[1]
    start = draw(chance, words * _BITS)
    word = start // _BITS
    found = held.before[sender, word] & ~held.now[receiver, word]
    # In the word where the search begins, the units below the start are searched last.
    last = found & ((1 << (start % _BITS)) - 1)
    found ^= last
    best, least = -1, 0
    for turn in range(words + 1):
        while found != 0:
            unit = word * _BITS + _lowest_bit(found)
            if best < 0 or held.holders[unit] < least:
                best, least = unit, held.holders[unit]
            samples -= 1
            if samples == 0:
                return best
            found &= found - 1
        word = word + 1 if word + 1 < words else 0
        found = last
        if turn < words - 1:
            found = held.before[sender, word] & ~held.now[receiver, word]
    return best


@jit
def _can_give(held: Holdings, sender: int, receiver: int) -> bool:
    """Return whether the sender held, before this step, any unit that the receiver lacks."""
    for word in range(held.now.shape[1]):
        if held.before[sender, word] & ~held.now[receiver, word] != 0:
            return True
    return False


@jit
def _give(held: Holdings, node: int, unit: int) -> None:
    """Record that a node receives a unit."""
    held.now[node, unit // _BITS] |= 1 << (unit % _BITS)
    held.lacks[node] -= 1
    held.holders[unit] += 1


@jit
def _exchange(
    table: _Integers,
    held: Holdings,
    node: int,
    slot: int,
    first: int,
    rows: FoundRows,
    chance: NDArray[np.int64],
) -> bool:
    """Let an idle link take over a unit that another link carries to the same node in this step.

    The sender of the idle link holds no unit that the node still lacks. The sender of the other
    link must be able to send a different unit instead.

    Args:
        table: the neighbours, int32 ``[nodes, ports]``.
        held: the holdings of all nodes; modified in place.
        node: the rank of the receiver.
        slot: the index of the receiver's port at the idle link.
        first: the index of the receiver's first row in this step.
        rows: the rows found so far; modified in place.
        chance: the state of the random number generator; modified in place.

    Returns:
        Whether the idle link now carries a unit.
    """
    sender = table[node, slot]
    for row in range(first, rows.counts[0]):
        given = rows.unit[row]
        if held.before[sender, given // _BITS] >> (given % _BITS) & 1 == 0:
            continue
        other = _pick(held, table[node, rows.slot[row]], node, chance, _SAMPLES)
        if other >= 0:
            rows.unit[row] = other
            _give(held, node, other)
            _add_row(rows, node, slot, given)
            return True
    return False


@jit
def _receive(
    table: _Integers,
    capacity: NDArray[np.int64],
    held: Holdings,
    node: int,
    rows: FoundRows,
    chance: NDArray[np.int64],
) -> None:
    """Choose and record the units that a node receives in an all-port step.

    The parameter ``node`` is the rank of the receiver; `spread` documents the other parameters.
    """
    ports = table.shape[1]
    first, turn = rows.counts[0], draw(chance, ports)
    for index in range(ports):
        slot = (index + turn) % ports
        sender = table[node, slot]
        if sender == node:
            continue
        for _ in range(capacity[node, slot]):
            unit = _pick(held, sender, node, chance, _SAMPLES)
            if unit >= 0:
                _give(held, node, unit)
                _add_row(rows, node, slot, unit)
            elif not _exchange(table, held, node, slot, first, rows, chance):
                break


class Pairing(NamedTuple):
    """The matching of senders with receivers in a one-port step.

    Each node is matched with a neighbour, its partner: when spreading, a receiver with a sender;
    when routing, a sender with a receiver.

    Attributes:
        possible: bool ``[nodes, ports]``, whether a node can be matched with each neighbour.
        partner: int32 ``[nodes]``, the index of the port to each node's partner, or -1.
        taken: int32 ``[nodes]``, the inverse of ``partner``: the node that has each node as its
            partner, or -1.
        keys: int64 ``[nodes]``, workspace: for each node to match, -(weight * nodes + rank), so
            that sorting the keys puts large weights first.
        scratch: int32 ``[4, nodes]``, workspace of `_match`; its row 0 is -1 between calls.
        is_done: bool ``[2, nodes]``, whether each endpoint was already matched in this step: row 0
            for matches of the node itself, row 1 for matches as the partner of another node.
        is_used: bool ``[nodes, ports]``, whether each link was already used in this step.
    """

    possible: NDArray[np.bool_]
    partner: _Integers
    taken: _Integers
    keys: NDArray[np.int64]
    scratch: _Integers
    is_done: NDArray[np.bool_]
    is_used: NDArray[np.bool_]


@jit
def _allocate_pairing(nodes: int, ports: int) -> Pairing:
    return Pairing(
        np.zeros((nodes, ports), np.bool_),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int32),
        np.zeros(nodes, np.int64),
        np.full((4, nodes), -1, np.int32),
        np.zeros((2, nodes), np.bool_),
        np.zeros((nodes, ports), np.bool_),
    )


@jit
def _is_free(pairing: Pairing, node: int, slot: int, other: int) -> bool:
    """Return whether a node can still be matched with a neighbour in this step."""
    is_done = pairing.is_done[0, node] or pairing.is_done[1, other]
    return not is_done and not pairing.is_used[node, slot]


@jit
def _use(pairing: Pairing, node: int, slot: int, other: int, endpoints: int) -> None:
    """Record that a node was matched with a neighbour in this step.

    In a step, an endpoint is matched at most once as a node and at most once as the partner of
    another node. A switch is matched at most once for each link.
    """
    pairing.is_done[0, node], pairing.is_done[1, other] = node < endpoints, other < endpoints
    pairing.is_used[node, slot] = True


@jit
def _match(table: _Integers, pairing: Pairing, count: int) -> None:
    """Find a maximum matching of nodes with neighbours; nodes of larger weight are preferred.

    The sets of nodes that can be matched form a matroid. Therefore, augmenting the matching for
    the nodes in the order of their weights gives a maximum matching of maximum weight (Edmonds &
    Fulkerson 1965).

    Args:
        table: the neighbours, ``[nodes, ports]``.
        pairing: the matching; `partner` and `taken` are set.
        count: the number of nodes to match, whose keys come first in `Pairing.keys`.
    """
    nodes, ports = table.shape
    possible, partner, taken = pairing.possible, pairing.partner, pairing.taken
    reached_from, slot_of = pairing.scratch[0], pairing.scratch[1]
    queue, trail = pairing.scratch[2], pairing.scratch[3]
    for node in range(nodes):
        partner[node] = taken[node] = -1
    for start in -np.sort(pairing.keys[:count]) % nodes:
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
    for node in range(nodes):
        reached_from[node] = -1


@jit
def _inform(
    table: _Integers,
    capacity: NDArray[np.int64],
    held: Holdings,
    rows: FoundRows,
    chance: NDArray[np.int64],
    endpoints: int,
    pairing: Pairing,
    urgency: NDArray[np.int64],
) -> None:
    """Match nodes that lack units with neighbours that hold these units, and record the units sent.

    The parameters ``pairing`` and ``urgency`` (int64 ``[2, nodes]``) are workspaces; `spread`
    documents the other parameters.
    """
    nodes, ports = table.shape
    need, ahead = urgency[0], urgency[1]
    for node in range(nodes):
        near = 0
        for slot in range(ports):
            sender = table[node, slot]
            is_free = _is_free(pairing, node, slot, sender)
            pairing.possible[node, slot] = is_free and _can_give(held, sender, node)
            near += pairing.possible[node, slot]
        # The fewer neighbours can inform a node, the more the node depends on each of them.
        need[node] = _SCALE // (1 + near) ** 3 if held.lacks[node] > 0 else 0
    for node in range(nodes):
        ahead[node] = 0
        for slot in range(ports):
            ahead[node] += need[table[node, slot]]
    count = 0
    for node in range(nodes):
        if held.lacks[node] == 0:
            continue
        further = 0
        for slot in range(ports):
            if held.lacks[table[node, slot]] > 0:
                further += ahead[table[node, slot]]
        # The weight is larger for nodes that lack more units. Among nodes that lack equally many
        # units, it is larger if neighbours depend on the node or on the node's neighbours.
        weight = ports * ahead[node] + 3 * further + draw(chance, ports * _SCALE // 20)
        weight += held.lacks[node] * (5 * ports * ports * _SCALE)
        pairing.keys[count] = -(weight * nodes + node)
        count += 1
    _match(table, pairing, count)
    for node in range(nodes):
        slot = pairing.partner[node]
        if slot < 0:
            continue
        sender = table[node, slot]
        _use(pairing, node, slot, sender, endpoints)
        for _ in range(capacity[node, slot]):
            unit = _pick(held, sender, node, chance, _SAMPLES)
            if unit >= 0:
                _give(held, node, unit)
                _add_row(rows, node, slot, unit)


@jit
def spread(
    table: _Integers,
    capacity: NDArray[np.int64],
    held: Holdings,
    rows: FoundRows,
    chance: NDArray[np.int64],
    one_port: bool,
    endpoints: int,
    goal: int,
) -> None:
    """Append steps of a broadcast or an allgather until there are at least ``goal`` rows.

    Args:
        table: the neighbours, int32 ``[nodes, ports]``.
        capacity: the capacity of each node's link at each port, int64 ``[nodes, ports]``.
        held: the holdings of all nodes; modified in place.
        rows: the rows found so far; modified in place.
        chance: the state of the random number generator; modified in place.
        one_port: whether the port model is one-port.
        endpoints: the number of endpoints; nodes from this rank on are switches.
        goal: the number of rows at which to stop.
    """
    nodes, ports = table.shape
    pairing, urgency = _allocate_pairing(nodes, ports), np.zeros((2, nodes), np.int64)
    while rows.counts[0] < goal:
        rows.counts[1] += 1
        for node in range(nodes):
            for word in range(held.now.shape[1]):
                held.before[node, word] = held.now[node, word]
        if not one_port:
            for node in range(nodes):
                if held.lacks[node] > 0:
                    _receive(table, capacity, held, node, rows, chance)
            continue
        pairing.is_done[:], pairing.is_used[:] = False, False
        before = -1
        # In a step, an endpoint sends and receives at most once, but a switch may use all links. So
        # if there are switches, a step may need several matchings.
        while rows.counts[0] > before:
            before = rows.counts[0]
            _inform(table, capacity, held, rows, chance, endpoints, pairing, urgency)
            if endpoints == nodes:
                break


class Waiting(NamedTuple):
    """The units that wait at each node, in lists by link and remaining distance.

    A unit is in the lists of all links that bring it nearer to its destination. Its successor and
    predecessor in a list are at the index ``unit * ports + slot`` of `following` and `preceding`,
    so that the unit can be removed from all lists when it leaves.

    Attributes:
        left: ``[destinations, nodes]``, the distances to the destinations.
        goal: int32 ``[units]``, for each unit, the row of `left` for its destination.
        first: int32 ``[nodes, ports, distances]``, the first unit of each list, or -1.
        longest: int32 ``[nodes, ports]``, for each link, an upper bound on the remaining distances
            of the units that wait for it.
        following: int32 ``[units * ports]``, the next unit in the same list, or -1.
        preceding: int32 ``[units * ports]``, the previous unit in the same list, or -1.
        waits: int64 ``[nodes]``, the number of units that wait at each node.
    """

    left: NDArray[Any]
    goal: _Integers
    first: NDArray[np.int32]
    longest: _Integers
    following: _Integers
    preceding: _Integers
    waits: NDArray[np.int64]


def allocate_waiting(
    table: _Integers,
    left: NDArray[Any],
    source: NDArray[np.int64],
    destination: NDArray[np.int64],
) -> Waiting:
    """Return the lists of waiting units before the first step, when all wait at their sources.

    Args:
        table: the neighbours, int32 ``[nodes, ports]``.
        left: the distances to the destinations, ``[destinations, nodes]``.
        source: the rank of each unit's source, int64 ``[units]``.
        destination: the row of ``left`` for each unit, int64 ``[units]``.
    """
    nodes, ports = table.shape
    units = len(source)
    waiting = Waiting(
        left=left,
        goal=destination.astype(np.int32),
        first=np.full((nodes, ports, int(left.max()) + 1), -1, dtype=np.int32),
        longest=np.zeros((nodes, ports), dtype=np.int32),
        following=np.empty(units * ports, dtype=np.int32),
        preceding=np.empty(units * ports, dtype=np.int32),
        waits=np.zeros(nodes, dtype=np.int64),
    )
    _insert_all(table, waiting, source)
    return waiting


@jit
def _insert_all(table: _Integers, waiting: Waiting, source: NDArray[np.int64]) -> None:
    for unit in range(len(source)):
        _insert(table, waiting, source[unit], unit)


@jit
def _insert(table: _Integers, waiting: Waiting, node: int, unit: int) -> None:
    """Add a unit to the lists of the node at which it waits, unless this is its destination."""
    ports = table.shape[1]
    goal = waiting.goal[unit]
    left = np.int64(waiting.left[goal, node])
    if left == 0:
        return
    waiting.waits[node] += 1
    for slot in range(ports):
        if waiting.left[goal, table[node, slot]] + 1 != left:
            continue
        index = unit * ports + slot
        other = waiting.first[node, slot, left]
        waiting.following[index], waiting.preceding[index] = other, -1
        if other >= 0:
            waiting.preceding[other * ports + slot] = unit
        waiting.first[node, slot, left] = unit
        waiting.longest[node, slot] = max(waiting.longest[node, slot], left)


@jit
def _remove(table: _Integers, waiting: Waiting, node: int, unit: int) -> None:
    """Remove a unit from all lists of the node at which it waits."""
    ports = table.shape[1]
    goal = waiting.goal[unit]
    left = np.int64(waiting.left[goal, node])
    waiting.waits[node] -= 1
    for slot in range(ports):
        if waiting.left[goal, table[node, slot]] + 1 != left:
            continue
        index = unit * ports + slot
        after, before = waiting.following[index], waiting.preceding[index]
        if after >= 0:
            waiting.preceding[after * ports + slot] = before
        if before >= 0:
            waiting.following[before * ports + slot] = after
        else:
            waiting.first[node, slot, left] = after


@jit
def _furthest(waiting: Waiting, node: int, slot: int) -> int:
    """Return a unit with the furthest destination among those that wait for a link; -1 if none.

    The link leaves ``node`` through the port with the index ``slot``.
    """
    left = waiting.longest[node, slot]
    while left > 0 and waiting.first[node, slot, left] < 0:
        left -= 1
    waiting.longest[node, slot] = left
    return int(waiting.first[node, slot, left])


@jit
def _pair_waiting(
    table: _Integers, waiting: Waiting, chance: NDArray[np.int64], pairing: Pairing
) -> None:
    """Match nodes with neighbours that are closer to the destination of a waiting unit.

    The matching is written to ``pairing``. Nodes with more waiting units are preferred.
    """
    nodes, ports = table.shape
    count = 0
    for node in range(nodes):
        if waiting.waits[node] == 0:
            continue
        for slot in range(ports):
            is_free = _is_free(pairing, node, slot, table[node, slot])
            pairing.possible[node, slot] = is_free and _furthest(waiting, node, slot) >= 0
        weight = waiting.waits[node] * ports + draw(chance, ports)
        pairing.keys[count] = -(weight * nodes + node)
        count += 1
    _match(table, pairing, count)


@jit
def route(
    table: _Integers,
    capacity: NDArray[np.int64],
    waiting: Waiting,
    rows: FoundRows,
    chance: NDArray[np.int64],
    one_port: bool,
    endpoints: int,
    goal: int,
) -> None:
    """Append steps of a scatter or an alltoall until there are at least ``goal`` rows.

    The parameter ``waiting`` contains the lists of waiting units and is modified in place; `spread`
    documents the other parameters.
    """
    nodes, ports = table.shape
    pairing = _allocate_pairing(nodes, ports)
    while rows.counts[0] < goal:
        rows.counts[1] += 1
        first, before = rows.counts[0], -1
        pairing.is_done[:], pairing.is_used[:] = False, False
        # An endpoint takes part in one matching per one-port step, a switch in any number.
        while rows.counts[0] > before:
            before = rows.counts[0]
            if one_port:
                _pair_waiting(table, waiting, chance, pairing)
            for node in range(nodes):
                turn = draw(chance, ports)
                for index in range(ports):
                    slot = (index + turn) % ports
                    if one_port and pairing.partner[node] != slot:
                        continue
                    _use(pairing, node, slot, table[node, slot], endpoints)
                    for _ in range(capacity[node, slot]):
                        unit = _furthest(waiting, node, slot)
                        if unit >= 0:
                            _remove(table, waiting, node, unit)
                            _add_row(rows, node, slot, unit)
            if not one_port or endpoints == nodes:
                break
        # Units are inserted only at the end of the step, so that a unit crosses one link per step.
        for row in range(first, rows.counts[0]):
            _insert(table, waiting, table[rows.node[row], rows.slot[row]], rows.unit[row])
