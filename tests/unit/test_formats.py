"""File formats of other tools: exported files are read by libraries or strict parsers."""

import json
import re
import warnings
import xml.etree.ElementTree as ET
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, get_args

import networkx as nx
import newick
import numpy as np
import polars as pl
import pydot
import pytest

import starcast
from oracles import atlahs
from oracles import msccl as oracle
from starcast import Forest, Schedule, export, forest, schedule, simulate, timing, topology
from starcast.collectives.columns import schedule_from_csv
from starcast.collectives.model import COLUMNS
from starcast.costs import Machine, price_simulation
from starcast.formats import msccl, render, schedule_from_goal
from starcast.formats.graphs import to_networkx
from starcast.formats.writing import FORMATS, kind_of
from starcast.support.errors import LimitError, RejectedError
from starcast.support.vocabulary import ForestFormat, ScheduleFormat, TopologyFormat
from starcast.topologies import memory
from support.meeting import refused

CASES: list[tuple[str, Any, str, Any, dict[str, Any]]] = [
    ("S4", "broadcast", "multiple", "all", {"segments": 3}),
    ("S4", "broadcast", "greedy", "one", {"segments": 2, "root": "4321"}),
    ("S4,2", "allgather", "nk-greedy", "all", {}),
    ("Q3", "broadcast", "binomial", "all", {}),
    ("S4", "scatter", "balanced", "all", {"messages": 2, "root": 5}),
    ("S4", "gather", "one-port", "one", {}),
    ("S3", "allgather", "necklace", "all", {"messages": 2}),
    ("S4", "allgather", "dimension-change", "all", {}),
    ("S4", "alltoall", "exact", "all", {}),
    ("S4", "scatter", "edge-disjoint", "all", {"messages": 1, "copies": 2}),
    ("Mesh3x4", "broadcast", "forest", "all", {"base": "breadth-first"}),
]
REDUCTIONS: list[tuple[str, Any, str, Any, dict[str, Any]]] = [
    ("S3", "reduce", "multiple", "all", {"root": 4}),
    ("Q3", "reduce", "binomial", "all", {}),
    ("S3", "reduce-scatter", "dimension-change", "all", {}),
    ("Q3", "reduce-scatter", "ring", "all", {}),
    ("S3", "allreduce", "multiple", "all", {"root": 1}),
    ("Q3", "allreduce", "binomial", "all", {}),
]
each_topology = pytest.mark.parametrize(
    "spec", ["S2", "S4", "S5", "S4,2", "S5,3", "Q1", "Q4", "Mesh3x4"]
)


@pytest.fixture(params=CASES, ids=lambda case: "-".join(map(str, case[:4])))
def built(request: pytest.FixtureRequest) -> Schedule:
    """Return the schedule of a case; a test with this fixture runs once for each case."""
    *names, arguments = request.param
    return schedule(*names, **arguments)


def written(artifact: Any, to: str, **options: Any) -> str:
    """Return the text of an exported file."""
    return b"".join(render(artifact, to, **options)).decode()


def links(spec: str) -> set[tuple[int, int]]:
    """Return the links of a topology as pairs of ranks."""
    return {(min(ends), max(ends)) for ends in to_networkx(topology(spec)).edges}


def edges(graph: nx.Graph) -> set[tuple[int, int]]:
    """Return the edges of a graph as pairs of ranks."""
    return {(min(ends), max(ends)) for ends in (tuple(map(int, pair)) for pair in graph.edges())}


def read_dot(text: str) -> Any:
    """Return the graph that pydot reads from a DOT file."""
    with warnings.catch_warnings():
        # pydot 4 uses deprecated names of pyparsing.
        warnings.simplefilter("ignore", DeprecationWarning)
        graphs = pydot.graph_from_dot_data(text)
    assert graphs is not None
    return graphs[0]


@each_topology
@pytest.mark.parametrize("to", ["graphml", "gexf"])
def test_networkx_reads_exported_graphml_and_gexf_files_with_labels_and_ports(
    tmp_path: Path, spec: str, to: str
) -> None:
    file = tmp_path / f"graph.{to}"
    export(topology(spec), file, to)  # type: ignore[arg-type]
    read = (nx.read_graphml if to == "graphml" else nx.read_gexf)(file, node_type=int)
    expected = to_networkx(topology(spec))
    assert dict(read.nodes(data="label")) == dict(expected.nodes(data="label"))
    assert edges(read) == links(spec)
    assert all(expected.edges[ends]["port"] == read.edges[ends]["port"] for ends in expected.edges)


