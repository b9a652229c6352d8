"""What the queries answer about faults and about steps is what the simulator finds when it executes a schedule."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from starcast import schedule, simulate
from starcast.collectives import Schedule
from starcast.graph.address import GraphAddress
from starcast.graph.connection import Graph
from starcast.queries import find, run
from starcast.trees import forest
from support.packs.asking import Case
from support.packs.loading import loaded, schedules
from support.packs.oracles_faults import some_faults

FOREST = forest("S4", "edge-disjoint")
FAULTS = [some_faults(FOREST, seed) for seed in range(3, 12)]
STAR = [plan for spec in ("S3", "S4") for plan in schedules(spec)]


@pytest.fixture(scope="module")
def graph(graph_address: GraphAddress) -> Iterator[Graph]:
    """The store with S3 and S4, their forests and schedules."""
    with Graph.open(graph_address) as opened, loaded(opened, ["S3", "S4"]):
        yield opened


def ask(graph: Graph, name: str, **given: Any) -> list[dict[str, Any]]:
    """The rows of a shipped query."""
    return [dict(row) for row in run(graph, find(name), given).rows]


def missing(case: Case, messages: int, copies: int) -> int:
    """How many (node, message) pairs are missing when messages are sent along the trees under faults."""
    sent = schedule("S4", "broadcast", "edge-disjoint", messages=messages, copies=copies)
    links = [tuple(link.split("-")) for link in case["links"]]
    return simulate(sent, [*case["nodes"], *links]).missing


@pytest.mark.parametrize("case", FAULTS, ids=str)
def test_what_a_tree_does_not_reach_lacks_the_message_sent_along_it(
    graph: Graph, case: Case
) -> None:
    """Message m goes along tree m: what one message more leaves missing is what its tree does not reach."""
    totals = [0, *(missing(case, messages, copies=1) for messages in range(1, FOREST.trees + 1))]
    cut = [row["cut"] for row in ask(graph, "damage", **case)]
    assert cut == [more - fewer for fewer, more in pairwise(totals)]
    assert len(ask(graph, "cut-off", **case)) == totals[-1]


@pytest.mark.parametrize("copies", range(1, FOREST.trees + 1))
@pytest.mark.parametrize("case", FAULTS, ids=str)
def test_where_copies_reach_everybody_nothing_is_missing(
    graph: Graph, case: Case, copies: int
) -> None:
    """And the other way round with one copy; of several, a node may pass on another one than that which it lacks."""
    (row,) = ask(graph, "faults/copies", **case, copies=copies, messages=FOREST.trees)
    lacking = missing(case, FOREST.trees, copies)
    assert not (row["everybody"] and lacking)
    assert copies > 1 or row["everybody"] == (not lacking)
    assert row["any_trees"] <= row["everybody"]


def test_some_of_those_faults_leave_everybody_something_and_some_do_not(graph: Graph) -> None:
    """Or the tests above would prove nothing."""
    answers = {
        ask(graph, "faults/copies", **case, copies=2, messages=3)[0]["everybody"] for case in FAULTS
    }
    assert answers == {True, False}


@pytest.mark.parametrize(
    "plan", [plan for plan in STAR if not plan.symmetric], ids=lambda plan: plan.id
)
def test_the_overview_of_the_steps_is_that_of_the_simulator(graph: Graph, plan: Schedule) -> None:
    executed = simulate(plan)
    rows = ask(graph, "steps", schedule=plan.id)
    assert [row["busy"] for row in rows] == executed.links_used.tolist()
    assert [row["largest"] for row in rows] == executed.packet_sizes.tolist()


@pytest.mark.parametrize(
    "plan", [plan for plan in STAR if plan.symmetric], ids=lambda plan: plan.id
)
def test_the_dimensions_of_one_source_tell_what_all_sources_together_do(
    graph: Graph, plan: Schedule
) -> None:
    """Every directed link of a dimension in use is busy, and carries as many units as the dimension does for one source."""
    executed = simulate(plan)
    rows = ask(graph, "dimensions", schedule=plan.id)
    assert [
        plan.topology.nodes * len(row["dimensions"]) for row in rows
    ] == executed.links_used.tolist()
    assert [max(row["units"]) for row in rows] == executed.packet_sizes.tolist()
