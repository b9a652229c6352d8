"""Broadcasts along trees: both simulators agree, and shared links carry packets."""

from itertools import product

import pytest

from oracles import star_graph
from starcast import forest, schedule
from support.meeting import BROADCASTS, broadcast, roots
from support.simulator_cases import assert_same_verdict

ALGORITHMS = sorted(BROADCASTS)


@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_both_simulators_agree_for_every_root(n: int, algorithm: str, ports: str) -> None:
    """The message is sent as a whole, and split into several parts."""
    for share, root in product((1, 2, 4), roots(n)):
        built = broadcast(n, algorithm, ports, share, root)
        assert assert_same_verdict(built).complete


@pytest.mark.slow
@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("n", "share"), [(5, 1), (5, 3), (6, 2)])
def test_both_simulators_agree_on_larger_stars(
    n: int, share: int, algorithm: str, ports: str
) -> None:
    built = broadcast(n, algorithm, ports, share, star_graph.shift(star_graph.identity(n), 2))
    assert assert_same_verdict(built).complete


@pytest.mark.parametrize("spec", ["S2", "S4", "S5,1", "S5,2", "S5,3", "S5,4", "S6,3"])
def test_packets_of_several_units_occur_only_where_trees_share_links(spec: str) -> None:
    """A single tree sends one unit per link and step."""
    prefix = "nk-" if "," in spec else ""
    assert not schedule(spec, "broadcast", f"{prefix}greedy", segments=2).packets
    many = schedule(spec, "broadcast", f"{prefix}multiple", segments=2)
    assert many.packets == (forest(spec, f"{prefix}multiple").congestion > 1)
