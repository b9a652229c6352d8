"""`starcast query ask`, `new` and `list WORD`: statements, query templates and search."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from starcast.queries.execution import find_unknown_names
from starcast.stores.graph.connection import Graph, Notice, QueryResult
from starcast.stores.servers import GraphAddress
from starcast.support.settings import Settings
from support.fix_cli import Result, Starcast
from support.packs.stored_data import loaded

COUNT = "MATCH (n:Node {topology: $topology}) WHERE n.rank < $most RETURN count(n) AS nodes"


@pytest.fixture
def starcast(starcast: Starcast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Starcast:
    """Return a function that runs commands; without a home, no server is running."""
    monkeypatch.chdir(tmp_path)

    def run(line: str, *words: object, home: Path = tmp_path / "empty") -> Result:
        return starcast(f"--home {home} {line}", *words)

    return run


@pytest.fixture(scope="module")
def home(stack_settings: Settings, graph_address: GraphAddress) -> Iterator[Path]:
    """Yield the home of a running stack whose graph holds S3 and S4."""
    with Graph.open(graph_address) as graph, loaded(graph, ["S3", "S4"]):
        yield stack_settings.home


def ask(starcast: Starcast, home: Path, *words: str) -> list[dict[str, object]]:
    """Return the rows of a statement."""
    result = starcast("query", "ask", *words, "-f", "json", home=home)
    assert result.code == 0, result.err
    rows: list[dict[str, object]] = result.json
    return rows


def test_new_writes_a_query_into_the_first_folder_of_packs(
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


def test_queries_are_listed_by_pack_or_word(starcast: Starcast) -> None:
    listed = starcast("query list overlap -f json").json
    assert {row["query"].partition("/")[0] for row in listed} == {"overlap"}
    found = starcast("query list Necklace -f json").json
    assert "topology/necklace" in {row["query"] for row in found}
    nothing = starcast("query list overlapp")
    assert nothing.code == 3
    assert "did you mean 'overlap'" in nothing.err


def test_parameter_values_are_text_or_json(starcast: Starcast, home: Path) -> None:
    assert ask(starcast, home, COUNT, "topology=S4", "most:=7") == [{"nodes": 7}]
    lists = "RETURN $list AS list, $flag AS flag, $none AS none, $text AS text"
    values = ("list:=[1, 2]", "flag:=true", "none:=null", "text=a=b")
    assert ask(starcast, home, lists, *values) == [
        {"list": [1, 2], "flag": True, "none": None, "text": "a=b"}
    ]


def test_a_text_value_that_consists_of_digits_causes_a_remark(
    starcast: Starcast, home: Path
) -> None:
    result = starcast("query ask -f json", COUNT, "topology=S4", "most=7", home=home)
    assert result.json == [{"nodes": 0}]
    assert "$most is the text '7'; write most:=7 for a number" in result.err


def test_a_statement_comes_from_a_file_or_from_stdin(
    starcast: Starcast, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"// a comment\n{COUNT};\n"
    Path("count.cypher").write_text(text)
    values = ("topology=S3", "most:=100")
    assert ask(starcast, home, "count.cypher", *values) == [{"nodes": 6}]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert ask(starcast, home, "-", *values) == [{"nodes": 6}]


def test_errors_name_the_file_and_the_line(starcast: Starcast, home: Path) -> None:
    Path("bad.cypher").write_text("MATCH (n)\nSET n.rank = 1\nRETURN n\n")
    assert "bad.cypher:2: queries must be read-only" in starcast("query ask bad.cypher").err
    refused = starcast("query ask 'MATCH (n RETURN n'", home=home)
    assert (refused.code, refused.out) == (2, "")
    assert "Neo4j refuses the statement" in refused.err


def test_the_number_of_rows_and_the_time_are_limited(starcast: Starcast, home: Path) -> None:
    words = "query ask 'MATCH (n:Node) RETURN n.key AS key' --limit 2 -f csv"
    limited = starcast(words, home=home)
    assert len(limited.out.splitlines()) == 3
    assert "only the first 2 rows are shown" in limited.err
    endless = "UNWIND range(1, 100000000) AS i UNWIND range(1, 1000) AS j RETURN count(*) AS all"
    slow = starcast("query ask --timeout 0.5", endless, home=home)
    assert (slow.code, slow.out) == (7, "")


def test_nodes_relationships_and_paths_are_shown(starcast: Starcast, home: Path) -> None:
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


CLAIMS = ("TS.L5", "TS.S62-equal", "EDT.twice", "FA.D13", "EDT.SNB.links")


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_cypher_query_for_a_counterexample_can_be_run(
    starcast: Starcast, home: Path, claim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The output of `claims show --cypher` can be piped in unchanged."""
    shown = starcast(f"claims show {claim} --cypher")
    assert shown.code == 0, shown.err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(shown.out.encode())))
    assert ask(starcast, home, "-")


def test_a_query_created_from_the_template_runs(starcast: Starcast, home: Path) -> None:
    path = starcast("query new mine/neighbours").out.strip()
    assert starcast("query new mine/others").code == 0
    assert starcast("query check mine", home=home).code == 0
    words = f"query run {path} topology=S4 node=1234 -f json"
    rows = starcast(words, home=home).json
    assert [row["neighbour"] for row in rows] == ["2134", "3214", "4231"]


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("MATCH (t:Topolgy) RETURN t.spec AS spec", "Topolgy"),
        ("MATCH (:Node)-[:LINKED]->(n:Node) RETURN n.label AS label LIMIT 1", "LINKED"),
        ("MATCH (t:Topology) RETURN t.order AS nodes LIMIT 1", "order"),
    ],
)
def test_names_in_a_statement_that_the_graph_does_not_have_are_reported(
    starcast: Starcast, home: Path, statement: str, name: str
) -> None:
    result = starcast("query ask", statement, home=home)
    assert f"`{name}`" in result.err


def test_names_of_the_schema_that_are_not_stored_yet_are_not_reported() -> None:
    texts = [
        f"The label `{name}` does not exist in database `neo4j`." for name in ("Forest", "Oak")
    ]
    notices = tuple(Notice("01N50", "WARNING", text) for text in texts)
    assert find_unknown_names(QueryResult((), [], False, notices, None)) == texts[1:]
