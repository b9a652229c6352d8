"""The rows of the papers' tables that are no algorithm of the catalogue: what they cite, print otherwise, or compare with.

Qiu [14] has no closed form: Tseng & Sheu give orders only, and its row says so. Of what Li et al. print otherwise in Table 1
than in their theorems, the one-port nD T_s of one tree is an order of growth and no row.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

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
        form: ``form(topology)``, or ``form(topology, pieces)`` where its message is cut; None where there is none: the table
            gives orders only, or there are more copies than links.
        cited: whether a paper states it of somebody else's work, or of another network.
        cut: whether its message is cut into pieces.
        beside: the other network that it is about, None where it is about the same.
        units: whether its pieces are unit messages.
        copies: x, how many copies of a message are sent.
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
    copies: int = 1
    note: str = ""


def bound_name(copies: int, *of: str) -> str:
    """What a lower bound is called: what it is of, and how many copies it is about where that is not one."""
    return ", ".join(("lower bound", *of, *([f"{copies} copies"] if copies > 1 else [])))


def optimum_by_units(
    topology: Topology, collective: str, ports: str, copies: int
) -> Callable[[Topology, int], Form]:
    """What no schedule of unit messages, one a link and step, beats, as a closed form of any topology, and M.

    Fragopoulou & Akl 1993, Tables 4 (S_n) and 5 (Q_d); Fragopoulou & Akl 1996, Tables 1 and 2 (S_n) and 3 (Q_d).
    """

    def form(_: Topology, messages: int) -> Form:
        least = bounds.lower_bound(
            topology,
            collective,
            ports,
            Fraction(1),
            Machine(Fraction(0), Fraction(1)),
            messages,
            copies,
        )
        source = bounds.steps_source(topology, collective, ports, copies)
        return stepwise(int(least.steps or 0), Fraction(1, messages), least.transmissions, source)

    return form


def printed(
    topology: Topology, collective: str, ports: str, dimension: int | None = None, copies: int = 1
) -> tuple[Printed, ...]:
    """The rows for a topology, a collective and a port model.

    ``dimension`` is that of the hypercube beside it. The bounds are about one copy, and about ``copies``.
    """
    found = [
        row
        for row in _CITED
        if (row.collective, row.ports) == (collective, ports) and topology.family in row.families
    ]
    beside = hypercube.beside(topology, dimension)
    for sent in dict.fromkeys((1, copies)):
        found.append(_least(topology, collective, ports, sent))
        if beside != topology:
            found.append(_least_beside(beside, collective, ports, sent))
    return tuple(found)


def _least(topology: Topology, collective: str, ports: str, copies: int) -> Printed:
    """The bound on unit messages on the topology."""
    return Printed(
        name=bound_name(copies, "unit messages"),
        collective=collective,
        ports=ports,
        families=(topology.family,),
        source=bounds.steps_source(topology, collective, ports, copies),
        form=optimum_by_units(topology, collective, ports, copies),
        cited=False,
        cut=True,
        units=True,
        copies=copies,
    )


def _least_beside(other: Topology, collective: str, ports: str, copies: int) -> Printed:
    """The same on the hypercube beside it (Table 6 of 1993, Table 4 of 1996)."""
    there = _least(other, collective, ports, copies)
    name, cited = bound_name(copies, "unit messages", other.spec), there.source != bounds.OURS
    there = replace(there, name=name, cited=cited, beside=other)
    if copies > other.degree:
        return replace(
            there,
            form=None,
            note=f"{copies} copies are more than the {other.degree} links of {other.spec}",
        )
    note = f"another network of {other.nodes:,} nodes of degree {other.degree}, its gap is to its own bound"
    return replace(there, note=note)


_STAR, _NK = ("star",), ("nk-star",)
_TAB1, _TAB2 = "Tseng & Sheu 1997, Table 1", "Tseng & Sheu 1997, Table 2"
_NK1 = "Li, Chen, Xiang & Yao, Table 1"
_CITED = (
    Printed("Day & Tripathi [7]", "broadcast", "all", _STAR, _TAB1, tseng_sheu.day_tripathi, cut=True),
    Printed("Misic & Jovanovic [13]", "broadcast", "one", _STAR, _TAB1, tseng_sheu.misic_jovanovic),
    Printed("Akl et al. [2]", "broadcast", "one", _STAR, _TAB1, tseng_sheu.akl),
    Printed("Mendia & Sarkar [12]", "broadcast", "one", _STAR, _TAB1, tseng_sheu.mendia_sarkar),
    Printed("Sheu et al. [17]", "broadcast", "one", _STAR, _TAB1, tseng_sheu.sheu_1995, cut=True),
    Printed(
        "Qiu [14]", "broadcast", "one", _STAR, f"{_TAB1} [14]", None,
        note="only orders are given: O(n^2 T_s + (n log n + m) T_c), with about n! segments",
    ),
    Printed("Fragopoulou & Akl [8] HAM", "allgather", "all", _STAR, _TAB2, tseng_sheu.hamiltonian_paths),
    Printed("Fragopoulou & Akl [8] NL", "allgather", "all", _STAR, _TAB2, tseng_sheu.necklaces),
    Printed("Misic & Jovanovic [13]", "allgather", "one", _STAR, _TAB2, tseng_sheu.misic_allgather),
    Printed("Y.S. Chen & Tai [4]", "broadcast", "all", _NK, _NK1, partial(nk_star.chen, ports="all")),
    Printed("Y.S. Chen & Tai [4]", "broadcast", "one", _NK, _NK1, partial(nk_star.chen, ports="one")),
    Printed(
        "one tree SP, as printed", "broadcast", "all", _NK, _NK1, nk_star.greedy_as_printed, cited=False, cut=True,
        note="Theorem 2 has one start-up less",
    ),
    Printed(
        "trees MT, as printed", "broadcast", "all", _NK, _NK1, nk_star.multiple_as_printed, cited=False,
        note="Theorem 8 has m/(n-1): the row repeats Table 2",
    ),
)  # fmt: skip
