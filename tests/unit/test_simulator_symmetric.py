"""The dimension rule against all sources written out: one verdict, and the same counts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starcast.collectives import Schedule, schedule
from starcast.simulator import simulate
from support.meeting import refused
from support.simulating import Base, bases, built, by_lot, changed, fault_sets, kept, same, spoilt


def symmetric(*specs: str) -> list[Base]:
    """The algorithms whose schedule of one source stands for all."""
    return [base for base in bases(*specs) if built(base).symmetric]


#: Q3 has none in the catalogue; its symmetric schedules are drawn by lot.
SMALL = symmetric("S3", "S4", "S3,1", "S4,2", "S4,3", "S5,3")


@pytest.mark.parametrize("base", [*SMALL, *symmetric("S5")], ids=" ".join)
def test_one_source_says_what_all_written_out_say(base: Base) -> None:
    made = built(base)
    run = simulate(made)
    assert run.complete
    same(run, simulate(made.expand()))


@pytest.mark.parametrize("base", [base for base in SMALL if base[0] != "S5,3"], ids=" ".join)
@settings(max_examples=6)
@given(st.data())
def test_spoilt_schedules_get_one_verdict(base: Base, data: st.DataObject) -> None:
    made = data.draw(spoilt(built(base)))
    if addressed(made):  # what is not cannot be written out
        same(simulate(made), simulate(made.expand()))


@settings(max_examples=80)
@given(by_lot("S3", "S4", "Q2", "Q3", "S3,1", "S4,2", "S4,3", symmetric=True))
def test_schedules_by_lot_get_one_verdict(made: Schedule) -> None:
    same(simulate(made), simulate(made.expand()))


@given(st.data())
def test_under_faults_all_sources_are_written_out(data: st.DataObject) -> None:
    made = data.draw(by_lot("S3", "Q2", "S4,2", symmetric=True))
    faults = data.draw(fault_sets(made.topology, 7))
    one, all_of_them = simulate(made, faults), simulate(made.expand(), faults)
    same(one, all_of_them)
    assert one.undelivered == all_of_them.undelivered
    assert one.remarks == all_of_them.remarks


@pytest.mark.parametrize("root", [0, 1, 7, 23])
@pytest.mark.parametrize("base", symmetric("S4"), ids=" ".join)
def test_whichever_source_is_written_out(base: Base, root: int) -> None:
    spec, collective, name, ports = base
    same(simulate(schedule(spec, collective, name, ports, root)), simulate(built(base)))


def test_two_rows_of_one_port_collide_somewhere_whatever_their_senders() -> None:
    """Lemma 7 of Fragopoulou & Akl 1996: one source alone would not notice."""
    made = built(("S4", "allgather", "edge-disjoint", "all"))
    late = int(np.flatnonzero(made.step == made.steps)[0])
    port = int(made.port[late])
    twice = kept(
        made,
        [
            *range(len(made)),
            int(np.flatnonzero((made.port == port) & (made.step < made.steps))[-1]),
        ],
    )
    moved = changed(twice, len(made), step=made.steps)
    run = simulate(moved)
    assert run.violation is not None
    assert f"step {made.steps}:" in run.violation
    assert "all sources" in run.violation
    assert simulate(replace(moved, collective="broadcast", symmetric=False)).violation is None
    packets = simulate(replace(moved, packets=True))
    assert packets.violation is None
    assert packets.largest_packet == 2


def test_one_port_all_rows_of_a_step_share_a_port() -> None:
    made = built(("S4", "allgather", "dimension-change", "one"))
    assert simulate(made).complete
    step = made.step.copy()
    step[made.step == 2] = 1
    run = simulate(replace(made, step=step))
    assert run.violation is not None
    assert "step 1:" in run.violation
    assert "one-port" in run.violation


def test_counts_are_those_of_all_sources() -> None:
    """The exact alltoall keeps all links of all nodes busy in every step but the last ones."""
    made = built(("S4", "alltoall", "exact", "all"))
    run = simulate(made)
    assert run.transmissions == 24 * len(made) == int(run.links_used.sum())
    assert run.links_used.max() == made.topology.nodes * made.topology.degree
    assert run.largest_packet == 1


def test_undelivered_units_are_those_of_the_source_that_is_written_out() -> None:
    """By the units of its own rows, and counted for all sources."""
    made = built(("S4", "alltoall", "exact", "all"))
    last = len(made) - 1
    run = simulate(kept(made, range(last)))
    assert run.undelivered == (
        (made.topology.label(int(made.receiver[last])), int(made.unit[last])),
    )
    assert run.missing == 24


def test_what_no_memory_holds_written_out_is_refused_only_where_it_must_be_written_out() -> None:
    """S_8 is judged by its one source; under a fault, all 40 320 would have to be written out."""
    made = schedule("S8", "alltoall", "exact")
    assert simulate(made).complete
    with refused("rows", exit_code=7):
        simulate(made, faults=[1])
    residual = schedule("S9,6", "allgather", "nk-greedy")
    with refused("rows", exit_code=7):
        simulate(residual)


def addressed(made: Schedule) -> bool:
    """Whether all nodes and units of the rows exist, and each receiver is across the port."""
    topology = made.topology
    inside = (
        (made.sender >= 0)
        & (made.sender < topology.nodes)
        & (made.unit >= 0)
        & (made.unit < made.units)
    )
    ports = np.isin(made.port, topology.ports)
    if not (inside & ports).all():
        return False
    return bool((topology.step(made.port.astype(np.uint8), made.sender) == made.receiver).all())
