"""Brute-force oracles for the query pack ``schedules``, which read all rows of a schedule."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache

from oracles.reductions import REDUCTIONS
from starcast.support.vocabulary import EXPANDED
from support.packs.oracle_tools import (
    Case,
    Label,
    Send,
    Values,
    labels,
    linked,
    oracle,
    port_between,
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
    return sends(schedule)[-1].step


def step_cases(beyond: int) -> Iterator[Case]:
    """Yield cases with three steps of each schedule.

    The steps are the first, a middle one, and the last plus ``beyond``.
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


@oracle(
    "schedules/deliveries",
    "step unit sender port tree combine",
    node_cases(),
    order="step unit tree sender",
)
def deliveries(schedule: str, node: Label) -> Iterator[Values]:
    """Yield the sends that deliver a unit to a node."""
    for send in sends(schedule):
        if send.receiver == node:
            yield send.step, send.unit, send.sender, send.port, send.tree, send.combine


@oracle(
    "schedules/sends",
    "sender port receiver unit tree combine",
    step_cases(beyond=0),
    order="sender port unit tree",
)
def sends_of_a_step(schedule: str, step: int) -> Iterator[Values]:
    """Yield the rows of a schedule in the given step."""
    for send in sends(schedule):
        if send.step == step:
            yield send.sender, send.port, send.receiver, send.unit, send.tree, send.combine


@oracle("schedules/idle-links", "sender port receiver", step_cases(beyond=1))
def idle_links(schedule: str, step: int) -> Iterator[Values]:
    """Yield the directed links that carry no unit in a step."""
    spec = spec_of(schedule)
    used = {(send.sender, send.port) for send in sends(schedule) if send.step == step}
    for sender in sorted(labels(spec)):
        for port, receiver in linked(spec, sender):
            if (sender, port) not in used:
                yield sender, port, receiver


@oracle("schedules/steps", "step links_used idle_links units largest_packet", schedule_cases())
def steps(schedule: str) -> Iterator[Values]:
    """Yield each step's numbers of used links, idle links and units, and its largest packet."""
    spec = spec_of(schedule)
    directed = sum(len(linked(spec, label)) for label in labels(spec))
    for step in range(1, last_step(schedule) + 1):
        packets = Counter((send.sender, send.port) for send in sends(schedule) if send.step == step)
        largest = max(packets.values(), default=0)
        yield step, len(packets), directed - len(packets), packets.total(), largest


@oracle("schedules/dimensions", "step dimensions links_used units", schedule_cases())
def dimensions(schedule: str) -> Iterator[Values]:
    """Yield the number of links used and units sent through each port in each step."""
    for step in range(1, last_step(schedule) + 1):
        senders: dict[int, list[Label]] = defaultdict(list)
        for send in sends(schedule):
            if send.step == step:
                senders[send.port].append(send.sender)
        used = sorted(senders)
        links_used = [len(set(senders[port])) for port in used]
        yield step, used, links_used, [len(senders[port]) for port in used]


@oracle(
    "schedules/activity",
    "step action port partner unit tree combine",
    node_cases(),
    order="step action port unit tree",
)
def activity(schedule: str, node: Label) -> Iterator[Values]:
    """Yield the sends and receives of a node, with the ports at that node."""
    spec = spec_of(schedule)
    for send in sends(schedule):
        for action, end, partner in (
            ("sends", send.sender, send.receiver),
            ("receives", send.receiver, send.sender),
        ):
            if end == node:
                port = port_between(spec, end, partner)
                yield send.step, action, port, partner, send.unit, send.tree, send.combine


def source(schedule: str, unit: int) -> Label:
    """Return the node that has a unit at the start.

    It is the root, or if there are several sources, the source of the unit.
    """
    stored = schedule_by_id(schedule)
    every = labels(stored.topology.spec)
    has_sources = stored.collective == "gather" or schedule.endswith(f":{EXPANDED}")
    return every[
        unit // (stored.units // stored.topology.endpoints) if has_sources else stored.root
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
    """Return the longest chain of sends of a reduction that ends with the send ``last``.

    Each send delivers a sum that the next send forwards. If several chains are longest, the first
    in rank order is returned.
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
    "unit tree path ports hop_steps",
    [*schedule_cases(), *schedule_cases("S3", "S4", "S4,2", "Q4", limit=20)],
)
def last_arrivals(schedule: str, limit: int = 1) -> Iterator[Values]:
    """Yield the chains that end with the first ``limit`` sends of the last step.

    The sends are sorted by receiver, unit, tree and sender.
    """
    rank = ranks(spec_of(schedule))
    final = [send for send in sends(schedule) if send.step == last_step(schedule)]
    final.sort(key=lambda send: (rank[send.receiver], send.unit, send.tree, rank[send.sender]))
    for last in final[:limit]:
        hops = chain(schedule, last)
        nodes = [hops[0].sender, *(send.receiver for send in hops)]
        hop_steps = [send.step for send in hops]
        yield last.unit, last.tree, nodes, [send.port for send in hops], hop_steps
