"""Li, Chen, Xiang & Yao, sections 5 and 8: all-to-all broadcast on the tree SP and on the trees MT, executed and counted."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import arrangements, nk_diameter
from starcast.claims.growth import divided
from starcast.claims.reference.nk_labels import size
from starcast.claims.reference.nk_loads import (
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
from starcast.claims.reference.nk_pipelines import GRID, MANY_TREES, ONE_TREE, array, heights
from starcast.claims.reference.pipelines import exact_time, slotted
from starcast.claims.reference.place_labels import outgoing_links
from starcast.claims.registry import check
from starcast.collectives.model import Schedule
from starcast.simulator import Simulation
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

#: Rows of all sources up to which MT is executed beside what is counted.
_MOST = 100_000


def _weight(topology: Topology) -> int:
    """Bytes a node of an all-to-all broadcast, written out for all sources."""
    return 200 * topology.degree * (1 if topology.translation_keeps_ports else topology.nodes)


def _lc(check: ClaimCheck, construction: str, ports: str = "all") -> tuple[Schedule, Simulation]:
    """The catalogue's: LC alone, missing symbols ascending."""
    made = check.objects.schedule(check.topology.spec, "allgather", construction, ports)
    return made, check.execute(made)


def _units(made: Schedule) -> int:
    """Into how many units each message is cut."""
    return made.units // (1 if made.symmetric else made.topology.nodes)


@check("NK.S5-copies", bytes_per_node=_weight)
def _copies(check: ClaimCheck) -> None:
    nodes = arrangements(check.topology.n, size(check.topology))
    made, took = _lc(check, ONE_TREE)
    one = check.execute(
        check.objects.schedule(check.topology.spec, "broadcast", ONE_TREE, "all", segments=1)
    )
    found = Fraction(took.transmissions, one.transmissions)
    check.equal("one-to-all broadcasts", found, nodes - 1, of=made)
    check.correction("it is N of them: every node is a source").equal(
        "one-to-all broadcasts", found, nodes, of=made
    )


@check("NK.T4.startup", bytes_per_node=_weight)
def _start_ups(check: ClaimCheck) -> None:
    made, took = _lc(check, ONE_TREE)
    check.equal(
        "start-ups", took.steps, nk_diameter(check.topology.n, size(check.topology)), of=made
    )


@check("NK.T4.even", bytes_per_node=changed_weight)
def _even(check: ClaimCheck) -> None:
    topology = check.topology
    made = changed(check.objects, topology)
    took, units = check.execute(made), _units(made)
    load = _loads(made, took.steps)
    mean = [Fraction(int(row.sum()), load[0].size * units) for row in load]
    found = array(Fraction(int(one), units) for one in load.ravel()).reshape(load.shape)
    at = outgoing_links(check.objects, topology)

    def link(_: int, node: int, port: int) -> str:
        return at(node if load.shape[1] > 1 else 0, port)

    check.equal(
        "messages on the link",
        found,
        np.array(mean, dtype=object)[:, None, None],
        step=lambda at, *_: at + 1,
        link=link,
        of=made,
    )
    pluralize = spread(check.objects, topology, ONE_TREE)
    true = check.correction(
        "links of one class, exchanges or residual links, carry the same: as many messages as the tree has links of the class "
        "on that level, over k-1 or n-k; for k = 1 and k = n-1 all links are one class"
    )
    for kind, ports in enumerate(classes(topology)):
        columns = [topology.ports.index(port) for port in ports]
        true.equal(
            "messages on the link",
            found[:, :, columns],
            pluralize[:, kind, None, None],
            step=lambda at, *_: at + 1,
            of=made,
        )


def _loads(made: Schedule, steps: int) -> NDArray[np.int64]:
    """Units on each directed link in each step, ``[steps, nodes, ports]``; one node stands for all where ports are kept."""
    topology = made.topology
    rows = made if topology.translation_keeps_ports else made.expand()
    nodes = 1 if topology.translation_keeps_ports else topology.nodes
    place = np.searchsorted(topology.ports, rows.port)
    at = (
        (rows.step.astype(np.int64) - 1) * nodes + (rows.sender if nodes > 1 else 0)
    ) * topology.degree + place
    return np.bincount(at, minlength=steps * nodes * topology.degree).reshape(
        -1, nodes, topology.degree
    )


