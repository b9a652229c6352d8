"""Networks of the package topohub in all parts of starcast: files, stores, queries, runs, sites."""

import json
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest
import topohub

from starcast import Lab, network
from starcast.support.progress import Silent
from starcast.support.settings import Settings
from starcast.topologies import networks
from starcast.web.site import Site

FOREST = "breadth-first"
SNDLIB = Path(topohub.__file__).parent / "data" / "sndlib"
ALGORITHM = f"forest(base={FOREST})"


@pytest.fixture
def forget(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function that makes this process forget all networks, to simulate a new process."""
    return lambda: monkeypatch.setattr(networks, "_known", {})


@pytest.mark.parametrize(("key", "root", "far"), [("polska", "Gdansk", "Rzeszow"),
                                                  ("germany50", "Berlin", "Konstanz")])  # fmt: skip
def test_a_topohub_network_works_in_files_stores_queries_runs_and_sites(
    lab: Lab,
    tmp_path: Path,
    forget: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    root: str,
    far: str,
) -> None:
    data = json.loads((SNDLIB / f"{key}.json").read_text())
    names = {node["id"]: node["name"] for node in data["nodes"]}
    graph = nx.relabel_nodes(nx.node_link_graph(data, edges="edges"), names)
    file = tmp_path / f"{key}.json"
    file.write_text(json.dumps(data))
    with pytest.warns(UserWarning, match="does not use all data"):
        facts = lab.show_topology(file)
    spec = facts["spec"]
    assert (facts["nodes"], facts["links"]) == (len(graph), graph.size())
    assert facts["diameter"] == nx.diameter(graph)
    made = networks.find_network(spec)
    assert made is not None
    assert sorted(made.labels().tolist()) == sorted(graph)
    lab.export_topology(spec, to="graphml").save(tmp_path / "again.graphml")
    assert network(tmp_path / "again.graphml", name=key).spec == spec

    schedule = f"broadcast:{ALGORITHM}"
    tree = f"{spec}:{FOREST}:{root}"
    with pytest.warns(UserWarning, match="does not use all data"):
        stored = lab.ingest(file, trees=FOREST, schedules=schedule, root=root)
    assert stored["id"][:2] == [spec, tree]
    assert stored["id"][2].startswith(f"{spec}:broadcast:forest:all:")
    forget()
    file.unlink()
    found = lab.query("paths/shortest-path", topology=key, source=root, target=far)
    assert found.rows[0]["length"] == nx.shortest_path_length(graph, root, far)
    rows = lab.query("trees/heights", forest=tree).rows
    assert rows[0]["height"] == nx.eccentricity(graph, root)

    run = lab.run(spec, "broadcast", ALGORITHM, message_bytes=64, experiment="doors").run
    steps = [cost.steps for cost in run.costs if cost.kind == "simulated"]
    assert steps == [nx.eccentricity(graph, made.label(0))]
    lab.run("S4", "broadcast", ALGORITHM, message_bytes=64, experiment="doors")
    assert len(lab.compare("doors", across="topology").rows) == 1
    assert set(lab.reproduce("doors")["agrees"]) == {True}
    assert "positions" in lab.draw_topology(spec).svg
    lab.explore(spec, forest=[FOREST], schedule=[schedule], root=root, out=tmp_path / "page.html")
    assert tree in (tmp_path / "page.html").read_text()

    # Skip the pages of claims and records, which take minutes to build.
    monkeypatch.setattr(Site, "_collect", lambda *_: None)
    with Site(Settings.load(), has_stores=True) as site:
        site.add([tree], [])
        files = site.build(Silent())
    assert not site.problems
    assert tree in files[f"explore/{spec}.html"].decode()


def test_all_networks_of_sndlib_are_read() -> None:
    for file in sorted(SNDLIB.glob("*.json")):
        graph = nx.node_link_graph(json.loads(file.read_text()), edges="edges")
        made = network(file, reporter=Silent())
        assert (made.nodes, made.links) == (len(graph), nx.Graph(graph).size())
        assert made.diameter == nx.diameter(graph)
        assert made.positions is not None
