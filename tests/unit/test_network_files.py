"""Network files: every exported format is read back, and invalid files are refused."""

import gzip
import json
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from string import ascii_letters, digits
from tempfile import TemporaryDirectory
from typing import Any, get_args

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import starcast
from starcast import Network, export, network
from starcast.formats import networks
from starcast.formats.graphs import to_igraph, to_networkx, to_scipy
from starcast.formats.machine_readers import ALL_READERS
from starcast.formats.writing import FORMATS
from starcast.support.errors import LimitError, NetworkWarning, StarcastError, UnavailableError
from starcast.support.progress import ProgressLines, Silent
from starcast.support.vocabulary import NetworkFormat
from starcast.topologies import Topology, memory
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
<node id="0"/><node id="1"/><node id="2"/>
<edge source="0" target="1"/><edge source="1" target="2"/></graph></graphml>
"""


def links(made: Topology) -> set[tuple[str, str]]:
    """Return the links of a network as pairs of labels."""
    label = made.labels().tolist()
    return {(label[u], label[v]) for u, v in to_networkx(made).edges}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Return a function that writes a file and reads it as a network."""

    def write_and_read(content: str | bytes, file: str = "mine.txt", **options: Any) -> Network:
        path = tmp_path / file
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return network(path, **{"reporter": Silent(), **options})

    return write_and_read


@pytest.mark.whole
@pytest.mark.parametrize("to", FORMATS[Topology])
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("by", ["content", "suffix", "name"])
def test_a_network_file_in_every_exported_format_is_read_back_as_an_equal_network(
    tmp_path: Path, to: Any, name: str, by: str
) -> None:
    made = network(NETWORKS[name], name=name)
    path = tmp_path / (f"{name}{FORMATS[Topology][to].suffixes[0]}" if by == "suffix" else name)
    export(made, path, to)
    lines: list[str] = []
    chosen = to if by == "name" else None
    again = network(path, file_format=chosen, name=name, reporter=ProgressLines(lines.append))
    assert lines == []
    if to in NUMBERED:
        first = int(to == "metis")
        assert again.labels().tolist() == [str(rank + first) for rank in range(made.nodes)]
        assert again.table().tolist() == made.table().tolist()
    else:
        assert (again.sha256, again.spec) == (made.sha256, made.spec)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=20), st.data())
def test_networks_with_any_permitted_labels_are_exported_and_read_back(
    parents: list[int], data: st.DataObject
) -> None:
    """The network is a random tree, whose labels may contain any permitted character."""
    size = len(parents) + 1
    texts = st.text(f"{ascii_letters}{digits}_.", min_size=1, max_size=40)
    names = data.draw(st.lists(texts, min_size=size, max_size=size, unique=True))
    made = network([(names[i + 1], names[p % (i + 1)]) for i, p in enumerate(parents)])
    for to in {*FORMATS[Topology]} - {*NUMBERED}:
        with TemporaryDirectory() as folder:
            export(made, Path(folder) / "x", to)  # type: ignore[arg-type]
            assert network(Path(folder) / "x").sha256 == made.sha256


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_exported_to_a_graph_library_is_read_back_as_the_same_network(name: str) -> None:
    made = network(NETWORKS[name], name=name)
    assert network(to_networkx(made), name=name).sha256 == made.sha256
    assert network(to_igraph(made), name=name).sha256 == made.sha256
    assert network(to_scipy(made), name=name).table().tolist() == made.table().tolist()


