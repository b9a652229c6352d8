"""The simulator against one that goes step by step: spoilt schedules, faults, and bad input."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.collectives import Schedule, schedule
from starcast.errors import StarcastError
from starcast.simulator import Fault, FaultLike, simulate
from starcast.topologies import topology
from support import oracles
from support.meeting import BROADCASTS, Down, agrees, broadcast, executed, refused

COLUMNS = ("step", "sender", "port", "receiver", "tree", "unit")
BASES = [(algorithm, ports) for algorithm in sorted(BROADCASTS) for ports in ("all", "one")]

every_base = pytest.mark.parametrize(("algorithm", "ports"), BASES)


def changed(made: Schedule, row: int, **values: int) -> Schedule:
    """The same schedule with other values in one row."""
    columns = {name: getattr(made, name).copy() for name in values}
    for name, value in values.items():
        columns[name] = columns[name].astype(np.int64)
        columns[name][row] = value
    return replace(made, **columns)


def kept(made: Schedule, rows: Sequence[int]) -> Schedule:
    """The schedule of these rows alone, in this order, repeated where named twice."""
    return replace(made, **{name: getattr(made, name)[list(rows)] for name in COLUMNS})


def extended(made: Schedule, *rows: tuple[int, int, int, int, int, int]) -> Schedule:
    """The schedule with more rows."""
    columns = zip(COLUMNS, zip(*rows, strict=True), strict=True)
    more: dict[str, Any] = {
        name: np.append(getattr(made, name), values) for name, values in columns
    }
    return replace(made, **more)


def judged_alike(spoilt: Schedule) -> None:
    """Both simulators find nothing wrong and see the same happen, or both name a row of the first step that is wrong."""
    outcome, run = executed(spoilt), simulate(spoilt)
    if not outcome.broken:
        assert run.violation is None
        assert run.complete == (not outcome.missing)
        agrees(run, outcome)
        return
    assert run.violation is not None
    assert not run.complete
    first = min(item.row.step for item in outcome.broken)
    rows = [item.row for item in outcome.broken if item.row.step == first]
    assert any(names(run.violation, row) for row in rows), (run.violation, rows)


def names(sentence: str, row: oracles.Plain) -> bool:
    """Whether the sentence gives the row's step, sender, port and receiver."""
    parts = (
        f"step {row.step}:",
        oracles.label(row.sender),
        f"port {row.port} ",
        oracles.label(row.receiver),
    )
    return all(part in sentence for part in parts)


