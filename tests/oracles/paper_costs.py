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
    """Properties of a topology on which costs depend; t is the sum of distances from a node."""

    n: int
    k: int
    nodes: int
    degree: int
    diameter: int
    t: int


class Asked(NamedTuple):
    """The arguments of an algorithm: port model, number of segments or messages, and copies."""

    ports: str
    share: int = 1
    copies: int = 1


@cache
def star(n: int) -> Size:
    """Return the properties of S_n, with the sum of distances by its closed form."""
    return Size(n, 0, factorial(n), n - 1, diameter(n), distance_sum_formula(n))


@cache
def nk_star(n: int, k: int) -> Size:
    """Return the properties of S_{n,k}, with the distance of each node by the paper's formulas."""
    nodes = nk.nodes(n, k)
    return Size(
        n,
        k,
        len(nodes),
        n - 1,
        nk.diameter(n, k),
        sum(nk.distance(v) for v in nodes),
    )


@cache
def cube(d: int) -> Size:
    """Return the properties of Q_d, in which comb(d, i) nodes are at distance i from a node."""
    return Size(d, 0, 2**d, d, d, sum(i * comb(d, i) for i in range(d + 1)))


def size(spec: str) -> Size:
    """Return the properties of the topology with this name, such as ``S4``, ``S4,2`` or ``Q3``."""
    if spec.startswith("Q"):
        return cube(int(spec[1:]))
    numbers = [int(word) for word in spec[1:].split(",")]
    return nk_star(*numbers) if len(numbers) == 2 else star(*numbers)


def _slots(network: Size, asked: Asked) -> int:
    return network.degree if asked.ports == "one" else 1


def _equal_steps(steps: int, packet: Fraction, transmissions: int | None) -> Cost:
    return Cost(steps, packet * steps, transmissions)


def _piped(network: Size, asked: Asked, height: int, packet: Fraction, trees: int = 1) -> Cost:
    """Return the cost of a pipeline of p segments, which takes height + p - 1 slots.

    All packets have the same size. A slot has one step, or n-1 steps if one-port.
    """
    steps = (height + asked.share - 1) * _slots(network, asked)
    return _equal_steps(steps, packet, asked.share * trees * (network.nodes - 1))


def _units(steps: Fraction | int, asked: Asked, transmissions: int | None) -> Cost:
    """Return the cost of a number of steps, rounded up, in which packets have m/M bytes."""
    return _equal_steps(ceil(steps), Fraction(1, asked.share), transmissions)


def _multiple(network: Size, asked: Asked) -> Cost:
    height = height_of_multiple(network.n)
    return _piped(network, asked, height, Fraction(2, asked.share * (network.n - 1)), network.n - 1)


def _substar(network: Size, asked: Asked) -> Cost:
    n, m = network.n, asked.share
    steps = 2 * n - 3 + (m - 1) if asked.ports == "all" else sum(range(1, n)) + (m - 1) * (n - 1)
    return _units(steps, asked, m * (network.nodes - 1))


def _dimension_change(network: Size, asked: Asked) -> Cost:
    others = network.nodes - 1
    share = Fraction(others, network.n - 1) if asked.ports == "all" else Fraction(others)
    return Cost(
        network.diameter * _slots(network, asked), share, network.nodes * (network.n - 1) * others
    )


def _allgather(network: Size, asked: Asked) -> Cost:
    sent = asked.share * network.nodes * (network.nodes - 1)
    links = network.degree if asked.ports == "all" else 1
    return _units(Fraction(asked.share * (network.nodes - 1), links), asked, sent)


def _scatter(network: Size, asked: Asked) -> Cost:
    links = network.degree if asked.ports == "all" else 1
    return _units(
        Fraction(asked.share * (network.nodes - 1), links), asked, asked.share * network.t
    )


def _alltoall(network: Size, asked: Asked) -> Cost:
    links = network.degree if asked.ports == "all" else 1
    return _units(
        Fraction(asked.share * network.t, links), asked, asked.share * network.nodes * network.t
    )


def _rounds(network: Size, asked: Asked) -> int:
    """Return the maximum number of copies on a tree if copies are assigned to trees in turn."""
    return max(
        len(range(tree, asked.share * asked.copies, network.degree))
        for tree in range(network.degree)
    )


def _edt_scatter(network: Size, asked: Asked) -> Cost:
    steps = Fraction(asked.share * asked.copies * (network.nodes - 1), network.degree)
    levels = asked.share * asked.copies * levels_of_edt(network)
    return _units(steps, asked, levels if asked.copies == network.degree else None)


def levels_of_edt(network: Size) -> int:
    """Return the sum of the levels of all nodes in an edge-disjoint tree, by its closed form.

    It is t_n + (n-1)!(3n - 6 - 2/(n-1)) + 2, where t_n is the sum of distances from a node.
    """
    n = network.n
    return int(network.t + factorial(n - 1) * (3 * n - 6 - Fraction(2, n - 1)) + 2)


