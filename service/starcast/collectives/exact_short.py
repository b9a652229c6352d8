"""The opening of the exact alltoall: the nodes of short necklaces, and the idle cells they leave.

A cell is a dimension in a step. The nodes x of short necklaces (orbits of the rotation with fewer
than n-1 nodes, except the root's) start with 1. A shortest path from the root builds their cycles
one after the other. It enters a cycle at a symbol a of our choice: its reverse crosses a, x_a,
x_{x_a}, .., and a again, so each displaced symbol is crossed once, and each entry once more.
Entries are chosen by a bipartite flow so that no dimension is crossed more than ceil(M L / (n-1))
times, for M messages and the sum L of the distances. docs/exact-alltoall.md proves that this is
possible.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import StarcastError
from starcast.support.integers import ceil_div
from starcast.topologies import permutations
from starcast.topologies.necklaces import short_necklaces
from starcast.topologies.permutations import Perms

Cycle = tuple[int, ...]


class Word(NamedTuple):
    """The path of one message.

    Attributes:
        node: the rank of its destination.
        message: the number of the message.
        dimensions: the dimensions that it crosses, from the root on.
    """

    node: int
    message: int
    dimensions: tuple[int, ...]


class Opening(NamedTuple):
    """The first steps, in which the words of short necklaces are crossed.

    Attributes:
        words: the paths, by node, then message.
        steps: the steps in which each word crosses its dimensions, ascending from 1.
        length: T_s, the last of these steps; 0 without words.
        idle: int64 ``[n-1, a]``, the first a steps in which no word crosses each dimension, from
            dimension 2 on. a = T_s - ceil(M L / (n-1)), the number of idle steps of any dimension
            that is guaranteed.
    """

    words: tuple[Word, ...]
    steps: tuple[tuple[int, ...], ...]
    length: int
    idle: NDArray[np.int64]


def plan_opening(n: int, messages: int) -> Opening:
    """Return the first T_s steps on S_n for ``messages`` messages to each node."""
    words = short_words(n, messages)
    steps = schedule_words([word.dimensions for word in words])
    length = max((word_steps[-1] for word_steps in steps), default=0)
    return Opening(words, steps, length, _idle_steps(n, words, steps, length))


def short_words(n: int, messages: int) -> tuple[Word, ...]:
    """Return the paths to the nodes of short necklaces, with balanced entries."""
    nodes = short_necklaces(n)
    ranks = permutations.rank(nodes).tolist()
    cycles_of = dict(zip(ranks, map(_displaced_cycles, nodes), strict=True))
    bundles = [(rank, message, cycles_of[rank]) for rank in ranks for message in range(messages)]
    cycles = [cycle for _, _, bundle in bundles for cycle in bundle]
    entry = iter(choose_entries(cycles, _entry_capacities(n, cycles)))
    words = []
    for rank, message, bundle in bundles:
        crossed = [dim for cycle in bundle for dim in _crossed_dimensions(cycle, next(entry))]
        words.append(Word(rank, message, tuple(crossed)))
    return tuple(words)


def choose_entries(cycles: Sequence[Cycle], capacity: Mapping[int, int]) -> list[int]:
    """Choose one symbol of each cycle, symbol s at most ``capacity[s]`` times.

    This is a bipartite flow, found by augmenting paths. Cycles are served in order and symbols
    tried in ascending order, so the choice is deterministic.

    Raises:
        StarcastError: no such choice exists.
    """
    holders: dict[int, list[int]] = {symbol: [] for symbol in capacity}

    def place(cycle: int, tried: set[int]) -> bool:
        for symbol in sorted(cycles[cycle]):
            if symbol not in tried:
                tried.add(symbol)
                if len(holders[symbol]) < capacity[symbol] or vacate(symbol, tried):
                    holders[symbol].append(cycle)
                    return True
        return False

    def vacate(symbol: int, tried: set[int]) -> bool:
        leaving = next((cycle for cycle in holders[symbol] if place(cycle, tried)), None)
        if leaving is not None:
            holders[symbol].remove(leaving)
        return leaving is not None

    if not all(place(cycle, set()) for cycle in range(len(cycles))):
        raise internal_error("the entries into the cycles of short necklaces cannot be balanced")
    chosen = {cycle: symbol for symbol, placed in holders.items() for cycle in placed}
    return [chosen[cycle] for cycle in range(len(cycles))]


def schedule_words(words: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the steps in which each word crosses its dimensions, by list scheduling.

    In each step every dimension serves one of the words that cross it next: the word with the most
    dimensions left, on ties the first. A word waits for one dimension at a time, so this equals a
    pass over all words in that order.
    """
    waiting: dict[int, list[tuple[int, int]]] = {
        dimension: [] for word in words for dimension in word
    }
    for index, word in enumerate(words):
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
    """Return the error for a state that the proof excludes."""
    return StarcastError(
        f"the exact alltoall: {what}", hint="this is a defect of starcast: please report it"
    )


def _displaced_cycles(node: Perms) -> list[Cycle]:
    """Return the cycles of two or more symbols, (s, x_s, x_{x_s}, ..) from the smallest s on."""
    cycles = permutations.cycles(node - np.uint8(1))
    return [tuple(place + 1 for place in cycle) for cycle in cycles if len(cycle) > 1]


def _entry_capacities(n: int, cycles: Sequence[Cycle]) -> dict[int, int]:
    """Return how often each symbol may be an entry: ceil(M L / (n-1)) less its other crossings."""
    crossed = Counter(symbol for cycle in cycles for symbol in cycle)
    limit = ceil_div(crossed.total() + len(cycles), n - 1)
    return {symbol: limit - crossed[symbol] for symbol in range(2, n + 1)}


def _crossed_dimensions(cycle: Cycle, entry: int) -> Iterator[int]:
    """Yield the dimensions that build a cycle entered at ``entry``, from the root on."""
    place = cycle.index(entry)
    yield entry
    yield from reversed((*cycle[place:], *cycle[:place]))


def _idle_steps(
    n: int, words: Sequence[Word], steps: Sequence[Sequence[int]], length: int
) -> NDArray[np.int64]:
    """Return the first guaranteed idle steps of each dimension; see `Opening.idle`."""
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
