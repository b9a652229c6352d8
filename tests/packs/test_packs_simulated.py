"""Results of queries about faults and steps agree with the simulator."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from starcast import schedule, simulate
from starcast.collectives import Schedule
from starcast.queries import find, run
from starcast.stores import GraphAddress
from starcast.stores.graph.connection import Graph
from starcast.trees import forest
from support.packs.oracle_tools import Case
from support.packs.oracles_faults import some_faults
from support.packs.stored_data import loaded, schedules

FOREST = forest("S4", "edge-disjoint")
FAULTS = [some_faults(FOREST, seed) for seed in range(3, 12)]
STAR = [plan for spec in ("S3", "S4") for plan in schedules(spec)]


@pytest.fixture(scope="module")
def graph(graph_address: GraphAddress) -> Iterator[Graph]:
    """A graph store with S3, S4, their forests and their schedules."""
    with Graph.open(graph_address) as opened, loaded(opened, ["S3", "S4"]):
        yield opened


def query_rows(graph: Graph, name: str, **given: Any) -> list[dict[str, Any]]:
    """Return the rows of the query with this name."""
    return [dict(row) for row in run(graph, find(name), given).rows]


def missing(case: Case, messages: int, copies: int) -> int:
    """Return the number of (node, message) pairs missing after a broadcast with faults."""
    sent = schedule("S4", "broadcast", "edge-disjoint", messages=messages, copies=copies)
    links = [tuple(link.split("-")) for link in case["dead_links"]]
    return simulate(sent, [*case["dead_nodes"], *links]).missing


@pytest.mark.slow
@pytest.mark.parametrize("case", FAULTS, ids=str)
def test_nodes_that_a_tree_does_not_reach_miss_its_message(graph: Graph, case: Case) -> None:
    """Message m uses tree m, so it is missing at the nodes that this tree does not reach."""
    totals = [0, *(missing(case, messages, copies=1) for messages in range(1, FOREST.trees + 1))]
    unreached = [row["unreached"] for row in query_rows(graph, "damage", **case)]
    assert unreached == [more - fewer for fewer, more in pairwise(totals)]
    assert len(query_rows(graph, "cut-off", **case)) == totals[-1]


@pytest.mark.parametrize("copies", range(1, FOREST.trees + 1))
@pytest.mark.parametrize("case", FAULTS, ids=str)
def test_nothing_is_missing_if_the_query_says_that_all_nodes_are_reached(
    graph: Graph, case: Case, copies: int
) -> None:
    """With one copy the converse holds too.

    With several copies, a node that one copy does not reach can forward another.
    """
    (row,) = query_rows(graph, "faults/copies", **case, copies=copies, messages=FOREST.trees)
    lacking = missing(case, FOREST.trees, copies)
    assert not (row["all_reached"] and lacking)
    assert copies > 1 or row["all_reached"] == (not lacking)
    assert row["all_choices_reach"] <= row["all_reached"]


def test_some_of_the_tested_faults_cut_off_nodes_and_some_do_not(graph: Graph) -> None:
    """If all had the same outcome, the tests above would prove nothing."""
    outcomes = {
        query_rows(graph, "faults/copies", **case, copies=2, messages=3)[0]["all_reached"]
        for case in FAULTS
    }
    assert outcomes == {True, False}


@pytest.mark.parametrize(
    "plan", [plan for plan in STAR if not plan.symmetric], ids=lambda plan: plan.id
)
def test_the_steps_query_gives_the_step_profile_of_the_simulator(
    graph: Graph, plan: Schedule
) -> None:
    executed = simulate(plan)
    rows = query_rows(graph, "steps", schedule=plan.id)
    assert [row["links_used"] for row in rows] == executed.links_used.tolist()
    assert [row["largest_packet"] for row in rows] == executed.packet_sizes.tolist()


@pytest.mark.parametrize(
    "plan", [plan for plan in STAR if plan.symmetric], ids=lambda plan: plan.id
)
def test_the_dimensions_query_for_one_source_gives_the_links_used_by_all(
    graph: Graph, plan: Schedule
) -> None:
    """If one source uses a dimension, all sources together use each of its links once."""
    executed = simulate(plan)
    rows = query_rows(graph, "dimensions", schedule=plan.id)
    assert [
        plan.topology.nodes * len(row["dimensions"]) for row in rows
    ] == executed.links_used.tolist()
    assert [max(row["units"]) for row in rows] == executed.packet_sizes.tolist()
