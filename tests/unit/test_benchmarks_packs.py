"""The benchmark of the query packs covers all their queries, and other libraries agree."""

from functools import cache

import pytest
from benchmarks import packs_arrays  # noqa: F401 - registers the functions of numpy
from benchmarks.packs_cases import CASES, COMPARED
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
    """Return the `Place` for S4, the smallest topology on which all benchmark cases make sense."""
    return Place("S4")


def test_all_queries_have_benchmark_cases_and_those_with_peers_are_compared() -> None:
    assert CASES.keys() == shipped().keys()
    assert {query for query, _ in PEERS} == COMPARED.keys()


@pytest.mark.parametrize("name", sorted(CASES))
def test_each_benchmark_case_has_valid_parameters(name: str) -> None:
    assert "worst" in CASES[name]
    for case in CASES[name].values():
        bind(shipped()[name].parameters, place().parameters(case))


def test_compared_columns_are_columns_of_the_query() -> None:
    for name in sorted(COMPARED):
        assert set(COMPARED[name]) <= {column.name for column in shipped()[name].columns}


@pytest.mark.parametrize("name", SEVERAL)
def test_the_other_libraries_return_the_same_results(name: str) -> None:
    """NetworkX, igraph and numpy share only the topology, so each checks the others."""
    for case in CASES[name].values():
        given = bind(shipped()[name].parameters, place().parameters(case))
        results = [
            sorted(work(place(), given)) for (query, _), work in PEERS.items() if query == name
        ]
        assert results[0]
        assert all(result == results[0] for result in results)
