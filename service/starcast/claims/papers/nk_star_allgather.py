"""Li, Chen, Xiang & Yao, sections 5 and 8: all-to-all broadcast on the tree SP and on the trees MT, executed and counted."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from starcast.claims.declaration import Family, Sizes, nk_stars
from starcast.claims.formulas import arrangements, nk_diameter
from starcast.claims.growth import divided
from starcast.claims.instruments.naming import leaving
from starcast.claims.instruments.nk_labels import size
from starcast.claims.instruments.nk_loads import (
    all_port,
    changed,
    changed_weight,
    classes,
    each_class,
    height_at_most,
    most,
    one_port,
    quotient,
    spread,
    sub_slots,
)
from starcast.claims.instruments.nk_runs import GRID, MANY_TREES, ONE_TREE, WITHIN, array, heights
from starcast.claims.instruments.pipelines import exact_time, slotted
from starcast.claims.see import See
from starcast.collectives.model import Schedule
from starcast.simulator import Simulation
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

FAMILY = Family("nk_star_allgather")
claim = FAMILY.claim

_QUICK = nk_stars(6, 6, 6)
#: Up to 2.1 million rows, written out for all sources.
_FULL = (*_QUICK.quick, "S7,1", "S7,2", "S7,3", "S7,4", "S7,6")
_EXECUTED = Sizes(_QUICK.quick, _FULL, _FULL, _QUICK.beyond)
_COUNTED = nk_stars(6, 8, 9)
#: Rows of all sources up to which MT is executed beside what is counted.
_MOST = 100_000
_LEVELS = "the links of level t in step t, all that shares a link in one packet"
_EVEN = (
    "each message is cut evenly for all orders of the missing symbols and all dimension changes that S_{n,k} admits, which is "
    "the best that LC and they can do; links that are alike then carry the same"
)


def _weight(where: Topology) -> int:
    """Bytes a node of an all-to-all broadcast, written out for all sources."""
    return 200 * where.degree * (1 if where.translation_keeps_ports else where.nodes)


def _lc(see: See, construction: str, ports: str = "all") -> tuple[Schedule, Simulation]:
    """The catalogue's: LC alone, missing symbols ascending."""
    made = see.lab.schedule(see.where.spec, "allgather", construction, ports)
    return made, see.executed(made)


def _units(made: Schedule) -> int:
    """Into how many units each message is cut."""
    return made.units // (1 if made.symmetric else made.topology.nodes)


@claim(
    "NK.S5-copies",
    "Section 5",
    _EXECUTED,
    "All-to-all broadcast is N-1 one-to-all broadcasts: it takes N-1 times the transmissions of one of them, on the same tree.",
    weight=_weight,
)
def _copies(see: See) -> None:
    nodes = arrangements(see.where.n, size(see.where))
    made, took = _lc(see, ONE_TREE)
    one = see.executed(see.lab.schedule(see.where.spec, "broadcast", ONE_TREE, "all", segments=1))
    found = Fraction(took.transmissions, one.transmissions)
    see.equal("one-to-all broadcasts", found, nodes - 1, of=made)
    see.instead("it is N of them: every node is a source").equal(
        "one-to-all broadcasts", found, nodes, of=made
    )


@claim(
    "NK.T4.startup",
    "Theorem 4, start-ups",
    _EXECUTED,
    f"All-to-all broadcast on `nk-greedy`, all-port, {_LEVELS}, takes D start-ups.",
    weight=_weight,
)
def _start_ups(see: See) -> None:
    made, took = _lc(see, ONE_TREE)
    see.equal("start-ups", took.steps, nk_diameter(see.where.n, size(see.where)), of=made)


