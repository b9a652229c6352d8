"""The closed forms of Tseng & Sheu 1997, and of the works cited in their Tables 1 and 2.

The notation is that of docs/definitions/tseng-sheu.md, A6: m bytes per message, p segments per
tree, h the largest height, D_n the diameter. In the one-port model, a slot of the all-port model
becomes n-1 sub-slots (Theorem 2).
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
    """Return the note on one-port pipelines: executions end before idle sub-slots at the end."""
    if sub_slots(topology, ports) == 1:
        return ""
    return "an upper bound: sub-slots in which nothing is sent are counted"


def greedy(topology: Topology, ports: str, segments: int) -> Form:
    """Return (D_n + p - 1)(T_s + m/p T_c): one tree of height D_n, pipelined (Table 1, row [7]).

    All-port the form is exact. One-port it is n-1 times that. It counts all sub-slots of the last
    slot, while the execution ends with the last sub-slot used, less than n-1 sub-slots earlier. For
    even n no sub-slot at the end is idle (counted for n = 2..8).
    """
    steps = (topology.diameter + segments - 1) * sub_slots(topology, ports)
    source = f"{PAPER}, section 4 and Table 1 [7]"
    note = idle_note(topology, ports) if topology.n % 2 else ""
    return stepwise_form(
        steps, Fraction(1, segments), segments * (topology.nodes - 1), source, note
    )


def multiple(topology: Topology, ports: str, segments: int) -> Form:
    """Return (h + p - 1)(T_s + 2m/(p(n-1)) T_c), equation (3); h = D_n + n + g - 2.

    One-port it is n-1 times that (Theorem 2). All-port the number of steps is exact; one-port it is
    too large by less than n-1. The bytes are an upper bound: a step in which no link is shared is
    shorter, and in S_2 no step has a shared link.
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
    """Return (2n-4+M)(T_s + m/M T_c), Table 1, row [16]; one-port n(n-1)/2 + (M-1)(n-1) slots.

    Both are exact. Sheu, Liaw & Chen 1993 state O(M + n) and O(Mn + n^2); the one-port count is
    derived in docs/definitions/tseng-sheu.md, B2.
    """
    n = topology.n
    steps = n * (n - 1) // 2 + (messages - 1) * (n - 1) if ports == "one" else 2 * n - 4 + messages
    source = f"Sheu, Liaw & Chen 1993, section 3; {PAPER}, Table 1 [16]"
    return stepwise_form(steps, Fraction(1, messages), messages * (topology.nodes - 1), source)


def dimension_change(topology: Topology, ports: str, base: str) -> Form:
    """Return D_n T_s + (n!-1)/(n-1) m T_c, Theorem 3.

    One-port it is (n-1) D_n T_s + (n!-1) m T_c, section 5.2. Both are exact. For a tree of height
    h_T, h_T replaces D_n.
    """
    others = topology.nodes - 1
    steps = tree_height(topology, base) * sub_slots(topology, ports)
    bytes_per_m = Fraction(others * sub_slots(topology, ports), topology.degree)
    sent = topology.nodes * topology.degree * others
    return Form(steps, bytes_per_m, sent, f"{PAPER}, Theorem 3 and section 5.2", steps)


# Cited in Table 1: pipelined broadcasts (section 6.1)


def day_tripathi(topology: Topology, segments: int) -> Form:
    """Return (D_n + p - 1)(T_s + m/p T_c): Day & Tripathi [7] (section 6.1).

    They pipeline a greedy tree of height D_n.
    """
    steps = topology.diameter + segments - 1
    return stepwise_form(steps, Fraction(1, segments), None, f"{PAPER}, Table 1 [7]")


def sheu_1995(topology: Topology, segments: int) -> Form:
    """Return (S + (p-1)k)(T_s + m/p T_c), k = ceil(log2 n): Sheu et al. [17] (section 6.1).

    Their algorithm takes S steps, the sum of ceil(log2 i), i = 2..n, like those of [2] and [12].
    Unlike these, it can be pipelined, because no node receives twice. The paper rounds S to n log2
    n and k to log2 n, which are not whole numbers of steps.
    """
    steps = phases(topology.n) + (segments - 1) * ceil_log2(topology.n)
    return stepwise_form(steps, Fraction(1, segments), None, f"{PAPER}, Table 1 [17]")


# Cited in Tables 1 and 2, without segments (sections 6.1 and 6.2)


def _whole_messages(steps: Callable[[Topology], int], row: str) -> CitedForm:
    """Return the form of steps that send whole messages: steps (T_s + m T_c)."""
    return lambda topology: stepwise_form(steps(topology), 1, None, f"{PAPER}, {row}")


def _all_links(steps: Callable[[Topology], int], row: str) -> CitedForm:
    """Return the form of an allgather over all links: steps T_s + (n!-1)/(n-1) m T_c."""

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
