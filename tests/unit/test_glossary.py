"""docs/glossary.md lists the public names of the CLI, Python, SQL, Cypher, queries and the API."""

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import starcast
from starcast.cli.app import all_commands
from starcast.support.settings import Settings
from starcast.web.app import create_app
from starcast.web.service import Service
from starcast.web.workers import Workers
from support.fix_browser import API

PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"
COLUMNS = ("term", "meaning", "CLI", "Python", "SQL", "Cypher", "queries")
#: Ordinary words among the public names, which the glossary need not explain.
ORDINARY = {
    "CLI": """
        --all --as --browser --by --cascade --check-claims --compare --cypher --discard-foreign
        --dry-run --folder --follow --force --fresh --format --graph --home --i
        --install-completion --jobs --layout --limit --lines --memory --most --neo4j-http-port
        --neo4j-port --neo4j-uri --no-graph --no-store --out --plot --plot-only --postgres-port
        --postgres-uri --quiet --replace --runs --sample --seeds --show-completion --show-cypher
        --sort --store --stored --table --timeout
        --verbose --version --wait --where --yes
    """,
    "Python": """
        as_json ask backup bound_broadcasts build_forest check_queries close config
        cost_table database doctor draw_forest draw_schedule draw_topology drop engine
        explore export_forest export_schedule export_topology families forests graph ingest
        merge_forest name new_paper new_plugin new_query optimum profile_schedule queries
        query rebuild reproduce restore schedule_rows schedules schema settings show
        show_forest show_query show_topology simulate_schedule start status stop
        time_schedule topologies upgrade verify_forest args add_note with_traceback
        exit_code chunks table translation open save parse members spanning remarks ends
        what sizes distance_sum is_edge_disjoint is_shortest_path verify_hubs
        neighbour_ranks neighbour_values carried_ports translation_keeps_ports forest_id on
        columns replace_rows translate algorithms check constructions simulate StarcastError
        schedule_from_columns schedule_from_csv
    """,
    "SQL": """
        source status error timings created_at started_at stored_at finished_at seconds names
        detail subject number size name noun
    """,
    "Cypher": "schema",
    "queries": """
        source target limit rotations period pattern action partner lower higher required_trees
        reached unreached unreached_by_tree reaching_trees failing_trees trees_left all_reached
        incomplete_nodes all_choices_reach exposed_nodes sufficient_copies upward_trees
        downward_trees upward_links avoided_nodes avoided_links next_node paths shared_nodes
        shared_links opposite_links dimensions hop_steps lowest_node deepest_nodes min_load
    """,
    "API": """
        above after answer answer_rows api available axes below bounds checker claim_id
        commands computation_seconds condition created curves default description drawable
        elsewhere exact_mean_distance expanded explorer failed finished first health high metrics
        hint how items layouts limits link_capacities link_latencies listed_rows low
        matched_by meaning more neo4j networks periods port_names
        next notation note pack panels paper parameters parent_ports parts picture_layout
        postgres profiles proof_command query_seconds question reading reasons received
        record_id reference repeat required result rows schedule_id searches second sentence
        sides spots statement summary title titles type url v1 verified_by used_by
    """,
}
BANNED = {"payload", "link_use", "way", "thing", "ledger", "p", "M", "m", "T_s", "T_c"}
BANNED |= {"neighbor", "neighbors", "count"}


def terms(surface: str) -> set[str]:
    """Return the names that the glossary lists for an interface, such as the CLI or SQL."""
    column = COLUMNS.index(surface)
    rows = [
        line.split("|")[1:-1]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and not line.startswith("| term")
    ]
    assert {len(row) for row in rows} == {len(COLUMNS)}
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row[column])}


def options() -> set[str]:
    """Return the long options of all commands."""
    return {
        option
        for command in _commands(all_commands())
        for parameter in command.params
        if not getattr(parameter, "hidden", False)
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("--")
    }


