"""Gather: the scatter reversed in time and direction (Fragopoulou & Akl 1993, section 6)."""

import numpy as np
import pytest

from oracles import scatter as page
from oracles import schedule_rows, star_graph
from starcast.collectives import Schedule
from starcast.collectives import schedule as build
from starcast.collectives.reductions import reverse_schedule
from starcast.collectives.scatter import build_scatter
from starcast.topologies import as_topology
from starcast.trees import forest
from support.meeting import assert_complete, plain_rows, refused, roots
from unit.test_scatter import cases


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
        gather = schedule("gather", n, algorithm, messages, root)
        assert sorted(plain_rows(gather)) == sorted(expected)
        again = reverse_schedule(gather)
        assert again.id == schedule("scatter", n, algorithm, messages, root).id
        assert reverse_schedule(again).id == gather.id


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
def test_other_collectives_cannot_be_reversed(collective: str, algorithm: str) -> None:
    with refused(collective, "reverse"):
        reverse_schedule(build("S4", collective, algorithm))
