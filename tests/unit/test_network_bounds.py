"""Lower bounds on networks, compared with schedules, exhaustive searches and linear programs."""

from fractions import Fraction
from itertools import combinations, product
from math import ceil
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import starcast
from starcast.collectives import schedule
from starcast.collectives.model import COLLECTIVES
from starcast.costs import Cost, Machine, bottleneck_cut, concurrent_flow, lower_bound
from starcast.costs.tables import CostProblem, build_table
from starcast.judges.simulator import simulate, timing
from starcast.topologies import topology
from support.meeting import refused
from unit.test_flows import networks

UNIT = Machine(Fraction(0), Fraction(1))
#: `CostProblem` also accepts a spec instead of a topology, which its annotations do not mention.
PROBLEM: Any = CostProblem


def number_of_steps(bound: Cost) -> int:
    assert bound.steps is not None
    return bound.steps


def bytes_of(network: Any, collective: str, ports: str = "all", **given: int) -> Fraction:
    return lower_bound(network, collective, ports, Fraction(1), UNIT, **given).bytes


#: The collectives for which the algorithm `forest` is defined.
SCHEDULED = [name for name in COLLECTIVES if name != "alltoall"]


@given(networks(), st.sampled_from(SCHEDULED), st.sampled_from(["all", "one"]), st.data())
@settings(max_examples=60)
def test_no_schedule_along_trees_is_faster_than_the_lower_bounds(
    network: starcast.Topology, collective: str, ports: str, data: st.DataObject
) -> None:
    root = data.draw(st.integers(0, network.nodes - 1))
    base = data.draw(st.sampled_from(["arc-disjoint", "breadth-first"]))
    built = schedule(network, collective, "forest", ports=ports, root=root, base=base)
    machine = Machine(Fraction(1), Fraction(1))
    bound = lower_bound(network, collective, ports, Fraction(60), machine, root=root)
    result = simulate(built)
    assert result.complete
    assert result.steps >= number_of_steps(bound)
    assert timing(built, Fraction(60, built.message_units), 1, 1).time >= bound.time
    assert bound.source.startswith("start-ups: the ") or ports == "one"
    assert "; bytes: " in bound.source


