"""Alltoall: every node has separate messages for every other node.

The schedule of one source represents all sources by translation, which keeps dimensions. In the
all-port model, sources do not conflict if the links that the schedule crosses in a step all have
different dimensions (Theorem 2). The nodes of a necklace are rotations of one another, and so are
the paths to them. So messages that are sent to these nodes at the same time use different
dimensions in every step. In the one-port model, all nodes use the same dimension in a step.

Reference: Fragopoulou & Akl 1993, sections 7 and 8.

**The exact alltoall** of S_n takes ceil(M t_n / (n-1)) steps for M messages per destination, where
t_n is the sum of a node's distances to all nodes. No schedule is faster or has fewer transmissions.
Fragopoulou & Akl (1993, section 9) leave the existence of such a schedule open;
docs/exact-alltoall.md describes the construction and the proof. In short, for M <= n-1:

1. The *opening*: the nodes of *short* necklaces, which have fewer than n-1 nodes, receive their
   messages in T_s steps (here T_s is not a start-up time). The label of a node is a permutation.
   The path to the node enters each cycle of this permutation at one symbol, the *entry*. Entries
   are chosen by a bipartite flow, so that no dimension is crossed too often.
2. A group is one message to each of the n-1 nodes of a *full* necklace. The path to the node of
   lowest rank is its path in the near-balanced tree. The other paths are rotations of this path,
   so in each hop the n-1 messages cross n-1 different dimensions. The first groups cross their
   first dimensions in *idle cells* of the opening: dimensions that are unused in a step.
3. All remaining hops follow after step T_s, in steps in which every dimension is busy.

If M > n-1, messages are sent in rounds of n-1 messages per destination. Each round takes t_n steps,
in which all dimensions are busy. A last round sends the remaining messages.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast import trees
from starcast.collectives.algorithm import Messages, algorithm
from starcast.collectives.model import Draft
from starcast.collectives.one_to_all import (
    SMALLEST_BALANCED,
    MultipleMessages,
    assign_trees,
    count_rows,
    count_trees,
    refuse_uneven,
)
from starcast.collectives.rows import Columns, Units, concatenate_rows, route_units
from starcast.support.arrays import Integers
from starcast.support.errors import StarcastError
from starcast.support.integers import ceil_div
from starcast.support.vocabulary import Ports
from starcast.topologies import Topology, permutations
from starcast.topologies.necklaces import necklaces, rotated_dimension, rotation, short_necklaces
from starcast.topologies.permutations import Perms, Ranks
from starcast.trees import Forest


@algorithm(
    "alltoall", "necklace", families=["star"], source="Fragopoulou & Akl 1993, section 7, Rule 9",
    rows=count_rows, forest_construction=lambda *_: "near-balanced",
)  # fmt: skip
def _build_necklace(topology: Topology, root: int, ports: Ports) -> Draft:
    """Build the alltoall of Fragopoulou & Akl 1993, Rule 9, which serves necklaces one by one."""
    return _serve_necklaces(topology, "near-balanced", 1)


@algorithm(
    "alltoall", "perfectly-balanced", families=["star"],
    source="Fragopoulou & Akl 1993, section 7, Rule 10", smallest=SMALLEST_BALANCED,
    rows=count_rows, forest_construction=lambda *_: "perfectly-balanced", refusal=refuse_uneven,
)  # fmt: skip
def _build_perfectly_balanced(
    topology: Topology, root: int, ports: Ports, messages: MultipleMessages
) -> Draft:
    """Build the alltoall of Fragopoulou & Akl 1993, Rule 10, along the perfectly balanced trees.

    Messages leave in groups; a group has one message in each of the n-1 trees. With M messages per
    destination, a necklace of p nodes is served by M p/(n-1) groups.
    """
    return _serve_necklaces(topology, "perfectly-balanced", messages)


@algorithm(
    "alltoall", "one-port", families=["star"], ports=["one"],
    source="Fragopoulou & Akl 1993, section 8", rows=count_rows,
    forest_construction=lambda *_: "near-balanced",
)  # fmt: skip
def _build_one_port(topology: Topology, root: int, ports: Ports, messages: Messages) -> Draft:
    """Build the one-port alltoall of Fragopoulou & Akl 1993, section 8.

    Each source sends a message only after its previous message has arrived. The messages for the
    nearest nodes go first.
    """
    forest = trees.forest(topology, "near-balanced")
    units = assign_trees(forest, messages)
    length = forest.levels()[units.tree, units.destination].astype(np.int64)
    order = np.lexsort((units.unit, length))
    departure = np.empty(len(order), dtype=np.int64)
    departure[order] = np.cumsum(length[order]) - length[order] + 1
    return _build(forest, units, departure, messages)


def _serve_necklaces(topology: Topology, construction: str, messages: int) -> Draft:
    """Return the schedule that sends messages to one necklace after another, in groups.

    If a node is in k trees, the M messages for it are divided into M/k groups of k messages. Group
    j, counted from 0, has the messages jk to jk + k-1. A group leaves when the previous group has
    arrived. Necklaces are served in the order of their distance from the source, and necklaces at
    the same distance in the order of their lowest rank.
    """
    forest = trees.forest(topology, construction)
    units = assign_trees(forest, messages)
    distance = forest.topology.distances().astype(np.int64)
    # The count of the root is 0. It is replaced by 1 to avoid a division by zero.
    trees_per_node = np.maximum(count_trees(forest), 1)
    leader = necklaces(forest.topology.n).leader
    leaders = np.unique(leader[1:])
    leaders = leaders[np.argsort(distance[leaders], kind="stable")]
    duration = distance[leaders] * (messages // trees_per_node[leaders])
    begin = np.zeros(forest.topology.nodes, dtype=np.int64)
    begin[leaders] = np.cumsum(duration) - duration
    group = units.unit % messages // trees_per_node[units.destination]
    departure = begin[leader[units.destination]] + group * distance[units.destination] + 1
    return _build(forest, units, departure, messages)


def _build(forest: Forest, units: Units, departure: Integers, messages: int) -> Draft:
    """Build the symmetric alltoall in which each unit moves one hop per step from its departure on.

    Args:
        forest: the trees along which the units travel.
        units: the units of the identity, which is the source.
        departure: the step in which each unit leaves the source.
        messages: the number of messages per destination.
    """
    rows = route_units(forest, units.tree, units.destination, departure, units.unit)
    return Draft(rows, forest.topology.nodes * messages, forest, symmetric=True)


Cycle = tuple[int, ...]


class Word(NamedTuple):
    """The path of one message, as the sequence of the dimensions that it crosses (a *word*).

    Attributes:
        node: the rank of the message's destination.
        message: the index of the message among the messages to this destination, from 0.
        dimensions: the dimensions that the path crosses, from the root on.
    """

    node: int
    message: int
    dimensions: tuple[int, ...]


class Opening(NamedTuple):
    """The first steps of the exact alltoall, in which nodes on short necklaces get their messages.

    Short necklaces have fewer than n-1 nodes.

    Attributes:
        words: the paths to these nodes, sorted by node, then by message.
        steps: for each word, the steps, numbered from 1, in which it crosses its dimensions.
        length: T_s, the number of steps of the opening; 0 if there are no words.
        idle: int64 ``[n-1, c]``, for each of the dimensions 2..n, the first c steps in which no
            word crosses this dimension. The number c is T_s - ceil(h / (n-1)), where h is the
            total number of hops of all words.
    """

    words: tuple[Word, ...]
    steps: tuple[tuple[int, ...], ...]
    length: int
    idle: NDArray[np.int64]


def plan_opening(n: int, messages: int) -> Opening:
    """Plan the opening: the first steps of the exact alltoall on S_n (see `Opening`).

    In these steps, every node on a short necklace (of fewer than n-1 nodes) receives ``messages``
    messages.
    """
    words = short_words(n, messages)
    steps = schedule_words([word.dimensions for word in words])
    length = max((word_steps[-1] for word_steps in steps), default=0)
    return Opening(words, steps, length, _idle_steps(n, words, steps, length))


def short_words(n: int, messages: int) -> tuple[Word, ...]:
    """Return a path for each message to each node on a short necklace (of fewer than n-1 nodes).

    The paths are sorted by node, then by message. The entries (see the module's docstring) are
    chosen so that the paths cross all dimensions about equally often.
    """
    nodes = short_necklaces(n)
    ranks = permutations.rank(nodes).tolist()
    cycles_of = dict(zip(ranks, map(_displaced_cycles, nodes), strict=True))
    bundles = [(rank, message, cycles_of[rank]) for rank in ranks for message in range(messages)]
    cycles = [cycle for _, _, bundle in bundles for cycle in bundle]
    # Entries are chosen for all messages together, because the capacities limit the total number of
    # crossings of each dimension.
    entry = iter(choose_entries(cycles, _entry_capacities(n, cycles)))
    words = []
    for rank, message, bundle in bundles:
        crossed = [dim for cycle in bundle for dim in _crossed_dimensions(cycle, next(entry))]
        words.append(Word(rank, message, tuple(crossed)))
    return tuple(words)


def choose_entries(cycles: Sequence[Cycle], capacity: Mapping[int, int]) -> list[int]:
    """Return an entry (a symbol) for each cycle; symbol s occurs at most ``capacity[s]`` times.

    The cycles are those of the permutations of several nodes. The path to a node enters each cycle
    of the node at one symbol, the entry.

    The entries are found by a bipartite flow with augmenting paths. Cycles are processed in the
    given order and symbols are tried in ascending order, so the result is deterministic.

    Raises:
        StarcastError: every choice exceeds the capacity of some symbol.
    """
    holders: dict[int, list[int]] = {symbol: [] for symbol in capacity}

    def assign(cycle: int, tried: set[int]) -> bool:
        for symbol in sorted(cycles[cycle]):
            # Each symbol is tried only once per augmenting path. Otherwise the search could
            # alternate forever between two symbols at their capacity.
            if symbol not in tried:
                tried.add(symbol)
                if len(holders[symbol]) < capacity[symbol] or vacate(symbol, tried):
                    holders[symbol].append(cycle)
                    return True
        return False

    def vacate(symbol: int, tried: set[int]) -> bool:
        leaving = next((cycle for cycle in holders[symbol] if assign(cycle, tried)), None)
        if leaving is not None:
            holders[symbol].remove(leaving)
        return leaving is not None

    if not all(assign(cycle, set()) for cycle in range(len(cycles))):
        raise internal_error("the entries into the cycles of short necklaces cannot be balanced")
    chosen = {cycle: symbol for symbol, placed in holders.items() for cycle in placed}
    return [chosen[cycle] for cycle in range(len(cycles))]


def schedule_words(words: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return, for each word, the steps in which its message crosses the dimensions.

    A word is the sequence of the dimensions on a message's path.

    This is list scheduling. In each step, several words may have the same next dimension. Only one
    of them crosses it: the word with the most remaining dimensions (the first such word on ties). A
    word waits for only one dimension at a time, so the dimensions can be processed independently of
    one another.
    """
    waiting: dict[int, list[tuple[int, int]]] = {
        dimension: [] for word in words for dimension in word
    }
    for index, word in enumerate(words):
        # Lengths are negated, because the heap yields the smallest entry first.
        heappush(waiting[word[0]], (-len(word), index))
    steps: list[list[int]] = [[] for _ in words]
    step = 0
    while any(waiting.values()):
        step += 1
        served = [heappop(queue)[1] for queue in waiting.values() if queue]
        for index in served:
            steps[index].append(step)
            word = words[index]
            crossed = len(steps[index])
            if crossed < len(word):
                heappush(waiting[word[crossed]], (crossed - len(word), index))
    return tuple(map(tuple, steps))


def internal_error(what: str) -> StarcastError:
    """Return an error for a state that the proof in docs/exact-alltoall.md shows to be impossible.

    Args:
        what: a clause that describes the state.
    """
    return StarcastError(
        f"the exact alltoall cannot be built: {what}",
        hint="this is a defect of starcast: please report it",
    )


def _displaced_cycles(node: Perms) -> list[Cycle]:
    """Return the cycles of two or more symbols of a node, which is a permutation x.

    Each cycle is a tuple (s, x_s, ..), where s is its smallest symbol.
    """
    cycles = permutations.cycles(node - np.uint8(1))
    return [tuple(position + 1 for position in cycle) for cycle in cycles if len(cycle) > 1]


def _entry_capacities(n: int, cycles: Sequence[Cycle]) -> dict[int, int]:
    """Return, for each symbol, the maximum number of cycles that may have this symbol as entry.

    The maxima are the capacities for `choose_entries`. A path crosses the dimension of each symbol
    of a cycle once, but the entry's dimension twice. With these maxima, no dimension is crossed
    more often than the mean number of crossings per dimension, rounded up.
    """
    crossed = Counter(symbol for cycle in cycles for symbol in cycle)
    limit = ceil_div(crossed.total() + len(cycles), n - 1)
    return {symbol: limit - crossed[symbol] for symbol in range(2, n + 1)}


def _crossed_dimensions(cycle: Cycle, entry: int) -> Iterator[int]:
    """Yield the dimensions that a path crosses for one cycle of its destination's permutation.

    The dimension of ``entry``, a symbol of the cycle, is crossed first and again last.
    """
    start = cycle.index(entry)
    yield entry
    yield from reversed((*cycle[start:], *cycle[:start]))


def _idle_steps(
    n: int, words: Sequence[Word], steps: Sequence[Sequence[int]], length: int
) -> NDArray[np.int64]:
    """Return, for each dimension, the first steps of the opening in which no word crosses it.

    Args:
        n: the number of symbols.
        words: the paths to the nodes of short necklaces.
        steps: for each word, the step of each hop.
        length: the number of steps of the opening.

    Returns:
        int64 ``[n-1, steps]``: the same number of steps for each of the dimensions 2..n.
    """
    busy = {
        cell
        for word, crossed in zip(words, steps, strict=True)
        for cell in zip(word.dimensions, crossed, strict=True)
    }
    guaranteed = length - ceil_div(sum(map(len, steps)), n - 1)
    idle = [
        [step for step in range(1, length + 1) if (dimension, step) not in busy]
        for dimension in range(2, n + 1)
    ]
    if min(map(len, idle)) < guaranteed:
        raise internal_error(f"a dimension has fewer than {guaranteed} idle steps")
    return np.array([cells[:guaranteed] for cells in idle], dtype=np.int64)


class FullNecklaces(NamedTuple):
    """For each full necklace (of n-1 nodes), the path to its node of lowest rank.

    Paths are sorted by length, then by the rank of this node.

    Attributes:
        length: int64 ``[necklaces]``, the length of each path, ascending.
        nodes: int32 ``[diameter + 1, necklaces]``, the node reached after each hop, starting with
            the root; column k is valid up to row ``length[k]``.
        dimensions: uint8 ``[diameter, necklaces]``, the dimension crossed in each hop.
    """

    length: NDArray[np.int64]
    nodes: Ranks
    dimensions: NDArray[np.uint8]


@algorithm(
    "alltoall", "exact", families=["star"],
    source="starcast, docs/exact-alltoall.md; an open question of Fragopoulou & Akl 1993, section "
    "9", rows=count_rows,
)  # fmt: skip
def _build_exact_alltoall(topology: Topology, root: int, ports: Ports, messages: Messages) -> Draft:
    """Build the alltoall of M messages per destination that takes ceil(M t_n / (n-1)) steps.

    t_n is the sum of the distances from a node to all nodes. The algorithm is defined for every
    n >= 2 and every M >= 1.
    """
    rounds, rest = divmod(messages, topology.degree)
    full = full_necklaces(topology)
    parts: list[Columns] = []
    if rounds:
        once = _build_round(topology, full, topology.degree, messages)
        parts = [_delay(once, number, topology) for number in range(rounds)]
    if rest:
        parts.append(_delay(_build_round(topology, full, rest, messages), rounds, topology))
    return Draft(concatenate_rows(parts), topology.nodes * messages, symmetric=True)


def full_necklaces(topology: Topology) -> FullNecklaces:
    """Return the near-balanced tree's path to the node of lowest rank in each full necklace."""
    rings = necklaces(topology.n)
    distances = topology.distances()
    is_leader = (rings.leader == np.arange(topology.nodes)) & (rings.period == topology.degree)
    leaders = np.flatnonzero(is_leader)
    # The identity is removed: in S_2 its necklace also has n-1 nodes.
    leaders = leaders[leaders > 0].astype(np.int32)
    leaders = leaders[np.argsort(distances[leaders], kind="stable")]
    length = distances[leaders].astype(np.int64)
    parent_port = trees.forest(topology, "near-balanced").parent_port[0]
    nodes = np.zeros((topology.diameter + 1, len(leaders)), dtype=np.int32)
    dimensions = np.zeros((topology.diameter, len(leaders)), dtype=np.uint8)
    node = leaders.copy()
    for hop in range(topology.diameter, 0, -1):
        longer = slice(int(np.searchsorted(length, hop)), None)
        nodes[hop, longer] = node[longer]
        dimensions[hop - 1, longer] = parent_port[node[longer]]
        node[longer] = topology.step(dimensions[hop - 1, longer], node[longer])
    return FullNecklaces(length, nodes, dimensions)


def _build_round(topology: Topology, full: FullNecklaces, messages: int, total: int) -> Columns:
    """Return the rows of one round of the exact alltoall, with up to n-1 messages to each node.

    Args:
        topology: the star graph.
        full: the path to one node of each full necklace.
        messages: the number of messages per destination in this round.
        total: the number of messages per destination in all rounds together, on which the unit
            numbers depend.
    """
    opening = plan_opening(topology.n, messages)
    short_rows = _serve_short_necklaces(topology, opening, total)
    full_rows = _serve_full_necklaces(topology, full, opening, messages, total)
    return concatenate_rows([*short_rows, *full_rows])


def _serve_short_necklaces(topology: Topology, opening: Opening, total: int) -> Iterator[Columns]:
    """Yield the rows for the short necklaces in batches, the h-th hops of all paths in batch h.

    ``total`` is the number of messages per destination in all rounds together.
    """
    words = opening.words
    node = np.zeros(len(words), dtype=np.int32)
    unit = np.array([word.node * total + word.message for word in words], dtype=np.int64)
    for hop in range(max((len(word.dimensions) for word in words), default=0)):
        longer = [index for index, word in enumerate(words) if len(word.dimensions) > hop]
        step = np.array([opening.steps[index][hop] for index in longer])
        port = np.array([words[index].dimensions[hop] for index in longer], dtype=np.uint8)
        sender = node[longer]
        node[longer] = topology.step(port, sender)
        yield Columns.along_one_tree(step, sender, port, node[longer], unit[longer])


def _serve_full_necklaces(
    topology: Topology, full: FullNecklaces, opening: Opening, messages: int, total: int
) -> Iterator[Columns]:
    """Yield the rows for the full necklaces, in batches.

    A group is one message to each of the n-1 nodes of a necklace. In each step after the opening,
    one group moves by one hop. The first groups make their first hop already in the opening, in
    steps in which the crossed dimensions are idle. `_build_round` documents the parameters other
    than ``opening``, the plan of the opening.
    """
    group = np.arange(len(full.length) * messages)
    necklace, message = np.divmod(group, messages)
    length = full.length[necklace]
    early = group < opening.idle.shape[1]
    begin = _group_begins(length, early, opening)
    target = full.nodes[full.length, np.arange(len(full.length))]
    image = np.arange(topology.nodes, dtype=np.int32)
    rotated = rotation(topology.n)
    for turns in range(topology.degree):
        unit = image[target[necklace]].astype(np.int64) * total + message
        for hop in range(1, int(length.max()) + 1):
            longer = slice(int(np.searchsorted(length, hop)), None)
            path = necklace[longer]
            port = rotated_dimension(full.dimensions[hop - 1, path], turns, topology.n)
            step = begin[longer] + hop
            if hop == 1:
                step[early] = opening.idle[port[early] - 2, group[early]]
            sender = image[full.nodes[hop - 1, path]]
            receiver = image[full.nodes[hop, path]]
            yield Columns.along_one_tree(step, sender, port, receiver, unit[longer])
        image = rotated[image]


def _group_begins(
    length: NDArray[np.int64], early: NDArray[np.bool_], opening: Opening
) -> NDArray[np.int64]:
    """Return, for each group of messages, the step s such that hop h takes place in step s + h.

    The groups in ``early`` are an exception: their hop 1 takes place in the opening.

    Args:
        length: the number of hops of each group.
        early: whether each group crosses its first dimension in the opening.
        opening: the plan of the opening.
    """
    idle_cells = opening.idle.shape[1]
    if np.count_nonzero(early) < idle_cells:
        raise internal_error(
            f"the opening leaves {idle_cells} idle steps in each dimension, but there are only"
            f" {np.count_nonzero(early)} groups of messages to fill them"
        )
    return np.asarray(opening.length + np.cumsum(length - early) - length)


def _delay(rows: Columns, rounds: int, topology: Topology) -> Columns:
    """Return the rows of a round, moved to a later round: steps and unit numbers are increased.

    Args:
        rows: the rows of the round.
        rounds: the number of earlier rounds, each with n-1 messages per destination.
        topology: the star graph.
    """
    step = rows.step + rounds * topology.distance_sum
    unit = rows.unit + rounds * topology.degree
    return rows._replace(step=step, unit=unit)
