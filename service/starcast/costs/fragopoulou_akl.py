"""The closed forms of Fragopoulou & Akl 1993, Tables 1 to 3.

Messages are units, one per link and step, so a step takes T_s + m/M T_c. N = n!, t_n is the sum of
all distances from a node, h the number of necklaces (docs/definitions/fragopoulou-akl.md). "Exact"
means that executions agree with the form.
"""

from fractions import Fraction

from starcast.costs.counts import necklace_count, necklace_distance_sum
from starcast.costs.machine import Form, stepwise_form
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

PAPER = "Fragopoulou & Akl 1993"
OURS = "starcast"


def rotated_hamiltonian(topology: Topology, _ports: str, messages: int) -> Form:
    """Return ceil(M(N-1)/(n-1)) steps, M N(N-1) transmissions: Table 1, MLA. Exact."""
    steps = ceil_div(messages * (topology.nodes - 1), topology.degree)
    return _allgather(topology, steps, messages, f"{PAPER}, Table 1 (algorithm 1)")


def necklace(topology: Topology, _ports: str, messages: int) -> Form:
    """Return ceil((N-1)/(n-1)) steps, N(N-1) transmissions: Table 1, MLA, one message. Exact.

    For M messages the form ceil(M(N-1)/(n-1)) is starcast's: the paper's algorithm 2 sends one.
    """
    steps = ceil_div(messages * (topology.nodes - 1), topology.degree)
    return _allgather(
        topology,
        steps,
        messages,
        _single_message_source(messages, f"{PAPER}, Table 1 (algorithm 2)"),
    )


def hamiltonian_cycle(topology: Topology, _ports: str, messages: int) -> Form:
    """Return M(N-1) steps, M N(N-1) transmissions: Table 1, SLA. Exact."""
    return _allgather(
        topology, messages * (topology.nodes - 1), messages, f"{PAPER}, Table 1 (SLA)"
    )


def balanced(topology: Topology, _ports: str, messages: int) -> Form:
    """Return ceil((N-1)/(n-1)) steps, t_n transmissions: Table 2, MLA, one message. Exact.

    For M messages the form ceil(M(N-1)/(n-1)) is starcast's: running numbers continue over the
    messages. The paper sends all M messages along one path, in M ceil((N-1)/(n-1)) steps.
    """
    steps = ceil_div(messages * (topology.nodes - 1), topology.degree)
    return _scatter(
        topology, steps, messages, _single_message_source(messages, f"{PAPER}, Table 2 (balanced)")
    )


def near_balanced(topology: Topology, _ports: str, messages: int) -> Form:
    """Return M h steps, M t_n transmissions. Exact, and starcast's.

    Table 2 states O(ceil((N-1)/(n-1))). By Rule 5 there are as many steps as the largest subtree
    has nodes, and T_2 has one node of every necklace.
    """
    steps = messages * necklace_count(topology.n)
    return _scatter(
        topology, steps, messages, f"{OURS}; {PAPER}, Table 2 (almost balanced) gives the order"
    )


def perfectly_balanced(topology: Topology, _ports: str, messages: int) -> Form:
    """Return ceil(M(N-1)/(n-1)) steps, M t_n transmissions: Table 2, MLA, (n-1) | M. Exact."""
    steps = ceil_div(messages * (topology.nodes - 1), topology.degree)
    return _scatter(topology, steps, messages, f"{PAPER}, Table 2 (perfectly balanced)")


def one_port_scatter(topology: Topology, _ports: str, messages: int) -> Form:
    """Return M(N-1) steps, M t_n transmissions: Table 2, SLA (Rule 8). Exact."""
    return _scatter(topology, messages * (topology.nodes - 1), messages, f"{PAPER}, Table 2 (SLA)")


def rule_9(topology: Topology, _ports: str) -> Form:
    """Return the sum of the necklaces' distances as steps, N t_n transmissions.

    Exact, and starcast's: necklaces are served one after the other, each in as many steps as its
    distance. Table 3 states O(ceil(t_n/(n-1))). The paper's h d (Rule 9), d the mean distance of
    the nodes, weights all necklaces equally and differs from that sum.
    """
    steps = necklace_distance_sum(topology.n, topology.distance_sum)
    return _alltoall(topology, steps, 1, f"{OURS}; {PAPER}, Table 3 (Rule 9) gives the order")


def rule_10(topology: Topology, _ports: str, messages: int) -> Form:
    """Return ceil(M t_n/(n-1)) steps, M N t_n transmissions: Table 3, MLA, (n-1) | M. Exact."""
    steps = ceil_div(messages * topology.distance_sum, topology.degree)
    return _alltoall(topology, steps, messages, f"{PAPER}, Table 3 (Rule 10)")


def exact_alltoall(topology: Topology, _ports: str, messages: int) -> Form:
    """Return ceil(M t_n/(n-1)) steps for any M, M N t_n transmissions.

    Exact, and starcast's: section 9 leaves this open.
    """
    return _alltoall(
        topology, ceil_div(messages * topology.distance_sum, topology.degree), messages, OURS
    )


def one_port_alltoall(topology: Topology, _ports: str, messages: int) -> Form:
    """Return M t_n steps, M N t_n transmissions: Table 3, SLA (section 8). Exact."""
    return _alltoall(
        topology, messages * topology.distance_sum, messages, f"{PAPER}, Table 3 (SLA)"
    )


def _single_message_source(messages: int, source: str) -> str:
    return source if messages == 1 else f"{OURS}; {source} is about one message"


def _allgather(topology: Topology, steps: int, messages: int, source: str) -> Form:
    return stepwise_form(
        steps, Fraction(1, messages), messages * topology.nodes * (topology.nodes - 1), source
    )


def _scatter(topology: Topology, steps: int, messages: int, source: str) -> Form:
    return stepwise_form(steps, Fraction(1, messages), messages * topology.distance_sum, source)


def _alltoall(topology: Topology, steps: int, messages: int, source: str) -> Form:
    return stepwise_form(
        steps, Fraction(1, messages), messages * topology.nodes * topology.distance_sum, source
    )
