"""Reductions: reversed scatters, broadcasts and allgathers, violations, and numbers of steps."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles.simulator import execute_all
from starcast import Fault, Schedule, schedule, schedule_from_columns, simulate, timing
from starcast.collectives.algorithm import algorithms_on
from starcast.collectives.one_to_all import build_scatter
from starcast.collectives.reductions import reverse_schedule
from starcast.formats import export, read_schedule
from starcast.topologies import as_topology, memory
from starcast.trees import forest
from support.meeting import assert_complete, refused
from support.simulator_cases import assert_same_verdict, flipped, kept, plan_of

REVERSED = {"gather": "scatter", "reduce": "broadcast", "reduce-scatter": "allgather"}


@pytest.mark.parametrize("spec", ["S2", "S4", "S4,2", "Q1", "Q3"])
@pytest.mark.parametrize("collective", REVERSED)
def test_reversed_scatters_broadcasts_and_allgathers_are_gathers_and_reductions(
    spec: str, collective: str
) -> None:
    """Reversing such a schedule again gives the original schedule, with the same id and columns."""
    network = as_topology(spec)
    names = [entry.name for entry in algorithms_on(network, collective)]
    assert names == [entry.name for entry in algorithms_on(network, REVERSED[collective])]
    for entry in algorithms_on(network, collective):
        for ports in entry.ports:
            forward = schedule(network, REVERSED[collective], entry.name, ports)
            backward = schedule(network, collective, entry.name, ports)
            assert (backward.combine is None) == (collective == "gather")
            assert backward.combine is None or backward.combine.all()
            assert backward.symmetric == forward.symmetric
            again = reverse_schedule(backward)
            assert again.id == forward.id
            for name, column in forward.columns.present().items():
                assert np.array_equal(getattr(again, name), column)


def test_recursive_halving_and_doubling_take_the_published_number_of_steps() -> None:
    """Halving and doubling take d steps each on 2^d nodes (Thakur, Rabenseifner & Gropp 2005).

    In each of the two phases, a node sends 2^d - 1 blocks in total.
    """
    both = simulate(schedule("Q4", "allreduce", "binomial"))
    assert both.steps == 8
    assert both.packet_sizes.tolist() == [8, 4, 2, 1, 1, 2, 4, 8]


Change = Callable[[Schedule], Schedule]


def _row(reduction: Schedule, combine: bool) -> int:
    """Return the number of the last row that sends a sum, or of the first that sends a unit."""
    assert reduction.combine is not None
    rows = np.flatnonzero(reduction.combine == combine)
    return int(rows[-1] if combine else rows[0])


CHANGES: dict[str, tuple[Change, str]] = {
    "a lost sum": (
        lambda all_: kept(all_, np.delete(np.arange(len(all_)), _row(all_, combine=True))),
        "lacks contributions",
    ),
    "a sum that arrives twice": (
        lambda all_: replace(
            kept(all_, [*range(len(all_)), 0]),
            step=np.append(all_.step, 2).astype(np.int32),
            packets=True,
        ),
        "counted twice",
    ),
    "a sum instead of the complete unit": (
        lambda all_: flipped(all_, _row(all_, combine=False)),
        "counted twice",
    ),
    "a complete unit instead of a sum": (
        lambda all_: flipped(all_, _row(all_, combine=True)),
        ": ",  # the sum is sent too early, or changed by a later addition
    ),
    "steps exchanged": (
        lambda all_: replace(all_, step=all_.step[::-1].copy()),
        "lacks contributions",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("spec", "algorithm", "ports"),
    [("S4", "greedy", "all"), ("S4", "necklace", "all"), ("Q3", "binomial", "one")],
)
def test_an_allreduce_that_loses_or_repeats_a_contribution_is_invalid(
    spec: str, algorithm: str, ports: str, change: str
) -> None:
    make, words = CHANGES[change]
    wrong = make(schedule(spec, "allreduce", algorithm, ports).expand())
    run = assert_same_verdict(wrong)
    assert not run.complete
    assert run.violation is not None
    assert words in run.violation


def test_an_allreduce_that_exchanges_overlapping_sums_is_invalid() -> None:
    """Recursive doubling exchanges disjoint sums, so repeating one of its steps is a violation."""
    cube = as_topology("Q3")
    ranks = np.arange(8)
    port = np.repeat([1, 2, 3], 8)
    columns: dict[str, Any] = {
        "step": port,
        "sender": np.tile(ranks, 3),
        "port": port,
        "unit": np.zeros(24, dtype=int),
        "combine": np.ones(24, dtype=bool),
    }
    doubling = schedule_from_columns(columns, cube, "allreduce", ports="one")
    assert assert_same_verdict(doubling).complete
    assert timing(doubling, execution="asynchronous").time == 3 * 164
    again = schedule_from_columns(
        {**columns, "port": np.where(port == 3, 2, port)}, cube, "allreduce"
    )
    violation = assert_same_verdict(again).violation
    assert violation is not None
    assert violation.endswith(
        "step 3: 000 sends unit 0 over port 2 to 010: counted twice: the"
        " arriving sum and the receiver's sum share a contribution"
    )


def test_a_reduction_whose_check_needs_more_memory_than_the_machine_has_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a node sends its sum twice, the check needs one bit per pair of nodes."""
    columns = {"step": [1, 2], "sender": [1, 1], "port": [2, 2], "unit": [0, 0], "combine": [1, 1]}
    reduce = schedule_from_columns(columns, "S6", "reduce")
    assert simulate(reduce).violation is not None
    monkeypatch.setattr(memory, "physical", lambda: 100_000)
    with refused("not enough memory for the sets of contributions of 720 nodes", exit_code=7):
        simulate(reduce)


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_a_reduction_along_three_trees_tolerates_every_dead_link_only_with_three_copies(
    copies: int,
) -> None:
    """A dead link is in at most two trees, so with three copies one tree delivers the full sum."""
    reduce = schedule("S4", "reduce", "edge-disjoint", copies=copies)
    assert assert_same_verdict(reduce).complete
    links = zip(reduce.sender.tolist(), reduce.receiver.tolist(), strict=True)
    lost = [not simulate(reduce, [(start, end)]).complete for start, end in links]
    assert any(lost) == (copies < 3)