@each_topology
def test_pydot_reads_the_links_and_labels_of_an_exported_topology(spec: str) -> None:
    graph = read_dot(written(topology(spec), "dot"))
    read = nx.Graph((edge.get_source(), edge.get_destination()) for edge in graph.get_edges())
    assert edges(read) == links(spec)
    labels = {int(node.get_name()): node.get_label().strip('"') for node in graph.get_nodes()}
    assert [labels[rank] for rank in range(len(labels))] == topology(spec).labels().tolist()


@each_topology
def test_graph6_output_equals_that_of_networkx(spec: str) -> None:
    """The node count has a short form for up to 62 nodes, and a long form for S5 with 120 nodes."""
    data = written(topology(spec), "graph6").encode()
    graph = nx.Graph()
    graph.add_nodes_from(range(topology(spec).nodes))
    graph.add_edges_from(links(spec))
    assert data == nx.to_graph6_bytes(graph, header=False)
    assert edges(nx.from_graph6_bytes(data.strip())) == links(spec)


@each_topology
def test_exported_metis_files_list_the_neighbours_of_each_node(spec: str) -> None:
    """As the METIS manual requires, counts come first, and nodes are numbered from 1."""
    lines = [line for line in written(topology(spec), "metis").splitlines() if line[0] != "%"]
    nodes, count = map(int, lines[0].split())
    rows = [[int(word) - 1 for word in line.split()] for line in lines[1:]]
    assert (nodes, count) == (len(rows), sum(map(len, rows)) // 2)
    assert all(node in rows[other] for node, row in enumerate(rows) for other in row)
    assert {(u, v) for u, row in enumerate(rows) for v in row if u < v} == links(spec)


@each_topology
def test_exported_anynet_files_connect_each_router_with_its_node_and_its_neighbours(
    spec: str,
) -> None:
    """BookSim splits lines at single spaces into pairs of a type and a number."""
    read = set()
    for rank, line in enumerate(written(topology(spec), "anynet").splitlines()):
        words = line.split(" ")
        pairs = list(zip(words[::2], map(int, words[1::2]), strict=True))
        assert pairs[:2] == [("router", rank), ("node", rank)]
        assert {kind for kind, _ in pairs[2:]} == {"router"}
        read |= {(min(rank, other), max(rank, other)) for _, other in pairs[2:]}
    assert read == links(spec)


FORESTS = [
    ("S4", "multiple"),
    ("S4", "perfectly-balanced"),
    ("S4,2", "nk-greedy"),
    ("S3", "greedy"),
]
each_forest = pytest.mark.parametrize(("spec", "construction"), FORESTS)


def tree_edges(trees: Any, tree: int) -> set[tuple[str, str]]:
    """Return the edges of a tree as pairs of labels, the parent first."""
    graph = to_networkx(trees, tree)
    label = graph.nodes(data="label")
    return {(label[parent], label[child]) for parent, child in graph.edges}


@each_forest
def test_pydot_reads_every_tree_edge_of_an_exported_forest(spec: str, construction: str) -> None:
    trees = forest(spec, construction, root=1)
    graph = read_dot(written(trees, "dot"))
    read = sorted(
        (int(edge.get_source()), int(edge.get_destination()), int(edge.get("tree")),
         int(edge.get("level")), int(edge.get("port")))
        for edge in graph.get_edges()
    )  # fmt: skip
    expected = to_networkx(trees).edges(data=True)
    assert read == sorted((*ends, d["tree"], d["level"], d["port"]) for *ends, d in expected)


def test_newick_and_networkx_read_every_tree_of_an_exported_forest() -> None:
    for spec, construction in FORESTS:
        trees = forest(spec, construction, root=1)
        lines = written(trees, "newick").splitlines()
        read = json.loads(written(trees, "json"))
        assert (read["forest"], read["root"]) == (trees.id, 1)
        assert len(read["trees"]) == len(lines) == trees.trees
        for tree, (line, nested) in enumerate(zip(lines, read["trees"], strict=True)):
            (root,) = newick.loads(line)
            named = {(node.ancestor.name, node.name) for node in root.walk() if node.ancestor}
            assert root.name == trees.topology.label(1)
            assert written(trees, "newick", tree=tree).splitlines() == [line]
            graph = nx.tree_graph(nested)
            label = graph.nodes(data="label")
            numbered = {(label[u], label[v]) for u, v in graph.edges}
            assert named == numbered == tree_edges(trees, tree)


def test_a_tree_of_height_719_is_written_as_newick_and_json() -> None:
    path = forest("S6", "hamiltonian-cycle")
    assert written(path, "newick").count("(") == path.height == 719
    assert written(path, "json").count("children") == 719


def test_csv_and_parquet_files_contain_the_rows_of_the_schedule(
    tmp_path: Path, built: Schedule
) -> None:
    export(built, tmp_path / "rows.csv", "csv")
    export(built, tmp_path / "rows.parquet", "parquet")
    read = pl.read_parquet(tmp_path / "rows.parquet")
    assert read.columns == list(COLUMNS)
    assert read.equals(pl.read_csv(tmp_path / "rows.csv", schema=read.schema))
    names = built.topology.labels()
    for name in COLUMNS:
        column = getattr(built, name)
        expected = names[column] if name in ("sender", "receiver") else column
        assert read[name].to_list() == expected.tolist()


def test_an_exported_goal_file_is_read_back_unchanged(tmp_path: Path, built: Schedule) -> None:
    """The exported file has comments with the units, trees and steps."""
    expanded = built.expand()
    file = tmp_path / "mine.goal"
    export(built, file, "goal")
    names = built.topology, built.collective, built.ports, built.root
    read = schedule_from_goal(file, *names)
    for name in COLUMNS:
        assert np.array_equal(getattr(read, name), getattr(expanded, name)), name
    assert simulate(read).complete
    sizes = [int(size) for size in re.findall(r"send (\d+)b", file.read_text())]
    assert sum(sizes) == 64 * len(expanded)


@pytest.mark.parametrize(
    ("spec", "collective", "algorithm", "ports", "arguments", "time"),
    [
        ("S4", "broadcast", "multiple", "all", {"segments": 4}, 2124),
        ("S5", "broadcast", "multiple", "all", {"segments": 16}, 5344),
        ("S4", "broadcast", "greedy", "one", {}, 1148),
        ("S4", "alltoall", "exact", "all", {}, 3444),
        ("S4", "alltoall", "one-port", "one", {}, 10168),
        pytest.param("S5", "alltoall", "exact", "all", {}, 18204, marks=pytest.mark.slow),
    ],
)
@pytest.mark.whole
def test_goal_files_replayed_by_the_rules_of_atlahs_take_the_asynchronous_time(
    spec: str, collective: Any, algorithm: str, ports: Any, arguments: Any, time: int
) -> None:
    """The oracle replays GOAL files by the rules of LogGOPSim, the simulator in ATLAHS.

    The replay corresponds to the options -L 0 -o 0 -g T_s+T_c -G T_c of LogGOPSim. It takes the
    times of the asynchronous model for all-port schedules, and for one-port schedules that send
    single units.
    """
    built = schedule(spec, collective, algorithm, ports, **arguments).expand()
    assert timing(built, execution="asynchronous").time == time
    text = written(built, "goal", dialect="atlahs")
    assert {atlahs.finishing_time(text, 101, 1, seed) for seed in range(2)} == {time}


def test_in_a_goal_file_a_source_never_waits_for_its_own_unit(tmp_path: Path) -> None:
    """In this broadcast, the unit returns to the root, which then sends it to another node."""
    file = tmp_path / "returns.csv"
    file.write_text(
        "step,sender,port,receiver,tree,unit\n1,123,2,213,0,0\n2,213,2,123,0,0\n3,123,3,321,0,0\n"
        "4,321,2,231,0,0\n4,213,3,312,0,0\n5,312,2,132,0,0\n"
    )
    returning = schedule_from_csv(file, "S3", "broadcast")
    assert simulate(returning).complete
    root = written(returning, "goal").partition("rank 0 {")[2].partition("}")[0]
    assert root.count("send") == 2
    assert "requires" not in root


def test_goal_files_replayed_by_the_rules_of_atlahs_take_longer_on_one_shared_cpu() -> None:
    """On a shared CPU, packets wait for unrelated packets, which the dialect for ATLAHS avoids."""
    built = schedule("S4", "alltoall", "exact")
    assert atlahs.finishing_time(written(built, "goal", unit_bytes=1), 164, 0) > 10_000


def test_the_atlahs_dialect_of_goal_differs_only_in_cpus_and_interfaces(
    built: Schedule,
) -> None:
    numbers = r" (cpu|nic) \d+"
    plain, text = written(built, "goal"), written(built, "goal", dialect="atlahs")
    assert re.sub(numbers, "", plain) == re.sub(numbers, "", text)
    used = {(kind, int(cpu)) for kind, cpu in re.findall(r"(send|recv) .* cpu (\d+)", text)}
    each = built.topology.degree if built.ports == "all" else 1
    assert used <= {(kind, 2 * port + (kind == "recv")) for kind in ("send", "recv")
                    for port in range(each)}  # fmt: skip


def test_goal_files_for_atlahs_are_limited_by_the_number_of_ports_not_by_the_degree(
    tmp_path: Path,
) -> None:
    """A complete network of 129 nodes has degree 128, but 129 ports."""
    complete = starcast.network(list(combinations(range(129), 2)))
    built = schedule(complete, "broadcast", "forest(base=breadth-first)")
    with pytest.raises(LimitError, match="has 129 ports; a GOAL file for atlahs supports at most"):
        export(built, tmp_path / "x.goal", "goal", dialect="atlahs")
    export(built, tmp_path / "x.goal", "goal")


BINOMIAL = """
num_ranks 4
rank 0 {
a: send 1b to 1 tag 0 cpu 0
b: send 1b to 2
}
/* a comment
over lines */
rank 1 {
l1: recv 1b from 0 tag 0
c: calc 5
c requires l1
l2: send 1b to 3 tag 0 nic 1
l2 requires c
}
rank 2 {
recv 1b from 0 tag 0
}
rank 3 {
recv 1b from 1 tag 0
}
"""


def test_a_goal_file_of_another_program_is_read_and_its_links_and_ports_are_checked(
    tmp_path: Path,
) -> None:
    file = tmp_path / "tree.goal"
    file.write_text(BINOMIAL)
    read = schedule_from_goal(file, "Q2", "broadcast")
    assert simulate(read).complete
    assert read.step.tolist() == [1, 1, 2]
    one = schedule_from_goal(file, "Q2", "broadcast", "one")
    assert simulate(one).complete
    assert one.step.tolist() == [1, 2, 2]
    pair = "rank 0 {\nsend 1b to 3\n}\nrank 1 {\n}\nrank 2 {\n}\nrank 3 {\nrecv 1b from 0\n}\n"
    file.write_text(f"num_ranks 4\n{pair}")
    with refused("line 3 sends from rank 0 to rank 3, which are not linked"):
        schedule_from_goal(file, "Q2", "broadcast")


@pytest.mark.whole
@pytest.mark.parametrize(
    "comment",
    ["/* http://example.org */", "/*\n// a */ /* b\n*/ // c", "/*/ a */", "/* a */ // /* b"],
)
def test_slashes_in_block_comments_of_a_goal_file_are_ignored(tmp_path: Path, comment: str) -> None:
    file = tmp_path / "tree.goal"
    file.write_text(BINOMIAL.replace("/* a comment\nover lines */", comment))
    assert simulate(schedule_from_goal(file, "Q2", "broadcast")).complete


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("num_ranks 4", "num_ranks 5", "line 2 declares 5 ranks, but the topology has 4 nodes"),
        ("num_ranks 4\n", "", "line 2 precedes 'num_ranks'"),
        ("rank 3", "rank 2", "line 19 is damaged"),
        ("rank 3", "rank 9", "line 19 is damaged"),
        ("rank 3 {\nrecv 1b from 1 tag 0\n}", "", "line 19 is the end of the file, but rank 3"),
        ("from 1 tag 0\n}", "from 1 tag 0\n", "line 21 is the end of the file, but rank 3 is not"),
        ("from 1 tag 0\n}", "from 1 tag 0\nrank 4 {", "line 21 is damaged"),
        ("recv 1b from 1 tag 0", "", "line 13 sends a packet to rank 3, which"),
        ("recv 1b from 1", "recv 2b from 1", "receives 2 bytes with the tag 0, which rank 1"),
        ("from 1 tag 0\n}", "from 1 tag 7\n}", "line 20 receives 1 bytes with the tag 7,"),
        ("recv 1b from 1", "recv 1b from -1", "line 20 is damaged"),
        ("b: send 1b to 2", "b: send 1b to 7", "line 5 is damaged"),
        ("b: send 1b to 2", "b: send 1b from 2", "line 5 is damaged"),
        ("recv 1b from 1", "recv 1b to 1", "line 20 is damaged"),
        ("b: send", "b: sned", "line 5 is damaged, misplaced or not supported: 'b: sned 1b to 2'"),
        ("b: send", "a: send", "line 5 is damaged"),
        ("c requires l1", "c requires l9", "line 12 is damaged"),
        ("c requires l1", "l9 requires c", "line 12 is damaged"),
        ("c requires l1", "c requires a", "line 12 is damaged"),
        ("c requires l1", "c requires c", "line 11 waits forever, because requirements form a"),
        ("rank 1 {", "rank 1 {\n// unit 0 tree 0 step 1", "line 11 is damaged"),
        ("1 tag 0\n}", "1 tag 0\n// unit 0 tree 0 step 1\n}", "line 22 is damaged"),
        ("a: send", "// unit 0 tree 0 step 1\na: send", "line 6 has a send without comments"),
        ("l1: recv", "x" * 5000, "line 10 is not text, or has more than 4096 bytes"),
        ("l1: recv", "// \N{LATIN SMALL LETTER E WITH ACUTE}", "line 10 is not text"),
        ("rank 2 {\n", "send 1b to 1\nrank 2 {\n", "line 16 is damaged"),
    ],
)
def test_the_error_for_a_damaged_goal_file_names_the_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in BINOMIAL
    file = tmp_path / "tree.goal"
    file.write_text(BINOMIAL.replace(old, new, 1))
    with refused(message, str(file)):
        schedule_from_goal(file, "Q2", "broadcast")


