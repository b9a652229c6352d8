"""Costs by the definition pages, independent of the code: sums instead of closed forms, searches.

A cost has start-ups, bytes sent in sequence as a multiple of m, and transmissions (None if the page
does not state them).
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import ceil, comb, factorial, floor
from typing import NamedTuple

from support import oracles, oracles_nk


class Cost(NamedTuple):
    """Start-ups, bytes / m, transmissions."""

    start_ups: int
    share: Fraction
    transmissions: int | None


class Size(NamedTuple):
    """The numbers of a topology that costs depend on; t is the sum of all distances from a node."""

    n: int
    k: int
    nodes: int
    degree: int
    diameter: int
    t: int


class Asked(NamedTuple):
    """The arguments of a cost: port model, segments or messages, copies."""

    ports: str
    share: int = 1
    copies: int = 1


def harmonic(n: int) -> Fraction:
    """H_n."""
    return sum((Fraction(1, i) for i in range(1, n + 1)), Fraction(0))


@cache
def star(n: int) -> Size:
    """S_n, with t_n = n!(n + 2/n + H_n - 4)."""
    t = factorial(n) * (n + Fraction(2, n) + harmonic(n) - 4)
    assert t.denominator == 1
    return Size(n, 0, factorial(n), n - 1, floor(Fraction(3 * (n - 1), 2)), int(t))


@cache
def nk_star(n: int, k: int) -> Size:
    """S_{n,k}, its distances by the formula for each node."""
    nodes = oracles_nk.nodes(n, k)
    return Size(
        n,
        k,
        len(nodes),
        n - 1,
        oracles_nk.diameter(n, k),
        sum(oracles_nk.distance(v) for v in nodes),
    )


@cache
def cube(d: int) -> Size:
    """Q_d: comb(d, i) nodes are i links away."""
    return Size(d, 0, 2**d, d, d, sum(i * comb(d, i) for i in range(d + 1)))


def size(spec: str) -> Size:
    """The topology of that name."""
    if spec.startswith("Q"):
        return cube(int(spec[1:]))
    numbers = [int(word) for word in spec[1:].split(",")]
    return nk_star(*numbers) if len(numbers) == 2 else star(*numbers)


# Necklaces, one by one


def rotate(x: oracles.Node) -> oracles.Node:
    """R: y_{r(j)} = r(x_j), r = (2 3 .. n)."""
    n = len(x)
    r = {1: 1, **{i: i + 1 for i in range(2, n)}, n: 2}
    if n == 2:
        r = {1: 1, 2: 2}
    y = {r[j]: r[symbol] for j, symbol in enumerate(x, start=1)}
    return tuple(y[j] for j in range(1, n + 1))


@cache
def necklaces(n: int) -> tuple[tuple[int, int], ...]:
    """The distance and the size of every orbit of R but that of the identity."""
    seen, result = {oracles.identity(n)}, []
    distances = oracles.distances(oracles.identity(n))
    for x in oracles.nodes(n):
        orbit = set()
        while x not in seen:
            seen.add(x)
            orbit.add(x)
            x = rotate(x)  # noqa: PLW2901 - round the orbit
        if orbit:
            result.append((distances[min(orbit)], len(orbit)))
    return tuple(result)


# Forms


def _slots(here: Size, asked: Asked) -> int:
    return here.degree if asked.ports == "one" else 1


def _equal_steps(steps: int, packet: Fraction, transmissions: int | None) -> Cost:
    return Cost(steps, packet * steps, transmissions)


def _piped(here: Size, asked: Asked, height: int, packet: Fraction, trees: int = 1) -> Cost:
    """(height + p - 1) slots, n-1 times as many one-port, with packets of that share of m."""
    steps = (height + asked.share - 1) * _slots(here, asked)
    return _equal_steps(steps, packet, asked.share * trees * (here.nodes - 1))


def _units(steps: Fraction | int, asked: Asked, transmissions: int | None) -> Cost:
    """So many steps, rounded up, of units of m/M."""
    return _equal_steps(ceil(steps), Fraction(1, asked.share), transmissions)


def _multiple(here: Size, asked: Asked) -> Cost:
    height = oracles.height_of_multiple(here.n)
    return _piped(here, asked, height, Fraction(2, asked.share * (here.n - 1)), here.n - 1)


def _substar(here: Size, asked: Asked) -> Cost:
    n, m = here.n, asked.share
    steps = 2 * n - 3 + (m - 1) if asked.ports == "all" else sum(range(1, n)) + (m - 1) * (n - 1)
    return _units(steps, asked, m * (here.nodes - 1))


def _dimension_change(here: Size, asked: Asked) -> Cost:
    others = here.nodes - 1
    share = Fraction(others, here.n - 1) if asked.ports == "all" else Fraction(others)
    return Cost(here.diameter * _slots(here, asked), share, here.nodes * (here.n - 1) * others)


def _allgather(here: Size, asked: Asked) -> Cost:
    sent = asked.share * here.nodes * (here.nodes - 1)
    links = here.degree if asked.ports == "all" else 1
    return _units(Fraction(asked.share * (here.nodes - 1), links), asked, sent)


def _scatter(here: Size, asked: Asked) -> Cost:
    links = here.degree if asked.ports == "all" else 1
    return _units(Fraction(asked.share * (here.nodes - 1), links), asked, asked.share * here.t)


def _alltoall(here: Size, asked: Asked) -> Cost:
    links = here.degree if asked.ports == "all" else 1
    return _units(Fraction(asked.share * here.t, links), asked, asked.share * here.nodes * here.t)


def _rounds(here: Size, asked: Asked) -> int:
    """The most copies that a tree gets if they are dealt like cards."""
    return max(
        len(range(tree, asked.share * asked.copies, here.degree)) for tree in range(here.degree)
    )


def _edt_scatter(here: Size, asked: Asked) -> Cost:
    steps = Fraction(asked.share * asked.copies * (here.nodes - 1), here.degree)
    levels = asked.share * asked.copies * levels_of_edt(here)
    return _units(steps, asked, levels if asked.copies == here.degree else None)


def levels_of_edt(here: Size) -> int:
    """t_n + (n-1)!(3n - 6 - 2/(n-1)) + 2."""
    n = here.n
    return int(here.t + factorial(n - 1) * (3 * n - 6 - Fraction(2, n - 1)) + 2)


def _nk_allgather(here: Size, asked: Asked, start_ups: int, trees: int) -> Cost:
    share = (
        Fraction(here.nodes - 1) if asked.ports == "one" else Fraction(here.nodes - 1, here.n - 1)
    )
    return Cost(start_ups, share, here.nodes * trees * (here.nodes - 1))


def _theorem_5(here: Size, asked: Asked) -> int:
    return here.diameter if asked.ports == "all" else here.n * (here.n - 1) * here.diameter


def _as_gather(
    forms: dict[tuple[str, str], Callable[[Size, Asked], Cost]],
) -> dict[tuple[str, str], Callable[[Size, Asked], Cost]]:
    return forms | {
        ("gather", name): form
        for (collective, name), form in forms.items()
        if collective == "scatter"
    }


#: The cost of every algorithm by its page.
PAGE: dict[tuple[str, str], Callable[[Size, Asked], Cost]] = _as_gather(
    {
        ("broadcast", "greedy"): lambda here, asked: _piped(
            here, asked, here.diameter, Fraction(1, asked.share)
        ),
        ("broadcast", "multiple"): _multiple,
        ("broadcast", "recursive-substar"): _substar,
        ("broadcast", "edge-disjoint"): lambda here, asked: _units(
            _rounds(here, asked) + here.diameter + 3,
            asked,
            asked.share * asked.copies * (here.nodes - 1),
        ),
        ("broadcast", "nk-greedy"): lambda here, asked: _piped(
            here, asked, here.diameter, Fraction(1, asked.share * (here.n - 1))
        ),
        ("broadcast", "nk-multiple"): lambda here, asked: _piped(
            here, asked, 2 * here.diameter, Fraction(1, asked.share * (here.n - 1)), here.n - 1
        ),
        ("broadcast", "binomial"): lambda here, asked: _piped(
            here, asked, here.n, Fraction(1, asked.share)
        ),
        ("broadcast", "edge-disjoint-binomial"): lambda here, asked: _units(
            _rounds(here, asked) + here.n, asked, asked.share * asked.copies * (here.nodes - 1)
        ),
        ("allgather", "dimension-change"): _dimension_change,
        ("allgather", "rotated-hamiltonian"): _allgather,
        ("allgather", "necklace"): _allgather,
        ("allgather", "hamiltonian-cycle"): _allgather,
        ("allgather", "edge-disjoint"): lambda here, asked: _units(
            _rounds(here, asked) * (here.nodes - 1),
            asked,
            asked.share * asked.copies * here.nodes * (here.nodes - 1),
        ),
        ("allgather", "nk-greedy"): lambda here, asked: _nk_allgather(
            here, asked, _theorem_5(here, asked), 1
        ),
        ("allgather", "nk-multiple"): lambda here, asked: _nk_allgather(
            here, asked, (2 * here.diameter - 1) * _slots(here, asked), here.n - 1
        ),
        ("scatter", "balanced"): _scatter,
        ("scatter", "near-balanced"): lambda here, asked: _units(
            asked.share * len(necklaces(here.n)), asked, asked.share * here.t
        ),
        ("scatter", "perfectly-balanced"): _scatter,
        ("scatter", "one-port"): _scatter,
        ("scatter", "edge-disjoint"): _edt_scatter,
        ("alltoall", "necklace"): lambda here, asked: _units(
            sum(distance for distance, _ in necklaces(here.n)), asked, here.nodes * here.t
        ),
        ("alltoall", "perfectly-balanced"): _alltoall,
        ("alltoall", "exact"): _alltoall,
        ("alltoall", "one-port"): _alltoall,
        ("alltoall", "edge-disjoint"): lambda here, asked: _units(
            _rounds(here, asked) * levels_of_edt(here),
            asked,
            asked.share * asked.copies * here.nodes * levels_of_edt(here),
        ),
    }
)
#: Those whose page form needs all nodes one by one.
BY_NODES = {("scatter", "near-balanced"), ("gather", "near-balanced"), ("alltoall", "necklace")}


# Lower bounds


def bound_terms(here: Size, collective: str, ports: str) -> tuple[int, Fraction]:
    """TS Lemmas 1 and 2, FA Tables 4 and 5: start-ups and bytes; the greater term counts."""
    others = here.nodes - 1
    through = {
        "broadcast": 1,
        "allgather": others,
        "scatter": others,
        "gather": others,
        "alltoall": here.t,
    }[collective]
    if ports == "all":
        return here.diameter, Fraction(through, here.degree)
    return max(here.diameter, oracles.ceil_log2(here.nodes)), Fraction(through)


def least_steps(here: Size, collective: str, asked: Asked) -> int:
    """FA Tables 4 and 5, EDT Tables 1 to 3, and for one-port broadcast the last message's way."""
    start_ups, through = bound_terms(here, collective, asked.ports)
    full = ceil(asked.share * asked.copies * through)
    return full + start_ups - 1 if collective == "broadcast" else full


