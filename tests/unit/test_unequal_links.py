"""Links with capacities and latencies: verdicts and times equal those of other simulators."""

import re
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import starcast
from starcast import Schedule, costs, simulate, timing
from starcast.collectives.model import COLUMNS
from starcast.costs import Machine, execute_in_model, lower_bound, price_simulation
from starcast.drawing import draw_topology
from starcast.drawing.explorer import pack_topology
from starcast.support.errors import InputError
from starcast.support.vocabulary import EXECUTION_MODELS, Collective, ExecutionModel
from starcast.topologies import topology
from starcast.topologies.networks import Network
from support.examples import max_examples
from support.same_times import assert_same_times
from support.simulator_cases import assert_same_verdict, changed, mutated, no_rows, plan_of

MACHINES: list[tuple[Any, Any, Any]] = [
    (64, 100, 1),
    (1, 0, 1),
    (Fraction(23, 7), Fraction(5, 3), Fraction(1, 9)),
    (3, 1, 0),
    (1, 0, 0),
]


def line(**values: Any) -> Network:
    """Return a network of the nodes a, b and c in a line."""
    return starcast.network([("a", "b"), ("b", "c")], name="line", **values)


def sends(network: Network, *rows: tuple[int, str, str, int], **values: Any) -> Schedule:
    """Return a broadcast with the given rows (step, sender, receiver, unit)."""
    columns: dict[str, list[int]] = {name: [] for name in COLUMNS}
    for step, start, other, unit in rows:
        sender, receiver = network.node(start), network.node(other)
        port = network.ports_between(sender, receiver)[0]
        for name, value in zip(COLUMNS, (step, sender, port, receiver, 0, unit), strict=True):
            columns[name].append(value)
    empty = no_rows(network, "broadcast", values.pop("ports", "all"), values.pop("each", 1))
    arrays: dict[str, Any] = {name: np.array(column) for name, column in columns.items()}
    return replace(empty, **arrays, **values)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Draw a small network: a random tree with further links, capacities and latencies."""
    nodes = draw(st.integers(2, 6))
    links = {(draw(st.integers(0, node - 1)), node) for node in range(1, nodes)}
    pairs = [(u, v) for v in range(nodes) for u in range(v)]
    links |= set(draw(st.lists(st.sampled_from(pairs), max_size=4)))
    each: dict[str, Any] = {"min_size": len(links), "max_size": len(links)}
    return starcast.network(
        sorted(links),
        name="lot",
        capacities=draw(st.lists(st.sampled_from([1, 1, 2, 3, 4, 6]), **each)),
        latencies=draw(st.lists(st.sampled_from([0, 0, 5, 30, 77]), **each)),
    )


@st.composite
def floods(
    draw: st.DrawFn, collective: Collective, steps: int = 5, network: Network | None = None
) -> Schedule:
    """Draw a valid schedule in which nodes send units that they have, within the capacities."""
    network = network or draw(networks())
    ports, packets = draw(st.sampled_from(["all", "one"])), draw(st.booleans())
    empty = no_rows(network, collective, ports, each=draw(st.integers(1, 4)), packets=packets)
    holds = [set[int]() for _ in range(network.nodes)]
    plan = plan_of(empty)
    for unit, source, _ in plan.messages():
        holds[plan.world.nodes.index(source)].add(unit)
    rows, links = [], links_of(network)
    lot = np.random.default_rng(draw(st.integers(0, 2**32)))
    for step in range(1, steps + 1):
        got, busy = [], set[object]()
        for sender, port in [links[number] for number in lot.permutation(len(links))[:6]]:
            receiver = int(network.neighbours(port, [sender])[0])
            ends = {("sends", sender), ("receives", receiver)}
            if not holds[sender] or (ports == "one" and ends & busy):
                continue
            busy |= ends
            capacity = 1 if network.capacities is None else network.capacities[port - 1, sender]
            most = 4 if packets else int(capacity)
            units = lot.permutation(sorted(holds[sender]))[: lot.integers(most + 1)].tolist()
            rows += [(step, sender, port, receiver, 0, unit) for unit in units]
            got += [(receiver, unit) for unit in units]
        for receiver, unit in got:
            holds[receiver].add(unit)
    columns = np.array(rows, dtype=np.int32).reshape(-1, 6).T
    arrays: dict[str, Any] = dict(zip(COLUMNS, columns, strict=True))
    return replace(empty, **arrays)


def links_of(network: Network) -> list[tuple[int, int]]:
    """Return the directed links of a network, as pairs of sender and port."""
    return [
        (int(node), port)
        for port in network.ports
        for node in np.flatnonzero(network.has_link(port))
    ]


COLLECTIVES: list[Collective] = ["broadcast", "allgather", "scatter", "alltoall"]


@given(st.data(), st.sampled_from(COLLECTIVES))
@max_examples(60)
def test_on_links_with_capacities_verdicts_equal_those_of_an_independent_simulator(
    data: st.DataObject, collective: Collective
) -> None:
    """Schedules within the capacities are valid. Changed schedules get the same verdict."""
    flood = data.draw(floods(collective))
    assert assert_same_verdict(flood).violation is None
    if len(flood):
        assert_same_verdict(data.draw(mutated(flood)))


@given(st.data(), st.sampled_from(COLLECTIVES), st.sampled_from(EXECUTION_MODELS))
@max_examples(60)
def test_times_over_unequal_links_equal_those_of_an_event_simulation(
    data: st.DataObject, collective: Collective, execution: ExecutionModel
) -> None:
    """The links differ in capacity and latency."""
    flood = data.draw(floods(collective))
    machine = data.draw(st.sampled_from(MACHINES))
    found = assert_same_times(flood, execution, machine)
    unit, t_s, t_c = (Fraction(value) for value in machine)
    simulation, critical = execute_in_model(flood, unit, Machine(t_s, t_c), execution)
    assert price_simulation(simulation, unit, Machine(t_s, t_c), critical).time == found.time


@pytest.mark.parametrize("execution", EXECUTION_MODELS)
@pytest.mark.parametrize(
    ("values", "time"), [({"capacities": [1, 4]}, 280), ({"latencies": [5, 7]}, 340)]
)
def test_times_on_a_line_of_three_nodes_equal_those_computed_by_hand(
    values: dict[str, list[int]], time: int, execution: ExecutionModel
) -> None:
    """With capacities 1 and 4 the packets take 164 and 116; with latencies 5 and 7, 169 and 171."""
    judged = sends(line(**values), (1, "a", "b", 0), (2, "b", "c", 0))
    assert timing(judged, 64, 100, 1, execution).time == time


def test_six_units_are_sent_over_a_link_of_capacity_3_in_two_steps() -> None:
    network = starcast.network([("a", "b")], name="pair", capacities=[3])
    rows = [(1 + unit // 3, "a", "b", unit) for unit in range(6)]
    judged = sends(network, *rows, each=6, units=6)
    run = simulate(judged)
    assert (run.complete, run.steps, run.largest_packet) == (True, 2, 3)
    assert run.links_used.tolist() == [1, 1]
    crowded = simulate(changed(judged, 5, step=1))
    assert crowded.violation is not None
    assert crowded.violation.endswith("already carries as many units in this step as its capacity")
    assert simulate(changed(judged, 5, unit=4)).violation is not None  # the same unit twice


def test_the_one_port_model_counts_packets_instead_of_units() -> None:
    network = line(capacities=[2, 1])
    rows = [(1, "a", "b", 0), (1, "a", "b", 1), (2, "b", "c", 0), (3, "b", "c", 1)]
    judged = sends(network, *rows, ports="one", units=2)
    assert simulate(judged).complete
    both = changed(judged, 3, step=2)
    assert simulate(both).violation is not None


def test_the_packet_that_takes_the_longest_time_need_not_have_the_most_units() -> None:
    """Six units take 164 on a link of capacity 6. One unit takes 214 on a link of latency 50."""
    network = line(capacities=[6, 1], latencies=[0, 50])
    rows = [(1, "b", "a", unit) for unit in range(6)] + [(1, "b", "c", 0)]
    judged = sends(network, *rows, units=6, root=1)
    found = timing(judged, 64, 100, 1)
    assert found.time == 214
    assert [send.receiver for send in found.critical_path] == ["c"]


def test_times_over_unequal_links_are_exact_even_beyond_64_bits() -> None:
    network = line(capacities=[999_983, 1], latencies=[10**9, 3])
    judged = sends(network, (1, "a", "b", 0), (2, "b", "c", 0))
    for execution in EXECUTION_MODELS:
        time = timing(judged, Fraction(1, 3), Fraction(1, 10**12), 10**9, execution).time
        assert time == 2 * Fraction(1, 10**12) + 10**9 + 3 + Fraction(10**9, 3) * (
            1 + Fraction(1, 999_983)
        )


@given(st.data(), st.sampled_from(COLLECTIVES), st.sampled_from(EXECUTION_MODELS))
@max_examples(40)
def test_no_complete_schedule_over_unequal_links_is_faster_than_the_lower_bounds(
    data: st.DataObject, collective: Collective, execution: ExecutionModel
) -> None:
    """The numbers of steps are compared as well as the times."""
    network = data.draw(networks())
    judged = data.draw(floods(collective, steps=12, network=network))
    run = simulate(judged)
    if not run.complete:
        return
    messages = judged.message_units
    bound = lower_bound(
        network,
        collective,
        judged.ports,
        Fraction(64 * messages),
        Machine(Fraction(9), Fraction(1)),
        messages=None if judged.packets else messages,
    )
    assert bound.steps is not None
    assert run.steps >= bound.steps
    assert timing(judged, 64, 9, 1, execution).time >= bound.time


def test_lower_bounds_on_times_take_link_capacities_into_account() -> None:
    """Node a receives everything over its only link, which has capacity 1."""
    network = line(capacities=[1, 4])
    machine = Machine(Fraction(0), Fraction(1))

    def sent(collective: Collective, ports: str) -> Fraction:
        return lower_bound(network, collective, ports, Fraction(60), machine, root="b").bytes

    assert [sent("broadcast", "all"), sent("broadcast", "one")] == [60, 60]
    assert [sent("allgather", "all"), sent("allgather", "one")] == [120, 120]


def test_a_closed_form_is_refused_if_link_capacities_differ() -> None:
    """No closed form covers a custom network, so the test sets the network's family to ``star``."""
    network = line(capacities=[1, 4])
    network.family = "star"
    with pytest.raises(InputError, match="its links have different capacities"):
        costs.closed_form(
            network, "broadcast", "greedy", "all", Fraction(1), Machine(Fraction(1), Fraction(1))
        )


