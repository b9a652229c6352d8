"""Costs of algorithms as docs/definitions states them, computed without the code of starcast.

Some formulas are sums where starcast uses closed forms.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import ceil, comb, factorial
from typing import NamedTuple

from oracles import nk_star as nk
from oracles import rotation
from oracles.star_graph import ceil_log2, diameter, distance_sum_formula
from oracles.tseng_sheu import height_of_multiple


class Cost(NamedTuple):
    """The cost of a schedule.

    ``share`` is the number of bytes sent in sequence, as a multiple of the message size m.
    ``transmissions`` is None if the definition page does not state it.
    """

    start_ups: int
    share: Fraction
    transmissions: int | None


class Size(NamedTuple):
    """Topology properties that determine costs; t is the sum of distances from a node."""

    n: int
    k: int
    nodes: int
    degree: int
    diameter: int
    t: int

    @property
    def others(self) -> int:
        """The number of nodes minus one."""
        return self.nodes - 1


class Asked(NamedTuple):
    """The arguments of an algorithm: port model, number of segments or messages, and copies."""

    ports: str
    share: int = 1
    copies: int = 1

    @property
    def sent(self) -> int:
        """The number of messages with their copies."""
        return self.share * self.copies


@cache
def star(n: int) -> Size:
    """Return the properties of S_n; the sum of distances is computed by its closed form."""
    return Size(n, 0, factorial(n), n - 1, diameter(n), distance_sum_formula(n))


@cache
def nk_star(n: int, k: int) -> Size:
    """Return the properties of S_{n,k}; the distance of each node follows the paper's formulas."""
    nodes = nk.nodes(n, k)
    return Size(n, k, len(nodes), n - 1, nk.diameter(n, k), sum(map(nk.distance, nodes)))


@cache
def cube(d: int) -> Size:
    """Return the properties of Q_d, in which comb(d, i) nodes are at distance i from a node."""
    return Size(d, 0, 2**d, d, d, sum(i * comb(d, i) for i in range(d + 1)))


def size(spec: str) -> Size:
    """Return the properties of the topology with the given name, such as ``S4,2`` or ``Q3``."""
    if spec.startswith("Q"):
        return cube(int(spec[1:]))
    numbers = [int(word) for word in spec[1:].split(",")]
    return nk_star(*numbers) if len(numbers) == 2 else star(*numbers)


Form = Callable[[Size, Asked], Cost]
#: The cost functions of algorithms, by collective and name.
Forms = dict[tuple[str, str], Form]


def _slots(net: Size, asked: Asked) -> int:
    return net.degree if asked.ports == "one" else 1


def _links(net: Size, asked: Asked) -> int:
    return net.degree if asked.ports == "all" else 1


def _equal_steps(steps: int, packet: Fraction, transmissions: int | None) -> Cost:
    return Cost(steps, packet * steps, transmissions)


def _piped(net: Size, asked: Asked, height: int, packet: Fraction, trees: int = 1) -> Cost:
    """Return the cost of a pipeline of p segments, which takes height + p - 1 slots.

    All packets have the same size. A slot has one step, or n-1 steps if one-port.
    """
    steps = (height + asked.share - 1) * _slots(net, asked)
    return _equal_steps(steps, packet, asked.share * trees * net.others)


def _units(steps: Fraction | int, asked: Asked, transmissions: int | None) -> Cost:
    """Return the cost of ``steps`` steps (rounded up), each with packets of m/M bytes."""
    return _equal_steps(ceil(steps), Fraction(1, asked.share), transmissions)


def _multiple(net: Size, asked: Asked) -> Cost:
    height = height_of_multiple(net.n)
    return _piped(net, asked, height, Fraction(2, asked.share * (net.n - 1)), net.n - 1)


def _substar(net: Size, asked: Asked) -> Cost:
    n, m = net.n, asked.share
    steps = 2 * n - 3 + (m - 1) if asked.ports == "all" else sum(range(1, n)) + (m - 1) * (n - 1)
    return _units(steps, asked, m * net.others)


