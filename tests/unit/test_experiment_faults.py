"""Faults of an experiment point, which are named or drawn at random, and their canonical form."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import star_graph
from starcast import network
from starcast.collectives import schedule
from starcast.experiments.faults import canonical_faults, resolve_faults
from starcast.judges.simulator import Fault, simulate
from starcast.support.axes import drawn_faults, read_faults
from starcast.topologies import topology
from support.meeting import refused

SPECS = ("S3", "S4", "S5", "S4,2", "S5,3", "Q3")
seeds = st.integers(0, 2**63 - 1)


def neighbours(spec: str, label: str) -> set[str]:
    network = topology(spec)
    return {
        network.label(int(network.neighbours(port, [network.rank(label)])[0]))
        for port in network.ports
    }


@given(st.sampled_from(SPECS), st.integers(1, 5), seeds)
def test_the_requested_number_of_faulty_nodes_is_drawn_but_never_the_root(
    spec: str, amount: int, seed: int
) -> None:
    network = topology(spec)
    drawn = resolve_faults(network, f"{amount} nodes", seed)
    assert len(set(drawn)) == len(drawn) == amount
    assert network.label(0) not in drawn
    assert {network.rank(label) for label in drawn} <= set(range(1, network.nodes))


@given(st.sampled_from(SPECS), st.integers(1, 6), seeds)
def test_the_requested_number_of_faulty_links_is_drawn(spec: str, amount: int, seed: int) -> None:
    links = resolve_faults(topology(spec), f"{amount} links", seed)
    drawn = [tuple(link.split("-")) for link in links]
    assert len({frozenset(link) for link in drawn}) == len(drawn) == amount
    assert all(two in neighbours(spec, one) for one, two in drawn)


@pytest.mark.parametrize(("words", "all_of_them"), [("1 node", 23), ("1 link", 36)])
def test_every_link_and_every_node_except_the_root_can_be_drawn_as_a_fault(
    words: str, all_of_them: int
) -> None:
    """S4 has 24 nodes and 36 links. The 600 draws miss some link with a probability of 2e-6."""
    assert len({resolve_faults(topology("S4"), words, seed) for seed in range(600)}) == all_of_them


def test_more_faults_than_nodes_or_links_are_refused() -> None:
    """S3 has 5 nodes besides the root, and 6 links, all of which can be drawn."""
    for seed in range(20):
        assert len(resolve_faults(topology("S3"), "6 links", seed)) == 6
    for words in ["6 nodes", "7 links", "99999999 nodes"]:
        with refused(f"S3 has fewer than {words}"):
            resolve_faults(topology("S3"), words, 0)


def test_named_faults_are_sorted_and_written_in_canonical_form() -> None:
    network = topology("S4")
    assert resolve_faults(network, "4231-1234 2134-1234@1 3214 2134 3214", 7) == (
        "2134", "3214", "1234-2134", "1234-4231",
    )  # fmt: skip
    assert resolve_faults(network, "2134@3 2134", 0) == ("2134", "2134@3")
    for word in ("1234-2134@2", "2134-1234@2"):
        assert canonical_faults(network, [word]) == ("1234-2134@2",)
    assert canonical_faults(network, ["#6", "#0-#6@3"]) == ("2134", "1234-2134@3")
    assert resolve_faults(network, "none", 3) == ()


def test_a_faulty_node_labelled_with_a_word_that_has_another_meaning_is_written_with_its_step() -> (
    None
):
    """Otherwise, the printed command of a run would mean a run without faults."""
    named = network([("none", "nodes"), ("nodes", "2"), ("2", "none")])
    for text, written in [
        ("none@1", ("none@1",)),
        ("2 nodes@1", ("2", "nodes@1")),
        ("none@3", ("none@3",)),
    ]:
        assert resolve_faults(named, text, 0) == written
        assert resolve_faults(named, read_faults(" ".join(written), "faults"), 0) == written


@given(st.sampled_from(SPECS), st.sampled_from(["2 nodes", "3 links"]), seeds, st.integers(1, 9))
def test_the_simulator_parses_the_canonical_form_of_faults(
    spec: str, words: str, seed: int, step: int
) -> None:
    for word in resolve_faults(topology(spec), words, seed):
        (late,) = canonical_faults(topology(spec), [f"{word}@{step}"])
        assert str(Fault.parse(late)) == late
        assert late == (word if step == 1 else f"{word}@{step}")


def test_the_root_may_be_named_as_a_fault() -> None:
    """The simulator then reports an incomplete run and gives a reason."""
    (root,) = resolve_faults(topology("S4"), "1234", 0)
    outcome = simulate(schedule("S4", "broadcast", "greedy"), [Fault.parse(root)])
    assert not outcome.complete
    assert outcome.remarks


def test_named_faults_that_are_not_in_the_topology_are_refused() -> None:
    for word, sentence in [
        ("12345", "12345"),
        ("1234-4321", "'1234-4321' is not a link of S4"),
        ("1234-1234", "'1234-1234' is not a link of S4"),
        ("2134@0", "not 0"),
        ("2134-1234-3214", "is not a fault"),
        ("@3", "is not a fault"),
    ]:
        with refused(sentence):
            canonical_faults(topology("S4"), [word])


def test_faulty_links_of_s4_must_join_neighbours() -> None:
    network = topology("S4")
    for x, y in combinations(star_graph.nodes(4), 2):
        word = f"{star_graph.label(x)}-{star_graph.label(y)}"
        if y in {star_graph.swap(x, i) for i in (2, 3, 4)}:
            assert canonical_faults(network, [word]) == (word,)
        else:
            with refused("is not a link"):
                canonical_faults(network, [word])


def test_extra_spaces_and_tabs_between_faults_are_accepted() -> None:
    assert read_faults(" none ", "faults") == "none"
    assert read_faults("2  nodes", "faults") == "2 nodes"
    assert read_faults("2134\t1234-2134", "faults") == "2134 1234-2134"


def test_malformed_faults_are_refused() -> None:
    texts = ("0 nodes", "0 links", "00 nodes", "2134-", "-2134", "2134@", "2134@x", "a-b-c")
    for words in ("", " ", *texts):
        with refused("is not a valid description of faults"):
            read_faults(words, "faults")


def test_faults_are_drawn_at_random_only_if_a_number_of_nodes_or_links_is_given() -> None:
    texts = ("1 node", "3 links", "none", "2134", "1234-2134@2")
    assert [drawn_faults(text) for text in texts] == [(1, "node"), (3, "link"), *[None] * 3]
