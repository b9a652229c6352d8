"""Stored networks outside the process that added them: pages, sites, queries and forest files."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from starcast import Forest, Lab, forest, network, topology
from starcast.support.progress import Silent
from starcast.support.settings import Settings
from starcast.topologies import networks
from starcast.web.app import create_app
from starcast.web.service import Service
from starcast.web.site import Site
from starcast.web.workers import Workers
from support.fix_browser import API, get, served
from support.meeting import refused

LINKS = [("Köln", "Bonn"), ("Bonn", "A,B"), ("A,B", "Köln"), ("Köln", "x.1"), ("x.1", "10")]
PATHS = "paths/shortest-paths"


@pytest.fixture
def forget(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function that makes this process forget all networks, to simulate a new process."""
    return lambda: monkeypatch.setattr(networks, "_known", {})


@pytest.fixture
def spec(lab: Lab, forget: Callable[[], None]) -> str:
    """The spec of a stored network that this process does not know."""
    forget()
    found: str = lab.add_network(network(LINKS, name="cities"))["spec"]
    forget()
    return found


@pytest.fixture
def service(spec: str) -> Iterator[Service]:  # noqa: ARG001 - the network must be stored first
    """The state of a server that starts after the network was stored."""
    service = Service(Settings.load(), Workers(count=1, seconds=60))
    yield service
    service.close()


@pytest.fixture
def client(service: Service) -> TestClient:
    """A test client of the web server."""
    return TestClient(create_app(service), base_url="http://localhost")


@pytest.fixture
def address(service: Service) -> Iterator[str]:
    """The URL of the running web server."""
    with served(create_app(service)) as url:
        yield url


def test_the_web_server_answers_requests_about_a_stored_network(
    client: TestClient, spec: str
) -> None:
    assert client.get(f"/explore/{spec}").status_code == 200
    assert get(client, f"/topologies/{spec}")["nodes"] == 5
    assert get(client, f"/topologies/{spec}/labels")["labels"] == [
        "10",
        "A_B",
        "Bonn",
        "K_ln",
        "x.1",
    ]
    positions = client.get(f"{API}/topologies/{spec}/layout/spring").content
    assert len(np.frombuffer(positions, np.float32)) == 10
    forests = get(client, f"/topologies/{spec}/forests")["items"]
    assert f"{spec}:breadth-first:10" in {each["id"] for each in forests}
    assert get(client, f"/forests/{spec}:breadth-first:10")["height"] == 3
    schedule = f"{spec}:broadcast:forest(base=breadth-first)"
    assert get(client, f"/simulate?schedule={schedule}")["complete"]
    cut = get(client, f"/simulate?schedule={schedule}&fault=K_ln-x.1")
    assert cut["received"] == [0, 0, 0, 0, 1]