GML = """Creator "me"
graph [
  node [ id 1 label "a" ]
  node [ id 2 label "b" ]
  node [ id 3 label "c" ]
  edge [ source 1 target 2 ]
  edge [ source 2 target 3 ]
]
"""
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
        ("x.txt", "# " * 2000 + "\na b\nb c\n", PATH),
        ("x.txt", "% " * 2000 + "\na b\nb c\n", PATH),
        ("x.csv", "a,b\nb,c\n", PATH),
        ("x.csv", "a;b;\nb;c;\n", PATH),
        ("x.csv", '"a", "b"\n"b", "c"\n', PATH),
        ("x.csv", "Source,Target,weight\na,b,3\nb,c,4\n", PATH),
        ("x.csv", "id;from;to;capacity\n1;a;b;\n2;b;c\n", PATH),
        ("x.csv", ",from,to,\n0,a,b\n1,b,c\n", PATH),
        ("x.dot", "graph { a -- b [w=1 /* capacity=5 */; x=2,\n// y\nz=3]; b -- c }", PATH),
        ("x.dot", 'graph { node [label="\\N"]; x [label="a"]; x -- b; b -- c }', PATH),
        ("x.csv", "a #1,b #2\nb #2,c\n", {("a__1", "b__2"), ("b__2", "c")}),
        ("x.csv", "# a comment\nfrom,to\na,b\nb,c\n", PATH),
        ("x.tsv", "a\tb\nb\tc\n", PATH),
        ("x.adjlist", "# nodes\na b\nb c\nc\n", PATH),
        ("x.adjlist", "a b # first\nb c\n", PATH),
        ("x.g6", ">>graph6<<Bg\n", ZERO | {("0", "1")}),
        ("x", "Bg", ZERO),
        ("x.graph", "% a path\n3 2\n2\n1 3\n2\n", NUMBERS),
        ("x.metis", "3 2 011 2\n7 7 2 9\n7 7 1 9 3 9\n7 7 2 9\n\n", NUMBERS),
        ("x.json", json.dumps({**JSON, "links": JSON_LINKS}), PATH),
        ("x", json.dumps({**JSON, "edges": JSON_LINKS, "directed": False}), PATH),
        ("x.gv", 'strict graph {\n// path\na -- b -- "c" [w=1]; node [shape=box] b [x=1]\n}', PATH),
        ("x", 'digraph "p" { rankdir=LR; a -> b; b -> a; b:e -> c; c -> b }', PATH),
        ("x.net", '*Vertices 3\n1 "a"\n2 "b" 0.5 0.5\n3 "c"\n*Edges\n1 2 4.5\n2 3\n', PATH),
        ("x", "%\n*Vertices 3\n*Edges\n1 2\n*Arcs\n2 3\n3 2\n", NUMBERS),
        ("x.net", "*Network p\n*Vertices 3\n*Arcs\n*Edges\n2 1\n2 3\n", NUMBERS),
        ("x.anynet", "router 0 node 0 router 1 15\nrouter 1 node 1 node 2 router 0 15 router 2\n",
         ZERO),
        ("x", "node 0 router 0\nrouter 0 router 1\nrouter 1 router 0 router 2\n", ZERO),
        ("x.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 2\n2 1\n3 2\n",
         NUMBERS),
        ("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n2 1 .5\n1 2 .5\n",
         {("1", "2")}),
        ("x.graphml", GRAPHML, ZERO),
        ("x.xml", GRAPHML, ZERO),
        ("x.s6", nx.to_sparse6_bytes(nx.path_graph(3)), ZERO),
        ("x", nx.to_sparse6_bytes(nx.path_graph(3), header=False), ZERO),
        ("x.gml", GML, PATH),
        ("x", GML, PATH),
        ("x.edges.gz", gzip.compress(b"a b\nb c\n"), PATH),
        ("x.txt", "a b\nb c\n".encode("utf-16"), PATH),
        ("x.csv", "a,b\nb,c\n".encode("utf-16-le"), PATH),
    ],
)  # fmt: skip
def test_network_files_of_other_programs_are_read(
    read: Any, name: str, content: str | bytes, expected: set[tuple[str, str]]
) -> None:
    assert links(read(content, name)) == expected


