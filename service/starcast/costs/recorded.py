"""The costs of algorithms from shipped records. Both forms are exact."""

from fractions import Fraction

from starcast.costs.machine import Form, stepwise_form
from starcast.records import shipped_record
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

SOURCE = "starcast: records"


def optimal_broadcast(topology: Topology, _ports: str) -> Form:
    """Return the rounds of the record, N-1 transmissions."""
    steps = shipped_record("one-port-broadcast", topology.spec).value
    return stepwise_form(steps, 1, topology.nodes - 1, SOURCE)


def hamiltonian_decomposition(topology: Topology, _ports: str, messages: int) -> Form:
    """Return ceil(k(N-1)/2) steps for C cycles and k = ceil(M/C), M N(N-1) transmissions."""
    cycles = shipped_record("hamiltonian-decomposition", topology.spec).value
    steps = ceil_div(ceil_div(messages, cycles) * (topology.nodes - 1), 2)
    transmissions = messages * topology.nodes * (topology.nodes - 1)
    return stepwise_form(steps, Fraction(1, messages), transmissions, SOURCE)