def _dimension_change(net: Size, asked: Asked) -> Cost:
    share = Fraction(net.others, _links(net, asked))
    return Cost(net.diameter * _slots(net, asked), share, net.nodes * (net.n - 1) * net.others)


def _allgather(net: Size, asked: Asked) -> Cost:
    steps = Fraction(asked.share * net.others, _links(net, asked))
    return _units(steps, asked, asked.share * net.nodes * net.others)


def _scatter(net: Size, asked: Asked) -> Cost:
    steps = Fraction(asked.share * net.others, _links(net, asked))
    return _units(steps, asked, asked.share * net.t)


def _alltoall(net: Size, asked: Asked) -> Cost:
    steps = Fraction(asked.share * net.t, _links(net, asked))
    return _units(steps, asked, asked.share * net.nodes * net.t)


def _rounds(net: Size, asked: Asked) -> int:
    """Return the maximum number of copies on a tree if copies are assigned to trees in turn."""
    return max(len(range(tree, asked.sent, net.degree)) for tree in range(net.degree))


def _edt_scatter(net: Size, asked: Asked) -> Cost:
    steps = Fraction(asked.sent * net.others, net.degree)
    levels = asked.sent * levels_of_edt(net)
    return _units(steps, asked, levels if asked.copies == net.degree else None)


def levels_of_edt(net: Size) -> int:
    """Return the sum of the levels of all nodes in an edge-disjoint tree, by its closed form.

    The sum is t_n + (n-1)!(3n - 6 - 2/(n-1)) + 2; t_n is the sum of distances from a node.
    """
    n = net.n
    return int(net.t + factorial(n - 1) * (3 * n - 6 - Fraction(2, n - 1)) + 2)


def _nk_allgather(net: Size, asked: Asked, start_ups: int, trees: int) -> Cost:
    share = Fraction(net.others, _links(net, asked))
    return Cost(start_ups, share, net.nodes * trees * net.others)


def _theorem_5(net: Size, asked: Asked) -> int:
    return net.diameter if asked.ports == "all" else net.n * (net.n - 1) * net.diameter


def _with_reductions(forms: Forms) -> Forms:
    """Return the cost functions, with gathers, reductions and allreduces added.

    A gather is a reversed scatter, and a reduction is a reversed broadcast or allgather, with the
    same costs. An allreduce is a reduction followed by its reverse.
    """
    backwards = {"scatter": "gather", "broadcast": "reduce", "allgather": "reduce-scatter"}
    added: Forms = {}
    for (collective, name), form in forms.items():
        if collective in backwards:
            added[backwards[collective], name] = form
        # The allreduce `binomial` consists of the reduce-scatter and the allgather of this name.
        if collective == "broadcast":
            added.setdefault(("allreduce", name), _along_trees(name, form))
        if collective == "allgather":
            added["allreduce", name] = _in_blocks(form)
    return forms | added


def _in_blocks(half: Form) -> Form:
    def both(net: Size, asked: Asked) -> Cost:
        cost = half(net, asked)
        sent = None if cost.transmissions is None else 2 * cost.transmissions
        return Cost(2 * cost.start_ups, 2 * cost.share / net.nodes, sent)

    return both


def _along_trees(name: str, half: Form) -> Form:
    """Return the cost function of an allreduce up and down the trees of a broadcast.

    With one tree of height h and all-port nodes, p segments take 2h + p - 1 steps.
    """

    def both(net: Size, asked: Asked) -> Cost:
        cost = half(net, asked)
        sent = None if cost.transmissions is None else 2 * cost.transmissions
        if asked.ports == "all" and name in ("greedy", "recursive-substar") and asked.share > 1:
            steps = 2 * cost.start_ups - (asked.share - 1)
            return Cost(steps, steps * Fraction(1, asked.share), sent)
        return Cost(2 * cost.start_ups, 2 * cost.share, sent)

    return both


