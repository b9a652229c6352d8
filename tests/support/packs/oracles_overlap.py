"""Brute-force oracles for the query pack ``overlap``."""

from collections import Counter
from itertools import combinations

from support.packs.oracle_tools import (
    Label,
    Row,
    Send,
    across,
    forest_by_id,
    forest_cases,
    forest_pair_cases,
    labels,
    oracle,
    ports,
    schedule_cases,
    sends,
    trees_by_link,
)


@oracle(
    "overlap/shared-links",
    [
        *forest_cases(),
        *forest_cases("S3", "S4,2", min_load=1),
        *forest_cases("Q4", "S6", min_load=3),
    ],
)
def shared_links(forest: str, min_load: int = 2) -> list[Row]:
    """Return the links in at least ``min_load`` trees, sorted by load, then by sender and port."""
    spec = forest_by_id(forest).topology.spec
    rows = [
        {
            "sender": sender,
            "port": port,
            "receiver": across(spec, sender, port),
            "load": len(trees),
            "tree_numbers": trees,
        }
        for (sender, port), trees in trees_by_link(forest_by_id(forest)).items()
        if len(trees) >= min_load
    ]
    return sorted(rows, key=lambda row: (-row["load"], row["sender"], row["port"]))


@oracle("overlap/load-histogram", forest_cases())
def load_histogram(forest: str) -> list[Row]:
    """Count the directed links per load, including unused links."""
    spec = forest_by_id(forest).topology.spec
    used = trees_by_link(forest_by_id(forest))
    counts = Counter(
        len(used.get((label, port), [])) for label in labels(spec) for port in ports(spec)
    )
    return [{"load": load, "links": counts[load]} for load in sorted({0, *counts})]


@oracle(
    "overlap/most-loaded-links",
    [*forest_cases(), *forest_cases("S5", limit=1), *forest_cases("S4,2", limit=10_000)],
)
def most_loaded_links(forest: str, limit: int = 10) -> list[Row]:
    """Return the ``limit`` most loaded links, sorted by decreasing load."""
    return shared_links(forest, 1)[:limit]


@oracle("overlap/tree-pairs", forest_cases())
def tree_pairs(forest: str) -> list[Row]:
    """Return all pairs of trees, with the number of links that they share."""
    shared = Counter(
        pair
        for trees in trees_by_link(forest_by_id(forest)).values()
        for pair in combinations(trees, 2)
    )
    rows = [
        {"first_tree": one, "second_tree": other, "links": shared[one, other]}
        for one, other in combinations(range(forest_by_id(forest).trees), 2)
    ]
    return sorted(rows, key=lambda row: (-row["links"], row["first_tree"], row["second_tree"]))


@oracle("overlap/both-directions", forest_cases())
def both_directions(forest: str) -> list[Row]:
    """Return the links that are used in both directions."""
    stored = forest_by_id(forest)
    spec = stored.topology.spec
    used = trees_by_link(stored)
    towards = {
        (sender, across(spec, sender, port)): trees for (sender, port), trees in used.items()
    }
    rows = []
    for (lower, port), upward in used.items():
        higher = across(spec, lower, port)
        if lower < higher and (higher, lower) in towards:
            downward = towards[higher, lower]
            rows.append(
                {
                    "lower": lower,
                    "port": port,
                    "higher": higher,
                    "upward_trees": upward,
                    "downward_trees": downward,
                }
            )
    return sorted(rows, key=lambda row: (row["lower"], row["port"]))


@oracle("overlap/two-forests", forest_pair_cases())
def two_forests(forest: str, other_forest: str) -> list[Row]:
    """Return the links that are used in both forests."""
    spec = forest_by_id(forest).topology.spec
    others = trees_by_link(forest_by_id(other_forest))
    rows = [
        {
            "sender": sender,
            "port": port,
            "receiver": across(spec, sender, port),
            "tree_numbers": trees,
            "other_tree_numbers": others[sender, port],
        }
        for (sender, port), trees in trees_by_link(forest_by_id(forest)).items()
        if (sender, port) in others
    ]
    return sorted(rows, key=lambda row: (row["sender"], row["port"]))


def packed(schedule: str) -> dict[tuple[int, Label, int, Label], list[Send]]:
    """Return the sends over each directed link in each step, sorted by tree and unit."""
    packets: dict[tuple[int, Label, int, Label], list[Send]] = {}
    for send in sorted(sends(schedule), key=lambda send: (send.tree, send.unit)):
        packets.setdefault((send.step, send.sender, send.port, send.receiver), []).append(send)
    return packets


@oracle("overlap/simultaneous-sends", [*schedule_cases(), *schedule_cases("S3", "Q4", min_units=1)])
def simultaneous_sends(schedule: str, min_units: int = 2) -> list[Row]:
    """Return the links with several sends in a step, sorted by step, sender and port."""
    return [
        {
            "step": step,
            "sender": sender,
            "port": port,
            "receiver": receiver,
            "units": len(packet),
            "tree_numbers": [send.tree for send in packet],
            "unit_numbers": [send.unit for send in packet],
        }
        for (step, sender, port, receiver), packet in sorted(packed(schedule).items())
        if len(packet) >= min_units
    ]


@oracle(
    "overlap/packet-sizes", [*schedule_cases(), *schedule_cases("S4", "S5", "S4,2", by_step=True)]
)
def packet_sizes(schedule: str, by_step: bool = False) -> list[Row]:
    """Count packets by number of units and, if requested, by step."""
    counts = Counter(
        (by_step and step, len(packet)) for (step, *_), packet in packed(schedule).items()
    )
    return [
        {"step": step or None, "units": units, "packets": counts[step, units]}
        for step, units in sorted(counts)
    ]
