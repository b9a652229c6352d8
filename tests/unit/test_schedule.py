"""Schedules: their columns and metadata, and invalid values that are refused."""

import pickle
from collections.abc import Callable
from copy import deepcopy
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest

from starcast import network, trees
from starcast.collectives import Schedule, schedule_from_columns
from starcast.collectives import schedule as build
from starcast.judges.simulator import simulate
from starcast.support.errors import LimitError
from support.meeting import (
    BROADCASTS,
    broadcast,
    plain_rows,
    refused,
)

COLLECTIVES = "broadcast, allgather, scatter, gather, alltoall, reduce, reduce-scatter, allreduce"
COLUMNS = ("step", "sender", "port", "receiver", "tree", "unit")


def test_a_broadcast_is_unchanged_by_expansion_and_cannot_be_symmetric() -> None:
    schedule = broadcast(4, "multiple", "all", 2)
    assert set(plain_rows(schedule.expand())) == set(plain_rows(schedule))
    with refused("symmetric"):
        replace(schedule, symmetric=True)


def test_a_schedule_is_frozen_and_replace_returns_a_changed_copy() -> None:
    schedule = broadcast(4, "greedy", "all", 1)
    with pytest.raises(FrozenInstanceError):
        schedule.ports = "one"  # type: ignore[misc]
    other = replace(schedule, step=schedule.step + 1)
    assert other.steps == schedule.steps + 1
    assert schedule.id in repr(schedule)
    assert schedule.step.min() == 1


@pytest.mark.parametrize("copied", [deepcopy, lambda given: pickle.loads(pickle.dumps(given))])  # noqa: S301
def test_schedules_and_forests_can_be_copied_and_sent_to_other_processes(
    copied: Callable[[Any], Any],
) -> None:
    ring = network([("a", "b"), ("b", "c"), ("c", "a")], name="ring")
    for given in (
        build("S4", "broadcast", "multiple", segments=2, root=3),
        build("S4", "alltoall", "exact"),
        build(ring, "allreduce", "ring"),
        trees.forest("S4", "dimension-change", base="multiple", i=1),
        trees.forest(ring, "breadth-first", "c"),
    ):
        found = copied(given)
        for each in fields(given):
            before, after = getattr(given, each.name), getattr(found, each.name)
            if isinstance(before, np.ndarray):
                assert np.array_equal(before, after)
                assert not after.flags.writeable
            else:
                assert str(before) == str(after)
        with pytest.raises(TypeError):
            found.arguments["i"] = 2


def test_schedule_columns_of_different_length_are_refused() -> None:
    for name in COLUMNS:
        schedule = broadcast(4, "greedy", "all", 1)
        with refused("length"):
            replace(schedule, **{name: getattr(schedule, name)[:-1]})


def test_the_number_of_segments_or_messages_must_be_a_positive_integer() -> None:
    for algorithm in sorted(BROADCASTS):
        for share in [0, -1, 1.5, 2.0, "2", True, None]:
            with refused(BROADCASTS[algorithm]):
                build("S4", "broadcast", algorithm, **{BROADCASTS[algorithm]: share})  # type: ignore[arg-type]


def test_an_unknown_port_model_is_refused() -> None:
    for ports in ["", "both", "All", "1"]:
        with refused():
            build("S4", "broadcast", "greedy", ports=ports)
        with refused():
            replace(broadcast(4, "greedy", "all", 1), ports=ports)  # type: ignore[arg-type]


def test_schedule_columns_are_read_only_and_writable_arrays_are_copied() -> None:
    s = build("S4", "broadcast", "multiple", segments=2)
    step = s.step.copy()
    other = replace(s, step=step)
    step[0] = 77
    assert other.step[0] == s.step[0]
    for name in ("step", "sender", "port", "receiver", "tree", "unit"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(other, name)[0] = 1


def test_invalid_columns_and_names_in_a_schedule_are_refused() -> None:
    cases: list[Any] = [
        ({"step": np.full(23, 1.9)}, "'step' float64"),
        ({"root": 99}, "99"),
        ({"topology": "S13"}, "S13"),
        ({"collective": "reduction"}, "unknown collective 'reduction'"),
        ({"combine": np.ones(23, dtype=bool)}, "broadcast cannot have the column 'combine'"),
        ({"ports": "two"}, "unknown port model 'two'"),
        ({"step": [1, 2, 3]}, "length"),
        ({"step": 1}, "'step' 0 dimensions"),
        ({"step": np.ones((23, 2), dtype=np.int32)}, "'step' 2 dimensions"),
        ({"units": 0}, "broadcast of 0 units 23"),
        ({"units": 1.5}, "units must be an integer, not 1.5"),
    ]
    for change, named in cases:
        schedule = build("S4", "broadcast", "greedy")
        with refused(*named.split()):
            replace(schedule, **change)


def test_the_hints_for_invalid_collectives_and_port_models_list_the_valid_names() -> None:
    changes: list[Any] = [
        ({"collective": "reduction"}, f"the collectives are {COLLECTIVES}"),
        ({"ports": "two"}, "write all or one"),
    ]
    for change, hint in changes:
        with refused() as refusal:
            replace(build("S4", "broadcast", "greedy"), **change)
        assert refusal.value.hint == hint


def test_a_schedule_can_be_built_from_arrays() -> None:
    """Columns may be lists, the topology a spec, and the root a label.

    A schedule without rows may have no units.
    """
    columns: dict[str, Any] = {
        "step": [1],
        "sender": [1],
        "port": [2],
        "receiver": [0],
        "tree": [0],
        "unit": [0],
    }
    named: Any = {"topology": "S2", "root": "21"}
    schedule = Schedule(
        collective="broadcast",
        algorithm="mine",
        ports="all",
        units=1,
        packets=False,
        **named,
        **columns,
    )
    assert simulate(schedule).complete
    assert schedule.id == "S2:broadcast:mine:all::21"
    nothing: dict[str, Any] = {name: np.empty(0, dtype=np.int32) for name in COLUMNS}
    assert len(replace(schedule, units=0, **nothing)) == 0


def test_the_number_of_segments_may_be_a_numpy_integer() -> None:
    share: Any = np.int64(3)
    assert build("S4", "broadcast", "greedy", segments=share).arguments == {"segments": 3}


def test_a_schedule_that_exceeds_memory_is_refused_before_its_trees_are_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trees, "forest", lambda *_: pytest.fail("trees were built"))
    with pytest.raises(LimitError, match="399,167,990 rows"):
        build("S11", "broadcast", "multiple")
    # Unlike an all-port schedule, this one-port schedule has the rows of all 5040 sources.
    with pytest.raises(LimitError, match=f"{5040 * 9 * 5039:,} rows"):
        build("S10,4", "allgather", "nk-multiple", "one")


def test_schedule_rows_are_sorted_by_step_even_if_their_values_are_large() -> None:
    largest = 2**31 - 1
    columns = {"step": [largest, 1], "sender": [0, 1], "port": [2, 2], "unit": [0, largest]}
    assert schedule_from_columns(columns, "S3", "broadcast").step.tolist() == [1, largest]
    nothing: dict[str, list[int]] = {name: [] for name in columns}
    assert len(schedule_from_columns(nothing, "S3", "broadcast")) == 0
