"""The exact times that `timing` computes in both execution models, compared with a simulation."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast import Schedule, schedule, simulate, timing
from starcast.costs import Machine, price_simulation
from starcast.judges.simulator import packets
from starcast.support.errors import InputError, RejectedError
from starcast.support.vocabulary import EXECUTION_MODELS, ExecutionModel
from starcast.topologies import as_topology
from support.examples import max_examples
from support.same_times import Numbers, assert_same_times
from support.simulator_cases import Base, bases, built, changed, fault_sets

#: Topologies on which the schedules of all sources have fewer than ten thousand rows.
SMALL = ("S2", "S3", "S4", "S3,1", "S3,2", "S4,2", "Q1", "Q2", "Q3")
BASES = bases(*SMALL)
BOTH = pytest.mark.parametrize("execution", EXECUTION_MODELS)
MACHINES = (
    (64, 100, 1),
    (1, 0, 1),
    (Fraction(23, 7), Fraction(5, 3), Fraction(1, 9)),
    (3, 1, 0),
)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(spec, marks=pytest.mark.slow if spec == "S4" else ())
        for spec in sorted(SMALL, key="S3".__ne__)
    ],
)
def test_the_times_of_all_algorithms_equal_those_of_an_event_simulation(
    spec: str,
) -> None:
    """Synchronous times equal the costs that the simulator reports.

    Asynchronous times are never larger than synchronous times.
    """
    for base in bases(spec):
        assert_times(base)


def assert_times(base: Base) -> None:
    """Compare times of an algorithm on several machines with the simulator and the oracle."""
    judged = built(base)
    for machine in MACHINES:
        unit, t_s, t_c = map(Fraction, machine)
        priced = price_simulation(simulate(judged), unit, Machine(t_s, t_c))
        assert timing(judged, unit, t_s, t_c).time == priced.time
        assert timing(judged, unit, t_s, t_c, execution="asynchronous").time <= priced.time
    for machine in MACHINES[::3] if base[0] in ("S3", "S4", "S4,2") else MACHINES:
        for execution in EXECUTION_MODELS:
            assert_same_times(judged, execution, machine)


def build(words: str, **arguments: Any) -> Schedule:
    """Return a schedule; ``words`` are its topology, its collective and its algorithm."""
    spec, collective, algorithm = words.split()
    return schedule(spec, collective, algorithm, **arguments)


@BOTH
@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("S4 broadcast multiple", {"segments": 5}),
        ("S4 broadcast multiple", {"segments": 3, "ports": "one"}),
        ("S4 broadcast edge-disjoint", {"messages": 3, "copies": 2}),
        ("S4 broadcast edge-disjoint", {"messages": 2, "copies": 3}),
        ("S4 scatter edge-disjoint", {"messages": 2, "copies": 2}),
        ("S3 alltoall edge-disjoint", {"messages": 2, "copies": 2}),
        ("S3 allgather edge-disjoint", {"messages": 2, "copies": 2}),
        ("S4 scatter perfectly-balanced", {"messages": 3}),
        ("S4 gather balanced", {"messages": 2}),
        ("S3 alltoall exact", {"messages": 2}),
        ("S4,2 broadcast nk-multiple", {"segments": 3}),
        ("Q3 broadcast edge-disjoint-binomial", {"messages": 4}),
    ],
)
@pytest.mark.parametrize("machine", MACHINES[::2])
def test_times_with_segments_messages_or_copies_equal_those_of_an_event_simulation(
    words: str, arguments: dict[str, Any], machine: Numbers, execution: ExecutionModel
) -> None:
    assert_same_times(build(words, **arguments), execution, machine)


@BOTH
@given(data=st.data())
@max_examples(60)
def test_times_of_schedules_under_faults_equal_those_of_an_event_simulation(
    execution: ExecutionModel, data: st.DataObject
) -> None:
    small = [base for base in BASES if base[0] in ("S3", "S4", "S3,1", "Q2")]
    base = data.draw(st.sampled_from([base for base in small if base[:2] != ("S4", "alltoall")]))
    judged = built(base)
    faults = data.draw(fault_sets(as_topology(base[0]), judged.steps + 1))
    assert_same_times(judged, execution, data.draw(st.sampled_from(MACHINES)), faults)


@given(data=st.data())
@max_examples(60)
def test_executing_several_steps_together_does_not_change_the_computed_times(
    data: st.DataObject,
) -> None:
    """The batch size, which the test varies, determines how many steps are executed together."""
    judged = built(data.draw(st.sampled_from(BASES)))
    expected = timing(judged, execution="asynchronous")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packets, "_BATCH", data.draw(st.integers(1, 200)))
        found = timing(judged, execution="asynchronous")
    assert found.time == expected.time
    assert np.array_equal(found.arrivals, expected.arrivals)
    assert found.critical_path == expected.critical_path


def _rows(spec: str, units: int, *rows: tuple[int, str, int, int], **parameters: Any) -> Schedule:
    """Return a schedule, by default a broadcast, with these rows (step, sender, port, unit)."""
    network = as_topology(spec)
    step, sender, port, unit = map(np.array, zip(*rows, strict=True))
    ranks = np.array([network.rank(label) for label in sender], dtype=np.int32)
    receiver = network.step(port.astype(np.uint8), ranks)
    return Schedule(
        network,
        **{"collective": "broadcast", "ports": "all", "packets": True, **parameters},
        algorithm="own",
        units=units,
        step=step,
        sender=ranks,
        port=port,
        receiver=receiver,
        tree=np.zeros(len(step), dtype=np.uint8),
        unit=unit,
    )


@pytest.mark.parametrize("batch", [1, 2**16])
def test_in_asynchronous_execution_a_unit_sent_in_a_later_step_can_arrive_earlier(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Node 110 gets unit 0 in steps 3 and 5. The first delivery waits for a large packet."""
    monkeypatch.setattr(packets, "_BATCH", batch)
    big = [(1, "000", 1, unit) for unit in range(1, 10)]
    rows = [
        *big,
        (2, "000", 1, 0),
        (3, "100", 2, 0),  # delivers unit 0 to node 110
        (3, "000", 2, 0),
        (5, "010", 1, 0),  # delivers unit 0 to node 110 again, much earlier
        (4, "110", 3, 0),  # node 110 forwards the unit
    ]
    judged = _rows("Q3", 10, *rows)
    found = assert_same_times(judged, "asynchronous", (1, 1, 1))
    sent_on = found.link_busy[as_topology("Q3").rank("110")].sum()
    assert sent_on == 2
    assert timing(judged, 1, 1, 1).time == 10 + 4 * 2


