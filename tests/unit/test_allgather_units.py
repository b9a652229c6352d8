"""Allgather algorithms that send one message at a time (Fragopoulou & Akl 1993).

A0 to A4 are sections of docs/definitions/fragopoulou-akl.md; its last section lists pitfalls.
"""

from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import allgather as page
from oracles import allgather_trees, rotation, star_graph
from oracles.rotation import v
from starcast.collectives import catalogue
from starcast.judges.simulator import simulate
from starcast.topologies import topology
from starcast.trees import forest as build_forest
from support.allgather_checks import all_sources, allgather, hops_of
from support.meeting import assert_complete, refused

ALL_PORT = ("rotated-hamiltonian", "necklace")
ALGORITHMS = (*ALL_PORT, "hamiltonian-cycle")
PAGES = {
    "rotated-hamiltonian": page.rotated_hamiltonian,
    "necklace": page.mbst_copies,
    "hamiltonian-cycle": page.cycle,
}

every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


def numbers_of_messages(n: int) -> list[int]:
    """Return numbers M of messages to test: small numbers, and numbers near multiples of n-1.

    For n > 2, the bound ceil(M(n!-1)/(n-1)) is below M ceil((n!-1)/(n-1)) exactly if M >= n-1.
    """
    return sorted({1, 2, 3, n - 1, n, 2 * (n - 1), 2 * n - 1} - {0})


