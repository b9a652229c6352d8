"""Checks of Sheu, Liaw & Chen 1993: the star graph, the broadcast, and lower bounds.

The module also checks streams: broadcasts of M messages, one after another, from one source.
`PORT_MODELS` has one row per claim about streams: the number of steps in closed form, the stated
order of growth, and their quotient.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import heights
from starcast.claims.check import ClaimCheck
from starcast.claims.growth import ClosedForm, Number, ceil, divide, factorial, greatest, log2
from starcast.claims.registry import Execution, Memory, check_rows, checks, execute, executions
from starcast.collectives.model import BYTES_PER_ROW, Schedule
from starcast.support.integers import ceil_div
from starcast.topologies import permutations

from ..common import stars
from ..common.closed_forms import diameter
from ..common.lower_bound_counts import algorithms_on
from ..tseng_sheu.collectives import packet_sizes, place_of_rows
from ..tseng_sheu.trees import check_star_size


@checks("SLC.size")
def star_size(check: ClaimCheck) -> None:
    """Check the number of nodes, the degree and the diameter of S_n.

    Also check another reading of the claim, in which the formula for the diameter is rounded up.
    """
    check_star_size(check)
    ceiling_reading = check.reading("the brackets as the ceiling")
    ceiling_reading.equal("greatest distance", check.diameter, ceil_div(3 * (check.n - 1), 2))


@checks("SLC.substars")
def substars(check: ClaimCheck) -> None:
    """Check that nodes with the same symbol in one of the positions 2..n form a star graph S_{n-1}.

    Let i be the position. Links of dimension i must lead to other substars, and all other links
    must be those of S_{n-1}. On S_4, also check the paper's examples.
    """
    n = check.n
    label_symbols = stars.symbols(check)
    smaller_neighbours = check.at(f"S{n - 1}").neighbours
    for index in range(1, n):
        position = index + 1
        fixed = label_symbols[:, index]
        sizes = np.bincount(fixed, minlength=n + 1)[1:]
        check.equal(f"nodes with a symbol in position {position}", sizes, factorial(n - 1))
        rest = np.delete(label_symbols, index, axis=1)
        # Close the gap left by the fixed symbol, so that the rest is a permutation of 1..n-1.
        image = permutations.rank(rest - (rest > fixed[:, None]))
        pairs = np.unique(fixed.astype(np.int64) * check.nodes + image)
        check.equal("nodes of S_{n-1} that the substars stand for", len(pairs), factorial(n))
        inside = np.delete(check.neighbours, index - 1, axis=0)
        check.equal("substar across a link", fixed[inside], fixed[None], node=check.ranks)
        stated = smaller_neighbours[:, image]
        check.equal("links of the substars", image[inside], stated, node=check.ranks)
        leaves = fixed[check.neighbours[index - 1]] != fixed
        check.true(f"dimension {position} leaves the substar", leaves, node=check.ranks)
    if n == 4:
        for suffix in ("1", "23"):
            _check_substar(check, suffix)


def _check_substar(check: ClaimCheck, suffix: str) -> None:
    """Check that the nodes whose labels end with a suffix form a star graph."""
    i = check.n - len(suffix)
    labels = check.labels()
    nodes = np.array([node for node, label in enumerate(labels) if label.endswith(suffix)])
    prefixes = stars.symbols(check)[nodes, :i]
    # Sorting twice gives the rank of each symbol: the prefix becomes a permutation of 1..i.
    order = np.argsort(np.argsort(prefixes, axis=1), axis=1)
    substar_ranks = permutations.rank(order.astype(np.uint8) + np.uint8(1))
    name = f"S_{i}({suffix})"
    check.equal(f"nodes of {name}", len(nodes), factorial(i))
    expected_ranks = np.arange(factorial(i))
    check.equal(f"nodes of {name} as those of S_{i}", np.sort(substar_ranks), expected_ranks)
    image = np.full(check.nodes, -1)
    image[nodes] = substar_ranks
    inside = image[check.neighbours[: i - 1, nodes]]
    stated = check.at(f"S{i}").neighbours[:, substar_ranks]
    check.equal(f"links of {name}", inside, stated, node=nodes)


# Section 3: streams of M messages along one tree


#: Numbers M of messages for which streams are executed.
LENGTHS = (1, 2, 3, 7)
#: Memory of a check that executes the longest stream.
STREAMS = Memory(BYTES_PER_ROW * max(LENGTHS))


@dataclass(frozen=True)
class PortModel:
    """The number of steps of a stream, which is M broadcasts from one source, in a port model.

    Attributes:
        ports: the port model.
        steps: closed form of the number of steps, as a function of n and M.
        order: the order of growth that the paper states, as a function of n and M.
        quotient: the quotient of the closed form and the order, as text.
    """

    ports: str
    steps: ClosedForm
    order: ClosedForm
    quotient: str


PORT_MODELS = {
    "SLC.pipe": PortModel(
        "all", lambda n, m: 2 * n - 4 + m, lambda n, m: m + n, "(2n - 4 + M) / (M + n)"
    ),
    "SLC.one": PortModel(
        "one",
        lambda n, m: n * (n - 1) // 2 + (m - 1) * (n - 1),
        lambda n, m: m * n + n**2,
        "(n(n-1)/2 + (M-1)(n-1)) / (M n + n^2)",
    ),
}


def greatest_quotient(steps: ClosedForm, order: ClosedForm, n: int) -> Number:
    """Return the largest quotient of a stream's steps and a stated order of growth.

    The maximum is over several numbers of messages: 1, 2, powers of n, and a far larger number.
    """
    # Numerator and denominator are linear in M, so the quotient is monotonic. M = 1 and the largest
    # M would be enough, but powers of n between them are tried as well.
    lengths = (1, 2, n, n**2, n**3, n**8, 10**6 * n**8)
    return greatest(divide(steps(n, messages), order(n, messages)) for messages in lengths)


def stream_steps(check: ClaimCheck, row: PortModel) -> None:
    """Check that executed streams of M messages take as many steps as the closed form states.

    Also check the order of growth of the closed form.
    """
    streams = executions("broadcast", "recursive-substar", ports=row.ports, messages=LENGTHS)
    for stream in streams(check):
        stated = row.steps(check.n, stream.messages)
        check.equal("steps", stream.steps, stated, M=stream.messages, of=stream.schedule)
    check.order(row.quotient, partial(greatest_quotient, row.steps, row.order))
    if row.ports == "one":
        sub_slots = check.reading(
            "n-1 sub-slots in place of each all-port step, (n-1)(2n-4+M) steps"
        )
        quotient = partial(greatest_quotient, lambda n, m: (n - 1) * (2 * n - 4 + m), row.order)
        sub_slots.order("(n-1)(2n-4+M) / (M n + n^2)", quotient)


check_rows(stream_steps, PORT_MODELS, memory=STREAMS)


# Section 2: one broadcast


broadcasts = executions("broadcast", "recursive-substar", roots=None, messages=1)
streams = executions("broadcast", "recursive-substar", messages=LENGTHS)


@checks("SLC.L3", given=broadcasts, memory=STREAMS)
def two_steps_reach_every_substar(check: ClaimCheck, broadcast: Execution) -> None:
    """Check that the message enters each substar except the source's exactly once, by step 2.

    A substar is the set of nodes with the same last symbol. The message must enter substars over
    links of dimension n.
    """
    schedule = broadcast.schedule
    n = check.n
    substar = stars.symbols(check)[:, -1]
    receiving = substar[schedule.receiver]
    enters = substar[schedule.sender] != receiving
    own = substar[schedule.root]
    place = {"node": schedule.root, "of": schedule}

    entered = np.bincount(receiving[enters], minlength=n + 1)[1:]
    stated = (np.arange(1, n + 1) != own).astype(np.int64)
    what = "links that enter a substar"
    check.equal(what, entered, stated, **place, symbol=lambda index: index + 1)
    check.equal("port of such a link", schedule.port[enters], n, **place)
    last_step = schedule.step[enters].max(initial=0)
    check.equal("step in which the last substar is entered", last_step, 2, **place)
    early = receiving[schedule.step <= 2]
    reached = [symbol in early for symbol in range(1, n + 1) if symbol != own]
    check.true("two steps bring the message to a substar", reached, **place)


@checks("SLC.once", given=broadcasts, memory=STREAMS)
def every_node_receives_once(check: ClaimCheck, broadcast: Execution) -> None:
    """Check that in a broadcast, every node but the source receives the message exactly once."""
    schedule = broadcast.schedule
    stated = (np.arange(check.nodes) != schedule.root).astype(np.int64)
    received = np.bincount(schedule.receiver, minlength=check.nodes)
    what = "times that a node receives the message"
    check.equal(what, received, stated, node=check.ranks, of=schedule)


@checks("SLC.T4", memory=STREAMS)
def number_of_steps(check: ClaimCheck) -> None:
    """Check that every broadcast takes 2n-3 steps, and that its tree has the height 2n-3."""
    stated = 2 * check.n - 3
    for schedule, simulation in broadcasts(check):
        place = {"node": schedule.root, "of": schedule}
        check.equal("number of the last step", simulation.steps, stated, **place)
    tree = check.forest("recursive-substar")
    check.equal("height of the tree", heights(tree), stated, of=tree)


@checks("SLC.ports", given=streams, memory=STREAMS)
def links_are_used_once(check: ClaimCheck, stream: Execution) -> None:
    """Check that in a stream of messages no link carries two messages in one step.

    Also check that no node sends a message back to the node from which the message came.
    """
    schedule = stream.schedule
    place = {"M": stream.messages, **place_of_rows(schedule)}
    check.equal("messages on a link in a step", packet_sizes(schedule), 1, **place)
    arrived_from = np.full((check.nodes, schedule.units), -1, dtype=np.int64)
    arrived_from[schedule.receiver, schedule.unit] = schedule.sender
    returns = arrived_from[schedule.sender, schedule.unit] == schedule.receiver
    check.equal("sent back to where it came from", returns, np.False_, **place)


#: The paper's example of section 2: the receivers of each sender in steps 1 and 2.
EXAMPLE = {
    1: {"1234": "2134 3214 4231"},
    2: {"2134": "3124 4132", "3214": "2314 4213", "4231": "2431 3241"},
}


@checks("SLC.ex")
def example(check: ClaimCheck) -> None:
    """Check the senders and receivers in the paper's example on S_4."""
    schedule, simulation = execute(check, "broadcast", "recursive-substar", messages=1)
    for step, receivers_of in EXAMPLE.items():
        senders = np.unique(schedule.sender[schedule.step == step])
        labels = " ".join(check.labels(senders))
        check.equal("senders", labels, " ".join(receivers_of), step=step, of=schedule)
        for sender, stated in receivers_of.items():
            rows = (schedule.step == step) & (schedule.sender == check.rank(sender))
            receivers = " ".join(sorted(check.labels(schedule.receiver[rows])))
            check.equal("receivers", receivers, stated, step=step, node=sender, of=schedule)
    check.equal("number of the last step", simulation.steps, 5, of=schedule)


