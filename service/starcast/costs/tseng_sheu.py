"""The cost formulas of Tseng & Sheu 1997, and of the works cited in their Tables 1 and 2.

The notation is that of docs/definitions/tseng-sheu.md, A6: m bytes per message, p segments per
tree, h the largest height of a tree, D_n the diameter. A slot (step) of the all-port model becomes
n-1 sub-slots in the one-port model (Theorem 2).
"""

from collections.abc import Callable
from fractions import Fraction
from math import comb, factorial

from starcast.costs.counts import ceil_log2, multiple_height, phases, tree_height
from starcast.costs.machine import Form, stepwise_form
from starcast.topologies import Topology

PAPER = "Tseng & Sheu 1997"

CitedForm = Callable[[Topology], Form]


def sub_slots(topology: Topology, ports: str) -> int:
    """Return the number of sub-slots per slot: ``degree`` in the one-port model, else 1."""
    return topology.degree if ports == "one" else 1


def idle_note(topology: Topology, ports: str) -> str:
    """Return the note on one-port pipelines: their cost formulas also count idle sub-slots."""
    if sub_slots(topology, ports) == 1:
        return ""
    return "an upper bound: sub-slots in which nothing is sent are counted"


def greedy(topology: Topology, ports: str, segments: int) -> Form:
    """Return the cost formula of a pipelined broadcast along one tree of height D_n.

    It is that of row [7] in Table 1.

    In the all-port model it is (D_n + p - 1)(T_s + m/p T_c), which is exact. In the one-port model
    it is n-1 times that. The formula counts all sub-slots of the last slot, but the execution ends
    with the last sub-slot that is used, less than n-1 sub-slots earlier. For even n, executions end
    with the last sub-slot of the last slot (checked for n = 2..8).
    """
    steps = (topology.diameter + segments - 1) * sub_slots(topology, ports)
    source = f"{PAPER}, section 4 and Table 1 [7]"
    note = idle_note(topology, ports) if topology.n % 2 else ""
    return stepwise_form(
        steps, Fraction(1, segments), segments * (topology.nodes - 1), source, note
    )


def multiple(topology: Topology, ports: str, segments: int) -> Form:
    """Return the cost formula of a pipelined broadcast along multiple trees, equation (3).

    In the all-port model it is (h + p - 1)(T_s + 2m/(p(n-1)) T_c), where h is `multiple_height`;
    the number of steps is exact. In the one-port model it is n-1 times that (Theorem 2), and the
    number of steps is too large by less than n-1. The bytes are an upper bound: a step in which no
    link is shared is shorter, and in S_2 no step has a shared link.
    """
    steps = (multiple_height(topology.n) + segments - 1) * sub_slots(topology, ports)
    packet = Fraction(2, segments * topology.degree)
    units = segments * topology.degree
    note = "the bytes are an upper bound: a step in which no link is shared is shorter"
    return stepwise_form(
        steps,
        packet,
        units * (topology.nodes - 1),
        f"{PAPER}, equation (3), Theorems 1 and 2",
        note,
    )


def recursive_substar(topology: Topology, ports: str, messages: int) -> Form:
    """Return the cost formula of a broadcast of M messages by recursive substars.

    It is that of row [16] in Table 1.

    In the all-port model it is (2n-4+M)(T_s + m/M T_c). In the one-port model it has n(n-1)/2 +
    (M-1)(n-1) slots. Both are exact. Sheu, Liaw & Chen 1993 state O(M + n) and O(Mn + n^2); the
    one-port number is derived in docs/definitions/tseng-sheu.md, B2.
    """
    n = topology.n
    steps = n * (n - 1) // 2 + (messages - 1) * (n - 1) if ports == "one" else 2 * n - 4 + messages
    source = f"Sheu, Liaw & Chen 1993, section 3; {PAPER}, Table 1 [16]"
    return stepwise_form(steps, Fraction(1, messages), messages * (topology.nodes - 1), source)


def dimension_change(topology: Topology, ports: str, base: str) -> Form:
    """Return the cost formula of the allgather along dimension-changed trees (Theorem 3).

    In the all-port model it is D_n T_s + (n!-1)/(n-1) m T_c, in the one-port model (n-1) D_n T_s +
    (n!-1) m T_c (section 5.2). Both are exact. If the tree has another height, that height replaces
    D_n.
    """
    others = topology.nodes - 1
    steps = tree_height(topology, base) * sub_slots(topology, ports)
    bytes_per_m = Fraction(others * sub_slots(topology, ports), topology.degree)
    sent = topology.nodes * topology.degree * others
    return Form(steps, bytes_per_m, sent, f"{PAPER}, Theorem 3 and section 5.2", steps)


# Cited in Table 1: pipelined broadcasts (section 6.1)


def day_tripathi(topology: Topology, segments: int) -> Form:
    """Return the cost formula of Day & Tripathi [7]: (D_n + p - 1)(T_s + m/p T_c) (section 6.1).

    Their broadcast is pipelined along a greedy tree of height D_n.
    """
    steps = topology.diameter + segments - 1
    return stepwise_form(steps, Fraction(1, segments), None, f"{PAPER}, Table 1 [7]")


def sheu_1995(topology: Topology, segments: int) -> Form:
    """Return the cost formula of the pipelined broadcast of Sheu et al. [17] (section 6.1).

    It is (S + (p-1)k)(T_s + m/p T_c), where S is the sum of ceil(log2 i) for i = 2..n, and k =
    ceil(log2 n). Without segments the algorithm takes S steps, like those of [2] and [12]. Unlike
    these, it can be pipelined, because no node receives twice. The paper writes n log2 n for S and
    log2 n for k, which are not whole numbers of steps.
    """
    steps = phases(topology.n) + (segments - 1) * ceil_log2(topology.n)
    return stepwise_form(steps, Fraction(1, segments), None, f"{PAPER}, Table 1 [17]")


# Cited in Tables 1 and 2, without segments (sections 6.1 and 6.2)


def _whole_messages(steps: Callable[[Topology], int], row: str) -> CitedForm:
    """Return the cost formula of steps that send whole messages: steps * (T_s + m T_c)."""
    return lambda topology: stepwise_form(steps(topology), 1, None, f"{PAPER}, {row}")


def _all_links(steps: Callable[[Topology], int], row: str) -> CitedForm:
    """Return the cost formula of an allgather on all links: steps * T_s + (n!-1)/(n-1) m T_c."""

    def form(topology: Topology) -> Form:
        count = steps(topology)
        bytes_per_m = Fraction(topology.nodes - 1, topology.degree)
        return Form(count, bytes_per_m, None, f"{PAPER}, {row}", count)

    return form


def _phases(topology: Topology) -> int:
    return phases(topology.n)


misic_jovanovic = _whole_messages(lambda topology: comb(topology.n, 2), "Table 1 [13]")
akl = _whole_messages(_phases, "Table 1 [2]")
mendia_sarkar = _whole_messages(_phases, "Table 1 [12]")
misic_allgather = _whole_messages(lambda topology: topology.nodes - 1, "Table 2 [13]")
# The paper states a height of about (n-1)!.
hamiltonian_paths = _all_links(lambda topology: factorial(topology.n - 1), "Table 2 [8] HAM")
necklaces = _all_links(lambda topology: topology.diameter, "Table 2 [8] NL")