DOCTYPE = GRAPHML.replace("?>\n", '?>\n<!DOCTYPE g [<!ENTITY a "b">]>\n')
MARKET = "%%MatrixMarket matrix coordinate pattern symmetric\n"


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.txt", "", "is empty"),
        ("x.txt", " \n\n", "is empty"),
        ("x.txt", "# nothing\n", "the network has no links"),
        ("x.txt", "a b\nb b\n", "line 2: a link joins 'b' to itself"),
        ("x.csv", "# head\na,b\nb,b\n", "line 3: a link joins 'b' to itself"),
        ("x.txt", "a b\nc d\ne f\n", "the network is not connected: it has 3 connected components"),
        ("x.txt", "a b\n\nb\n", "line 3 has 1 value instead of two nodes"),
        ("x.csv", "source,target\n", "the network has no links"),
        ("x.csv", "a,b\n,c\n", "line 2 has 2 values instead of two nodes"),
        ("x.csv", 'a,b\n"b,c\n', "line 3 is not CSV"),
        ("x.txt", "0 1 5\n1 2 6\n", "line 1 has 3 values"),
        ("x.csv", "a,b\nb,c,2.5\n", "line 2 has 3 values"),
        ("x.txt", "source target w\na b 1 2\n", "line 2 has 4 values instead of two nodes"),
        ("x.txt", "\n".join(f"hub {i}" for i in range(254)), "the node 'hub' has 254 links"),
        ("x.csv", "a,Köln\n".encode("latin-1"), "line 1 is not valid UTF-8"),
        ("x.txt", "a b\n" + "{ " * 10**6, "line 2 has more than 4,096 characters"),
        ("x.gml", "graph [\n" + "\n" * 10**5 + "graph", "the file cannot be read as GML"),
        ("x.dot", "graph { " + "a " * 10**5 + "!", "line 1 has '!' outside of quotes"),
        ("x.adjlist", "a b\nb b\n", "line 2: a link joins 'b' to itself"),
        ("x.graph", "3 2\n2\n1 3\n", "line 1 declares 3 nodes; the file has 2"),
        ("x.graph", "3 2\n2\n3\n2\n", "line 1 declares 2 links; the file lists 3 neighbours"),
        ("x.graph", "3 2\n2\n1 3\n1\n", "line 3: the link from '2' to '3' has no reverse"),
        ("x.graph", "2 1\n2\nx\n", "line 3 has 'x' instead of a number"),
        ("x.graph", "2 1\n2\n3\n", "line 3 names the node 3, but nodes are numbered from 1 to 2"),
        ("x.graph", "2\n2\n1\n", "line 1 does not begin with the numbers of nodes and links"),
        ("x.graph", "999999999999 1\n2\n1\n", "line 1 declares 999,999,999,999 nodes"),
        ("x.g6", "~~~~~~~~Bg", "the file has 2 characters for the links of 68,719,476,735 nodes"),
        ("x.g6", "Bg\nBw\n", "the file is not a single line of graph6 or sparse6"),
        ("x.s6", ":~~~~~~~~_", "the file has 1 character, too few to connect 68,719,476,735 nodes"),
        ("x.json", "{", "the file is not JSON"),
        ("x.json", "[1, 2]", "seems to be a JSON list"),
        (
            "x.json",
            '{"nodes": ' + "[" * 10**5,
            "the file is not JSON: the text is nested too deeply",
        ),
        ("x.json", '{"nodes": [1]}', "no list of JSON objects under the key 'nodes'"),
        ("x.json", '{"nodes": []}', "no list of JSON objects under the key 'links'"),
        ("x.json", json.dumps({**JSON, "links": [{"source": "a", "target": "x"}]}),
         "link 1 joins 'a' to 'x', of which at least one is not a node"),
        ("x.json", json.dumps({"nodes": [{"id": 1}, {"id": "1"}], "links": []}),
         "two nodes have the same id"),
        ("x.json", json.dumps({**JSON, "directed": True, "links": JSON_LINKS}),
         "the link from 'a' to 'b' has no reverse"),
        ("x.dot", "digraph { a -> b }", "line 1: the link from 'a' to 'b' has no reverse"),
        ("x.dot", "graph {\na -- b\n", "line 3 ends without '}'"),
        ("x.dot", "graph {\na -- {b c}\n}", "line 2 has '-' outside of quotes"),
        ("x.dot", "graph {\na -- b [label=<capacity=2>]\n}",
         "line 2 has 'label=<>' among attributes"),
        ("x.dot", "graph {\na -- b [capacity=2 Gbps]\n}", "line 2 has 'Gbps' among attributes"),
        ("x.graph", "2 1 1\n2 5\n1\n", "line 3 has no weight of the link to 1"),
        ("x.net", '*Vertices 2\n1 "a"\n1 "b"\n*Edges\n1 2\n', "line 3 repeats the node 1"),
        ("x.dot", "graph {\nsubgraph { a }\n}", "line 2 has '{' outside of quotes"),
        ("x.dot", "graph {\n<b> -- a\n}", "line 2 has '<' outside of quotes"),
        ("x.net", "*Vertices 3\n*Arcslist\n1 2\n", "line 2 begins the section '*Arcslist'"),
        ("x.net", "*Vertices 3\n*Edges\n1\n", "line 3 has '' instead of a number"),
        ("x.net", "*Vertices 3\n*Edges\n1 2\n", "line 1 declares 3 nodes; the number of"),
        ("x.net", "*Vertices 3\n*Edges\n1 2\n2 3\n3 30\n", "line 5 names the node 30, but nodes"),
        ("x.net", '*Vertices 2\n1 "a"\n5 "b"\n*Edges\n1 5\n', "line 3 names the node 5, but"),
        ("x.net", "*Vertices 2\n*Arcs\n0 1\n", "line 3 names the node 0, but nodes are numbered"),
        ("x.graphml", GRAPHML.replace("</graph>", "</graph><graph/>"),
         "begins a second graph"),
        ("x.gexf", "<gexf xmlns:g='x'><g:graph/>\n<g:graph/></gexf>",
         "line 2 begins a second graph"),
        ("x.gml", "graph [ node [ id 1 ] ]\ngraph [ node [ id 1 ] ]", "more than one graph"),
        ("x.dot", "graph {\na -- b\n}\ngraph { c -- d }", "line 3 ends the graph, but more text"),
        ("x.s6", ":Bc\n:Bc\n", "the file is not a single line of graph6 or sparse6"),
        ("x.net", "*Vertices 2\n*Edges\n1 2\n*Vertices 2\n", "line 4 begins a second graph"),
        ("x.net", "*Vertices 2\n*Arcs\n1 2\n", "line 3: the link from '1' to '2' has no reverse"),
        ("x.net", "*Vertices 99999999999\n*Edges\n1 2\n", "declares 99,999,999,999 nodes"),
        ("x.anynet", "router 0 switch 1\n", "line 1 has the text 'switch 1'"),
        ("x.anynet", "router 0 router\n", "line 1 has the text 'router'"),
        ("x.anynet", f"router 0 router 1 {'9' * 5000}\n", "line 1 has the text '9999"),
        ("x.edges", "a b {[1]: 2}\n", "line 1 does not end with the attributes of a link"),
        ("x.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n1\n1\n1\n",
         "line 1 does not declare a sparse matrix"),
        ("x.mtx", f"{MARKET}3 2 1\n2 1\n", "line 2 declares a matrix of 3 rows and 2 columns"),
        ("x.mtx", f"{MARKET}2 2 2\n2 1\n", "line 2 declares 2 entries; the file has 1"),
        ("x.mtx", f"{MARKET}9999999999 9999999999 1\n2 1\n", "line 2 declares 9,999,999,999 nodes"),
        (
            "x.mtx",
            f"{MARKET}2 2 1\n3 1\n",
            "line 3 does not begin with a row and a column from 1 to 2",
        ),
        ("x.mtx", f"{MARKET}2 2 2\n2 1\n1 1\n", "line 4: a link joins '1' to itself"),
        ("x.mtx", MARKET.replace("symmetric", "general") + "2 2 1\n2 1\n",
         "line 3: the link from '2' to '1' has no reverse"),
        ("x.graphml", GRAPHML.replace('target="2"', 'target="5"'),
         "line 4 joins '1' to '5', of which at least one is not a node"),
        ("x.graphml", GRAPHML.replace(' target="2"', ""), "line 4 joins '1' to '', of which at"),
        ("x.graphml", GRAPHML.replace('<node id="2"/>', '<node id="1"/>'),
         "line 3 repeats the node '1'"),
        ("x.graphml", GRAPHML.replace('<edge source="1"', '<edge id="e" source="0"').replace(
            "</graph>", '\n<edge id="e" source="2" target="0"/></graph>'),
         "line 5 repeats the link 'e' from '2' to '0'"),
        ("x.csv", "from,to,km,Capacity,capacity\na,b,1,2,3\n",
         "line 1 names the column 'capacity' twice"),
        ("x.gml", GML.replace("id 3", ") 3"), "in line 5"),
        ("x.graphml", DOCTYPE, "line 2 declares a document type"),
        ("x.graphml", DOCTYPE.replace("?>", ' encoding="utf-16"?>').encode("utf-16"),
         "line 2 declares a document type"),
        ("x.gexf", DOCTYPE.replace("graphml", "gexf"), "line 2 declares a document type"),
        ("x.graphml", GRAPHML.replace("</graph>", ""), "line 4 is not XML: mismatched tag"),
        ("x.graphml", GRAPHML.replace('"undirected"', '"directed"'),
         "the link from '0' to '1' has no reverse"),
        ("x.graphml", GRAPHML.replace("<edge", "<hyperedge/><edge"),
         "the file cannot be read as GraphML"),
        ("x.graphml", GRAPHML.replace('target="2"', 'target="1"'), "a link joins '1' to itself"),
        ("x.gexf", "<gexf></gexf>", "the file cannot be read as GEXF: No <graph> element"),
        ("x.gml", "graph [ node [ id 1 ]", "the file cannot be read as GML"),
        ("x.gml", "graph [ " + "a [ " * 10**5, "the file cannot be read as GML"),
        ("x.xml", "<algo/>", "seems to be an MSCCL XML file, not a network"),
        ("x.xml", "<svg/>", "seems to be XML, not a network"),
        ("x.d6", ">>digraph6<<&A_", "seems to be digraph6"),
        ("x.csv", "step,sender,port,unit\n", "seems to be a schedule"),
        ("x.png", b"PNG\n\0\0", "line 2 has a NUL character"),
        ("x.gz", b"\x1f\x8b\x08\x00", "the compressed data is incomplete or damaged"),
    ],
)  # fmt: skip
def test_the_error_for_an_invalid_network_file_names_the_file_and_the_reason(
    read: Any, name: str, content: str | bytes, words: str
) -> None:
    with refused(f"{name}", words):
        read(content, name)


