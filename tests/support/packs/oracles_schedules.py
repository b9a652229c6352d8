"""The pack ``schedules`` a second time, by brute force: every row of a schedule is read."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache

from support.packs.asking import (
    Case,
    Label,
    Row,
    Send,
    across,
    labels,
    of_schedules,
    oracle,
    plan,
    port_between,
    ports,
    ranks,
    sends,
    some,
    spec_of,
)
from support.packs.loading import SPECS, schedules


def last_step(schedule: str) -> int:
    """The last step in which a unit moves."""
    return max(send.step for send in sends(schedule))


def step_cases(beyond: int) -> Iterator[Case]:
    """The first step, one between and the last, or one after it, of every schedule."""
    for case in of_schedules():
        last = last_step(case["schedule"])
        yield from ({**case, "step": step} for step in sorted({1, (last + 1) // 2, last + beyond}))


def node_cases() -> list[Case]:
    """The last node and one between, of every schedule."""
    return [
        {"schedule": plan.id, "node": node}
        for spec in SPECS
        for plan in schedules(spec)
        for node in some(spec)[1:]
    ]


@oracle("schedules/deliveries", node_cases())
def deliveries(schedule: str, node: Label) -> list[Row]:
    """What the node receives, by step, unit and tree."""
    rows = [
        {
            "step": send.step,
            "unit": send.unit,
            "sender": send.sender,
            "port": send.port,
            "tree": send.tree,
        }
        for send in sends(schedule)
        if send.receiver == node
    ]
    return sorted(rows, key=lambda row: (row["step"], row["unit"], row["tree"]))


@oracle("schedules/sends", step_cases(beyond=0))
def sends_of_a_step(schedule: str, step: int) -> list[Row]:
    """The rows of that step, by sender, port, unit and tree."""
    rows = [
        {
            "sender": send.sender,
            "port": send.port,
            "receiver": send.receiver,
            "unit": send.unit,
            "tree": send.tree,
        }
        for send in sends(schedule)
        if send.step == step
    ]
    return sorted(rows, key=lambda row: (row["sender"], row["port"], row["unit"], row["tree"]))


@oracle("schedules/idle-links", step_cases(beyond=1))
def idle_links(schedule: str, step: int) -> list[Row]:
    """Every port of every node, but those over which somebody sends."""
    spec = spec_of(schedule)
    busy = {(send.sender, send.port) for send in sends(schedule) if send.step == step}
    return [
        {"sender": sender, "port": port, "receiver": across(spec, sender, port)}
        for sender in labels(spec)
        for port in ports(spec)
        if (sender, port) not in busy
    ]


@oracle("schedules/steps", of_schedules())
def steps(schedule: str) -> list[Row]:
    """The packets of each step: what crosses one directed link in it."""
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


@oracle("schedules/dimensions", of_schedules())
def dimensions(schedule: str) -> list[Row]:
    """The senders over each port, step by step."""
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
    """What the node sends, over its ports, and what it receives, over its own ports too."""
    spec = spec_of(schedule)
    rows = []
    for send in sends(schedule):
        for does, here, there in (
            ("sends", send.sender, send.receiver),
            ("receives", send.receiver, send.sender),
        ):
            if here == node:
                row = {
                    "step": send.step,
                    "action": does,
                    "port": port_between(spec, here, there),
                    "partner": there,
                }
                rows.append({**row, "unit": send.unit, "tree": send.tree})
    return sorted(
        rows, key=lambda row: (row["step"], row["action"], row["port"], row["unit"], row["tree"])
    )


def source(schedule: str, unit: int) -> Label:
    """The node where a unit starts: in a gather its own, else the root, of a symmetric schedule the one that is stored."""
    planned = plan(schedule)
    every = labels(planned.topology.spec)
    return every[
        unit // (planned.units // len(every)) if planned.collective == "gather" else planned.root
    ]


@cache
def into(schedule: str) -> dict[tuple[Label, int, int], list[Send]]:
    """The sends by receiver, unit and tree."""
    found: dict[tuple[Label, int, int], list[Send]] = defaultdict(list)
    for send in sends(schedule):
        found[send.receiver, send.unit, send.tree].append(send)
    return found


def chain(schedule: str, last: Send) -> list[Send]:
    """A send and those before it: the sender of each got that unit, along that tree, by the one before."""
    found = [last]
    while found[0].sender != source(schedule, last.unit):
        (before,) = into(schedule)[found[0].sender, last.unit, last.tree]
        assert before.step < found[0].step
        found.insert(0, before)
    return found


@oracle(
    "schedules/last-arrivals", [*of_schedules(), *of_schedules("S3", "S4", "S4,2", "Q4", limit=20)]
)
def last_arrivals(schedule: str, limit: int = 1) -> list[Row]:
    """The chains behind the sends of the last step, by receiver, unit and tree."""
    place = ranks(spec_of(schedule))
    final = [send for send in sends(schedule) if send.step == last_step(schedule)]
    final.sort(key=lambda send: (place[send.receiver], send.unit, send.tree))
    rows = []
    for last in final[:limit]:
        hops = chain(schedule, last)
        nodes = [hops[0].sender, *(send.receiver for send in hops)]
        way = {
            "path": nodes,
            "ports": [send.port for send in hops],
            "hop_steps": [send.step for send in hops],
        }
        rows.append({"unit": last.unit, "tree": last.tree, **way})
    return rows