@claim(
    "NK.T4.even",
    "Theorem 4, proof",
    _EXECUTED,
    f"All-to-all broadcast on `nk-greedy`, all-port, {_LEVELS}: in every step all directed links carry the same.",
    reading=_EVEN
    + ": parts of each message go down the trees that the cyclic shifts of positions 2..k (2..n for k = n-1) make of SP",
    weight=changed_weight,
)
def _even(see: See) -> None:
    where = see.where
    made = changed(see.lab, where)
    took, units = see.executed(made), _units(made)
    load = _loads(made, took.steps)
    mean = [Fraction(int(row.sum()), load[0].size * units) for row in load]
    found = array(Fraction(int(one), units) for one in load.ravel()).reshape(load.shape)
    at = leaving(see.lab, where)

    def link(_: int, node: int, port: int) -> str:
        return at(node if load.shape[1] > 1 else 0, port)

    see.equal(
        "messages on the link",
        found,
        np.array(mean, dtype=object)[:, None, None],
        step=lambda at, *_: at + 1,
        link=link,
        of=made,
    )
    counted = spread(see.lab, where, ONE_TREE)
    true = see.instead(
        "links of one class, exchanges or residual links, carry the same: as many messages as the tree has links of the class "
        "on that level, over k-1 or n-k; for k = 1 and k = n-1 all links are one class"
    )
    for kind, ports in enumerate(classes(where)):
        columns = [where.ports.index(port) for port in ports]
        true.equal(
            "messages on the link",
            found[:, :, columns],
            counted[:, kind, None, None],
            step=lambda at, *_: at + 1,
            of=made,
        )


def _loads(made: Schedule, steps: int) -> NDArray[np.int64]:
    """Units on each directed link in each step, ``[steps, nodes, ports]``; one node stands for all where ports are kept."""
    where = made.topology
    rows = made if where.translation_keeps_ports else made.expand()
    nodes = 1 if where.translation_keeps_ports else where.nodes
    place = np.searchsorted(where.ports, rows.port)
    at = (
        (rows.step.astype(np.int64) - 1) * nodes + (rows.sender if nodes > 1 else 0)
    ) * where.degree + place
    return np.bincount(at, minlength=steps * nodes * where.degree).reshape(-1, nodes, where.degree)


@claim(
    "NK.T4.time",
    "Theorem 4, time",
    _EXECUTED,
    f"All-to-all broadcast on `nk-greedy`, all-port, {_LEVELS}, takes exactly D T_s + m(N-1)/(n-1) T_c. Looked at for "
    f"{WITHIN}, in this order.",
    reading=_EVEN,
    weight=changed_weight,
)
def _time(see: See) -> None:
    n, k = see.where.n, size(see.where)
    high, others = nk_diameter(n, k), arrangements(n, k) - 1
    made = changed(see.lab, see.where)
    found = exact_time(see.executed(made), _units(made), GRID)
    see.equal(
        "time",
        found,
        GRID.T_s * high + GRID.m * GRID.T_c * Fraction(others, n - 1),
        **GRID.place,
        of=made,
    )
    true = see.instead(
        "it takes D T_s + m T_c times the sum over the levels t of max{s_t/(k-1), r_t/(n-k)}, s_t exchanges and r_t residual "
        "links of SP on level t; for k = 1 and k = n-1 that is the stated time"
    )
    bytes_over_m = all_port(spread(see.lab, see.where, ONE_TREE))
    true.equal("time", found, GRID.T_s * high + GRID.m * GRID.T_c * bytes_over_m, **GRID.place)
    exact = [bytes_over_m == Fraction(others, n - 1)]
    true.equal("the stated time is taken", exact, [k in (1, n - 1)])


def _bytes_kept(see: See, construction: str) -> None:
    """What the closed form behind an order of growth says, held against the trees."""
    n, k = see.where.n, size(see.where)
    counted = spread(see.lab, see.where, construction)
    found = all_port(counted)
    see.equal("bytes over m, each class by itself", each_class(counted), most(n, k))
    see.true("bytes over m are no more", found <= most(n, k))
    see.true(
        "bytes over m are at least (N-1)/(n-1)", found >= Fraction(arrangements(n, k) - 1, n - 1)
    )


_ORDER = (
    "D T_s + b m T_c with b <= N/n + (kN/n - 1)/(k-1), which is each class of links by itself, and b = (N-1)/(n-1) for k = 1 "
    "and n-1"
)


