"""Comparison with other programs: TACOS, ForestColl, NetworkX, rustworkx and CP-SAT.

TACOS and ForestColl are measured if the environment variables ``TACOS`` and ``FORESTCOLL`` name
copies of https://github.com/astra-sim/tacos and https://github.com/liangyuRain/ForestColl. TACOS is
compiled with g++ in a temporary folder.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from importlib import import_module
from importlib.metadata import version
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import networkx as nx
import rustworkx
from ortools.sat.python import cp_model

import starcast
from benchmarks import libraries
from benchmarks.greedy import bound
from benchmarks.measure import Figure, Table, seconds
from starcast.cli.output import say
from starcast.costs import Machine, bottleneck_cut
from starcast.topologies import Topology, topology
from starcast.topologies.flows import FlowNetwork

_TORUS = (8, 8, 8)
#: Small networks on which CP-SAT proves the minimum number of steps of an allgather.
_SMALL = ("S3", "Ring8", "Mesh2x4", "Mesh3x3", "Q3", "GP5,2", "K3,4", "RR10,3,1", "DB2,3")


def figures() -> Iterator[Figure | Table]:
    """Compare allgathers, optimal bandwidths and minimum cuts of starcast and other programs."""
    if "TACOS" in os.environ:
        yield from _tacos(Path(os.environ["TACOS"]))
    else:
        say("TACOS is not measured: set the environment variable TACOS to the folder of a copy")
    if "FORESTCOLL" in os.environ:
        yield from _forestcoll(Path(os.environ["FORESTCOLL"]))
    else:
        say("ForestColl is not measured: set the variable FORESTCOLL to the folder of a copy")
    yield from _graphs()
    yield from _optima()


def _tacos(folder: Path) -> Iterator[Figure]:
    """Compare the times in which starcast and TACOS build an allgather on a torus."""
    steps, theirs = run_tacos(folder, _TORUS)
    spec = "T" + "x".join(map(str, _TORUS))
    # numba compiles the loops in the first call, so this call is not measured.
    starcast.schedule("T3x3x3", "allgather", "greedy")
    start = process_time()
    built = starcast.schedule(spec, "allgather", "greedy")
    ours = process_time() - start
    assert starcast.simulate(built).complete
    commit = _commit(folder)
    what = f"allgather on {spec}: {built.steps} steps"
    yield Figure(f"{what}, build", ours, "s", "< 1", f"TACOS {commit}: {steps} steps", theirs)


def run_tacos(folder: Path, sides: tuple[int, int, int]) -> tuple[int, float]:
    """Return the number of steps of TACOS's allgather on a torus, and TACOS's CPU seconds.

    Args:
        folder: a copy of the repository of TACOS.
        sides: the numbers of nodes on the three sides.
    """
    parts = ("collective", "event_queue", "synthesizer", "topology")
    sources = [
        str(file) for part in parts for file in sorted((folder / "src" / part).glob("*.cpp"))
    ]
    driver = str(Path(__file__).with_name("tacos.cpp"))
    with TemporaryDirectory() as work:
        program = str(Path(work) / "tacos")
        options = ["-std=c++17", "-O3", "-DNDEBUG", f"-I{folder / 'include'}", "-o", program]
        subprocess.run(["g++", *options, driver, *sources], check=True)
        answer = subprocess.run(
            [program, *map(str, sides)], check=True, capture_output=True, text=True
        ).stdout
    steps, time = answer.split()
    return int(steps), float(time)


def _forestcoll(folder: Path) -> Iterator[Figure]:
    """Compare the times in which starcast and ForestColl find optimal allgather bandwidths."""
    sys.path.insert(0, str(folder))
    algorithms, clusters = map(import_module, ("pipeline_allgather", "topologies"))
    commit = _commit(folder)
    machine = Machine(Fraction(0), Fraction(1))
    # numba compiles the loops in the first call, so this call is not measured.
    FlowNetwork(topology("T3x3")).find_bottleneck_of_all()
    for name, boxes in (("a100", 2), ("a100", 4), ("mi250", 2)):
        graph, gpus = getattr(clusters, f"{name}_topology")(boxes)
        start = process_time()
        algorithm = algorithms.OptimalBranchingsAlgo(graph, capacitated=True, compute_nodes=gpus)
        expected = algorithm.convertToRuntime(*algorithm.binary_search()) * len(gpus)
        theirs = process_time() - start
        cluster = as_network(graph, gpus)
        start = process_time()
        found = bottleneck_cut(cluster, Fraction(1), machine).time / Fraction(cluster.capacity_unit)
        ours = process_time() - start
        assert abs(float(found) / expected - 1) < 1e-9
        bandwidth = float(len(gpus) / found)
        yield Figure(
            f"optimal allgather on {boxes} boxes of {name.upper()}: {bandwidth:.4g} GB/s",
            ours, "s", "< 1", f"ForestColl {commit}, the same bandwidth", theirs,
        )  # fmt: skip


def _commit(folder: Path) -> str:
    """Return the first seven digits of the commit hash of a repository's copy.

    The hash is read from the file ``commit`` in the copy, or else from Git.
    """
    written = folder / "commit"
    if written.exists():
        return written.read_text(encoding="utf-8").strip()[:7]
    command = ["git", "-C", str(folder), "rev-parse", "--short=7", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def as_network(graph: nx.DiGraph, endpoints: list[object]) -> starcast.Network:
    """Convert a ForestColl cluster to a starcast network with the same links and capacities."""
    links = {frozenset(link): capacity for *link, capacity in graph.edges(data="capacity")}
    assert all(graph.edges[end, node]["capacity"] == graph.edges[node, end]["capacity"]
               for node, end in graph.edges)  # fmt: skip
    return starcast.network(
        [[str(node) for node in link] for link in links],
        name="cluster",
        capacities=list(links.values()),
        switches=[str(node) for node in graph if node not in endpoints],
    )


def _graphs() -> Iterator[Figure]:
    """Compare the times in which starcast and graph libraries find minimum cuts."""
    for spec in ("RR720,5,1", "SF17", "DF5"):
        network = topology(spec)
        links = libraries.list_links(network)
        find_cut = partial(FlowNetwork(network).find_least_cut, 0)
        works = {
            f"NetworkX {version('networkx')}": partial(
                nx.edge_connectivity, libraries.build_networkx(links)
            ),
            f"rustworkx {version('rustworkx')}": partial(
                _stoer_wagner, libraries.build_rustworkx(links)
            ),
        }
        least = find_cut().capacity
        ours = seconds(find_cut)
        for name, work in works.items():
            assert work() == least
            theirs = seconds(work, repeats=1)
            yield Figure(f"{spec}: least cut, {least} links", ours, "s", "< 1", name, theirs)


def _stoer_wagner(graph: Any) -> int:
    found = rustworkx.stoer_wagner_min_cut(graph)
    assert found is not None
    return int(found[0])


def _optima() -> Iterator[Figure | Table]:
    """Compare the steps of greedy allgathers with the minimum, which CP-SAT proves."""
    rows, found, least = [], 0, 0
    for spec in _SMALL:
        network = topology(spec)
        steps = starcast.schedule(network, "allgather", "greedy").steps
        optimum = find_optimum(network, steps)
        found, least = found + steps, least + optimum
        rows.append(
            {
                "topology": spec,
                "nodes": network.nodes,
                "lower bound": bound(network),
                "optimum": optimum,
                "greedy": steps,
            }
        )
    solver = f"CP-SAT {version('ortools')}"
    yield Figure(
        "steps of the greedy allgathers below", found, "steps", f"< {least + 3}", solver, least
    )
    yield Table(
        f"Steps of small allgathers; the optimum is proved by {solver}", list(rows[0]), rows
    )


def find_optimum(network: Topology, enough: int) -> int:
    """Return the minimum number of steps of an all-port allgather of one message per node.

    Args:
        network: the topology.
        enough: a number of steps in which an allgather is possible, such as that of a schedule.
    """
    for steps in range(bound(network), enough):
        if _is_possible(network, steps):
            return steps
    return enough


def _is_possible(network: Topology, steps: int) -> bool:
    """Return whether an allgather is possible in the given number of steps, decided by CP-SAT."""
    model = cp_model.CpModel()
    nodes, units = range(network.nodes), range(network.nodes)
    #: For each node, unit and number of steps, whether the node owns the unit after so many steps.
    holds = {key: model.new_bool_var("") for key in product(nodes, units, range(steps + 1))}
    pairs = libraries.list_links(network)
    arcs = pairs + [(end, node) for node, end in pairs]
    arrivals: dict[tuple[int, int, int], list[cp_model.IntVar]] = {key: [] for key in holds}
    for (sender, receiver), step in product(arcs, range(1, steps + 1)):
        sent = [model.new_bool_var("") for _ in units]
        model.add_at_most_one(sent)
        for unit, is_sent in enumerate(sent):
            model.add_implication(is_sent, holds[sender, unit, step - 1])
            arrivals[receiver, unit, step].append(is_sent)
    for (node, unit, time), held in holds.items():
        if time == 0:
            model.add(held == (node == unit))
            continue
        earlier = holds[node, unit, time - 1]
        model.add_bool_or([earlier, *arrivals[node, unit, time], held.negated()])
        if time == steps:
            model.add(held == 1)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 2
    status = solver.solve(model)
    assert status in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.INFEASIBLE)
    return bool(status != cp_model.INFEASIBLE)
