"""Greedy schedules and ring schedules, executed by the simulator and by an independent oracle."""

import hashlib
import os
import subprocess
import sys
from fractions import Fraction
from unittest.mock import Mock

import networkx as nx
import numpy as np
import pytest

import starcast
from starcast import schedule, simulate, topology
from starcast.collectives import Schedule
from starcast.collectives.model import COLLECTIVES, MULTI_SOURCE
from starcast.costs import Machine, lower_bound
from starcast.support.progress import reporting
from starcast.topologies.hamiltonian_cycles import find_hamiltonian_cycle
from support.meeting import refused
from support.recorder import RecordedTask, Recorder
from support.simulator_cases import assert_same_verdict

MACHINE = Machine(Fraction(1), Fraction(1))


def random_network(seed: int) -> starcast.Network:
    """Return a connected random network: sparse, scale-free, regular or with a bridge."""
    nodes = 5 + seed // 2
    kinds = (
        lambda: nx.compose(nx.gnp_random_graph(nodes, 0.2, seed=seed), nx.path_graph(nodes)),
        lambda: nx.barabasi_albert_graph(nodes, 2, seed=seed),
        lambda: nx.random_regular_graph(4, nodes, seed=seed),
        lambda: nx.barbell_graph(3 + seed // 4, seed % 3),
    )
    graph = kinds[seed % 4]()
    assert nx.is_connected(graph)
    return starcast.network(list(graph.edges), name=f"random{seed}")


def assert_complete(plan: Schedule) -> None:
    """Check that the oracle finds a schedule complete, and that no step is idle.

    Except for reductions, also check that no unit is delivered twice to the same node.
    """
    assert assert_same_verdict(plan).complete
    assert np.unique(plan.step).tolist() == list(range(1, plan.steps + 1))
    if plan.combine is None:
        arrivals = [*zip(plan.receiver.tolist(), plan.unit.tolist(), strict=True)]
        assert len(set(arrivals)) == len(arrivals)


@pytest.mark.parametrize("seed", range(24))
def test_greedy_schedules_on_random_networks_are_complete_and_respect_the_lower_bound(
    seed: int,
) -> None:
    network = random_network(seed)
    for collective in COLLECTIVES:
        for ports in ("all", "one"):
            messages, root = 1 + seed % 3, network.nodes - 1
            plan = schedule(
                network, collective, "greedy", ports, root, messages=messages, seed=seed
            )
            assert_complete(plan)
            bound = lower_bound(
                network, collective, ports, Fraction(1), MACHINE, root=root,
                messages=None if collective == "allreduce" else messages,
            )  # fmt: skip
            assert bound.steps is not None
            assert plan.steps >= bound.steps


@pytest.mark.parametrize("seed", range(8))
def test_greedy_schedules_on_networks_with_switches_and_capacities_are_complete(seed: int) -> None:
    given = random_network(seed)
    ends = given.labels()[given.port_links()[:, :2]].tolist()
    network = starcast.network(
        ends, name=f"mixed{seed}", switches=given.labels()[:2].tolist() if seed % 2 else [],
        capacities=[1 + (seed + number) % 3 for number in range(len(ends))],
    )  # fmt: skip
    for collective in COLLECTIVES:
        for ports in ("all", "one"):
            plan = schedule(network, collective, "greedy", ports, messages=1 + seed % 3)
            assert assert_same_verdict(plan).complete


@pytest.mark.parametrize(
    ("collective", "steps"),
    [("allgather", 7), ("alltoall", 7), ("scatter", 7), ("broadcast", 2), ("allreduce", 14)],
)
def test_a_switch_can_forward_to_all_its_endpoints_in_the_same_step(
    collective: str, steps: int
) -> None:
    """The switch has seven endpoints. In a step, a link carries one packet per direction."""
    hub = starcast.network([(f"h{end}", "s") for end in range(7)], name="hub", switches=["s"])
    for ports in ("all", "one"):
        assert schedule(hub, collective, "greedy", ports).steps == steps


def test_a_link_of_capacity_3_carries_three_units_per_step() -> None:
    wide = starcast.network([("a", "b")], name="wide", capacities=[3])
    for ports in ("all", "one"):
        assert schedule(wide, "broadcast", "greedy", ports, messages=6).steps == 2
        assert schedule(wide, "alltoall", "greedy", ports, messages=6).steps == 2


@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize("spec", ["S4", "Q3", "S4,2", "T3x4", "Mesh3x4", "K5", "DB2,4"])
def test_greedy_schedules_on_topology_families_are_complete(spec: str, ports: str) -> None:
    for collective in COLLECTIVES:
        is_taken = spec == "S4" and collective in ("broadcast", "reduce", "allreduce")
        name = "greedy-matching" if is_taken else "greedy"
        plan = schedule(spec, collective, name, ports, root=2, seed=5)
        assert not plan.symmetric
        assert plan.root == (0 if collective in MULTI_SOURCE else 2)
        assert_complete(plan)


def test_the_name_greedy_stands_for_different_algorithms_on_stars_and_meshes() -> None:
    """On a star graph, `greedy` is the broadcast of Tseng & Sheu 1997.

    On a mesh, `greedy` stands for `greedy-matching`.
    """
    for collective in ("broadcast", "reduce", "allreduce"):
        assert dict(schedule("S4", collective, "greedy").arguments) == {"segments": 1}
        one, other = (
            schedule("Mesh3x4", collective, name) for name in ("greedy", "greedy-matching")
        )
        assert one.id == other.id
        assert one.id.startswith(f"Mesh3x4:{collective}:greedy-matching:all:messages=1,seed=0:")


@pytest.mark.parametrize(
    ("spec", "collective", "ports", "steps"),
    [
        ("S5", "allgather", "all", 30), ("T8x8x8", "allgather", "all", 86),
        ("Mesh8x15", "allgather", "all", 60), ("S5", "allgather", "one", 119),
        ("S5", "scatter", "all", 30), ("S5", "scatter", "one", 119),
        ("S5", "broadcast", "one", 8),
        pytest.param("S5", "alltoall", "all", 122, marks=pytest.mark.slow),
        pytest.param("T4x4x4", "alltoall", "one", 192, marks=pytest.mark.slow),
        pytest.param("S6", "allgather", "all", 144, marks=pytest.mark.slow),
        pytest.param("S7", "broadcast", "one", 13, marks=pytest.mark.slow),
        pytest.param("S8", "broadcast", "one", 16, marks=pytest.mark.slow),
        pytest.param("T8x8x8", "alltoall", "all", 640, marks=pytest.mark.slow),
        pytest.param("T5x5x5", "alltoall", "all", 84, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_greedy_schedules_take_at_most_the_known_number_of_steps(
    spec: str, collective: str, ports: str, steps: int
) -> None:
    name = "greedy-matching" if collective == "broadcast" else "greedy"
    plan = schedule(spec, collective, name, ports)
    assert plan.steps <= steps
    assert simulate(plan).complete


#: Five schedules, with the first 16 hexadecimal digits of the SHA-256 hash of their rows.
FROZEN = {
    ("S4", "broadcast", "greedy-matching", "one", 1, 7): "95c171a430fe924e",
    ("Mesh3x4", "allgather", "greedy", "all", 2, 0): "035b6de67c60553d",
    ("RR12,3,1", "allgather", "greedy", "one", 1, 3): "7c3dc8517c567e59",
    ("DB2,3", "alltoall", "greedy", "all", 1, 1): "b8b448db09707288",
    ("T3x3", "scatter", "greedy", "one", 2, 4): "88f44e118b78fb44",
}


def digests() -> dict[tuple[str, str, str, str, int, int], str]:
    """Return the digest of the rows of each schedule in `FROZEN`."""
    result = {}
    for spec, collective, name, ports, messages, seed in FROZEN:
        plan = schedule(spec, collective, name, ports, messages=messages, seed=seed)
        rows = np.stack([plan.step, plan.sender, plan.port, plan.unit]).astype("<i4")
        digest = hashlib.sha256(rows.tobytes()).hexdigest()[:16]
        result[spec, collective, name, ports, messages, seed] = digest
    return result


def test_the_rows_of_greedy_schedules_have_the_recorded_digests() -> None:
    """The rows must be the same on every platform."""
    assert digests() == FROZEN


def test_the_rows_of_greedy_schedules_are_the_same_without_numba() -> None:
    """A process in which numba cannot be imported computes the digests in `FROZEN`."""
    code = (
        "import sys; sys.modules['numba'] = None; import test_greedy as t;"
        "from starcast.collectives import matching;"
        "assert not hasattr(matching.spread, 'py_func'); assert t.digests() == t.FROZEN"
    )
    folders = os.pathsep.join(["tests/unit", "tests"])
    environment = os.environ | {"PYTHONPATH": folders}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_different_seeds_give_different_greedy_schedules() -> None:
    first, second = (schedule("Mesh3x4", "alltoall", "greedy", seed=seed) for seed in (0, 1))
    assert not np.array_equal(first.unit, second.unit) or not np.array_equal(
        first.port, second.port
    )


def test_ctrl_c_ends_the_construction_of_a_greedy_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled loops return after a limited number of rows, so that Python can handle signals."""
    monkeypatch.setattr("starcast.collectives.greedy._ROWS_PER_CALL", 100)
    monkeypatch.setattr("starcast.support.progress.LATE", 0)
    advance = Mock(side_effect=[None, None, KeyboardInterrupt])
    monkeypatch.setattr(RecordedTask, "advance", advance)
    with reporting(Recorder()), pytest.raises(KeyboardInterrupt):
        schedule("S4", "alltoall", "greedy")
    rows = [call.args[0] for call in advance.call_args_list]
    assert min(rows) >= 100
    assert sum(rows) < 24 * topology("S4").distance_sum


def test_greedy_schedules_with_invalid_arguments_or_too_many_rows_are_refused() -> None:
    for seed, words in ((-1, "seed is -1"), (2**24, "seed is 16777216"), ("x", "not an integer")):
        with refused(words):
            schedule("Mesh3x4", "allgather", "greedy", seed=seed)
    with refused("has no node of rank 12"):
        schedule("Mesh3x4", "scatter", "greedy", root=12)
    with refused("at most 100,000,000 rows are supported", exit_code=7):
        schedule("S8", "allgather", "greedy")
    with refused("at most 100,000,000 rows are supported", exit_code=7):
        schedule("Mesh3x4", "broadcast", "greedy", messages=10**8)


@pytest.mark.parametrize("seed", range(3, 24, 4))
def test_a_network_with_a_bridge_has_no_hamiltonian_cycle(seed: int) -> None:
    network = random_network(seed)
    assert find_hamiltonian_cycle(network) is None
    with refused("no Hamiltonian cycle was found"):
        schedule(network, "allgather", "ring")


def test_no_hamiltonian_cycle_is_found_through_a_node_whose_links_are_parallel() -> None:
    """In this path of 4 nodes, the first and the last link are doubled."""
    ends = [[1, 0, 3, 2], [1, 0, 3, 2], [0, 2, 1, 3]]
    doubled = Mock(nodes=4, ports=(1, 2, 3), table=lambda: np.array(ends, dtype=np.int32))
    assert find_hamiltonian_cycle(doubled) is None


@pytest.mark.parametrize("spec", ["Mesh4x5", "K5", "GP8,3", "S5,2", "T3x3", "RR60,3,2", "P5"])
def test_hamiltonian_cycles_are_found_and_ring_schedules_are_complete(spec: str) -> None:
    network = topology(spec)
    ports = find_hamiltonian_cycle(network)
    assert ports is not None
    node, visited = 0, []
    for port in ports.tolist():
        visited.append(node)
        node = int(network.neighbours(port, [node])[0])
    assert node == 0
    assert sorted(visited) == list(range(network.nodes))
    if network.nodes > 60:
        return
    for collective in ("allgather", "reduce-scatter", "allreduce"):
        for model in ("all", "one"):
            plan = schedule(network, collective, "ring", model, messages=2)
            assert_complete(plan)
            hops = 2 * (network.nodes - 1)
            half = hops if model == "one" else -(-hops // 2)
            assert plan.steps == half * (2 if collective == "allreduce" else 1)


def test_no_cycle_is_found_on_topologies_without_a_hamiltonian_cycle() -> None:
    for spec in ("GP5,2", "K3,4", "Path5", "Q1"):
        assert find_hamiltonian_cycle(topology(spec)) is None
