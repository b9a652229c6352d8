"""Brute-force oracles for the query pack ``schedules``, which read all rows of a schedule."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache

from oracles.reductions import REDUCTIONS
from support.packs.oracle_tools import (
    Case,
    Label,
    Row,
    Send,
    across,
    labels,
    oracle,
    port_between,
    ports,
    ranks,
    schedule_by_id,
    schedule_cases,
    sends,
    some_nodes,
    spec_of,
)
from support.packs.stored_data import SPECS, schedules


def last_step(schedule: str) -> int:
    """Return the last step of a schedule."""
    return max(send.step for send in sends(schedule))


def step_cases(beyond: int) -> Iterator[Case]:
    """Yield cases with three steps of each schedule.

    They are the first, a middle one, and the last plus ``beyond``.
    """
    for case in schedule_cases():
        last = last_step(case["schedule"])
        yield from ({**case, "step": step} for step in sorted({1, (last + 1) // 2, last + beyond}))


def node_cases() -> list[Case]:
    """Return cases with the last node and a middle one for every schedule."""
    return [
        {"schedule": plan.id, "node": node}
        for spec in SPECS
        for plan in schedules(spec)
        for node in some_nodes(spec)[1:]
    ]


@oracle("schedules/deliveries", node_cases())
def deliveries(schedule: str, node: Label) -> list[Row]:
    """Return the sends that a node receives, sorted by step, unit, tree and sender."""
    rows = [
        {
            "step": send.step,
            "unit": send.unit,
            "sender": send.sender,
            "port": send.port,
            "tree": send.tree,
            "combine": send.combine,
        }
        for send in sends(schedule)
        if send.receiver == node
    ]
    return sorted(rows, key=lambda row: (row["step"], row["unit"], row["tree"], row["sender"]))


@oracle("schedules/sends", step_cases(beyond=0))
def sends_of_a_step(schedule: str, step: int) -> list[Row]:
    """Return the rows of a step, sorted by sender, port, unit and tree."""
    rows = [
        {
            "sender": send.sender,
            "port": send.port,
            "receiver": send.receiver,
            "unit": send.unit,
            "tree": send.tree,
            "combine": send.combine,
        }
        for send in sends(schedule)
        if send.step == step
    ]
    return sorted(rows, key=lambda row: (row["sender"], row["port"], row["unit"], row["tree"]))


@oracle("schedules/idle-links", step_cases(beyond=1))
def idle_links(schedule: str, step: int) -> list[Row]:
    """Return the directed links that carry no unit in a step."""
    spec = spec_of(schedule)
    used = {(send.sender, send.port) for send in sends(schedule) if send.step == step}
    return [
        {"sender": sender, "port": port, "receiver": across(spec, sender, port)}
        for sender in labels(spec)
        for port in ports(spec)
        if (sender, port) not in used
    ]


@oracle("schedules/steps", schedule_cases())
def steps(schedule: str) -> list[Row]:
    """Return the numbers of used and idle links, of units, and the largest packet of each step."""
    spec = spec_of(schedule)
    directed = len(labels(spec)) * len(ports(spec))
    rows = []
    for step in range(1, last_step(schedule) + 1):
        packets = Counter((send.sender, send.port) for send in sends(schedule) if send.step == step)
        largest = max(packets.values(), default=0)
        counts = {
            "links_used": len(packets),
            "idle_links": directed - len(packets),
            "units": packets.total(),
            "largest_packet": largest,
        }
        rows.append({"step": step, **counts})
    return rows


@oracle("schedules/dimensions", schedule_cases())
def dimensions(schedule: str) -> list[Row]:
    """Return the number of links used and units sent through each port in each step."""
    rows = []
    for step in range(1, last_step(schedule) + 1):
        senders: dict[int, list[Label]] = defaultdict(list)
        for send in sends(schedule):
            if send.step == step:
                senders[send.port].append(send.sender)
        used = sorted(senders)
        counts = {
            "links_used": [len(set(senders[port])) for port in used],
            "units": [len(senders[port]) for port in used],
        }
        rows.append({"step": step, "dimensions": used, **counts})
    return rows


@oracle("schedules/activity", node_cases())
def activity(schedule: str, node: Label) -> list[Row]:
    """Return the sends and receives of a node, with the ports at that node."""
    spec = spec_of(schedule)
    rows = []
    for send in sends(schedule):
        for action, end, partner in (
            ("sends", send.sender, send.receiver),
            ("receives", send.receiver, send.sender),
        ):
            if end == node:
                row = {
                    "step": send.step,
                    "action": action,
                    "port": port_between(spec, end, partner),
                    "partner": partner,
                }
                sent = {"unit": send.unit, "tree": send.tree, "combine": send.combine}
                rows.append({**row, **sent})
    return sorted(
        rows, key=lambda row: (row["step"], row["action"], row["port"], row["unit"], row["tree"])
    )


def source(schedule: str, unit: int) -> Label:
    """Return the node that holds a unit first: its source in a gather, else the root."""
    stored = schedule_by_id(schedule)
    every = labels(stored.topology.spec)
    return every[
        unit // (stored.units // len(every)) if stored.collective == "gather" else stored.root
    ]


@cache
def into(schedule: str) -> dict[tuple[Label, int, int], list[Send]]:
    """Return the sends of a schedule, grouped by receiver, unit and tree."""
    found: dict[tuple[Label, int, int], list[Send]] = defaultdict(list)
    for send in sends(schedule):
        found[send.receiver, send.unit, send.tree].append(send)
    return found


def chain(schedule: str, last: Send) -> list[Send]:
    """Return the chain of sends that carries a unit from its source, ending with ``last``."""
    if schedule_by_id(schedule).collective in REDUCTIONS:
        return longest_chain(schedule, last)
    found = [last]
    while found[0].sender != source(schedule, last.unit):
        (before,) = into(schedule)[found[0].sender, last.unit, last.tree]
        assert before.step < found[0].step
        found.insert(0, before)
    return found


def longest_chain(schedule: str, last: Send) -> list[Send]:
    """Return the longest chain of sends of a reduction that ends with this send.

    Each send delivers what the next one forwards. If several chains are longest, the first in rank
    order is returned.
    """
    rank = ranks(spec_of(schedule))
    earlier = [
        longest_chain(schedule, send)
        for send in into(schedule)[last.sender, last.unit, last.tree]
        if send.step < last.step
    ]

    def order(sends: list[Send]) -> tuple[int, list[int]]:
        return -len(sends), [rank[send.sender] for send in reversed(sends)]

    return [*min(earlier, key=order, default=[]), last]


@oracle(
    "schedules/last-arrivals",
    [*schedule_cases(), *schedule_cases("S3", "S4", "S4,2", "Q4", limit=20)],
)
def last_arrivals(schedule: str, limit: int = 1) -> list[Row]:
    """Return the chain of sends up to each send of the last step, by receiver, unit and tree."""
    rank = ranks(spec_of(schedule))
    final = [send for send in sends(schedule) if send.step == last_step(schedule)]
    final.sort(key=lambda send: (rank[send.receiver], send.unit, send.tree, rank[send.sender]))
    rows = []
    for last in final[:limit]:
        hops = chain(schedule, last)
        nodes = [hops[0].sender, *(send.receiver for send in hops)]
        columns = {
            "path": nodes,
            "ports": [send.port for send in hops],
            "hop_steps": [send.step for send in hops],
        }
        rows.append({"unit": last.unit, "tree": last.tree, **columns})
    return rows
