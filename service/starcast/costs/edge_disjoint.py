"""The closed forms of Fragopoulou & Akl 1996: unit messages along n-1 edge-disjoint trees, x copies of each.

The paper gives times for x = 1, or x dividing n-1, or x = n-1; for others c = ceil(Mx/(n-1)), the largest share of a tree, is
ours.
"""

from fractions import Fraction

from starcast.collectives.edge_disjoint_personalized import scatter_transmissions
from starcast.costs.machine import Form, stepwise
from starcast.support.integers import ceil_div
from starcast.topologies import Topology
from starcast.trees.edge_disjoint_levels import level_sum

PAPER = "Fragopoulou & Akl 1996"
OURS = "starcast"


def broadcast(topology: Topology, _ports: str, messages: int, copies: int) -> Form:
    """ceil(Mx/(n-1)) + D_n + 3 steps at most, Mx(N-1) transmissions: sections 4.2 and 4.3.

    An upper bound: the paper takes the trees for D_n + 4 high. Counted for n = 3..10, they are D_n + 3 high for even n and
    D_n + 2 for odd n, so that it has one step too many or two (on S_2, whose tree is one link, four).
    """
    steps = ceil_div(messages * copies, topology.degree) + topology.diameter + 3
    transmissions = messages * copies * (topology.nodes - 1)
    many = "one step" if topology.n % 2 == 0 else "two steps"
    note = f"{many if topology.n > 2 else 'four steps'} too many: the trees are lower than the paper takes them for"
    return stepwise(
        steps, Fraction(1, messages), transmissions, f"{PAPER}, sections 4.2 and 4.3", note
    )


def allgather(topology: Topology, _ports: str, messages: int, copies: int) -> Form:
    """M(N-1) steps with n-1 copies, M N(n-1)(N-1) transmissions: section 4.4. Exact.

    With x copies c(N-1) steps and Mx N(N-1) transmissions, c = ceil(Mx/(n-1)): ours; Table 2's ceil(Mx(N-1)/(n-1)) is the
    lower bound.
    """
    steps = ceil_div(messages * copies, topology.degree) * (topology.nodes - 1)
    transmissions = messages * copies * topology.nodes * (topology.nodes - 1)
    return stepwise(
        steps, Fraction(1, messages), transmissions, _source(topology, copies, "section 4.4")
    )


def scatter(topology: Topology, _ports: str, messages: int, copies: int) -> Form:
    """M(N-1) steps with n-1 copies: section 4.5. Exact. With x copies ceil(Mx(N-1)/(n-1)), which is Table 2.

    Transmissions with n-1 copies: M times the sum of all levels in all trees, which the paper bounds by a constant times
    M(n-1) t_n; with fewer they depend on which trees a node's copies take, which is ours.
    """
    steps = ceil_div(messages * copies * (topology.nodes - 1), topology.degree)
    transmissions = scatter_transmissions(topology, messages, copies)
    source = f"{PAPER}, section 4.5" if copies == topology.degree else f"{OURS}; {PAPER}, Table 2"
    return stepwise(steps, Fraction(1, messages), transmissions, source)


def alltoall(topology: Topology, _ports: str, messages: int, copies: int) -> Form:
    """The steps are c L, and there are Mx N L transmissions, L the sum of the levels of a tree.

    Exact, and ours. Section 4.6 says M(N-1) + O(M t_n) steps and O(M N(n-1) t_n) transmissions, with n-1 copies.
    """
    levels = level_sum(topology)
    steps = ceil_div(messages * copies, topology.degree) * levels
    transmissions = messages * copies * topology.nodes * levels
    return stepwise(
        steps, Fraction(1, messages), transmissions, f"{OURS}; {PAPER}, section 4.6 gives the order"
    )


def _source(topology: Topology, copies: int, section: str) -> str:
    return (
        f"{PAPER}, {section}"
        if copies == topology.degree
        else f"{OURS}; {PAPER}, {section} is about n-1 copies"
    )
