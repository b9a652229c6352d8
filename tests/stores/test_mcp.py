"""The MCP server `starcast mcp` answers questions that the SDK's own client asks over stdio."""

import asyncio
import inspect
import json
import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import Mock

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server.mcpserver.exceptions import ToolError

from starcast import Lab
from starcast.cli import mcp_server, operations
from starcast.cli.mcp_server import MAX_ANSWER, PAGES, TOOLS
from starcast.support.errors import InputError
from starcast.support.settings import Settings
from starcast.support.vocabulary import PATH_SUFFIXES
from support.fix_cli import COMMAND

ROOT = Path(__file__).parents[2]
FOREST = "S4:multiple:1234"


class Question(NamedTuple):
    """A question, a tool call for it, and the value that `find` must extract from the result."""

    text: str
    tool: str
    arguments: dict[str, Any]
    find: Callable[[Any], Any]
    answer: Any


def _rows(name: str) -> Callable[[Any], list[Any]]:
    return lambda found: [row[name] for row in found["rows"]]


def _fact(name: str) -> Callable[[Any], Any]:
    return lambda found: found[name]


def _broadcast(spec: str, algorithm: str, **options: Any) -> dict[str, Any]:
    return {"topology": spec, "collective": "broadcast", "algorithm": algorithm, **options}


COSTS = {"topology": "S4", "collective": "broadcast", "ports": "all"}
#: The answers are known from formulas in the papers or from counting by hand.
QUESTIONS = [
    Question("How many nodes has S7?", "show_topology", {"topology": "S7"}, _fact("nodes"), 5040),
    Question(
        "How long is the longest of all shortest paths in S7?",
        "show_topology", {"topology": "S7"}, _fact("diameter"), 9,
    ),
    Question(
        "What is the mean distance in a hypercube of 16 nodes?",
        "show_topology", {"topology": "Q4"}, _fact("exact_mean_distance"), "32/15",
    ),
    Question("Which topologies are stored?", "topologies", {}, _rows("id"), ["S4"]),
    Question(
        "How many links has the stored graph?",
        "ask", {"statement": "MATCH (:Node)-[l:LINK]->(:Node) RETURN count(l) AS links"},
        _rows("links"), [36],
    ),
    Question(
        "Which forests are stored on S4?",
        "ask",
        {
            "statement": "MATCH (f:Forest {topology: $spec}) RETURN f.id AS id ORDER BY id",
            "parameters": {"spec": "S4"},
        },
        _rows("id"), ["S4:greedy:1234", FOREST],
    ),
    Question(
        "Which shipped queries find paths in a tree?",
        "queries", {"search": "tree-path"}, _rows("query"), ["paths/tree-path"],
    ),
    Question(
        "What is the distance from 1234 to 4321 in S4?",
        "query",
        {
            "query": "paths/shortest-path",
            "parameters": {"topology": "S4", "source": "1234", "target": "4321"},
        },
        lambda found: len(found["rows"][0]["path"]) - 1, 4,
    ),
    Question(
        "How many edges do the trees of the forest have together?",
        "query", {"query": "overlap/load-histogram", "parameters": {"forest": FOREST}},
        lambda found: sum(row["load"] * row["links"] for row in found["rows"]), 3 * 23,
    ),
    Question(
        "What is the path from the root to its neighbour 2134 in the greedy tree?",
        "query",
        {
            "query": "paths/tree-path",
            "parameters": {
                "forest": "S4:greedy:1234", "tree": 0, "source": "1234", "target": "2134",
            },
        },
        lambda found: found["rows"][0]["path"], ["1234", "2134"],
    ),
    Question(
        "What is the lower bound on the time of a broadcast of 64 bytes on S4?",
        "cost_table", {**COSTS, "message_bytes": 64, "t_s": 100},
        lambda found: found["rows"][0]["lower_bound"], 400,
    ),
    Question(
        "Does the broadcast reach every node if 2134 fails?",
        "simulate_schedule", {**_broadcast("S4", "multiple"), "fault": "2134"},
        _fact("complete"), False,
    ),
    Question(
        "How many trees of 'multiple' on S6 share a link at most?",
        "show_forest", {"source": "S6", "construction": "multiple"}, _fact("congestion"), 2,
    ),
    Question(
        "Are the trees of 'edge-disjoint' on S5 edge-disjoint?",
        "show_forest", {"source": "S5", "construction": "edge-disjoint"}, _fact("edge_disjoint"),
        True,
    ),
    Question(
        "Which paper defines the construction 'multiple'?",
        "constructions", {"topology": "S4"},
        lambda found: next(r["paper"] for r in found["rows"] if r["construction"] == "multiple"),
        "Tseng & Sheu 1997, Def. 2",
    ),
    Question(
        "Is 'one-port' an algorithm for an alltoall on S4?",
        "algorithms", {"topology": "S4", "collective": "alltoall"},
        lambda found: "one-port" in _rows("algorithm")(found), True,
    ),
    Question(
        "How many steps does a broadcast by recursive substars take on S5? (2n-3)",
        "simulate_schedule", _broadcast("S5", "recursive-substar"), _fact("steps"), 7,
    ),
    Question(
        "And if a node can send only one packet at a time? (n(n-1)/2)",
        "simulate_schedule", _broadcast("S5", "recursive-substar", ports="one"), _fact("steps"), 10,
    ),
    Question(
        "Does the broadcast by 'multiple' reach all nodes when a link of the root is broken?",
        "simulate_schedule", _broadcast("S4", "multiple", fault=["1234-2134"]), _fact("complete"),
        False,
    ),
    Question(
        "And with a copy of each message in each of the three edge-disjoint trees?",
        "simulate_schedule", _broadcast("S4", "edge-disjoint", copies=3, fault=["1234-2134"]),
        _fact("complete"), True,
    ),
    Question(
        "How many steps does the other experiment's broadcast of one message take? (2n-3)",
        "compare", {"names": ["ours", "theirs"]}, lambda found: found["rows"][0]["steps_theirs"], 5,
    ),
    Question(
        "What did the check of lemma 5 of Tseng & Sheu on S4 find?",
        "claim",
        {"claim_id": "TS.L5"},
        _fact("verdict"),
        "holds",
    ),
]  # fmt: skip


