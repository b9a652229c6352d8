"""The columns of the shipped queries hold what their types say, so that every answer can be drawn; no server is needed."""

from collections.abc import Iterator
from typing import Any

import pytest

from packs import test_packs  # noqa: F401 - imports the oracles
from starcast.drawing import Picture, sketch
from starcast.errors import InputError
from starcast.graph.results import Answer
from starcast.queries import Query, load_queries
from starcast.queries.header import Column
from starcast.queries.parameters import bind, named_topologies
from starcast.queries.picture import build_picture, check_drawable
from support.packs.asking import ORACLES, labels

SPEC = "S4"


def asked(query: Query) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The cases of a query on S4 with the rows that brute force answers, where it gives them whole."""
    known, columns = ORACLES[query.name], {column.name for column in query.columns}
    for case in known.cases:
        values = bind(query.parameters, case)
        if [place.spec for place in named_topologies(query.parameters, values)] == [SPEC]:
            rows = known.rows(**case)
            if all(columns == row.keys() for row in rows):
                yield values, rows


def is_of_nodes(column: Column) -> bool:
    return column.type is not None and column.type.name == "node"


@pytest.mark.parametrize("query", load_queries().values(), ids=lambda query: query.name)
def test_a_column_says_that_it_holds_nodes_where_it_does_and_only_there(query: Query) -> None:
    """A list of labels is a list of nodes; a label is a word of four different digits, which nothing else is."""
    nodes = set(labels(SPEC))
    for _, rows in asked(query):
        for column in query.columns:
            for value in (row[column.name] for row in rows if row[column.name] is not None):
                held = value if isinstance(value, list) else [value]
                assert (
                    is_of_nodes(column)
                    == all(isinstance(one, str) and one in nodes for one in held)
                    or not held
                )
                if column.type is not None:
                    assert column.type.many == isinstance(value, list)


@pytest.mark.parametrize("query", load_queries().values(), ids=lambda query: query.name)
def test_every_answer_with_nodes_is_drawn_and_shows_all_of_them(query: Query) -> None:
    columns = [column.name for column in query.columns if is_of_nodes(column)]
    for values, rows in asked(query):
        if not columns:
            with pytest.raises(InputError, match="none of them holds nodes"):
                check_drawable(query, values)
            return
        answer = Answer(tuple(rows[0]) if rows else (), rows, False, (), None)
        found = build_picture(query, values, answer)
        if not found.nodes:
            continue
        assert named(found) == {
            label for row in rows for name in columns for label in listed(row[name])
        }
        drawn = sketch(found)
        assert all(f">{label}<" in drawn for label in named(found))


def named(found: Picture) -> set[str]:
    return set(found.topology.labels(list(found.nodes)).tolist())


def listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [] if value is None else [value]


@pytest.mark.parametrize("query", load_queries().values(), ids=lambda query: query.name)
def test_a_path_has_a_port_for_each_hop(query: Query) -> None:
    """Where columns are called nodes and ports; tables print them hop by hop."""
    if {"nodes", "ports"} <= {column.name for column in query.columns}:
        for _, rows in asked(query):
            assert all(len(row["nodes"] or []) in {0, len(row["ports"] or []) + 1} for row in rows)
