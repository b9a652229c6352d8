"""What collectives cost by the papers' closed forms, what no schedule can beat, and what a simulation really took.

Times are exact rationals: a packet of b bytes takes T_s + b T_c, so every cost is ``start_ups * T_s + bytes * T_c``. The
notation is that of docs/definitions/tseng-sheu.md, A6: m bytes a message, p segments a tree, M unit messages, h the height, and
D_n = floor(3(n-1)/2).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isqrt, sqrt

from starcast.collectives import catalogue
from starcast.collectives.schedule import PORT_MODELS
from starcast.errors import InputError
from starcast.simulator import Simulation
from starcast.topologies import Topology


@dataclass(frozen=True)
class Machine:
    """What sending costs: ``T_s`` to start a packet up, ``T_c`` a byte; any one unit of time."""

    T_s: Fraction
    T_c: Fraction

    def __post_init__(self) -> None:
        for name in ("T_s", "T_c"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} is {getattr(self, name)}, a negative time", hint="give a time of 0 or more")


@dataclass(frozen=True)
class Cost:
    """A cost with its exact time.

    Attributes:
        steps: how many steps (slots, sub-slots) it takes, None where a bound speaks of time only.
        start_ups: coefficient of T_s.
        bytes: coefficient of T_c.
        transmissions: units times links, None where that is not known.
        time: start_ups * T_s + bytes * T_c; of a bound, the greatest of its terms.
        source: paper and number.
    """

    steps: int | None
    start_ups: Fraction
    bytes: Fraction
    transmissions: int | None
    time: Fraction
    source: str


def greatest_proper_divisor(n: int) -> int:
    """The greatest divisor of n below n, for n >= 2."""
    return max(gcd(n, i) for i in range(1, n))


def multiple_height(n: int) -> int:
    """h, the greatest height of the trees L-hat: D_n + n + g - 2, g the greatest proper divisor of n; for n = 2 it is 1."""
    return 1 if n == 2 else 3 * (n - 1) // 2 + n + greatest_proper_divisor(n) - 2


def unit_bytes(topology: Topology, collective: str, algorithm: str, m: Fraction, **arguments: int | str) -> Fraction:
    """The bytes of one unit when a message of m bytes is cut for that algorithm.

    ``segments=p`` cuts it into p units for each tree. ``messages=M`` makes it a stream of M packets of m/M bytes
    (Tseng & Sheu 1997, Table 1, row [16]).

    Raises:
        InputError: a name or an argument is wrong, or the algorithm is not defined on the topology.
    """
    rule = catalogue.find(collective, algorithm)
    catalogue.check_topology(rule, topology)
    return Fraction(m) / (
        int(rule.settled(topology, arguments)[str(rule.share)]) * _FORMS[collective, algorithm].trees(topology.n)
    )


def closed_form(
    topology: Topology, collective: str, algorithm: str, ports: str, m: Fraction, machine: Machine, **arguments: int | str
) -> Cost:
    """The papers' time of an algorithm for a message of m bytes.

    Greedy (p segments): (D_n + p - 1)(T_s + m/p T_c): one tree, pipelined; the form of Table 1, row [7].
    Multiple (p segments a tree): (h + p - 1)(T_s + 2m/(p(n-1)) T_c), equation (3); for n = 2, where there is one tree and no
    link is shared, it is twice too much for the bytes. One-port, both: n-1 times that (Theorem 2).
    Recursive-substar (M packets): (2n - 4 + M)(T_s + m/M T_c), Table 1, row [16]; one-port n(n-1)/2 + (M-1)(n-1) slots.

    Raises:
        InputError: a name or an argument is wrong, m is negative, or the algorithm is not defined on the topology.
    """
    if m < 0:
        raise InputError(f"a message of {m} bytes cannot be", hint="give m of 0 or more")
    rule = catalogue.find(collective, algorithm)
    catalogue.check_topology(rule, topology)
    rule.model(ports)
    share = int(rule.settled(topology, arguments)[str(rule.share)])
    form = _FORMS[collective, algorithm]
    steps = form.steps(topology.n, share, ports == "one")
    units = share * form.trees(topology.n)
    packet = Fraction(m) / units * form.packet(topology.n)
    return Cost(
        steps=steps,
        start_ups=Fraction(steps),
        bytes=steps * packet,
        transmissions=units * (topology.nodes - 1),
        time=steps * (machine.T_s + packet * machine.T_c),
        source=form.source,
    )


@dataclass(frozen=True)
class _Form:
    """A broadcast's closed form as functions of n: steps(n, share, one_port), trees(n), units in the largest packet(n)."""

    steps: Callable[[int, int, bool], int]
    trees: Callable[[int], int]
    packet: Callable[[int], int]
    source: str


