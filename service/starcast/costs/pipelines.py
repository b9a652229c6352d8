"""Cost formulas of tree-based algorithms, grouped by the paper that states them.

The papers are Tseng & Sheu 1997 (S_n), Li, Chen, Xiang & Yao (S_{n,k}) and Johnsson & Ho 1989
(Q_d). Formulas of other papers are included only if the tables of the first two papers cite them.

The notation follows docs/definitions/tseng-sheu.md, A6: m bytes per message, p segments per tree, h
the largest height of a tree, D the diameter, N the number of nodes. A slot (step) of the all-port
model becomes ``degree`` sub-slots in the one-port model (Tseng & Sheu 1997, Theorem 2).
"""

from collections.abc import Callable
from fractions import Fraction
from math import comb, factorial, gcd

from starcast.costs.model import Form, ceil_log2, stepwise_form
from starcast.support.integers import ceil_div
from starcast.topologies import Topology
from starcast.trees import forest

TSENG_SHEU = "Tseng & Sheu 1997"
LI = "Li, Chen, Xiang & Yao"
JOHNSSON_HO = "Johnsson & Ho 1989"


def phases(n: int) -> int:
    """Return the number of steps of the one-port broadcast by substars on S_n.

    This number is the sum of ceil(log2 i) for i = 2..n.

    Reference:
        Tseng & Sheu 1997, section 6.1.
    """
    return sum(ceil_log2(i) for i in range(2, n + 1))


def greatest_proper_divisor(n: int) -> int:
    """Return the largest divisor of n below n, for n >= 2."""
    # The values of gcd(n, i) are the proper divisors of n.
    return max(gcd(n, i) for i in range(1, n))


def multiple_height(n: int) -> int:
    """Return h, the largest height among the multiple spanning trees of Tseng & Sheu 1997.

    The height is D_n + n + g - 2, where g is the largest proper divisor of n; for n = 2 it is 1.
    """
    return 1 if n == 2 else 3 * (n - 1) // 2 + n + greatest_proper_divisor(n) - 2


def tree_height(topology: Topology, construction: str) -> int:
    """Return the height of a construction's single spanning tree on S_n.

    The tree is built only if no formula for its height is known.

    A tree of rotated Hamiltonian paths consists of paths of (n-1)! nodes. The labels of the paths'
    ends are rotations of one another, so one of these labels begins with n. For n >= 3, phase 2 of
    the construction attaches a leaf to this end, and the height is (n-1)! + 1. Tseng & Sheu
    (section 6.2) state a height of about (n-1)!.
    """
    n = topology.n
    if construction in ("greedy", "necklace", "balanced", "near-balanced"):
        return topology.diameter
    heights = {
        "recursive-substar": 2 * n - 3,
        "rotated-hamiltonian": factorial(n - 1) + (n > 2),
        "hamiltonian-cycle": topology.nodes - 1,
    }
    if construction in heights:
        return heights[construction]
    return forest(topology, construction).height


def _sub_slots(topology: Topology, ports: str) -> int:
    """Return the number of sub-slots per slot: the degree in the one-port model, else 1."""
    return topology.degree if ports == "one" else 1


def _idle_note(topology: Topology, ports: str) -> str:
    """Return the note that the formula of a one-port pipeline counts idle sub-slots.

    The note is empty in the all-port model, and for degree 1.
    """
    if _sub_slots(topology, ports) == 1:
        return ""
    return "an upper bound: sub-slots in which nothing is sent are counted"


def _pipeline(
    topology: Topology,
    ports: str,
    height: int,
    segments: int,
    source: str,
    note: str = "",
    trees: int = 1,
    packet: Fraction | None = None,
) -> Form:
    """Return the cost formula of a pipeline of p segments along trees.

    The pipeline takes height + p - 1 all-port steps. The argument ``packet`` is the size of a
    packet, divided by the size of the message (default: one segment per packet).
    """
    steps = (height + segments - 1) * _sub_slots(topology, ports)
    units = segments * trees
    sent = units * (topology.nodes - 1)
    return stepwise_form(steps, packet or Fraction(1, units), sent, source, note)