# Section 2 after Theorem 4: lower bounds


SEGMENTS = (1, 2)


def catalogue_broadcasts(check: ClaimCheck, ports: str) -> Iterator[Execution]:
    """Yield executions of starcast's broadcasts that can split the message, in a port model."""
    for algorithm in algorithms_on(check.topology, "broadcast"):
        if ports not in algorithm.ports or algorithm.split_argument is None:
            continue
        choices: dict[str, Any] = {algorithm.split_argument: SEGMENTS}
        if any(argument.name == "copies" for argument in algorithm.arguments):
            choices["copies"] = (1, check.degree)
        yield from executions("broadcast", algorithm.name, ports=ports, **choices)(check)


def arrival_steps(schedule: Schedule) -> NDArray[np.int64]:
    """Return the step in which each node first receives a unit.

    Returns:
        int64 ``[nodes]``: 0 for the source, ``steps + 1`` for a node that receives nothing.
    """
    arrivals = np.full(schedule.topology.nodes, schedule.steps + 1, dtype=np.int64)
    np.minimum.at(arrivals, schedule.receiver, schedule.step.astype(np.int64))
    arrivals[schedule.root] = 0
    return arrivals


@checks("SLC.LB-oneport", memory=STREAMS)
def one_port_bound(check: ClaimCheck) -> None:
    """Check that a one-port step at most doubles the number of informed nodes.

    So a broadcast takes at least ceil(log2 n!) steps. Also check this bound on the steps, and the
    bound's order of growth.
    """
    nodes = factorial(check.n)
    for schedule, simulation in catalogue_broadcasts(check, "one"):
        # The entry at index `steps + 1` counts nodes that receive nothing, so it is dropped.
        reached = np.cumsum(np.bincount(arrival_steps(schedule))[: schedule.steps + 1])
        place = {"step": np.arange(1, len(reached)), "of": schedule}
        check.at_most("nodes that have anything", reached[1:], 2 * reached[:-1], **place)
        check.at_least("steps", simulation.steps, (nodes - 1).bit_length(), of=schedule)
    check.order("n log2 n / ceil(log2 n!)", lambda n: divide(n * log2(n), ceil(log2(factorial(n)))))


@checks("SLC.LB-allport", memory=STREAMS)
def all_port_bound(check: ClaimCheck) -> None:
    """Check that a node at distance d from the source receives nothing before step d.

    So a broadcast takes at least as many steps as the diameter. Also check this bound on the steps,
    and the bound's order of growth.
    """
    bound = diameter(check.n)
    check.equal("greatest distance", check.diameter, bound)
    for schedule, simulation in catalogue_broadcasts(check, "all"):
        distances = check.distances(schedule.root)
        what = "step in which a node is reached"
        check.at_least(what, arrival_steps(schedule), distances, node=check.ranks, of=schedule)
        check.at_least("steps", simulation.steps, bound, of=schedule)
    check.order("n / D_n", lambda n: divide(n, diameter(n)))
