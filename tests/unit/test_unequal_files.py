"""Files of networks with capacities, latencies and switches: read, scaled, written and refused."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from starcast import Network, export, network
from starcast.formats.graphs import to_igraph, to_networkx
from starcast.support.progress import ProgressLines
from starcast.topologies.base import describe_links
from starcast.topologies.network_building import read_quantity
from support.meeting import refused

pytestmark = pytest.mark.filterwarnings("ignore::starcast.support.errors.NetworkWarning")

LINKS = [("s", "a"), ("a", "b"), ("b", "c"), ("c", "s")]
LIST = "source target capacity latency\na b 10 5\nb c 40 7\n"


def values(made: Network) -> tuple[list[int], list[int], float]:
    """Return capacities and latencies in the order of the links, and the unit of capacities."""
    stored = made.as_json()
    return stored["capacities"], stored["latencies"], stored["capacity_unit"]


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def write_and_read(content: str, file: str = "mine.txt", **options: Any) -> Network:
        (tmp_path / file).write_text(content)
        return network(tmp_path / file, **options)

    return write_and_read


GML = """graph [
  node [ id 1 label "a" ]
  node [ id 2 label "b" ]
  node [ id 3 label "c" ]
  edge [ source 1 target 2 capacity 10 latency 5 ]
  edge [ source 2 target 3 capacity 40 latency 7 ]
]
"""
#: The same path of two links in every format with link attributes.
SAME = {
    "x.txt": LIST,
    "y.txt": "a b {'capacity': 10, 'latency': 5}\nb c {'latency': 7, 'capacity': 40}\n",
    "x.csv": "from,to,km,Bandwidth,Delay\na,b,1,2.5Gbps,5us\nb,c,9,10Gbps,7us\n",
    "x.gml": GML,
    "x.dot": "graph { edge [latency=5]; a -- b [capacity=0.25]; b -- c [capacity=1, latency=7] }",
    "x.json": json.dumps({
        "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
        "links": [
            {"source": "a", "target": "b", "bandwidth": 10, "delay": "5us"},
            {"source": "b", "target": "c", "bandwidth": 40, "delay": "0.007 ms"},
        ],
    }),
}  # fmt: skip


@pytest.mark.parametrize("file", SAME)
def test_link_capacities_and_latencies_are_read_and_capacities_are_scaled(
    read: Any, file: str
) -> None:
    """The capacities (10, 40), (2.5, 10) Gbit/s and (0.25, 1) are all scaled to (1, 4)."""
    lines: list[str] = []
    made = read(SAME[file], file, reporter=ProgressLines(lines.append))
    assert values(made)[:2] == ([1, 4], [5, 7])
    unit = {"x.csv": "2.5e+09 bit/s", "x.dot": "0.25 as given"}.get(file, "10 as given")
    assert lines[0] == f"a capacity of 1 in {made.spec} is {unit}"
    assert describe_links(made) == {
        "capacities": [1, 4],
        "latencies": [5, 7],
        "capacity_unit": made.capacity_unit,
    }
    unused = [f"{made.spec} does not use all data of x.csv: km"] if file == "x.csv" else []
    assert lines[1:] == unused


GRAPH = nx.Graph()
GRAPH.add_edge("a", "b", weight=2, capacity=3)
GRAPH.add_edge("b", "c", weight=6, capacity=6)
#: Files that contain a path of two links with the weights 2 and 6.
WEIGHTS = {
    "x.txt": "a b 2\nb c 6\n",
    "y.txt": "a b {'weight': 2}\nb c {'weight': 6}\n",
    "x.csv": "a,b,2\nb,c,6\n",
    "y.csv": "u,v,weight\na,b,2\nb,c,6\n",
    "x.metis": "3 2 1\n2 2\n1 2 3 6\n2 6\n",
    "x.net": "*Vertices 3\n*Edges\n1 2 2\n2 3 6\n",
    "x.mtx": "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 2.0\n3 2 6.0\n",
}


@pytest.mark.parametrize("file", WEIGHTS)
def test_link_weights_are_used_as_capacities_or_latencies_only_on_request(
    read: Any, file: str
) -> None:
    assert values(read(WEIGHTS[file], file, weights="capacity")) == ([1, 3], [], 2)
    assert values(read(WEIGHTS[file], file, weights="latency")) == ([], [2, 6], 1)
    if file in ("x.txt", "x.csv"):
        with refused("line 1 has 3 values"):
            read(WEIGHTS[file], file)
    else:
        assert values(read(WEIGHTS[file], file)) == ([], [], 1)


def test_a_strict_dot_graph_has_one_link_per_pair_of_nodes(read: Any) -> None:
    content = "graph { a -- b [capacity=2]; b -- a [capacity=3]; b -- c [capacity=1] }"
    assert values(read(f"strict {content}", "x.dot"))[0] == [3, 1]
    assert values(read(content, "x.dot"))[0] == [5, 1]
    arcs = "strict digraph { a -> b; a -> b; b -> a; b -> c; c -> b; edge [capacity=2] }"
    assert values(read(arcs, "x.dot"))[0] == []


def test_default_attributes_in_a_dot_file_apply_to_the_graph_and_to_later_nodes_and_links(
    read: Any,
) -> None:
    made = read(
        """graph {
        a; node [switch=true]; a -- s [capacity=2]; t [x=1]; node [switch=false]
        graph [capacity_unit=5]; edge [capacity=4]; s -- b; b -- t; a [switch=false]
        }""",
        "x.dot",
    )
    assert made.labels().tolist() == ["a", "b", "s", "t"]
    assert made.endpoints == 2
    assert values(made) == ([2, 4, 4], [], 5)


@pytest.mark.parametrize(
    "line",
    ["a b {'capacity': 3, 'note': 'x # {y}'}", "a b {'capacity': 3} # not {'capacity': 4}"],
)
def test_attributes_in_a_comment_of_an_edge_list_are_ignored(read: Any, line: str) -> None:
    assert values(read(f"{line}\nb c {{'capacity': 1}}\n"))[0] == [3, 1]
    assert values(read("a b # was {'capacity': 3}\nb c # {old}\n"))[0] == []


@pytest.mark.parametrize("weights", ["capacity", "latency"])
def test_the_use_of_weights_is_refused_if_no_link_has_a_weight(read: Any, weights: Any) -> None:
    for text in ("a b\nb c\n", "source target cost\na b 2\nb c 3\n"):
        with refused("no link has a weight"):
            read(text, weights=weights)
    with refused("no link has a weight"):
        network(nx.path_graph(3), weights=weights)


def test_weights_used_as_capacities_replace_the_capacities_of_a_graph() -> None:
    assert values(network(GRAPH)) == ([1, 2], [], 3)
    assert values(network(GRAPH, weights="capacity")) == ([1, 3], [], 2)
    assert values(network(GRAPH, weights="latency")) == ([1, 2], [2, 6], 3)


#: Networks with capacities, latencies or switches; the first has no link of capacity 1.
UNEQUAL: dict[str, dict[str, Any]] = {
    "triple": {"capacities": [3, 6, 12, 3]},
    "mixed": {"capacities": [1, 4, 2, 1], "latencies": [0, 5, 70, 3], "switches": ["s"]},
    "late": {"latencies": [2, 1, 1, 9]},
    "switched": {"switches": ["s", "c"]},
}


@pytest.mark.parametrize("name", UNEQUAL)
@pytest.mark.parametrize("to", ["graphml", "gexf", "dot"])
def test_a_network_with_capacities_latencies_or_switches_is_exported_and_read_back(
    tmp_path: Path, to: Any, name: str
) -> None:
    """GEXF files have no graph attributes, so they do not preserve the unit of the capacities."""
    made = network(LINKS, name=name, **UNEQUAL[name])
    lines: list[str] = []
    export(made, tmp_path / name, to)
    again = network(tmp_path / name, name=name, reporter=ProgressLines(lines.append))
    if (name, to) == ("triple", "gexf"):  # GEXF has no graph attributes
        assert lines == [f"a capacity of 1 in {again.spec} is 3 as given"]
        return
    assert (again.sha256, again.capacity_unit) == (made.sha256, made.capacity_unit)
    assert lines == []


@pytest.mark.parametrize("name", UNEQUAL)
def test_networks_exported_to_graph_libraries_are_read_back_unchanged(name: str) -> None:
    made = network(LINKS, name=name, **UNEQUAL[name])
    assert network(to_networkx(made), name=name).sha256 == made.sha256
    assert network(to_igraph(made), name=name).sha256 == made.sha256


def test_the_capacity_unit_of_a_scaled_file_is_preserved_on_export(
    read: Any, tmp_path: Path
) -> None:
    made = read(LIST)
    export(made, tmp_path / "again.graphml", "graphml")
    again = network(tmp_path / "again.graphml", name="mine")
    assert (again.sha256, again.capacity_unit) == (made.sha256, 10)


def test_exported_metis_files_contain_capacities_and_anynet_files_contain_latencies(
    tmp_path: Path,
) -> None:
    made = network(LINKS, name="ring", **UNEQUAL["mixed"])
    export(made, tmp_path / "x.metis", "metis")
    assert (tmp_path / "x.metis").read_text().splitlines()[1] == "4 4 1"
    again = network(tmp_path / "x.metis", name="ring", weights="capacity")
    assert values(again)[0] == values(made)[0]
    export(made, tmp_path / "x.anynet", "anynet")
    assert (tmp_path / "x.anynet").read_text().splitlines()[-1] == "router 3 router 0 0 router 2 3"
    again = network(tmp_path / "x.anynet", name="ring")
    assert (values(again)[1], again.endpoints) == (values(made)[1], 3)


def test_a_latency_in_an_anynet_file_applies_to_one_direction_and_is_1_if_it_is_missing(
    read: Any,
) -> None:
    """These are rules of BookSim.

    Links whose two directions have different latencies are refused.
    """
    text = "router 0 node 0 router 01 7 router 2\nrouter 1 node 1%s\nrouter 2 node 2\n"
    made = read(text % " router 0 7", "x.anynet")
    assert values(made)[1] == [7, 1]
    assert made.endpoints == 3
    message = "line 1 has a link from router 0 to router 1 with the latency 7, but the link back"
    for back in ("", " router 0"):
        with refused(message):
            read(text % back, "x.anynet")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.anynet", "router 0 router 1\nrouter 1 router 0 router 2 router 2\nrouter 2\n"),
        ("x.adjlist", "a b\nb a c\nc\n"),
        ("y.adjlist", "b a\na b\nc b\n"),
    ],
)
def test_a_link_that_a_file_lists_at_both_of_its_nodes_is_read_as_one_link(
    read: Any, name: str, text: str
) -> None:
    """Other links of the same file are listed at one of their nodes."""
    lines: list[str] = []
    assert values(read(text, name, reporter=ProgressLines(lines.append)))[0] == []
    assert lines == []


DEFAULTS = {
    "x.graphml": """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="s" for="node" attr.name="switch" attr.type="boolean"><default>true</default></key>