def _nk_allgather(network: Size, asked: Asked, start_ups: int, trees: int) -> Cost:
    share = (
        Fraction(network.nodes - 1)
        if asked.ports == "one"
        else Fraction(network.nodes - 1, network.n - 1)
    )
    return Cost(start_ups, share, network.nodes * trees * (network.nodes - 1))


def _theorem_5(network: Size, asked: Asked) -> int:
    return (
        network.diameter if asked.ports == "all" else network.n * (network.n - 1) * network.diameter
    )


def _as_gather(
    forms: dict[tuple[str, str], Callable[[Size, Asked], Cost]],
) -> dict[tuple[str, str], Callable[[Size, Asked], Cost]]:
    return forms | {
        ("gather", name): form
        for (collective, name), form in forms.items()
        if collective == "scatter"
    }


def _with_reductions(
    forms: dict[tuple[str, str], Callable[[Size, Asked], Cost]],
) -> dict[tuple[str, str], Callable[[Size, Asked], Cost]]:
    """Add the costs of reductions and allreduces to those of broadcasts and allgathers.

    A reduction runs a broadcast or an allgather backwards and has the same cost. An allreduce is a
    reduction followed by its reverse.
    """
    reductions: dict[tuple[str, str], Callable[[Size, Asked], Cost]] = {
        ({"broadcast": "reduce", "allgather": "reduce-scatter"}[collective], name): form
        for (collective, name), form in forms.items()
        if collective in ("broadcast", "allgather")
    }
    for collective, both in (("broadcast", _along_trees), ("allgather", _in_blocks)):
        reductions |= {
            ("allreduce", name): both(name, form)
            for (of, name), form in forms.items()
            if of == collective
        }
    return forms | reductions


def _in_blocks(_name: str, half: Callable[[Size, Asked], Cost]) -> Callable[[Size, Asked], Cost]:
    def both(network: Size, asked: Asked) -> Cost:
        cost = half(network, asked)
        sent = None if cost.transmissions is None else 2 * cost.transmissions
        return Cost(2 * cost.start_ups, 2 * cost.share / network.nodes, sent)

    return both


def _along_trees(name: str, half: Callable[[Size, Asked], Cost]) -> Callable[[Size, Asked], Cost]:
    """Return the cost function of an allreduce up and down the trees of a broadcast.

    With one tree of height h and all-port nodes, p segments take 2h + p - 1 steps.
    """

    def both(network: Size, asked: Asked) -> Cost:
        cost = half(network, asked)
        sent = None if cost.transmissions is None else 2 * cost.transmissions
        if asked.ports == "all" and name in ("greedy", "recursive-substar") and asked.share > 1:
            steps = 2 * cost.start_ups - (asked.share - 1)
            return Cost(steps, steps * Fraction(1, asked.share), sent)
        return Cost(2 * cost.start_ups, 2 * cost.share, sent)

    return both


#: The cost of every algorithm according to its definition page.
PAGE: dict[tuple[str, str], Callable[[Size, Asked], Cost]] = _as_gather(
    {
        ("allgather", "ring"): lambda network, asked: _units(
            Fraction(asked.share * (network.nodes - 1), 1 if asked.ports == "one" else 2),
            asked,
            asked.share * network.nodes * (network.nodes - 1),
        ),
        ("allgather", "binomial"): lambda network, _: Cost(
            network.n, Fraction(network.nodes - 1), network.nodes * (network.nodes - 1)
        ),
        ("broadcast", "greedy"): lambda network, asked: _piped(
            network, asked, network.diameter, Fraction(1, asked.share)
        ),
        ("broadcast", "multiple"): _multiple,
        ("broadcast", "recursive-substar"): _substar,
        ("broadcast", "edge-disjoint"): lambda network, asked: _units(
            _rounds(network, asked) + network.diameter + 3,
            asked,
            asked.share * asked.copies * (network.nodes - 1),
        ),
        ("broadcast", "nk-greedy"): lambda network, asked: _piped(
            network, asked, network.diameter, Fraction(1, asked.share * (network.n - 1))
        ),
        ("broadcast", "nk-multiple"): lambda network, asked: _piped(
            network,
            asked,
            2 * network.diameter,
            Fraction(1, asked.share * (network.n - 1)),
            network.n - 1,
        ),
        ("broadcast", "binomial"): lambda network, asked: _piped(
            network, asked, network.n, Fraction(1, asked.share)
        ),
        ("broadcast", "edge-disjoint-binomial"): lambda network, asked: _units(
            _rounds(network, asked) + network.n,
            asked,
            asked.share * asked.copies * (network.nodes - 1),
        ),
        ("allgather", "dimension-change"): _dimension_change,
        ("allgather", "rotated-hamiltonian"): _allgather,
        ("allgather", "necklace"): _allgather,
        ("allgather", "hamiltonian-cycle"): _allgather,
        ("allgather", "edge-disjoint"): lambda network, asked: _units(
            _rounds(network, asked) * (network.nodes - 1),
            asked,
            asked.share * asked.copies * network.nodes * (network.nodes - 1),
        ),
        ("allgather", "nk-greedy"): lambda network, asked: _nk_allgather(
            network, asked, _theorem_5(network, asked), 1
        ),
        ("allgather", "nk-multiple"): lambda network, asked: _nk_allgather(
            network, asked, (2 * network.diameter - 1) * _slots(network, asked), network.n - 1
        ),
        ("scatter", "balanced"): _scatter,
        ("scatter", "near-balanced"): lambda network, asked: _units(
            asked.share * len(rotation.necklaces(network.n)), asked, asked.share * network.t
        ),
        ("scatter", "perfectly-balanced"): _scatter,
        ("scatter", "one-port"): _scatter,
        ("scatter", "edge-disjoint"): _edt_scatter,
        ("alltoall", "necklace"): lambda network, asked: _units(
            sum(rotation.necklace_distances(network.n)), asked, network.nodes * network.t
        ),
        ("alltoall", "perfectly-balanced"): _alltoall,
        ("alltoall", "exact"): _alltoall,
        ("alltoall", "one-port"): _alltoall,
        ("alltoall", "edge-disjoint"): lambda network, asked: _units(
            _rounds(network, asked) * levels_of_edt(network),
            asked,
            asked.share * asked.copies * network.nodes * levels_of_edt(network),
        ),
    }
)
PAGE = _with_reductions(PAGE)
#: Algorithms whose cost on the page is a sum over all nodes.
BY_NODES = {("scatter", "near-balanced"), ("gather", "near-balanced"), ("alltoall", "necklace")}