@claim(
    "NK.T4.order",
    "Theorem 4",
    _COUNTED,
    "All-to-all broadcast on `nk-greedy`, all-port, takes at most c (D T_s + m(N-1)/(n-1) T_c), for one c and all n, k, m, "
    "T_s, T_c.",
    reading=f"{_EVEN}. The closed form: {_ORDER}",
)
def _order(see: See) -> None:
    _bytes_kept(see, ONE_TREE)
    see.equal(
        "start-ups", int(heights(see, ONE_TREE).max()), nk_diameter(see.where.n, size(see.where))
    )
    see.order(
        "time over D T_s + m(N-1)/(n-1) T_c",
        lambda n, k: quotient(
            (nk_diameter(n, k), nk_diameter(n, k)),
            (most(n, k), divided(arrangements(n, k) - 1, n - 1)),
        ),
    )


@claim(
    "NK.opt-allgather",
    "Abstract and section 9",
    _COUNTED,
    "All-to-all broadcast on `nk-greedy`, all-port, takes D start-ups, and at most c m(N-1)/(n-1) bytes, for one c and all n, "
    "k.",
    reading=f"{_EVEN}. The closed form: {_ORDER}",
)
def _optimal(see: See) -> None:
    _bytes_kept(see, ONE_TREE)
    see.equal(
        "start-ups", int(heights(see, ONE_TREE).max()), nk_diameter(see.where.n, size(see.where))
    )
    see.order(
        "bytes over m(N-1)/(n-1)",
        lambda n, k: divided(most(n, k), divided(arrangements(n, k) - 1, n - 1)),
    )


@claim(
    "NK.T5",
    "Theorem 5",
    _EXECUTED,
    "All-to-all broadcast on `nk-greedy`, one-port, n-1 sub-slots for every level, takes at most n(n-1)D T_s + (N-1)m T_c. "
    f"Looked at for {WITHIN}.",
    weight=_weight,
)
def _one_tree_one_port(see: See) -> None:
    n, k = see.where.n, size(see.where)
    made, took = _lc(see, ONE_TREE, "one")
    stated = GRID.T_s * (n * (n - 1) * nk_diameter(n, k)) + GRID.m * GRID.T_c * (
        arrangements(n, k) - 1
    )
    see.at_most("time", exact_time(took, _units(made), GRID), stated, **GRID.place, of=made)
    see.true("start-ups are at most (n-1)D", took.steps <= (n - 1) * nk_diameter(n, k), of=made)


@claim(
    "NK.opt-allgather-oneport",
    "Abstract and section 9, one-port",
    _EXECUTED,
    "All-to-all broadcast on `nk-greedy`, one-port, n-1 sub-slots for every level, takes (N-1)m bytes in packets one after "
    "the other.",
    weight=_weight,
)
def _optimal_one_port(see: See) -> None:
    made, took = _lc(see, ONE_TREE, "one")
    found = Fraction(int(took.packet_sizes.sum()), _units(made))
    see.equal("bytes over m", found, arrangements(see.where.n, size(see.where)) - 1, of=made)


def _executed_beside(see: See, ports: str, steps: int, found: Fraction) -> None:
    """The catalogue's schedule on MT, LC alone: no fewer start-ups than the height needs, and no fewer bytes."""
    where = see.where
    if (
        where.degree * (where.nodes - 1) * (1 if where.translation_keeps_ports else where.nodes)
        > _MOST
    ):
        return
    made, took = _lc(see, MANY_TREES, ports)
    high = int(heights(see, MANY_TREES).max())
    slots = took.steps if ports == "all" else ceil_div(took.steps, where.degree)
    see.equal("levels that are executed", slots, high, of=made)
    see.true("no more start-ups are counted than there are sub-slots", took.steps <= steps, of=made)
    see.true(
        "with LC alone no fewer bytes",
        Fraction(int(took.packet_sizes.sum()), _units(made)) >= found,
        of=made,
    )