def execute_msccl(text: str, built: Schedule) -> None:
    """Execute an MSCCL XML file, and check that all outputs are those of the collective."""
    memory = oracle.execute(text, Random(1))  # noqa: S311 - repeatable
    outputs = {place: value for place, value in memory.items() if place[1] == "o"}
    assert outputs == {
        (rank, "o", place): sum(oracle.contribution(source, index) for source in sources)
        for rank in range(built.topology.nodes)
        for place, (sources, index) in enumerate(expected_chunks(built, rank))
    }


def expected_chunks(built: Schedule, rank: int) -> list[tuple[list[int], int]]:
    """For each output chunk of a rank, return the input chunks of which it is the sum.

    The input chunks are given by their ranks and their common index.
    """
    units = built.message_units
    everyone = list(range(built.topology.nodes))
    first = rank * units if built.collective in ("scatter", "alltoall", "reduce-scatter") else 0
    indices = range(first, first + units)
    match built.collective:
        case "broadcast" | "scatter":
            return [([built.root], index) for index in indices]
        case "allgather" | "gather" | "alltoall":
            chunks = [([source], index) for source in everyone for index in indices]
        case _:
            chunks = [(everyone, index) for index in indices]
    return chunks if rank == built.root or built.collective not in ("gather", "reduce") else []


