"""Drawings of query results: the nodes and links that are drawn for given columns and rows."""

from pathlib import Path
from typing import Any

import pytest

from starcast.drawing import Link
from starcast.queries import Query
from starcast.queries.parameters import bind
from starcast.queries.picture import build_subgraph, check_drawable
from starcast.support.errors import InputError
from starcast.topologies import topology

S4 = topology("S4")


def query(columns: str, parameters: str = "topology (topology): t") -> Query:
    """Return a query with these columns and parameters."""
    names = [line.split()[0].rstrip(":") for line in columns.split("\n")]
    used = ", ".join(f"${line.split()[0]}" for line in parameters.split("\n"))
    returned = ", ".join(f"1 AS {name}" for name in names)
    shown, given = (text.replace("\n", "\n//   ") for text in (columns, parameters))
    text = f"""// title: Some title
// question: Q?
// parameters:
//   {given}
// columns:
//   {shown}
WITH [{used}] AS given
RETURN {returned}"""
    return Query(Path("/packs/mine/question.cypher"), text)


def drawn(query: Query, values: dict[str, Any], *rows: dict[str, Any]) -> Any:
    return build_subgraph(query, bind(query.parameters, values), rows)


def ranks(*labels: str) -> tuple[int, ...]:
    return tuple(S4.rank(label) for label in labels)


def links(found: Any) -> dict[str, int]:
    """Return how often each link of a subgraph occurs, keyed by the link as text."""
    counts = {}
    for link, count in found.links.items():
        arrow = f"-{link.port}-{'>' if link.arrow else ''}"
        counts[f"{S4.label(link.sender)} {arrow} {S4.label(link.receiver)}"] = count
    return counts


def test_two_adjacent_nodes_in_a_result_row_are_drawn_as_an_arrow() -> None:
    asked = query("from (node): f\nload: l\nto (node): t")
    rows = [("1234", "2134"), ("2134", "1234"), ("1234", "2134"), ("4231", "1234")]
    found = drawn(
        asked, {"topology": "S4"}, *({"from": one, "load": 2, "to": other} for one, other in rows)
    )
    assert links(found) == {"1234 -2-> 2134": 2, "2134 -2-> 1234": 1, "4231 -4-> 1234": 1}
    assert found.nodes == ranks("1234", "2134", "4231")
    assert found.source is None
    assert (found.topology, found.title, found.subtitle) == (S4, "Some title", "topology=S4")


@pytest.mark.parametrize(
    ("columns", "rows", "nodes", "expected"),
    [
        ("a (node): a\nb (node): b", [("1234", "4321")], "1234 4321", {}),
        ("a (node): a\nb (node): b\nc (node): c", [("1234", "2134", "3214")],
         "1234 2134 3214", {}),
        ("a (node): a\nb (node): b", [("1234", None), ("2134", "1234")],
         "1234 2134", {"2134 -2-> 1234": 1}),
        ("many (list of node): m", [(["1234", "2134"],)], "1234 2134", {}),
        ("label: l\na (node): a", [("4321", "1234")], "1234", {}),
        ("path (list of node): p\nports: p",
         [(["1234", "2134", "3124"], [2, 3]), (["1234", "3214", "3124"], [3, 0]), ([], [])],
         "1234 2134 3124 3214", {"1234 -2-> 2134": 1, "2134 -3-> 3124": 1, "1234 -3-> 3214": 1}),
    ],
    ids=["not adjacent", "three nodes", "missing node", "list", "no type", "path"],
)  # fmt: skip
def test_result_rows_that_contain_nodes_are_drawn_as_nodes_and_links(
    columns: str, rows: list[tuple[Any, ...]], nodes: str, expected: dict[str, int]
) -> None:
    """Links join the two adjacent nodes of a row, or consecutive nodes in a column ``path``."""
    asked = query(columns)
    names = [column.name for column in asked.columns]
    found = drawn(asked, {"topology": "S4"}, *(dict(zip(names, row, strict=True)) for row in rows))
    assert (found.nodes, links(found)) == (ranks(*nodes.split()), expected)


