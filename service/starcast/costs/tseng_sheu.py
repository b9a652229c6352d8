"""The closed forms of Tseng & Sheu 1997, and of whom their Tables 1 and 2 cite.

Notation of docs/definitions/tseng-sheu.md, A6: m bytes a message, p segments a tree, h the greatest height, D_n the diameter.
One-port, an all-port slot is n-1 sub-slots (Theorem 2).
"""

from fractions import Fraction
from math import factorial

from starcast.costs.counts import ceil_log2, multiple_height, phases, tree_height
from starcast.costs.machine import Form, stepwise
from starcast.topologies import Topology

PAPER = "Tseng & Sheu 1997"


def slots(topology: Topology, ports: str) -> int:
    """Into how many sub-slots the port model makes a slot: degree of them one-port."""
    return topology.degree if ports == "one" else 1


def idle(topology: Topology, ports: str) -> str:
    """What one-port an execution leaves out of a pipeline whose slots all count whole."""
    return (
        "an upper bound: sub-slots in which nothing is sent count"
        if slots(topology, ports) > 1
        else ""
    )


def greedy(topology: Topology, ports: str, segments: int) -> Form:
    """(D_n + p - 1)(T_s + m/p T_c): one tree of height D_n, pipelined; the form of Table 1, row [7]. One-port n-1 times that.

    All-port it is exact. One-port it counts the last slot whole; the execution ends with its last sub-slot that is used,
    less than n-1 sub-slots earlier. For even n that is the end (counted for n = 2..8).
    """
    steps = (topology.diameter + segments - 1) * slots(topology, ports)
    source, note = (
        f"{PAPER}, section 4 and Table 1 [7]",
        idle(topology, ports) if topology.n % 2 else "",
    )
    return stepwise(steps, Fraction(1, segments), segments * (topology.nodes - 1), source, note)


def multiple(topology: Topology, ports: str, segments: int) -> Form:
    """(h + p - 1)(T_s + 2m/(p(n-1)) T_c), equation (3); one-port n-1 times that (Theorem 2). h = D_n + n + g - 2.

    All-port the steps are exact, and one-port too many by less than n-1. The bytes are an upper bound: a step in which no link
    is shared is shorter, and in S_2 no step has a shared link.
    """
    steps = (multiple_height(topology.n) + segments - 1) * slots(topology, ports)
    packet = Fraction(2, segments * topology.degree)
    units = segments * topology.degree
    note = "the bytes are an upper bound: a step in which no link is shared is shorter"
    return stepwise(
        steps,
        packet,
        units * (topology.nodes - 1),
        f"{PAPER}, equation (3), Theorems 1 and 2",
        note,
    )


def recursive_substar(topology: Topology, ports: str, messages: int) -> Form:
    """(2n-4+M)(T_s + m/M T_c), Table 1, row [16]; one-port n(n-1)/2 + (M-1)(n-1) slots instead. Both are exact.

    Sheu, Liaw & Chen 1993 say O(M + n) and O(Mn + n^2); the one-port count is that of docs/definitions/tseng-sheu.md, B2.
    """
    n = topology.n
    steps = n * (n - 1) // 2 + (messages - 1) * (n - 1) if ports == "one" else 2 * n - 4 + messages
    source = f"Sheu, Liaw & Chen 1993, section 3; {PAPER}, Table 1 [16]"
    return stepwise(steps, Fraction(1, messages), messages * (topology.nodes - 1), source)


def dimension_change(topology: Topology, ports: str, base: str) -> Form:
    """D_n T_s + (n!-1)/(n-1) m T_c, Theorem 3; one-port (n-1) D_n T_s + (n!-1) m T_c, section 5.2. Both are exact.

    With a tree of another height h_T than D_n it is h_T in place of D_n.
    """
    others = topology.nodes - 1
    steps = tree_height(topology, base) * slots(topology, ports)
    bytes_per_m = Fraction(others * slots(topology, ports), topology.degree)
    sent = topology.nodes * topology.degree * others
    return Form(steps, bytes_per_m, sent, f"{PAPER}, Theorem 3 and section 5.2", steps)


# Cited in Table 1: broadcast


def day_tripathi(topology: Topology, segments: int) -> Form:
    """(D_n + p - 1)(T_s + m/p T_c): Day & Tripathi [7], a greedy tree of height D_n, pipelined (section 6.1)."""
    steps = topology.diameter + segments - 1
    return stepwise(steps, Fraction(1, segments), None, f"{PAPER}, Table 1 [7]")


def misic_jovanovic(topology: Topology) -> Form:
    """n(n-1)/2 (T_s + m T_c): Misic & Jovanovic [13] (section 6.1)."""
    return stepwise(topology.n * (topology.n - 1) // 2, 1, None, f"{PAPER}, Table 1 [13]")


def akl(topology: Topology) -> Form:
    """S (T_s + m T_c), S the sum of ceil(log2 i) for i = 2..n: Akl et al. [2] (section 6.1)."""
    return stepwise(phases(topology.n), 1, None, f"{PAPER}, Table 1 [2]")


def mendia_sarkar(topology: Topology) -> Form:
    """S (T_s + m T_c): Mendia & Sarkar [12], as Akl et al. (section 6.1)."""
    return stepwise(phases(topology.n), 1, None, f"{PAPER}, Table 1 [12]")


def sheu_1995(topology: Topology, segments: int) -> Form:
    """(S + (p-1)k)(T_s + m/p T_c), k = ceil(log2 n): Sheu et al. [17], [2] pipelined (section 6.1).

    The paper rounds S to n log2 n and k to log2 n, which are no whole numbers of steps.
    """
    steps = phases(topology.n) + (segments - 1) * ceil_log2(topology.n)
    return stepwise(steps, Fraction(1, segments), None, f"{PAPER}, Table 1 [17]")


# Cited in Table 2: allgather


def hamiltonian_paths(topology: Topology) -> Form:
    """(n-1)! T_s + (n!-1)/(n-1) m T_c: Fragopoulou & Akl [8], HAM (section 6.2); the height is about (n-1)!."""
    steps = factorial(topology.n - 1)
    return Form(
        steps,
        Fraction(topology.nodes - 1, topology.degree),
        None,
        f"{PAPER}, Table 2 [8] HAM",
        steps,
    )


def necklaces(topology: Topology) -> Form:
    """D_n T_s + (n!-1)/(n-1) m T_c: Fragopoulou & Akl [8], NL (section 6.2)."""
    return Form(
        topology.diameter,
        Fraction(topology.nodes - 1, topology.degree),
        None,
        f"{PAPER}, Table 2 [8] NL",
        topology.diameter,
    )


def misic_allgather(topology: Topology) -> Form:
    """(n!-1)(T_s + m T_c): Misic & Jovanovic [13] (section 6.2)."""
    return stepwise(topology.nodes - 1, 1, None, f"{PAPER}, Table 2 [13]")