@pytest.mark.whole
@pytest.mark.parametrize("case", [*CASES, *REDUCTIONS])
def test_an_executed_msccl_file_delivers_and_adds_every_chunk(case: Any) -> None:
    """The oracle executes the file without starcast's reader."""
    *names, arguments = case
    built = schedule(*names, **arguments)
    execute_msccl(written(built, "msccl-xml"), built)


def test_msccl_links_with_more_units_than_a_thread_block_has_steps_use_several_channels() -> None:
    built = schedule("S3", "broadcast", "multiple", segments=300)
    text = written(built, "msccl-xml")
    assert 'nchannels="3"' in text
    assert 'type="nop"' in text
    execute_msccl(text, built)


def test_the_msccl_oracle_detects_a_corrupted_file() -> None:
    """The test shows that `execute_msccl` does not accept every file."""
    built = schedule("S4", "alltoall", "exact")
    text = written(built, "msccl-xml")
    for old, new in ((r'dstoff="3"', 'dstoff="2"'), (r'depid="\d+"', 'depid="-1"')):
        with pytest.raises((AssertionError, KeyError)):
            execute_msccl(re.sub(old, new, text), built)


@pytest.mark.parametrize(
    ("spec", "algorithm", "segments", "message"),
    [
        ("S4", "multiple", 2000, "XML elements; MSCCL XML supports fewer than 4,096 per rank"),
        ("S3", "greedy", 9000, "36 channels of 255 sends; MSCCL XML supports at most 32 channels"),
        ("S7", "greedy", 1, "5,040 nodes; MSCCL XML supports at most 1,024 GPUs"),
    ],
)
def test_the_error_for_a_schedule_that_exceeds_a_limit_of_msccl_names_the_limit(
    tmp_path: Path, spec: str, algorithm: str, segments: int, message: str
) -> None:
    built = schedule(spec, "broadcast", algorithm, segments=segments)
    with refused(message, exit_code=7):
        export(built, tmp_path / "out.xml", "msccl-xml")
    assert not list(tmp_path.iterdir())