def _spread(
    topology: Topology, ports: str, start_ups: int, trees: int, source: str, note: str = ""
) -> Form:
    """Return the cost formula of an allgather, assuming that it uses all links equally.

    Args:
        topology: the topology on which the allgather runs.
        ports: the port model, ``all`` or ``one``.
        start_ups: the number of start-ups, one per step.
        trees: the number of trees; each carries one unit, which is a part of the message.
        source: the paper, and the number of the theorem.
        note: the difference between an execution and the formula.
    """
    others = topology.nodes - 1
    sent = topology.nodes * trees * others
    return Form(start_ups, _allgather_bytes(topology, ports), sent, source, start_ups, note)


def _allgather_bytes(topology: Topology, ports: str) -> Fraction:
    return Fraction((topology.nodes - 1) * _sub_slots(topology, ports), topology.degree)


# The algorithms of Tseng & Sheu 1997


def greedy(topology: Topology, ports: str, segments: int) -> Form:
    """Return the cost formula of a pipelined broadcast along one tree of height D_n.

    Row [7] of Table 1 of Tseng & Sheu 1997 states this formula.

    In the all-port model the time is (D_n + p - 1)(T_s + m/p T_c), which is exact. In the one-port
    model a step (slot) becomes n-1 sub-slots, so the time is n-1 times as long. The formula counts
    all sub-slots of the last slot, but an execution ends with the last sub-slot that is used, which
    can be up to n-2 sub-slots earlier. For even n, executions end with the last sub-slot of the
    last slot (checked for n = 2..8).
    """
    source = f"{TSENG_SHEU}, section 4 and Table 1 [7]"
    note = _idle_note(topology, ports) if topology.n % 2 else ""
    return _pipeline(topology, ports, topology.diameter, segments, source, note)


def multiple(topology: Topology, ports: str, segments: int) -> Form:
    """Return the cost formula of a pipelined broadcast along multiple trees.

    Tseng & Sheu 1997 state this formula as equation (3).

    In the all-port model the time is (h + p - 1)(T_s + 2m/(p(n-1)) T_c), where h is
    `multiple_height`; the number of steps is exact. In the one-port model the time is n-1 times as
    long (Theorem 2), and the formula exceeds the actual number of steps by less than n-1. The bytes
    are an upper bound, because the formula assumes that trees share a link in every step. On S_2,
    and in steps without a shared link, packets are smaller.
    """
    source = f"{TSENG_SHEU}, equation (3), Theorems 1 and 2"
    note = "the bytes are an upper bound: a step in which no link is shared is shorter"
    height, trees = multiple_height(topology.n), topology.degree
    packet = Fraction(2, segments * trees)
    return _pipeline(topology, ports, height, segments, source, note, trees, packet)


def recursive_substar(topology: Topology, ports: str, messages: int) -> Form:
    """Return the cost formula of a broadcast of M messages by recursive substars.

    Row [16] of Table 1 of Tseng & Sheu 1997 states this formula.

    In the all-port model the time is (2n-4+M)(T_s + m/M T_c). In the one-port model the broadcast
    takes n(n-1)/2 + (M-1)(n-1) steps. Both formulas are exact. Sheu, Liaw & Chen 1993 state only
    the orders O(M + n) and O(Mn + n^2). The one-port number is derived in
    docs/definitions/tseng-sheu.md, B2.
    """
    n = topology.n
    steps = n * (n - 1) // 2 + (messages - 1) * (n - 1) if ports == "one" else 2 * n - 4 + messages
    source = f"Sheu, Liaw & Chen 1993, section 3; {TSENG_SHEU}, Table 1 [16]"
    return stepwise_form(steps, Fraction(1, messages), messages * (topology.nodes - 1), source)


