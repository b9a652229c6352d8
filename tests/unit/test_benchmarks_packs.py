"""The benchmark of the query packs covers all queries, and other engines give the same results."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from benchmarks import packs_arrays  # noqa: F401 - registers the functions of numpy
from benchmarks.packs_cases import CASES, COMPARED, ONLY_STAR
from benchmarks.packs_peers import PEERS
from benchmarks.packs_place import Place

from starcast.queries import Query, load_queries
from starcast.queries.parameters import bind

SEVERAL = sorted(
    {query for query, library in PEERS if sum(query == other for other, _ in PEERS) > 1}
)


@cache
def shipped() -> dict[str, Query]:
    return load_queries()


@cache
def place() -> Place:
    """Return the benchmark data of S4, a small star graph on which every case is defined."""
    return Place("S4")


def test_every_query_has_benchmark_cases() -> None:
    """Columns to compare are declared for a query if, and only if, another library answers it."""
    assert CASES.keys() == shipped().keys()
    assert {query for query, _ in PEERS} == COMPARED.keys()


@pytest.mark.parametrize("name", sorted(CASES))
def test_each_benchmark_case_has_valid_parameters(name: str) -> None:
    assert "worst" in CASES[name]
    for case in CASES[name].values():
        bind(shipped()[name].parameters, place().parameters(case))


def test_columns_declared_for_comparison_are_columns_of_the_query() -> None:
    for name in sorted(COMPARED):
        assert set(COMPARED[name]) <= {column.name for column in shipped()[name].columns}


@pytest.mark.parametrize("name", SEVERAL)
def test_different_libraries_return_the_same_query_results(name: str) -> None:
    """NetworkX, igraph and numpy share only the topology, so each checks the others."""
    for case in CASES[name].values():
        given = bind(shipped()[name].parameters, place().parameters(case))
        results = [
            sorted(work(place(), given)) for (query, _), work in PEERS.items() if query == name
        ]
        assert results[0]
        assert all(result == results[0] for result in results)


# The tests below need the database engines of the dependency group `bench`.


@pytest.fixture(scope="module", params=["S4", "RR60,4,1"])
def stored(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Place, list[Any]]:
    """Return the benchmark data of a topology, and the database engines that store its rows."""
    pytest.importorskip("duckdb")
    pytest.importorskip("ladybug")
    from benchmarks.packs_engines import DuckDB, Ladybug

    filled, folder = Place(request.param), tmp_path_factory.mktemp("engines")
    engines = [DuckDB(folder), Ladybug(folder)]
    for engine in engines:
        engine.write(filled)
    return filled, engines


@pytest.mark.parametrize("name", sorted(CASES))
def test_database_engines_and_libraries_return_the_same_query_results(
    stored: tuple[Place, list[Any]], name: str
) -> None:
    """DuckDB, Ladybug, numpy and NetworkX share only the rows and the parameters."""
    from benchmarks import packs

    filled, engines = stored
    query = shipped()[name]
    if not filled.is_star and name in ONLY_STAR:
        return
    for case in CASES[name].values():
        given = bind(query.parameters, filled.parameters(case))
        results = [engine.ask(filled, query, given) for engine in engines if engine.answers(query)]
        for rows in results:
            assert all([*row] == [column.name for column in query.columns] for row in rows)
            for cells in library_results(filled, name, given):
                assert sorted(packs.compared_cells(filled, rows, COMPARED[name])) == cells
        if name not in packs.ANY_RESULT:
            assert all(
                packs.complete_rows(rows) == packs.complete_rows(results[0]) for rows in results
            )


def library_results(filled: Place, name: str, given: Mapping[str, Any]) -> list[Any]:
    """Return the results of NetworkX and igraph and, on star graphs, those of numpy."""
    return [
        sorted(work(filled, given))
        for (query, library), work in PEERS.items()
        if query == name and (filled.is_star or library != "numpy")
    ]


def test_each_statement_for_a_database_engine_belongs_to_a_query_or_is_the_schema(
    stored: tuple[Place, list[Any]],
) -> None:
    _, engines = stored
    for engine in engines:
        assert engine.statements.keys() - shipped().keys() == {"schema"}