def test_an_msccl_file_has_a_short_name_and_no_xml_declaration_tabs_or_apostrophes() -> None:
    text = written(schedule("S4", "scatter", "edge-disjoint", copies=2), "msccl-xml")
    assert text.startswith("<algo name=")
    assert "\t" not in text
    assert "'" not in text
    assert len(ET.fromstring(text).attrib["name"]) <= 63  # noqa: S314
    assert msccl.MAX_STEPS == 256


def test_a_chrome_trace_has_every_packet_in_its_step(built: Schedule) -> None:
    trace = json.loads(written(built, "chrome-trace", unit_bytes=10, t_s="5/2", t_c=2))
    packets = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    result = simulate(built)
    assert len(packets) == int(result.links_used.sum())
    assert sum(len(packet["args"]["units"]) for packet in packets) == result.transmissions
    machine = Machine(Fraction("5/2"), Fraction("2"))
    cost = price_simulation(result, Fraction("10"), machine)
    assert max(packet["ts"] + packet["dur"] for packet in packets) == pytest.approx(cost.time)
    for packet in packets:
        assert packet["dur"] == 2.5 + 20 * len(packet["args"]["units"])
    by_step: dict[int, set[float]] = {}
    for packet in packets:
        by_step.setdefault(packet["args"]["step"], set()).add(packet["ts"])
    assert all(len(starts) == 1 for starts in by_step.values())
    assert [by_step[step] for step in sorted(by_step)] == sorted(by_step.values(), key=min)
    names = [event for event in trace["traceEvents"] if event["name"] == "process_name"]
    assert [event["args"]["name"] for event in names] == built.topology.labels().tolist()


