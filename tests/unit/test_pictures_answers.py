"""Query results as pictures: which nodes and links are drawn for which columns and rows."""

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
    lines = [f"//   {line}" for line in parameters.split("\n")]
    shown = [f"//   {line}" for line in columns.split("\n")]
    returned = ", ".join(f"1 AS {line.split(' ')[0].split(':')[0]}" for line in columns.split("\n"))
    used = ", ".join(f"${line.split(' ')[0]}" for line in parameters.split("\n"))
    head = [
        "// title: Some title",
        "// question: Q?",
        "// parameters:",
        *lines,
        "// columns:",
        *shown,
    ]
    tail = ["// revision: 1", "// reference: R", f"WITH [{used}] AS given", f"RETURN {returned}"]
    return Query(Path("/packs/mine/question.cypher"), "\n".join([*head, *tail]))


def drawn(query: Query, values: dict[str, Any], *rows: dict[str, Any]) -> Any:
    return build_subgraph(query, bind(query.parameters, values), rows)


def ranks(*labels: str) -> tuple[int, ...]:
    return tuple(S4.rank(label) for label in labels)


def links(found: Any) -> dict[str, int]:
    """Return the links as text, with their counts."""
    counts = {}
    for link, count in found.links.items():
        arrow = f"-{link.port}-{'>' if link.arrow else ''}"
        counts[f"{S4.label(link.sender)} {arrow} {S4.label(link.receiver)}"] = count
    return counts


def test_a_row_with_two_adjacent_nodes_is_drawn_as_an_arrow_from_the_first_to_the_second() -> None:
    asked = query("from (node): f\nload: l\nto (node): t")
    rows = [("1234", "2134"), ("2134", "1234"), ("1234", "2134"), ("4231", "1234")]
    found = drawn(
        asked, {"topology": "S4"}, *({"from": one, "load": 2, "to": other} for one, other in rows)
    )
    assert links(found) == {"1234 -2-> 2134": 2, "2134 -2-> 1234": 1, "4231 -4-> 1234": 1}
    assert found.nodes == ranks("1234", "2134", "4231")
    assert found.source is None
    assert (found.topology, found.title, found.subtitle) == (S4, "Some title", "topology=S4")


def test_for_a_row_with_two_nonadjacent_nodes_no_link_is_drawn() -> None:
    asked = query("one (node): o\nother (node): o")
    found = drawn(asked, {"topology": "S4"}, {"one": "1234", "other": "4321"})
    assert (found.nodes, found.links) == (ranks("1234", "4321"), {})


def test_for_a_row_with_three_nodes_no_link_is_drawn() -> None:
    asked = query("a (node): a\nb (node): b\nc (node): c")
    assert not drawn(asked, {"topology": "S4"}, {"a": "1234", "b": "2134", "c": "3214"}).links


def test_a_missing_node_is_omitted() -> None:
    asked = query("node (node): n\nparent (node): p")
    found = drawn(
        asked,
        {"topology": "S4"},
        {"node": "1234", "parent": None},
        {"node": "2134", "parent": "1234"},
    )
    assert found.nodes == ranks("1234", "2134")
    assert links(found) == {"2134 -2-> 1234": 1}


def test_a_list_of_nodes_in_the_column_path_is_drawn_hop_by_hop() -> None:
    asked = query("path (list of node): p\nports: p")
    found = drawn(
        asked,
        {"topology": "S4"},
        {"path": ["1234", "2134", "3124"], "ports": [2, 3]},
        {"path": ["1234", "3214", "3124"], "ports": [3, 0]},
        {"path": [], "ports": []},
    )
    assert links(found) == {"1234 -2-> 2134": 1, "2134 -3-> 3124": 1, "1234 -3-> 3214": 1}
    assert found.source == S4.rank("1234")


def test_a_list_of_nodes_in_another_column_is_not_drawn_as_a_path() -> None:
    found = drawn(
        query("members (list of node): m"), {"topology": "S4"}, {"members": ["1234", "2134"]}
    )
    assert (found.nodes, found.links) == (ranks("1234", "2134"), {})


