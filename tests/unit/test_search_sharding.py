"""Searches divided into shards, and the merging of their records."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from starcast.records import Attempt, Proof, Record, shipped_record
from starcast.records.model import combine_records
from starcast.search import Budget
from starcast.search.running import (
    SearchTask,
    merge_searches,
    plan_searches,
    run_searches,
    search_shard,
)
from starcast.support.errors import InputError, LimitError, RejectedError
from starcast.support.parallel import local_processes
from starcast.support.shards import Shard
from support.shards import seal

BUDGET = Budget(60, 1_000)
#: Name of the witness array of a bisection.
HALVES = "side"
PROBLEMS = ["one-port-broadcast", "edge-disjoint-trees"]


def no_record(task: SearchTask) -> Record | None:
    """Return None, so that each search begins without a known record."""
    del task
    return None


def values_of(records: list[Record]) -> dict[str, tuple[int, int]]:
    """Return the value and the bound of each record, keyed by record id."""
    return {record.id: (record.value, record.bound) for record in records}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files of three shards that together run all searches."""
    folder = tmp_path_factory.mktemp("searches")
    tasks = plan_searches(PROBLEMS, ["S3", "Q3"], {}, [0, 1])
    files = [folder / f"{index}.json" for index in (1, 2, 3)]
    done = [
        len(search_shard(tasks, Shard(index, 3), file, BUDGET, no_record))
        for index, file in enumerate(files, start=1)
    ]
    assert done == [3, 3, 2]
    return files


def test_merged_search_shards_give_the_same_records_as_a_search_without_shards(
    parts: list[Path],
) -> None:
    tasks = plan_searches(PROBLEMS, ["S3", "Q3"], {}, [0])
    alone = [record for _, record in run_searches(tasks, BUDGET, no_record)]
    assert values_of([each.record for each in merge_searches(parts)]) == values_of(alone)
    assert values_of(alone) == {
        "one-port-broadcast:S3": (3, 3),
        "edge-disjoint-trees:S3": (5, 5),
        "one-port-broadcast:Q3": (3, 3),
        "edge-disjoint-trees:Q3": (4, 4),
    }


def test_a_wrong_value_or_bound_in_a_search_shard_is_refused(
    parts: list[Path], tmp_path: Path
) -> None:
    def changed(name: str, value: object) -> list[Path]:
        files = []
        for file in parts:
            content = json.loads(file.read_text(encoding="utf-8"))
            del content["sha256"]
            for result in content["results"].values():
                if result["record"]["problem"] == "one-port-broadcast":
                    result["record"] |= {name: value, "optimal": False}
            files.append(tmp_path / file.name)
            files[-1].write_bytes(seal(content))
        return files

    with pytest.raises(RejectedError, match="one-port-broadcast"):
        merge_searches(changed("value", 4))
    with pytest.raises(
        RejectedError, match="the bound 2 without a proof; the bound proved by theory is 3"
    ):
        merge_searches(changed("bound", 2))


def test_a_search_starts_from_the_record_of_the_search_with_the_previous_seed() -> None:
    """The first seed finds an optimum, so searches with later seeds have nothing to do."""
    tasks = plan_searches(["edge-disjoint-trees"], ["S3"], {}, [0, 1, 2])
    first, *others = [record for _, record in run_searches(tasks, BUDGET, no_record)]
    assert first.optimal
    assert [record.tried for record in others] == [first.tried, first.tried]


def test_the_best_value_and_the_best_bound_of_several_records_are_combined() -> None:
    record = shipped_record("bisection-width", "S4")
    evidence = {name: each for name, each in record.witness.items() if name != HALVES}
    assert evidence
    shared = record.tried[:1]
    proof = Proof("no halves", "DRAT", "a", "b", 1, "c", "d")
    bounding = replace(
        record,
        value=10,
        witness={HALVES: np.zeros_like(record.witness[HALVES]), **evidence},
        proof=proof,
        tried=(*shared, Attempt("cutting planes", 7, "none", 2.0)),
        seconds=9.0,
    )
    finding = replace(
        record,
        bound=6,
        witness={HALVES: record.witness[HALVES]},
        reason="theory",
        tried=(*shared, Attempt("tabu", 8, "witness", 3.0)),
        seconds=4.0,
    )
    for records in ([bounding, finding], [finding, bounding]):
        found = combine_records(records)
        assert (found.value, found.bound, found.reason) == (8, 8, record.reason)
        assert (found.proof, found.optimal) == (proof, True)
        np.testing.assert_array_equal(found.witness[HALVES], record.witness[HALVES])
        assert found.witness.keys() == record.witness.keys()
        assert len(found.tried) == len(shared) + 2
        assert found.seconds == records[0].seconds + records[1].tried[-1].seconds


def test_planned_searches_are_ordered_by_seed_and_each_is_listed_once() -> None:
    tasks = plan_searches(["one-port-broadcast"], ["S4", "S4,3", "S4"], {}, [3, 5])
    assert [str(task) for task in tasks] == [
        f"the search one-port-broadcast on {spec} with seed {seed}"
        for seed in (3, 5)
        for spec in ("S4", "S4,3")
    ]


def test_searches_that_are_not_defined_or_empty_are_refused() -> None:
    with pytest.raises(InputError, match="is not defined on S2"):
        plan_searches(["bisection-width"], ["S4", "S2"], {}, [0])
    with pytest.raises(InputError, match="has no argument 'congestion'"):
        plan_searches(["bisection-width"], ["S4"], {"congestion": 2}, [0])
    with pytest.raises(InputError, match="there is nothing to search"):
        plan_searches([], ["S4"], {}, [0])


def test_a_worker_with_less_free_memory_than_the_limit_of_a_search_refuses_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The memory limit of the search is 1000 MB, but only 500 MB are free."""
    monkeypatch.setattr("starcast.topologies.memory.available", lambda: 500 * 10**6)
    tasks = plan_searches(["one-port-broadcast"], ["S3"], {}, [7])
    with (
        local_processes(1) as executor,
        pytest.raises(LimitError, match=r"with seed 7 may use 1,000 MB of memory, but only 500 MB"),
    ):
        list(run_searches(tasks, BUDGET, no_record, executor=executor))
