"""The topologies without translations that support/plugins/irregular.py defines."""

from pathlib import Path

import networkx as nx

from starcast.topologies import Topology

PLUGIN = Path(__file__).parent / "plugins" / "irregular.py"
SPECS = ("Grid3x4", "Petersen10", "Complete5", "Line301", "Barbell6", "Hubs16")
#: The topology with switches.
SWITCHED = "Switched12"
ALL = (*SPECS, SWITCHED)


def graph_of(topology: Topology) -> nx.Graph:
    """Return a topology as a NetworkX graph whose nodes are ranks."""
    graph = nx.empty_graph(topology.nodes)
    for row in topology.table().tolist():
        graph.add_edges_from((node, end) for node, end in enumerate(row) if node < end)
    return graph
