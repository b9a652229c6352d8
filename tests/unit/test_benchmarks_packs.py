"""The benchmark of the packs covers every shipped query, and the other libraries agree."""

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
    """Return S4, the smallest topology on which every case makes sense."""
    return Place("S4")


def test_exactly_the_shipped_queries_have_cases() -> None:
    assert sorted(CASES) == sorted(shipped())


@pytest.mark.parametrize("name", sorted(CASES))
def test_each_case_has_valid_parameters(name: str) -> None:
    assert "worst" in CASES[name]
    for case in CASES[name].values():
        bind(shipped()[name].parameters, place().parameters(case))


def test_results_are_compared_by_columns_of_the_query() -> None:
    for name in sorted(COMPARED):
        assert set(COMPARED[name]) <= {column.name for column in shipped()[name].columns}


def test_every_result_of_another_library_is_compared() -> None:
    assert {query for query, _ in PEERS} == COMPARED.keys()


@pytest.mark.parametrize("name", SEVERAL)
def test_the_libraries_agree(name: str) -> None:
    """NetworkX, igraph and numpy share only the topology, so each is an oracle of the others."""
    for case in CASES[name].values():
        given = bind(shipped()[name].parameters, place().parameters(case))
        results = [
            sorted(work(place(), given)) for (query, _), work in PEERS.items() if query == name
        ]
        assert results[0]
        assert all(result == results[0] for result in results)
