"""Rows of the papers' tables that are not algorithms of the catalogue.

These are works that the papers cite, rows that they print differently from their theorems, and
networks that they compare with. Qiu [14] has no closed form: Tseng & Sheu give only orders of
growth. Of the rows that Li et al. print differently in Table 1 than in their theorems, the one-port
nD T_s of one tree is an order of growth and has no row here.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from starcast.costs import bounds, hypercube, nk_star, tseng_sheu
from starcast.costs.machine import Form, Machine, stepwise_form
from starcast.topologies import Topology


@dataclass(frozen=True)
class PrintedRow:
    """A row of a paper's table.

    Attributes:
        name: the cited authors, or a short name.
        collective: the collective of the row.
        ports: its port model.
        families: the topology families that it is about.
        source: paper and table.
        form: ``form(topology)``, or ``form(topology, pieces)`` if the message is split; None if
            there is no form: only orders are given, or there are more copies than links.
        cited: whether a paper states it about another work or another network.
        split: whether its message is split into pieces.
        other_topology: the other network that it is about; None if it is about the same network.
        unit_messages: whether its pieces are unit messages.
        copies: x, the number of copies of a message.
        note: a remark for the reader.
    """

    name: str
    collective: str
    ports: str
    families: tuple[str, ...]
    source: str
    form: Callable[..., Form] | None
    cited: bool = True
    split: bool = False
    other_topology: Topology | None = None
    unit_messages: bool = False
    copies: int = 1
    note: str = ""


def bound_name(copies: int, *subjects: str) -> str:
    """Return the name of a lower bound: its subjects, and the number of copies if more than 1."""
    parts = ["lower bound", *subjects]
    if copies > 1:
        parts.append(f"{copies} copies")
    return ", ".join(parts)


def unit_messages_bound(
    topology: Topology, collective: str, ports: str, copies: int
) -> Callable[[Topology, int], Form]:
    """Return the bound on schedules of unit messages as a closed form in M.

    In an allreduce M is the number of units of each node's part of the vector, as in a
    reduce-scatter. The form ignores the topology that it is called with. Sources: Fragopoulou & Akl
    1993, Tables 4 (S_n) and 5 (Q_d); Fragopoulou & Akl 1996, Tables 1 and 2 (S_n) and 3 (Q_d).
    """

    def form(_: Topology, messages: int) -> Form:
        machine = Machine(Fraction(0), Fraction(1))
        units = messages * (topology.nodes if collective == "allreduce" else 1)
        least = bounds.lower_bound(topology, collective, ports, Fraction(1), machine, units, copies)
        source = bounds.steps_source(topology, collective, ports, copies)
        packet = Fraction(1, units)
        return stepwise_form(int(least.steps or 0), packet, least.transmissions, source)

    return form


def printed_rows(
    topology: Topology, collective: str, ports: str, dimension: int | None = None, copies: int = 1
) -> tuple[PrintedRow, ...]:
    """Return the printed rows for a topology, a collective and a port model.

    Args:
        topology: the topology of the table.
        collective: the collective of the table.
        ports: the port model.
        dimension: the dimension of the hypercube to compare with; see `comparable_hypercube`.
        copies: if more than 1, bounds are given for one copy and for so many.
    """
    rows = [
        row
        for row in _CITED
        if (row.collective, row.ports) == (collective, ports) and topology.family in row.families
    ]
    cube = hypercube.comparable_hypercube(topology, dimension)
    for count in dict.fromkeys((1, copies)):
        rows.append(_bound_row(topology, collective, ports, count))
        if cube != topology:
            rows.append(_other_bound_row(cube, collective, ports, count))
    return tuple(rows)


def _bound_row(topology: Topology, collective: str, ports: str, copies: int) -> PrintedRow:
    """Return the bound on unit messages on the topology."""
    return PrintedRow(
        name=bound_name(copies, "unit messages"),
        collective=collective,
        ports=ports,
        families=(topology.family,),
        source=bounds.steps_source(topology, collective, ports, copies),
        form=unit_messages_bound(topology, collective, ports, copies),
        cited=False,
        split=True,
        unit_messages=True,
        copies=copies,
    )


def _other_bound_row(cube: Topology, collective: str, ports: str, copies: int) -> PrintedRow:
    """Return the same bound on a hypercube (Table 6 of 1993, Table 4 of 1996)."""
    row = _bound_row(cube, collective, ports, copies)
    row = replace(
        row,
        name=bound_name(copies, "unit messages", cube.spec),
        cited=row.source != bounds.OURS,
        other_topology=cube,
    )
    if copies > cube.degree:
        note = f"{copies} copies are more than the {cube.degree} links of {cube.spec}"
        return replace(row, form=None, note=note)
    note = (
        f"another network of {cube.nodes:,} nodes of degree {cube.degree}, its gap refers to its "
        "own bound"
    )
    return replace(row, note=note)


_STAR = ("star",)
_NK = ("nk-star",)
_TABLE_1 = "Tseng & Sheu 1997, Table 1"
_TABLE_2 = "Tseng & Sheu 1997, Table 2"
_NK_TABLE_1 = "Li, Chen, Xiang & Yao, Table 1"
_CITED = (
    PrintedRow(
        "Day & Tripathi [7]", "broadcast", "all", _STAR, _TABLE_1, tseng_sheu.day_tripathi,
        split=True,
    ),
    PrintedRow(
        "Misic & Jovanovic [13]", "broadcast", "one", _STAR, _TABLE_1, tseng_sheu.misic_jovanovic
    ),
    PrintedRow("Akl et al. [2]", "broadcast", "one", _STAR, _TABLE_1, tseng_sheu.akl),
    PrintedRow(
        "Mendia & Sarkar [12]", "broadcast", "one", _STAR, _TABLE_1, tseng_sheu.mendia_sarkar
    ),
    PrintedRow(
        "Sheu et al. [17]", "broadcast", "one", _STAR, _TABLE_1, tseng_sheu.sheu_1995, split=True
    ),
    PrintedRow(
        "Qiu [14]", "broadcast", "one", _STAR, f"{_TABLE_1} [14]", None,
        note="only orders are given: O(n^2 T_s + (n log n + m) T_c), with about n! segments",
    ),
    PrintedRow(
        "Fragopoulou & Akl [8] HAM", "allgather", "all", _STAR, _TABLE_2,
        tseng_sheu.hamiltonian_paths,
    ),
    PrintedRow(
        "Fragopoulou & Akl [8] NL", "allgather", "all", _STAR, _TABLE_2, tseng_sheu.necklaces
    ),
    PrintedRow(
        "Misic & Jovanovic [13]", "allgather", "one", _STAR, _TABLE_2, tseng_sheu.misic_allgather
    ),
    PrintedRow(
        "Y.S. Chen & Tai [4]", "broadcast", "all", _NK, _NK_TABLE_1,
        partial(nk_star.chen, ports="all"),
    ),
    PrintedRow(
        "Y.S. Chen & Tai [4]", "broadcast", "one", _NK, _NK_TABLE_1,
        partial(nk_star.chen, ports="one"),
    ),
    PrintedRow(
        "one tree SP, as printed", "broadcast", "all", _NK, _NK_TABLE_1,
        nk_star.greedy_as_printed, cited=False, split=True,
        note="Theorem 2 has one start-up less",
    ),
    PrintedRow(
        "trees MT, as printed", "broadcast", "all", _NK, _NK_TABLE_1,
        nk_star.multiple_as_printed, cited=False,
        note="Theorem 8 has m/(n-1): the row repeats Table 2",
    ),
)  # fmt: skip