def dimension_change(topology: Topology, ports: str, base: str) -> Form:
    """Return the cost formula of the allgather along dimension-changed trees.

    Tseng & Sheu 1997 state this formula as Theorem 3.

    In the all-port model the time is D_n T_s + (n!-1)/(n-1) m T_c, in the one-port model (n-1) D_n
    T_s + (n!-1) m T_c (section 5.2). Both formulas are exact. If the tree has a height other than
    D_n, the tree's height replaces D_n.
    """
    start_ups = tree_height(topology, base) * _sub_slots(topology, ports)
    source = f"{TSENG_SHEU}, Theorem 3 and section 5.2"
    return _spread(topology, ports, start_ups, topology.degree, source)


# Pipelined broadcasts that Table 1 of Tseng & Sheu 1997 cites (section 6.1)


def day_tripathi(topology: Topology, segments: int) -> Form:
    """Return the cost formula of the pipelined broadcast of Day & Tripathi.

    The time is (D_n + p - 1)(T_s + m/p T_c), because the broadcast uses a greedy tree of height
    D_n. Tseng & Sheu 1997 cite the algorithm as [7] and state the formula in section 6.1.
    """
    steps = topology.diameter + segments - 1
    return stepwise_form(steps, Fraction(1, segments), None, f"{TSENG_SHEU}, Table 1 [7]")


def sheu_1995(topology: Topology, segments: int) -> Form:
    """Return the cost formula of the pipelined broadcast of Sheu et al. 1995.

    The time is (S + (p-1)k)(T_s + m/p T_c), where S is the sum of ceil(log2 i) for i = 2..n, and k
    = ceil(log2 n). Tseng & Sheu 1997 cite the algorithm as [17] and state the time in section 6.1.
    They write n log2 n for S and log2 n for k, which in general are not integers.

    Without segments the algorithm takes S steps, like the algorithms cited as [2] and [12]. Unlike
    those algorithms, it can be pipelined, because no node receives a message twice.
    """
    steps = phases(topology.n) + (segments - 1) * ceil_log2(topology.n)
    return stepwise_form(steps, Fraction(1, segments), None, f"{TSENG_SHEU}, Table 1 [17]")


# Algorithms without segments that Tables 1 and 2 of Tseng & Sheu 1997 cite (sections 6.1 and 6.2)


def _whole_messages(steps: Callable[[Topology], int], row: str) -> Callable[[Topology], Form]:
    """Return a function that returns the cost formula of an algorithm that sends whole messages.

    The time is steps * (T_s + m T_c).

    Args:
        steps: a function that returns the number of steps on a topology.
        row: the table and the row of Tseng & Sheu 1997.
    """
    return lambda topology: stepwise_form(steps(topology), 1, None, f"{TSENG_SHEU}, {row}")


def _all_links(steps: Callable[[Topology], int], row: str) -> Callable[[Topology], Form]:
    """Return a function that returns the cost formula of an allgather that uses all links equally.

    The time is steps * T_s + (n!-1)/(n-1) m T_c. `_whole_messages` describes the arguments.
    """

    def form(topology: Topology) -> Form:
        count = steps(topology)
        bytes_per_m = Fraction(topology.nodes - 1, topology.degree)
        return Form(count, bytes_per_m, None, f"{TSENG_SHEU}, {row}", count)

    return form


misic_jovanovic = _whole_messages(lambda topology: comb(topology.n, 2), "Table 1 [13]")
akl = _whole_messages(lambda topology: phases(topology.n), "Table 1 [2]")
mendia_sarkar = _whole_messages(lambda topology: phases(topology.n), "Table 1 [12]")
misic_allgather = _whole_messages(lambda topology: topology.nodes - 1, "Table 2 [13]")
# The number of steps is the height of the trees, which is about (n-1)! according to the paper.
hamiltonian_paths = _all_links(lambda topology: factorial(topology.n - 1), "Table 2 [8] HAM")
necklaces = _all_links(lambda topology: topology.diameter, "Table 2 [8] NL")