def test_in_asynchronous_execution_a_source_does_not_wait_for_a_unit_that_returns_to_it() -> None:
    """The source sends the unit in steps 1 and 3. Another node sends it back in step 2."""
    rows = [(1, "000", 1, 0), (2, "100", 1, 0), (3, "000", 2, 0)]
    judged = _rows("Q3", 8, *rows, collective="scatter")
    assert assert_same_times(judged, "asynchronous", (1, 1, 1)).time == 2 * 2


@BOTH
@given(data=st.data())
@max_examples(40)
def test_times_of_schedules_with_gaps_between_steps_equal_those_of_an_event_simulation(
    execution: ExecutionModel, data: st.DataObject
) -> None:
    """The test moves rows of a schedule to later steps."""
    base = data.draw(st.sampled_from([base for base in BASES if base[0] in ("S3", "S4", "Q3")]))
    judged = built(base)
    delay = np.sort(data.draw(st.lists(st.integers(0, 3), min_size=judged.steps)))[: judged.steps]
    step = judged.step + delay[judged.step - 1]
    assert_same_times(replace(judged, step=step.astype(np.int32)), execution, (2, 3, 1))


@BOTH
def test_a_schedule_without_rows_takes_no_time(execution: ExecutionModel) -> None:
    full = schedule("S3", "broadcast", "greedy")
    empty = replace(full, **{name: column[:0] for name, column in full.columns.present().items()})
    found = timing(empty, execution=execution)
    assert (found.time, found.critical_path) == (0, ())
    assert found.arrivals.tolist() == [0, -1, -1, -1, -1, -1]
    assert not found.link_busy.any()
    assert timing(empty, 10**30, 10**40, execution=execution).time == 0


@pytest.mark.parametrize(
    ("words", "arguments", "synchronous", "asynchronous"),
    [
        ("S4 broadcast multiple", {"segments": 4}, 2444, 2124),
        ("S5 broadcast multiple", {"segments": 16}, 5636, 5344),
        ("S6 broadcast multiple", {"segments": 4}, 3748, 3236),
        ("S4 alltoall exact", {}, 3444, 3444),
        ("S5 alltoall exact", {}, 18204, 18204),
        ("S5 scatter balanced", {}, 4920, 4920),
        ("S5 broadcast recursive-substar", {}, 1148, 1148),
        ("S4 reduce multiple", {"segments": 4}, 2444, 2124),
        ("S4 reduce-scatter ring", {"messages": 2}, 23 * 164, 23 * 164),
        ("S4 allreduce ring", {"messages": 2, "ports": "one"}, 92 * 164, 92 * 164),
    ],
)
def test_computed_times_equal_times_recorded_from_independent_simulators(
    words: str, arguments: dict[str, Any], synchronous: int, asynchronous: int
) -> None:
    judged = build(words, **arguments)
    assert timing(judged).time == synchronous
    assert timing(judged, execution="asynchronous").time == asynchronous
    if not judged.symmetric:
        return
    assert timing(judged.expand(), execution="asynchronous").time == asynchronous


