"""The closed forms of Fragopoulou & Akl 1993, Tables 1 to 3.

Messages are units, one a link and step, so that a step takes T_s + m/M T_c. N = n!, t_n is the sum of all distances from a
node, h the number of necklaces (docs/definitions/fragopoulou-akl.md).
"""

from fractions import Fraction

from starcast.costs.counts import necklace_count, necklace_distance_sum
from starcast.costs.machine import Form, stepwise
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

PAPER = "Fragopoulou & Akl 1993"
OURS = "starcast"


def rotated_hamiltonian(topology: Topology, _ports: str, messages: int) -> Form:
    """ceil(M(N-1)/(n-1)) steps, M N(N-1) transmissions: Table 1, MLA. Exact."""
    steps = ceil_div(messages * (topology.nodes - 1), topology.degree)
    return _allgather(topology, steps, messages, f"{PAPER}, Table 1 (algorithm 1)")


def necklace(topology: Topology, _ports: str, messages: int) -> Form:
    """ceil((N-1)/(n-1)) steps, N(N-1) transmissions: Table 1, MLA, one message. Exact.

    For M messages, ceil(M(N-1)/(n-1)), the form is ours: the paper's algorithm 2 is about one.
    """
    steps = ceil_div(messages * (topology.nodes - 1), topology.degree)
    return _allgather(
        topology, steps, messages, _of_one(messages, f"{PAPER}, Table 1 (algorithm 2)")
    )


def hamiltonian_cycle(topology: Topology, _ports: str, messages: int) -> Form:
    """M(N-1) steps, M N(N-1) transmissions: Table 1, SLA. Exact."""
    return _allgather(
        topology, messages * (topology.nodes - 1), messages, f"{PAPER}, Table 1 (SLA)"
    )


def balanced(topology: Topology, _ports: str, messages: int) -> Form:
    """ceil((N-1)/(n-1)) steps, t_n transmissions: Table 2, MLA, one message. Exact.

    For M messages, ceil(M(N-1)/(n-1)), the form is ours: its copies number the leaves on. The paper sends all M along one path
    and takes M ceil((N-1)/(n-1)).
    """
    steps = ceil_div(messages * (topology.nodes - 1), topology.degree)
    return _scatter(topology, steps, messages, _of_one(messages, f"{PAPER}, Table 2 (balanced)"))


def near_balanced(topology: Topology, _ports: str, messages: int) -> Form:
    """M h steps, M t_n transmissions. Exact, and ours: Table 2 says O(ceil((N-1)/(n-1))).

    By Rule 5 it takes as many steps as the largest subtree has nodes, and T_2 has one of every necklace.
    """
    steps = messages * necklace_count(topology.n)
    return _scatter(
        topology, steps, messages, f"{OURS}; {PAPER}, Table 2 (almost balanced) gives the order"
    )


def perfectly_balanced(topology: Topology, _ports: str, messages: int) -> Form:
    """ceil(M(N-1)/(n-1)) steps, M t_n transmissions: Table 2, MLA, M a multiple of n-1. Exact."""
    steps = ceil_div(messages * (topology.nodes - 1), topology.degree)
    return _scatter(topology, steps, messages, f"{PAPER}, Table 2 (perfectly balanced)")


def one_port_scatter(topology: Topology, _ports: str, messages: int) -> Form:
    """M(N-1) steps, M t_n transmissions: Table 2, SLA (Rule 8). Exact."""
    return _scatter(topology, messages * (topology.nodes - 1), messages, f"{PAPER}, Table 2 (SLA)")


def rule_9(topology: Topology, _ports: str) -> Form:
    """The sum of the necklaces' distances in steps, N t_n transmissions. Exact, and ours: Table 3 says O(ceil(t_n/(n-1))).

    A necklace after the other, each as many steps as it is away. The paper's h d (Rule 9), d the mean distance of the nodes,
    weighs every necklace alike and is not that sum.
    """
    steps = necklace_distance_sum(topology.n, topology.distance_sum)
    return _alltoall(topology, steps, 1, f"{OURS}; {PAPER}, Table 3 (Rule 9) gives the order")


def rule_10(topology: Topology, _ports: str, messages: int) -> Form:
    """ceil(M t_n/(n-1)) steps, M N t_n transmissions: Table 3, MLA, M a multiple of n-1 (Rule 10). Exact."""
    steps = ceil_div(messages * topology.distance_sum, topology.degree)
    return _alltoall(topology, steps, messages, f"{PAPER}, Table 3 (Rule 10)")


def exact_alltoall(topology: Topology, _ports: str, messages: int) -> Form:
    """ceil(M t_n/(n-1)) steps for any M, M N t_n transmissions. Exact, and ours: section 9 leaves it open."""
    return _alltoall(
        topology, ceil_div(messages * topology.distance_sum, topology.degree), messages, OURS
    )


def one_port_alltoall(topology: Topology, _ports: str, messages: int) -> Form:
    """M t_n steps, M N t_n transmissions: Table 3, SLA (section 8). Exact."""
    return _alltoall(
        topology, messages * topology.distance_sum, messages, f"{PAPER}, Table 3 (SLA)"
    )


def _of_one(messages: int, source: str) -> str:
    return source if messages == 1 else f"{OURS}; {source} is about one message"


def _allgather(topology: Topology, steps: int, messages: int, source: str) -> Form:
    return stepwise(
        steps, Fraction(1, messages), messages * topology.nodes * (topology.nodes - 1), source
    )


def _scatter(topology: Topology, steps: int, messages: int, source: str) -> Form:
    return stepwise(steps, Fraction(1, messages), messages * topology.distance_sum, source)


def _alltoall(topology: Topology, steps: int, messages: int, source: str) -> Form:
    return stepwise(
        steps, Fraction(1, messages), messages * topology.nodes * topology.distance_sum, source
    )
