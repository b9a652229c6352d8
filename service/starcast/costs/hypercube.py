"""Closed forms on Q_d: Johnsson & Ho's broadcasts, and the hypercube that the papers set beside the star graph."""

from fractions import Fraction

from starcast.costs.counts import ceil_log2
from starcast.costs.machine import Form, stepwise
from starcast.costs.tseng_sheu import idle, slots
from starcast.support.integers import ceil_div
from starcast.topologies import Topology
from starcast.topologies.hypercube import Hypercube

PAPER = "Johnsson & Ho 1989"


def binomial(topology: Topology, ports: str, segments: int) -> Form:
    """(d + p - 1)(T_s + m/p T_c): the spanning binomial tree, pipelined. Exact all-port.

    One-port d times that, a sub-slot for each port (as in Theorem 2 of Tseng & Sheu): an upper bound, by less than d sub-slots,
    and some of the others are idle.
    """
    steps = (topology.n + segments - 1) * slots(topology, ports)
    source = f"{PAPER}, spanning binomial tree"
    return stepwise(
        steps, Fraction(1, segments), segments * (topology.nodes - 1), source, idle(topology, ports)
    )


def edge_disjoint_binomial(topology: Topology, _ports: str, messages: int, copies: int) -> Form:
    """ceil(Mx/d) + d steps, Mx(2^d - 1) transmissions: d edge-disjoint trees of height d+1.

    Exact, but for Q_1, whose one tree is one link: there it is one step too many.
    """
    steps = ceil_div(messages * copies, topology.degree) + topology.n
    transmissions = messages * copies * (topology.nodes - 1)
    source = f"{PAPER}, edge-disjoint spanning binomial trees"
    note = "one step too many: the only tree is one link" if topology.n == 1 else ""
    return stepwise(steps, Fraction(1, messages), transmissions, source, note)


def beside(topology: Topology, dimension: int | None = None) -> Topology:
    """The hypercube to compare with: of that dimension, else Q_d itself, else the least one with as many nodes, 2^k >= N.

    It may be larger than any that can be named, as it is beside S_12: it is only counted.
    """
    if dimension is not None:
        return Hypercube(dimension)
    return topology if topology.family == "hypercube" else Hypercube(ceil_log2(topology.nodes))