def test_drawings_and_the_explorer_show_capacities_and_latencies() -> None:
    """A link with a larger capacity is drawn as a wider line."""
    network = starcast.network(
        [("a", "b"), ("b", "c"), ("a", "c")],
        name="wide",
        capacities=[1, 4, 16],
        latencies=[0, 7, 9],
    )
    picture = draw_topology(network)
    assert "a -1- c, capacity 16" in picture or "a -2- c, capacity 16" in picture
    assert {'stroke-width="1.5"', 'stroke-width="3"', 'stroke-width="4.5"'} <= {
        *re.findall(r'stroke-width="[\d.]+"', picture)
    }
    packed = pack_topology(network)
    capacities = network.capacities
    assert capacities is not None
    pairs = zip(packed["link_capacities"], packed["link_latencies"], strict=True)
    ports = {1: 0, 4: 0, 16: 0} | {
        capacity: port
        for (lower, _, port) in network.port_links().tolist()
        for capacity in [int(capacities[port - 1, lower])]
    }
    by_port = {1: (0, "a"), 16: (9, "a"), 4: (7, "b")}
    expected = sorted(by_port, key=lambda capacity: (by_port[capacity][1], ports[capacity]))
    assert list(pairs) == [(capacity, by_port[capacity][0]) for capacity in expected]
    assert pack_topology(topology("S3"))["link_capacities"] is None


