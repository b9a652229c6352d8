"""Cost formulas of Johnsson & Ho's broadcasts, and hypercubes to compare topologies with."""

from fractions import Fraction

from starcast.costs.counts import ceil_log2
from starcast.costs.machine import Form, stepwise_form
from starcast.costs.tseng_sheu import idle_note, sub_slots
from starcast.support.integers import ceil_div
from starcast.topologies import Topology
from starcast.topologies.cayley_families import Hypercube

PAPER = "Johnsson & Ho 1989"


def binomial(topology: Topology, ports: str, segments: int) -> Form:
    """Return the cost formula of a broadcast of p segments along a spanning binomial tree of Q_d.

    In the all-port model the time is (d + p - 1)(T_s + m/p T_c), which is exact. In the one-port
    model it is d times that, because every slot has one sub-slot per port (as in Theorem 2 of Tseng
    & Sheu). This is an upper bound: it counts all sub-slots of the last slot, but the execution
    ends with the last sub-slot that is used, less than d sub-slots earlier.
    """
    steps = (topology.n + segments - 1) * sub_slots(topology, ports)
    source = f"{PAPER}, spanning binomial tree"
    return stepwise_form(
        steps,
        Fraction(1, segments),
        segments * (topology.nodes - 1),
        source,
        idle_note(topology, ports),
    )


def edge_disjoint_binomial(topology: Topology, _ports: str, messages: int, copies: int) -> Form:
    """Return the cost formula of a broadcast along d edge-disjoint trees of height d+1 in Q_d.

    For x copies of M messages, it takes ceil(Mx/d) + d steps and Mx(2^d - 1) transmissions.

    The formula is exact except on Q_1, whose only tree is a single link, where it has one step too
    many.
    """
    steps = ceil_div(messages * copies, topology.degree) + topology.n
    transmissions = messages * copies * (topology.nodes - 1)
    source = f"{PAPER}, edge-disjoint spanning binomial trees"
    note = "one step too many: the only tree is one link" if topology.n == 1 else ""
    return stepwise_form(steps, Fraction(1, messages), transmissions, source, note)


def comparable_hypercube(topology: Topology, dimension: int | None = None) -> Topology:
    """Return the hypercube to compare a topology with.

    For some topologies, such as S_12, it is larger than the largest hypercube that has a spec. This
    is possible because no array is built for it.

    Args:
        dimension: the dimension of the hypercube; by default a hypercube is compared with itself,
            and any other topology with the smallest hypercube that has at least as many nodes.
    """
    if dimension is not None:
        return Hypercube(dimension)
    return topology if topology.family == "hypercube" else Hypercube(ceil_log2(topology.nodes))
