"""The rows of the papers' tables that are no algorithm of the catalogue: what they cite, print otherwise, or compare with.

Qiu [14] has no closed form: Tseng & Sheu give orders only, and its row says so. Of what Li et al. print otherwise in Table 1
than in their theorems, the one-port nD T_s of one tree is an order of growth and no row.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from starcast.costs import bounds, hypercube, nk_star, tseng_sheu
from starcast.costs.machine import Form, Machine, stepwise
from starcast.topologies import Topology


@dataclass(frozen=True)
class Printed:
    """A row of a paper's table.

    Attributes:
        name: who, or what.
        collective, ports: what it is about.
        families: the topologies that it is about.
        source: paper and table.
        form: ``form(topology, copies)``, or ``form(topology, copies, pieces)`` where its message is cut; None where the table
            gives orders only.
        cited: whether it stands for somebody else's work, or another network's.
        cut: whether its message is cut into pieces.
        beside: the other network that it is about, None where it is about the same.
        units: whether its pieces are unit messages, and it has a time for several copies.
        note: what has to be known of it.
    """

    name: str
    collective: str
    ports: str
    families: tuple[str, ...]
    source: str
    form: Callable[..., Form] | None
    cited: bool = True
    cut: bool = False
    beside: Topology | None = None
    units: bool = False
    note: str = ""


def optimum_by_units(where: Topology, collective: str, ports: str) -> Callable[[Topology, int, int], Form]:
    """What no schedule of unit messages, one a link and step, beats, as a closed form of topology, copies and M.

    Fragopoulou & Akl 1993, Tables 4 (S_n) and 5 (Q_d); Fragopoulou & Akl 1996, Tables 1 and 2 (S_n) and 3 (Q_d).
    """

    def form(_: Topology, copies: int, messages: int) -> Form:
        least = bounds.lower_bound(where, collective, ports, Fraction(1), Machine(Fraction(0), Fraction(1)), messages, copies)
        source = bounds.steps_source(where, collective, ports, copies)
        return stepwise(int(least.steps or 0), Fraction(1, messages), least.transmissions, source)

    return form


def printed(where: Topology, collective: str, ports: str, dimension: int | None = None) -> tuple[Printed, ...]:
    """The rows for a topology, a collective and a port model; ``dimension`` is that of the hypercube beside it."""
    found = [row for row in _CITED if (row.collective, row.ports) == (collective, ports) and where.family in row.families]
    return (*found, *_optimal(where, hypercube.beside(where, dimension), collective, ports))


def _optimal(where: Topology, other: Topology, collective: str, ports: str) -> list[Printed]:
    """The bounds on unit messages on the topology, and on the hypercube beside it (Table 6 of 1993, Table 4 of 1996)."""
    here = _by_units("lower bound, unit messages", where, collective, ports)
    if other == where:
        return [here]
    note = f"another network: {other.nodes:,} nodes of degree {other.degree}"
    there = _by_units(f"lower bound, unit messages, hypercube {other.spec}", other, collective, ports)
    return [here, replace(there, cited=True, beside=other, note=note)]


def _by_units(name: str, where: Topology, collective: str, ports: str) -> Printed:
    form = optimum_by_units(where, collective, ports)
    return Printed(name, collective, ports, (where.family,), "", form, cited=False, cut=True, units=True)


def _fixed(form: Callable[[Topology], Form]) -> Callable[[Topology, int], Form]:
    return lambda where, _copies: form(where)


def _pieces(form: Callable[[Topology, int], Form]) -> Callable[[Topology, int, int], Form]:
    return lambda where, _copies, pieces: form(where, pieces)


_STAR, _NK = ("star",), ("nk-star",)
_TAB1, _TAB2 = "Tseng & Sheu 1997, Table 1", "Tseng & Sheu 1997, Table 2"
_NK1 = "Li, Chen, Xiang & Yao, Table 1"
_CITED = (
    Printed("Day & Tripathi [7]", "broadcast", "all", _STAR, _TAB1, _pieces(tseng_sheu.day_tripathi), cut=True),
    Printed("Misic & Jovanovic [13]", "broadcast", "one", _STAR, _TAB1, _fixed(tseng_sheu.misic_jovanovic)),
    Printed("Akl et al. [2]", "broadcast", "one", _STAR, _TAB1, _fixed(tseng_sheu.akl)),
    Printed("Mendia & Sarkar [12]", "broadcast", "one", _STAR, _TAB1, _fixed(tseng_sheu.mendia_sarkar)),
    Printed("Sheu et al. [17]", "broadcast", "one", _STAR, _TAB1, _pieces(tseng_sheu.sheu_1995), cut=True),
    Printed(
        "Qiu [14]", "broadcast", "one", _STAR, f"{_TAB1} [14]", None,
        note="only orders are given: O(n^2 T_s + (n log n + m) T_c), with about n! segments",
    ),
    Printed("Fragopoulou & Akl [8] HAM", "allgather", "all", _STAR, _TAB2, _fixed(tseng_sheu.hamiltonian_paths)),
    Printed("Fragopoulou & Akl [8] NL", "allgather", "all", _STAR, _TAB2, _fixed(tseng_sheu.necklaces)),
    Printed("Misic & Jovanovic [13]", "allgather", "one", _STAR, _TAB2, _fixed(tseng_sheu.misic_allgather)),
    Printed("Y.S. Chen & Tai [4]", "broadcast", "all", _NK, _NK1, _fixed(lambda where: nk_star.chen(where, "all"))),
    Printed("Y.S. Chen & Tai [4]", "broadcast", "one", _NK, _NK1, _fixed(lambda where: nk_star.chen(where, "one"))),
    Printed(
        "one tree SP, as printed", "broadcast", "all", _NK, _NK1, _pieces(nk_star.greedy_as_printed), cited=False, cut=True,
        note="Theorem 2 has one start-up less",
    ),
    Printed(
        "trees MT, as printed", "broadcast", "all", _NK, _NK1, _fixed(nk_star.multiple_as_printed), cited=False,
        note="Theorem 8 has m/(n-1): the row repeats Table 2",
    ),
)  # fmt: skip
