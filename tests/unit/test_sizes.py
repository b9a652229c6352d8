"""Values that are known before arrays are built: distance profiles, mean distances, memory."""

from fractions import Fraction

import pytest

from starcast.topologies import memory, topology
from starcast.trees import forest
from support.meeting import refused


def test_the_mean_distance_of_a_star_graph_follows_the_formula_of_akers_and_krishnamurthy() -> None:
    """The authors' mean, n - 4 + 2/n + H_n with the harmonic number H_n, includes the root.

    The mean of starcast excludes the root.
    """
    for n in range(2, 13):
        t = topology(f"S{n}")
        harmonic = sum((Fraction(1, j) for j in range(1, n + 1)), Fraction(0))
        assert t.mean_distance * (t.nodes - 1) == t.nodes * (n - 4 + Fraction(2, n) + harmonic)


def test_distance_profiles_of_the_largest_topologies_count_every_node_once() -> None:
    """No node is beyond the diameter, and `degree` nodes are at distance 1."""
    for spec in ["S12,11", "S13,9", "S20,6", "S35,5", "S35,1", "S12,6", "Q28"]:
        t = topology(spec)
        profile = t.distance_profile()
        assert sum(profile) == t.nodes
        assert len(profile) == t.diameter + 1
        assert profile[:2] == (1, t.degree)
        assert 1 <= t.mean_distance <= t.diameter


def machine_of(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Simulate a machine with ``size`` bytes of memory."""
    monkeypatch.setattr(memory, "physical", lambda: size)


def test_a_forest_takes_one_byte_per_node_and_tree_plus_working_arrays() -> None:
    t = topology("S6")
    assert memory.forest_bytes(t.nodes, 5) - memory.forest_bytes(t.nodes, 4) == t.nodes
    assert memory.forest_bytes(t.nodes, 0) == 5 * t.nodes


@pytest.mark.parametrize("spec", ["S6", "S6,3", "Q7"])
def test_arrays_with_an_entry_per_node_are_refused_if_they_exceed_memory(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Distances take one byte per node, and neighbours take more.

    Functions for single nodes need no such arrays.
    """
    t = topology(spec)
    t.neighbours(2, [0])  # fills a cache, so that only the arrays below need memory
    machine_of(monkeypatch, t.nodes - 1)
    for ask in (lambda: t.neighbours(2), t.distances, lambda: t.translation(1), t.labels):
        with refused(f"of {spec}", "not enough memory", exit_code=7):
            ask()
    assert t.neighbours(2, [0, 1]).shape == (2,)
    assert t.labels([0]).tolist() == [t.label(0)]
    assert len(t.distance_profile()) == t.diameter + 1
    machine_of(monkeypatch, t.nodes)
    assert len(t.distances()) == t.nodes
    with refused(exit_code=7):
        t.neighbours(2)


@pytest.mark.parametrize(
    ("spec", "single", "many"),
    [
        ("S6", "greedy", "multiple"),
        ("S6,3", "nk-greedy", "nk-multiple"),
        ("Q7", "binomial", "edge-disjoint-binomial"),
    ],
)
def test_forests_that_exceed_memory_are_refused_before_they_are_built(
    spec: str, single: str, many: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One tree fits into memory, but one tree per port does not."""
    t = topology(spec)
    machine_of(monkeypatch, memory.forest_bytes(t.nodes, 1))
    assert forest(t, single).trees == 1
    with refused(many, spec, exit_code=7):
        forest(t, many)


def test_an_invalid_root_is_reported_before_a_lack_of_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine_of(monkeypatch, 1)
    with refused("99"):
        topology("S4").distances(99)
    with refused("99"):
        forest("S4", "multiple", root=99)