#: The cost functions of the algorithms that a definition page describes.
PAGE: Forms = _with_reductions({
    ("allgather", "ring"): lambda net, asked: _units(
        Fraction(asked.share * net.others, 1 if asked.ports == "one" else 2),
        asked,
        asked.share * net.nodes * net.others,
    ),
    ("allgather", "binomial"): lambda net, _: Cost(
        net.n, Fraction(net.others), net.nodes * net.others
    ),
    ("broadcast", "greedy"): lambda net, asked: _piped(
        net, asked, net.diameter, Fraction(1, asked.share)
    ),
    ("broadcast", "multiple"): _multiple,
    ("broadcast", "recursive-substar"): _substar,
    ("broadcast", "edge-disjoint"): lambda net, asked: _units(
        _rounds(net, asked) + net.diameter + 3, asked, asked.sent * net.others
    ),
    ("broadcast", "nk-greedy"): lambda net, asked: _piped(
        net, asked, net.diameter, Fraction(1, asked.share * (net.n - 1))
    ),
    ("broadcast", "nk-multiple"): lambda net, asked: _piped(
        net, asked, 2 * net.diameter, Fraction(1, asked.share * (net.n - 1)), net.n - 1
    ),
    ("broadcast", "binomial"): lambda net, asked: _piped(
        net, asked, net.n, Fraction(1, asked.share)
    ),
    ("broadcast", "edge-disjoint-binomial"): lambda net, asked: _units(
        _rounds(net, asked) + net.n, asked, asked.sent * net.others
    ),
    ("allgather", "dimension-change"): _dimension_change,
    ("allgather", "rotated-hamiltonian"): _allgather,
    ("allgather", "necklace"): _allgather,
    ("allgather", "hamiltonian-cycle"): _allgather,
    ("allgather", "edge-disjoint"): lambda net, asked: _units(
        _rounds(net, asked) * net.others, asked, asked.sent * net.nodes * net.others
    ),
    ("allgather", "nk-greedy"): lambda net, asked: _nk_allgather(
        net, asked, _theorem_5(net, asked), 1
    ),
    ("allgather", "nk-multiple"): lambda net, asked: _nk_allgather(
        net, asked, (2 * net.diameter - 1) * _slots(net, asked), net.n - 1
    ),
    ("scatter", "balanced"): _scatter,
    ("scatter", "near-balanced"): lambda net, asked: _units(
        asked.share * len(rotation.necklaces(net.n)), asked, asked.share * net.t
    ),
    ("scatter", "perfectly-balanced"): _scatter,
    ("scatter", "one-port"): _scatter,
    ("scatter", "edge-disjoint"): _edt_scatter,
    ("alltoall", "necklace"): lambda net, asked: _units(
        sum(rotation.necklace_distances(net.n)), asked, net.nodes * net.t
    ),
    ("alltoall", "perfectly-balanced"): _alltoall,
    ("alltoall", "exact"): _alltoall,
    ("alltoall", "one-port"): _alltoall,
    ("alltoall", "edge-disjoint"): lambda net, asked: _units(
        _rounds(net, asked) * levels_of_edt(net), asked, asked.sent * net.nodes * levels_of_edt(net)
    ),
})  # fmt: skip
#: Algorithms whose cost on the definition page is a sum over all nodes.
BY_NODES = {("scatter", "near-balanced"), ("gather", "near-balanced"), ("alltoall", "necklace")}