# Li, Chen, Xiang & Yao: Theorems 2 to 11, and Tables 1 and 2
#
# The theorems state times for the optimal real number p of segments. The formulas of the functions
# below hold for any integer p.


def nk_greedy(topology: Topology, ports: str, segments: int) -> Form:
    """Return the cost formula of the pipelined broadcast along one tree.

    Li et al. state this formula in Theorems 2 and 3. D is the diameter of S_{n,k}.

    In the all-port model the time is (D + p - 1)(T_s + m/(p(n-1)) T_c), and the number of steps is
    exact. In the one-port model the time is n-1 times as long, and the formula exceeds the actual
    number of steps by less than n-1. The actual number of bytes is n-1 times as large as in the
    formula, because one tree carries all p segments of m/p bytes.
    """
    note = ""
    if topology.degree > 1:
        note = (
            f"the bytes are too few by a factor of {topology.degree}: one tree carries all segments"
        )
    source, packet = f"{LI}, Theorems 2 and 3", Fraction(1, segments * topology.degree)
    return _pipeline(topology, ports, topology.diameter, segments, source, note, packet=packet)


def nk_multiple(topology: Topology, ports: str, segments: int) -> Form:
    """Return the cost formula of a pipelined broadcast along multiple trees.

    Li et al. state this formula in Theorems 8 and 9. D is the diameter of S_{n,k}.

    In the all-port model the time is (2D + p - 1)(T_s + m/(p(n-1)) T_c); in the one-port model it
    is n-1 times as long. The number of steps is an upper bound, because 2D is an upper bound on the
    height (Theorem 7). The bytes of a step are too few if trees share a link: the paper assumes one
    segment per packet, but a packet may have as many segments as the congestion of the trees. For k
    = 1 and n > 2 the steps and the bytes are exact.
    """
    note = "2D can exceed the trees' height; the bytes are too few where trees share a link"
    if topology.k == 1 and topology.n > 2:
        note = ""
    source = f"{LI}, Theorems 8 and 9"
    return _pipeline(
        topology, ports, 2 * topology.diameter, segments, source, note, topology.degree
    )


def nk_greedy_allgather(topology: Topology, ports: str) -> Form:
    """Return the cost formula of the allgather along one tree per source.

    Li et al. state this formula in Theorems 4 and 5. D is the diameter of S_{n,k}.

    In the all-port model the time is D T_s + (N-1)/(n-1) m T_c. The start-ups are exact. The bytes
    are a lower bound, attained only for k = 1, since otherwise the links of a level carry packets
    of different sizes.

    In the one-port model the time is n(n-1)D T_s + (N-1) m T_c. The bytes are exact, because all
    links of a level and a port carry the same number of bytes. The D steps have (n-1)D sub-slots,
    but the formula has n times as many start-ups. In addition, an execution does not need all
    sub-slots of the last step.
    """
    start_ups = topology.diameter * _sub_slots(topology, ports)
    note = ""
    if ports == "one":
        start_ups *= topology.n
        note = "the start-ups are too many by a factor of n"
    elif int(topology.k or 0) > 1:
        note = "the bytes are too few: the links of a level carry different packets"
    return _spread(topology, ports, start_ups, 1, f"{LI}, Theorems 4 and 5", note)


def nk_multiple_allgather(topology: Topology, ports: str) -> Form:
    """Return the cost formula of the allgather along multiple spanning trees.

    Li et al. state this formula in Theorems 10 and 11. D is the diameter of S_{n,k}.

    In the all-port model the time is (2D-1) T_s + (N-1)/(n-1) m T_c; in the one-port model the time
    is (n-1)(2D-1) T_s + (N-1) m T_c. The start-ups can be too few or too many: 2D - 1 is one too
    few if a tree has height 2D, and too many if all trees are lower than 2D - 1. The bytes are a
    lower bound.
    """
    start_ups = (2 * topology.diameter - 1) * _sub_slots(topology, ports)
    note = ""
    if topology.degree > 1:
        note = "the start-ups can be too few or too many; the bytes can be too few"
    source = f"{LI}, Theorems 10 and 11"
    return _spread(topology, ports, start_ups, topology.degree, source, note)


