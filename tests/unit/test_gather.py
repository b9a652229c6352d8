"""Gather: the scatter reversed in time and direction (Fragopoulou & Akl 1993, section 6)."""

from math import factorial

import numpy as np
import pytest

from oracles import scatter as page
from oracles import schedule_rows, star_graph
from starcast.collectives import Schedule, algorithms
from starcast.collectives import schedule as build
from starcast.collectives.catalogue import find
from starcast.collectives.reductions import reverse_schedule
from starcast.collectives.scatter import build_scatter
from starcast.topologies import as_topology
from starcast.trees import forest
from support.meeting import assert_complete, plain_rows, refused, roots
from unit.test_scatter import SCATTERS, cases


def schedule(
    collective: str, n: int, algorithm: str, messages: int, root: star_graph.Node | None = None
) -> Schedule:
    """Return the schedule that starcast builds."""
    topology = star_graph.label(root or star_graph.identity(n))
    return build(f"S{n}", collective, algorithm, root=topology, messages=messages)


@pytest.mark.parametrize(("n", "algorithm", "messages"), cases(range(2, 5), 2))
def test_a_gather_has_the_rows_of_the_oracles_scatter_in_reverse(
    n: int, algorithm: str, messages: int
) -> None:
    for root in roots(n):
        expected = schedule_rows.backwards(page.scatter(algorithm, root, messages))
        assert sorted(plain_rows(schedule("gather", n, algorithm, messages, root))) == sorted(
            expected
        )


def test_messages_from_the_nearest_nodes_arrive_first() -> None:
    """At each port of the root, units that crossed fewer links arrive first.

    In the last step, only the root receives units.
    """
    for algorithm in SCATTERS:
        s = schedule("gather", 5, algorithm, 4)
        flights = page.flights(plain_rows(s))
        for port in range(2, 6):
            arrivals = sorted(
                (rows[-1].step, len(rows)) for rows in flights.values() if rows[-1].port == port
            )
            hops = [length for _, length in arrivals]
            assert hops == sorted(hops)
        assert (s.receiver[s.step == s.steps] == 0).all()


def test_reversing_a_scatter_twice_gives_the_same_scatter() -> None:
    for algorithm in SCATTERS:
        scatter = schedule("scatter", 4, algorithm, 3, (4, 2, 3, 1))
        gather = reverse_schedule(scatter)
        assert plain_rows(gather) == plain_rows(schedule("gather", 4, algorithm, 3, (4, 2, 3, 1)))
        assert plain_rows(reverse_schedule(gather)) == plain_rows(scatter)
        assert reverse_schedule(gather).id == scatter.id


def test_reversing_a_scatter_on_an_nk_star_uses_the_reverse_ports() -> None:
    """In S_{5,2} the two ends of a link may have different ports."""
    topology = as_topology("S5,2")
    scatter = build_scatter(forest(topology, "nk-greedy"), "all", 2, algorithm="nk-greedy")
    gather = reverse_schedule(scatter)
    assert any(topology.reverse_port(port) != port for port in np.unique(scatter.port).tolist())
    assert_complete(gather)


@pytest.mark.parametrize(
    ("collective", "algorithm"), [("allreduce", "greedy"), ("alltoall", "necklace")]
)
def test_other_collectives_cannot_be_reversed(collective: str, algorithm: str) -> None:
    with refused(collective, "reverse"):
        reverse_schedule(build("S4", collective, algorithm))


@pytest.mark.parametrize("algorithm", SCATTERS)
def test_a_gather_has_the_expected_id_units_and_forest(algorithm: str) -> None:
    s, root = schedule("gather", 5, algorithm, 8, (5, 4, 3, 2, 1)), (5, 4, 3, 2, 1)
    scatter = schedule("scatter", 5, algorithm, 8, root)
    assert (s.collective, s.packets, s.symmetric, s.root) == ("gather", False, False, 119)
    assert s.id == scatter.id.replace("scatter", "gather")
    assert s.units == 8 * factorial(5)
    assert s.forest is not None
    assert scatter.forest is not None
    assert np.array_equal(s.forest.parent_port, scatter.forest.parent_port)
    assert np.array_equal(s.forest.parents()[s.tree, s.sender], s.receiver)


def test_every_scatter_algorithm_has_a_corresponding_gather() -> None:
    """The arguments, port models and errors of both are the same."""
    gathers = {row.name: row for row in algorithms("gather")}
    for name in SCATTERS:
        scatter = find("scatter", name)
        assert gathers[name].arguments == scatter.arguments
        assert gathers[name].ports == scatter.ports
    with refused("gather by perfectly-balanced", "multiple"):
        schedule("gather", 5, "perfectly-balanced", 6)
    with refused("port model"):
        build("S4", "gather", "one-port", ports="all")
