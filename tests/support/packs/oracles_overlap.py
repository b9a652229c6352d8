"""Brute-force oracles for the query pack ``overlap``."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from support.packs.oracle_tools import (
    Label,
    Send,
    Values,
    across,
    forest_cases,
    forest_pair_cases,
    labels,
    linked,
    oracle,
    schedule_cases,
    sends,
    spec_of,
    trees_by_link,
    trees_of,
)


@oracle(
    "overlap/shared-links",
    "sender port receiver load tree_numbers",
    [
        *forest_cases(),
        *forest_cases("S3", "S4,2", min_load=1),
        *forest_cases("Q4", "S6", min_load=3),
    ],
    order="-load sender port",
)
def shared_links(forest: str, min_load: int = 2) -> Iterator[Values]:
    """Yield the directed links in at least ``min_load`` trees, with these trees."""
    spec = spec_of(forest)
    for (sender, port), trees in trees_by_link(forest).items():
        if len(trees) >= min_load:
            yield sender, port, across(spec, sender, port), len(trees), trees


@oracle("overlap/load-histogram", "load links", forest_cases())
def load_histogram(forest: str) -> Iterator[Values]:
    """Yield the number of directed links for each load; load 0 is always included."""
    spec = spec_of(forest)
    used = trees_by_link(forest)
    counts = Counter(
        len(used.get((label, port), []))
        for label in labels(spec)
        for port, _ in linked(spec, label)
    )
    yield from ((load, counts[load]) for load in sorted({0, *counts}))


@oracle(
    "overlap/most-loaded-links",
    "sender port receiver load tree_numbers",
    [*forest_cases(), *forest_cases("S5", limit=1), *forest_cases("S4,2", limit=10_000)],
)
def most_loaded_links(forest: str, limit: int = 10) -> Iterator[Values]:
    """Yield the ``limit`` most loaded links, sorted by decreasing load."""
    yield from (tuple(row.values()) for row in shared_links(forest, 1)[:limit])


@oracle(
    "overlap/tree-pairs",
    "first_tree second_tree links",
    forest_cases(),
    order="-links first_tree second_tree",
)
def tree_pairs(forest: str) -> Iterator[Values]:
    """Yield all pairs of trees, with the number of links that they share."""
    shared = Counter(
        pair for trees in trees_by_link(forest).values() for pair in combinations(trees, 2)
    )
    for one, other in combinations(trees_of(forest), 2):
        yield one, other, shared[one, other]


@oracle(
    "overlap/both-directions",
    "lower port higher upward_trees downward_trees",
    forest_cases(),
    order="lower port",
)
def both_directions(forest: str) -> Iterator[Values]:
    """Yield the links that trees use in both directions, with the trees of each direction."""
    spec = spec_of(forest)
    used = trees_by_link(forest)
    towards = {
        (sender, across(spec, sender, port)): trees for (sender, port), trees in used.items()
    }
    for (lower, port), upward in used.items():
        higher = across(spec, lower, port)
        if lower < higher and (higher, lower) in towards:
            yield lower, port, higher, upward, towards[higher, lower]


@oracle(
    "overlap/two-forests",
    "sender port receiver tree_numbers other_tree_numbers",
    forest_pair_cases(),
    order="sender port",
)
def two_forests(forest: str, other_forest: str) -> Iterator[Values]:
    """Yield the directed links that both forests use, with the trees of each forest."""
    spec = spec_of(forest)
    others = trees_by_link(other_forest)
    for (sender, port), trees in trees_by_link(forest).items():
        if (sender, port) in others:
            yield sender, port, across(spec, sender, port), trees, others[sender, port]


def packed(schedule: str) -> dict[tuple[int, Label, int, Label], list[Send]]:
    """Return the sends over each directed link in each step, sorted by tree and unit."""
    packets: dict[tuple[int, Label, int, Label], list[Send]] = {}
    for send in sorted(sends(schedule), key=lambda send: (send.tree, send.unit)):
        packets.setdefault((send.step, send.sender, send.port, send.receiver), []).append(send)
    return packets


@oracle(
    "overlap/simultaneous-sends",
    "step sender port receiver units tree_numbers unit_numbers",
    [*schedule_cases(), *schedule_cases("S3", "Q4", min_units=1)],
)
def simultaneous_sends(schedule: str, min_units: int = 2) -> Iterator[Values]:
    """Yield links with at least ``min_units`` sends in a step, sorted by step, sender and port."""
    for link, packet in sorted(packed(schedule).items()):
        if len(packet) >= min_units:
            trees = [send.tree for send in packet]
            yield *link, len(packet), trees, [send.unit for send in packet]


@oracle(
    "overlap/packet-sizes",
    "step units packets",
    [*schedule_cases(), *schedule_cases("S4", "S5", "S4,2", by_step=True)],
)
def packet_sizes(schedule: str, by_step: bool = False) -> Iterator[Values]:
    """Count packets by number of units and, if requested, by step."""
    counts = Counter(
        (by_step and step, len(packet)) for (step, *_), packet in packed(schedule).items()
    )
    yield from ((step or None, units, counts[step, units]) for step, units in sorted(counts))
