"""The benchmark of the packs asks every shipped query, and what it compares with gives the right answers."""

from functools import cache

import pytest
from benchmarks import packs_arrays  # noqa: F401 - registers what numpy answers
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
    """S4, which is large enough for every case to mean something."""
    return Place("S4")


def test_every_shipped_query_has_its_cases_and_nothing_else_has() -> None:
    assert sorted(CASES) == sorted(shipped())


@pytest.mark.parametrize("name", sorted(CASES))
def test_each_case_gives_a_query_what_it_takes(name: str) -> None:
    assert "worst" in CASES[name]
    for case in CASES[name].values():
        bind(shipped()[name].parameters, place().parameters(case))


@pytest.mark.parametrize("name", sorted(COMPARED))
def test_answers_are_compared_by_columns_that_the_query_has(name: str) -> None:
    assert set(COMPARED[name]) <= {column.name for column in shipped()[name].columns}


def test_every_other_answer_is_compared() -> None:
    assert {query for query, _ in PEERS} == COMPARED.keys()


@pytest.mark.parametrize("name", SEVERAL)
def test_the_libraries_agree(name: str) -> None:
    """NetworkX, igraph and numpy share no code but the topology, so that each is the others' oracle."""
    for case in CASES[name].values():
        given = bind(shipped()[name].parameters, place().parameters(case))
        answers = [
            sorted(work(place(), given)) for (query, _), work in PEERS.items() if query == name
        ]
        assert answers[0]
        assert all(answer == answers[0] for answer in answers)
