"""Every query on topologies without translations or with switches, compared with brute force."""

from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from itertools import product
from typing import Any

import pytest

from starcast.catalogue import plugins
from starcast.drawing import draw_subgraph
from starcast.queries import Query, load_library, run
from starcast.queries.parameters import bind
from starcast.queries.picture import build_subgraph
from starcast.stores import GraphAddress
from starcast.stores.graph.connection import Graph
from starcast.support.errors import InputError, LimitError
from support.fix_plugins import restored_registries
from support.irregular import ALL, PLUGIN
from support.meeting import refused
from support.packs import oracle_tools
from support.packs.oracle_tools import ORACLES, Case
from support.packs.stored_data import forests, loaded, schedules

for pack in ("faults", "overlap", "paths", "schedules", "topology", "trees"):
    import_module(f"support.packs.oracles_{pack}")

QUERIES = load_library().require_valid()


@pytest.fixture(scope="module")
def graph(graph_address: GraphAddress) -> Iterator[Graph]:
    """A graph store with the irregular topologies and their forests and schedules."""
    with restored_registries():
        plugins.load([str(PLUGIN)])
        with Graph.open(graph_address) as opened, loaded(opened, ALL):
            yield opened


def values(spec: str, name: str, kind: str) -> list[Any]:
    """Return a few values for a query parameter with the given name and type."""
    nodes = oracle_tools.some_nodes(spec)
    first = nodes[0]
    link = f"{first}-{next(iter(oracle_tools.network(spec)[first]))}"
    every: dict[str, list[Any]] = {
        "topology": [spec],
        "node": nodes[1:2] if name == "source" else nodes,
        "forest": [forest.id for forest in forests(spec)],
        "schedule": [schedule.id for schedule in schedules(spec)],
        "tree": [0],
        "list of node": [(), tuple(nodes[1:2])],
        "list of link": [(), (link,)],
        "boolean": [False, True],
        "pattern": ["*"],
    }
    if name == "other_forest":
        return every["forest"][:1]
    return every.get(kind, [1])


def cases_of(query: Query, spec: str) -> list[Case]:
    """Return all combinations of a few parameter values for a query on a topology."""
    names = [parameter.name for parameter in query.parameters if parameter.name != "limit"]
    choices = [
        values(spec, parameter.name, str(parameter.type).partition(" >=")[0])
        for parameter in query.parameters
        if parameter.name != "limit"
    ]
    return [dict(zip(names, chosen, strict=True)) for chosen in product(*choices)]


@pytest.mark.whole
@pytest.mark.parametrize("spec", ALL)
@pytest.mark.parametrize("query", QUERIES.values(), ids=lambda query: query.name)
def test_query_results_equal_those_of_brute_force(graph: Graph, query: Query, spec: str) -> None:
    oracle = ORACLES[query.name]
    if spec == "Hubs16" and query.for_server(graph.version) is not query:
        pytest.skip("before Neo4j 2026.05, the search for more paths than exist takes too long")
    for case in cases_of(query, spec):
        if query.name == "topology/substar":
            with refused(f"{spec} has no label patterns"):
                bind(query.parameters, case)
            continue
        if case.get("source") is not None and case.get("source") == case.get("target"):
            continue
        result = run(graph, query, bind(query.parameters, case), row_limit=100_000)
        if query.name == "topology/necklace":
            assert result.rows == []  # only star graphs have necklaces
        elif oracle.judge is None:
            assert result.rows == oracle.rows(**case)
        else:
            oracle.judge(case, result.rows)
        # A result without nodes, or with too many nodes, cannot be drawn.
        with suppress(InputError, LimitError):
            draw_subgraph(build_subgraph(query, bind(query.parameters, case), result.rows[:50]))


@pytest.mark.parametrize(
    ("spec", "cut_nodes", "bridges"), [("Grid3x4", 0, 0), ("Hubs16", 0, 0), ("Barbell6", 2, 1)]
)
def test_the_barbell_graph_has_cut_nodes_and_a_bridge_unlike_grid_and_hubs(
    graph: Graph, spec: str, cut_nodes: int, bridges: int
) -> None:
    found = [
        run(graph, QUERIES[f"topology/{name}"], {"topology": spec}).rows
        for name in ("cut-nodes", "bridges")
    ]
    assert list(map(len, found)) == [cut_nodes, bridges]