def _converse(*calls: tuple[str, *tuple[Any, ...]]) -> list[Any]:
    """Start the server, call methods of an SDK client in turn, and return their results."""

    async def talk() -> list[Any]:
        server = StdioServerParameters(
            command=COMMAND[0],
            args=[*COMMAND[1:], "mcp"],
            env={**os.environ, "STARCAST_TIMEOUT": "5"},
        )
        async with Client(server) as client:
            return [await getattr(client, method)(*values) for method, *values in calls]

    return asyncio.run(talk())


def test_the_wheel_contains_the_pages_that_the_mcp_server_offers_as_resources() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert {f"docs/{page}.md" for page in PAGES} == {
        path for path in shipped if path.startswith("docs/")
    }


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_mcp_tools_return_the_known_answers() -> None:
    listed, resources, *results = _converse(
        ("list_tools",),
        ("list_resources",),
        *(("call_tool", question.tool, question.arguments) for question in QUESTIONS),
        ("read_resource", "starcast://docs/schema"),
    )
    tools = {tool.name: tool for tool in listed.tools}
    assert list(tools) == [operation.__name__ for operation in TOOLS]
    assert len(tools) <= 12
    assert next(iter(tools["ask"].input_schema["properties"])) == "statement"
    for question, result in zip(QUESTIONS, results, strict=False):
        [content] = result.content
        assert not result.is_error, (question, content.text)
        assert question.find(json.loads(content.text)) == question.answer, question.text
    assert {question.tool for question in QUESTIONS} == {*tools}
    described = {name: f"{tool.description} {tool.input_schema}" for name, tool in tools.items()}
    assert not re.search(r"\bfiles?\b|In a shell|In Python|stdin", str(described))
    assert "starcast://docs/schema" in [str(resource.uri) for resource in resources.resources]
    assert results[-1].contents[0].text.startswith("# Schema")


#: Refused tool calls, each with a part of the error message.
REFUSED = [
    ("ask", {"statement": "CREATE (n:Node)"}, "must begin with a reading clause"),
    ("ask", {"statement": "MATCH (n) SET n.x = 1 RETURN n"}, "SET"),
    ("ask", {"statement": "CALL db.labels() YIELD label RETURN label"}, "CALL"),
    ("ask", {"statement": "-"}, "tools do not read files"),
    (
        "ask",
        {"statement": "UNWIND range(1, 10000000000) AS i RETURN sum(i) AS s"},
        "took longer than 5 s",
    ),
    ("query", {"query": "/etc/passwd"}, "tools do not read files"),
    ("query", {"query": "mine/own.cypher"}, "tools do not read files"),
    ("query", {"query": "overlap/nothing"}, "overlap"),
    ("show_topology", {"topology": "../net.graphml"}, "tools do not read files"),
    ("show_topology", {"topology": "net.csv"}, "tools do not read files"),
    ("show_forest", {"source": "files/forest"}, "tools do not read files"),
    ("show_topology", {"topology": "S40"}, "out of range"),
    ("show_topology", {"topology": 5}, "an argument is invalid: topology: Input should be a valid"),
    ("simulate_schedule", _broadcast("S4", "multiple", ports="both"), "is invalid: ports"),
    ("show_topology", {}, "topology"),
    ("simulate_schedule", _broadcast("S4", "rows.csv"), "tools do not read files"),
    (
        "simulate_schedule",
        _broadcast("S4", "multiple", faults=["1234-2134"]),
        "has no parameter 'faults'; did you mean 'fault'? use only topology, collective,",
    ),
    ("topologies", {"topology": "S4"}, "has no parameter 'topology'; omit it"),
    ("compare", {"names": ["nobody"]}, "no experiment 'nobody'"),
]


