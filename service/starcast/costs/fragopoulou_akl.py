"""The closed forms of Fragopoulou & Akl 1993, Tables 1 to 3, one row for each algorithm.

Messages are units, one per link and step, so a step takes T_s + m/M T_c. N = n!, t_n is the sum of
all distances from a node, h the number of necklaces (docs/definitions/fragopoulou-akl.md).
Executions agree with all forms.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from starcast.costs.counts import necklace_count, necklace_distance_sum
from starcast.costs.machine import Form, stepwise_form
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

PAPER = "Fragopoulou & Akl 1993"
OURS = "starcast"

#: ``steps(topology, messages)``.
Steps = Callable[[Topology, int], int]
#: The transmissions of one message.
_TRANSMISSIONS: dict[str, Callable[[Topology], int]] = {
    "allgather": lambda topology: topology.nodes * (topology.nodes - 1),
    "scatter": lambda topology: topology.distance_sum,
    "alltoall": lambda topology: topology.nodes * topology.distance_sum,
}


@dataclass(frozen=True)
class Row:
    """The closed form of an algorithm.

    Attributes:
        collective: the collective, which decides the number of transmissions.
        steps: the number of steps for M messages.
        source: the source of the form.
        sends_one_message: whether the source states the form for one message only; for M messages
            it is then starcast's.
    """

    collective: str
    steps: Steps
    source: str
    sends_one_message: bool = False

    def form(self, topology: Topology, _ports: str, messages: int = 1) -> Form:
        """Return the closed form for M messages."""
        source = self.source
        if self.sends_one_message and messages > 1:
            source = f"{OURS}; {source} is about one message"
        transmissions = messages * _TRANSMISSIONS[self.collective](topology)
        steps = self.steps(topology, messages)
        return stepwise_form(steps, Fraction(1, messages), transmissions, source)


def _receive_all(topology: Topology, messages: int) -> int:
    """Return ceil(M(N-1)/(n-1)): the other nodes' messages over all links of a node."""
    return ceil_div(messages * (topology.nodes - 1), topology.degree)


def _receive_one(topology: Topology, messages: int) -> int:
    """Return M(N-1): the other nodes' messages over one link at a time."""
    return messages * (topology.nodes - 1)


def _send_all(topology: Topology, messages: int) -> int:
    """Return ceil(M t_n/(n-1)): all distances, on all links of a node."""
    return ceil_div(messages * topology.distance_sum, topology.degree)


ROTATED_HAMILTONIAN = Row("allgather", _receive_all, f"{PAPER}, Table 1 (algorithm 1)")
NECKLACE = Row("allgather", _receive_all, f"{PAPER}, Table 1 (algorithm 2)", sends_one_message=True)
HAMILTONIAN_CYCLE = Row("allgather", _receive_one, f"{PAPER}, Table 1 (SLA)")
# For M messages the paper takes M ceil((N-1)/(n-1)) steps, along one path; in starcast the running
# numbers continue over the messages.
BALANCED = Row("scatter", _receive_all, f"{PAPER}, Table 2 (balanced)", sends_one_message=True)
# Table 2 states O(ceil((N-1)/(n-1))). By Rule 5 there are as many steps as the largest subtree has
# nodes, and T_2 has one node of every necklace.
NEAR_BALANCED = Row(
    "scatter",
    lambda topology, messages: messages * necklace_count(topology.n),
    f"{OURS}; {PAPER}, Table 2 (almost balanced) gives the order",
)
# Defined if n-1 divides M, as rule 10 is.
PERFECTLY_BALANCED = Row("scatter", _receive_all, f"{PAPER}, Table 2 (perfectly balanced)")
ONE_PORT_SCATTER = Row("scatter", _receive_one, f"{PAPER}, Table 2 (SLA)")  # Rule 8
# The necklaces are served one after the other, each in as many steps as its distance. Table 3
# states O(ceil(t_n/(n-1))). The paper's h d (Rule 9), d the mean distance of the nodes, weights all
# necklaces equally and differs from that sum.
RULE_9 = Row(
    "alltoall",
    lambda topology, _messages: necklace_distance_sum(topology.n, topology.distance_sum),
    f"{OURS}; {PAPER}, Table 3 (Rule 9) gives the order",
)
RULE_10 = Row("alltoall", _send_all, f"{PAPER}, Table 3 (Rule 10)")
EXACT_ALLTOALL = Row("alltoall", _send_all, OURS)  # section 9 leaves any M open
ONE_PORT_ALLTOALL = Row(
    "alltoall",
    lambda topology, messages: messages * topology.distance_sum,
    f"{PAPER}, Table 3 (SLA)",  # section 8
)