@claim(
    "NK.T10",
    "Theorem 10",
    nk_stars(6, 7, 8),
    f"All-to-all broadcast on `nk-multiple`, all-port, {_LEVELS}, takes at most (2D-1)T_s + m(N-1)/(n-1) T_c. Looked at for "
    f"{WITHIN}, in this order.",
    reading=f"{_EVEN}. Executed with LC alone, it takes as many start-ups and no fewer bytes",
    weight=_weight,
)
def _many_trees(see: See) -> None:
    n, k = see.where.n, size(see.where)
    counted = spread(see.lab, see.where, MANY_TREES)
    found = all_port(counted)
    _executed_beside(see, "all", len(counted), found)
    stated = slotted(2 * nk_diameter(n, k) - 1, Fraction(0), GRID) + GRID.m * GRID.T_c * Fraction(
        arrangements(n, k) - 1, n - 1
    )
    time = GRID.T_s * len(counted) + GRID.m * GRID.T_c * found
    see.at_most("time", time, stated, **GRID.place)
    true = see.instead(
        "it takes h <= 2D start-ups, h the greatest height of the trees, and at most m T_c (N/n + (kN/n - 1)/(k-1)) beside; "
        "for k = 1 and k = n-1 exactly m(N-1)/(n-1) T_c beside"
    )
    true.equal("start-ups", len(counted), heights(see, MANY_TREES).max())
    true.at_most(
        "time", time, GRID.T_s * height_at_most(n, k) + GRID.m * GRID.T_c * most(n, k), **GRID.place
    )


@claim(
    "NK.T11",
    "Theorem 11",
    nk_stars(6, 7, 8),
    "All-to-all broadcast on `nk-multiple`, one-port, n-1 sub-slots for every level, takes at most (n-1)(2D-1)T_s + (N-1)m "
    f"T_c. Looked at for {WITHIN}, in this order.",
    reading=f"{_EVEN}. Sub-slots after the last in which something is sent do not count. Executed with LC alone, it takes no "
    "fewer bytes",
    weight=_weight,
)
def _many_trees_one_port(see: See) -> None:
    n, k = see.where.n, size(see.where)
    counted = spread(see.lab, see.where, MANY_TREES)
    steps, found = sub_slots(see.where, counted), one_port(see.where, counted)
    _executed_beside(see, "one", steps, found)
    time = GRID.T_s * steps + GRID.m * GRID.T_c * found
    stated = GRID.T_s * ((n - 1) * (2 * nk_diameter(n, k) - 1)) + GRID.m * GRID.T_c * (
        arrangements(n, k) - 1
    )
    see.at_most("time", time, stated, **GRID.place)
    true = see.instead("it takes at most 2(n-1)D start-ups, and exactly (N-1)m T_c beside")
    true.at_most("start-ups", steps, (n - 1) * height_at_most(n, k))
    true.equal("bytes over m", found, arrangements(n, k) - 1)


@claim(
    "NK.S9-allport",
    "Section 9, all-port",
    nk_stars(6, 7, 8),
    "All-to-all broadcast by levels, all-port, takes fewer start-ups on `nk-greedy` than on `nk-multiple`: the height of the "
    "one is less than the greatest height of the others.",
    weight=_weight,
)
def _fewer_start_ups(see: See) -> None:
    one, many = int(heights(see, ONE_TREE).max()), int(heights(see, MANY_TREES).max())
    made, took = _lc(see, ONE_TREE)
    see.equal("start-ups on one tree", took.steps, one, of=made)
    _executed_beside(see, "all", many, Fraction(0))
    see.at_most("start-ups on one tree", one, many - 1)


@claim(
    "NK.S9-oneport",
    "Section 9, one-port",
    nk_stars(6, 7, 8),
    "All-to-all broadcast, one-port, n-1 sub-slots for every level, takes more start-ups on `nk-greedy` than on `nk-multiple`.",
    reading="both as executed, with the same sub-slots; the theorems' n(n-1)D for the one tree is n times too many",
    weight=_weight,
)
def _more_start_ups(see: See) -> None:
    one = sub_slots(see.where, spread(see.lab, see.where, ONE_TREE))
    many = sub_slots(see.where, spread(see.lab, see.where, MANY_TREES))
    made, took = _lc(see, ONE_TREE, "one")
    see.true("no more start-ups are counted than there are sub-slots", took.steps <= one, of=made)
    _executed_beside(see, "one", many, Fraction(0))
    see.at_least("start-ups on one tree, stated as more than on the trees MT", one, many + 1)
    see.instead("it takes fewer: the tree is lower").at_most("start-ups on one tree", one, many - 1)
