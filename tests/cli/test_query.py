"""`starcast query`: packs, statements and templates; stdout, stderr and exit codes."""

import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from starcast.lab.results import hops
from starcast.queries import find, load_queries
from starcast.queries import pack as measured
from starcast.queries.execution import find_unknown_names
from starcast.queries.pack import Figures, Measurements
from starcast.queries.picture import PATH
from starcast.stores import GraphAddress
from starcast.stores.graph.connection import Graph, Notice, QueryResult
from starcast.support.settings import Settings
from support.fix_cli import Result, Starcast, refused
from support.latex_tables import read_table
from support.packs.stored_data import loaded, without_indexes

OWN = """\
// title: Nodes of a topology
// question: How many nodes of a topology are stored?
// parameters:
//   topology (topology): name of the topology
// columns:
//   nodes: how many
// revision: 1
// reference: ours

MATCH (n:Node {topology: $topology} WHERE n.rank >= 0)
RETURN count(n) AS nodes;
"""
SHORTEST_PATH = "query run paths/shortest-path topology=S4 source=1234 target=2143"


@pytest.fixture
def starcast(starcast: Starcast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Starcast:
    """Return a function that runs commands. If no home is specified, no server is running."""
    monkeypatch.chdir(tmp_path)

    def run(line: str, *words: object, home: Path = tmp_path / "empty") -> Result:
        return starcast(f"--home {home} {line}", *words)

    return run


@pytest.fixture(scope="module")
def home(stack_settings: Settings, graph_address: GraphAddress) -> Iterator[Path]:
    """Yield the home of a running stack whose graph holds S3, S4 and S5,3.

    In a graph with fewer nodes per tree, the query planner would scan all nodes instead of
    tree edges.
    """
    with Graph.open(graph_address) as graph, loaded(graph, ["S3", "S4", "S5,3"]):
        yield stack_settings.home


@pytest.fixture
def packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a new folder with one query pack, which the setting ``packs`` names."""
    folder = tmp_path / "packs"
    write(folder / "mine" / "nodes.cypher")
    monkeypatch.setenv("STARCAST_PACKS", str(folder))
    return folder


def write(path: Path, text: str = OWN) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_query_list_has_every_query_with_its_question_and_parameters(starcast: Starcast) -> None:
    result = starcast("query list -f json")
    rows = {row["query"]: row for row in result.json}
    assert set(rows) == set(load_queries())
    row = rows["overlap/shared-links"]
    assert row["parameters"] == "forest (forest); min_load (int >= 1, default 2)"
    assert row["question"] == find("shared-links").header.question
    assert result.err == ""


def test_query_list_and_query_show_print_cost_and_measured_seconds(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = find("shared-links")
    seconds = {"S6": 0.0123, "S7": 0.25, "S8": None}
    figures = Figures(revision=query.header.revision, seconds=seconds, others={"numpy": 0.005})
    monkeypatch.setattr(
        measured, "measurements", lambda: Measurements(queries={query.name: figures})
    )
    rows = {row["query"]: row for row in starcast("query list -f json").json}
    assert rows[query.name]["cost"] == query.header.cost != ""
    times = [rows[query.name][f"seconds_{spec.lower()}"] for spec in measured.SIZES]
    assert times == ["0.012", "0.25", "> 30"]
    assert rows["paths/tree-path"]["seconds_s6"] == ""
    assert "numpy 0.005 s" in starcast(f"query show {query.name}").err
    assert starcast("query show tree-path").err == ""
    listed = starcast("query list").out.splitlines()
    shown = ["query", "question", "parameters", "seconds_s6", "seconds_s7", "seconds_s8"]
    assert listed[1].split() == shown
    assert listed[-1] == "not shown: cost; --all shows all columns"
    everything = starcast("query list --all").out
    assert "cost" in everything.splitlines()[1]
    assert "not shown" not in everything


def test_query_check_without_a_server_checks_only_the_files(starcast: Starcast) -> None:
    result = starcast("query check -f json")
    assert result.code == 0
    assert [row["query"] for row in result.json] == list(load_queries())
    assert f"{len(load_queries())} files are valid; plans were not checked" in result.err


def test_query_check_accepts_a_query_or_a_pack_or_a_file_or_a_folder_of_packs(
    starcast: Starcast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "folder" / "other" / "nodes.cypher")
    monkeypatch.setenv("STARCAST_PACKS", str(path.parents[1]))
    for target, names in {
        "other": {"other/nodes"},
        "overlap/shared-links": {"overlap/shared-links"},
        "shared-links": {"overlap/shared-links"},
        "topology": {q for q in load_queries() if q.startswith("topology/")},
        path: {"other/nodes"},
    }.items():
        rows = starcast(f"query check {target} -f json").json
        assert {row["query"] for row in rows} == names
    assert "other/nodes" in starcast(f"query check {path.parents[1]}").out


@pytest.mark.parametrize(
    ("returned", "problem", "code"),
    [
        ("DETACH DELETE n RETURN", ":11: queries must be read-only: DETACH writes", 2),
        (f"WITH n, {'[' * 101}{']' * 101} AS list RETURN", ": the statement has more than 100", 7),
    ],
)
def test_an_invalid_query_does_not_affect_other_queries(
    starcast: Starcast, packs: Path, returned: str, problem: str, code: int
) -> None:
    """Listings report the invalid query. Only commands that use it or check its pack fail."""
    path = write(packs / "mine" / "evil.cypher", OWN.replace("RETURN", returned))
    words = f"{path}{problem}"
    listed = starcast("query list -f json")
    assert {row["query"] for row in listed.json} == {*load_queries(), "mine/nodes"}
    assert listed.err.startswith(f"skipped: {words}")
    for name, text in (("shared-links", find("shared-links").text), ("mine/nodes", OWN)):
        shown = starcast(f"query show {name}")
        assert (shown.code, shown.out) == (0, text)
    assert starcast("query check overlap").code == 0
    asked_by_path = (f"run {path} topology=S4", f"check {path}", f"show {path}")
    asked_by_name = ("check mine", "check evil", "show mine/evil", "run evil topology=S4")
    for asked in ("check", *asked_by_name, *asked_by_path):
        refused = starcast(f"query {asked}")
        assert (refused.code, refused.out) == (code, "")
        assert refused.err.startswith(f"error: {words}")


def test_the_error_for_two_packs_with_the_same_name_names_both_folders(
    starcast: Starcast, packs: Path
) -> None:
    """The queries of both packs are refused; queries of other packs are still listed."""
    own = write(packs / "paths" / "shortest-path.cypher")
    for asked in ("show paths/shortest-path", "show tree-path", "check paths", "check"):
        result = starcast(f"query {asked}")
        assert result.code == 2
        assert str(own.parent) in result.err
        assert "rename the folder" in result.err
    shipped = find("paths/shortest-path").path.parent
    assert str(shipped) in starcast("query show shortest-path").err
    listed = starcast("query list -f json")
    rest = {name for name in load_queries() if not name.startswith("paths/")}
    assert (listed.code, {row["query"] for row in listed.json}) == (0, {*rest, "mine/nodes"})
    assert "two packs are named 'paths'" in listed.err


def test_listings_report_a_missing_pack_folder_and_query_check_fails(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STARCAST_PACKS", str(tmp_path / "nowhere"))
    words = f"{tmp_path / 'nowhere'} cannot be read: No such file or directory"
    listed = starcast("query list -f json")
    assert (listed.code, {row["query"] for row in listed.json}) == (0, set(load_queries()))
    assert words in listed.err
    checked = starcast("query check")
    assert checked.code == 2
    assert words in checked.err


def test_the_hops_of_a_path_are_formatted_with_their_ports() -> None:
    nodes = ["123", "213", "312"]
    assert hops([], []) == ""
    assert hops(nodes[:1], []) == "123"
    assert hops(nodes[:2], [2]) == "123 -2-> 213"
    assert hops(nodes, [2, 3]) == "123 -2-> 213 -3-> 312"


@pytest.mark.slow
def test_query_check_before_the_first_ingest_reports_missing_indexes(
    starcast: Starcast, stack_settings: Settings, graph_address: GraphAddress, tmp_path: Path
) -> None:
    """Missing indexes only cause a warning; a query that Neo4j refuses still fails."""
    path = write(tmp_path / "bad" / "unknown.cypher", OWN.replace("count(n)", "count(m)"))
    with Graph.open(graph_address) as graph, without_indexes(graph):
        shipped = starcast("query check -f json", home=stack_settings.home)
        bad = starcast(f"query check {path}", home=stack_settings.home)
    assert shipped.code == 0
    assert {row["problem"] for row in shipped.json} == {""}
    assert "the schema's indexes are missing" in shipped.err
    assert "starcast ingest" in shipped.err
    assert bad.code == 6


def test_user_queries_can_be_run_by_path_or_name_although_another_query_is_invalid(
    starcast: Starcast, packs: Path, home: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "Some Folder" / "My question.cypher")
    write(packs / "mine" / "evil.cypher", "no query")
    for query in (path, "nodes"):
        for value, nodes in (("topology=S4", 24), ('topology:="S3"', 6)):
            result = starcast("query run", query, value, "-f", "json", home=home)
            assert (result.code, result.json, result.err) == (0, [{"nodes": nodes}], "")


def test_json_and_csv_output_has_the_nodes_and_the_ports_of_a_path(
    starcast: Starcast, home: Path
) -> None:
    (row,) = starcast(f"{SHORTEST_PATH} --format json", home=home).json
    assert len(row[PATH]) == len(row["ports"]) + 1 == row["length"] + 1
    (line,) = starcast(f"{SHORTEST_PATH} --format csv", home=home).rows
    assert line[PATH].split() == row[PATH]
    assert line["ports"] == " ".join(map(str, row["ports"]))


def test_the_option_show_cypher_prints_parameters_and_statement_to_stderr(
    starcast: Starcast, home: Path
) -> None:
    result = starcast(f"{SHORTEST_PATH} -f json --show-cypher", home=home)
    assert result.json
    lines = result.err.splitlines()
    assert lines[:3] == [
        ':param topology => "S4"',
        ':param source => "1234"',
        ':param target => "2143"',
    ]
    assert "\n".join(lines[3:]) == find("paths/shortest-path").text.rstrip()


def test_parameters_printed_by_show_cypher_are_valid_cypher(
    starcast: Starcast, home: Path, graph_address: GraphAddress
) -> None:
    words = "query run shared-links forest=S4:multiple:1234 --show-cypher"
    result = starcast(f"{words} -f json", home=home)
    given = dict(re.findall(r"^:param (\w+) => (.*)$", result.err, re.MULTILINE))
    assert given == {"forest": '"S4:multiple:1234"', "min_load": "2"}
    with Graph.open(graph_address) as graph:
        literals = ", ".join(f"{literal} AS {name}" for name, literal in given.items())
        (values,) = graph.read(f"RETURN {literals}")
        assert graph.read(find("shared-links").cypher, values) == result.json


def test_rows_beyond_the_limit_are_reported_on_stderr(
    starcast: Starcast, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the command line sets the limit, the advice to raise the limit is not printed."""
    words = "query run substar topology=S4 'pattern=****' -f csv"
    chosen = starcast(f"{words} --limit 5", home=home)
    monkeypatch.setenv("STARCAST_ROW_LIMIT", "5")
    limited = starcast(words, home=home)
    assert limited.code == 0
    assert len(limited.out.splitlines()) == 6
    assert limited.err.startswith("only the first 5 rows are shown: choose a smaller topology")
    assert limited.err.endswith("or raise the row limit\n")
    assert (chosen.out, chosen.err) == (limited.out, "only the first 5 rows are shown\n")


def test_several_paths_are_printed_hop_by_hop(starcast: Starcast, home: Path) -> None:
    words = "query run shortest-paths topology=S4 source=1234 target=2143"
    rows = starcast(f"{words} -f json", home=home).json
    assert len(rows) == 4
    for output in ("table", "markdown"):
        printed = starcast(f"{words} -f {output}", home=home).out
        for row in rows:
            assert hops(row[PATH], row["ports"]) in printed
    table = read_table(starcast(f"{words} -f latex", home=home).out)
    paths = [hops(row[PATH], row["ports"]) for row in rows]
    assert [row[table.columns.index("path")] for row in table.rows] == paths


def test_columns_named_path_and_ports_are_printed_unchanged_if_they_hold_no_paths(
    starcast: Starcast, home: Path, tmp_path: Path
) -> None:
    """The column `ports` holds a number, a list of the wrong length, or null.

    A path that is null is printed as an empty cell.
    """
    file = tmp_path / "some.cypher"
    text = OWN.replace("//   nodes: how many", f"//   least: a\n//   {PATH}: b\n//   ports: c")
    for path, ports, printed in (
        ("count(n)", "3", "0 24 3"),
        ("count(n)", "[1, 2]", "0 24 1 2"),
        ("count(n)", "null", "0 24"),
        ("[]", "[1]", "0 1"),
        ("null", "null", "0"),
    ):
        columns = f"min(n.rank) AS least, {path} AS {PATH}, {ports} AS ports"
        write(file, text.replace("count(n) AS nodes", columns))
        result = starcast(f"query run {file} topology=S4", home=home)
        assert result.code == 0
        assert result.out.split("\n")[3].split() == printed.split()
    missing = starcast(f"query run {file} topology=S4 -f markdown", home=home)
    assert missing.out.splitlines()[-1] == "| 0 |  |"


def test_the_drawing_of_a_query_result_is_written_to_stdout_or_to_a_file(
    starcast: Starcast, home: Path, tmp_path: Path
) -> None:
    result = starcast(f"{SHORTEST_PATH} -f svg", home=home)
    assert result.code == 0
    assert result.err == ""
    assert result.out.startswith("<svg ")
    file = tmp_path / "path.svg"
    written = starcast(f"{SHORTEST_PATH} -f svg --out {file}", home=home)
    assert (written.out, written.err) == ("", f"drew the result to {file}\n")
    assert file.read_text() == result.out


def test_a_drawing_shows_the_hops_of_all_rows(starcast: Starcast, home: Path) -> None:
    """Every hop of every path is drawn, and the title contains the parameters."""
    words = "query run shortest-paths topology=S4 source=1234 target=2143"
    rows = starcast(f"{words} -f json", home=home).json
    drawn = starcast(f"{words} -f svg", home=home).out
    assert "topology=S4 source=1234 target=2143" in drawn
    for row in rows:
        for sender, port, receiver in zip(row[PATH], row["ports"], row[PATH][1:], strict=False):
            assert f"{sender} -{port}-&gt; {receiver}" in drawn


def test_the_drawing_of_a_query_result_can_have_the_layout_levels_or_ring(
    starcast: Starcast, home: Path
) -> None:
    levels, ring = (
        starcast(f"{SHORTEST_PATH} -f svg --layout {layout}", home=home).out
        for layout in ("levels", "ring")
    )
    assert "levels: distance from 1234" in levels
    assert "levels" not in ring
    words = "query run substar topology=S4 'pattern=***4' -f svg"
    refused = starcast(f"{words} --layout levels", home=home)
    assert (refused.code, refused.out) == (2, "")
    assert "use the layout 'ring'" in refused.err


@pytest.mark.slow
def test_query_check_plans_every_query_and_finds_no_problem(starcast: Starcast, home: Path) -> None:
    result = starcast("query check -f json", home=home)
    assert result.code == 0
    assert {row["problem"] for row in result.json} == {""}
    assert f"{len(load_queries())} queries are valid, and Neo4j " in result.err


def test_query_check_reports_problems_of_the_execution_plan(
    starcast: Starcast, home: Path, tmp_path: Path
) -> None:
    path = write(
        tmp_path / "bad" / "product.cypher", OWN.replace("MATCH (n:Node", "MATCH (m:Nod), (n:Node")
    )
    result = starcast(f"query check {path} -f json", home=home)
    assert result.code == 6
    problems = [row["problem"] for row in result.json]
    assert any("`Nod`" in problem for problem in problems)
    assert any("CartesianProduct" in problem for problem in problems)
    assert "reports problems with bad/product" in result.err


COUNT = "MATCH (n:Node {topology: $topology}) WHERE n.rank < $most RETURN count(n) AS nodes"


def ask(starcast: Starcast, home: Path, *words: str) -> list[dict[str, object]]:
    """Return the rows that `query ask` prints for a statement."""
    result = starcast("query", "ask", *words, "-f", "json", home=home)
    assert result.code == 0, result.err
    rows: list[dict[str, object]] = result.json
    return rows


def test_query_new_writes_a_query_into_the_first_folder_of_packs(
    starcast: Starcast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = starcast("query new mine/own-question")
    assert (first.code, first.out) == (0, "mine/own-question.cypher\n")
    assert f"STARCAST_PACKS={tmp_path}" in first.err
    monkeypatch.setenv("STARCAST_PACKS", f"{tmp_path / 'a'}:{tmp_path / 'b'}")
    second = starcast("query new mine/own-question")
    assert second.out == f"{tmp_path / 'a' / 'mine' / 'own-question.cypher'}\n"
    assert "STARCAST_PACKS" not in second.err
    third = starcast("query new mine/own-question --folder c")
    assert f"STARCAST_PACKS={tmp_path / 'a'}:{tmp_path / 'b'}:{tmp_path / 'c'}" in third.err
    again = starcast("query new mine/own-question")
    assert (again.code, again.out) == (2, "")
    assert "exists" in again.err


def test_query_list_can_be_restricted_to_a_pack_or_word(starcast: Starcast) -> None:
    listed = starcast("query list overlap -f json").json
    assert {row["query"].partition("/")[0] for row in listed} == {"overlap"}
    found = starcast("query list Necklace -f json").json
    assert "topology/necklace" in {row["query"] for row in found}
    nothing = starcast("query list overlapp")
    assert nothing.code == 3
    assert "did you mean 'overlap'" in nothing.err


def test_query_parameters_can_be_given_as_text_or_json(starcast: Starcast, home: Path) -> None:
    assert ask(starcast, home, COUNT, "topology=S4", "most:=7") == [{"nodes": 7}]
    digits = starcast("query ask -f json", COUNT, "topology=S4", "most=7", home=home)
    assert digits.json == [{"nodes": 0}]
    assert "$most is the string '7'; write most:=7 for a number" in digits.err
    lists = "RETURN $list AS list, $flag AS flag, $none AS none, $text AS text"
    values = ("list:=[1, 2]", "flag:=true", "none:=null", "text=a=b")
    assert ask(starcast, home, lists, *values) == [
        {"list": [1, 2], "flag": True, "none": None, "text": "a=b"}
    ]


def test_query_ask_reads_a_statement_from_a_file_or_from_stdin(
    starcast: Starcast, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"// a comment\n{COUNT};\n"
    Path("count.cypher").write_text(text)
    values = ("topology=S3", "most:=100")
    assert ask(starcast, home, "count.cypher", *values) == [{"nodes": 6}]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert ask(starcast, home, "-", *values) == [{"nodes": 6}]
    shown = starcast("claims show TS.L5 --cypher").out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(shown.encode())))
    assert ask(starcast, home, "-")


def test_query_ask_reports_errors_and_unknown_names_in_a_statement(
    starcast: Starcast, home: Path
) -> None:
    for statement, name in (
        ("MATCH (t:Topolgy) RETURN t.spec AS spec", "Topolgy"),
        ("MATCH (:Node)-[:LINKED]->(n:Node) RETURN n.label AS label LIMIT 1", "LINKED"),
        ("MATCH (t:Topology) RETURN t.order AS nodes LIMIT 1", "order"),
    ):
        assert f"`{name}`" in starcast("query ask", statement, home=home).err
    Path("bad.cypher").write_text("MATCH (n)\nSET n.rank = 1\nRETURN n\n")
    error, _ = refused(starcast("query ask bad.cypher"), 2)
    assert "bad.cypher:2: queries must be read-only" in error
    error, _ = refused(starcast("query ask 'MATCH (n RETURN n'", home=home), 2)
    assert "Neo4j refuses the statement" in error


def test_options_limit_the_rows_and_the_execution_time_of_a_query(
    starcast: Starcast, home: Path, tmp_path: Path
) -> None:
    words = "query ask 'MATCH (n:Node) RETURN n.key AS key' --limit 2 -f csv"
    limited = starcast(words, home=home)
    assert len(limited.out.splitlines()) == 3
    assert "only the first 2 rows are shown" in limited.err
    endless = "UNWIND range(1, 100000000) AS i UNWIND range(1, 1000) AS j WITH count(*) AS many"
    path = write(tmp_path / "slow.cypher", OWN.replace("MATCH (n", f"{endless} MATCH (n"))
    for command, *given in (
        ("query ask", f"{endless} RETURN many"),
        ("query run", path, "topology=S4"),
    ):
        slow = starcast(f"{command} --timeout 0.5", *given, home=home)
        assert (slow.code, slow.out) == (7, "")
        assert "took longer than 0.5 s" in slow.err


def test_query_ask_prints_nodes_relationships_and_paths(starcast: Starcast, home: Path) -> None:
    words = "MATCH path = (a:Node {topology: 'S3', rank: 0})-[link:LINK {port: 2}]-(b) RETURN"
    (row,) = ask(starcast, home, f"{words} a, link, [a, b] AS both, path")
    node = row["a"]
    assert isinstance(node, dict)
    assert (node["topology"], node["rank"], node["label"]) == ("S3", 0, "123")
    assert row["link"] == {
        "type": "LINK", "start": "123", "end": "213", "topology": "S3", "port": 2,
    }  # fmt: skip
    assert isinstance(row["path"], list)
    assert row["path"][::2] == row["both"]
    assert row["path"][1] == row["link"]
    table = starcast("query ask", f"{words} a, link, [a, b] AS both", home=home).out
    assert "LINK(start=123, end=213, " in table
    assert table.splitlines()[3].split()[0] == "123"
    assert table.rstrip().endswith("123 213")


def test_a_query_created_by_query_new_can_be_run(starcast: Starcast, home: Path) -> None:
    path = starcast("query new mine/neighbours").out.strip()
    assert starcast("query new mine/others").code == 0
    assert starcast("query check mine", home=home).code == 0
    words = f"query run {path} topology=S4 node=1234 -f json"
    rows = starcast(words, home=home).json
    assert [row["neighbour"] for row in rows] == ["2134", "3214", "4231"]


def test_schema_names_without_stored_data_are_not_reported_as_unknown() -> None:
    texts = [
        f"The label `{name}` does not exist in database `neo4j`." for name in ("Forest", "Oak")
    ]
    notices = tuple(Notice("01N50", text) for text in texts)
    assert find_unknown_names(QueryResult((), [], False, notices, None, {})) == texts[1:]