def test_unknown_networks_and_network_files_in_urls_are_refused(
    client: TestClient, lab: Lab, spec: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.edges"
    file.write_text("a b\nb c\n")
    for wrong in ("cities-000000", str(file), file.as_uri()):
        assert client.get(f"/explore/{wrong}").status_code == 404
        assert client.get(f"{API}/topologies/{wrong}").status_code in {404, 422}
    client.get(f"/explore/{spec}")
    lab.drop(spec)
    page = client.get(f"/explore/{spec}")
    assert page.status_code == 404
    assert f"unknown topology &#39;{spec}&#39;" in page.text


def test_the_explorer_form_accepts_the_name_of_a_network(
    client: TestClient, lab: Lab, spec: str
) -> None:
    found = client.get("/explore?spec=cities", follow_redirects=False)
    assert found.headers["location"] == f"explore/{spec}"
    lab.add_network(network(LINKS[:4], name="cities"))
    assert "2 stored networks are named" in client.get("/explore?spec=cities").text


def test_paths_of_the_web_server_accept_the_name_of_a_network(
    client: TestClient, lab: Lab, spec: str
) -> None:
    paths = [
        f"/{kind}/{{0}}{rest}"
        for kind, rest in (
            ("topologies", ""),
            ("topologies", "/labels"),
            ("topologies", "/forests"),
            ("forests", ":breadth-first:10"),
            ("schedules", ":broadcast:forest(base=breadth-first)"),
        )
    ]
    for path in paths:
        assert get(client, path.format("cities")) == get(client, path.format(spec))
    page = client.get("/explore/cities?forest=breadth-first:10", follow_redirects=False)
    assert page.headers["location"] == f"{spec}?forest=breadth-first:10"
    lab.add_network(network(LINKS[:4], name="cities"))
    for path in paths:
        answer = client.get(API + path.format("cities"))
        assert answer.status_code == 422
        assert "2 stored networks are named 'cities'" in answer.json()["detail"]
    assert "2 stored networks are named" in client.get("/explore/cities").text


def test_queries_accept_the_name_of_a_network(
    client: TestClient, lab: Lab, spec: str, forget: Callable[[], None]
) -> None:
    lab.ingest(spec)
    forget()
    values: dict[str, Any] = {"source": "10", "target": "Bonn"}
    found = lab.query(PATHS, topology="cities", **values)
    assert found.parameters["topology"] == spec
    assert found.rows == lab.query(PATHS, topology=spec, **values).rows
    forget()
    url = f"/queries/{PATHS}/answer?topology=cities&source=10&target=Bonn"
    assert get(client, url)["rows"] == found.rows
    assert client.get(f"{API}{url.replace('answer', 'answer.svg')}").text.startswith("<svg")


def test_a_site_has_the_explorer_page_of_a_network(
    lab: Lab, spec: str, forget: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.ingest(spec, trees="breadth-first")
    forget()
    # Skip the pages of claims and records, which take minutes to build.
    monkeypatch.setattr(Site, "_collect", lambda *_: None)
    with Site(Settings.load(), has_stores=True) as site:
        site.add([f"{spec}:breadth-first:10"], [])
        files = site.build(Silent())
    assert f'"{spec}:breadth-first:10"' in files[f"explore/{spec}.html"].decode()


def test_lab_explore_writes_a_page_of_a_network(lab: Lab, spec: str, tmp_path: Path) -> None:
    lab.explore("cities", out=tmp_path / "page.html")
    assert f'"{spec}"' in (tmp_path / "page.html").read_text()


def test_a_forest_file_contains_its_network(
    lab: Lab, forget: Callable[[], None], tmp_path: Path, spec: str
) -> None:
    file = tmp_path / "f.npz"
    forest(topology(spec), "breadth-first").save(file)
    table = topology(spec).table()
    lab.drop(spec)
    forget()
    found = Forest.open(file)
    assert found.id == f"{spec}:breadth-first:10"
    np.testing.assert_array_equal(found.topology.table(), table)


def test_a_forest_file_without_its_network_is_read_if_the_network_is_stored(
    lab: Lab, forget: Callable[[], None], tmp_path: Path, spec: str
) -> None:
    file = tmp_path / "f.npz"
    forest(topology(spec), "breadth-first").save(file)
    with np.load(file) as archive:
        parts = {name: archive[name] for name in archive.files if name != "network"}
    np.savez(file, **parts)
    forget()
    assert Forest.open(file).topology.spec == spec
    lab.drop(spec)
    forget()
    with refused("is a damaged forest file"):
        Forest.open(file)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"links": [[0, 99, 1]]}, "joins a node that does not exist"),
        ({"sha256": "0" * 64}, "does not have the SHA-256"),
        ({"source": 5}, "is a damaged forest file"),
        ({"name": "towns"}, "is a damaged forest file"),
    ],
)
def test_a_changed_network_in_a_forest_file_is_refused(
    forget: Callable[[], None], tmp_path: Path, spec: str, changes: dict[str, object], message: str
) -> None:
    file = tmp_path / "f.npz"
    built = forest(topology(spec), "breadth-first")
    built.save(file)
    with np.load(file) as archive:
        parts = dict(archive)
    content = json.loads(parts["network"].tobytes()) | changes
    parts["network"] = np.frombuffer(json.dumps(content).encode(), np.uint8)
    np.savez(file, **parts)
    forget()
    with refused(message, exit_code=6 if "sha256" in changes else 2):
        Forest.open(file)


def test_forest_files_on_topology_families_contain_no_network(tmp_path: Path) -> None:
    for spec in ("S4", "Mesh3x3"):
        forest(spec, "breadth-first").save(tmp_path / "f.npz")
        with np.load(tmp_path / "f.npz") as archive:
            assert "network" not in archive.files


def test_the_explorer_in_a_browser_shows_a_network(tab: Page, spec: str) -> None:
    tab.goto(f"/explore/{spec}?forest=breadth-first:10")
    expect(tab.locator("[data-node]")).to_have_count(5)
    expect(tab.locator("[data-node='K_ln']")).to_be_visible()


def test_the_explorer_draws_levels_from_the_chosen_node(tab: Page, spec: str) -> None:
    tab.goto(f"/explore/{spec}?node=K_ln")
    tab.get_by_text("Levels from here").click()
    expect(tab.locator("#layout-text")).to_have_text("levels: rows by the distance from K_ln")
    assert "layout=levels&root=K_ln" in tab.evaluate("location.href")
    tab.goto(f"/explore/{spec}?root=K_ln")
    expect(tab.locator("#layout-text")).to_have_text("levels: rows by the distance from K_ln")
    tab.select_option("#layout", "spring")
    expect(tab.locator("#layout-text")).to_contain_text("springs")
    assert "root" not in tab.evaluate("location.href")


def test_the_api_returns_the_layout_levels_for_a_given_root(client: TestClient, spec: str) -> None:
    path = f"{API}/topologies/{spec}/layout/levels"
    answers = [client.get(f"{path}?root={label}") for label in ("10", "K_ln")]
    first, other = (np.frombuffer(answer.content, np.float32) for answer in answers)
    assert np.array_equal(first, np.frombuffer(client.get(path).content, np.float32))
    assert not np.array_equal(first, other)
    assert client.get(f"{path}?root=nowhere").status_code == 422