<key id="n" for="node" attr.name="name" attr.type="string"><default/></key>
<key id="d" for="edge" attr.name="delay" attr.type="int"><default>5</default></key>
<graph edgedefault="undirected">
<node id="a"><data key="s">false</data></node><node id="b"/>
<node id="c"><data key="s">false</data></node>
<edge source="a" target="b"/><edge source="b" target="c"><data key="d">4</data></edge>
</graph></graphml>""",
    "x.gexf": """<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2"><graph>
<attributes class="node"><attribute id="s" title="switch" type="boolean"><default>true</default>
</attribute></attributes>
<attributes class="edge"><attribute id="d" title="delay" type="integer"><default>5</default>
</attribute></attributes>
<nodes><node id="a"><attvalues><attvalue for="s" value="false"/></attvalues></node><node id="b"/>
<node id="c"><attvalues><attvalue for="s" value="false"/></attvalues></node></nodes>
<edges><edge id="1" source="a" target="b"/><edge id="2" source="b" target="c">
<attvalues><attvalue for="d" value="4"/></attvalues></edge></edges></graph></gexf>""",
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_default_values_of_attributes_apply_to_nodes_and_links_that_have_no_value(
    read: Any, name: str
) -> None:
    made = read(DEFAULTS[name], name)
    assert (made.labels().tolist(), made.endpoints) == (["a", "c", "b"], 2)
    assert values(made)[1] == [5, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b 0\nb c 1\n", "line 2: the link from 'a' to 'b' has the capacity 0"),
        ("a b 2\nb c -1\n", "line 3: the link from 'b' to 'c' has the capacity -1"),
        ("a b 2\nb c\n", "line 3: the link from 'b' to 'c' has no capacity"),
        ("a b 2\nb c x\n", "line 3: the link from 'b' to 'c' has the capacity 'x', which is not a"),
        ("a b 2\nb c inf\n", "line 3: the link from 'b' to 'c' has the capacity 'inf'"),
        ("a b 2\nb c 1e999999999\n", "line 3: the link from 'b' to 'c' has the capacity '1e9999"),
        ("a b 2Gbps\nb c 1\n", "line 3: the link from 'b' to 'c' has a capacity without a unit"),
        ("a b 2Gbps\nb c 1us\n", "line 3: the link from 'b' to 'c' has the capacity '1us'"),
        ("a b 1\nb c 1000000007\n", "the capacities from 1 to 1,000,000,007 have no common"),
        ("a b 3\nb a 1\nb c 1\nc b 1\n", "the link from 'a' to 'b' and its reverse have"),
    ],
)
def test_invalid_link_capacities_are_refused(read: Any, text: str, message: str) -> None:
    with refused(message):
        read(f"source target capacity\n{text}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b -5\nb c 1\n", "line 2: the link from 'a' to 'b' has the latency -5"),
        ("a b 0.5\nb c 1\n", "the latency 0.5 is not an integer"),
        ("a b 1\nb c 2000000000\n", "the latency 2,000,000,000 is not in the range 0"),
        ("a b 1\nb a 2\nb c 1\nc b 1\n", "is listed with different latencies"),
    ],
)
def test_invalid_link_latencies_are_refused(read: Any, text: str, message: str) -> None:
    with refused(message):
        read(f"source target latency\n{text}")


@pytest.mark.parametrize(
    "value", [10**400, 10**40, str(10**40), "1e40", True, [1], {}, None, "", float("nan")]
)
def test_link_attributes_named_capacity_that_are_not_positive_numbers_are_refused(
    value: Any,
) -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", capacity=value)
    graph.add_edge("b", "c", capacity=value)
    with refused("the link from 'a' to 'b' has "):
        network(graph)


def test_a_capacity_unit_that_is_not_a_positive_number_is_refused() -> None:
    graph = GRAPH.copy()
    for unit in ("x", 0, -1, "1e999"):
        graph.graph["capacity_unit"] = unit
        with refused(f"the capacity_unit '{unit}' is not a positive number"):
            network(graph)


def test_latencies_with_fractions_of_microseconds_are_stored_in_nanoseconds(read: Any) -> None:
    lines: list[str] = []
    text = "source target delay\na b 0.0005ms\nb c 2us\n"
    made = read(text, reporter=ProgressLines(lines.append))
    assert values(made)[1] == [500, 2000]
    assert lines == [
        f"the latencies of {made.spec} are in nanoseconds: use nanoseconds for T_s and T_c too"
    ]


def test_capacities_and_latencies_are_read_with_and_without_units() -> None:
    assert read_quantity("100Gbps", "capacity") == (Fraction(10**11), True)
    assert read_quantity("2 MB/s", "capacity") == (Fraction(16 * 10**6), True)
    assert read_quantity("400 ns", "latency")[0] * 1000 == 400
    assert read_quantity(" 1e3 ", "latency") == (Fraction(1000), False)
    for text in ("", ".", "1e", "1e100", "0x10", "1_0", "Gbps", "1 Gbps s", "nan"):
        with pytest.raises(ValueError):  # noqa: PT011 - the text has no message of its own
            read_quantity(text, "capacity")
