"""All constructions and algorithms on irregular topologies, that is, those without translations.

Each construction or algorithm gives correct results or is refused.
"""

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from starcast import forest, schedule, simulate, topology
from starcast.collectives.algorithm import Algorithm, algorithms, find_algorithm
from starcast.collectives.model import COLLECTIVES
from starcast.costs import Machine
from starcast.costs.tables import CostProblem, build_table
from starcast.drawing import draw_forest, draw_schedule, draw_topology
from starcast.drawing.layouts import layout, layouts
from starcast.experiments.faults import resolve_faults
from starcast.lab import Lab
from starcast.search import PROBLEMS
from starcast.support.settings import Settings
from starcast.support.vocabulary import LAYOUT_NAMES
from starcast.trees.construction import CONSTRUCTIONS
from support.irregular import SPECS, graph_of
from support.meeting import refused

pytestmark = [pytest.mark.usefixtures("irregular"), pytest.mark.whole]

#: A mesh and a network with a bridge are always tested, all others only by ``make sweep``.
CASES = [
    pytest.param(spec, marks=() if spec in {"Grid3x4", "Barbell6"} else pytest.mark.slow)
    for spec in SPECS
]
every_spec = pytest.mark.parametrize("spec", CASES)


@every_spec
@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_constructions_on_irregular_topologies_build_correct_trees_or_are_refused(
    spec: str, name: str
) -> None:
    t = topology(spec)
    if name not in ("breadth-first", "arc-disjoint"):
        with refused(f"the construction '{name}' is not defined on {spec}"):
            forest(t, name)
        return
    graph = graph_of(t)
    for root in (0, t.nodes // 2):
        built = forest(t, name, root)
        built.verify()
        if name == "arc-disjoint":
            assert built.trees == nx.edge_connectivity(graph)
            assert built.congestion == 1
            continue
        assert built.is_shortest_path
        assert built.height == nx.eccentricity(graph, root)


#: All algorithms with each of their port models.
MODELS = [(entry, ports) for entry in algorithms() for ports in entry.ports]


@pytest.mark.parametrize("spec", [case for case in CASES if case.values != ("Line301",)])
@pytest.mark.parametrize(("entry", "ports"), MODELS, ids=str)
def test_algorithms_on_irregular_topologies_build_complete_schedules_or_are_refused(
    spec: str, entry: Algorithm, ports: str
) -> None:
    names = entry.required_arguments
    values = {"base": "breadth-first"} if "base" in names else {}
    is_ring = entry.name == "ring" and spec not in ("Grid3x4", "Complete5")
    if is_ring or (entry.families and not entry.elsewhere):
        reason = "no Hamiltonian cycle was found" if is_ring else ""
        with refused(f"is not defined on {spec}", reason):
            schedule(spec, entry.collective, entry.name, ports, **values)
        return
    for root in (2, 0):
        built = schedule(spec, entry.collective, entry.name, ports, root, **values)
        result = simulate(built)
        assert result.complete
        assert result.violation is None
    found = find_algorithm(entry.collective, entry.name, built.topology)
    assert found.name == built.algorithm
    # Alltoall rows are counted per source and rounded up, because sources may differ.
    excess = found.count(built.topology, ports, built.arguments) - len(built)
    assert 0 <= excess < (built.topology.nodes if entry.collective == "alltoall" else 1)


@every_spec
@pytest.mark.parametrize("problem", PROBLEMS)
def test_searches_on_topologies_without_translations_are_refused(spec: str, problem: str) -> None:
    with refused(
        f"the problem {problem} is not defined on {spec}: its bounds need a topology with"
    ):
        Lab(Settings.load).search(problem, spec)


@every_spec
@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_cost_tables_of_irregular_topologies_list_only_bounds_and_general_algorithms(
    spec: str, ports: str, collective: str
) -> None:
    machine = Machine(Fraction(100), Fraction(1))
    table = build_table(CostProblem(topology(spec), collective, ports, Fraction(60), machine))
    general = {"greedy", "greedy-matching", "ring"}
    assert any(row.name.startswith("lower bound") for row in table)
    assert all(row.name.startswith("lower bound") or row.name in general for row in table)


@every_spec
def test_drawings_of_irregular_topologies_state_degrees_diameter_and_links(spec: str) -> None:
    t = topology(spec)
    assert layouts(t) == ("spring", "levels")
    for name in LAYOUT_NAMES:
        if name in layouts(t):
            assert layout(t, name).shape == (t.nodes, 2)
            assert np.isfinite(layout(t, name)).all()
        else:
            with refused(f"{spec} has no layout '{name}'"):
                layout(t, name)
    if t.nodes > 128:
        return
    degrees = "degrees 2 to 4" if spec == "Grid3x4" else f"degree {t.degree}"
    degrees = "degrees 2 to 3" if spec == "Barbell6" else degrees
    degrees = f"degrees 2 to {t.degree}" if spec == "Hubs16" else degrees
    picture = draw_topology(t)
    assert f"{degrees}, diameter {t.diameter}, {t.links} links" in picture
    draw_forest(forest(t, "breadth-first"))
    draw_schedule(schedule(t, "broadcast", "forest", base="breadth-first"))


@every_spec
def test_random_link_faults_on_irregular_topologies_are_existing_links(spec: str) -> None:
    t = topology(spec)
    links = t.links
    every = resolve_faults(t, f"{links} links", seed=1)
    pairs = {frozenset(map(t.rank, fault.split("-"))) for fault in every}
    assert pairs == {frozenset(link) for link in graph_of(t).edges}
    with refused(f"{spec} has fewer than {links + 1} links"):
        resolve_faults(t, f"{links + 1} links", seed=1)
    with refused("the two nodes are not adjacent"):
        resolve_faults(t, f"{t.label(0)}-{t.label(0)}", seed=1)