def test_a_result_row_with_a_port_and_a_neighbour_is_drawn_as_a_link_of_the_given_node() -> None:
    given = {"topology": "S4", "node": "1234"}
    rows = [{"port": 2, "next": "2134"}, {"port": 3, "next": "4321"}]
    for column, expected in {"port": {"1234 -2- 2134": 1}, "load": {}}.items():
        asked = query(f"{column}: p\nnext (node): n", "topology (topology): t\nnode (node): n")
        found = drawn(asked, given, *({column: row["port"], **row} for row in rows))
        assert links(found) == expected


@pytest.mark.parametrize(
    ("parameters", "values", "source"),
    [
        ("topology (topology): t", ["S4"], None),
        ("topology (topology): t\ngone (list of node): g", ["S4", "1234"], None),
        ("topology (topology): t\nnode (node): n", ["S4", "2341"], "2341"),
        ("forest (forest): f", ["S4:multiple:4321"], "4321"),
        ("forest (forest): f\nnode (node): n", ["S4:multiple:4321", "2134"], "2134"),
        ("schedule (schedule): s", ["S4:broadcast:multiple:all:segments=1:3214"], "3214"),
        ("schedule (schedule): s", ["S4:allgather:necklace:all::expanded"], None),
    ],
)
def test_drawn_levels_are_counted_from_the_node_parameter_or_else_from_the_root(
    parameters: str, values: list[str], source: str | None
) -> None:
    asked = query("node (node): n", parameters)
    names = [parameter.name for parameter in asked.parameters]
    found = drawn(asked, dict(zip(names, values, strict=True)), {"node": "1243"})
    assert found.source == (None if source is None else S4.rank(source))


def test_drawn_levels_are_counted_from_the_node_at_which_all_paths_begin() -> None:
    """If the paths begin at different nodes, levels are counted from the node parameter."""
    asked = query("path (list of node): p", "forest (forest): f\nnode (node): n")
    values = {"forest": "S4:multiple:1234", "node": "2134"}
    assert drawn(asked, values, {"path": ["4231", "1234", "2134"]}).source == S4.rank("4231")
    apart = [{"path": ["4231", "1234"]}, {"path": ["3214", "1234"]}]
    assert drawn(asked, values, *apart).source == S4.rank("2134")


def test_a_drawn_link_has_the_port_number_at_the_node_that_it_leaves() -> None:
    """The two ends of a link of an (n,k)-star can have different port numbers."""
    network = topology("S5,2")
    asked = query("from (node): f\nto (node): t")
    neighbour = int(network.neighbours(3, [0])[0])
    found = drawn(
        asked, {"topology": "S5,2"}, {"from": network.label(neighbour), "to": network.label(0)}
    )
    assert list(found.links) == [Link(neighbour, network.reverse_port(3), 0)]


@pytest.mark.parametrize(
    ("columns", "parameters", "values", "message"),
    [
        ("load: l\nlinks: n", "topology (topology): t", ["S4"],
         r"mine/question cannot be drawn: none of its columns \(load, links\) contains nodes"),
        ("node (node): n", "count (int): c", [1], "none of its parameters names a topology"),
        ("node (node): n", "one (topology): o\nother (topology): o", ["S4", "S5"],
         "its parameters name 2 topologies"),
        ("node (node): n", "forest (forest): f\nother (forest): o",
         ["S4:multiple:1234", "S5:multiple:12345"], "2 topol"),
    ],
)  # fmt: skip
def test_a_query_whose_results_are_not_nodes_of_a_single_topology_cannot_be_drawn(
    columns: str, parameters: str, values: list[Any], message: str
) -> None:
    asked = query(columns, parameters)
    names = [parameter.name for parameter in asked.parameters]
    with pytest.raises(InputError, match=message) as caught:
        check_drawable(asked, dict(zip(names, values, strict=True)))
    assert "another format" in caught.value.hint


def test_the_result_of_a_query_on_two_forests_of_one_topology_can_be_drawn() -> None:
    asked = query("node (node): n", "forest (forest): f\nother (forest): o")
    assert check_drawable(asked, {"forest": "S4:multiple:1234", "other": "S4:greedy:2134"}) == S4


def test_the_subtitle_of_a_drawing_shows_list_parameters_as_they_were_given() -> None:
    asked = query("node (node): n", "topology (topology): t\ngone (list of node): g")
    assert (
        drawn(asked, {"topology": "S4", "gone": "1234,2134"}, {"node": "1243"}).subtitle
        == "topology=S4 gone=1234,2134"
    )
