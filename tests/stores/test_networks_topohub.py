"""Networks of the package topohub, read from their files."""

import json
from pathlib import Path

import networkx as nx
import topohub

from starcast import network
from starcast.support.progress import Silent

SNDLIB = Path(topohub.__file__).parent / "data" / "sndlib"


def test_all_networks_of_sndlib_are_read() -> None:
    for file in sorted(SNDLIB.glob("*.json")):
        graph = nx.node_link_graph(json.loads(file.read_text()), edges="edges")
        made = network(file, reporter=Silent())
        assert (made.nodes, made.links) == (len(graph), nx.Graph(graph).size())
        assert made.diameter == nx.diameter(graph)
        assert made.positions is not None