def _greedy_steps(n: int, share: int, one_port: bool) -> int:
    return (3 * (n - 1) // 2 + share - 1) * (n - 1 if one_port else 1)


def _multiple_steps(n: int, share: int, one_port: bool) -> int:
    return (multiple_height(n) + share - 1) * (n - 1 if one_port else 1)


def _substar_steps(n: int, share: int, one_port: bool) -> int:
    return n * (n - 1) // 2 + (share - 1) * (n - 1) if one_port else 2 * n - 4 + share


_FORMS = {
    ("broadcast", "greedy"): _Form(_greedy_steps, lambda _n: 1, lambda _n: 1, "Tseng & Sheu 1997, section 4 and Table 1 [7]"),
    ("broadcast", "multiple"): _Form(
        _multiple_steps, lambda n: n - 1, lambda _n: 2, "Tseng & Sheu 1997, equation (3), Theorems 1 and 2"
    ),
    ("broadcast", "recursive-substar"): _Form(
        _substar_steps, lambda _n: 1, lambda _n: 1, "Sheu, Liaw & Chen 1993, section 3; Tseng & Sheu 1997, Table 1 [16]"
    ),
}


#: Who states the lower bound, by family.
_BOUNDS = {"star": "Tseng & Sheu 1997, Lemma 1", "nk-star": "Li, Chen, Xiang & Yao, Lemma 1"}


def lower_bound(topology: Topology, collective: str, ports: str, m: Fraction, machine: Machine) -> Cost:
    """What no broadcast of m bytes can beat (Tseng & Sheu 1997, Lemma 1; Li, Chen, Xiang & Yao, Lemma 1).

    All-port: max{D T_s, m/degree T_c}. One-port: max{D T_s, ceil(log2 N) T_s, m T_c}. D is the diameter and N the number of
    nodes; the argument is the same on every topology.

    Raises:
        InputError: there is no bound for that collective, or no such port model.
    """
    if ports not in PORT_MODELS:
        raise InputError(f"'{ports}' is no port model", hint="write all or one")
    if collective != "broadcast":
        raise InputError(f"no lower bound is known for '{collective}'", hint="there is one for broadcast")
    start_ups = topology.diameter
    share = Fraction(m) / topology.degree
    if ports == "one":
        start_ups = max(start_ups, (topology.nodes - 1).bit_length())  # ceil(log2 N), without rounding
        share = Fraction(m)
    return Cost(
        steps=start_ups,
        start_ups=Fraction(start_ups),
        bytes=share,
        transmissions=None,
        time=max(Fraction(start_ups * machine.T_s), share * machine.T_c),
        source=_BOUNDS.get(topology.family, "the argument of Tseng & Sheu 1997, Lemma 1"),
    )


def simulated(simulation: Simulation, unit: Fraction, machine: Machine) -> Cost:
    """What an execution took: each step lasts as long as its largest packet, of units of ``unit`` bytes."""
    carried = int(simulation.packet_sizes.sum()) * Fraction(unit)
    return Cost(
        steps=simulation.steps,
        start_ups=Fraction(simulation.steps),
        bytes=carried,
        transmissions=simulation.transmissions,
        time=simulation.steps * machine.T_s + carried * machine.T_c,
        source="simulated",
    )


def best_share(
    topology: Topology, collective: str, algorithm: str, ports: str, m: Fraction, machine: Machine
) -> tuple[float, int]:
    """The number of segments (or messages) with the least closed-form time: over the reals, and over whole numbers >= 1.

    With s slots at one segment, c slots more a segment and b = bytes a slot at one segment, the time
    (s + c(p-1))(T_s + b T_c/p) is least at p = sqrt((s-c) b T_c / (c T_s)): equation (5) of Tseng & Sheu 1997 and its
    like in Table 1. Of whole numbers, one of the two beside it is best; their exact times decide.

    Raises:
        InputError: T_s is 0, so that more segments are always better.
    """
    if machine.T_s == 0:
        raise InputError("with T_s = 0 there is no best number of segments", hint="give a positive T_s")
    rule = catalogue.find(collective, algorithm)

    def price(share: int) -> Cost:
        return closed_form(topology, collective, algorithm, ports, m, machine, **{str(rule.share): share})

    first, second = price(1), price(2)
    more = second.start_ups - first.start_ups
    square = (first.start_ups - more) * (first.bytes / first.start_ups) * machine.T_c / (more * machine.T_s)
    below = max(1, isqrt(int(square)))
    return sqrt(square), min((below, below + 1), key=lambda share: (price(share).time, share))