def least_steps(n: int, messages: int) -> int:
    """Return the lower bound on steps, ceil(M(n!-1)/(n-1)) for M messages."""
    return -(-messages * (factorial(n) - 1) // (n - 1))


@every_algorithm
@pytest.mark.parametrize("n", range(3, 6))
def test_rows_equal_those_of_the_oracle(n: int, algorithm: str) -> None:
    for messages in numbers_of_messages(n):
        schedule = allgather(f"S{n}", algorithm, messages=messages)
        expected = PAGES[algorithm](n, messages)
        assert set(hops_of(schedule)) == expected
        assert len(schedule) == len(expected)


def test_rows_on_s6_equal_those_of_the_oracle() -> None:
    for algorithm in ALGORITHMS:
        schedule = allgather("S6", algorithm, messages=1)
        assert set(hops_of(schedule)) == PAGES[algorithm](6, 1)


def test_one_message_is_sent_in_phase_1_and_phase_2() -> None:
    """Phase 1 adds a node per step to each subtree, and phase 2 adds the leaves (section A2)."""
    for n in range(3, 7):
        sends = [*allgather_trees.phase_1(n), *allgather_trees.phase_2(n, factorial(n - 1))]
        schedule = hops_of(allgather(f"S{n}", "rotated-hamiltonian"))
        assert {hop[:4] for hop in schedule} == {
            (send.step, send.sender, send.port, send.receiver) for send in sends
        }


def test_a_single_message_reaches_every_node_in_the_step_of_the_formula() -> None:
    """The node with number m is reached in step ceil(m/(n-1)), over dimension v(m) (section A3)."""
    for n in range(3, 7):
        numbers = allgather_trees.mbst(n).numbers
        for hop in hops_of(allgather(f"S{n}", "necklace")):
            m = numbers[hop.receiver]
            assert (hop.step, hop.port) == (allgather_trees.step(m, n), v(m, n))


def test_in_phase_2_successive_messages_use_different_symbols_in_turn() -> None:
    """Message c arrives over the position of symbol 2 + (c mod (n-1)) in the receiver (A2)."""
    for n in range(3, 7):
        schedule = hops_of(allgather(f"S{n}", "rotated-hamiltonian", messages=n))
        for hop in schedule:
            if hop.receiver[0] == 1:
                assert hop.receiver[hop.port - 1] == 2 + hop.unit % (n - 1)


@every_algorithm
@pytest.mark.parametrize("n", range(2, 8))
def test_steps_are_minimal_for_every_number_of_messages(n: int, algorithm: str) -> None:
    """M messages take ceil(M(n!-1)/(n-1)) steps, the minimum.

    If M >= n-1, sending one message after the other takes more steps (pitfall 16). The n! sources
    send without a conflict if and only if the links of each step have different dimensions (A0).
    All sources together make M n! (n!-1) transmissions.
    """
    for messages in numbers_of_messages(n):
        schedule = allgather(f"S{n}", algorithm, messages=messages)
        if algorithm in ALL_PORT:
            assert schedule.steps == least_steps(n, messages)
            repeated = messages * least_steps(n, 1)
            assert (schedule.steps < repeated) == (n > 2 and messages >= n - 1)
        cells = {*zip(schedule.step.tolist(), schedule.port.tolist(), strict=True)}
        assert len(cells) == len(schedule)
        run = simulate(schedule)
        assert run.violation is None
        assert run.complete
        assert (run.steps, run.largest_packet) == (schedule.steps, 1)
        assert run.transmissions == messages * factorial(n) * (factorial(n) - 1)


def test_one_port_messages_are_sent_one_after_the_other() -> None:
    """M messages take M(n!-1) steps.

    In each step, one message of every source crosses one link (A4).
    """
    for n in range(2, 8):
        for messages in [1, 2, 5]:
            schedule = allgather(f"S{n}", "hamiltonian-cycle", messages=messages)
            assert np.array_equal(schedule.step, np.arange(1, messages * (factorial(n) - 1) + 1))
            assert np.array_equal(schedule.unit, np.repeat(np.arange(messages), factorial(n) - 1))


def test_n_minus_1_messages_keep_all_links_busy_in_every_step() -> None:
    """A single message leaves one link of each node idle in the last step, and none before."""
    for n in range(3, 8):
        for algorithm in ALL_PORT:
            full = allgather(f"S{n}", algorithm, messages=n - 1)
            assert len(full) == full.steps * (n - 1)
            single = allgather(f"S{n}", algorithm, messages=1)
            assert len(single) == single.steps * (n - 1) - 1
            assert n not in single.port[single.step == single.steps]


@every_algorithm
@pytest.mark.parametrize("messages", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_every_node_receives_every_unit(n: int, messages: int, algorithm: str) -> None:
    """The expanded schedule equals the oracle's schedule of all sources."""
    schedule = allgather(f"S{n}", algorithm, messages=messages)
    everything, wide = all_sources(schedule), schedule.expand()
    assert set(hops_of(wide)) == set(everything)
    assert (wide.units, wide.symmetric) == (factorial(n) * messages, False)
    assert len(wide) == factorial(n) * len(schedule)
    assert_complete(wide)


@pytest.mark.parametrize("n", [3, 4])
def test_in_phase_1_every_node_follows_the_local_forwarding_rule(n: int) -> None:
    """In step 1 every node sends its own message over the links of all dimensions (A2).

    In a step t > 1 it forwards n-1 messages. For each j, the message that arrived in step t-1 over
    dimension r^(j-2)(w_(t-1)) leaves over dimension r^(j-2)(w_t). The first path has the dimensions
    w_1, w_2, .., and r rotates dimensions.
    """
    w, r = allgather_trees.w(n), rotation.r
    hops = [
        hop
        for hop in hops_of(allgather(f"S{n}", "rotated-hamiltonian").expand())
        if hop.step <= factorial(n - 1)
    ]
    sent = {(hop.step, hop.sender, hop.port): hop.unit for hop in hops}
    received = {(hop.step, hop.receiver, hop.port): hop.unit for hop in hops}
    entry: dict[tuple[int, star_graph.Node, int], object] = {}
    for x in star_graph.nodes(n):
        for e in range(n - 1):
            entry[1, x, r(w[0], n, e)] = (x, 0)
            for t in range(2, len(w) + 1):
                entry[t, x, r(w[t - 1], n, e)] = received[t - 1, x, r(w[t - 2], n, e)]
    assert sent == entry


@pytest.mark.parametrize("n", [3, 4])
def test_phase_2_follows_rule_1_of_the_paper(n: int) -> None:
    """Over dimension i, node x receives the messages of the sources that Rule 1 names.

    A source other than x is named if its first symbol is that of x, and its last symbol is the one
    in position i of x. Pitfall 3 describes a misreading of this rule.
    """
    hops = [
        hop
        for hop in hops_of(allgather(f"S{n}", "rotated-hamiltonian").expand())
        if hop.step > factorial(n - 1)
    ]
    every = star_graph.nodes(n)
    assert sorted((hop.receiver, hop.port, hop.unit[0]) for hop in hops) == sorted(
        (x, i, q)
        for x in every
        for i in range(2, n + 1)
        for q in every
        if q != x and (q[0], q[-1]) == (x[0], x[i - 1])
    )


def test_in_a_one_port_step_all_nodes_use_the_same_dimension() -> None:
    """A node first sends its own message, then always the message received last (A4)."""
    for n in [2, 3, 4]:
        for messages in [1, 2]:
            hops = hops_of(allgather(f"S{n}", "hamiltonian-cycle", messages=messages).expand())
            received = {(hop.step, hop.receiver): hop.unit for hop in hops}
            length = factorial(n) - 1
            for step in range(1, messages * length + 1):
                now = [hop for hop in hops if hop.step == step]
                assert len({hop.port for hop in now}) == 1
                assert (
                    {hop.sender for hop in now}
                    == {hop.receiver for hop in now}
                    == set(star_graph.nodes(n))
                )
                for hop in now:
                    message, place = divmod(step - 1, length)
                    assert hop.unit == (
                        received[step - 1, hop.sender] if place else (hop.sender, message)
                    )


def test_schedules_have_the_expected_id_ports_and_number_of_units() -> None:
    for messages in [1, 2, 4, 9]:
        for algorithm in ALGORITHMS:
            schedule = allgather("S5", algorithm, root="54321", messages=messages)
            entry = catalogue.find("allgather", algorithm)
            assert (schedule.units, schedule.packets, schedule.symmetric, schedule.root) == (
                messages,
                False,
                True,
                119,
            )
            assert schedule.ports == ("one" if algorithm == "hamiltonian-cycle" else "all")
            assert (
                schedule.id
                == f"S5:allgather:{algorithm}:{schedule.ports}:messages={messages}:54321"
            )
            assert (
                len(schedule)
                == entry.rows(schedule.topology, {"messages": messages})
                == messages * 119
            )
            assert entry.count(schedule.topology, schedule.ports, {"messages": messages}) == len(
                schedule
            )


@every_algorithm
@pytest.mark.parametrize("root", [0, "42513"])
@pytest.mark.parametrize("messages", [1, 2, 3, 9])
def test_units_travel_along_the_forest(messages: int, root: int | str, algorithm: str) -> None:
    """A single message follows a tree of the catalogue, as do all messages on a Hamiltonian cycle.

    Other algorithms send several messages along up to n-1 trees, which the catalogue does not have.
    """
    schedule = allgather("S5", algorithm, root=root, messages=messages)
    forest = catalogue.find("allgather", algorithm).forest_construction(
        schedule.topology, schedule.ports, schedule.arguments
    )
    assert schedule.forest is not None
    schedule.forest.verify()
    assert np.array_equal(
        schedule.forest.parents()[schedule.tree, schedule.receiver], schedule.sender
    )
    if messages == 1 or algorithm == "hamiltonian-cycle":
        assert forest == algorithm
        assert schedule.forest.id == build_forest("S5", algorithm, root=root).id
        assert np.array_equal(
            schedule.forest.parent_port, build_forest("S5", algorithm, root=root).parent_port
        )
        assert not schedule.tree.any()
    else:
        assert forest is None
        assert (schedule.forest.trees, schedule.forest.construction) == (min(messages, 4), "array")
        assert np.array_equal(schedule.tree, schedule.unit % 4)


def test_all_rotations_of_the_necklace_tree_are_shortest_path_trees() -> None:
    """Rotation preserves distances, so every message arrives over a shortest path."""
    for n in range(3, 7):
        schedule = allgather(f"S{n}", "necklace", messages=n - 1)
        assert schedule.forest is not None
        assert schedule.forest.is_shortest_path
        assert schedule.forest.trees == n - 1


@given(st.sampled_from(ALGORITHMS), st.integers(1, 5), st.permutations(range(1, 5)))
def test_any_source_can_be_the_root(algorithm: str, messages: int, symbols: list[int]) -> None:
    q = tuple(symbols)
    original = allgather("S4", algorithm, messages=messages)
    moved = allgather("S4", algorithm, root=star_graph.label(q), messages=messages)
    assert set(hops_of(moved)) == {
        hop._replace(
            sender=star_graph.compose(q, hop.sender),
            receiver=star_graph.compose(q, hop.receiver),
        )
        for hop in hops_of(original)
    }
    assert set(hops_of(moved.expand())) == set(hops_of(original.expand()))


def test_bad_arguments_are_refused() -> None:
    """Refused are invalid or too large numbers of messages, and the other port model."""
    for algorithm in ALGORITHMS:
        for messages in (0, -1, 1.5, True, "2"):
            with refused("messages"):
                catalogue.schedule("S4", "allgather", algorithm, messages=messages)  # type: ignore[arg-type]
        with refused("port model"):
            allgather("S4", algorithm, "all" if algorithm == "hamiltonian-cycle" else "one")
        with refused("rows", exit_code=7):
            allgather("S4", algorithm, messages=10**7)
        assert not catalogue.find("allgather", algorithm).supports(topology("Q3"))
