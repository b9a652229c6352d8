"""Property tests of random networks: simulation results, relabelled nodes and removed links."""

from dataclasses import replace
from fractions import Fraction
from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from starcast import Network, Schedule, forest, network, schedule, simulate, topology
from starcast.collectives.columns import schedule_from_columns
from starcast.costs.model import Machine, lower_bound
from starcast.formats.graphs import to_networkx
from support.simulator_cases import MUTATIONS, assert_same_verdict, mutate

COLLECTIVES = (
    "broadcast", "scatter", "gather", "allgather", "reduce", "reduce-scatter", "allreduce",
)  # fmt: skip
ALGORITHM = "forest(base=breadth-first)"
MACHINE = Machine(Fraction(3), Fraction(2))

ports_of_models = st.sampled_from(["all", "one"])


@st.composite
def graphs(draw: st.DrawFn) -> nx.Graph:
    """Generate a connected graph: a random tree with additional links."""
    nodes = draw(st.integers(3, 8))
    graph = nx.Graph((draw(st.integers(0, node - 1)), node) for node in range(1, nodes))
    ends = st.integers(0, nodes - 1)
    further = draw(st.lists(st.tuples(ends, ends), max_size=nodes))
    graph.add_edges_from((u, v) for u, v in further if u != v)
    return graph


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Generate a schedule on the network of a random graph."""
    made = network(draw(graphs()), name="drawn")
    root = draw(st.integers(0, made.nodes - 1))
    collective = draw(st.sampled_from(COLLECTIVES))
    return schedule(made, collective, ALGORITHM, ports=draw(ports_of_models), root=root)


@given(schedules(), st.data())
def test_the_verdicts_of_the_simulator_equal_those_of_an_independent_simulator(
    built: Schedule, data: st.DataObject
) -> None:
    assert assert_same_verdict(built).complete
    way = data.draw(st.sampled_from(MUTATIONS))
    assert_same_verdict(mutate(data.draw, built, way))


@given(graphs(), st.randoms(use_true_random=False), ports_of_models)
def test_relabelling_nodes_does_not_change_distances_or_lower_bounds(
    graph: nx.Graph, random: Random, ports: str
) -> None:
    """Schedules on the relabelled network are complete and valid."""
    names = [f"{letter}{number}" for number, letter in enumerate("tobazyxc"[: len(graph)])]
    random.shuffle(names)
    given_network, renamed = network(graph), network(nx.relabel_nodes(graph, names.__getitem__))
    assert renamed.sha256 != given_network.sha256
    assert renamed.diameter == given_network.diameter
    assert renamed.distance_profile() == given_network.distance_profile()
    for root in graph:
        label = names[root]
        places = [renamed.rank(name) for name in names]
        assert renamed.distances(label)[places].tolist() == given_network.distances(root).tolist()
        for collective in COLLECTIVES:
            bounds = [
                # The source of a bound is a text with node labels, which differ here.
                replace(
                    lower_bound(made, collective, ports, Fraction(60), MACHINE, root=at), source=""
                )
                for made, at in ((given_network, root), (renamed, label))
            ]
            assert bounds[0] == bounds[1]
            result = simulate(schedule(renamed, collective, ALGORITHM, ports=ports, root=label))
            assert (result.complete, result.violation) == (True, None)


def moved(built: Schedule, smaller: Network) -> Schedule:
    """Return a schedule transferred to a network with the same labels, which may lack a link."""
    links = {(u, v): port for u, v, port in smaller.port_links().tolist()}
    pairs = zip(built.sender.tolist(), built.receiver.tolist(), strict=True)
    ports = [links.get((min(pair), max(pair)), 1) for pair in pairs]
    columns = {name: getattr(built, name) for name in ("step", "sender", "receiver", "unit")}
    return schedule_from_columns({**columns, "port": ports}, smaller, "broadcast", root=built.root)


@given(graphs(), st.data(), ports_of_models)
def test_a_schedule_is_invalid_if_a_link_that_it_uses_is_removed(
    graph: nx.Graph, data: st.DataObject, ports: str
) -> None:
    made = network(graph)
    bridges = {frozenset(bridge) for bridge in nx.bridges(graph)}
    removable = [link for link in graph.edges if frozenset(link) not in bridges]
    assume(removable)
    u, v = data.draw(st.sampled_from(removable))
    # With root u, the link to v is in the first level of the tree.
    built = schedule(made, "broadcast", ALGORITHM, ports=ports, root=str(u))
    rows = [
        row
        for row, ends in enumerate(zip(built.sender.tolist(), built.receiver.tolist(), strict=True))
        if {made.label(end) for end in ends} == {str(u), str(v)}
    ]
    graph.remove_edge(u, v)
    smaller = network(graph)
    assert moved(built, made).receiver.tolist() == built.receiver.tolist()
    (row,) = rows
    result = simulate(moved(built, smaller))
    step, sender = built.step[row], made.label(int(built.sender[row]))
    assert not result.complete
    assert result.violation is not None
    assert result.violation.startswith(f"step {step}: {sender} sends unit 0 over port 1 to")


@pytest.fixture(scope="module")
def star() -> Network:
    """The star graph S_5 as a network built from a list of links."""
    return network(to_networkx(topology("S5")), name="star5")


def test_s5_given_as_a_list_of_links_has_the_distances_of_the_built_in_s5(star: Network) -> None:
    family = topology("S5")
    assert star.labels().tolist() == sorted(family.labels().tolist())
    order = [family.rank(label) for label in star.labels().tolist()]
    for root in ("12345", "21345", "53214"):
        assert star.distances(root).tolist() == family.distances(root)[order].tolist()
    assert (star.diameter, star.links, star.degree) == (family.diameter, family.links, 4)
    assert star.distance_profile() == tuple(120 * count for count in family.distance_profile())


@pytest.mark.parametrize("root", ["12345", "35142"])
def test_s5_given_as_a_list_of_links_has_breadth_first_trees_like_the_built_in_s5(
    star: Network, root: str
) -> None:
    """The trees have the same height and the same number of nodes on each level."""
    trees = [forest(made, "breadth-first", root=root) for made in (star, topology("S5"))]
    for tree in trees:
        tree.verify()
    assert trees[0].heights.tolist() == trees[1].heights.tolist() == [6]
    levels = [np.bincount(tree.levels()[0]).tolist() for tree in trees]
    assert levels[0] == levels[1]


@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize("collective", [*COLLECTIVES, "alltoall"])
def test_s5_given_as_a_list_of_links_has_the_lower_bounds_of_the_built_in_s5(
    star: Network, collective: str, ports: str
) -> None:
    bounds = [
        lower_bound(made, collective, ports, Fraction(120), MACHINE, root="12345")
        for made in (star, topology("S5"))
    ]
    assert bounds[0].start_ups == bounds[1].start_ups
    assert bounds[0].transmissions == bounds[1].transmissions
    assert bounds[0].bytes == bounds[1].bytes
