"""Bottleneck cuts of the machines in the ForestColl paper, compared with NetworkX flows.

The machines have one or two boxes of eight A100 GPUs and an NVSwitch, or of 16 MI250 dies. They are
taken from ``topologies.py`` of liangyuRain/ForestColl (Zhao et al. 2024, arXiv 2402.06787).
"""

from fractions import Fraction
from itertools import combinations

import networkx as nx
import pytest

from starcast import Network, network
from starcast.costs import Machine, bottleneck_cut
from starcast.support.progress import Silent

#: Pairs of linked dies in a box of 16 MI250 dies, by the number of xGMI links per pair.
MI250 = {
    4: "0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15",
    2: "0-4 3-7 8-12 11-15",
    1: "0-8 1-5 1-9 1-10 2-6 2-9 2-10 3-11 4-6 5-6 5-7 9-13 10-14 12-14 13-14 13-15",
}
Links = dict[tuple[str, str], int]


def a100(boxes: int) -> Links:
    """Return the links of a machine with A100 GPUs, and their capacities in GB/s.

    The nodes are GPUs (g), NVSwitches (s), network cards (m) and switches between boxes (i).
    """
    links: Links = {}
    for box in range(boxes):
        for gpu in range(8):
            links[f"g{box}.{gpu}", f"s{box}"] = 300
            if boxes > 1:
                links[f"g{box}.{gpu}", f"m{box}.{gpu}"] = 25
                links[f"m{box}.{gpu}", f"i{gpu % 2}"] = 25
    return links


def mi250(boxes: int) -> Links:
    """Return the links of a machine with MI250 dies, and their capacities in GB/s.

    The nodes are the dies (g) and, if there are several boxes, an InfiniBand switch (i).
    """
    links: Links = {}
    for box in range(boxes):
        for count, pairs in MI250.items():
            for pair in pairs.split():
                u, v = pair.split("-")
                links[f"g{box}.{u}", f"g{box}.{v}"] = 50 * count
        for gpu in range(16 if boxes > 1 else 0):
            links[f"g{box}.{gpu}", "i"] = 16
    return links


#: Each machine's links, and the optimal allgather bandwidth in GB/s that ForestColl computes.
MACHINES = {
    "a100-1": (a100(1), Fraction(8 * 300, 7)),
    "a100-2": (a100(2), Fraction(16 * 65, 3)),
    "mi250-1": (mi250(1), Fraction(16 * 150, 7)),
    "mi250-2": (mi250(2), Fraction(32 * 166, 15)),
}


def made(links: Links) -> Network:
    """Return the network with the given links, whose capacities are in GB/s."""
    nodes = dict.fromkeys(end for link in links for end in link)
    switches = [node for node in nodes if not node.startswith("g")]
    capacities = [f"{width}GBps" for width in links.values()]
    graph = nx.Graph()
    graph.add_nodes_from(nodes)
    for (u, v), capacity in zip(links, capacities, strict=True):
        graph.add_edge(u, v, capacity=capacity)
    return network(graph, name="known", switches=switches, reporter=Silent())


def delivers(links: Links, time: Fraction) -> bool:
    """Return whether each GPU can receive a byte from every GPU within a time in ns.

    NetworkX computes the answer by maximum flows.
    """
    graph = nx.DiGraph()
    gpus = {end for link in links for end in link if end.startswith("g")}
    for (u, v), width in links.items():
        for start, end in ((u, v), (v, u)):
            graph.add_edge(start, end, capacity=width * time.numerator)
    for gpu in gpus:
        graph.add_edge("all", gpu, capacity=time.denominator)
    needed = len(gpus) * time.denominator
    return all(nx.maximum_flow_value(graph, "all", gpu) == needed for gpu in gpus)


@pytest.mark.parametrize("name", MACHINES)
def test_the_bottleneck_cut_gives_the_optimal_bandwidth_of_forestcoll(name: str) -> None:
    links, bandwidth = MACHINES[name]
    machine = made(links)
    gigabyte = Fraction(machine.capacity_unit) / 8 / 10**9
    cost = bottleneck_cut(machine, Fraction(1), Machine(Fraction(0), 1 / gigabyte))
    assert machine.endpoints / cost.time == bandwidth
    assert delivers(links, cost.time)
    assert not delivers(links, cost.time * Fraction(9999, 10_000))


def test_the_bottleneck_cut_of_a_small_machine_takes_the_longest_time_of_all_cuts() -> None:
    """Three GPUs have links of 1, 2 and 3 GB/s to a switch. A link of 2 GB/s joins two GPUs."""
    links = {("g1", "s"): 1, ("g2", "s"): 2, ("g3", "s"): 3, ("g1", "g2"): 2}
    nodes = sorted({end for link in links for end in link})
    ratios = []
    for size in range(1, len(nodes)):
        for chosen in combinations(nodes, size):
            gpus = [node for node in chosen if node.startswith("g")]
            width = sum(w for (u, v), w in links.items() if (u in chosen) != (v in chosen))
            ratios += [Fraction(len(gpus), width)] if len(gpus) < 3 else []
    cost = bottleneck_cut(made(links), Fraction(8), Machine(Fraction(0), Fraction(1, 8)))
    assert cost.time == max(ratios)