def test_an_asynchronous_chrome_trace_has_the_times_of_the_packets(built: Schedule) -> None:
    built = built.expand()
    options = {"unit_bytes": 10, "t_s": "5/2", "t_c": 2, "execution": "asynchronous"}
    trace = json.loads(written(built, "chrome-trace", **options))
    packets = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    times = timing(built, 10, Fraction(5, 2), 2, execution="asynchronous")
    assert trace["otherData"]["execution"] == "asynchronous"
    assert max(packet["ts"] + packet["dur"] for packet in packets) == times.time
    ends = dict[tuple[int, int], float]()  # the earliest delivery of each unit at each node
    for packet in packets:
        receiver = int(built.topology.neighbours(packet["tid"], [packet["pid"]])[0])
        for unit in packet["args"]["units"]:
            end = packet["ts"] + packet["dur"]
            ends[receiver, unit] = min(end, ends.get((receiver, unit), end))
    for packet in packets:
        for unit in packet["args"]["units"]:
            assert ends.get((packet["pid"], unit), 0) <= packet["ts"]


@pytest.mark.parametrize(
    ("to", "options", "message"),
    [
        ("xml", {}, "unknown format 'xml' for a schedule"),
        ("graphml", {}, "unknown format 'graphml' for a schedule"),
        ("goal", {"unit_bytes": 0}, "unit_bytes must be a positive integer, but is 0"),
        ("goal", {"unit_bytes": 1.5}, "unit_bytes must be a positive integer, but is 1.5"),
        ("goal", {"t_s": 1}, "the format goal of a schedule has no option 't_s'"),
        ("csv", {"unit_bytes": 64}, "the format csv of a schedule has no option 'unit_bytes'"),
        ("chrome-trace", {"t_s": -1}, "t_s must not be negative, but is -1"),
        ("chrome-trace", {"t_c": "x"}, "t_c is 'x'"),
        ("chrome-trace", {"t_s": "1e400"}, "t_s is '1e400', which is not a valid number"),
        ("chrome-trace", {"unit_bytes": 10**400}, "unit_bytes is out of range"),
        ("goal", {"unit_bytes": 10**400}, "unit_bytes is out of range"),
        ("chrome-trace", {"execution": "clocked"}, "unknown execution model 'clocked'"),
        ("goal", {"execution": "synchronous"}, "has no option 'execution'"),
        ("goal", {"dialect": "simgrid"}, "unknown GOAL dialect 'simgrid'"),
        ("csv", {"dialect": "atlahs"}, "has no option 'dialect'"),
        ("csv", {"tree": 1}, "has no option 'tree'"),
    ],
)
def test_an_export_with_invalid_options_is_refused_and_writes_nothing(
    tmp_path: Path, to: Any, options: dict[str, Any], message: str
) -> None:
    with refused(message):
        export(schedule("S3", "broadcast", "greedy"), tmp_path / "out", to, **options)
    assert not list(tmp_path.iterdir())


