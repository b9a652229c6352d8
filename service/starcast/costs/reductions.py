"""Closed forms of the ring, of recursive doubling and of allreduces.

A reduce or a reduce-scatter has the form of the broadcast or allgather that runs backwards. The
message of an allreduce is the whole vector of a node, m bytes.

References: P. Patarasuk and X. Yuan, JPDC 69(2), 2009; R. Thakur, R. Rabenseifner and W. Gropp,
IJHPCA 19(1), 2005.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from starcast.costs.machine import Form, stepwise_form
from starcast.support.integers import ceil_div
from starcast.topologies import Topology


def ring(topology: Topology, ports: str, messages: int) -> Form:
    """Return M(N-1) steps; both ways round at once, ceil(M(N-1)/2). Exact."""
    hops = messages * (topology.nodes - 1)
    steps = hops if ports == "one" else ceil_div(hops, 2)
    transmissions = topology.nodes * hops
    return stepwise_form(steps, Fraction(1, messages), transmissions, "Patarasuk & Yuan 2009")


def doubling(topology: Topology, _ports: str) -> Form:
    """Return d T_s + (N-1) m T_c: a node sends 1, 2, 4, .. messages in d steps. Exact."""
    others = topology.nodes - 1
    return Form(
        start_ups=topology.n,
        bytes_per_m=Fraction(others),
        transmissions=topology.nodes * others,
        source="Thakur, Rabenseifner & Gropp 2005",
        steps=topology.n,
    )


def scatter_and_gather(allgather: Callable[..., Form]) -> Callable[..., Form]:
    """Return the form of a reduce-scatter and an allgather of m/N bytes each."""

    def form(topology: Topology, ports: str, **arguments: int | str) -> Form:
        half = allgather(topology, ports, **arguments)
        return replace(_twice(half), bytes_per_m=2 * half.bytes_per_m / topology.nodes)

    return form


def reduce_and_broadcast(broadcast: Callable[..., Form], is_single: bool) -> Callable[..., Form]:
    """Return the form of a reduce and a broadcast.

    All-port along a single tree, the broadcast follows the first unit of the reduce: S(p) + S(1)
    steps for S(p) steps of a broadcast of p units. This is as exact as the broadcast's form. Other
    forms are those of one after the other, an upper bound for several units.
    """

    def form(topology: Topology, ports: str, **arguments: int | str) -> Form:
        half = broadcast(topology, ports, **arguments)
        single = arguments | dict.fromkeys(arguments.keys() & {"segments", "messages"}, 1)
        both = _twice(half)
        if is_single and ports == "all" and "copies" not in arguments:
            steps = half.start_ups + broadcast(topology, ports, **single).start_ups
            packet = half.bytes_per_m / half.start_ups
            return replace(both, start_ups=steps, bytes_per_m=steps * packet, steps=steps)
        if not arguments:
            return both
        note = "an execution can be shorter: reduce and broadcast are pipelined"
        return replace(both, note="; ".join(filter(None, (half.note, note))))

    return form


def _twice(half: Form) -> Form:
    return replace(
        half,
        start_ups=2 * half.start_ups,
        bytes_per_m=2 * half.bytes_per_m,
        transmissions=None if half.transmissions is None else 2 * half.transmissions,
        steps=None if half.steps is None else 2 * half.steps,
    )
