"""The algorithm ``forest``: collectives along the spanning trees of any construction."""

from itertools import product

import numpy as np
import pytest

from starcast import forest, schedule, simulate, topology
from starcast.collectives.algorithm import algorithms_on, find_algorithm
from starcast.collectives.model import PORT_MODELS
from starcast.collectives.one_to_all import build_scatter
from starcast.collectives.yardsticks import spanning_constructions
from starcast.support.vocabulary import Collective
from support.meeting import refused

#: `make test` runs the first case of a test and one other case. The first topology is S4, because
#: several constructions are equal on smaller stars.
SPECS = ("S4", "S2", "S3", "S4,2", "S5,2", "S5,4", "Q3")
SPLITS = {
    "broadcast": "segments",
    "allgather": "segments",
    "scatter": "messages",
    "gather": "messages",
}


@pytest.mark.parametrize("collective", SPLITS)
@pytest.mark.parametrize("spec", SPECS)
def test_broadcasts_allgathers_scatters_and_gathers_along_every_forest_are_complete(
    spec: str, collective: Collective
) -> None:
    """The test uses two roots, both port models, and one or three segments or messages.

    The number of rows equals the predicted number. A pipeline takes one step per level of the tree,
    and one more step for each segment after the first. In the one-port model, each step is divided
    into at most one sub-step per port.
    """
    for base in spanning_constructions(topology(spec)):
        assert_complete(spec, base, collective)


def assert_complete(spec: str, base: str, collective: Collective) -> None:
    """Check that the schedules along the forest of a construction are complete."""
    network = topology(spec)
    height = forest(network, base).height
    entry = find_algorithm(collective, "forest")
    for ports, pieces in product(PORT_MODELS, (1, 3)):
        values: dict[str, int | str] = {"base": base, SPLITS[collective]: pieces}
        for root in {0, network.nodes - 1}:
            built = schedule(network, collective, "forest", ports=ports, root=root, **values)
            result = simulate(built)
            assert result.violation is None
            assert result.complete
            if root == 0:
                assert len(built) == entry.count(network, ports, values)
            if SPLITS[collective] == "segments":
                steps = height + pieces - 1
                slots = network.degree if ports == "one" else 1
                assert slots * (steps - 1) < built.steps <= slots * steps


@pytest.mark.parametrize("spec", ["S4", "S4,2", "FT4"])
@pytest.mark.parametrize("collective", ["broadcast", "allgather", "reduce-scatter", "allreduce"])
def test_an_algorithm_declares_a_construction_exactly_if_its_schedule_has_a_forest(
    spec: str, collective: Collective
) -> None:
    """A schedule with the rows of all sources has no forest, as each source has its own trees."""
    network = topology(spec)
    entry = find_algorithm(collective, "forest")
    for ports in PORT_MODELS:
        values = entry.resolve_arguments(network, {"base": "breadth-first"})
        built = schedule(network, collective, "forest", ports=ports, **values)
        declared = entry.forest_construction(network, ports, values)
        assert declared == (None if built.forest is None else "breadth-first")


@pytest.mark.parametrize("spec", ["S3", "S4", "S5"])
@pytest.mark.parametrize("name", ["greedy", "multiple"])
@pytest.mark.parametrize("ports", ["all", "one"])
def test_broadcasts_along_the_papers_trees_equal_the_papers_broadcasts(
    spec: str, name: str, ports: str
) -> None:
    """The algorithm `forest` takes any trees. Here, the trees are those of Tseng & Sheu 1997."""
    ours = schedule(spec, "broadcast", "forest", ports=ports, base=name, segments=3)
    theirs = schedule(spec, "broadcast", name, ports=ports, segments=3)
    for column, values in ours.columns.present().items():
        assert np.array_equal(values, getattr(theirs, column))


@pytest.mark.parametrize("name", ["balanced", "near-balanced"])
def test_scatters_along_the_papers_trees_take_as_many_steps_as_the_papers_scatters(
    name: str,
) -> None:
    """The algorithm `forest` is compared with the algorithms of Fragopoulou & Akl 1993."""
    ours = schedule("S5", "scatter", "forest", base=name)
    assert ours.steps == schedule("S5", "scatter", name).steps


def test_the_argument_base_is_required_and_must_name_spanning_trees() -> None:
    with refused("needs the argument 'base'"):
        schedule("S4", "broadcast", "forest")
    with refused("perfectly-balanced"):
        schedule("S4", "scatter", "forest", base="perfectly-balanced")
    assert all(algorithm.name != "forest" for algorithm in algorithms_on(topology("S4")))


def test_a_scatter_along_a_forest_that_omits_a_node_is_refused() -> None:
    """The tree `shortest-path` does not contain the nodes that start with 1."""
    with refused("1243", "none of its trees"):
        build_scatter(forest("S4", "shortest-path"), "all", 1)