def test_a_third_column_of_a_network_file_without_a_header_is_refused_as_ambiguous(
    read: Any,
) -> None:
    with refused("x.txt: line 1 has 3 values") as refusal:
        read("a b 10\nb c 10\n", "x.txt")
    for text in ("'source target capacity'", "'source target weight'", "was read as edges"):
        assert text in refusal.value.hint
    assert links(read("source target capacity\na b 10\nb c 10\n")) == PATH


def test_the_first_row_of_a_network_file_is_a_link_if_its_names_occur_in_other_rows(
    read: Any,
) -> None:
    assert links(read("from to\nto x\n")) == {("from", "to"), ("to", "x")}
    assert links(read("u v\nu w\n")) == {("u", "v"), ("u", "w")}
    assert links(read("u v\na b\n")) == {("a", "b")}


def test_the_format_of_a_network_file_can_be_given(read: Any) -> None:
    content = "3 2\n2\n1 3\n2\n"
    assert links(read(content, "x.txt", file_format="metis")) == NUMBERS
    with refused("x.txt: line 2 has 1 value") as refusal:
        read(content, "x.txt", file_format="edges")
    assert "was read as" not in refusal.value.hint
    with refused("unknown network format 'yaml'"):
        read(content, "x.txt", file_format="yaml")
    assert set(ALL_READERS) == set(get_args(NetworkFormat))
    assert set(FORMATS[Topology]) <= set(ALL_READERS)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("germany50.csv", "germany50"),
        ("my net-2.txt", "my_net_2"),
        ("x.graphml.gz", "x"),
        ("köln.v2.txt", "k_ln.v2"),
        ("..hidden.txt", "hidden"),
        ("-.csv", "network"),
        ("x" * 60 + ".csv", "x" * 43),
    ],
)
def test_the_default_name_of_a_network_is_made_from_the_file_name(
    read: Any, file: str, name: str
) -> None:
    content = gzip.compress(GRAPHML.encode()) if file.endswith("gz") else "a b"
    made = read(content, file)
    assert made.spec == f"{name}-{made.sha256[:6]}"
    assert made.source == file
    assert read(content, file, name="mine", source="by hand").source == "by hand"


