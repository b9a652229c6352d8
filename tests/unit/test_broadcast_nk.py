"""Broadcasts pipelined along trees of (n,k)-stars and hypercubes (nk-star.md; Johnsson & Ho)."""

from collections.abc import Callable
from functools import cache
from math import perm
from typing import Any

import numpy as np
import pytest

from oracles import hypercube, nk_star
from oracles.schedule_rows import by_dimension, pipelined
from starcast.collectives import Schedule
from starcast.collectives import schedule as build
from starcast.topologies import Topology, as_topology
from starcast.trees import forest
from support.meeting import assert_complete, places, plain_rows

ALGORITHMS = ("nk-greedy", "nk-multiple")
SIZES = [(n, k) for n in range(2, 6) for k in range(1, n)]
LARGE = [(6, 2), (6, 3)]
CUBES = range(1, 6)

every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)
both_models = pytest.mark.parametrize("ports", ["all", "one"])
shares = pytest.mark.parametrize("share", [1, 3])


@cache
def broadcast(spec: str, algorithm: str, ports: str, share: int, root: int | str = 0) -> Schedule:
    """Return the broadcast schedule that starcast builds."""
    return build(spec, "broadcast", algorithm, ports=ports, root=root, segments=share)


def oracle_trees(spec: str, algorithm: str, root: Any) -> list[Any]:
    """Return the oracle's trees with this root for a broadcast algorithm."""
    n = as_topology(spec).n
    if algorithm == "binomial":
        return [hypercube.binomial(root, range(1, n + 1))]
    return [nk_star.greedy(root, n)] if algorithm == "nk-greedy" else nk_star.multiple(root, n)


def port_between(topology: Topology) -> Callable[[Any, Any], int]:
    """Return the oracle's function that gives the port between two neighbours of a topology."""
    if topology.family == "hypercube":
        return hypercube.port_between
    return lambda a, b: nk_star.port_between(a, b, topology.n)


def assert_equals_oracle(schedule: Schedule, share: int) -> None:
    """Check that the rows equal the oracle's, and that every node receives every unit."""
    topology = schedule.topology
    every = places(topology)
    root = every[schedule.root]
    trees = oracle_trees(topology.spec, schedule.algorithm, root)
    units = [range(tree * share, (tree + 1) * share) for tree in range(len(trees))]
    expected = pipelined(trees, root, units, port_between(topology))
    if schedule.ports == "one":
        expected = by_dimension(expected, topology.ports)
    hops = plain_rows(schedule)
    assert set(hops) == expected
    assert len(hops) == len(expected)
    assert schedule.units == len(trees) * share
    run = assert_complete(schedule)
    assert schedule.packets or run.largest_packet == 1


def some_roots(spec: str) -> list[int]:
    """Return all roots of small topologies, and three roots of larger topologies."""
    count = as_topology(spec).nodes
    return list(range(count)) if count <= 12 else [0, count // 3, count - 1]


@both_models
@every_algorithm
@pytest.mark.parametrize(("n", "k"), SIZES)
def test_rows_on_nk_stars_equal_those_of_the_oracle(
    n: int, k: int, algorithm: str, ports: str
) -> None:
    """In a one-port sub-slot no node sends to two neighbours or receives from two."""
    for share in (1, 3):
        for root in some_roots(f"S{n},{k}"):
            assert_equals_oracle(broadcast(f"S{n},{k}", algorithm, ports, share, root), share)
    if ports == "one":
        schedule = broadcast(f"S{n},{k}", algorithm, ports, 3)
        assert ((schedule.step - 1) % (n - 1) + 2 == schedule.port).all()
        links = np.unique(np.stack([schedule.step, schedule.sender, schedule.receiver]), axis=1)
        for ends in (links[:2], links[::2]):
            assert np.unique(ends, axis=1).shape == (2, links.shape[1])


@both_models
@every_algorithm
@pytest.mark.parametrize(("n", "k"), LARGE)
def test_rows_on_larger_nk_stars_equal_those_of_the_oracle(
    n: int, k: int, algorithm: str, ports: str
) -> None:
    assert_equals_oracle(broadcast(f"S{n},{k}", algorithm, ports, 2, perm(n, k) // 2), 2)


@shares
@both_models
@pytest.mark.parametrize("d", CUBES)
def test_rows_on_hypercubes_equal_those_of_the_oracle(d: int, ports: str, share: int) -> None:
    for root in some_roots(f"Q{d}"):
        assert_equals_oracle(broadcast(f"Q{d}", "binomial", ports, share, root), share)


@pytest.mark.parametrize(("n", "k"), [*SIZES, *LARGE])
def test_packets_of_several_units_occur_only_where_trees_share_links(n: int, k: int) -> None:
    """A single tree sends one unit per link and step."""
    assert not broadcast(f"S{n},{k}", "nk-greedy", "all", 2).packets
    many = broadcast(f"S{n},{k}", "nk-multiple", "all", 2)
    assert many.packets == (forest(f"S{n},{k}", "nk-multiple").congestion > 1)
