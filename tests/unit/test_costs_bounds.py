"""Lower bounds on costs, compared with the papers' tables and with exhaustive searches."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import paper_costs, star_graph
from oracles.paper_costs import Asked
from starcast import costs
from starcast.collectives.model import COLLECTIVES
from starcast.formats.graphs import to_networkx
from starcast.topologies import as_topology
from support.cost_cases import MACHINE, MESSAGE, SMALL, UNIT_MACHINE
from support.meeting import refused

SPECS = (*SMALL, "S6", "S7", "S12", "S6,3", "S7,2", "Q7", "Q20")

amounts = st.fractions(min_value=0, max_value=10**6, max_denominator=1000)
models = st.sampled_from(["all", "one"])


def bound(spec: str, collective: str, ports: str, **given: int) -> costs.Cost:
    """Return a lower bound for a message of `MESSAGE` bytes on the machine `MACHINE`."""
    return costs.lower_bound(as_topology(spec), collective, ports, MESSAGE, MACHINE, **given)


@given(st.sampled_from(SPECS), st.sampled_from(COLLECTIVES), models, amounts, amounts, amounts)
def test_the_lower_bound_on_time_is_the_larger_of_start_up_time_and_transmission_time(
    spec: str, collective: str, ports: str, m: Fraction, start_up: Fraction, byte: Fraction
) -> None:
    result = costs.lower_bound(
        as_topology(spec), collective, ports, m, costs.Machine(start_up, byte)
    )
    start_ups, through = paper_costs.bound_terms(paper_costs.size(spec), collective, ports)
    assert result.time == max(start_ups * start_up, through * m * byte)
    assert result.start_ups == start_ups
    assert result.bytes == through * m
    assert isinstance(result.time, Fraction)
    assert isinstance(result.bytes, Fraction)
    assert result.steps == start_ups
    assert result.transmissions is None


@pytest.mark.parametrize("collective", COLLECTIVES)
@given(st.sampled_from(SPECS), models, st.integers(1, 200), st.integers(1, 11))
def test_lower_bounds_on_steps_and_transmissions_equal_those_of_the_papers_tables(
    collective: str, spec: str, ports: str, messages: int, copies: int
) -> None:
    size = paper_costs.size(spec)
    copies = min(copies, size.degree)
    result, asked = (
        bound(spec, collective, ports, messages=messages, copies=copies),
        Asked(ports, messages, copies),
    )
    assert result.steps == paper_costs.least_steps(size, collective, asked)
    assert result.transmissions == paper_costs.least_transmissions(size, collective, asked)


def test_the_one_port_allgather_bound_corrects_the_logarithm_of_li_et_al() -> None:
    """The paper has ceil(log2(N-1)), which is one start-up too few if N-1 is a power of two."""
    for spec, printed in [("S3,1", 1), ("S5,1", 2), ("S9,1", 3), ("S4,1", 2), ("S5,2", 5)]:
        nodes = as_topology(spec).nodes
        assert star_graph.ceil_log2(nodes - 1) == printed
        ours = bound(spec, "allgather", "one").start_ups
        assert ours == max(as_topology(spec).diameter, star_graph.ceil_log2(nodes))
        assert (ours > max(as_topology(spec).diameter, printed)) == (nodes - 1 in (2, 4, 8))


def fewest_steps(spec: str, one_port: bool) -> int:
    """Return the minimum number of broadcast steps, by trying all sets of informed nodes."""
    topology = as_topology(spec)
    links = {
        node: {int(topology.neighbours(port, [node])[0]) for port in topology.ports}
        for node in range(topology.nodes)
    }
    reached, steps = {frozenset([0])}, 0
    while not any(len(known) == topology.nodes for known in reached):
        steps += 1
        reached = {after for known in reached for after in informed(known, links, one_port)}
        # A larger set of informed nodes is never worse, so only maximal sets are kept.
        reached = {known for known in reached if not any(known < other for other in reached)}
    return steps


def informed(
    known: frozenset[int], links: dict[int, set[int]], one_port: bool
) -> set[frozenset[int]]:
    """Return the possible sets of informed nodes after one more step."""
    if not one_port:
        return {known.union(*(links[node] for node in known))}
    after = {known}
    for node in known:
        after = {more | {other} for more in after for other in links[node] - known or {node}}
    return after


def test_the_lower_bound_on_start_ups_is_the_minimum_number_of_broadcast_steps() -> None:
    """If messages have almost no bytes, the bound on time is the number of start-ups times T_s."""
    for spec in ["S2", "S3", "S2,1", "S3,1", "S4,1", "S5,1", "S3,2", "Q1", "Q2", "Q3", "S4,2"]:
        for ports in ("all", "one"):
            fewest = fewest_steps(spec, ports == "one")
            for m in (Fraction(0), Fraction(1, 10**9)):
                for collective in COLLECTIVES:
                    result = costs.lower_bound(spec, collective, ports, m, UNIT_MACHINE)
                    assert result.start_ups == result.time == fewest, collective


def test_the_source_of_a_lower_bound_is_the_paper_that_states_it() -> None:
    for spec, collective, ports, arguments, source in [
        ("S5", "broadcast", "all", {}, "Tseng & Sheu 1997, Lemma 1"),
        ("S5", "allgather", "one", {}, "Tseng & Sheu 1997, Lemma 2"),
        (
            "S5",
            "allgather",
            "one",
            {"messages": 2},
            "Tseng & Sheu 1997, Lemma 2; Fragopoulou & Akl 1993, Table 4",
        ),
        (
            "S5",
            "broadcast",
            "all",
            {"copies": 2},
            "Tseng & Sheu 1997, Lemma 1; Fragopoulou & Akl 1996, Table 2",
        ),
        ("S5", "scatter", "all", {}, "Fragopoulou & Akl 1993, Table 4"),
        ("S5", "alltoall", "all", {"copies": 3}, "Fragopoulou & Akl 1996, Table 2"),
        ("S5,2", "allgather", "all", {}, "Li, Chen, Xiang & Yao, Lemma 2"),
        ("Q4", "gather", "one", {}, "Fragopoulou & Akl 1993, Table 5"),
        ("Q4", "broadcast", "all", {"messages": 9}, "Fragopoulou & Akl 1996, Table 3"),
        ("S5,2", "alltoall", "all", {}, "starcast"),  # no paper states this bound
        ("Q4", "broadcast", "one", {}, "starcast"),
    ]:
        assert bound(spec, collective, ports, **arguments).source.partition(":")[0] == source


def test_lower_bounds_refuse_invalid_arguments() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"collective": "reduction"}, "reduction"),
        ({"ports": "both"}, "both"),
        ({"message_bytes": Fraction(-1)}, "-1"),
        *(({"copies": copies}, str(copies)) for copies in (5, 0)),
        ({"messages": 0}, "0"),
        *(({"copies": copies}, "copies") for copies in (1.5, "2", True, None)),
        *(({"messages": messages}, "messages") for messages in (1.5, "2", True)),
    ]
    valid = {"collective": "alltoall", "ports": "all", "message_bytes": MESSAGE}
    for change, word in wrong:
        with refused(word):
            costs.lower_bound("S5", **{**valid, **change}, machine=MACHINE)


def largest_ratio_of_all_sets(graph: nx.Graph) -> Fraction:
    """Return the largest ratio |S| / B(S) of all node sets S, by trying all sets.

    B(S) is the number of links that leave S.
    """
    sets = (chosen for size in range(1, len(graph)) for chosen in combinations(graph.nodes, size))
    return max(Fraction(len(chosen), nx.cut_size(graph, chosen)) for chosen in sets)


def largest_ratio_by_flows(graph: nx.Graph) -> Fraction:
    """Return the largest ratio |S| / B(S) of all node sets S, by maximum flows.

    B(S) is the number of links that leave S. To find a ratio above r, a new node is linked to all N
    nodes with capacity 1 / r. Some set without node v has a ratio above r if and only if the
    minimum cut between the new node and v is less than N / r. All capacities are multiplied by the
    numerator of r to make them integers.
    """
    ratio = Fraction(1, max(degree for _, degree in graph.degree))
    for sink in graph.nodes:
        while True:
            network = nx.DiGraph(graph)
            nx.set_edge_attributes(network, ratio.numerator, "capacity")
            network.add_edges_from(
                (("source", node) for node in graph.nodes), capacity=ratio.denominator
            )
            cut, (near, _) = nx.minimum_cut(network, "source", sink)
            if cut >= len(graph) * ratio.denominator:
                break
            chosen = near - {"source"}
            ratio = Fraction(len(chosen), nx.cut_size(graph, chosen))
    return ratio


@pytest.mark.parametrize("spec", ["S3", "Q3", "S3,2", "S4,2", "S4", "S4,3", "S5,2", "Q4"])
def test_the_bottleneck_cut_equals_that_found_by_maximum_flows(spec: str) -> None:
    """On small topologies, the cut also has the largest ratio |S| / B(S) of all sets S of nodes.

    B(S) is the number of links that leave S.
    """
    graph = to_networkx(as_topology(spec))
    found = costs.bottleneck_cut(spec, Fraction(1), costs.Machine(Fraction(0), Fraction(1)))
    assert found.time == largest_ratio_by_flows(graph)
    if len(graph) <= 12:
        assert found.time == largest_ratio_of_all_sets(graph)
    assert found.start_ups == 0
    assert found.steps is None
    assert found.source.startswith("ForestColl")
    assert found.bytes == bound(spec, "allgather", "all").bytes / MESSAGE


def test_maximum_flows_find_the_bottleneck_of_an_irregular_graph() -> None:
    """Two complete graphs of 4 nodes are joined by one link, which carries 4 messages each way."""
    graph = nx.barbell_graph(4, 0)
    assert largest_ratio_by_flows(graph) == largest_ratio_of_all_sets(graph) == 4
