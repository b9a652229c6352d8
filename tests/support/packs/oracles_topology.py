"""Brute-force oracles for the query pack ``topology``."""

from collections import Counter
from collections.abc import Iterator

import networkx as nx

from oracles.star_graph import SYMBOLS
from support.packs.oracle_tools import (
    Case,
    Label,
    Values,
    across,
    distances,
    labels,
    linked,
    network,
    node_pair_cases,
    oracle,
    port_between,
    ports,
    ranks,
    sizes,
    some_nodes,
    topology_node_cases,
)
from support.packs.stored_data import SPECS

#: Topologies small enough to query every node, including an (n,k)-star, whose residual links have
#: different ports at their two ends.
SMALL = ("S4,2", "Q4")


@oracle(
    "topology/neighbours",
    "port neighbour",
    [
        *topology_node_cases(),
        *({"topology": spec, "node": node} for spec in SMALL for node in labels(spec)),
    ],
)
def neighbours(topology: str, node: Label) -> Iterator[Values]:
    """Yield the neighbours of a node, sorted by port."""
    yield from linked(topology, node)


def pair_cases() -> Iterator[Case]:
    """Yield cases with a few node pairs, and with a node and each of its neighbours."""
    yield from node_pair_cases()
    for spec in SPECS:
        for node in some_nodes(spec)[1:]:
            yield from (
                {"topology": spec, "source": node, "target": across(spec, node, port)}
                for port in ports(spec)
            )


@oracle("topology/adjacency", "adjacent port reverse_port", pair_cases())
def adjacency(topology: str, source: Label, target: Label) -> Iterator[Values]:
    """Yield one row: whether two nodes are adjacent, and the ports of their link or None."""
    port, back = port_between(topology, source, target), port_between(topology, target, source)
    yield port is not None, port, back


@oracle("topology/distance-profile", "distance nodes", topology_node_cases())
def distance_profile(topology: str, node: Label) -> Iterator[Values]:
    """Yield the number of nodes at each distance from a node."""
    yield from sorted(Counter(distances(topology, node).values()).items())


@oracle(
    "topology/nodes-at-distance",
    "rank node",
    [{**case, "distance": d} for case in topology_node_cases() for d in (0, 3, 7)],
)
def nodes_at_distance(topology: str, node: Label, distance: int) -> Iterator[Values]:
    """Yield the nodes at a distance from a node, sorted by rank."""
    away = distances(topology, node)
    yield from (pair for pair in enumerate(labels(topology)) if away[pair[1]] == distance)


def pattern_cases() -> Iterator[Case]:
    """Yield cases with label patterns in which all, none, one or two of the positions are fixed."""
    for spec in SPECS:
        identity = labels(spec)[0]
        free = "*" * len(identity)
        fixed = [
            free[:place] + symbol + free[place + 1 :]
            for place in range(1, len(identity))
            for symbol in identity[::2]
        ]
        yield from ({"topology": spec, "pattern": pattern} for pattern in [free, identity, *fixed])
    yield {"topology": "S5", "pattern": "**3*1"}
    yield {"topology": "S5", "pattern": "**3*3"}


@oracle("topology/substar", "rank node", pattern_cases())
def substar(topology: str, pattern: str) -> Iterator[Values]:
    """Yield the nodes whose labels match a pattern, sorted by rank."""
    for rank, label in enumerate(labels(topology)):
        if all(wanted in ("*", symbol) for wanted, symbol in zip(pattern, label, strict=True)):
            yield rank, label


def rotated(label: Label) -> Label:
    """Return the rotation of a node: symbol s in position i becomes r(s) in position r(i).

    The function r maps 2 to 3, .., n to 2, and 1 to itself.
    """
    turn = {1: 1, len(label): 2} | {i: i + 1 for i in range(2, len(label))}
    moved = {turn[place]: turn[SYMBOLS.index(symbol) + 1] for place, symbol in enumerate(label, 1)}
    return "".join(SYMBOLS[moved[place] - 1] for place in sorted(moved))


def necklace_cases() -> Iterator[Case]:
    """Yield cases with a few nodes of every topology, all of S4, and others of S5 and S6."""
    yield from topology_node_cases()
    yield from ({"topology": "S4", "node": node} for node in labels("S4"))
    yield from (
        {"topology": f"S{len(node)}", "node": node}
        for node in ("13452", "13254", "21453", "134562", "632145")
    )


@oracle("topology/necklace", "rotations rank node period", necklace_cases())
def necklace(topology: str, node: Label) -> Iterator[Values]:
    """Yield the necklace of a node by repeated rotation; only star graphs have necklaces."""
    if not topology.startswith("S") or sizes(topology)[1]:
        return
    orbit = [node]
    while rotated(orbit[-1]) != node:
        orbit.append(rotated(orbit[-1]))
    for turns, label in enumerate(orbit):
        yield turns, ranks(topology)[label], label, len(orbit)


TOPOLOGIES = [{"topology": spec} for spec in SPECS]


@oracle("topology/degrees", "degree nodes lowest_node", TOPOLOGIES, order="degree")
def degrees(topology: str) -> Iterator[Values]:
    """Yield the number of nodes of each degree, and the first such node."""
    found: dict[int, list[Label]] = {}
    for node in labels(topology):
        found.setdefault(network(topology).degree(node), []).append(node)
    yield from ((degree, len(nodes), nodes[0]) for degree, nodes in found.items())


@oracle("topology/eccentricities", "node eccentricity central", TOPOLOGIES, order="eccentricity")
def eccentricities(topology: str) -> Iterator[Values]:
    """Yield each node's eccentricity, and whether the node is central, according to NetworkX."""
    found = nx.eccentricity(network(topology))
    centre = nx.center(network(topology), e=found)
    yield from ((node, found[node], node in centre) for node in labels(topology))


@oracle("topology/cut-nodes", "node", TOPOLOGIES)
def cut_nodes(topology: str) -> Iterator[Values]:
    """Yield the articulation points that NetworkX finds, sorted by rank."""
    found = set(nx.articulation_points(network(topology)))
    yield from ((node,) for node in labels(topology) if node in found)


@oracle("topology/bridges", "node neighbour", TOPOLOGIES)
def bridges(topology: str) -> Iterator[Values]:
    """Yield the bridges that NetworkX finds, sorted by the ranks of their ends."""
    place = ranks(topology)
    found = (sorted(link, key=place.__getitem__) for link in nx.bridges(network(topology)))
    yield from sorted(map(tuple, found), key=lambda link: [place[end] for end in link])