@check("NK.T4.time", bytes_per_node=changed_weight)
def _time(check: ClaimCheck) -> None:
    n, k = check.topology.n, size(check.topology)
    high, others = nk_diameter(n, k), arrangements(n, k) - 1
    made = changed(check.objects, check.topology)
    found = exact_time(check.execute(made), _units(made), GRID)
    check.equal(
        "time",
        found,
        GRID.T_s * high + GRID.m * GRID.T_c * Fraction(others, n - 1),
        **GRID.place,
        of=made,
    )
    true = check.correction(
        "it takes D T_s + m T_c times the sum over the levels t of max{s_t/(k-1), r_t/(n-k)}, s_t exchanges and r_t residual "
        "links of SP on level t; for k = 1 and k = n-1 that is the stated time"
    )
    bytes_over_m = all_port(spread(check.objects, check.topology, ONE_TREE))
    true.equal("time", found, GRID.T_s * high + GRID.m * GRID.T_c * bytes_over_m, **GRID.place)
    exact = [bytes_over_m == Fraction(others, n - 1)]
    true.equal("the stated time is taken", exact, [k in (1, n - 1)])


def _bytes_kept(check: ClaimCheck, construction: str) -> None:
    """What the closed form behind an order of growth says, held against the trees."""
    n, k = check.topology.n, size(check.topology)
    pluralize = spread(check.objects, check.topology, construction)
    found = all_port(pluralize)
    check.equal("bytes over m, each class by itself", each_class(pluralize), most(n, k))
    check.true("bytes over m are no more", found <= most(n, k))
    check.true(
        "bytes over m are at least (N-1)/(n-1)", found >= Fraction(arrangements(n, k) - 1, n - 1)
    )


@check("NK.T4.order")
def _order(check: ClaimCheck) -> None:
    _bytes_kept(check, ONE_TREE)
    check.equal(
        "start-ups",
        int(heights(check, ONE_TREE).max()),
        nk_diameter(check.topology.n, size(check.topology)),
    )
    check.order(
        "time over D T_s + m(N-1)/(n-1) T_c",
        lambda n, k: quotient(
            (nk_diameter(n, k), nk_diameter(n, k)),
            (most(n, k), divided(arrangements(n, k) - 1, n - 1)),
        ),
    )


@check("NK.opt-allgather")
def _optimal(check: ClaimCheck) -> None:
    _bytes_kept(check, ONE_TREE)
    check.equal(
        "start-ups",
        int(heights(check, ONE_TREE).max()),
        nk_diameter(check.topology.n, size(check.topology)),
    )
    check.order(
        "bytes over m(N-1)/(n-1)",
        lambda n, k: divided(most(n, k), divided(arrangements(n, k) - 1, n - 1)),
    )


@check("NK.T5", bytes_per_node=_weight)
def _one_tree_one_port(check: ClaimCheck) -> None:
    n, k = check.topology.n, size(check.topology)
    made, took = _lc(check, ONE_TREE, "one")
    stated = GRID.T_s * (n * (n - 1) * nk_diameter(n, k)) + GRID.m * GRID.T_c * (
        arrangements(n, k) - 1
    )
    check.at_most("time", exact_time(took, _units(made), GRID), stated, **GRID.place, of=made)
    check.true("start-ups are at most (n-1)D", took.steps <= (n - 1) * nk_diameter(n, k), of=made)


@check("NK.opt-allgather-oneport", bytes_per_node=_weight)
def _optimal_one_port(check: ClaimCheck) -> None:
    made, took = _lc(check, ONE_TREE, "one")
    found = Fraction(int(took.packet_sizes.sum()), _units(made))
    check.equal(
        "bytes over m", found, arrangements(check.topology.n, size(check.topology)) - 1, of=made
    )