def _commands(command: Any) -> Iterator[Any]:
    yield command
    for child in getattr(command, "commands", {}).values():
        if not child.hidden:
            yield from _commands(child)


def python_names() -> set[str]:
    """Return the public names of the package and the public attributes of its classes."""
    names = set(starcast.__all__)
    for name in starcast.__all__:
        value = getattr(starcast, name)
        if inspect.isclass(value):
            names |= {*dir(value), *getattr(value, "__annotations__", {})}
    return {name for name in names if not name.startswith("_")}


def sql_names() -> set[str]:
    """Return the names of all tables and views and their columns."""
    from starcast.stores.database.models import Base
    from starcast.stores.database.views import VIEWS

    tables = Base.metadata.tables
    names = {*tables, *(column.name for table in tables.values() for column in table.columns)}
    return names | {view.name for view in VIEWS} | {name for view in VIEWS for name in view.columns}


def graph_names() -> set[str]:
    """Return the labels, relationship types and properties of the graph."""
    from starcast.stores.graph import schema

    declared = [*schema.LABELS, *schema.RELATIONSHIPS]
    names = {declaration.name for declaration in declared}
    return names | {item.name for declaration in declared for item in declaration.properties}


def query_names() -> set[str]:
    """Return the parameters and columns of all queries that come with starcast."""
    from starcast.queries import load_queries

    headers = [query.header for query in load_queries().values()]
    parameters = {item.name for header in headers for item in header.parameters}
    return parameters | {item.name for header in headers for item in header.columns}


def api_names() -> set[str]:
    """Return the names in the paths, parameters and fields of the HTTP API.

    The suffix ``_url`` is removed.
    """
    # No worker process starts, because the OpenAPI document needs no computation.
    service = Service(Settings.load(), Workers(count=1))
    with closing(service), TestClient(create_app(service), base_url="http://localhost") as client:
        document = client.get(f"{API}/openapi.json").json()
    names = {word for path in document["paths"] for word in path.split("/") if "{" not in word}
    for item in document["paths"].values():
        names |= {parameter["name"] for parameter in item["get"].get("parameters", ())}
    for schema in document["components"]["schemas"].values():
        names |= schema.get("properties", {}).keys()
    return {name.removesuffix("_url").replace("-", "_") for name in names - {""}}


SURFACES: dict[str, Callable[[], set[str]]] = {
    "CLI": options,
    "Python": python_names,
    "SQL": sql_names,
    "Cypher": graph_names,
    "queries": query_names,
    "API": api_names,
}


@pytest.mark.whole
@pytest.mark.parametrize("surface", SURFACES)
def test_the_glossary_lists_exactly_the_public_names(surface: str) -> None:
    """Every public name is a listed term or an ordinary word, and no name is banned.

    For the CLI, the glossary lists options and the first words of commands. Identifiers are strings
    named ``id``. The name ``key`` is reserved for the number of a node in the graph. The API has no
    column in the glossary, because its names are those of the other interfaces.
    """
    names = SURFACES[surface]()
    ordinary = set(ORDINARY[surface].split())
    if surface == "API":
        others = SURFACES.keys() - {"API"}
        known = {name for other in others for name in (*terms(other), *ORDINARY[other].split())}
        known = {name.removeprefix("--").replace("-", "_") for name in known}
        unused = ordinary - names
    else:
        known = terms(surface)
        commands = all_commands().commands if surface == "CLI" else ()
        unused = (known | ordinary) - names - set(commands)
    assert sorted(names - known - ordinary) == []
    assert sorted(unused) == []
    # `port_count` may contain the banned word, because `ports` already means the port numbers.
    plain = {name.removeprefix("--") for name in names - {"port_count"}}
    words = {word for name in plain for word in {name, *re.split(r"[_-]", name)}}
    assert words & BANNED == set()
    assert surface not in ("Python", "SQL", "queries") or "key" not in names
