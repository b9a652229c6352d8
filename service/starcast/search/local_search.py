"""Local searches compiled by numba: exchanges in broadcast trees, and annealing of partitions.

**The tree of a one-port broadcast.** The first rounds are maximum matchings of informed with
uninformed nodes. Uninformed nodes with many uninformed neighbours are preferred, and random noise
decides between similar nodes. In the last rounds the tree is changed: an uninformed node takes the
cheapest place (a round, and a neighbour that informs the node). Nodes whose places conflict with
this place are freed, that is, they lose their places and become uninformed. Freeing a node costs
less if the node has not moved for a long time, and random noise decides between similar costs.

**A partition of nodes into classes** is found by simulated annealing. The module
`starcast.search.forests` explains for which graphs, and why, partitions are needed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.compiled import jit

#: Freeing a moved node becomes cheap again after about `_TENURE` steps. `_NOISE` is the range of
#: the random noise that is added to the cost of a place.
_TENURE, _NOISE = 1_000, 1.5
#: If the cheapest place for a node costs at least this much, the search also tries to inform a
#: neighbour of the node earlier.
_DEAR = 2.0
#: Minimum number of steps without improvement before all nodes near uninformed nodes are freed.
_PATIENCE = 10_000
#: The range of the noise that is added to a receiver's weight in a matching.
_MATCHING_NOISE = 0.5


class BroadcastTree(NamedTuple):
    """The tree of a broadcast, which may not reach all nodes yet.

    The search changes only the last rounds, the searched rounds. A node has a *slot* for each
    searched round; slot 0 is the first searched round.

    Attributes:
        table: the neighbours, int32 ``[nodes, ports]``.
        informer: the node that informs each node, int32 ``[nodes]``; -1 if there is none.
        rounds: the round in which each node is informed, int32 ``[nodes]``; 0 for the root and for
            nodes that no node informs.
        child: the node that each node informs in each slot, int32 ``[nodes, slots]``; -1 if none.
        moved: the search step in which each node took its place, int64 ``[nodes]``.
        missing: the uninformed nodes, in the first ``counts[0]`` entries, int32 ``[nodes]``.
        position: the index of each missing node in ``missing``, int32 ``[nodes]``.
        counts: the number of missing nodes, the minimum of this number since the last restart, the
            steps since that minimum, and the number of all steps.
        first: the last round before the searched rounds.
    """

    table: NDArray[np.int32]
    informer: NDArray[np.int32]
    rounds: NDArray[np.int32]
    child: NDArray[np.int32]
    moved: NDArray[np.int64]
    missing: NDArray[np.int32]
    position: NDArray[np.int32]
    counts: NDArray[np.int64]
    first: int


def matched_tree(
    table: NDArray[np.int32], target: int, searched: int, chance: np.random.Generator
) -> BroadcastTree:
    """Return a broadcast tree made by `match_rounds`, as the start of a search.

    Args:
        table: the neighbours, ``[nodes, ports]``; the root is 0.
        target: the number of rounds; nodes that would be informed later count as missing.
        searched: the number of last rounds that the search may change.
        chance: source of randomness.
    """
    nodes = len(table)
    # The search changes only the last rounds, because few choices in early rounds matter, and
    # changing early rounds would make each step slower.
    first = max(target - searched, 0)
    informer, rounds = np.full((2, nodes), -1, dtype=np.int32)
    informer[0] = rounds[0] = 0
    match_rounds(table, informer, rounds, target, chance)
    missing = np.flatnonzero(informer < 0).astype(np.int32)
    rounds[missing] = 0
    child = np.full((nodes, target - first), -1, dtype=np.int32)
    late = np.flatnonzero(rounds > first)
    child[informer[late], rounds[late] - first - 1] = late
    positions = np.zeros((2, nodes), dtype=np.int32)
    positions[0, : len(missing)] = missing
    positions[1, missing] = np.arange(len(missing))
    # No node has moved yet, which is represented as a move long ago.
    moved = np.full(nodes, -(10**9), dtype=np.int64)
    counts = np.array([len(missing), len(missing), 0, 0])
    return BroadcastTree(
        table, informer, rounds, child, moved, positions[0], positions[1], counts, first
    )


@jit
def match_rounds(
    table: NDArray[np.int32],
    informer: NDArray[np.int32],
    rounds: NDArray[np.int32],
    target: int,
    chance: np.random.Generator,
) -> None:
    """Inform as many nodes as possible in each round.

    Nodes with many uninformed neighbours are preferred, because they can inform others later. The
    sets of receivers that can be matched with senders form a matroid. Therefore, augmenting the
    matching for the receivers in descending order of weight (mainly the number of uninformed
    neighbours) gives a maximum matching of maximum weight (Edmonds & Fulkerson 1965).

    Args:
        table: the neighbours, ``[nodes, ports]``.
        informer: the node that informs each node; -1 if not informed yet; modified in place.
        rounds: the round in which each node is informed; modified in place.
        target: the number of rounds.
        chance: source of randomness.
    """
    nodes, degree = table.shape
    ahead, weight = np.empty(nodes), np.empty(nodes)
    receivers = np.empty(nodes, np.int32)
    sender_of, receiver_of = np.empty(nodes, np.int32), np.empty(nodes, np.int32)
    reached_from = np.empty(nodes, np.int32)
    queue, trail = np.empty(nodes, np.int32), np.empty(nodes, np.int32)
    for now in range(1, target + 1):
        for node in range(nodes):
            sender_of[node] = receiver_of[node] = reached_from[node] = -1
            ahead[node] = 0
            for port in range(degree):
                ahead[node] += informer[table[node, port]] < 0
        count = 0
        for node in range(nodes):
            near, further = 0, 0.0
            for port in range(degree):
                near += informer[table[node, port]] >= 0
                further += ahead[table[node, port]]
            if near > 0 > informer[node]:
                # Nodes at distance 2 count too, because they matter in the next rounds.
                weight[count] = ahead[node] + further / (4 * degree)
                # Without noise every start would match the same nodes.
                weight[count] += _MATCHING_NOISE * chance.random()
                receivers[count] = node
                count += 1
        if count == 0:
            return
        # A matched receiver stays matched when others are added, so receivers with large weights
        # are added first.
        for position in np.argsort(-weight[:count]):
            receiver = receivers[position]
            _augment(table, receiver, informer, sender_of, receiver_of, reached_from, queue, trail)
        for node in range(nodes):
            if sender_of[node] >= 0:
                informer[node], rounds[node] = sender_of[node], now


@jit
def _augment(
    table: NDArray[np.int32],
    receiver: int,
    informer: NDArray[np.int32],
    sender_of: NDArray[np.int32],
    receiver_of: NDArray[np.int32],
    reached_from: NDArray[np.int32],
    queue: NDArray[np.int32],
    trail: NDArray[np.int32],
) -> None:
    """Match ``receiver`` with a sender by an augmenting path, if there is such a path.

    The path is found by breadth-first search. ``table`` contains the neighbours. Only nodes that
    were informed in earlier rounds can send; for all other nodes, ``informer`` is -1. The arrays
    ``sender_of`` and ``receiver_of`` represent the matching of this round; -1 means that a node is
    not matched. The last three arrays are work arrays.
    """
    queue[0] = receiver
    head, tail, reached = 0, 1, 0
    while head < tail:
        node = queue[head]
        head += 1
        for port in range(table.shape[1]):
            sender = table[node, port]
            # Through a sender that was reached before, the search would only repeat itself.
            if informer[sender] < 0 or reached_from[sender] >= 0:
                continue
            reached_from[sender] = node
            trail[reached] = sender
            reached += 1
            if receiver_of[sender] >= 0:
                queue[tail] = receiver_of[sender]
                tail += 1
                continue
            while sender >= 0:
                node = reached_from[sender]
                following = sender_of[node]
                receiver_of[sender], sender_of[node] = node, sender
                sender = following if node != receiver else -1
            # If the search fails, the senders that it reached stay marked, because no later
            # augmenting path can use them.
            for position in range(reached):
                reached_from[trail[position]] = -1
            return


@jit
def exchange(tree: BroadcastTree, steps: int, chance: np.random.Generator) -> int:
    """Change the last rounds of a tree until all nodes are informed, in at most ``steps`` steps.

    Returns:
        The number of uninformed nodes.
    """
    counts, slots = tree.counts, tree.child.shape[1]
    for _ in range(steps):
        if counts[0] == 0:
            break
        counts[2] += 1
        counts[3] += 1
        # The node is chosen at random. A queue would return to the same few nodes, and free the
        # same other nodes, again and again.
        node = tree.missing[chance.integers(0, counts[0])]
        informer, slot, cost = _cheapest_place(tree, node, slots, chance)
        # If the place is expensive, the search also tries to inform a neighbour of the node
        # earlier. For cheap places, which free at most one node, this would take too long.
        if cost >= _DEAR:
            informer, slot = _bring_forward(tree, node, informer, slot, cost, chance)
        if informer >= 0:
            _move(tree, node, informer, slot)
        if counts[0] < counts[1]:
            counts[1], counts[2] = counts[0], 0
        # The limit on steps without improvement grows with the best number of missing nodes,
        # because slow progress is normal far from the goal.
        if counts[2] > _PATIENCE + 10 * counts[1]:
            _free_near(tree)
            counts[1], counts[2] = counts[0], 0
    return int(counts[0])


@jit
def _price(tree: BroadcastTree, node: int) -> float:
    """Return the cost of freeing a node: 1.9 just after it moved, then decreasing to nearly 1."""
    age = float(tree.counts[3] - tree.moved[node])
    # The cost is below 2, so freeing any one node is cheaper than freeing any two nodes.
    return 1.0 + 0.9 * _TENURE / (_TENURE + age)


@jit
def _cost(tree: BroadcastTree, node: int, informer: int, slot: int) -> float:
    """Return the cost of letting ``informer`` inform ``node`` in slot ``slot``.

    This change frees the node that ``informer`` now informs in this slot, and the children that
    ``node`` now informs in this slot or before.
    """
    cost = 0.0
    if tree.child[informer, slot] >= 0:
        cost += _price(tree, tree.child[informer, slot])
    for early in range(slot + 1):
        if tree.child[node, early] >= 0:
            cost += _price(tree, tree.child[node, early])
    return cost


@jit
def _cheapest_place(
    tree: BroadcastTree, node: int, before: int, chance: np.random.Generator
) -> tuple[int, int, float]:
    """Return the informer, the slot and the cost of the cheapest place for a node.

    A place consists of the neighbour that informs the node (the informer) and of the slot, which
    must be less than ``before``. If there is no possible place, the informer is -1.
    """
    best_informer, best_slot, least = -1, -1, np.inf
    for port in range(tree.table.shape[1]):
        informer = tree.table[node, port]
        # Round 0 means that the neighbour is not informed, unless the neighbour is the root.
        if informer != 0 and tree.rounds[informer] == 0:
            continue
        for slot in range(max(tree.rounds[informer] - tree.first, 0), before):
            cost = _cost(tree, node, informer, slot) + _NOISE * chance.random()
            if cost < least:
                best_informer, best_slot, least = informer, slot, cost
    return best_informer, best_slot, least


@jit
def _bring_forward(
    tree: BroadcastTree,
    node: int,
    informer: int,
    slot: int,
    cost: float,
    chance: np.random.Generator,
) -> tuple[int, int]:
    """Inform a neighbour of ``node`` earlier, if it can then inform ``node`` at a lower cost.

    Args:
        tree: the tree.
        node: an uninformed node.
        informer: the neighbour that would inform the node in its cheapest place; -1 if none.
        slot: the slot of the cheapest place.
        cost: the cost of the cheapest place.
        chance: source of randomness.

    Returns:
        The informer and the slot of the cheapest place found; the given place if none is cheaper.
    """
    forward, place, earlier = -1, -1, -1
    for port in range(tree.table.shape[1]):
        near = tree.table[node, port]
        if near == 0 or 0 < tree.rounds[near] <= tree.first:
            continue
        limit = tree.child.shape[1]
        if tree.rounds[near] > 0:
            limit = tree.rounds[near] - tree.first
        sender, found, price = _cheapest_place(tree, near, limit - 1, chance)
        if sender < 0:
            continue
        # `_price` is 1, plus a surcharge if the node has moved recently. The neighbour moves but
        # stays informed, so only its surcharge is counted.
        price += _price(tree, near) - 1 + _cost(tree, node, near, found + 1)
        if price < cost:
            cost, forward, place, earlier = price, near, sender, found
    if forward < 0:
        return informer, slot
    _move(tree, forward, place, earlier)
    return forward, earlier + 1


@jit
def _move(tree: BroadcastTree, node: int, informer: int, slot: int) -> None:
    """Let ``informer`` inform ``node`` in slot ``slot``.

    Nodes in conflicting places are freed: the node that ``informer`` informed in this slot, and the
    nodes that ``node`` informs in this slot or before.
    """
    if tree.child[informer, slot] >= 0:
        _free(tree, tree.child[informer, slot])
    for early in range(slot + 1):
        if tree.child[node, early] >= 0:
            _free(tree, tree.child[node, early])
    if tree.rounds[node] > 0:
        tree.child[tree.informer[node], tree.rounds[node] - tree.first - 1] = -1
    else:
        tree.counts[0] -= 1
        # The last missing node takes the free position, so the list has no gaps.
        last = tree.missing[tree.counts[0]]
        tree.missing[tree.position[node]] = last
        tree.position[last] = tree.position[node]
    tree.informer[node], tree.rounds[node] = informer, tree.first + 1 + slot
    tree.child[informer, slot] = node
    tree.moved[node] = tree.counts[3]


@jit
def _free(tree: BroadcastTree, node: int) -> None:
    """Make a node uninformed: remove it from the slot in which its informer informs it.

    The node keeps its own children.
    """
    tree.child[tree.informer[node], tree.rounds[node] - tree.first - 1] = -1
    tree.informer[node], tree.rounds[node] = -1, 0
    tree.position[node] = tree.counts[0]
    tree.missing[tree.counts[0]] = node
    tree.counts[0] += 1


@jit
def _free_near(tree: BroadcastTree) -> None:
    """Make uninformed all nodes of the searched rounds at distance 1 or 2 from a missing node."""
    degree = tree.table.shape[1]
    for position in range(tree.counts[0]):
        for port in range(degree):
            near = tree.table[tree.missing[position], port]
            for other in range(degree):
                if tree.rounds[tree.table[near, other]] > tree.first:
                    _free(tree, tree.table[near, other])
            if tree.rounds[near] > tree.first:
                _free(tree, near)


@jit
def anneal(
    table: NDArray[np.int64],
    members: NDArray[np.int64],
    labels: NDArray[np.int64],
    classes: int,
    steps: int,
    temperature: float,
    chance: np.random.Generator,
) -> int:
    """Move nodes between classes until the partition has no defects, in at most ``steps`` steps.

    Args:
        table: the neighbours, ``[nodes, ports]``.
        members: bundles of nodes, ``[bundles, size]``. The classes of all nodes in a bundle change
            together, by the same amount.
        labels: the class of each node, from 0; modified in place.
        classes: the number of classes.
        steps: the maximum number of steps.
        temperature: a step that adds this many defects per node of a bundle is accepted with
            probability 1/e.
        chance: the random number generator.

    Returns:
        The number of defects, as defined by `count_defects`.
    """
    count, size = members.shape
    bundle = np.empty(len(table), np.int64)
    for each in range(count):
        for node in members[each]:
            bundle[node] = each
    parent = np.empty(len(table) * classes, np.int64)
    has_cycle = np.empty(len(parent), np.bool_)
    defects = count_defects(table, labels, classes, parent, has_cycle)
    # Each step counts all defects of the partition again. This is fast enough, because useful
    # quotients have only hundreds of nodes.
    for _ in range(steps):
        if defects == 0:
            break
        # Sometimes two neighbours have to move together, because moving either of them alone would
        # disconnect a class.
        one = chance.integers(0, count)
        other = bundle[table[members[one, 0], chance.integers(0, table.shape[1])]]
        shift, also = chance.integers(1, classes), chance.integers(0, classes)
        _move_class(labels, members[one], shift, classes)
        _move_class(labels, members[other], also, classes)
        changed = count_defects(table, labels, classes, parent, has_cycle)
        accepted = np.exp(min((defects - changed) / (size * temperature), 0.0))
        if chance.random() < accepted:
            defects = changed
        else:
            _move_class(labels, members[one], classes - shift, classes)
            _move_class(labels, members[other], classes - also, classes)
    return int(defects)


@jit
def _move_class(
    labels: NDArray[np.int64], nodes: NDArray[np.int64], shift: int | np.int64, classes: int
) -> None:
    for node in nodes:
        labels[node] = (labels[node] + shift) % classes


@jit
def count_defects(
    table: NDArray[np.int64],
    labels: NDArray[np.int64],
    classes: int,
    parent: NDArray[np.int64],
    has_cycle: NDArray[np.bool_],
) -> int:
    """Count the defects of a partition: surplus components of its classes, and acyclic cuts.

    A class should be connected, so every further connected component is surplus. A cut is a
    connected component of the graph formed by the links between two classes.

    ``parent`` and ``has_cycle`` are work arrays for union-find. The index ``node * classes + c``
    stands for ``node`` in the graph of the links between the node's own class and class c.
    """
    for entry in range(len(parent)):
        parent[entry], has_cycle[entry] = entry, False
    defects = len(parent) - classes
    for node in range(len(table)):
        own = labels[node]
        for near in table[node]:
            other = labels[near]
            if own > other:
                continue  # each link is processed once; a second time it would look like a cycle
            one, two = _find(parent, node * classes + other), _find(parent, near * classes + own)
            if one != two:
                defects -= not (has_cycle[one] and has_cycle[two])
                parent[one] = two
                has_cycle[two] |= has_cycle[one]
            elif own != other and not has_cycle[one]:
                has_cycle[one] = True
                defects -= 1
    return int(defects)


@jit
def _find(parent: NDArray[np.int64], entry: int) -> int:
    while parent[entry] != entry:
        parent[entry] = parent[parent[entry]]
        entry = parent[entry]
    return entry