def _executed_beside(check: ClaimCheck, ports: str, steps: int, found: Fraction) -> None:
    """The catalogue's schedule on MT, LC alone: no fewer start-ups than the height needs, and no fewer bytes."""
    topology = check.topology
    if (
        topology.degree
        * (topology.nodes - 1)
        * (1 if topology.translation_keeps_ports else topology.nodes)
        > _MOST
    ):
        return
    made, took = _lc(check, MANY_TREES, ports)
    high = int(heights(check, MANY_TREES).max())
    slots = took.steps if ports == "all" else ceil_div(took.steps, topology.degree)
    check.equal("levels that are executed", slots, high, of=made)
    check.true(
        "no more start-ups are counted than there are sub-slots", took.steps <= steps, of=made
    )
    check.true(
        "with LC alone no fewer bytes",
        Fraction(int(took.packet_sizes.sum()), _units(made)) >= found,
        of=made,
    )


@check("NK.T10", bytes_per_node=_weight)
def _many_trees(check: ClaimCheck) -> None:
    n, k = check.topology.n, size(check.topology)
    pluralize = spread(check.objects, check.topology, MANY_TREES)
    found = all_port(pluralize)
    _executed_beside(check, "all", len(pluralize), found)
    stated = slotted(2 * nk_diameter(n, k) - 1, Fraction(0), GRID) + GRID.m * GRID.T_c * Fraction(
        arrangements(n, k) - 1, n - 1
    )
    time = GRID.T_s * len(pluralize) + GRID.m * GRID.T_c * found
    check.at_most("time", time, stated, **GRID.place)
    true = check.correction(
        "it takes h <= 2D start-ups, h the greatest height of the trees, and at most m T_c (N/n + (kN/n - 1)/(k-1)) beside; "
        "for k = 1 and k = n-1 exactly m(N-1)/(n-1) T_c beside"
    )
    true.equal("start-ups", len(pluralize), heights(check, MANY_TREES).max())
    true.at_most(
        "time", time, GRID.T_s * height_at_most(n, k) + GRID.m * GRID.T_c * most(n, k), **GRID.place
    )


@check("NK.T11", bytes_per_node=_weight)
def _many_trees_one_port(check: ClaimCheck) -> None:
    n, k = check.topology.n, size(check.topology)
    pluralize = spread(check.objects, check.topology, MANY_TREES)
    steps, found = sub_slots(check.topology, pluralize), one_port(check.topology, pluralize)
    _executed_beside(check, "one", steps, found)
    time = GRID.T_s * steps + GRID.m * GRID.T_c * found
    stated = GRID.T_s * ((n - 1) * (2 * nk_diameter(n, k) - 1)) + GRID.m * GRID.T_c * (
        arrangements(n, k) - 1
    )
    check.at_most("time", time, stated, **GRID.place)
    true = check.correction("it takes at most 2(n-1)D start-ups, and exactly (N-1)m T_c beside")
    true.at_most("start-ups", steps, (n - 1) * height_at_most(n, k))
    true.equal("bytes over m", found, arrangements(n, k) - 1)


@check("NK.S9-allport", bytes_per_node=_weight)
def _fewer_start_ups(check: ClaimCheck) -> None:
    one, many = int(heights(check, ONE_TREE).max()), int(heights(check, MANY_TREES).max())
    made, took = _lc(check, ONE_TREE)
    check.equal("start-ups on one tree", took.steps, one, of=made)
    _executed_beside(check, "all", many, Fraction(0))
    check.at_most("start-ups on one tree", one, many - 1)


@check("NK.S9-oneport", bytes_per_node=_weight)
def _more_start_ups(check: ClaimCheck) -> None:
    one = sub_slots(check.topology, spread(check.objects, check.topology, ONE_TREE))
    many = sub_slots(check.topology, spread(check.objects, check.topology, MANY_TREES))
    made, took = _lc(check, ONE_TREE, "one")
    check.true("no more start-ups are counted than there are sub-slots", took.steps <= one, of=made)
    _executed_beside(check, "one", many, Fraction(0))
    check.at_least("start-ups on one tree, stated as more than on the trees MT", one, many + 1)
    check.correction("it takes fewer: the tree is lower").at_most(
        "start-ups on one tree", one, many - 1
    )