def test_a_port_and_a_neighbour_in_a_row_are_drawn_as_a_link_of_the_parameter_node() -> None:
    asked = query("port: p\nnext (node): n", "topology (topology): t\nnode (node): n")
    rows = [{"port": 2, "next": "2134"}, {"port": 3, "next": "4321"}]
    found = drawn(asked, {"topology": "S4", "node": "1234"}, *rows)
    assert links(found) == {"1234 -2- 2134": 1}
    assert not drawn(
        query("load: l\nnext (node): n", "topology (topology): t\nnode (node): n"),
        {"topology": "S4", "node": "1234"},
        {"load": 1, "next": "2134"},
    ).links


def test_labels_in_a_column_without_a_type_are_not_drawn_as_nodes() -> None:
    found = drawn(
        query("label: l\nnode (node): n"), {"topology": "S4"}, {"label": "4321", "node": "1234"}
    )
    assert found.nodes == ranks("1234")


@pytest.mark.parametrize(
    ("parameters", "values", "source"),
    [
        ("topology (topology): t", {"topology": "S4"}, None),
        (
            "topology (topology): t\ngone (list of node): g",
            {"topology": "S4", "gone": "1234"},
            None,
        ),
        ("topology (topology): t\nnode (node): n", {"topology": "S4", "node": "2341"}, "2341"),
        ("forest (forest): f", {"forest": "S4:multiple:4321"}, "4321"),
        (
            "forest (forest): f\nnode (node): n",
            {"forest": "S4:multiple:4321", "node": "2134"},
            "2134",
        ),
        (
            "schedule (schedule): s",
            {"schedule": "S4:broadcast:multiple:all:segments=1:3214"},
            "3214",
        ),
        ("schedule (schedule): s", {"schedule": "S4:allgather:necklace:all::expanded"}, None),
    ],
)
def test_levels_are_counted_from_the_node_parameter_or_from_the_root(
    parameters: str, values: dict[str, str], source: str | None
) -> None:
    found = drawn(query("node (node): n", parameters), values, {"node": "1243"})
    assert found.source == (None if source is None else S4.rank(source))


def test_levels_are_counted_from_the_first_node_that_all_paths_share() -> None:
    asked = query("path (list of node): p", "forest (forest): f\nnode (node): n")
    values = {"forest": "S4:multiple:1234", "node": "2134"}
    assert drawn(asked, values, {"path": ["4231", "1234", "2134"]}).source == S4.rank("4231")
    apart = [{"path": ["4231", "1234"]}, {"path": ["3214", "1234"]}]
    assert drawn(asked, values, *apart).source == S4.rank("2134")


def test_a_link_has_the_port_number_at_the_node_that_it_leaves() -> None:
    """Residual ports of an (n,k)-star differ between the two directions."""
    network = topology("S5,2")
    asked = query("from (node): f\nto (node): t")
    neighbour = int(network.neighbours(3, [0])[0])
    found = drawn(
        asked, {"topology": "S5,2"}, {"from": network.label(neighbour), "to": network.label(0)}
    )
    assert list(found.links) == [Link(neighbour, network.reverse_port(3), 0)]


def test_a_query_without_node_columns_is_refused_before_it_runs() -> None:
    asked = query("load: l\nlinks: n")
    with pytest.raises(
        InputError,
        match=r"mine/question cannot be drawn: none of its columns contains nodes \(load, links\)",
    ) as caught:
        check_drawable(asked, {"topology": "S4"})
    assert "another format" in caught.value.hint


@pytest.mark.parametrize(
    ("parameters", "values", "message"),
    [
        ("count (int): c", {"count": 1}, "none of its parameters names a topology"),
        (
            "one (topology): o\nother (topology): o",
            {"one": "S4", "other": "S5"},
            "its parameters name 2 topologies",
        ),
        (
            "forest (forest): f\nother (forest): o",
            {"forest": "S4:multiple:1234", "other": "S5:multiple:12345"},
            "2 topol",
        ),
    ],
)
def test_a_query_that_does_not_name_exactly_one_topology_is_not_drawn(
    parameters: str, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        check_drawable(query("node (node): n", parameters), values)


def test_two_forests_on_one_topology_are_drawn() -> None:
    asked = query("node (node): n", "forest (forest): f\nother (forest): o")
    assert check_drawable(asked, {"forest": "S4:multiple:1234", "other": "S4:greedy:2134"}) == S4


def test_the_subtitle_shows_lists_as_they_were_given() -> None:
    asked = query("node (node): n", "topology (topology): t\ngone (list of node): g")
    assert (
        drawn(asked, {"topology": "S4", "gone": "1234,2134"}, {"node": "1243"}).subtitle
        == "topology=S4 gone=1234,2134"
    )