def bound_terms(network: Size, collective: str, ports: str) -> tuple[int, Fraction]:
    """Return lower bounds on the start-ups and on the bytes sent, as a multiple of m.

    They are Tseng & Sheu's Lemmas 1 and 2, and Fragopoulou & Akl's (1993) Tables 4 and 5.
    """
    others = network.nodes - 1
    work: dict[str, Fraction | int] = {
        "broadcast": 1,
        "reduce": 1,
        "allgather": others,
        "reduce-scatter": others,
        "allreduce": Fraction(2 * others, network.nodes),
        "scatter": others,
        "gather": others,
        "alltoall": network.t,
    }
    through = work[collective]
    if ports == "all":
        return network.diameter, Fraction(through, network.degree)
    return max(network.diameter, ceil_log2(network.nodes)), Fraction(through)


def least_steps(network: Size, collective: str, asked: Asked) -> int:
    """Return the lower bound on the number of steps.

    It is that of Fragopoulou & Akl (1993, Tables 4, 5; 1996, Tables 1 to 3). For a broadcast or
    reduce, the steps that the last message takes along its path are added.
    """
    start_ups, through = bound_terms(network, collective, asked.ports)
    full = ceil(asked.share * asked.copies * through)
    if collective == "allreduce":
        return max(full, start_ups)
    return full + start_ups - 1 if collective in ("broadcast", "reduce") else full


def least_transmissions(network: Size, collective: str, asked: Asked) -> int:
    """Return the lower bound on transmissions (Fragopoulou & Akl 1993 and 1996, same tables)."""
    others, nodes = network.nodes - 1, network.nodes
    each = {
        "broadcast": others,
        "reduce": others,
        "allgather": nodes * others,
        "reduce-scatter": nodes * others,
        "allreduce": 2 * others,
        "scatter": network.t,
        "gather": network.t,
        "alltoall": nodes * network.t,
    }
    return asked.share * asked.copies * each[collective]


def cited(name: str, collective: str, ports: str, network: Size, pieces: int) -> Cost:
    """Return the corrected cost in a table row that cites another paper.

    The tables are 1 and 2 of Tseng & Sheu, and 1 of Li, Chen, Xiang & Yao.
    """
    n = network.n
    phases = sum(ceil_log2(i) for i in range(2, n + 1))
    others = network.nodes - 1
    rows = {
        ("Day & Tripathi [7]", "broadcast"): lambda: _equal_steps(
            network.diameter + pieces - 1, Fraction(1, pieces), None
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
            network.diameter, Fraction(others, n - 1), None
        ),
        ("Misic & Jovanovic [13]", "allgather"): lambda: _equal_steps(others, Fraction(1), None),
        ("Y.S. Chen & Tai [4]", "broadcast"): lambda: _chen(network, ports),
        ("one tree SP, as printed", "broadcast"): lambda: Cost(
            network.diameter + pieces,
            (network.diameter + pieces - 1) * Fraction(1, pieces * (n - 1)),
            None,
        ),
        ("trees MT, as printed", "broadcast"): lambda: Cost(
            2 * network.diameter - 1, Fraction(others, n - 1), None
        ),
    }
    return rows[name, collective]()


def _chen(network: Size, ports: str) -> Cost:
    n, k = network.n, network.k
    if ports == "all":
        return Cost(2 * network.diameter - 1, Fraction(4, n - 1), None)
    return Cost(
        2 * n * k - n - k**2, 2 + Fraction((n - k - 2) * factorial(n - k + 1), factorial(n)), None
    )
