"""The closed forms of Fragopoulou & Akl 1996: x copies of unit messages along edge-disjoint trees.

The paper gives times for x = 1, for x that divides n-1, and for x = n-1. For other x the forms use
c = ceil(Mx/(n-1)), the largest number of copies of a tree, and are starcast's.
"""

from fractions import Fraction

from starcast.collectives.edge_disjoint import scatter_transmissions
from starcast.costs.machine import Form, stepwise_form
from starcast.support.integers import ceil_div
from starcast.topologies import Topology
from starcast.trees.edge_disjoint import level_sum

PAPER = "Fragopoulou & Akl 1996"
OURS = "starcast"


def broadcast(topology: Topology, _ports: str, messages: int, copies: int) -> Form:
    """Return at most ceil(Mx/(n-1)) + D_n + 3 steps, Mx(N-1) transmissions: sections 4.2 and 4.3.

    This is an upper bound: the paper assumes trees of height D_n + 4. Counted for n = 3..10, the
    height is D_n + 3 for even n and D_n + 2 for odd n, so the form has one or two steps too many
    (four on S_2, whose tree is a single link).
    """
    steps = ceil_div(messages * copies, topology.degree) + topology.diameter + 3
    transmissions = messages * copies * (topology.nodes - 1)
    excess = "four steps"
    if topology.n > 2:
        excess = "one step" if topology.n % 2 == 0 else "two steps"
    note = f"{excess} too many: the trees are lower than the paper assumes"
    return stepwise_form(
        steps, Fraction(1, messages), transmissions, f"{PAPER}, sections 4.2 and 4.3", note
    )


def allgather(topology: Topology, _ports: str, messages: int, copies: int) -> Form:
    """Return M(N-1) steps with n-1 copies, M N(n-1)(N-1) transmissions: section 4.4. Exact.

    With x copies c(N-1) steps and Mx N(N-1) transmissions, c = ceil(Mx/(n-1)), which is
    starcast's; ceil(Mx(N-1)/(n-1)) in Table 2 is the lower bound.
    """
    steps = ceil_div(messages * copies, topology.degree) * (topology.nodes - 1)
    transmissions = messages * copies * topology.nodes * (topology.nodes - 1)
    return stepwise_form(
        steps, Fraction(1, messages), transmissions, _source(topology, copies, "section 4.4")
    )


def scatter(topology: Topology, _ports: str, messages: int, copies: int) -> Form:
    """Return M(N-1) steps with n-1 copies: section 4.5. Exact.

    With x copies it is ceil(Mx(N-1)/(n-1)), which is Table 2. Transmissions with n-1 copies: M
    times the sum of all levels in all trees, which the paper bounds by a constant times M(n-1) t_n.
    With fewer copies they depend on starcast's choice of the trees for a node's copies.
    """
    steps = ceil_div(messages * copies * (topology.nodes - 1), topology.degree)
    transmissions = scatter_transmissions(topology, messages, copies)
    source = f"{PAPER}, section 4.5" if copies == topology.degree else f"{OURS}; {PAPER}, Table 2"
    return stepwise_form(steps, Fraction(1, messages), transmissions, source)


def alltoall(topology: Topology, _ports: str, messages: int, copies: int) -> Form:
    """Return c L steps and Mx N L transmissions, where L is the sum of the levels of a tree.

    Exact, and starcast's. Section 4.6 states M(N-1) + O(M t_n) steps and O(M N(n-1) t_n)
    transmissions, with n-1 copies.
    """
    levels = level_sum(topology)
    steps = ceil_div(messages * copies, topology.degree) * levels
    transmissions = messages * copies * topology.nodes * levels
    return stepwise_form(
        steps, Fraction(1, messages), transmissions, f"{OURS}; {PAPER}, section 4.6 gives the order"
    )


def _source(topology: Topology, copies: int, section: str) -> str:
    return (
        f"{PAPER}, {section}"
        if copies == topology.degree
        else f"{OURS}; {PAPER}, {section} is about n-1 copies"
    )
