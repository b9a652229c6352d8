"""The pack ``overlap`` a second time, by brute force."""

from collections import Counter
from itertools import combinations

from support.packs.asking import (
    Label,
    Row,
    Send,
    across,
    by_id,
    labels,
    of_forests,
    of_schedules,
    of_two_forests,
    oracle,
    ports,
    sends,
    users,
)


@oracle(
    "overlap/shared-links",
    [*of_forests(), *of_forests("S3", "S4,2", least=1), *of_forests("Q4", "S6", least=3)],
)
def shared_links(forest: str, least: int = 2) -> list[Row]:
    """Links by load, then by sender and port."""
    spec = by_id(forest).topology.spec
    rows = [
        {
            "sender": sender,
            "port": port,
            "receiver": across(spec, sender, port),
            "load": len(trees),
            "trees": trees,
        }
        for (sender, port), trees in users(by_id(forest)).items()
        if len(trees) >= least
    ]
    return sorted(rows, key=lambda row: (-row["load"], row["sender"], row["port"]))


@oracle("overlap/load-histogram", of_forests())
def load_histogram(forest: str) -> list[Row]:
    """Every directed link counted once, used or not."""
    spec = by_id(forest).topology.spec
    used = users(by_id(forest))
    counts = Counter(
        len(used.get((label, port), [])) for label in labels(spec) for port in ports(spec)
    )
    return [{"load": load, "links": counts[load]} for load in sorted({0, *counts})]


@oracle(
    "overlap/most-loaded-links",
    [*of_forests(), *of_forests("S5", count=1), *of_forests("S4,2", count=10_000)],
)
def most_loaded_links(forest: str, count: int = 10) -> list[Row]:
    """The first of all links that are used."""
    return shared_links(forest, 1)[:count]


@oracle("overlap/tree-pairs", of_forests())
def tree_pairs(forest: str) -> list[Row]:
    """Every pair of trees."""
    shared = Counter(
        pair for trees in users(by_id(forest)).values() for pair in combinations(trees, 2)
    )
    rows = [
        {"first": one, "second": other, "links": shared[one, other]}
        for one, other in combinations(range(by_id(forest).trees), 2)
    ]
    return sorted(rows, key=lambda row: (-row["links"], row["first"], row["second"]))


@oracle("overlap/both-directions", of_forests())
def both_directions(forest: str) -> list[Row]:
    """Links whose two directions both have users."""
    grown = by_id(forest)
    spec = grown.topology.spec
    used = users(grown)
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
                    "upward": upward,
                    "downward": downward,
                }
            )
    return sorted(rows, key=lambda row: (row["lower"], row["port"]))


@oracle("overlap/two-forests", of_two_forests())
def two_forests(forest: str, other: str) -> list[Row]:
    """Links that have users in both."""
    spec = by_id(forest).topology.spec
    others = users(by_id(other))
    rows = [
        {
            "sender": sender,
            "port": port,
            "receiver": across(spec, sender, port),
            "trees": trees,
            "others": others[sender, port],
        }
        for (sender, port), trees in users(by_id(forest)).items()
        if (sender, port) in others
    ]
    return sorted(rows, key=lambda row: (row["sender"], row["port"]))


def packed(schedule: str) -> dict[tuple[int, Label, int, Label], list[Send]]:
    """What crosses each directed link in each step, by tree and unit."""
    found: dict[tuple[int, Label, int, Label], list[Send]] = {}
    for send in sorted(sends(schedule), key=lambda send: (send.tree, send.unit)):
        found.setdefault((send.step, send.sender, send.port, send.receiver), []).append(send)
    return found


@oracle("overlap/simultaneous-sends", [*of_schedules(), *of_schedules("S3", "Q4", least=1)])
def simultaneous_sends(schedule: str, least: int = 2) -> list[Row]:
    """By step, sender and port."""
    return [
        {
            "step": step,
            "sender": sender,
            "port": port,
            "receiver": receiver,
            "sends": len(packet),
            "trees": [send.tree for send in packet],
            "units": [send.unit for send in packet],
        }
        for (step, sender, port, receiver), packet in sorted(packed(schedule).items())
        if len(packet) >= least
    ]


@oracle(
    "overlap/units-a-packet", [*of_schedules(), *of_schedules("S4", "S5", "S4,2", by_step=True)]
)
def units_a_packet(schedule: str, by_step: bool = False) -> list[Row]:
    """By step, where steps are told apart, and by units."""
    counts = Counter(
        (by_step and step, len(packet)) for (step, *_), packet in packed(schedule).items()
    )
    return [
        {"step": step or None, "units": units, "packets": counts[step, units]}
        for step, units in sorted(counts)
    ]
