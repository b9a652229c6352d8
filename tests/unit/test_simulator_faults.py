"""Faults of nodes and links: their notation, their first step, and the units still required."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast import Fault, simulate, timing
from starcast import schedule as build
from starcast.judges.simulator import FaultLike
from starcast.support.html import STATIC
from starcast.support.vocabulary import FAULT
from starcast.topologies import as_topology
from support.meeting import refused
from support.simulator_cases import assert_same_verdict, built, fault_sets


def test_a_fault_is_formatted_as_the_text_from_which_it_was_parsed() -> None:
    """A fault that begins in step 1 is written without its step."""
    for text, fault in {
        "21345": Fault("21345", 1),
        "12345-21345": Fault(("12345", "21345")),
        "21345@3": Fault("21345", 3),
        "12345-21345@17": Fault(("12345", "21345"), 17),
        "0110": Fault("0110"),
        "2a3456789b1-a23456789b1": Fault(("2a3456789b1", "a23456789b1")),
        "#6@2": Fault(6, 2),
    }.items():
        assert Fault.parse(text) == Fault.parse(f" {text} ") == fault
        assert str(fault) == text
    assert Fault.parse("21345@1") == Fault("21345")


@given(st.data())
def test_every_formatted_fault_is_parsed_back_unchanged(data: st.DataObject) -> None:
    topology = as_topology(data.draw(st.sampled_from(["S3", "S4", "S4,2", "Q3"])))
    for fault in data.draw(fault_sets(topology, 9)):
        assert Fault.parse(str(fault)) == fault
        assert Fault.parse(str(fault)).on(topology) == fault


def test_equal_faults_on_a_topology_are_written_in_the_same_way() -> None:
    """Nodes are written as labels, and a link begins with its end of lower rank."""
    topology = as_topology("S4")
    written = {
        str(Fault(what, 2).on(topology)) for what in ((0, 6), (6, 0), ("2134", "1234"), ("1234", 6))
    }
    assert written == {"1234-2134@2"}
    assert str(Fault(6).on(topology)) == str(Fault("2134").on(topology)) == "2134"


def test_an_invalid_fault_notation_is_refused() -> None:
    texts = ["", " ", "-", "@3", "1-2-3", "12345-", "-21345"]
    steps = ["", "x", "-1", "1.5", "²", "9" * 5_000]
    for text in [*texts, *(f"21345@{step}" for step in steps)]:
        with refused(text.strip()[:20], "not a fault"):
            Fault.parse(text)
    for text in ("21345@0", "12345-21345@00"):
        with refused(", not 0"):
            Fault.parse(text)


def test_the_explorer_and_the_simulator_accept_the_same_fault_notation() -> None:
    """The explorer and `Fault.parse` use the same regular expression."""
    script = STATIC / "explorer" / "state.js"
    assert f"const FAULT = /^{FAULT.pattern}$/;" in script.read_text(encoding="utf-8")


def test_an_invalid_first_step_of_a_fault_is_refused() -> None:
    """A step of thousands of digits is not repeated in the message."""
    for step in (0, -1, True, 1.0, "1", None, 2**63 - 1):
        with refused(f", not {step!r}"):
            Fault("2134", step)  # type: ignore[arg-type]
    with refused("a larger number"):
        Fault("2134", 10**5_000)
    plan = build("S4", "broadcast", "greedy")
    assert simulate(plan, [Fault("2134", 2**63 - 2)]).complete


def test_a_fault_at_a_rank_that_is_too_large_is_refused() -> None:
    plan = build("S4", "broadcast", "greedy")
    with refused("has no node"):
        simulate(plan, [Fault.parse(f"#{10**17}")])
    with refused("9999"):
        simulate(plan, [Fault.parse(f"#{'9' * 5_000}")])


def test_the_two_ends_of_a_dead_link_may_be_given_as_a_list() -> None:
    """JSON and TOML have lists, but no tuples."""
    assert Fault(["1234", "2134"]) == Fault(("1234", "2134"))  # type: ignore[arg-type]


def test_a_fault_that_is_neither_a_node_nor_a_link_is_refused() -> None:
    plan = build("S4", "broadcast", "greedy")
    what: Any
    for what in ((), ("1234",), ("1234", "2134", "3214"), []):
        with refused("neither a node nor a link"):
            Fault(what)
        with refused():
            simulate(plan, faults=[what])
    unknown = ["1235", "123", "", 24, -1, None, 1.5]
    unlinked = [("1234", "2143"), ("1234", "1234"), ("1234", "999"), (0, 99)]
    for fault in (*unknown, *unlinked):
        with refused():
            simulate(plan, faults=[fault])  # type: ignore[list-item]
        with refused():
            simulate(plan, faults=[Fault(fault, 2)])  # type: ignore[arg-type]


def test_the_functions_of_python_accept_the_fault_notation_of_the_shell() -> None:
    judged = build("S4", "broadcast", "multiple")
    for text, fault in (
        ("#6@3", Fault("2134", 3)),
        ("2134", Fault(6)),
        ("#6-1234", Fault(("1234", "2134"))),
        ("1234-2134@2", Fault((0, 6), 2)),
    ):
        assert simulate(judged, [text]).undelivered == simulate(judged, [fault]).undelivered
        assert timing(judged, faults=[text]).time == timing(judged, faults=[fault]).time


def test_faults_may_be_a_set_or_an_iterator_but_a_single_fault_is_refused() -> None:
    plan = build("S4", "broadcast", "greedy")
    missing = simulate(plan, faults={"2134"}).missing
    assert simulate(plan, faults=iter(["2134"])).missing == missing > 0
    for faults in ("21345", None, 5, Fault("2134")):
        with refused("must be a list"):
            simulate(plan, faults=faults)  # type: ignore[arg-type]


def test_if_a_fault_is_given_twice_it_begins_in_the_earlier_step() -> None:
    """Neither the order and notation of faults nor the order of a link's ends matters."""
    schedule = build("S4", "alltoall", "edge-disjoint")
    link = ("1234", "2134")
    for what, other in (("2134", 6), (link, (6, 0)), (link, link[::-1])):
        alone = assert_same_verdict(schedule, [Fault(what, 3)])
        for faults in ([Fault(what, 3), Fault(other, 5)], [Fault(other, 5), Fault(what, 3)]):
            run = simulate(schedule, faults)
            assert (run.transmissions, run.missing, run.undelivered, run.remarks) == (
                alone.transmissions,
                alone.missing,
                alone.undelivered,
                alone.remarks,
            )


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (1, "from the start: it sends nothing"),
        (2, "from step 2: it sends nothing from then on"),
    ],
)
@pytest.mark.parametrize(
    ("collective", "algorithm"), [("broadcast", "recursive-substar"), ("scatter", "balanced")]
)
def test_a_remark_names_the_step_from_which_a_dead_root_sends_nothing(
    collective: str, algorithm: str, step: int, expected: str
) -> None:
    """Without the fault, the root sends the first of its two messages in step 1."""
    run = assert_same_verdict(build("S4", collective, algorithm, messages=2), [Fault("1234", step)])
    assert not run.complete
    assert (run.missing == 2 * 23) == (step == 1)
    assert run.remarks == (f"node 1234 is the root and dead {expected}",)