def test_every_part_that_tools_omit_from_docstrings_still_occurs_there() -> None:
    """If a docstring changes, the pattern of the omitted part has to change too."""
    texts = []
    for operation in TOOLS:
        _, *parameters = inspect.signature(operation).parameters.values()
        about = operations.documented(operation, parameters)
        texts += [about.text, *about.arguments.values()]
    assert not [
        pattern
        for pattern in mcp_server._NOT_FOR_TOOLS
        if not any(re.search(pattern, text) for text in texts)
    ]


def test_the_result_of_a_rejected_schedule_states_the_reason(tmp_path: Path) -> None:
    lab, rows = Lab(Settings.load(home=tmp_path)), tmp_path / "rows.csv"
    lab.export_schedule("S4", "broadcast", "multiple", to="csv").save(rows)
    rejected = lab.simulate_schedule("S4", "broadcast", rows, ports="one")
    table = lab.profile_schedule("S4", "broadcast", rows, ports="one")
    for result in (rejected, table):
        failure = json.loads(mcp_server._write(result))["failure"]
        assert "is invalid: " in failure
        assert "correct the rows in" in failure


@pytest.mark.parametrize(
    ("tool", "parameter", "file"),
    [
        ("show_topology", "topology", "net.txt"),
        ("show_topology", "topology", "my net.edges"),
        ("show_forest", "source", "forest"),
        ("simulate_schedule", "algorithm", "my rows.csv"),
        ("query", "query", "own"),
        ("ask", "statement", "statement.txt"),
        ("ask", "statement", "my statement"),
    ],
)
def test_a_tool_does_not_read_a_file_in_the_working_directory(
    tool: str, parameter: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(file).write_text("0 1\n", encoding="utf-8")
    with pytest.raises(InputError, match="tools do not read files"):
        mcp_server._perform(Settings(home=tmp_path), tool, {parameter: file})


def test_the_error_of_a_tool_states_that_memory_ran_out() -> None:
    tool = mcp_server._make_tool(Lab.show_topology, Mock(side_effect=MemoryError))
    with pytest.raises(ToolError, match=r"^memory ran out; use a smaller topology$"):
        tool(topology="S10")


@pytest.mark.parametrize("suffix", [*PATH_SUFFIXES, ".npz", ".goal"])
def test_a_tool_refuses_an_argument_with_a_file_suffix(suffix: str) -> None:
    with pytest.raises(InputError, match="tools do not read files"):
        mcp_server._refuse_file("topology", f"missing{suffix.upper()}")


@pytest.mark.parametrize("text", ["// a comment\nRETURN 1 / 2 AS x", "RETURN 'a.txt' AS x.csv"])
def test_a_statement_that_contains_slashes_or_a_suffix_is_accepted(text: str) -> None:
    mcp_server._refuse_file("statement", text)


@pytest.mark.slow
def test_forbidden_calls_are_refused_and_large_results_are_truncated(lab: Lab) -> None:
    lab.ingest("S6")
    statement = "MATCH (n:Node) RETURN n, range(1, $most) AS numbers LIMIT $rows"
    large = [
        {"statement": statement, "parameters": {"most": most, "rows": rows}}
        for most, rows in ((100, 700), (60_000, 1))
    ]
    *results, many, huge, last = _converse(
        *(("call_tool", tool, arguments) for tool, arguments, _ in REFUSED),
        *(("call_tool", "ask", arguments) for arguments in large),
        ("call_tool", "show_topology", {"topology": "S3"}),
    )
    for (tool, arguments, reason), result in zip(REFUSED, results, strict=True):
        assert result.is_error, (tool, arguments, result)
        assert reason in result.content[0].text, (tool, arguments)
    for result, has_rows in ((many, True), (huge, False)):
        text = result.content[0].text
        assert len(text.encode()) <= MAX_ANSWER
        assert bool(json.loads(text)["rows"]) == has_rows
        assert "ask for fewer" in json.loads(text)["note"]
    # The server still answers.
    assert json.loads(last.content[0].text)["nodes"] == 6