def chen(topology: Topology, ports: str) -> Form:
    """Return the cost formula of the broadcast of Y.S. Chen & Tai, as Li et al. print it.

    The formula is row [4] of Table 1; D is the diameter. In the all-port model the time is (2D-1)
    T_s + 4/(n-1) m T_c. In the one-port model the time is (2nk - n - k^2) T_s + (2 +
    (n-k-2)(n-k+1)!/n!) m T_c.
    """
    n, k = topology.n, int(topology.k or 0)
    source = f"{LI}, Table 1 [4]"
    if ports == "all":
        return Form(2 * topology.diameter - 1, Fraction(4, topology.degree), None, source, None)
    bytes_per_m = 2 + Fraction((n - k - 2) * factorial(n - k + 1), factorial(n))
    return Form(2 * n * k - n - k * k, bytes_per_m, None, source, None)


def nk_greedy_as_printed(topology: Topology, segments: int) -> Form:
    """Return the all-port broadcast cost along one tree, as printed in Li et al., Table 1.

    The printed time D T_s + m/(n-1) T_c + 2 sqrt(m(D-1) T_s T_c/(n-1)) has one start-up more than
    the time in Theorem 2, and assumes the optimal real p. For any p the time is (D+p-1)(T_s +
    m/(p(n-1)) T_c) + T_s.
    """
    theorem = nk_greedy(topology, "all", segments)
    source = f"{LI}, Table 1 as printed"
    return Form(theorem.start_ups + 1, theorem.bytes_per_m, None, source, None, theorem.note)


def nk_multiple_as_printed(topology: Topology) -> Form:
    """Return the all-port broadcast cost along multiple trees, as misprinted in Li et al., Table 1.

    The time is (2D-1) T_s + (N-1)/(n-1) m T_c. In Theorem 8, the coefficient of m T_c is 1/(n-1);
    the table repeats (N-1)/(n-1) from the allgather in Table 2.
    """
    bytes_per_m = _allgather_bytes(topology, "all")
    return Form(2 * topology.diameter - 1, bytes_per_m, None, f"{LI}, Table 1 as printed", None)


# Broadcasts along the trees of Johnsson & Ho 1989


def binomial(topology: Topology, ports: str, segments: int) -> Form:
    """Return the cost formula of a broadcast of p segments along a spanning binomial tree of Q_d.

    In the all-port model the time is (d + p - 1)(T_s + m/p T_c), which is exact. In the one-port
    model the time is d times as long, because every slot has one sub-slot per port (see Theorem 2
    of Tseng & Sheu). The one-port time is an upper bound: it counts all sub-slots of the last slot,
    but an execution ends with the last sub-slot that is used, which can be up to d-1 sub-slots
    earlier.
    """
    source, note = f"{JOHNSSON_HO}, spanning binomial tree", _idle_note(topology, ports)
    return _pipeline(topology, ports, topology.n, segments, source, note)


def edge_disjoint_binomial(topology: Topology, _ports: str, messages: int, copies: int) -> Form:
    """Return the cost formula of a broadcast along d edge-disjoint trees of height d+1 in Q_d.

    For x copies of M messages, the broadcast takes ceil(Mx/d) + d steps and Mx(2^d - 1)
    transmissions.

    The formula is exact except on Q_1, where it has one step too many, because the only tree is a
    single link.
    """
    steps = ceil_div(messages * copies, topology.degree) + topology.n
    transmissions = messages * copies * (topology.nodes - 1)
    source = f"{JOHNSSON_HO}, edge-disjoint spanning binomial trees"
    note = "one step too many: the only tree is one link" if topology.n == 1 else ""
    return stepwise_form(steps, Fraction(1, messages), transmissions, source, note)
