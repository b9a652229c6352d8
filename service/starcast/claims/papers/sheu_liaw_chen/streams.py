"""Sheu, Liaw & Chen 1993, section 3: streams of M messages along one tree.

`PORT_MODELS` has one row of data per claim: closed form, stated order, and their words.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number, divided, greatest
from starcast.claims.providers import executions
from starcast.claims.registry import check_rows
from starcast.collectives.model import BYTES_PER_ROW
from starcast.topologies import Topology

#: Values of M with which streams are executed.
LENGTHS = (1, 2, 3, 7)
#: A quantity as a function of n and M.
Formula = Callable[[int, int], int]


@dataclass(frozen=True)
class PortModel:
    """The time of a stream under a port model.

    Attributes:
        ports: the port model.
        steps: closed form of the number of steps.
        order: the order that the paper states.
        quotient: closed form over order, in words.
    """

    ports: str
    steps: Formula
    order: Formula
    quotient: str


def all_port_steps(n: int, messages: int) -> int:
    """Return 2n - 4 + M."""
    return 2 * n - 4 + messages


def one_port_steps(n: int, messages: int) -> int:
    """Return n(n-1)/2 + (M-1)(n-1)."""
    return n * (n - 1) // 2 + (messages - 1) * (n - 1)


def sub_slot_steps(n: int, messages: int) -> int:
    """Return (n-1)(2n-4+M): n-1 one-port steps for each all-port step."""
    return (n - 1) * all_port_steps(n, messages)


def all_port_order(n: int, messages: int) -> int:
    """Return M + n."""
    return messages + n


def one_port_order(n: int, messages: int) -> int:
    """Return M n + n^2."""
    return messages * n + n**2


PORT_MODELS = {
    "SLC.pipe": PortModel("all", all_port_steps, all_port_order, "(2n - 4 + M) / (M + n)"),
    "SLC.one": PortModel(
        "one", one_port_steps, one_port_order, "(n(n-1)/2 + (M-1)(n-1)) / (M n + n^2)"
    ),
}


def schedule_bytes(topology: Topology) -> int:
    """Return the bytes per node of the longest stream."""
    return BYTES_PER_ROW * max(LENGTHS) * topology.degree


def greatest_quotient(steps: Formula, order: Formula, n: int) -> Number:
    """Return the greatest quotient over M: 1, powers of n around it, and far beyond."""
    lengths = (1, 2, n, n**2, n**3, n**8, 10**6 * n**8)
    return greatest(divided(steps(n, messages), order(n, messages)) for messages in lengths)


def stream_steps(check: ClaimCheck, row: PortModel) -> None:
    """Check the steps of every executed stream, and the order of the closed form."""
    streams = executions("broadcast", "recursive-substar", ports=row.ports, messages=LENGTHS)
    for stream in streams(check):
        messages = stream.schedule.units
        stated = row.steps(check.n, messages)
        check.equal("steps", stream.simulation.steps, stated, M=messages, of=stream.schedule)
    check.order(row.quotient, partial(greatest_quotient, row.steps, row.order))
    if row.ports == "one":
        sub_slots = check.reading(
            "n-1 sub-slots in place of each all-port step, (n-1)(2n-4+M) steps"
        )
        measured = partial(greatest_quotient, sub_slot_steps, row.order)
        sub_slots.order("(n-1)(2n-4+M) / (M n + n^2)", measured)


check_rows(stream_steps, PORT_MODELS, bytes_per_node=lambda topology, _: schedule_bytes(topology))