def is_below(state: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether two states differ and each node's units in ``state`` are also in ``other``."""
    return state != other and all(a | b == b for a, b in zip(state, other, strict=True))


def shortest(graph: nx.Graph, initial: tuple[int, ...], goal: tuple[int, ...], ports: str) -> int:
    """Return the minimum number of steps of any schedule, by a search over all states.

    A state has, for each node, the set of its units as bits. A directed link carries at most one
    unit per step.
    """
    arcs = [*graph.edges, *((v, u) for u, v in graph.edges)]
    states, steps = {initial}, 0
    while not any(
        all(has & need == need for has, need in zip(s, goal, strict=True)) for s in states
    ):
        steps += 1
        following = set()
        for state in states:
            choices = []
            for u, v in arcs:
                useful = state[u] & ~state[v]
                choices.append(
                    [None, *(1 << b for b in range(useful.bit_length()) if useful >> b & 1)]
                )
            for sent in product(*choices):
                busy = [arc for arc, unit in zip(arcs, sent, strict=True) if unit]
                ends = [len(busy), len({u for u, _ in busy}), len({v for _, v in busy})]
                if ports == "one" and len(set(ends)) > 1:
                    continue
                has = list(state)
                for (_, v), unit in zip(arcs, sent, strict=True):
                    has[v] |= unit or 0
                following.add(tuple(has))
        # A state in which each node has a subset of the units of another state is never better.
        states = {s for s in following if not any(is_below(s, t) for t in following)}
    return steps


SMALL = [
    nx.path_graph(3),
    nx.path_graph(4),
    nx.star_graph(3),
    nx.cycle_graph(4),
    nx.lollipop_graph(3, 1),
]


@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize("graph", SMALL, ids=["path3", "path4", "star", "ring", "pan"])
def test_lower_bounds_do_not_exceed_the_true_optimum(graph: nx.Graph, ports: str) -> None:
    network = starcast.network(graph, name="small")
    nodes = list(range(network.nodes))
    links = nx.Graph()
    for port in network.ports:
        ends = network.neighbours(port).tolist()
        links.add_edges_from((node, end) for node, end in enumerate(ends) if node != end)
    own = tuple(1 << node for node in nodes)
    every = tuple(2 ** len(nodes) - 1 for _ in nodes)
    best = shortest(links, own, every, ports)
    bound = lower_bound(network, "allgather", ports, Fraction(1), UNIT, messages=1)
    assert number_of_steps(bound) <= best
    for root, messages in product(nodes, (1, 2, 3)):
        whole = 2**messages - 1
        initial = tuple(whole if node == root else 0 for node in nodes)
        best = shortest(links, initial, (whole,) * len(nodes), ports)
        named = (network, "broadcast", ports, Fraction(1), UNIT)
        assert number_of_steps(lower_bound(*named, messages=messages, root=root)) <= best
        every_unit = sum(1 << node for node in nodes if node != root)
        initial = tuple(every_unit if node == root else 0 for node in nodes)
        goal = tuple(0 if node == root else 1 << node for node in nodes)
        best = shortest(links, initial, goal, ports)
        named = (network, "scatter", ports, Fraction(1), UNIT)
        assert number_of_steps(lower_bound(*named, messages=1, root=root)) <= best


def barbell(half: int) -> nx.Graph:
    return nx.barbell_graph(half, 0)


def test_the_lower_bounds_of_a_barbell_graph_follow_from_its_bridge() -> None:
    """A barbell graph consists of two complete graphs that are joined by one link, the bridge."""
    network = starcast.network(barbell(4), name="barbell")
    assert bytes_of(network, "broadcast") == bytes_of(network, "allreduce") == 1
    assert bytes_of(network, "scatter", root=1) == 4
    assert bytes_of(network, "allgather") == bytes_of(network, "reduce-scatter") == 4
    assert bytes_of(network, "alltoall") == bytes_of(network, "alltoall", "one") == 16
    assert (
        "1 link between 4 and 4 nodes"
        in lower_bound(network, "alltoall", "all", Fraction(1), UNIT).source
    )
    assert concurrent_flow(network, Fraction(1), UNIT).bytes == 16


def test_lower_bounds_on_paths_and_stars_have_known_values() -> None:
    path = topology("Path6")
    assert bytes_of(path, "scatter", root=0) == 5
    assert bytes_of(path, "scatter", root=2) == 3
    assert bytes_of(path, "allgather") == 5
    assert bytes_of(path, "alltoall") == 9
    assert lower_bound(path, "broadcast", "all", Fraction(1), UNIT, messages=7).steps == 11
    star = starcast.network(nx.star_graph(5), name="star")
    hub = star.rank("0")
    assert bytes_of(star, "scatter", root=hub) == 1
    assert bytes_of(star, "gather", "one", root=hub) == 5
    assert bytes_of(star, "allgather") == 5
    assert lower_bound(star, "broadcast", "one", Fraction(1), UNIT, root=hub).steps == 3


@given(networks())
@settings(max_examples=40)
def test_cut_and_flow_bounds_are_not_below_the_bound_of_any_cut(
    network: starcast.Topology,
) -> None:
    """The cut bound is for an allgather, and the flow bound for an alltoall."""
    links = nx.DiGraph()
    for port in network.ports:
        ends = network.neighbours(port).tolist()
        links.add_edges_from((node, end) for node, end in enumerate(ends) if node != end)
    ratios = [
        Fraction(len(inside), len(list(nx.edge_boundary(links, inside))))
        for size in range(1, network.nodes)
        for inside in combinations(range(network.nodes), size)
    ]
    cut = bottleneck_cut(network, Fraction(1), UNIT)
    assert cut.bytes == max(ratios) >= bytes_of(network, "allgather")
    flow = concurrent_flow(network, Fraction(1), UNIT).bytes
    # HiGHS and the rounding of its edge lengths are inexact, so a small error is permitted.
    assert flow >= bytes_of(network, "alltoall") - Fraction(1, 1000)
    sparsest = max(
        Fraction(size * (network.nodes - size), len(list(nx.edge_boundary(links, inside))))
        for size in range(1, network.nodes)
        for inside in combinations(range(network.nodes), size)
    )
    assert flow >= sparsest - Fraction(1, 1000)


def test_a_requested_bound_is_a_row_of_the_cost_table() -> None:
    given = ("all", Fraction(12), Machine(Fraction(1), Fraction(1)))
    table = build_table(PROBLEM("Mesh3x4", "alltoall", *given, bounds="lp"))
    rows: dict[str, Any] = {row.name: row for row in table}
    assert rows["concurrent flow"].cost.time == 144
    assert rows["lower bound"].cost.time < 144
    assert rows["lower bound, unit messages"].bound.time == 144
    table = build_table(PROBLEM("Mesh3x4", "allgather", *given, bounds="cut"))
    row: Any
    (row,) = [row for row in table if row.name == "bottleneck cut"]
    assert row.cost.bytes == 12 * Fraction(11, 2)
    assert "ForestColl" in row.source
    assert ceil(row.cost.time) == 66
    with refused("unknown bound 'best'"):
        PROBLEM("Mesh3x4", "allgather", *given, bounds="best")
    with refused("variables; at most 100,000 are supported", exit_code=7):
        build_table(PROBLEM("RR150,8,1", "alltoall", *given, bounds="lp"))


def test_a_bound_for_more_copies_than_arc_disjoint_trees_is_refused() -> None:
    given = ("Mesh3x4", "broadcast", "all", Fraction(1), UNIT)
    assert lower_bound(*given, copies=2).bytes == 1
    with refused("copies is 3, but the maximum on Mesh3x4 is 2"):
        lower_bound(*given, copies=3)


LINE = [("a", "b"), ("b", "c"), ("c", "d")]
CYCLE = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("d", "e")]


@pytest.mark.parametrize(
    ("links", "capacities"),
    [(LINE, [1, 4, 4]), (LINE, [10, 40, 10]), (LINE, [3, 7, 11]), (CYCLE, None)],
)
@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize("collective", ["broadcast", "allgather", "alltoall", "allreduce"])
def test_the_lower_bound_for_unit_messages_is_minimized_over_the_number_of_messages(
    collective: str, ports: str, links: list[tuple[str, str]], capacities: list[int] | None
) -> None:
    network = starcast.network(links, name="drawn", capacities=capacities)
    given = (network, collective, ports, Fraction(4096), Machine(Fraction(100), Fraction(1)))

    def priced(**values: int) -> tuple[Fraction, int]:
        table = build_table(PROBLEM(*given, **values))
        row: Any
        (row,) = [row for row in table if row.name == "lower bound, unit messages"]
        return row.cost.time, row.pieces

    most = 150
    time, messages = priced()
    assert messages < most
    assert (time, messages) == min(priced(messages=number) for number in range(1, most))


def test_without_start_up_times_there_is_no_best_number_of_unit_messages() -> None:
    with refused("with t_s = 0 more segments are always better"):
        build_table(PROBLEM("Mesh3x4", "broadcast", "all", Fraction(12), UNIT))
