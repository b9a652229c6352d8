"""The beginning of the exact alltoall: the nodes of short necklaces, and the idle cells that they leave.

A cell is a dimension in a step. The nodes x of short necklaces (orbits of the rotation with fewer than n-1 nodes, without the
root's) start with 1. A shortest path from the root builds their cycles one after the other. It enters a cycle at a symbol a of
our choice: its reverse crosses a, x_a, x_{x_a}, .., and a again, so each displaced symbol is crossed once and each entry once
more. Entries are chosen by bipartite flow such that no dimension is crossed more than ceil(M L / (n-1)) times, for M messages
and the sum L of the distances. docs/exact-alltoall.md proves that there is such a choice, and what is built on it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.errors import StarcastError
from starcast.permutations import Perms
from starcast.support.integers import ceil_div
from starcast.topologies.necklaces import short_necklaces

Cycle = tuple[int, ...]


class Word(NamedTuple):
    """The path of one message: its node's rank, its number, and the dimensions that it crosses from the root on."""

    node: int
    message: int
    dimensions: tuple[int, ...]


class Opening(NamedTuple):
    """The first steps, in which the words of short necklaces are crossed.

    Attributes:
        words: by node, then message.
        steps: when each word crosses each of its dimensions, ascending from 1.
        length: T_s, the last of these steps; 0 without words.
        idle: int64 ``[n-1, a]``: the first a steps of each dimension, from 2, in which no word crosses it, where
            a = T_s - ceil(M L / (n-1)) is how many there are for sure.
    """

    words: tuple[Word, ...]
    steps: tuple[tuple[int, ...], ...]
    length: int
    idle: NDArray[np.int64]


def opening(n: int, messages: int) -> Opening:
    """The first T_s steps on S_n for some messages to each node."""
    words = short_words(n, messages)
    steps = listed([word.dimensions for word in words])
    length = max((crossed[-1] for crossed in steps), default=0)
    return Opening(words, steps, length, _idle(n, words, steps, length))


def short_words(n: int, messages: int) -> tuple[Word, ...]:
    """The paths to the nodes of short necklaces, with balanced entries."""
    nodes = short_necklaces(n)
    ranks = permutations.rank(nodes).tolist()
    cycles = dict(zip(ranks, map(_cycles, nodes), strict=True))
    bundles = [(rank, message, cycles[rank]) for rank in ranks for message in range(messages)]
    tokens = [cycle for _, _, bundle in bundles for cycle in bundle]
    entry = iter(entries(tokens, _room(n, tokens)))
    return tuple(
        Word(
            rank,
            message,
            tuple(dimension for cycle in bundle for dimension in _crossed(cycle, next(entry))),
        )
        for rank, message, bundle in bundles
    )


def entries(cycles: Sequence[Cycle], room: Mapping[int, int]) -> list[int]:
    """One symbol of each cycle, symbol s at most ``room[s]`` times: a bipartite flow, by augmenting paths.

    Cycles are served in their order and symbols tried in ascending order, so that the choice is always the same.

    Raises:
        StarcastError: there is no such choice.
    """
    held: dict[int, list[int]] = {symbol: [] for symbol in room}

    def seat(cycle: int, tried: set[int]) -> bool:
        for symbol in sorted(cycles[cycle]):
            if symbol not in tried:
                tried.add(symbol)
                if len(held[symbol]) < room[symbol] or vacate(symbol, tried):
                    held[symbol].append(cycle)
                    return True
        return False

    def vacate(symbol: int, tried: set[int]) -> bool:
        leaving = next((cycle for cycle in held[symbol] if seat(cycle, tried)), None)
        if leaving is not None:
            held[symbol].remove(leaving)
        return leaving is not None

    if not all(seat(cycle, set()) for cycle in range(len(cycles))):
        raise defect("the entries into the cycles of short necklaces cannot be balanced")
    chosen = {cycle: symbol for symbol, holders in held.items() for cycle in holders}
    return [chosen[cycle] for cycle in range(len(cycles))]


def listed(words: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """When each word crosses each of its dimensions: a list schedule.

    In each step every dimension serves one of the words that have to cross it next: the one with most left to cross, of
    equals the first. Words wait for one dimension at a time, so this is the same as going through all words in that order.
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
        for index in [heappop(queue)[1] for queue in waiting.values() if queue]:
            steps[index].append(step)
            crossed, word = len(steps[index]), words[index]
            if crossed < len(word):
                heappush(waiting[word[crossed]], (crossed - len(word), index))
    return tuple(map(tuple, steps))


def defect(what: str) -> StarcastError:
    """What the proof excludes has happened."""
    return StarcastError(
        f"the exact alltoall: {what}", hint="this is a defect of starcast: please report it"
    )


def _cycles(node: Perms) -> list[Cycle]:
    """The cycles of two or more symbols, (s, x_s, x_{x_s}, ..) from the smallest s, ascending."""
    found = permutations.cycles(node - np.uint8(1))
    return [tuple(place + 1 for place in cycle) for cycle in found if len(cycle) > 1]


def _room(n: int, cycles: Sequence[Cycle]) -> dict[int, int]:
    """How often each symbol may be an entry: ceil(M L / (n-1)) less what it is crossed anyhow."""
    crossed = Counter(symbol for cycle in cycles for symbol in cycle)
    most = ceil_div(crossed.total() + len(cycles), n - 1)
    return {symbol: most - crossed[symbol] for symbol in range(2, n + 1)}


def _crossed(cycle: Cycle, entry: int) -> Iterator[int]:
    """The dimensions that build a cycle (s, x_s, ..) entered at one of its symbols, from the root on."""
    place = cycle.index(entry)
    yield entry
    yield from reversed((*cycle[place:], *cycle[:place]))


def _idle(
    n: int, words: Sequence[Word], steps: Sequence[Sequence[int]], length: int
) -> NDArray[np.int64]:
    busy = {
        (dimension, step)
        for word, crossed in zip(words, steps, strict=True)
        for dimension, step in zip(word.dimensions, crossed, strict=True)
    }
    sure = length - ceil_div(sum(map(len, steps)), n - 1)
    idle = [
        [step for step in range(1, length + 1) if (dimension, step) not in busy]
        for dimension in range(2, n + 1)
    ]
    if min(map(len, idle)) < sure:
        raise defect(f"a dimension has fewer than {sure} idle steps")
    return np.array([cells[:sure] for cells in idle], dtype=np.int64)