def test_a_gather_with_a_dead_root_is_complete_and_has_a_remark() -> None:
    run = assert_same_verdict(built(("S4", "gather", "balanced", "all")), [Fault("1234")])
    assert (run.complete, run.missing) == (True, 0)
    (remark,) = run.remarks
    assert "1234" in remark
    assert "nothing need be delivered" in remark


def test_dead_nodes_and_links_other_than_the_root_add_no_remark_to_the_result() -> None:
    for name, algorithm in (
        ("broadcast", "greedy"),
        ("scatter", "balanced"),
        ("gather", "balanced"),
    ):
        schedule = build("S4", name, algorithm)
        assert simulate(schedule, ["2134", ("1234", "3214")]).remarks == ()
        assert simulate(schedule).remarks == ()


@pytest.mark.whole
@pytest.mark.parametrize(
    ("dead", "subject", "them"),
    [
        ([Fault("2134")], "node 2134 is dead: its", "it"),
        ([Fault("2134"), Fault("1234", 3)], "2 nodes are dead: their", "them"),
    ],
    ids=["one", "two"],
)
@pytest.mark.parametrize(
    ("collective", "algorithm"), [("allgather", "edge-disjoint"), ("alltoall", "exact")]
)
def test_the_units_of_dead_sources_are_not_required_and_a_remark_says_so(
    collective: str, algorithm: str, dead: list[Fault], subject: str, them: str
) -> None:
    """In the tested collectives, allgather and alltoall, every node is a source."""
    schedule = build("S4", collective, algorithm)
    run = assert_same_verdict(schedule, [fault.on(schedule.topology) for fault in dead])
    assert run.remarks == (
        f"{subject} own units need not be delivered, and nothing need be delivered to {them}",
    )
    sources = {unit // schedule.units for _, unit in run.undelivered}
    assert not sources & {schedule.topology.node(str(fault.what)) for fault in dead}
    assert simulate(schedule, [("1234", "2134")]).remarks == ()


def test_simulation_results_do_not_depend_on_the_integer_type_of_schedule_columns() -> None:
    """The results are compared with and without faults."""
    schedule = build("S4", "broadcast", "multiple", segments=2)
    faults: list[FaultLike] = [3, ("1234", "2134")]
    for kind in (np.int64, np.uint64, np.int16, np.uint16):
        columns = {name: column.astype(kind) for name, column in schedule.columns.present().items()}
        other = replace(schedule, **columns)
        assert simulate(other).complete
        assert simulate(other, faults).missing == simulate(schedule, faults).missing