@BOTH
def test_computed_times_are_exact_even_if_they_do_not_fit_into_int64(
    execution: ExecutionModel,
) -> None:
    """Times are multiples of a tick. Multiples that do not fit into int64 are Python integers."""
    judged = schedule("S4", "broadcast", "multiple", segments=4)
    huge = timing(judged, 64 * 10**30, 100 * 10**30, 1, execution=execution)
    assert huge.time == timing(judged, execution=execution).time * 10**30
    odd = (Fraction(10**20 + 39, 3), Fraction(10**25 + 13, 7), 1)
    found = assert_same_times(judged, execution, odd)
    assert isinstance(found.time, Fraction)
    assert found.arrivals.dtype == object


def test_machine_parameters_given_as_floats_or_decimals_are_converted_exactly() -> None:
    judged = schedule("S3", "broadcast", "greedy")
    assert timing(judged, 1, Decimal("0.1"), 0).time == Fraction(judged.steps, 10)
    assert timing(judged, 1, 0.1, 0).time == judged.steps * Fraction(0.1)
    assert timing(judged, np.int64(64), 0.5, 0).time == Fraction(judged.steps, 2)


def test_times_without_a_fractional_part_are_returned_as_integers() -> None:
    judged = schedule("S4", "broadcast", "multiple", segments=4)
    found = timing(judged, Fraction(1, 2), 2, 2, execution="asynchronous")
    assert isinstance(found.time, int)
    assert found.arrivals.dtype == np.int64
    assert found.link_busy.shape == (24, 3)


def test_the_computed_time_is_exact_even_if_it_is_larger_than_every_float() -> None:
    judged = schedule("S3", "broadcast", "greedy")
    for execution in ("synchronous", "asynchronous"):
        found = timing(judged, 10**400, Fraction(1, 3), 2, execution=execution)
        assert found.time == judged.steps * (2 * 10**400 + Fraction(1, 3))


@pytest.mark.parametrize(
    ("values", "message", "hint"),
    [
        ({"unit_bytes": 0}, "unit_bytes must be positive", "more than 0"),
        ({"unit_bytes": -1}, "unit_bytes must be positive", "more than 0"),
        ({"t_s": Decimal("1E400")}, "t_s must be a finite number", "a Decimal"),
        ({"t_s": Decimal("sNaN")}, "t_s must be a finite number", "a Decimal"),
        ({"t_s": -5}, "t_s must not be negative, but is -5", "0 or more"),
        ({"t_c": Fraction(-1, 2)}, "t_c must not be negative, but is -1/2", "0 or more"),
        ({"t_s": float("nan")}, "t_s must be a finite number, but is nan", "finite"),
        ({"t_c": "1"}, "t_c must be a finite number, but is '1'", "Fraction"),
        ({"t_c": True}, "t_c must be a finite number, but is True", "Fraction"),
        ({"execution": "clocked"}, "unknown execution model 'clocked'", "synchronous or asynch"),
        ({"faults": ["99"]}, "99", ""),
    ],
)
def test_invalid_machine_parameters_or_faults_are_refused_by_the_function_timing(
    values: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(InputError) as caught:
        timing(schedule("S3", "broadcast", "greedy"), **values)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_the_time_of_an_invalid_schedule_is_undefined() -> None:
    judged = schedule("S4", "broadcast", "greedy")
    spoilt = changed(judged, len(judged) - 1, step=1)
    with pytest.raises(
        RejectedError, match="is undefined, because the schedule is invalid: step 1:"
    ):
        timing(spoilt, execution="asynchronous")


def test_a_schedule_takes_no_time_if_start_ups_and_bytes_take_no_time() -> None:
    """With T_s = T_c = 0, all packets arrive at time 0."""
    found = timing(schedule("S4", "alltoall", "exact"), 1, 0, 0, execution="asynchronous")
    assert found.time == 0
    assert not found.arrivals.any()


def test_a_symmetric_allreduce_along_two_trees_takes_the_same_time_if_it_is_expanded() -> None:
    """At node 0, both trees complete the unit in step 3, but at different times.

    Translation changes the ranks of nodes, so the expanded rows are in a different order.
    """
    rows = [
        (1, 2, 2, 0, 0, True),
        (3, 1, 3, 0, 0, True),
        (3, 1, 3, 0, 1, True),
        (3, 2, 2, 0, 1, True),
        (4, 0, 3, 2, 1, False),
    ]
    step, sender, port, receiver, tree, combine = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    one = Schedule(
        as_topology("K3"), "allreduce", "own", "all", units=1, packets=True, step=step,
        sender=sender, port=port, receiver=receiver, tree=tree, unit=np.zeros(5, dtype=int),
        combine=combine, symmetric=True,
    )  # fmt: skip
    assert simulate(one).violation is None
    times = timing(one, execution="asynchronous")
    expanded = timing(one.expand(), execution="asynchronous")
    assert times.time == expanded.time
    assert times.arrivals.tolist() == expanded.arrivals.tolist()