def least_transmissions(here: Size, collective: str, asked: Asked) -> int:
    """FA Tables 4 and 5, EDT Tables 1 to 3."""
    others, nodes = here.nodes - 1, here.nodes
    each = {
        "broadcast": others,
        "allgather": nodes * others,
        "scatter": here.t,
        "gather": here.t,
        "alltoall": nodes * here.t,
    }
    return asked.share * asked.copies * each[collective]


# Cited rows


def cited(name: str, collective: str, ports: str, here: Size, pieces: int) -> Cost:
    """The rows of TS Tables 1 and 2 and NK Table 1 that cite others, as the pages clean them."""
    n = here.n
    phases = sum(oracles.ceil_log2(i) for i in range(2, n + 1))
    others = here.nodes - 1
    rows = {
        ("Day & Tripathi [7]", "broadcast"): lambda: _equal_steps(
            here.diameter + pieces - 1, Fraction(1, pieces), None
        ),
        ("Misic & Jovanovic [13]", "broadcast"): lambda: _equal_steps(
            comb(n, 2), Fraction(1), None
        ),
        ("Akl et al. [2]", "broadcast"): lambda: _equal_steps(phases, Fraction(1), None),
        ("Mendia & Sarkar [12]", "broadcast"): lambda: _equal_steps(phases, Fraction(1), None),
        ("Sheu et al. [17]", "broadcast"): lambda: _equal_steps(
            phases + (pieces - 1) * oracles.ceil_log2(n), Fraction(1, pieces), None
        ),
        ("Fragopoulou & Akl [8] HAM", "allgather"): lambda: Cost(
            factorial(n - 1), Fraction(others, n - 1), None
        ),
        ("Fragopoulou & Akl [8] NL", "allgather"): lambda: Cost(
            here.diameter, Fraction(others, n - 1), None
        ),
        ("Misic & Jovanovic [13]", "allgather"): lambda: _equal_steps(others, Fraction(1), None),
        ("Y.S. Chen & Tai [4]", "broadcast"): lambda: _chen(here, ports),
        ("one tree SP, as printed", "broadcast"): lambda: Cost(
            here.diameter + pieces,
            (here.diameter + pieces - 1) * Fraction(1, pieces * (n - 1)),
            None,
        ),
        ("trees MT, as printed", "broadcast"): lambda: Cost(
            2 * here.diameter - 1, Fraction(others, n - 1), None
        ),
    }
    return rows[name, collective]()


def _chen(here: Size, ports: str) -> Cost:
    n, k = here.n, here.k
    if ports == "all":
        return Cost(2 * here.diameter - 1, Fraction(4, n - 1), None)
    return Cost(
        2 * n * k - n - k**2, 2 + Fraction((n - k - 2) * factorial(n - k + 1), factorial(n)), None
    )