def test_in_a_reduction_contributions_of_dead_nodes_are_not_required() -> None:
    reduce = schedule("S4", "reduce", "greedy")
    leaf = int(np.setdiff1d(reduce.sender, reduce.receiver)[0])
    run = assert_same_verdict(reduce, [Fault(leaf).on(reduce.topology)])
    assert run.complete
    assert "contributions need not be delivered" in run.remarks[0]
    inner = Fault(int(reduce.receiver[0])).on(reduce.topology)
    assert not assert_same_verdict(reduce, [inner]).complete


@pytest.mark.parametrize(
    ("collective", "combine", "message"),
    [
        ("broadcast", [True], "a schedule of a broadcast cannot have the column 'combine'"),
        ("reduce", None, "a schedule of a reduce needs the column 'combine'"),
        ("reduce", [2], "'combine' of a schedule has the invalid value 2"),
        ("reduce", ["yes"], "'combine' of a schedule cannot have dtype"),
        ("reduce", [True, False], "differ in length"),
    ],
)
def test_the_schedule_column_combine_is_required_in_reductions_and_otherwise_refused(
    collective: Any, combine: Any, message: str
) -> None:
    columns = {"step": [1], "sender": [1], "port": [2], "unit": [0], "combine": combine}
    given = {name: values for name, values in columns.items() if values is not None}
    with refused(message):
        schedule_from_columns(given, "S2", collective)
    assert execute_all(plan_of(schedule("S2", "reduce", "greedy"))).missing == set()


@pytest.mark.parametrize("file_format", ["goal", "csv"])
@pytest.mark.parametrize(
    ("spec", "collective", "algorithm"),
    [
        ("S3", "reduce", "multiple"),
        ("S3", "reduce-scatter", "necklace"),
        ("S3", "allreduce", "greedy"),
        ("Q3", "allreduce", "binomial"),
    ],
)
def test_an_exported_reduction_is_read_back_unchanged(
    tmp_path: Path, spec: str, collective: Any, algorithm: str, file_format: Any
) -> None:
    written = schedule(spec, collective, algorithm).expand()
    file = tmp_path / f"mine.{file_format}"
    export(written, file, to=file_format)
    read = read_schedule(file, spec, collective, ports=written.ports)
    for name, column in written.columns.present().items():
        assert np.array_equal(getattr(read, name), column)


def test_reversing_a_scatter_on_an_nk_star_uses_the_reverse_ports() -> None:
    """In S_{5,2} the two ends of a link may have different ports."""
    topology = as_topology("S5,2")
    draft = build_scatter(forest(topology, "nk-greedy"), "all", 2)
    scatter = draft.complete(topology, "scatter", "nk-greedy")
    gather = reverse_schedule(scatter)
    assert any(topology.reverse_port(port) != port for port in np.unique(scatter.port).tolist())
    assert_complete(gather)


@pytest.mark.parametrize(
    ("collective", "algorithm"), [("allreduce", "greedy"), ("alltoall", "necklace")]
)
def test_allreduce_and_alltoall_cannot_be_reversed(collective: str, algorithm: str) -> None:
    with refused(collective, "reverse"):
        reverse_schedule(schedule("S4", collective, algorithm))