def test_a_string_is_treated_as_a_file_path_if_it_has_a_slash_or_a_known_suffix(
    read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = read("a b\n", "x.csv")
    (tmp_path / "plain").write_text("a b\n")
    for path in ("x.csv", "./x.csv", str(tmp_path / "x.csv")):
        assert network(path) == made
    assert network("./plain", name="x") == network(Path("plain"), name="x") == made
    with refused("'plain' is not written like the path of a network file"):
        network("plain")
    with refused("missing.csv cannot be read: No such file"):
        network("missing.csv")
    with refused(f"{tmp_path} cannot be read: Is a directory"):
        network(tmp_path)


def test_node_titles_in_a_file_become_labels_if_they_are_complete_and_unique(read: Any) -> None:
    """Titles are taken from the attribute `label` or `name` of the nodes."""

    def make(nodes: list[dict[str, Any]]) -> tuple[list[str], tuple[str, ...]]:
        chain = [{"source": 0, "target": 1}, {"source": 1, "target": 2}]
        made = read(json.dumps({"nodes": nodes, "links": chain}), "x.json")
        return made.labels().tolist(), made.titles

    ids = [{"id": str(number)} for number in range(3)]
    assert make(ids) == (["0", "1", "2"], ("0", "1", "2"))
    cities = ["Rome", "Oslo", "Bern"]
    named = [{**node, "label": city} for node, city in zip(ids, cities, strict=True)]
    assert make(named) == (["Bern", "Oslo", "Rome"], ("2", "1", "0"))
    named[0]["label"] = "New York"
    assert make(named) == (["Bern", "New_York", "Oslo"], ("Bern", "New York", "Oslo"))
    named[0]["label"] = "Oslo"
    assert make(named) == (["0", "1", "2"], ("Oslo", "Oslo", "Bern"))
    del named[0]["label"]
    assert make(named) == (["0", "1", "2"], ("0", "1", "2"))
    named = [{**node, "name": city} for node, city in zip(ids, cities, strict=True)]
    assert make(named)[0] == ["Bern", "Oslo", "Rome"]


@pytest.mark.whole
@pytest.mark.parametrize(
    "keys", [("lon", "lat"), ("Longitude", "Latitude"), ("x", "y"), "pos", "viz", "graphics"]
)
def test_node_positions_in_a_file_are_kept_but_do_not_affect_the_spec_of_the_network(
    tmp_path: Path, keys: Any
) -> None:
    places = {"c": (1.5, 2.0), "a": (-3.0, 4.0), "b": (0.0, 0.25)}
    graph = nx.path_graph(["c", "a", "b"])
    plain = network(graph, name="x")
    assert plain.positions is None
    to = {"viz": "gexf", "graphics": "gml", "pos": "json"}.get(keys, "graphml")
    for node, (x, y) in places.items():
        if keys == "pos":
            graph.nodes[node]["pos"] = [x, y]
        elif keys == "viz":
            graph.nodes[node]["viz"] = {"position": {"x": x, "y": y, "z": 0.0}}
        elif keys == "graphics":
            graph.nodes[node]["graphics"] = {"x": x, "y": y}
        else:
            graph.nodes[node].update({keys[0]: x, keys[1]: y})
    path = tmp_path / f"x.{to}"
    if to == "json":
        path.write_text(json.dumps(nx.node_link_data(graph, edges="edges")))
    else:
        getattr(nx, f"write_{to}")(graph, path)
    made = network(path)
    assert made.spec == plain.spec
    assert made.positions is not None
    assert made.positions.tolist() == [[-3.0, 4.0], [0.0, 0.25], [1.5, 2.0]]
    assert made.positions.dtype == np.float64
    assert starcast.topology(plain.spec) is made


def test_incomplete_or_invalid_node_positions_are_ignored() -> None:
    graph = nx.path_graph(3)
    graph.nodes[0].update(x=1, y=2)
    assert network(graph).positions is None
    nx.set_node_attributes(graph, {1: {"x": 1, "y": float("nan")}, 2: {"x": "left", "y": 0}})
    assert network(graph).positions is None
    nx.set_node_attributes(graph, {node: {"x": 10**400, "y": node} for node in graph})
    assert network(graph).positions is None


def test_without_a_reporter_merged_links_and_unused_data_cause_warnings(read: Any) -> None:
    with pytest.warns(NetworkWarning, match="1 parallel link was merged in x-"):
        read("a b\nb c\nb a\n", "x.txt", reporter=None)
    with pytest.warns(NetworkWarning, match=r"does not use all data of x\.csv: km"):
        read("source,target,km\na,b,2\n", "x.csv", reporter=None)
    with pytest.warns(NetworkWarning, match="1 parallel link was merged in network-"):
        network(nx.MultiGraph([(0, 1), (1, 2), (1, 0)]))


def test_merged_links_and_unused_data_of_a_network_file_are_reported(read: Any) -> None:
    def reported(content: Any, name: str) -> list[str]:
        lines: list[str] = []
        reporter = ProgressLines(lines.append)
        if isinstance(content, str):
            read(content, name, reporter=reporter)
        else:
            network(content, reporter=reporter)
        return [re.sub("-[0-9a-f]{6}", "", line) for line in lines]

    assert reported("a b\nb c\nb a\n", "x.txt") == [
        "1 parallel link was merged in x; their capacities add up"
    ]
    assert reported("a b\nb c\nb a\nc b\n", "x.txt") == []
    assert reported("a b\nb c\na b\na b\n", "x.txt") == [
        "2 parallel links were merged in x; their capacities add up"
    ]
    assert reported(nx.MultiGraph([(0, 1), (1, 2), (1, 0)]), "") == [
        "1 parallel link was merged in network; their capacities add up"
    ]
    twice = '<edge source="1" target="2"/><edge source="2" target="1"/>'
    text = GRAPHML.replace('<edge source="1" target="2"/>', twice)
    assert reported(text, "x.graphml") == [
        "1 parallel link was merged in x; their capacities add up"
    ]
    again = GML.replace("2 target 3 ]", "2 target 3 ] edge [ source 3 target 2 ]")
    assert reported(again, "x.gml") == ["1 parallel link was merged in x; their capacities add up"]
    weight = "weight (set `weights` to use weights as capacities or latencies)"
    unused = {
        "x.csv": ("source,target,weight,km\na,b,1,2\n", f"km, {weight}"),
        "x.graph": ("2 1 1\n2 5\n1 5\n", weight),
        "y.graph": ("2 1 10\n5 2\n5 1\n", "weights of nodes"),
        "y.anynet": ("router 0 node 0 node 1 router 1\n", "additional nodes of routers"),
        "z.csv": (",from,to,km\n0,a,b,5\n", "km"),
        "x.json": (json.dumps({**JSON, "links": [{**JSON_LINKS[0], "dist": 3}, JSON_LINKS[1]]}),
                   "dist"),
        "x.net": ("*Vertices 2\n*Edges\n1 2 7\n", weight),
        "x.dot": ("graph { a -- b [port=1, len=2] }", "len"),
        "x.mtx": (f"{MARKET.replace('pattern', 'real')}2 2 1\n2 1 5\n", weight),
        "y.csv": ("source,target,capacity,bandwidth,delay\na,b,1,2,3\n", "bandwidth"),
    }  # fmt: skip
    for name, (content, words) in unused.items():
        assert reported(content, name) == [f"{name[0]} does not use all data of {name}: {words}"]


def test_the_error_for_an_unknown_unit_shows_an_example_of_a_valid_value(read: Any) -> None:
    for name, value, example in (("capacity", "100Gbit", "100Gbps"), ("latency", "3 min", "5us")):
        with refused(f"has the {name} '{value}', which is not a number") as refusal:
            read(f"from,to,{name}\na,b,{value}\nb,c,3\n", "x.csv")
        assert f"such as {example}" in refusal.value.hint
        assert "remove" not in refusal.value.hint


def test_a_network_is_read_from_a_pipe_like_from_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        # Opening a pipe waits until its other end is opened, so a thread opens that end.
        pool.submit(pipe.write_text, "a,b\nb,c\n")
        assert links(network(pipe)) == PATH


def test_files_that_exceed_the_size_limit_or_the_memory_are_refused(
    monkeypatch: pytest.MonkeyPatch, read: Any
) -> None:
    monkeypatch.setattr(networks, "MAX_BYTES", 10**6)
    with refused("/dev/zero contains more than 1 MB", exit_code=7):
        network("/dev/zero")
    with pytest.raises(LimitError):
        read(gzip.compress(b"a b\n" * 10**6), "x.txt.gz")
    monkeypatch.setattr(memory, "physical", lambda: 1000)
    with refused("x.txt: there is not enough memory for the ports of 9 links", exit_code=7):
        read("\n".join(f"{node} {node + 1}" for node in range(9)), "x.txt")


def test_formats_that_networkx_reads_are_refused_if_networkx_is_not_installed(
    read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    assert read("a b\n").links == 1
    for name, content in (("x.graphml", GRAPHML), ("x.gml", "graph ["), ("x.s6", ":A_")):
        with pytest.raises(UnavailableError, match="networkx is not installed") as refusal:
            read(content, name)
        assert "pip install 'networkx" in refusal.value.hint


SAMPLES = (
    "a b\nb c\n", "source;target;w\na;b;1\n", "Bg", "3 2\n2\n1 3\n2\n", GML, GRAPHML, ":A_",
    json.dumps({**JSON, "links": JSON_LINKS}), 'graph "x" { a -- b [port=1]; b -- c }',
    "*Vertices 3\n*Edges\n1 2\n2 3\n", "router 0 node 0 router 1\n", f"{MARKET}2 2 1\n2 1\n",
    '<gexf version="1.2"><graph><nodes><node id="0"/></nodes></graph></gexf>',
)  # fmt: skip


@given(st.sampled_from(SAMPLES), st.data())
def test_a_randomly_changed_network_file_is_read_or_refused(
    sample: str, data: st.DataObject
) -> None:
    """The test fails if the reader raises any exception other than a `StarcastError`."""
    begin = data.draw(st.integers(0, len(sample)))
    end = data.draw(st.integers(begin, min(len(sample), begin + 3)))
    middle = data.draw(st.text("09a b\n\t,;[]{}<>*%#\"'-~=\\", max_size=3))
    with TemporaryDirectory() as folder, suppress(StarcastError):
        path = Path(folder) / "x"
        path.write_text(sample[:begin] + middle + sample[end:])
        chosen = data.draw(st.sampled_from([None, *ALL_READERS]))
        assert network(path, file_format=chosen, reporter=Silent()).nodes > 1


def test_a_network_with_many_connected_components_is_refused(read: Any) -> None:
    nodes = [{"id": number} for number in range(50_000)]
    content = json.dumps({"nodes": nodes, "links": [{"source": 7, "target": 9}]})
    with refused("it has 49,999 connected components, and no path from '0' to '1'"):
        read(content, "x.json")
