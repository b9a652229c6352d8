"""Cost formulas of Fragopoulou & Akl 1993 (Tables 1 to 3) and 1996 (edge-disjoint trees).

A message of m bytes consists of M unit messages. A link carries one unit message per step, so a
step takes T_s + m/M T_c. N = n!, t_n is the sum of all distances from a node, and h is the number
of necklaces (docs/definitions/fragopoulou-akl.md). Executions agree with a formula unless the
formula's docstring states otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

from starcast.collectives.edge_disjoint import scatter_transmissions
from starcast.costs.model import Form, stepwise_form
from starcast.support.integers import ceil_div
from starcast.topologies import Topology
from starcast.topologies.necklaces import count_fixed, necklace_count
from starcast.trees.edge_disjoint import level_sum

PAPER = "Fragopoulou & Akl 1993"
PAPER_1996 = "Fragopoulou & Akl 1996"
OURS = "starcast"

#: For each collective, a function that returns the number of transmissions on a topology for M = 1.
_TRANSMISSIONS: dict[str, Callable[[Topology], int]] = {
    "allgather": lambda topology: topology.nodes * (topology.nodes - 1),
    "scatter": lambda topology: topology.distance_sum,
    "alltoall": lambda topology: topology.nodes * topology.distance_sum,
}


@dataclass(frozen=True)
class CostFormula:
    """The cost formula of an algorithm of Fragopoulou & Akl 1993.

    Attributes:
        steps: a function that returns the number of steps, called as ``steps(topology, messages)``.
        source: the paper and table or rule that state the formula.
        sends_one_message: whether the source states the formula only for one message; the formula
            for M messages is then starcast's own.
    """

    steps: Callable[[Topology, int], int]
    source: str
    sends_one_message: bool = False

    def form(self, collective: str, topology: Topology, _ports: str, messages: int = 1) -> Form:
        """Return the cost formula for a message that is split into M unit messages."""
        source = self.source
        if self.sends_one_message and messages > 1:
            source = f"{OURS}; {source} states it for one message"
        transmissions = messages * _TRANSMISSIONS[collective](topology)
        steps = self.steps(topology, messages)
        return stepwise_form(steps, Fraction(1, messages), transmissions, source)


def _receive_all(topology: Topology, messages: int) -> int:
    """Return ceil(M(N-1)/(n-1)), the steps to receive M(N-1) messages over n-1 links at a time."""
    return ceil_div(messages * (topology.nodes - 1), topology.degree)


def _receive_one(topology: Topology, messages: int) -> int:
    """Return M(N-1), the steps to receive M(N-1) messages over one link at a time."""
    return messages * (topology.nodes - 1)


def _send_all(topology: Topology, messages: int) -> int:
    """Return ceil(M t_n/(n-1)), the steps of an alltoall of M messages per pair over all links.

    t_n is the sum of all distances from a node, and n-1 the degree.
    """
    return ceil_div(messages * topology.distance_sum, topology.degree)


def necklace_distance_sum(n: int, distance_sum: int) -> int:
    """Return the sum of the distances from node 12..n to all necklaces of S_n.

    A necklace is an orbit of the rotation (docs/definitions/conventions.md). All of its nodes have
    the same distance, and the necklace contributes this distance once.

    By Burnside's lemma, the sum is the mean, over all n-1 rotations, of the total distance of the
    nodes that the rotation fixes.

    Args:
        n: the number of symbols of the star graph S_n.
        distance_sum: t_n, the sum of all distances from a node.
    """
    total = distance_sum + sum(_commuting_distances(n, j) for j in range(1, n - 1))
    # The division is exact: by Burnside's lemma, the total is a multiple of n-1.
    return int(total / (n - 1))


def _commuting_distances(n: int, turns: int) -> Fraction:
    """Return the sum of the distances of all nodes that commute with a rotation by ``turns``.

    Nodes are permutations of n symbols, and distances are measured from the identity 12..n.

    All permutations that commute with the rotation fix symbol 1, so a distance is the number of
    misplaced symbols plus the number of cycles of misplaced symbols. The rotation has g cycles of L
    symbols each. A permutation that commutes with the rotation permutes these g cycles and rotates
    each of them. Consider l cycles that are permuted cyclically: if their rotations add up to b
    places, their l L symbols form gcd(b, L) cycles of the permutation. A random permutation of the
    g cycles has on average 1/l cycles of length l, and all values of b are equally frequent. A
    cycle that is neither moved nor rotated contributes no distance.
    """
    cycles = gcd(turns, n - 1)
    length = (n - 1) // cycles
    splits = [gcd(b, length) for b in range(length)]  # gcd(0, L) = L
    average = Fraction(sum(split + length for split in splits[1:]), length)
    for permuted in range(2, cycles + 1):
        average += Fraction(sum(splits), length * permuted) + length
    return count_fixed(n, turns) * average


#: The cost formulas by collective and algorithm.
ROWS: dict[tuple[str, str], CostFormula] = {
    ("allgather", "rotated-hamiltonian"): CostFormula(
        _receive_all, f"{PAPER}, Table 1 (algorithm 1)"
    ),
    ("allgather", "necklace"): CostFormula(
        _receive_all, f"{PAPER}, Table 1 (algorithm 2)", sends_one_message=True
    ),
    ("allgather", "hamiltonian-cycle"): CostFormula(_receive_one, f"{PAPER}, Table 1 (SLA)"),
    # In the paper all messages to a node take the same path, so M messages need
    # M ceil((N-1)/(n-1)) steps. In starcast messages to the same node can take different paths, so
    # the number of steps is rounded up only once.
    ("scatter", "balanced"): CostFormula(
        _receive_all, f"{PAPER}, Table 2 (balanced)", sends_one_message=True
    ),
    # Table 2 states O(ceil((N-1)/(n-1))). By Rule 5 the number of steps equals the number of nodes
    # in the largest subtree, T_2, which has one node of every necklace.
    ("scatter", "near-balanced"): CostFormula(
        lambda topology, messages: messages * necklace_count(topology.n),
        f"{OURS}; {PAPER}, Table 2 (almost balanced) gives the order of growth",
    ),
    # This scatter, like the alltoall of Rule 10, is defined only if n-1 divides M.
    ("scatter", "perfectly-balanced"): CostFormula(
        _receive_all, f"{PAPER}, Table 2 (perfectly balanced)"
    ),
    ("scatter", "one-port"): CostFormula(_receive_one, f"{PAPER}, Table 2 (SLA)"),  # see Rule 8
    # The alltoall handles one necklace after another, and the number of steps for a necklace is the
    # distance of its nodes. Table 3 states O(ceil(t_n/(n-1))). Rule 9 states h d steps, where d is
    # the mean distance of the nodes. The product h d differs from the sum of the necklaces'
    # distances, because necklaces have different numbers of nodes.
    ("alltoall", "necklace"): CostFormula(
        lambda topology, _messages: necklace_distance_sum(topology.n, topology.distance_sum),
        f"{OURS}; {PAPER}, Table 3 (Rule 9) gives the order of growth",
    ),
    ("alltoall", "perfectly-balanced"): CostFormula(_send_all, f"{PAPER}, Table 3 (Rule 10)"),
    ("alltoall", "exact"): CostFormula(_send_all, OURS),  # section 9 calls this an open problem
    ("alltoall", "one-port"): CostFormula(
        lambda topology, messages: messages * topology.distance_sum,
        f"{PAPER}, Table 3 (SLA)",  # see section 8
    ),
}


# Fragopoulou & Akl 1996: x copies of unit messages along edge-disjoint trees
#
# The paper states times for x = 1, for divisors x of n-1, and for x = n-1. For other x the formulas
# are starcast's own. They use c = ceil(Mx/(n-1)), the largest number of copies along one tree.


def broadcast(topology: Topology, _ports: str, messages: int, copies: int) -> Form:
    """Return the cost formula of a broadcast of x copies along edge-disjoint trees.

    The broadcast takes ceil(Mx/(n-1)) + D_n + 3 steps and Mx(N-1) transmissions.

    The number of steps is an upper bound, because the paper assumes trees of height D_n + 4. For n
    = 3..10 the trees of starcast have the height D_n + 3 for even n and D_n + 2 for odd n. So the
    formula exceeds the actual number by one or two steps (by four on S_2, whose tree is one link).
    """
    steps = ceil_div(messages * copies, topology.degree) + topology.diameter + 3
    excess = "four steps"
    if topology.n > 2:
        excess = "one step" if topology.n % 2 == 0 else "two steps"
    return stepwise_form(
        steps,
        Fraction(1, messages),
        messages * copies * (topology.nodes - 1),
        f"{PAPER_1996}, sections 4.2 and 4.3",
        f"{excess} too many: the trees are lower than the paper assumes",
    )


def allgather(topology: Topology, _ports: str, messages: int, copies: int) -> Form:
    """Return the cost formula of the allgather of x copies along edge-disjoint trees.

    The allgather takes c(N-1) steps, where c = ceil(Mx/(n-1)), and Mx N(N-1) transmissions. The
    formula is exact.

    Section 4.4 states the formula for n-1 copies: M(N-1) steps and M N(n-1)(N-1) transmissions. For
    other numbers of copies the formula is starcast's own. The number ceil(Mx(N-1)/(n-1)) in Table 2
    is the lower bound.
    """
    steps = ceil_div(messages * copies, topology.degree) * (topology.nodes - 1)
    transmissions = messages * copies * topology.nodes * (topology.nodes - 1)
    source = f"{PAPER_1996}, section 4.4"
    if copies != topology.degree:
        source = f"{OURS}; {source} states it for n-1 copies"
    return stepwise_form(steps, Fraction(1, messages), transmissions, source)


def scatter(topology: Topology, _ports: str, messages: int, copies: int) -> Form:
    """Return the cost formula of the scatter of x copies along edge-disjoint trees.

    The scatter takes ceil(Mx(N-1)/(n-1)) steps (Table 2). The formula is exact.

    Section 4.5 states M(N-1) steps for n-1 copies. The transmissions with n-1 copies are M times
    the sum of all levels in all trees, which the paper bounds by a constant times M(n-1) t_n. With
    fewer copies, the transmissions depend on which trees starcast chooses for a node's copies.
    """
    steps = ceil_div(messages * copies * (topology.nodes - 1), topology.degree)
    transmissions = scatter_transmissions(topology, messages, copies)
    source = f"{PAPER_1996}, section 4.5"
    if copies != topology.degree:
        source = f"{OURS}; {PAPER_1996}, Table 2"
    return stepwise_form(steps, Fraction(1, messages), transmissions, source)


def alltoall(topology: Topology, _ports: str, messages: int, copies: int) -> Form:
    """Return the cost formula of the alltoall of x copies along edge-disjoint trees.

    The alltoall takes c L steps, where c = ceil(Mx/(n-1)) and L is the sum of the levels of all
    nodes in a tree, and Mx N L transmissions.

    The formula is exact, and starcast's own. Section 4.6 states M(N-1) + O(M t_n) steps and O(M
    N(n-1) t_n) transmissions for n-1 copies.
    """
    levels = level_sum(topology)
    steps = ceil_div(messages * copies, topology.degree) * levels
    transmissions = messages * copies * topology.nodes * levels
    source = f"{OURS}; {PAPER_1996}, section 4.6 gives the order of growth"
    return stepwise_form(steps, Fraction(1, messages), transmissions, source)
