"""Files with networks: every format that is written is read back, and bad files are refused."""

import gzip
import json
import sys
from pathlib import Path
from typing import Any, get_args

import networkx as nx
import numpy as np
import pytest

import starcast
from starcast import Network, export, network
from starcast.formats import networks
from starcast.formats.graphs import to_igraph, to_networkx, to_scipy
from starcast.formats.network_readers import READERS
from starcast.formats.writing import FORMATS
from starcast.support.errors import LimitError, UnavailableError
from starcast.support.vocabulary import NetworkFormat
from starcast.topologies import Topology
from support.meeting import refused

NETWORKS = {
    "mesh": nx.grid_2d_graph(3, 5),
    "scalefree": nx.barabasi_albert_graph(40, 2, seed=3),
    "petersen": nx.petersen_graph(),
    "labels": nx.path_graph(["b.x", "B", "b", "Berlin_2", "10", "9", "x" * 40, "_", "graph"]),
    "path": nx.path_graph(300),
}
#: Formats without labels, in which a node is a number.
NUMBERED = ("metis", "graph6", "anynet")
GRAPHML = """<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">
<node id="0"/><node id="1"/><node id="2"/><edge source="0" target="1"/><edge source="1" target="2"/></graph></graphml>
"""


def links(made: Topology) -> set[tuple[str, str]]:
    """Return the links of a network as pairs of labels."""
    label = made.labels().tolist()
    return {(label[u], label[v]) for u, v in to_networkx(made).edges}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Return a function that writes a file and reads it as a network."""

    def write_and_read(content: str | bytes, name: str = "mine.txt", **options: Any) -> Network:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return network(path, **options)

    return write_and_read


@pytest.mark.whole
@pytest.mark.parametrize("to", FORMATS[Topology])
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("by", ["content", "suffix", "name"])
def test_every_written_format_is_read_as_an_equal_network(
    tmp_path: Path, to: Any, name: str, by: str
) -> None:
    made = network(NETWORKS[name], name=name)
    path = tmp_path / (f"{name}{FORMATS[Topology][to].suffixes[0]}" if by == "suffix" else name)
    export(made, path, to)
    again = network(path, file_format=to if by == "name" else None, name=name)
    if to in NUMBERED:
        first = int(to == "metis")
        assert again.labels().tolist() == [str(rank + first) for rank in range(made.nodes)]
        assert again.table().tolist() == made.table().tolist()
    else:
        assert (again.sha256, again.spec) == (made.sha256, made.spec)


@pytest.mark.parametrize("name", NETWORKS)
def test_objects_of_graph_libraries_are_read_back(name: str) -> None:
    made = network(NETWORKS[name], name=name)
    assert network(to_networkx(made), name=name).sha256 == made.sha256
    assert network(to_igraph(made), name=name).sha256 == made.sha256
    assert network(to_scipy(made), name=name).table().tolist() == made.table().tolist()


PATH = {("a", "b"), ("b", "c")}
NUMBERS = {("1", "2"), ("2", "3")}
ZERO = {("0", "1"), ("1", "2")}
JSON = {"nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}]}
JSON_LINKS = [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("x.txt", "a b\nb c\n", PATH),
        ("x.txt", "# a path\na   b # first\n\n% KONECT\nb\tc\n", PATH),
        ("x.txt", "a b {}\nb c {'weight': 2}\n", PATH),
        ("x.txt", "a b\r\nb c\r\n", PATH),
        ("x.txt", "\ufeffa b\nb c", PATH),
        ("x", "source target\na b\nb c\n", PATH),
        ("x", "router host\n1 2\n2 3\n", NUMBERS),
        ("x.csv", "a,b\nb,c\n", PATH),
        ("x.csv", "a;b;\nb;c;\n", PATH),
        ("x.csv", '"a", "b"\n"b", "c"\n', PATH),
        ("x.csv", "Source,Target,weight\na,b,3\nb,c,4\n", PATH),
        ("x.csv", "id;from;to;capacity\n1;a;b;\n2;b;c\n", PATH),
        ("x.csv", "# a comment\nfrom,to\na,b\nb,c\n", PATH),
        ("x.tsv", "a\tb\nb\tc\n", PATH),
        ("x.adjlist", "# nodes\na b\nb c\nc\n", PATH),
        ("x.g6", ">>graph6<<Bg\n", ZERO | {("0", "1")}),
        ("x", "Bg", ZERO),
        ("x.graph", "% a path\n3 2\n2\n1 3\n2\n", NUMBERS),
        ("x.metis", "3 2 011 2\n7 7 2 9\n7 7 1 9 3 9\n7 7 2 9\n\n", NUMBERS),
        ("x.json", json.dumps({**JSON, "links": JSON_LINKS}), PATH),
        ("x", json.dumps({**JSON, "edges": JSON_LINKS, "directed": False}), PATH),
        ("x.gv", 'strict graph {\n// path\na -- b -- "c" [w=1]; node [shape=box] b [x=1]\n}', PATH),
        ("x", 'digraph "p" { rankdir=LR; a -> b; b -> a; b:e -> c; c -> b }', PATH),
        ("x.net", '*Vertices 3\n1 "a"\n2 "b" 0.5 0.5\n3 "c"\n*Edges\n1 2 4.5\n2 3\n', PATH),
        ("x", "%\n*Vertices 3\n*Edgeslist\n1 2\n*Arcs\n2 3\n3 2\n", NUMBERS),
        ("x.net", "*Network p\n*Vertices 3\n*Arcslist\n2 1 3\n1 2\n3 2\n", NUMBERS),
        ("x.anynet", "router 0 node 0 router 1 15\nrouter 1 node 1 node 2 router 2\n", ZERO),
        ("x", "node 0 router 0\nrouter 0 router 1\nrouter 1 router 0 router 2\n", ZERO),
        ("x.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 2\n2 1\n3 2\n",
         NUMBERS),
        ("x.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 4\n2 1 .5\n1 2 .5\n3 2 1\n2 3 1",
         NUMBERS),
        ("x.graphml", GRAPHML, ZERO),
        ("x.xml", GRAPHML, ZERO),
        ("x.s6", nx.to_sparse6_bytes(nx.path_graph(3)), ZERO),
        ("x", nx.to_sparse6_bytes(nx.path_graph(3), header=False), ZERO),
        ("x.gml", 'Creator "me"\ngraph [\n node [ id 1 label "a" ]\n node [ id 2 label "b" ]\n'
         ' node [ id 3 label "c" ]\n edge [ source 1 target 2 ]\n edge [ source 2 target 3 ] ]\n',
         PATH),
        ("x.edges.gz", gzip.compress(b"a b\nb c\n"), PATH),
        ("x.txt", "a b\nb c\n".encode("utf-16"), PATH),
        ("x.csv", "a,b\nb,c\n".encode("utf-16-le"), PATH),
    ],
)  # fmt: skip
def test_files_of_other_programs_are_read(
    read: Any, name: str, content: str | bytes, expected: set[tuple[str, str]]
) -> None:
    assert links(read(content, name)) == expected
