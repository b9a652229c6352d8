"""The cost formulas of Li, Chen, Xiang & Yao on S_{n,k}: Theorems 2 to 11 and Tables 1 and 2.

The theorems give times for the optimal real number p of segments. The formulas in this module hold
for any integer p. N = n!/(n-k)! is the number of nodes, D the diameter.
"""

from fractions import Fraction
from math import factorial

from starcast.costs.machine import Form, stepwise_form
from starcast.costs.tseng_sheu import sub_slots
from starcast.topologies import Topology

PAPER = "Li, Chen, Xiang & Yao"


def greedy(topology: Topology, ports: str, segments: int) -> Form:
    """Return the cost formula of the pipelined broadcast along one tree (Theorems 2 and 3).

    In the all-port model the time is (D + p - 1)(T_s + m/(p(n-1)) T_c), and the number of steps is
    exact. In the one-port model it is n-1 times that, and the number of steps is too large by less
    than n-1. The number of bytes is too small by a factor of n-1, because one tree carries all p
    segments of m/p bytes.
    """
    steps = (topology.diameter + segments - 1) * sub_slots(topology, ports)
    packet = Fraction(1, segments * topology.degree)
    note = (
        f"the bytes are {topology.degree} times too few: one tree carries all segments"
        if topology.degree > 1
        else ""
    )
    return stepwise_form(
        steps, packet, segments * (topology.nodes - 1), f"{PAPER}, Theorems 2 and 3", note
    )


def multiple(topology: Topology, ports: str, segments: int) -> Form:
    """Return the cost formula of a pipelined broadcast along multiple trees (Theorems 8 and 9).

    In the all-port model the time is (2D + p - 1)(T_s + m/(p(n-1)) T_c); in the one-port model it
    is n-1 times that. The number of steps is an upper bound, because 2D bounds the height (Theorem
    7). The bytes of a step are too few if trees share a link: the paper assumes one segment per
    packet, but a packet may have as many segments as the congestion of the trees. For k = 1 and n >
    2 both numbers are exact.
    """
    steps = (2 * topology.diameter + segments - 1) * sub_slots(topology, ports)
    units = segments * topology.degree
    note = (
        ""
        if topology.k == 1 and topology.n > 2
        else "2D can exceed the trees' height; the bytes are too few where trees share a link"
    )
    return stepwise_form(
        steps, Fraction(1, units), units * (topology.nodes - 1), f"{PAPER}, Theorems 8 and 9", note
    )


def greedy_allgather(topology: Topology, ports: str) -> Form:
    """Return the cost formula of the allgather along one tree per source (Theorems 4 and 5).

    In the all-port model the time is D T_s + (N-1)/(n-1) m T_c. The start-ups are exact. The bytes
    are a lower bound, attained only for k = 1, since otherwise the links of a level carry packets
    of different sizes.

    In the one-port model the time is n(n-1)D T_s + (N-1) m T_c. The bytes are exact, because all
    links of a level and a port carry the same number. There are n times too many start-ups, and not
    all start-ups of the last step are needed.
    """
    steps = topology.diameter * sub_slots(topology, ports) * (topology.n if ports == "one" else 1)
    sent = topology.nodes * (topology.nodes - 1)
    uneven = (
        "the bytes are too few: the links of a level carry different packets"
        if int(topology.k or 0) > 1
        else ""
    )
    note = uneven if ports == "all" else "the start-ups are n times too many"
    return Form(
        steps, _allgather_bytes(topology, ports), sent, f"{PAPER}, Theorems 4 and 5", steps, note
    )


def multiple_allgather(topology: Topology, ports: str) -> Form:
    """Return the cost formula of the allgather along multiple spanning trees (Theorems 10 and 11).

    In the all-port model the time is (2D-1) T_s + (N-1)/(n-1) m T_c; in the one-port model it is
    (n-1)(2D-1) T_s + (N-1) m T_c. The start-ups can be too few or too many: 2D - 1 is one too few
    if a tree has height 2D, and too many if all trees are lower than 2D - 1. The bytes are a lower
    bound.
    """
    steps = (2 * topology.diameter - 1) * sub_slots(topology, ports)
    sent = topology.nodes * topology.degree * (topology.nodes - 1)
    note = (
        "the start-ups can be too few or too many; the bytes can be too few"
        if topology.degree > 1
        else ""
    )
    return Form(
        steps, _allgather_bytes(topology, ports), sent, f"{PAPER}, Theorems 10 and 11", steps, note
    )


def chen(topology: Topology, ports: str) -> Form:
    """Return the cost formula of the broadcast of Y.S. Chen & Tai [4], as printed in Table 1.

    In the all-port model it is (2D-1) T_s + 4/(n-1) m T_c; in the one-port model it is (2nk - n -
    k^2) T_s + (2 + (n-k-2)(n-k+1)!/n!) m T_c.
    """
    n, k = topology.n, int(topology.k or 0)
    source = f"{PAPER}, Table 1 [4]"
    if ports == "all":
        return Form(2 * topology.diameter - 1, Fraction(4, topology.degree), None, source, None)
    bytes_per_m = 2 + Fraction((n - k - 2) * factorial(n - k + 1), factorial(n))
    return Form(2 * n * k - n - k * k, bytes_per_m, None, source, None)


def greedy_as_printed(topology: Topology, segments: int) -> Form:
    """Return the all-port cost formula of one tree in Table 1, one start-up above Theorem 2.

    The printed formula is D T_s + m/(n-1) T_c + 2 sqrt(m(D-1) T_s T_c/(n-1)). As in Theorem 2, the
    square root comes from the optimal real p. For any p the form is (D+p-1)(T_s + m/(p(n-1)) T_c) +
    T_s.
    """
    theorem = greedy(topology, "all", segments)
    return Form(
        theorem.start_ups + 1,
        theorem.bytes_per_m,
        None,
        f"{PAPER}, Table 1 as printed",
        None,
        theorem.note,
    )


def multiple_as_printed(topology: Topology) -> Form:
    """Return the all-port cost formula of the multiple spanning trees in Table 1, as printed.

    It is (2D-1) T_s + (N-1)/(n-1) m T_c.

    Theorem 8 has 1/(n-1) instead of (N-1)/(n-1): the printed row repeats the row of Table 2.
    """
    bytes_per_m = _allgather_bytes(topology, "all")
    return Form(2 * topology.diameter - 1, bytes_per_m, None, f"{PAPER}, Table 1 as printed", None)


def _allgather_bytes(topology: Topology, ports: str) -> Fraction:
    return Fraction((topology.nodes - 1) * sub_slots(topology, ports), topology.degree)
