"""Li, Chen, Xiang & Yao, sections 5 and 8: all-to-all broadcast on the tree SP and the trees MT."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import arrangements, nk_diameter
from starcast.claims.growth import Number, divided
from starcast.claims.providers import Execution, executions
from starcast.claims.reference import nk_loads, nk_pipelines
from starcast.claims.reference.nk_loads import class_loads, optimal_bytes
from starcast.claims.reference.nk_pipelines import GRID, MANY_TREES, ONE_TREE
from starcast.claims.reference.pipelines import carried_share, exact_time, units_per_message
from starcast.claims.reference.place_labels import outgoing_links
from starcast.claims.registry import checks
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div

#: Largest number of rows, for all sources, with which MT is also executed.
_MAX_ROWS = 100_000

# The algorithms of the catalogue relabel (LC) with the missing symbols in ascending order.
all_port = executions("allgather", ONE_TREE)
one_port = executions("allgather", ONE_TREE, ports="one")


@checks("NK.S5-copies", given=all_port, bytes_per_node=nk_loads.allgather_bytes)
def allgather_is_many_broadcasts(check: ClaimCheck, allgather: Execution) -> None:
    """Divide the transmissions of the all-to-all broadcast by those of one broadcast."""
    nodes = arrangements(*check.n_and_k)
    broadcast = check.execute(check.schedule("broadcast", ONE_TREE, "all", segments=1))
    copies = Fraction(allgather.simulation.transmissions, broadcast.transmissions)
    what = "one-to-all broadcasts"
    check.equal(what, copies, nodes - 1, of=allgather.schedule)
    correction = check.correction("it is N of them: every node is a source")
    correction.equal(what, copies, nodes, of=allgather.schedule)


@checks("NK.T4.startup", given=all_port, bytes_per_node=nk_loads.allgather_bytes)
def start_ups_are_diameter(check: ClaimCheck, allgather: Execution) -> None:
    """Check the number of steps on the tree SP."""
    diameter = nk_diameter(*check.n_and_k)
    check.equal("start-ups", allgather.simulation.steps, diameter, of=allgather.schedule)


@checks("NK.T4.even", bytes_per_node=nk_loads.allgather_bytes)
def links_are_loaded_evenly(check: ClaimCheck) -> None:
    """Compare the load of every directed link with the mean load in each step."""
    schedule = nk_loads.dimension_change_allgather(check)
    simulation = check.execute(schedule)
    units = units_per_message(schedule)
    counts = _unit_counts(schedule, simulation.steps)
    loads = nk_pipelines.exact_array(Fraction(count, units) for count in counts.ravel().tolist())
    loads = loads.reshape(counts.shape)
    mean = nk_pipelines.exact_array(step.sum() / step.size for step in loads)
    link_at = outgoing_links(check)

    def link(_: int, node: int, port: int) -> str:
        return link_at(node, port)

    def step_number(index: int, *_: int) -> int:
        return index + 1

    what = "messages on the link"
    place = {"step": step_number, "link": link, "of": schedule}
    check.equal(what, loads, mean[:, None, None], **place)
    of_class = class_loads(check, ONE_TREE)
    correction = check.correction(
        "links of one class, exchanges or residual links, carry the same: as many messages as the "
        "tree has links of the class on that level, over k-1 or n-k; for k = 1 and k = n-1 all "
        "links are one class"
    )
    for kind, ports in enumerate(nk_loads.link_classes(check)):
        columns = [check.ports.index(port) for port in ports]
        stated = of_class[:, kind, None, None]
        correction.equal(what, loads[:, :, columns], stated, step=step_number, of=schedule)


def _unit_counts(schedule: Schedule, steps: int) -> NDArray[np.int64]:
    """Return the units on each directed link in each step, int64 ``[steps, nodes, ports]``.

    If relabelling keeps ports, all nodes have the same loads, and there is one row of nodes.
    """
    topology = schedule.topology
    # For (n,k)-stars with residual links, a relabelled residual link may have another port. Then
    # only the expanded schedule shows the load of each link.
    nodes = 1 if topology.translation_keeps_ports else topology.nodes
    rows = schedule if nodes == 1 else schedule.expand()
    sender = rows.sender if nodes > 1 else 0
    column = np.searchsorted(topology.ports, rows.port)
    step = rows.step.astype(np.int64) - 1
    index = (step * nodes + sender) * topology.degree + column
    counts = np.bincount(index, minlength=steps * nodes * topology.degree)
    return counts.reshape(-1, nodes, topology.degree)


@checks("NK.T4.time", bytes_per_node=nk_loads.allgather_bytes)
def time_on_one_tree(check: ClaimCheck) -> None:
    """Compare the executed time with D T_s + m(N-1)/(n-1) T_c."""
    n, k = check.n_and_k
    diameter = nk_diameter(n, k)
    schedule = nk_loads.dimension_change_allgather(check)
    simulation = check.execute(schedule)
    time = exact_time(simulation, units_per_message(schedule), GRID)
    stated = optimal_bytes(n, k)
    check.equal("time", time, GRID.time(diameter, stated), **GRID.place, of=schedule)
    correction = check.correction(
        "it takes D T_s + m T_c times the sum over the levels t of max{s_t/(k-1), r_t/(n-k)}, s_t "
        "exchanges and r_t residual links of SP on level t; for k = 1 and k = n-1 that is the "
        "stated time"
    )
    share = nk_loads.all_port_bytes(class_loads(check, ONE_TREE))
    correction.equal("time", time, GRID.time(diameter, share), **GRID.place)
    correction.equal("the stated time is taken", [share == stated], [k in (1, n - 1)])


def _check_bytes_and_height(check: ClaimCheck) -> None:
    """Check the closed form behind the orders of growth, and the height, on the tree SP."""
    n, k = check.n_and_k
    loads = class_loads(check, ONE_TREE)
    share = nk_loads.all_port_bytes(loads)
    formula = nk_loads.bytes_formula(n, k)
    check.equal("bytes over m, each class by itself", nk_loads.bytes_by_class(loads), formula)
    check.true("bytes over m are no more", share <= formula)
    check.true("bytes over m are at least (N-1)/(n-1)", share >= optimal_bytes(n, k))
    check.equal("start-ups", nk_pipelines.greatest_height(check, ONE_TREE), nk_diameter(n, k))


@checks("NK.T4.order")
def order_of_time_on_one_tree(check: ClaimCheck) -> None:
    """Check that the time is O(D T_s + m(N-1)/(n-1) T_c)."""
    _check_bytes_and_height(check)

    def quotient(n: int, k: int) -> Number:
        bytes_terms = (nk_loads.bytes_formula(n, k), optimal_bytes(n, k))
        return nk_loads.greatest_quotient((nk_diameter(n, k), nk_diameter(n, k)), bytes_terms)

    check.order("time over D T_s + m(N-1)/(n-1) T_c", quotient)


@checks("NK.opt-allgather")
def all_port_is_optimal(check: ClaimCheck) -> None:
    """Check that the bytes are O(m(N-1)/(n-1)), the bound of Lemma 2."""
    _check_bytes_and_height(check)
    what = "bytes over m(N-1)/(n-1)"
    check.order(what, lambda n, k: divided(nk_loads.bytes_formula(n, k), optimal_bytes(n, k)))


@checks("NK.T5", given=one_port, bytes_per_node=nk_loads.allgather_bytes)
def one_port_time_on_one_tree(check: ClaimCheck, allgather: Execution) -> None:
    """Check that the one-port time is at most n(n-1)D T_s + (N-1)m T_c."""
    n, k = check.n_and_k
    diameter = nk_diameter(n, k)
    schedule = allgather.schedule
    time = exact_time(allgather.simulation, units_per_message(schedule), GRID)
    stated = GRID.time(n * (n - 1) * diameter, Fraction(arrangements(n, k) - 1))
    check.at_most("time", time, stated, **GRID.place, of=schedule)
    few = allgather.simulation.steps <= (n - 1) * diameter
    check.true("start-ups are at most (n-1)D", few, of=schedule)


@checks("NK.opt-allgather-oneport", given=one_port, bytes_per_node=nk_loads.allgather_bytes)
def one_port_bytes_are_optimal(check: ClaimCheck, allgather: Execution) -> None:
    """Check that the one-port bytes are (N-1)m, the bound of Lemma 2."""
    schedule = allgather.schedule
    share = carried_share(allgather.simulation, units_per_message(schedule))
    check.equal("bytes over m", share, arrangements(*check.n_and_k) - 1, of=schedule)


def _check_executed_trees(check: ClaimCheck, ports: str, steps: int, share: Fraction) -> None:
    """Execute the catalogue's schedule on MT, with LC alone, if it is small enough.

    It needs a start-up per level, at most ``steps`` in all, and at least ``share`` of m.
    """
    sources = 1 if check.topology.translation_keeps_ports else check.nodes
    if check.degree * (check.nodes - 1) * sources > _MAX_ROWS:
        return
    for allgather in executions("allgather", MANY_TREES, ports=ports)(check):
        schedule = allgather.schedule
        simulation = allgather.simulation
        levels = simulation.steps
        if ports == "one":
            # One-port, a level takes n-1 sub-slots.
            levels = ceil_div(levels, check.degree)
        height = nk_pipelines.greatest_height(check, MANY_TREES)
        check.equal("levels that are executed", levels, height, of=schedule)
        few = simulation.steps <= steps
        check.true("no more start-ups are counted than there are sub-slots", few, of=schedule)
        executed = carried_share(simulation, units_per_message(schedule))
        check.true("with LC alone no fewer bytes", executed >= share, of=schedule)


@checks("NK.T10", bytes_per_node=nk_loads.allgather_bytes)
def time_on_many_trees(check: ClaimCheck) -> None:
    """Check that the all-port time on MT is at most (2D-1)T_s + m(N-1)/(n-1) T_c."""
    n, k = check.n_and_k
    loads = class_loads(check, MANY_TREES)
    levels = len(loads)
    share = nk_loads.all_port_bytes(loads)
    _check_executed_trees(check, "all", levels, share)
    time = GRID.time(levels, share)
    stated = GRID.time(2 * nk_diameter(n, k) - 1, optimal_bytes(n, k))
    check.at_most("time", time, stated, **GRID.place)
    correction = check.correction(
        "it takes h <= 2D start-ups, h the greatest height of the trees, and at most m T_c (N/n + "
        "(kN/n - 1)/(k-1)) beside; for k = 1 and k = n-1 exactly m(N-1)/(n-1) T_c beside"
    )
    correction.equal("start-ups", levels, nk_pipelines.greatest_height(check, MANY_TREES))
    bound = GRID.time(nk_loads.height_bound(n, k), nk_loads.bytes_formula(n, k))
    correction.at_most("time", time, bound, **GRID.place)


@checks("NK.T11", bytes_per_node=nk_loads.allgather_bytes)
def one_port_time_on_many_trees(check: ClaimCheck) -> None:
    """Check that the one-port time on MT is at most (n-1)(2D-1)T_s + (N-1)m T_c."""
    n, k = check.n_and_k
    others = arrangements(n, k) - 1
    loads = class_loads(check, MANY_TREES)
    steps = nk_loads.last_sub_slot(check, loads)
    share = nk_loads.one_port_bytes(check, loads)
    _check_executed_trees(check, "one", steps, share)
    stated = GRID.time((n - 1) * (2 * nk_diameter(n, k) - 1), Fraction(others))
    check.at_most("time", GRID.time(steps, share), stated, **GRID.place)
    correction = check.correction(
        "it takes at most 2(n-1)D start-ups, and exactly (N-1)m T_c beside"
    )
    correction.at_most("start-ups", steps, (n - 1) * nk_loads.height_bound(n, k))
    correction.equal("bytes over m", share, others)


@checks("NK.S9-allport", bytes_per_node=nk_loads.allgather_bytes)
def one_tree_has_fewer_start_ups(check: ClaimCheck) -> None:
    """Check that the all-port broadcast has fewer start-ups on SP than on MT."""
    what = "start-ups on one tree"
    one = nk_pipelines.greatest_height(check, ONE_TREE)
    many = nk_pipelines.greatest_height(check, MANY_TREES)
    for allgather in all_port(check):
        check.equal(what, allgather.simulation.steps, one, of=allgather.schedule)
    _check_executed_trees(check, "all", many, Fraction(0))
    check.at_most(what, one, many - 1)


@checks("NK.S9-oneport", bytes_per_node=nk_loads.allgather_bytes)
def one_tree_has_more_start_ups(check: ClaimCheck) -> None:
    """Check whether the one-port broadcast has more start-ups on SP than on MT."""
    one = nk_loads.last_sub_slot(check, class_loads(check, ONE_TREE))
    many = nk_loads.last_sub_slot(check, class_loads(check, MANY_TREES))
    for allgather in one_port(check):
        few = allgather.simulation.steps <= one
        what = "no more start-ups are counted than there are sub-slots"
        check.true(what, few, of=allgather.schedule)
    _check_executed_trees(check, "one", many, Fraction(0))
    check.at_least("start-ups on one tree, stated as more than on the trees MT", one, many + 1)
    correction = check.correction("it takes fewer: the tree is lower")
    correction.at_most("start-ups on one tree", one, many - 1)
