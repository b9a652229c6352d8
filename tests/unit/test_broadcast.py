"""Broadcasts: both simulators agree, and the numbers of steps are those of the papers.

A3 and B2 are sections of docs/definitions/tseng-sheu.md.
"""

from itertools import product
from math import factorial

import pytest

from oracles import star_graph, tseng_sheu
from starcast.judges.simulator import simulate
from support.meeting import BROADCASTS, broadcast, roots
from support.simulator_cases import assert_same_verdict

ALGORITHMS = sorted(BROADCASTS)


def trees(n: int, algorithm: str) -> int:
    """Return the number of trees along which an algorithm sends."""
    return n - 1 if algorithm == "multiple" else 1


def all_port_steps(n: int, algorithm: str, share: int) -> int:
    """Return the number of all-port steps by section A3 or, for `recursive-substar`, by B2."""
    heights = {
        "greedy": star_graph.diameter(n),
        "multiple": tseng_sheu.height_of_multiple(n),
        "recursive-substar": 2 * n - 3,
    }
    return heights[algorithm] + share - 1


@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_both_simulators_agree_for_every_root(n: int, algorithm: str, ports: str) -> None:
    """The message is sent as a whole, and split into several parts."""
    for share, root in product((1, 2, 4), roots(n)):
        schedule = broadcast(n, algorithm, ports, share, root)
        assert assert_same_verdict(schedule).complete


@pytest.mark.slow
@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("n", "share"), [(5, 1), (5, 3), (6, 2)])
def test_both_simulators_agree_on_larger_stars(
    n: int, share: int, algorithm: str, ports: str
) -> None:
    schedule = broadcast(n, algorithm, ports, share, star_graph.shift(star_graph.identity(n), 2))
    assert assert_same_verdict(schedule).complete


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("n", range(2, 8))
def test_steps_packets_and_transmissions_are_those_of_the_definitions(
    n: int, algorithm: str
) -> None:
    """All-port schedules take the steps of A3 and B2, one-port schedules at most n-1 times as many.

    `multiple` sends at most two units over a link at once, the other algorithms one. Every unit
    crosses N-1 links.
    """
    for share, ports in product((1, 2, 5), ("all", "one")):
        run = simulate(broadcast(n, algorithm, ports, share))
        slots = all_port_steps(n, algorithm, share)
        assert run.violation is None
        assert run.complete
        if ports == "all":
            assert run.steps == slots
        elif algorithm == "recursive-substar":
            # Section B2: n-1 sub-slots for each all-port step would be (n-1)(2n-4+M).
            assert run.steps == n * (n - 1) // 2 + (share - 1) * (n - 1)
            assert run.steps <= (n - 1) * (2 * n - 4 + share)
        else:
            assert (n - 1) * (slots - 1) < run.steps <= (n - 1) * slots
        assert run.largest_packet == (2 if algorithm == "multiple" and n > 2 else 1)
        assert run.transmissions == share * trees(n, algorithm) * (factorial(n) - 1)
        assert len(run.links_used) == len(run.packet_sizes) == run.steps
        assert run.packet_sizes.max() == run.largest_packet
        assert run.links_used.max() <= factorial(n) * (n - 1 if ports == "all" else 1)
