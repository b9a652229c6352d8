"""The HTTP API and the web pages on real stores show the same data as the lab."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from html import escape, unescape
from typing import Any

import numpy as np
import pytest
from httpx2 import Response
from sqlalchemy import URL, make_url
from starlette.testclient import TestClient

from campaign.proxy import Proxy
from starcast import Forest, Lab, forest, topology
from starcast.embedded.programs import NEO4J_VERSION
from starcast.stores import Role
from starcast.support.settings import Settings
from starcast.support.table import Table
from starcast.web.app import create_app
from starcast.web.service import LABS, Service
from starcast.web.workers import Workers
from support.fix_browser import API, get
from support.fix_cli import name_store

MINE = "S4:mine(i=2):4321"


@pytest.fixture
def client(filled: Lab) -> Iterator[TestClient]:
    """A client of a web server whose stores also hold a forest saved by the user."""
    array = forest("S4", "greedy", root="4321").parent_port
    filled.ingest(
        "S4", trees=[Forest(topology("S4"), array, 23, construction="mine", arguments={"i": 2})]
    )
    service = Service(Settings.load(), Workers(count=1, seconds=60))
    yield TestClient(create_app(service), base_url="http://localhost")
    service.close()


def plain(table: Table) -> Any:
    """Return the rows of a table after conversion to JSON and back."""
    return json.loads(table.to_json())


def test_listings_of_the_http_api_equal_those_of_the_lab(client: TestClient, filled: Lab) -> None:
    for kind, table in (
        ("topologies", filled.topologies()),
        ("forests", filled.forests()),
        ("schedules", filled.schedules()),
    ):
        items = get(client, f"/{kind}")["items"]
        assert [{name: item[name] for name in table.columns} for item in items] == plain(table)
        for item in items:
            assert get(client, f"/{item['url']}")
    assert get(client, "/forests?topology=S3")["items"] == []
    first = get(client, "/forests?limit=1")
    assert first["items"][0]["id"] < get(client, f"/{first['next']}")["items"][0]["id"]
    lines = list(csv.DictReader(io.StringIO(client.get(f"{API}/forests.csv").text)))
    assert [line["id"] for line in lines] == filled.forests()["id"]


@pytest.mark.slow
def test_a_forest_saved_by_the_user_is_loaded_from_the_store(
    client: TestClient, filled: Lab
) -> None:
    assert get(client, f"/forests/{MINE}")["height"] == filled.forest(MINE).height
    response = client.get(f"{API}/forests/{MINE}/parent-ports")
    array = np.frombuffer(response.content, np.uint8).reshape(1, 24)
    assert np.array_equal(array, filled.forest(MINE).parent_port)
    assert client.get(f"{API}/forests/{MINE}.svg").text.startswith("<svg")
    entries = get(client, "/topologies/S4/forests")["items"]
    assert {"id": MINE, "name": "mine(i=2):4321", "stored": True} in entries
    assert client.get(f"{API}/forests/S4:yours:1234").status_code == 404


def test_query_results_of_the_http_api_equal_those_of_the_lab(
    client: TestClient, filled: Lab
) -> None:
    name, values = "overlap/load-histogram", "forest=S4:multiple:1234"
    expected = filled.query(name, forest="S4:multiple:1234")
    answer = get(client, f"/queries/{name}/answer?{values}")
    assert answer["rows"] == expected.rows
    assert answer["cypher"] == expected.cypher
    text = client.get(f"{API}/queries/{name}/answer.csv?{values}").text
    assert text == expected.to_csv()
    for wrong in ("", "?forest=S4:multiple", "?forest=S9:multiple:123456789", "?wood=S4"):
        problem = client.get(f"{API}/queries/{name}/answer{wrong}").json()
        assert problem["status"] in {404, 422}
        assert problem["hint"]


@pytest.mark.slow
def test_a_drawing_of_a_query_result_is_served(client: TestClient) -> None:
    values = "topology=S4&source=1234&target=4321"
    query = "paths/shortest-paths"
    found = {each["query"]: each["url"] for each in get(client, "/queries?search=short")["items"]}
    assert get(client, f"/{found[query]}")["drawable"]
    picture = client.get(f"{API}/queries/{query}/answer.svg?{values}&picture_layout=ring")
    assert picture.text.startswith("<svg")
    page = client.get(f"/queries/{query}?{values}").text
    assert escape(f"api/v1/queries/{query}/answer.svg?{values}") in page
    assert "CALL" in page or "MATCH" in page


@pytest.mark.slow
def test_experiments_with_too_many_runs_are_refused(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = (
        f"{API}/experiments/ours",
        f"{API}/experiments/ours/curves",
        f"{API}/compare?name=ours&name=theirs",
        "/experiments/ours",
        "/compare?name=ours&name=theirs",
    )
    assert {client.get(path).status_code for path in paths} == {200}
    monkeypatch.setattr("starcast.web.api.experiments.MAX_RUNS", 1)
    for path in paths:
        response = client.get(path)
        assert response.status_code == 422
        assert "exceed the limit of 1" in response.text


def test_experiments_in_the_http_api_equal_those_of_the_lab(
    client: TestClient, filled: Lab
) -> None:
    items = get(client, "/experiments")["items"]
    assert [item["experiment"] for item in items] == ["ours", "theirs"]
    assert items[0]["axes"]["message_bytes"] == "64 1024"
    detail = get(client, "/experiments/ours")
    expected = plain(filled.show_experiment("ours"))
    assert [run["time"] for run in detail["runs"]] == [run["time"] for run in expected]
    page = get(client, "/experiments/ours?limit=3")
    rest = get(client, f"/experiments/{page['next']}")
    assert [*page["runs"], *rest["runs"]] == detail["runs"]
    (panel,) = get(client, "/experiments/ours/curves")["panels"]
    (curve,) = panel["curves"]
    times = [run["time"] for run in expected if run["message_bytes"] == 64]
    assert curve["spots"][0]["time"] == min(times)
    assert client.get(f"{API}/experiments/none").status_code == 404


def test_a_comparison_in_the_http_api_equals_that_of_the_lab(
    client: TestClient, filled: Lab
) -> None:
    shown = get(client, "/compare?name=ours&name=theirs")
    expected = filled.compare("ours", "theirs")
    assert shown["rows"] == plain(expected)
    assert shown["sides"] == ["ours", "theirs"]
    assert shown["crossovers"] == plain(expected.crossovers())
    assert any(panel["profiles"] for panel in shown["panels"])
    panels = shown["panels"]
    times = {run["time"] for run in plain(filled.runs())}
    spots = [spot for panel in panels for curve in panel["curves"] for spot in curve["spots"]]
    assert {spot["time"] for spot in spots} <= times
    for panel in panels:
        (each,) = panel["bounds"]
        bound = {spot["message_bytes"]: spot["time"] for spot in each["spots"]}
        for curve in panel["curves"]:
            assert all(spot["time"] >= bound[spot["message_bytes"]] for spot in curve["spots"])
    text = client.get(f"{API}/compare.csv?name=ours&name=theirs").text
    assert text == expected.to_csv()
    by = "name=ours&name=theirs&by=segments"
    assert get(client, f"/compare?{by}")["matched_by"].endswith("equal message_bytes and segments")
    page = client.get(f"/compare?{by}").text
    assert '<option value="segments" selected>' in page
    assert "starcast compare ours theirs --by=segments --format html" in page
    assert "A row compares runs with equal message_bytes and segments." in page
    for wrong in (f"{API}/compare?name=ours&name=theirs&by=steps", "/compare?name=ours&by=steps"):
        assert client.get(wrong).status_code == 422
    problem = client.get(f"{API}/compare?name=ours&name=theirs&condition=topology=S9")
    assert problem.status_code in {404, 422}


def test_the_form_on_a_comparison_page_keeps_all_conditions(
    client: TestClient, filled: Lab
) -> None:
    sizes = {run["message_bytes"] for run in filled.runs(experiment="ours")}
    values = [*(f"condition=message_bytes={size}" for size in sizes), "across=t_s", "across=t_c"]
    page = client.get(f"/compare?name=ours&name=theirs&{'&'.join(values)}").text
    assert page.count('name="condition"') == len(sizes) > 1
    assert all(f'name="condition" value="message_bytes={size}"' in page for size in sizes)
    assert page.count('<select name="across">') == 2
    for axis in ("t_s", "t_c"):
        assert page.count(f'<option value="{axis}" selected>') == 1


def test_the_api_and_the_claims_page_show_stored_verdicts(client: TestClient, filled: Lab) -> None:
    claim = get(client, "/claims/TS.L5")
    assert (claim["verdict"], claim["run"]) == ("holds", 1)
    assert claim["detail"] == filled.claim("TS.L5")["detail"]
    stored = get(client, "/claims?verdict=holds")["items"]
    assert [each["id"] for each in stored] == ["TS.L5"]
    # The page counts the verdicts that it shows, and marks the other claims as not checked.
    page = client.get("/claims").text
    shown = Counter(re.findall(r'data-verdict="([^"]*)"', page))
    summary = page.partition('id="summary"')[2].partition('id="failing"')[0]
    assert '<th scope="row">all</th><td class="number">1 of 466</td>' in summary
    assert (shown["holds"], shown[""]) == (1, len(re.findall(r" not checked</span>", page)))


def test_the_health_check_returns_the_versions_of_both_servers(client: TestClient) -> None:
    state = get(client, "/health")
    assert state["postgres"]["version"]
    assert state["neo4j"]["version"] == NEO4J_VERSION


@pytest.mark.usefixtures("filled")
def test_the_rights_of_the_reader_role_suffice_for_the_pages(
    role_url: Callable[[URL, Role], URL],
    kept_database: URL,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name_store(monkeypatch, role_url(kept_database, "reader"))
    service = Service(Settings.load(), Workers(count=1, seconds=60))
    client = TestClient(create_app(service), base_url="http://localhost")
    for path, word in (
        ("/", "PostgreSQL 1"),
        ("/experiments", "theirs"),
        ("/experiments/ours", "links_used"),
        ("/compare?name=ours&name=theirs", "Crossovers"),
        ("/claims?verdict=holds", "TS.L5"),
        ("/claims/TS.L5", "holds"),
        ("/artifacts", "explore/S4?forest=multiple:1234"),
        (f"{QUESTION}{ASKED}", "answer.csv"),
    ):
        response = client.get(path)
        assert response.status_code == 200, path
        assert word in response.text, path
    service.close()


def test_an_experiment_page_shows_start_times_and_the_symbol_t_s(client: TestClient) -> None:
    page = client.get("/experiments/ours").text
    assert re.search(r"<td>20\d\d-\d\d-\d\d \d\d:\d\d</td>", page)
    assert "t_s" in page
    assert ">t s" not in page


STORED_PAGES = ("/artifacts", "/experiments", "/experiments/ours", "/compare?name=ours&name=theirs")
QUESTION, ASKED = "/queries/overlap/load-histogram", "?forest=S4:multiple:1234"


def test_pages_that_need_a_stopped_server_name_the_command_to_start_it(
    client: TestClient,
) -> None:
    """The first request after the stop uses a connection that was open before.

    The failed requests outnumber the labs in the pool; later requests must still get a lab.
    """
    assert len(STORED_PAGES) >= LABS
    service: Service = client.app.app.state.service  # type: ignore[attr-defined]
    service.flags = "--home ./lab"
    url = make_url(str(service.settings.postgres_uri))
    service.close_labs()
    for first in ("/", *STORED_PAGES):
        proxy = Proxy(url.port or 0)
        through = url.set(port=proxy.port).render_as_string()
        service.settings = Settings.load(postgres_uri=through)
        assert client.get("/artifacts").status_code == 200
        proxy.close()
        for path in (first, *STORED_PAGES):
            check_problem(client.get(path), "PostgreSQL", 200 if path == "/" else 503)
        problem = client.get(f"{API}/forests").json()
        assert problem["detail"].startswith(f"PostgreSQL at 127.0.0.1:{proxy.port} cannot be")
        started = "start it ('starcast --home ./lab up' starts the embedded PostgreSQL)"
        assert problem["hint"] == f"{started}, or correct STARCAST_POSTGRES_URI"
        check_problem(client.get("/claims"), "PostgreSQL", 200)
    service.settings = Settings.load(neo4j_uri="bolt://127.0.0.1:1")
    for path in (f"{API}{QUESTION}/answer{ASKED}", f"{QUESTION}{ASKED}"):
        check_problem(client.get(path), "Neo4j", 503)
    check_problem(client.get("/"), "Neo4j", 200)


def check_problem(response: Response, server: str, status: int) -> None:
    """Check that a response names a server and the command that starts it."""
    text = unescape(response.text)
    assert response.status_code == status, text
    assert re.search(rf"{server} at (bolt://)?127\.0\.0\.1:", text)
    assert "'starcast --home ./lab up'" in text
    assert "report it" not in text
    assert "Traceback" not in text
