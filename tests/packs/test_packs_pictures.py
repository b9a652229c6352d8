"""The values in query results have the declared column types, so that results can be drawn."""

from collections.abc import Iterator
from typing import Any

import pytest

from packs import test_packs  # noqa: F401 - imports the oracles
from starcast.drawing import Subgraph, draw_subgraph
from starcast.queries import Query, load_queries
from starcast.queries.parameters import bind, named_topologies
from starcast.queries.picture import build_subgraph, check_drawable
from starcast.queries.query import Column
from starcast.support.errors import InputError
from support.packs.oracle_tools import ORACLES, labels

SPEC = "S4"


def expected_results(query: Query) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield each case of a query on S4 with the oracle's rows, unless a row lacks a column."""
    oracle = ORACLES[query.name]
    columns = {column.name for column in query.columns}
    for case in oracle.cases:
        values = bind(query.parameters, case)
        if [network.spec for network in named_topologies(query.parameters, values)] == [SPEC]:
            rows = oracle.rows(**case)
            if all(columns == row.keys() for row in rows):
                yield values, rows


def is_of_nodes(column: Column) -> bool:
    return column.type is not None and column.type.name == "node"


@pytest.mark.parametrize("query", load_queries().values(), ids=lambda query: query.name)
def test_exactly_the_columns_that_contain_nodes_have_the_type_node(query: Query) -> None:
    """On S4, labels can be recognized: no other value consists of four different digits."""
    nodes = set(labels(SPEC))
    for _, rows in expected_results(query):
        for column in query.columns:
            for value in (row[column.name] for row in rows if row[column.name] is not None):
                values = value if isinstance(value, list) else [value]
                assert (
                    is_of_nodes(column)
                    == all(isinstance(each, str) and each in nodes for each in values)
                    or not values
                )
                if column.type is not None:
                    assert column.type.many == isinstance(value, list)


@pytest.mark.parametrize("query", load_queries().values(), ids=lambda query: query.name)
def test_a_drawn_result_shows_every_node_in_it(query: Query) -> None:
    columns = [column.name for column in query.columns if is_of_nodes(column)]
    for values, rows in expected_results(query):
        if not columns:
            with pytest.raises(InputError, match="none of its columns contains nodes"):
                check_drawable(query, values)
            return
        drawing = build_subgraph(query, values, rows)
        if not drawing.nodes:
            continue
        assert labels_of(drawing) == {
            label for row in rows for name in columns for label in as_list(row[name])
        }
        text = draw_subgraph(drawing)
        assert all(f">{label}<" in text for label in labels_of(drawing))


def labels_of(drawing: Subgraph) -> set[str]:
    return set(drawing.topology.labels(list(drawing.nodes)).tolist())


def as_list(value: Any) -> list[str]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("query", load_queries().values(), ids=lambda query: query.name)
def test_a_path_has_a_port_for_each_hop(query: Query) -> None:
    """Tables print the columns `path` and `ports` hop by hop."""
    if {"path", "ports"} <= {column.name for column in query.columns}:
        for _, rows in expected_results(query):
            assert all(len(row["path"] or []) in {0, len(row["ports"] or []) + 1} for row in rows)
