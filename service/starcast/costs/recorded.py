"""The costs of algorithms that come from records. All forms are exact."""

from fractions import Fraction

from starcast.costs.counts import ceil_log2, phases
from starcast.costs.machine import Form, stepwise_form
from starcast.records import shipped_record
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

SOURCE = "starcast: records"


def optimal_broadcast(topology: Topology, _ports: str) -> Form:
    """Return the rounds of the record, N-1 transmissions."""
    steps = shipped_record("one-port-broadcast", topology.spec).value
    return stepwise_form(steps, 1, topology.nodes - 1, SOURCE)


def substar_doubling(topology: Topology, _ports: str) -> Form:
    """Return R_k rounds, N-1 transmissions.

    With m = n-k+1, R_1 = ceil(log2 m), and R_j is R_{j-1} + 1 plus the least max(i + j-2, i + c_i)
    over i = 1..R_1, where c_i is the least c with (2^i - 1) 2^c >= m - 1.
    """
    size, length = topology.n - int(topology.k or 1) + 1, int(topology.k or 1)
    doubling = ceil_log2(size)
    steps = doubling
    for position in range(2, length + 1):
        steps += 1 + min(
            own + max(position - 2, ceil_log2(Fraction(size - 1, 2**own - 1)))
            for own in range(1, doubling + 1)
        )
    return stepwise_form(steps, 1, topology.nodes - 1, SOURCE)


def symbol_doubling(topology: Topology, _ports: str) -> Form:
    """Return the sum of 1 + ceil(log2(i-1)) rounds, i = 2..n, N-1 transmissions."""
    n = topology.n
    return stepwise_form(n - 1 + phases(n - 1), 1, topology.nodes - 1, "starcast")


def hamiltonian_decomposition(topology: Topology, _ports: str, messages: int) -> Form:
    """Return ceil(k(N-1)/2) steps for C cycles and k = ceil(M/C), M N(N-1) transmissions."""
    cycles = shipped_record("hamiltonian-decomposition", topology.spec).value
    steps = ceil_div(ceil_div(messages, cycles) * (topology.nodes - 1), 2)
    transmissions = messages * topology.nodes * (topology.nodes - 1)
    return stepwise_form(steps, Fraction(1, messages), transmissions, SOURCE)