def test_links_that_a_schedule_does_not_use_do_not_change_its_times() -> None:
    """In ticks of 1/3, the latency 10^9 of the unused link does not fit into int32."""
    network = line(latencies=[0, 10**9])
    judged = sends(network, (1, "a", "b", 0))
    for execution in EXECUTION_MODELS:
        assert timing(judged, 1, Fraction(1, 3), 1, execution).time == Fraction(4, 3)


def test_long_times_over_slow_links_are_exact_next_to_fast_links() -> None:
    """A unit takes 64 over the slow link and 64 millionths over the fast link."""
    network = line(capacities=[1, 10**6])
    judged = sends(
        network, *[(1, "a", "b", unit) for unit in range(4000)], units=4000, packets=True
    )
    for execution in EXECUTION_MODELS:
        assert timing(judged, 64, 100, 1, execution).time == 100 + 4000 * 64
        assert timing(judged, 64, 100, 50, execution).time == 100 + 4000 * 64 * 50


def test_the_cost_of_an_executed_schedule_is_exact_even_for_large_messages() -> None:
    network = line(capacities=[3, 7])
    judged = sends(network, (1, "a", "b", 0), (2, "b", "c", 0))
    machine = Machine(Fraction(100), Fraction(1))
    for unit, execution in product((Fraction(10**18), Fraction(10**25)), EXECUTION_MODELS):
        simulation, critical = execute_in_model(judged, unit, machine, execution)
        time = price_simulation(simulation, unit, machine, critical).time
        assert time == 200 + unit * Fraction(10, 21)


def test_ports_without_a_link_do_not_affect_long_times_over_other_links() -> None:
    """Nodes a and c have a link at only one of their two ports."""
    network = line(capacities=[12_500, 12_500])
    judged = sends(network, (1, "a", "b", 0), (2, "b", "c", 0))
    for unit, execution in product((3 * 10**9, 10**25), EXECUTION_MODELS):
        found = timing(judged, unit, 1, 1, execution)
        assert found.time == 2 + 2 * Fraction(unit, 12_500)
        assert found.link_busy.sum() == found.time


def test_the_critical_path_is_found_even_if_packets_that_take_no_time_form_a_cycle() -> None:
    """The unit first reaches x through z, at time 10. The packets x-y and y-x take no time."""
    links = [("s", "x"), ("x", "y"), ("s", "z"), ("z", "x"), ("y", "w")]
    network = starcast.network(links, name="cycle", latencies=[1000, 0, 5, 5, 5000])
    rows = [
        (1, "s", "x"),
        (1, "s", "z"),
        (2, "x", "y"),
        (3, "y", "x"),
        (4, "z", "x"),
        (5, "y", "w"),
    ]
    judged = sends(network, *[(*row, 0) for row in rows], root=network.node("s"))
    path = timing(judged, 64, 0, 0, "asynchronous").critical_path
    assert [(send.sender, send.receiver, send.end) for send in path] == [
        ("s", "z", 5), ("z", "x", 10), ("x", "y", 10), ("y", "w", 5010)
    ]  # fmt: skip
