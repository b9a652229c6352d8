"""Closed forms of Johnsson & Ho's broadcasts on Q_d, and the hypercube used for comparisons."""

from fractions import Fraction

from starcast.costs.counts import ceil_log2
from starcast.costs.machine import Form, stepwise_form
from starcast.costs.tseng_sheu import idle_note, sub_slots
from starcast.support.integers import ceil_div
from starcast.topologies import Topology
from starcast.topologies.cayley_families import Hypercube

PAPER = "Johnsson & Ho 1989"


def binomial(topology: Topology, ports: str, segments: int) -> Form:
    """Return (d + p - 1)(T_s + m/p T_c): the spanning binomial tree, pipelined.

    All-port the form is exact. One-port it is d times that, one sub-slot per port (as in Theorem 2
    of Tseng & Sheu). This is an upper bound, by less than d sub-slots; some other sub-slots are
    idle.
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
    """Return ceil(Mx/d) + d steps, Mx(2^d - 1) transmissions: d edge-disjoint trees of height d+1.

    The form is exact except for Q_1, whose only tree is a single link: there it has one step too
    many.
    """
    steps = ceil_div(messages * copies, topology.degree) + topology.n
    transmissions = messages * copies * (topology.nodes - 1)
    source = f"{PAPER}, edge-disjoint spanning binomial trees"
    note = "one step too many: the only tree is one link" if topology.n == 1 else ""
    return stepwise_form(steps, Fraction(1, messages), transmissions, source, note)


def comparable_hypercube(topology: Topology, dimension: int | None = None) -> Topology:
    """Return the hypercube to compare a topology with.

    It can be larger than the largest hypercube with a spec (for S_12 it is), because no array is
    built for it.

    Args:
        dimension: the dimension of the hypercube; by default a hypercube is compared with itself,
            and any other topology with the smallest hypercube that has at least as many nodes.
    """
    if dimension is not None:
        return Hypercube(dimension)
    return topology if topology.family == "hypercube" else Hypercube(ceil_log2(topology.nodes))