ONE = {"step": [1], "sender": [0], "port": [2], "unit": [0]}
NONE: dict[str, list[int]] = {"step": [], "sender": [], "port": [], "unit": []}
BESIDE = {"step": [1, 1], "sender": [0, 2], "port": [2, 3], "unit": [0, 0]}


@pytest.mark.whole
@pytest.mark.parametrize("to", ["goal", "msccl-xml", "chrome-trace"])
@pytest.mark.parametrize(
    ("spec", "columns", "words"),
    [("S2", NONE, "1 unit is undelivered"), ("S3", ONE, "4 units are undelivered"),
     ("S3", BESIDE, "")],
)  # fmt: skip
def test_a_schedule_that_is_invalid_or_does_not_deliver_all_units_is_not_exported(
    tmp_path: Path, spec: str, columns: dict[str, list[int]], words: str, to: Any
) -> None:
    own = starcast.schedule_from_columns({**columns, "units": 1}, spec, "broadcast")
    with pytest.raises(RejectedError, match=f"cannot be exported in this format: {words}"):
        export(own, tmp_path / "out", to)
    assert not list(tmp_path.iterdir())


def test_a_value_of_an_unsupported_type_is_not_exported() -> None:
    with refused("type str"):
        render("S4", "dot")  # type: ignore[arg-type]


@pytest.mark.whole
@pytest.mark.parametrize("to", FORMATS[Forest])
def test_the_export_of_an_unknown_tree_is_refused_before_anything_is_written(to: str) -> None:
    with refused("has no tree 7"):
        next(render(forest("S4", "multiple"), to, tree=7))


@pytest.mark.whole
@pytest.mark.parametrize("made", [topology("S5"), forest("S4", "multiple")], ids=str)
def test_an_export_writes_nothing_if_the_memory_is_not_sufficient(
    made: Forest | starcast.Topology, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error comes before the first part of a file, not after the header."""
    refusals = 0
    for to in FORMATS[kind_of(made)]:
        for limit in (1, 150, 600, 1300):
            monkeypatch.setattr(memory, "physical", lambda limit=limit: limit)
            parts: list[bytes] = []
            try:
                parts.extend(render(made, to))
            except LimitError:
                refusals += 1
                assert parts == []
    assert refusals


def test_every_export_format_and_its_suffix_are_named_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
    names = (ScheduleFormat, TopologyFormat, ForestFormat)
    assert [tuple(formats) for formats in FORMATS.values()] == [*map(get_args, names)]
    for formats in FORMATS.values():
        for name, item in formats.items():
            assert f"`{name}`" in page
            assert f"`{item.suffixes[0]}`" in page
