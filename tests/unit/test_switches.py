"""Networks with switches, which forward messages but own none: verdicts, times and bounds."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import starcast
from starcast import family, schedule, simulate, timing, topology
from starcast.collectives.columns import schedule_from_columns
from starcast.collectives.model import COLLECTIVES, REDUCTIONS, describe_schedule
from starcast.costs import Machine, lower_bound
from starcast.costs.tables import CostProblem, build_table, execute_row
from starcast.drawing import draw_steps
from starcast.drawing.networks import draw_topology
from starcast.drawing.scene import ACCENT
from starcast.experiments.faults import resolve_faults
from starcast.formats.reading import read_schedule
from starcast.formats.writing import export
from starcast.support.vocabulary import (
    EXECUTION_MODELS,
    Collective,
    ExecutionModel,
    Ports,
    ScheduleFormat,
    TopologyFormat,
)
from starcast.topologies.base import describe_topology
from starcast.topologies.networks import Network
from starcast.trees.construction import forest_from_id
from support.examples import max_examples
from support.fix_plugins import restored_registries
from support.irregular import graph_of
from support.meeting import refused
from support.read_svg import SVG, Picture
from support.same_times import assert_same_times
from support.simulator_cases import (
    MUTATIONS,
    assert_same_verdict,
    fault_sets,
    mutate,
    random_schedules,
)

LINKS = [
    *[("s0", "a"), ("s0", "b"), ("s0", "c"), ("s1", "d"), ("s1", "e"), ("s0", "s2"), ("s1", "s2")],
    *[("s1", "s3"), ("s3", "f"), ("s3", "g"), ("c", "d"), ("s2", "s4")],
]
SWITCHES = ["s0", "s1", "s2", "s3", "s4"]
TREE = "forest(base=breadth-first)"
ALONG_TREES: list[Collective] = [each for each in COLLECTIVES if each != "alltoall"]
PORTS: list[Ports] = ["all", "one"]


def switched() -> Network:
    """Return a network of 7 endpoints and 5 switches; the switch s4 is a leaf."""
    return starcast.network(LINKS, name="switched", switches=SWITCHES)


def hub(endpoints: int) -> Network:
    """Return a network whose endpoints 0, 1, .. are linked to a single switch."""
    links = [("hub", number) for number in range(endpoints)]
    return starcast.network(links, name="hub", switches=["hub"])


SPEC = switched().spec


@pytest.mark.parametrize("ports", PORTS)
@pytest.mark.parametrize("collective", ALONG_TREES)
@pytest.mark.parametrize("root", range(7))
def test_schedules_along_trees_of_a_network_with_switches_are_complete(
    collective: Collective, ports: Ports, root: int
) -> None:
    """A switch that is a leaf of the network neither sends nor receives."""
    built = schedule(switched(), collective, TREE, ports=ports, root=root)
    assert assert_same_verdict(built).complete
    assert not {11} & {*built.sender.tolist(), *built.receiver.tolist()}  # the rank of switch s4
    assert built.message_units == (1 if collective != "allreduce" else built.units)
    assert describe_schedule(built)["units"] == built.units
    assert starcast.simulate(built).transmissions == len(built)


@given(st.data())
@max_examples(150)
def test_on_a_network_with_switches_random_schedules_get_the_verdict_of_the_oracle(
    data: st.DataObject,
) -> None:
    """The oracle is a second simulator. Some schedules are changed. Faults can be at switches."""
    given = data.draw(random_schedules(SPEC, symmetric=False))
    if len(given) and data.draw(st.booleans()):
        given = mutate(data.draw, given, data.draw(st.sampled_from(MUTATIONS)))
    assert_same_verdict(given)
    assert_same_verdict(given, data.draw(fault_sets(given.topology, 4)))


@given(st.data(), st.sampled_from(ALONG_TREES), st.sampled_from(PORTS))
@max_examples(150)
def test_on_a_network_with_switches_changed_schedules_get_the_verdict_of_the_oracle(
    data: st.DataObject, collective: Collective, ports: Ports
) -> None:
    """The oracle is a second simulator."""
    root = data.draw(st.integers(0, 6))
    built = schedule(switched(), collective, TREE, ports=ports, root=root)
    for _ in range(data.draw(st.integers(1, 2))):
        built = mutate(data.draw, built, data.draw(st.sampled_from(MUTATIONS)))
    assert_same_verdict(built)


@given(st.data(), st.sampled_from(EXECUTION_MODELS))
@max_examples(80)
def test_on_a_network_with_switches_times_equal_those_of_an_event_simulation(
    data: st.DataObject, execution: ExecutionModel
) -> None:
    judged = data.draw(random_schedules(SPEC, symmetric=False))
    if not simulate(judged).violation:
        assert_same_times(judged, execution, (64, 100, 1))


@pytest.mark.parametrize("execution", EXECUTION_MODELS)
@pytest.mark.parametrize("ports", PORTS)
@pytest.mark.parametrize("collective", ALONG_TREES)
def test_on_a_network_with_switches_times_along_trees_equal_those_of_an_event_simulation(
    collective: Collective, ports: Ports, execution: ExecutionModel
) -> None:
    judged = schedule(switched(), collective, TREE, ports=ports, root=2)
    assert_same_times(judged, execution, (64, 100, 1))


def rows_of_hub(collective: Collective, ports: Ports, **values: list[int]) -> starcast.Schedule:
    """Return a schedule on a hub with three endpoints; the hub has rank 3."""
    return schedule_from_columns(values, hub(3), collective, ports=ports)


@pytest.mark.parametrize("ports", PORTS)
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_in_greedy_schedules_no_switch_receives_a_unit_that_it_does_not_forward(
    collective: Collective, ports: Ports
) -> None:
    """In reductions, the direction is reversed: a switch sends only units that it receives."""
    for network in (switched(), hub(5), starcast.topology("FT4")):
        built = schedule(network, collective, "greedy", ports=ports, messages=2, seed=1)
        result = simulate(built)
        assert result.violation is None
        assert result.complete
        ends = (built.sender, built.receiver)
        came, went = ends if collective in REDUCTIONS else ends[::-1]
        into = {
            (node, unit)
            for node, unit in zip(came.tolist(), built.unit.tolist(), strict=True)
            if node >= network.endpoints
        }
        out = set(zip(went.tolist(), built.unit.tolist(), strict=True))
        assert into <= out


def test_the_algorithm_ring_is_refused_on_networks_with_switches() -> None:
    cycle = starcast.network([(0, 1), (1, 2), (2, 3), (3, 0)], name="cycle", switches=[3])
    with refused("ring is not defined on cycle-", "its switches have no messages of their own"):
        schedule(cycle, "allgather", "ring")


def test_in_the_one_port_model_a_switch_may_send_and_receive_several_messages_in_a_step() -> None:
    network = hub(3)
    port = [network.ports_between(3, end)[0] for end in range(3)]
    built = rows_of_hub(
        "broadcast", "one", step=[1, 2, 2], sender=[0, 3, 3], port=port, unit=[0, 0, 0]
    )
    assert (simulate(built).complete, built.steps) == (True, 2)
    assert timing(built, execution="asynchronous").time == 2 * 164
    backwards = rows_of_hub(
        "reduce", "one", step=[1, 1, 2], sender=[1, 2, 3], port=[port[1], port[2], port[0]],
        unit=[0, 0, 0], combine=[1, 1, 1],
    )  # fmt: skip
    assert simulate(backwards).complete
    both = rows_of_hub(
        "broadcast", "one", step=[1, 2, 3, 3], sender=[0, 3, 1, 3], unit=[0, 0, 0, 0],
        port=[port[0], port[1], port[1], port[2]],
    )  # fmt: skip
    assert simulate(both).complete  # the hub receives from 1 and sends to 2 in step 3


def test_in_a_reduction_a_switch_contributes_nothing_and_cannot_send_an_empty_sum() -> None:
    network = hub(3)
    port = [network.ports_between(3, end)[0] for end in range(3)]
    empty = rows_of_hub("reduce", "all", step=[1], sender=[3], port=port[:1], unit=[0], combine=[1])
    assert "is a switch, and holds no contribution to the unit yet" in str(
        simulate(empty).violation
    )
    once = {"step": [1, 1, 2], "sender": [1, 2, 3], "port": [port[1], port[2], port[0]]}
    whole = rows_of_hub("reduce", "all", **once, unit=[0, 0, 0], combine=[1, 1, 1])
    assert simulate(whole).complete
    # If both other endpoints are dead, the root's contribution is the sum, and nothing is sent.
    dead = simulate(whole, faults=["1", "2"])
    assert (dead.complete, dead.transmissions) == (True, 0)
    # Nothing need be delivered to a dead switch, but the unit that it would forward is missing.
    assert simulate(whole, faults=["hub"]).missing == 1
    assert "own contributions" not in str(simulate(whole, faults=["hub"]).remarks)


def test_in_an_alltoall_through_a_hub_only_endpoints_have_units() -> None:
    network = hub(3)
    pairs = [(source, end) for source, end in product(range(3), range(3)) if source != end]
    port = {end: network.ports_between(3, end)[0] for end in range(3)}
    up = [
        (1 + (end - source) % 3 - 1, source, port[source], source * 3 + end)
        for source, end in pairs
    ]
    down = [(step + 1, 3, port[unit % 3], unit) for step, _, _, unit in up]
    step, sender, ports, unit = np.array(up + down).T
    columns = {"step": step, "sender": sender, "port": ports, "unit": unit, "units": 9}
    built = schedule_from_columns(columns, network, "alltoall", ports="one")
    run = assert_same_verdict(built)
    assert (run.complete, run.steps, built.message_units) == (True, 3, 1)
    bound = lower_bound(network, "alltoall", "one", Fraction(1), Machine(Fraction(0), Fraction(1)))
    assert bound.bytes == 2


@pytest.mark.parametrize("ports", PORTS)
@pytest.mark.parametrize("collective", ALONG_TREES)
def test_schedules_on_networks_with_switches_respect_the_lower_bounds(
    collective: Collective, ports: Ports
) -> None:
    machine = Machine(Fraction(100), Fraction(1))
    for spec, root in ((SPEC, 0), (SPEC, 3), ("FT4", 5), ("DF1,1", 2), (hub(6).spec, 1)):
        built = schedule(spec, collective, TREE, ports=ports, root=root)
        size = Fraction(64 * built.message_units)
        for execution in EXECUTION_MODELS:
            time = timing(built, 64, 100, 1, execution).time
            assert time >= lower_bound(spec, collective, ports, size, machine, root=root).time
        bound = lower_bound(spec, collective, ports, size, machine, built.message_units, root=root)
        assert bound.steps is not None
        assert bound.transmissions is not None
        assert built.packets or built.steps >= bound.steps
        assert len(built) >= bound.transmissions


def test_the_doubling_bound_does_not_hold_for_broadcasts_through_a_switch() -> None:
    """A hub informs seven endpoints in one step, so the bound of ceil(log2 8) = 3 steps fails."""
    machine = Machine(Fraction(1), Fraction(0))
    bound = lower_bound(hub(8), "broadcast", "one", Fraction(1), machine)
    assert (bound.steps, bound.transmissions) == (2, None)
    assert lower_bound("K8", "broadcast", "one", Fraction(1), machine).steps == 3
    assert lower_bound(hub(8), "allreduce", "one", Fraction(6), machine).bytes == 6
    assert lower_bound(hub(8), "allreduce", "all", Fraction(6), machine).bytes == 6


def test_the_vector_of_an_allreduce_is_split_among_endpoints_and_not_among_switches() -> None:
    """The hub has two endpoints, so with M = 3 a unit is a sixth of the vector of 12 bytes."""
    machine = Machine(Fraction(100), Fraction(1))
    table = build_table(CostProblem(hub(2), "allreduce", "all", Fraction(12), machine, messages=3))
    cost = next(row.cost for row in table if row.name == "lower bound, unit messages")
    assert cost is not None
    assert (cost.steps, cost.transmissions, cost.time) == (6, 12, 6 * (100 + Fraction(12, 6)))


def test_the_row_limit_of_a_cost_table_does_not_count_switches_as_receivers() -> None:
    """A broadcast on the fat tree of 16 hosts and 20 switches has at least 15 rows."""
    machine = Machine(Fraction(100), Fraction(1))
    asked = CostProblem(topology("FT4"), "broadcast", "all", Fraction(12), machine)
    row = next(row for row in build_table(asked) if row.arguments is not None)
    with refused("has at least 15 rows", exit_code=7):
        execute_row(asked, row, 14)


@pytest.mark.parametrize(
    "try_it",
    [
        lambda network: schedule(network, "broadcast", TREE, root="s1"),
        lambda network: schedule(network, "allgather", TREE, root="s1"),
        lambda network: starcast.forest(network, "breadth-first", root="s1"),
        lambda network: starcast.Forest(network, np.zeros((1, 12), np.uint8), root=8),
        lambda network: lower_bound(
            network, "scatter", "all", Fraction(1), Machine(Fraction(1), Fraction(1)), root="s1"
        ),
        lambda network: schedule_from_columns(
            {"step": [1], "sender": [0], "port": [1], "unit": [0]}, network, "broadcast", root="s1"
        ),
        lambda network: forest_from_id(f"{network.spec}:breadth-first:s1"),
    ],
)  # fmt: skip
def test_a_switch_cannot_be_a_root(try_it: Callable[[Network], object]) -> None:
    with refused("'s1' of switched-", "is a switch, which only forwards and cannot be a root"):
        try_it(switched())


def test_networks_without_two_connected_endpoints_or_with_unknown_switches_are_refused() -> None:
    with refused("every node of 'n' is a switch"):
        starcast.network([("a", "b")], name="n", switches=["a", "b"])
    with refused("every node of 'n' but one is a switch"):
        starcast.network([("a", "b")], name="n", switches=["b"])
    with refused("no path from 'a' to 'b'"):
        starcast.network([("a", "s"), ("b", "t")], name="n", switches=["s", "t"])
    with refused("the switch 'x' is not a node"):
        starcast.network([("a", "b"), ("b", "c")], name="n", switches=["x"])


def test_randomly_drawn_faults_can_be_switches_but_not_the_root() -> None:
    drawn = {fault for seed in range(60) for fault in resolve_faults(switched(), "1 node", seed)}
    assert drawn == {*switched().labels().tolist()[1:]}


@pytest.mark.parametrize("k", [2, 4, 6, 8])
def test_fat_trees_have_the_sizes_and_distances_stated_by_al_fares_et_al(k: int) -> None:
    """Section 2.1 of Al-Fares et al. 2008 states k^3/4 hosts and 5k^2/4 switches of k ports.

    Hosts of different pods are joined by (k/2)^2 shortest paths.
    """
    tree = topology(f"FT{k}")
    hosts, half = k**3 // 4, k // 2
    assert (tree.endpoints, tree.nodes - tree.endpoints) == (hosts, 5 * k**2 // 4)
    assert {*tree.degrees[:hosts].tolist()} == {1}
    assert {*tree.degrees[hosts:].tolist()} == {k}
    levels = np.bincount(tree.distances(0)[:hosts], minlength=7).tolist()
    assert levels == [1, 0, half - 1, 0, half**2 - half, 0, hosts - half**2]
    assert tree.diameter == 6
    graph = graph_of(tree)
    paths = list(nx.all_shortest_paths(graph, 0, hosts - 1))
    assert len(paths) == half**2
    # Full bisection bandwidth: the maximum flow between two halves of the hosts is a unit per host.
    nx.set_edge_attributes(graph, 1, "capacity")
    ends = [(("from", 0), range(hosts // 2)), (("to", 0), range(hosts // 2, hosts))]
    for terminal, part in ends:
        graph.add_edges_from(((terminal, host) for host in part), capacity=1)
    assert nx.maximum_flow_value(graph, ("from", 0), ("to", 0)) == hosts // 2


@pytest.mark.parametrize(("h", "hosts"), [(1, 1), (2, 2), (2, 5), (3, 3)])
def test_dragonfly_networks_have_the_given_number_of_hosts_per_router(h: int, hosts: int) -> None:
    """Each group has ``a`` routers, and each router has p hosts and h links to other groups.

    In total there are a p (a h + 1) hosts: 72 for a = 4, p = h = 2 (Kim et al. 2008, Figure 5).
    """
    network = topology(f"DF{h},{hosts}")
    routers = 2 * h * (2 * h * h + 1)
    assert (network.endpoints, network.nodes) == (hosts * routers, (hosts + 1) * routers)
    assert {*network.degrees[network.endpoints :].tolist()} == {3 * h - 1 + hosts}
    assert network.diameter == 5
    inner = graph_of(network).subgraph(range(network.endpoints, network.nodes))
    assert nx.is_isomorphic(inner, graph_of(topology(f"DF{h}")))


def test_a_plug_in_family_identifies_switches_by_the_first_letter_of_their_labels() -> None:
    with restored_registries():

        @family("rack", pattern=r"Rack(\d+)", source="test", noun="racks", switches="s")
        def rack(n: int) -> list[tuple[str, str]]:
            return [("s", f"h{number}") for number in range(n)]

        assert (topology("Rack3").nodes, topology("Rack3").endpoints) == (4, 3)
        wrong: Any = {"switches": 1}
        with refused("the option 'switches' of the family 'broken' is not a string"):
            family("broken", pattern=r"Broken(\d+)", source="test", **wrong)(rack)


@pytest.mark.parametrize("spec", ["FT3", "FT62", "DF2,0", "DF2,200"])
def test_fat_tree_and_dragonfly_sizes_out_of_range_are_refused(spec: str) -> None:
    with refused(f"{spec} is out of range"):
        topology(spec)


def test_the_node_attribute_switch_must_be_a_truth_value() -> None:
    graph = nx.Graph([("a", "hub"), ("b", "hub")])
    value: object
    for value in (True, 1, 1.0, "Yes", " TRUE"):
        graph.add_node("hub", switch=value)
        assert starcast.network(graph).endpoints == 2
    for value in (False, 0, "no", None, "", float("nan")):
        graph.add_node("hub", switch=value)
        assert starcast.network(graph).endpoints == 3
    graph.add_node("hub", switch="on")
    with refused("the node 'hub' has the attribute switch 'on'"):
        starcast.network(graph)
    assert starcast.network(graph, switches=["hub"]).endpoints == 2


@pytest.mark.parametrize("to", ["graphml", "gexf", "anynet"])
def test_exported_network_files_preserve_switches(tmp_path: Path, to: TopologyFormat) -> None:
    file = tmp_path / f"switched.{to}"
    export(switched(), file, to)
    found = starcast.network(file)
    assert (found.endpoints, found.nodes, found.diameter) == (7, 12, switched().diameter)
    assert to == "anynet" or found.sha256 == switched().sha256


@pytest.mark.parametrize("collective", ALONG_TREES)
def test_the_export_of_a_schedule_with_switches_is_complete_or_refused(
    tmp_path: Path, collective: Collective
) -> None:
    built = schedule(switched(), collective, TREE)
    formats: list[tuple[ScheduleFormat, str]] = [("goal", "plan.goal"), ("csv", "plan.csv")]
    for to, name in formats:
        export(built, tmp_path / name, to)
        again = read_schedule(tmp_path / name, switched(), collective)
        assert (again.units, simulate(again).complete) == (built.units, True)
    with refused(f"{SPEC} has switches, but MSCCL files describe only GPUs"):
        export(built, tmp_path / "plan.xml", "msccl-xml")
    with refused("a GOAL file cannot express a one-port schedule on"):
        export(schedule(switched(), collective, TREE, ports="one"), tmp_path / "one.goal", "goal")


def test_descriptions_and_drawings_of_topologies_distinguish_switches_from_endpoints() -> None:
    assert describe_topology(switched())["endpoints"] == 7
    picture = draw_topology(topology("FT4"))
    assert "squares are switches, which only forward" in picture
    assert picture.count('rx="0"') == 20
    assert "squares" not in draw_topology(topology("Mesh3x4"))


def test_endpoints_are_drawn_darkest_at_the_end_of_an_allreduce_through_a_switch() -> None:
    built = schedule(hub(3), "allreduce", "greedy")
    boxes = Picture(draw_steps(built, [built.steps])).root.iter(f"{SVG}rect")
    shades = [float(box.get("fill-opacity", 0)) for box in boxes if box.get("fill") == ACCENT]
    assert shades[:3] == [0.9] * 3