def inner_row(made: Schedule) -> int:
    """A row of the middle of the schedule whose receiver passes the unit on."""
    senders = set(zip(made.sender.tolist(), made.tree.tolist(), made.unit.tolist(), strict=True))
    rows = zip(made.receiver.tolist(), made.tree.tolist(), made.unit.tolist(), strict=True)
    passing = [
        row for row, what in enumerate(rows) if what in senders and made.sender[row] != made.root
    ]
    return passing[len(passing) // 2]


# Spoilt schedules


@every_base
@given(st.data())
def test_dropped_rows(algorithm: str, ports: str, data: st.DataObject) -> None:
    made = broadcast(4, algorithm, ports, 2)
    gone = data.draw(st.sets(st.integers(0, len(made) - 1), min_size=1, max_size=3))
    spoilt = kept(made, [row for row in range(len(made)) if row not in gone])
    assert not simulate(spoilt).complete
    judged_alike(spoilt)


@every_base
@given(st.data())
def test_rows_in_another_step(algorithm: str, ports: str, data: st.DataObject) -> None:
    made = broadcast(4, algorithm, ports, 2)
    row = data.draw(st.integers(0, len(made) - 1))
    judged_alike(changed(made, row, step=data.draw(st.integers(-1, made.steps + 2))))


@every_base
@given(st.data())
def test_another_receiver(algorithm: str, ports: str, data: st.DataObject) -> None:
    made = broadcast(4, algorithm, ports, 2)
    row = data.draw(st.integers(0, len(made) - 1))
    judged_alike(changed(made, row, receiver=data.draw(st.integers(0, 23))))


@every_base
@given(st.data())
def test_another_port(algorithm: str, ports: str, data: st.DataObject) -> None:
    made = broadcast(4, algorithm, ports, 2)
    row = data.draw(st.integers(0, len(made) - 1))
    judged_alike(changed(made, row, port=data.draw(st.integers(0, 6))))


@every_base
@given(st.data())
def test_another_link(algorithm: str, ports: str, data: st.DataObject) -> None:
    """Sender, port and receiver belong together, but not here."""
    made = broadcast(4, algorithm, ports, 2)
    row, sender = data.draw(st.integers(0, len(made) - 1)), data.draw(st.integers(0, 23))
    port = data.draw(st.integers(2, 4))
    receiver = int(made.topology.neighbours(port, [sender])[0])
    judged_alike(changed(made, row, sender=sender, port=port, receiver=receiver))


@every_base
@given(st.data())
def test_another_unit(algorithm: str, ports: str, data: st.DataObject) -> None:
    made = broadcast(4, algorithm, ports, 2)
    row = data.draw(st.integers(0, len(made) - 1))
    judged_alike(changed(made, row, unit=data.draw(st.integers(-1, made.units))))


@every_base
@given(st.data())
def test_doubled_rows(algorithm: str, ports: str, data: st.DataObject) -> None:
    made = broadcast(4, algorithm, ports, 2)
    row = data.draw(st.integers(0, len(made) - 1))
    doubled = kept(made, [*range(len(made)), row])
    assert simulate(doubled).violation is not None
    judged_alike(doubled)


@every_base
@given(st.data())
def test_two_rows_that_change_places(algorithm: str, ports: str, data: st.DataObject) -> None:
    made = broadcast(4, algorithm, ports, 2)
    one, other = data.draw(
        st.lists(st.integers(0, len(made) - 1), min_size=2, max_size=2, unique=True)
    )
    steps = made.step.copy()
    steps[[one, other]] = steps[[other, one]]
    judged_alike(replace(made, step=steps))


@every_base
@given(st.data())
def test_of_several_wrong_rows_one_of_the_earliest_step_is_named(
    algorithm: str, ports: str, data: st.DataObject
) -> None:
    """Whatever rule they break: an early row that is sent too soon comes before a late one that is misaddressed."""
    spoilt = broadcast(4, algorithm, ports, 2)
    for _ in range(data.draw(st.integers(2, 4))):
        row = data.draw(st.integers(0, len(spoilt) - 1))
        name, highest = data.draw(
            st.sampled_from([("step", spoilt.steps), ("receiver", 23), ("port", 6)])
        )
        spoilt = changed(spoilt, row, **{name: data.draw(st.integers(1, highest))})
    judged_alike(spoilt)


@every_base
@given(st.integers(0, 2**32))
def test_the_order_of_the_rows_says_nothing(algorithm: str, ports: str, seed: int) -> None:
    made = broadcast(4, algorithm, ports, 2)
    order = np.random.default_rng(seed).permutation(len(made)).tolist()
    run = simulate(kept(made, order))
    assert run.complete
    agrees(run, executed(made))


@every_base
def test_the_sentence_names_step_sender_port_receiver_and_rule(algorithm: str, ports: str) -> None:
    """A unit that is passed on in the first step, before it is there."""
    made = broadcast(5, algorithm, ports, 2)
    row = inner_row(made)
    run = simulate(changed(made, row, step=1))
    assert run.violation is not None
    label = made.topology.label
    for part in (
        "step 1",
        label(int(made.sender[row])),
        f"port {made.port[row]}",
        label(int(made.receiver[row])),
    ):
        assert part in run.violation
    assert "hold" in run.violation
    assert not run.complete


@every_base
def test_a_dropped_row_to_a_leaf_is_an_undelivered_unit_and_no_violation(
    algorithm: str, ports: str
) -> None:
    made = broadcast(5, algorithm, ports, 2)
    assert made.forest is not None
    inner = set(made.forest.parents()[0].tolist())
    row = next(
        r for r in range(len(made)) if made.tree[r] == 0 and int(made.receiver[r]) not in inner
    )
    run = simulate(kept(made, [r for r in range(len(made)) if r != row]))
    assert run.violation is None
    assert not run.complete
    assert run.undelivered == ((made.topology.label(int(made.receiver[row])), int(made.unit[row])),)
    assert run.missing == 1


def test_a_unit_cannot_leave_in_the_step_in_which_it_arrives() -> None:
    """Store and forward: step t, then t+1 at the earliest."""
    made = broadcast(5, "greedy", "all", 1)
    row = inner_row(made)
    arrival = int(made.step[row])
    onward = next(r for r in range(len(made)) if made.sender[r] == made.receiver[row])
    assert made.step[onward] == arrival + 1
    run = simulate(changed(made, onward, step=arrival))
    assert run.violation is not None
    assert f"step {arrival}:" in run.violation


def test_a_unit_that_waits_is_no_violation() -> None:
    """A row may come later than it must, if the rows after it do too."""
    made = broadcast(5, "greedy", "all", 1)
    run = simulate(replace(made, step=2 * made.step + 3))
    assert run.complete
    assert run.violation is None
    assert run.steps == 2 * made.steps + 3
    assert run.links_used[0] == 0
    assert run.packet_sizes[0] == 0


def test_receiving_again_over_another_link_is_no_violation() -> None:
    """Redundant messages cost, but break no rule of the port models."""
    made = broadcast(4, "greedy", "all", 1)
    back = int(made.topology.neighbours(2, [23])[0])
    run = simulate(extended(made, (made.steps + 1, 23, 2, back, 0, 0)))
    assert run.complete
    assert run.violation is None
    assert run.transmissions == 24


def test_sending_again_later_over_the_same_link_is_no_violation() -> None:
    """The models limit what a link carries in a step (conventions.md), not what it has carried before."""
    made = broadcast(4, "greedy", "all", 1)
    again = kept(made, [*range(len(made)), 0])
    late = changed(again, len(made), step=made.steps + 1)
    judged_alike(late)
    assert simulate(late).complete


def test_units_may_share_a_packet_where_the_schedule_says_so() -> None:
    """Tseng & Sheu's packets hold several units; Fragopoulou & Akl's links carry one a step."""
    made = broadcast(4, "multiple", "all", 1)
    assert simulate(made).complete
    one_a_step = replace(made, packets=False)
    run = simulate(one_a_step)
    assert run.violation is not None
    assert "step 1:" in run.violation
    judged_alike(one_a_step)


@pytest.mark.parametrize("algorithm", sorted(BROADCASTS))
def test_an_all_port_schedule_is_no_one_port_schedule(algorithm: str) -> None:
    claimed = replace(broadcast(4, algorithm, "all", 1), ports="one")
    run = simulate(claimed)
    assert run.violation is not None
    assert "one-port" in run.violation
    assert "step 1:" in run.violation
    judged_alike(claimed)


@pytest.mark.parametrize("algorithm", sorted(BROADCASTS))
def test_a_one_port_schedule_is_an_all_port_schedule(algorithm: str) -> None:
    assert simulate(replace(broadcast(5, algorithm, "one", 2), ports="all")).complete


def test_two_receipts_in_a_step_are_caught_although_all_senders_differ() -> None:
    """One-port: the second way to break it, at the receiver."""
    made = broadcast(4, "greedy", "one", 1)
    t = made.topology
    last = made.steps
    spoilt = extended(
        made, *((last + 1, int(t.neighbours(port, [7])[0]), port, 7, 0, 0) for port in (2, 3))
    )
    run = simulate(spoilt)
    assert run.violation is not None
    assert f"step {last + 1}:" in run.violation
    assert t.label(7) in run.violation
    judged_alike(spoilt)
    assert simulate(replace(spoilt, ports="all")).violation is None


@pytest.mark.parametrize("name", ["sender", "receiver"])
@pytest.mark.parametrize("rank", [-1, 120, 2**31 - 1])
def test_a_row_to_or_from_nowhere_is_a_violation(name: str, rank: int) -> None:
    run = simulate(changed(broadcast(5, "greedy", "all", 1), 3, **{name: rank}))
    assert run.violation is not None
    assert str(rank) in run.violation
    assert not run.complete


@pytest.mark.parametrize("unit", [-1, 2, 99])
def test_a_unit_that_there_is_not_is_a_violation(unit: int) -> None:
    run = simulate(changed(broadcast(5, "greedy", "all", 2), 3, unit=unit))
    assert run.violation is not None
    assert str(unit) in run.violation


@pytest.mark.parametrize("step", [0, -3])
def test_steps_count_from_1(step: int) -> None:
    run = simulate(changed(broadcast(5, "greedy", "all", 1), 0, step=step))
    assert run.violation is not None
    assert f"step {step}:" in run.violation
    assert "count from 1" in run.violation


def test_a_schedule_of_no_rows_delivers_nothing() -> None:
    run = simulate(kept(broadcast(4, "greedy", "all", 2), []))
    assert (run.steps, run.transmissions, run.largest_packet) == (0, 0, 0)
    assert not run.complete
    assert run.violation is None
    assert run.missing == 23 * 2
    assert len(run.links_used) == len(run.packet_sizes) == 0


def test_the_schedule_is_not_believed() -> None:
    """Another root, or more units than are sent: the same rows no longer keep the promise."""
    made = broadcast(4, "greedy", "all", 2)
    assert simulate(replace(made, root=1)).violation is not None
    more = simulate(replace(made, units=3))
    assert more.violation is None
    assert more.missing == 23
    assert {unit for _, unit in more.undelivered} == {2}


def test_many_undelivered_units_are_counted_and_the_first_few_named() -> None:
    made = broadcast(5, "greedy", "all", 2)
    run = simulate(kept(made, []))
    assert run.missing == 119 * 2
    assert 0 < len(run.undelivered) < run.missing


# Faults


@st.composite
def faults(draw: st.DrawFn, nodes: int, spec: str, most: int = 4) -> list[Down]:
    """Dead nodes and links, as labels or as ranks."""
    t = topology(spec)

    def named(rank: int) -> int | str:
        return t.label(rank) if draw(st.booleans()) else rank

    found: dict[frozenset[int], Down] = {}
    for _ in range(draw(st.integers(1, most))):
        rank = draw(st.integers(0, nodes - 1))
        if draw(st.booleans()):
            found[frozenset((rank,))] = named(rank)
        else:
            other = int(t.neighbours(draw(st.sampled_from(t.ports)), [rank])[0])
            found[frozenset((rank, other))] = (named(rank), named(other))
    return list(found.values())


@every_base
@given(st.data())
def test_under_faults_both_simulators_lose_the_same_units(
    algorithm: str, ports: str, data: st.DataObject
) -> None:
    made = broadcast(
        4, algorithm, ports, 2, oracles.shift(oracles.identity(4), data.draw(st.integers(0, 3)))
    )
    drawn = data.draw(faults(24, "S4"))
    run, outcome = simulate(made, faults=drawn), executed(made, drawn)
    assert run.violation is None
    assert run.complete == (not outcome.missing)
    agrees(run, outcome)


@every_base
@given(st.data())
def test_rows_that_were_dropped_are_no_violation_under_faults(
    algorithm: str, ports: str, data: st.DataObject
) -> None:
    """A sender that does not hold the unit stays silent; why it does not is the same to it."""
    made = broadcast(4, algorithm, ports, 2)
    gone = data.draw(st.integers(0, len(made) - 1))
    spoilt = kept(made, [row for row in range(len(made)) if row != gone])
    drawn = data.draw(faults(24, "S4"))
    run = simulate(spoilt, faults=drawn)
    assert run.violation is None
    agrees(run, executed(spoilt, drawn))


@every_base
def test_a_dead_node_cuts_off_its_subtrees_and_is_owed_nothing(algorithm: str, ports: str) -> None:
    made = broadcast(5, algorithm, ports, 1)
    assert made.forest is not None
    t, dead = made.topology, int(made.forest.parents()[0].max())
    run = simulate(made, faults=[dead])
    assert not run.complete
    assert run.missing > 0
    assert t.label(dead) not in {label for label, _ in run.undelivered}
    agrees(run, executed(made, [dead]))


def test_a_dead_leaf_harms_nobody() -> None:
    made = broadcast(5, "greedy", "all", 2)
    assert made.forest is not None
    leaf = next(rank for rank in range(120) if rank not in set(made.forest.parents()[0].tolist()))
    run = simulate(made, faults=[made.topology.label(leaf)])
    assert run.complete
    assert run.missing == 0
    assert run.transmissions == 2 * 118


@every_base
def test_a_dead_root_sends_nothing_and_everybody_else_is_owed_everything(
    algorithm: str, ports: str
) -> None:
    made = broadcast(4, algorithm, ports, 2)
    run = simulate(made, faults=["1234"])
    assert (run.steps, run.transmissions, run.complete) == (0, 0, False)
    assert run.missing == 23 * made.units
    agrees(run, executed(made, ["1234"]))


def test_when_all_are_dead_nobody_is_owed_anything() -> None:
    run = simulate(broadcast(3, "greedy", "all", 1), faults=range(6))
    assert run.complete
    assert run.missing == 0
    assert run.transmissions == 0


@pytest.mark.parametrize("link", [("1234", "4231"), ("4231", "1234"), (0, "4231")])
def test_a_dead_link_is_dead_in_both_directions(link: tuple[int | str, int | str]) -> None:
    """Over this link the root reaches the substar of 1 in the last position."""
    made = broadcast(4, "recursive-substar", "all", 1)
    run = simulate(made, faults=[link])
    assert run.missing == 6
    assert {label[-1] for label, _ in run.undelivered} == {"1"}


def test_a_dead_link_that_no_tree_uses_harms_nobody() -> None:
    made = broadcast(4, "greedy", "all", 1)
    t = made.topology
    used = {
        frozenset(pair) for pair in zip(made.sender.tolist(), made.receiver.tolist(), strict=True)
    }
    unused = next(
        (rank, int(other))
        for port in t.ports
        for rank, other in enumerate(t.neighbours(port))
        if frozenset((rank, int(other))) not in used
    )
    assert simulate(made, faults=[unused]).complete


@pytest.mark.parametrize(
    "twice",
    [
        ["2134", 6],
        ["2134", Fault("2134", 3)],
        [("1234", "2134"), (6, 0)],
        [7, ("1234", "2134"), Fault(("2134", "1234"), 2)],
    ],
)
def test_the_same_fault_twice_counts_once(twice: list[FaultLike]) -> None:
    """A link is the same whichever end is named first."""
    made = broadcast(4, "multiple", "all", 1)
    once, again = simulate(made, faults=twice[:-1]), simulate(made, faults=twice)
    assert (again.transmissions, again.missing, again.undelivered) == (
        once.transmissions,
        once.missing,
        once.undelivered,
    )
    assert again.remarks == once.remarks


def test_faults_may_come_from_any_iterable() -> None:
    made = broadcast(4, "greedy", "all", 1)
    assert (
        simulate(made, faults=iter(["2134"])).missing == simulate(made, faults={"2134"}).missing > 0
    )


@pytest.mark.parametrize(
    "fault",
    ["1235", "123", "", 24, -1, ("1234", "2143"), ("1234", "1234"), ("1234", "999"), (0, 99)],
)
def test_a_fault_that_is_no_node_and_no_link_is_refused(fault: FaultLike) -> None:
    with refused():
        simulate(broadcast(4, "greedy", "all", 1), faults=[fault])


@pytest.mark.parametrize("fault", [(), ("1234",), ("1234", "2134", "3214"), None, 1.5])
def test_what_is_neither_node_nor_pair_is_refused(fault: object) -> None:
    with refused():
        simulate(broadcast(4, "greedy", "all", 1), faults=[fault])  # type: ignore[list-item]


def test_a_fault_is_checked_before_the_schedule_is_judged() -> None:
    """A broken schedule does not hide a misspelt fault."""
    broken = changed(broadcast(4, "greedy", "all", 1), 0, port=9)
    with refused("1235"):
        simulate(broken, faults=["1235"])


def test_more_units_than_memory_are_refused_with_a_way_out() -> None:
    with refused("units", exit_code=7):
        simulate(replace(broadcast(4, "greedy", "all", 1), units=10**12))


@pytest.mark.parametrize("faults", ["21345", None, 5])
def test_faults_that_are_no_list_are_refused(faults: object) -> None:
    with pytest.raises(StarcastError, match="not a list") as refusal:
        simulate(schedule("S5", "broadcast", "greedy"), faults=faults)  # type: ignore[arg-type]
    assert refusal.value.hint