def bound_terms(net: Size, collective: str, ports: str) -> tuple[int, Fraction]:
    """Return a lower bound on the start-ups, and one on the bytes sent, as a multiple of m.

    The bounds are Tseng & Sheu's Lemmas 1 and 2, and Fragopoulou & Akl's (1993) Tables 4 and 5,
    with additional bounds for gathers, reductions and allreduces.
    """
    others = net.others
    work: dict[str, Fraction | int] = {
        "broadcast": 1,
        "reduce": 1,
        "allgather": others,
        "reduce-scatter": others,
        "allreduce": Fraction(2 * others, net.nodes),
        "scatter": others,
        "gather": others,
        "alltoall": net.t,
    }
    through = work[collective]
    if ports == "all":
        return net.diameter, Fraction(through, net.degree)
    return max(net.diameter, ceil_log2(net.nodes)), Fraction(through)


def least_steps(net: Size, collective: str, asked: Asked) -> int:
    """Return the lower bound on the number of steps.

    The bound follows Fragopoulou & Akl (1993, Tables 4, 5; 1996, Tables 1 to 3). For a
    broadcast or reduce, it includes the further steps that the last message takes on its path.
    """
    start_ups, through = bound_terms(net, collective, asked.ports)
    full = ceil(asked.sent * through)
    if collective == "allreduce":
        return max(full, start_ups)
    return full + start_ups - 1 if collective in ("broadcast", "reduce") else full


def least_transmissions(net: Size, collective: str, asked: Asked) -> int:
    """Return the lower bound on transmissions, based on the tables that `least_steps` names."""
    others, nodes = net.others, net.nodes
    each = {
        "broadcast": others,
        "reduce": others,
        "allgather": nodes * others,
        "reduce-scatter": nodes * others,
        "allreduce": 2 * others,
        "scatter": net.t,
        "gather": net.t,
        "alltoall": nodes * net.t,
    }
    return asked.sent * each[collective]


def cited(name: str, collective: str, ports: str, net: Size, pieces: int) -> Cost:
    """Return the corrected cost in a table row that cites another paper.

    The tables are Tables 1 and 2 of Tseng & Sheu, and Table 1 of Li, Chen, Xiang & Yao.
    """
    n = net.n
    phases = sum(ceil_log2(i) for i in range(2, n + 1))
    others = net.others
    rows = {
        ("Day & Tripathi [7]", "broadcast"): lambda: _equal_steps(
            net.diameter + pieces - 1, Fraction(1, pieces), None
        ),
        ("Misic & Jovanovic [13]", "broadcast"): lambda: _equal_steps(
            comb(n, 2), Fraction(1), None
        ),
        ("Akl et al. [2]", "broadcast"): lambda: _equal_steps(phases, Fraction(1), None),
        ("Mendia & Sarkar [12]", "broadcast"): lambda: _equal_steps(phases, Fraction(1), None),
        ("Sheu et al. [17]", "broadcast"): lambda: _equal_steps(
            phases + (pieces - 1) * ceil_log2(n), Fraction(1, pieces), None
        ),
        ("Fragopoulou & Akl [8] HAM", "allgather"): lambda: Cost(
            factorial(n - 1), Fraction(others, n - 1), None
        ),
        ("Fragopoulou & Akl [8] NL", "allgather"): lambda: Cost(
            net.diameter, Fraction(others, n - 1), None
        ),
        ("Misic & Jovanovic [13]", "allgather"): lambda: _equal_steps(others, Fraction(1), None),
        ("Y.S. Chen & Tai [4]", "broadcast"): lambda: _chen(net, ports),
        ("one tree SP, as printed", "broadcast"): lambda: Cost(
            net.diameter + pieces,
            (net.diameter + pieces - 1) * Fraction(1, pieces * (n - 1)),
            None,
        ),
        ("trees MT, as printed", "broadcast"): lambda: Cost(
            2 * net.diameter - 1, Fraction(others, n - 1), None
        ),
    }
    return rows[name, collective]()


def _chen(net: Size, ports: str) -> Cost:
    n, k = net.n, net.k
    if ports == "all":
        return Cost(2 * net.diameter - 1, Fraction(4, n - 1), None)
    return Cost(
        2 * n * k - n - k**2, 2 + Fraction((n - k - 2) * factorial(n - k + 1), factorial(n)), None
    )
