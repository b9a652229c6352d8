"""Networks in the stores: kept with their ports, found by spec or name, dropped when unused."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from sqlalchemy import Engine, text

from starcast import Lab, Network, connect, network, schedule, topology
from starcast.stores.database import backup, migrations, models
from starcast.stores.database.networks import load_network, save_network
from starcast.stores.database.sessions import open_session
from starcast.support import resolvers
from starcast.topologies import colouring, networks
from support.meeting import refused

FOREST = "breadth-first"
SCHEDULE = "broadcast:forest(base=breadth-first)"
GRID: dict[str, Any] = {"algorithm": "forest(base=breadth-first)", "message_bytes": [64, 1024]}
#: The links of a network with two switches and three endpoints.
RACK = [("s", "a"), ("s", "b"), ("s", "t"), ("t", "c")]
#: Links between nodes whose titles differ in length; some titles are not valid labels.
CITIES = [("Köln", "Bonn"), ("Bonn", "A,B"), ("A,B", "Köln"), ("Köln", "x.1"), ("x.1", "10")]


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function that makes this process forget all networks, to simulate a new process."""

    def do() -> None:
        monkeypatch.setattr(networks, "_known", {})

    # Labs left open by other tests would still find their networks.
    monkeypatch.setattr(resolvers, "_resolvers", [])
    do()
    return do


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    """A file with the links of a barbell graph."""
    file = tmp_path / "bells.edges"
    file.write_text("\n".join(f"{u} {v}" for u, v in nx.barbell_graph(4, 2).edges))
    return file


def test_a_stored_network_is_known_by_its_spec_in_another_process(
    lab: Lab, forget: Callable[[], None]
) -> None:
    given = network(CITIES, name="cities")
    lab.ingest(given, trees=FOREST, schedules=SCHEDULE)
    forget()
    found = topology(given.spec)
    assert isinstance(found, Network)
    assert found is not given
    np.testing.assert_array_equal(found.table(), given.table())
    assert found.labels().tolist() == ["10", "A_B", "Bonn", "K_ln", "x.1"]
    assert found.titles == given.titles
    assert len(lab.verify(checksums=True)) == 0
    assert lab.forest(f"{given.spec}:breadth-first:10").topology is found
    assert set(lab.rebuild()["id"]) == set(lab.topologies()["id"]) | {
        f"{given.spec}:breadth-first:10",
        f"{given.spec}:broadcast:forest:all:base=breadth-first,segments=1:10",
    }


def test_the_graph_stores_node_titles_and_whether_a_topology_has_translations(lab: Lab) -> None:
    given = network(CITIES, name="cities")
    lab.ingest(given)
    lab.ingest("S3")
    rows = lab.ask(
        "MATCH (t:Topology) RETURN t.spec AS spec, t.has_translations AS moves, t.source AS source"
        " ORDER BY spec"
    ).rows
    assert rows == [
        {"spec": "S3", "moves": True, "source": "Akers & Krishnamurthy 1989"},
        {"spec": given.spec, "moves": False, "source": ""},
    ]
    titles = "MATCH (n:Node) WHERE n.title IS NOT NULL RETURN n.title AS title ORDER BY n.rank"
    assert lab.ask(titles)["title"] == ["10", "A,B", "Bonn", "Köln", "x.1"]


def test_verification_finds_a_changed_node_title(lab: Lab) -> None:
    given = network(CITIES, name="cities")
    lab.ingest(given)
    lab.graph.write("MATCH (n:Node {label: 'K_ln'}) SET n.title = 'Bonn'")
    assert lab.verify()["problem"] == [
        "the key, rank, label, title, is_switch or topology of node K_ln differs"
    ]


def test_switches_are_stored_and_loaded_again(lab: Lab, forget: Callable[[], None]) -> None:
    given = network(RACK, name="rack", switches=["s", "t"])
    lab.ingest(given, trees=FOREST, schedules=SCHEDULE)
    lab.ingest("S3")
    rows = lab.ask(
        "MATCH (t:Topology) RETURN t.nodes AS nodes, t.endpoints AS endpoints ORDER BY nodes"
    ).rows
    assert rows == [{"nodes": 5, "endpoints": 3}, {"nodes": 6, "endpoints": 6}]
    switches = "MATCH (n:Node) WHERE n.is_switch RETURN n.label AS label ORDER BY n.rank"
    assert lab.ask(switches)["label"] == ["s", "t"]
    others = "MATCH (n:Node) WHERE n.is_switch IS NULL RETURN count(*) AS count"
    assert lab.ask(others)["count"] == [3 + 6]
    shown = lab.topologies()
    assert dict(zip(shown["id"], shown["endpoints"], strict=True)) == {given.spec: 3, "S3": 6}
    assert lab.show_topology(given.spec, stored=True)["endpoints"] == 3
    assert len(lab.verify(checksums=True)) == 0
    forget()
    found = topology(given.spec)
    assert (found.endpoints, found.nodes, found.sha256) == (3, 5, given.sha256)  # type: ignore[attr-defined]
    lab.rebuild()
    assert lab.ask(switches)["label"] == ["s", "t"]
    lab.graph.write("MATCH (n:Node {label: 't'}) REMOVE n.is_switch")
    assert lab.verify()["problem"] == [
        "the key, rank, label, title, is_switch or topology of node t differs"
    ]


@pytest.mark.parametrize(
    ("spec", "schedule", "root"),
    [
        ("Mesh3x3", "scatter:greedy", "11"),
        ("S4", "scatter:forest(base=multiple)", "2134"),
        ("Mesh3x3", "gather:forest(base=breadth-first)", "12"),
        ("Mesh4x6", "alltoall:greedy", None),
        ("FT4", "allgather:greedy", None),
        ("FT4", "broadcast:greedy-matching", None),
    ],
)
def test_the_actual_number_of_rows_replaces_the_planned_number(
    lab: Lab, spec: str, schedule: str, root: str | None
) -> None:
    """The planned number is an estimate that ignores the root and the switches."""
    stored = lab.ingest(spec, schedules=schedule, root=root)
    schedule_id = stored["id"][-1]
    [found] = lab.ask("MATCH ()-[s:SEND]->() RETURN count(s) AS count")["count"]
    with open_session(lab.engine) as session:
        row = session.get_one(models.Materialization, ("schedule", schedule_id))
        assert row.expected_relationships == found == stored["relationships"][-1]
    assert len(lab.verify(checksums=True)) == 0
    assert lab.show(schedule_id, verify=True)["id"] == schedule_id
    lab.rebuild()
    assert len(lab.verify()) == 0


def test_a_network_whose_spec_is_that_of_another_stored_network_is_not_taken_for_it(
    lab: Lab, forget: Callable[[], None], tmp_path: Path
) -> None:
    """A spec has only 6 digits of the network's SHA-256; these two networks have the same 6."""
    file = tmp_path / "col.csv"
    file.write_text("u,v\na,b\nb,c\nc,n3677\n")
    assert lab.ingest(str(file), trees=["breadth-first"])["id"][0] == "col-0a258f"
    forget()
    file.write_text("u,v\na,b\na,c\na,n8014\n")
    for use in (
        lambda: lab.ingest(str(file), trees=["breadth-first"]),
        lambda: lab.show_topology(str(file), stored=True),
        lambda: lab.add_network(str(file)),
    ):
        with refused("another network with the spec 'col-0a258f' is stored", exit_code=6):
            use()


def test_another_network_with_the_same_spec_is_refused(
    lab: Lab, forget: Callable[[], None]
) -> None:
    given = network(CITIES, name="cities")
    lab.add_network(given)
    with lab._writing("a test", wait=False) as engine, open_session(engine) as session:
        session.execute(text("update network set sha256 = repeat('0', 64)"))
    with refused("another network with the spec", exit_code=6):
        lab.ingest(given)
    forget()
    with refused("does not have the SHA-256 000", exit_code=6):
        topology(given.spec)


def test_stored_port_numbers_are_used_even_if_the_colouring_changes(
    lab: Lab, forget: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of starcast may colour the links, and thus number the ports, differently."""
    given = network(CITIES, name="cities")
    lab.add_network(given)
    forget()
    colour = colouring.colour_links
    monkeypatch.setattr(networks, "colour_links", lambda *links: [5 - c for c in colour(*links)])
    np.testing.assert_array_equal(topology(given.spec).table(), given.table())
    forget()
    other = network(CITIES, name="cities")
    with refused("is already stored with different port numbers", exit_code=6):
        lab.ingest(other)


def test_the_name_of_a_network_is_accepted_if_it_is_unique(
    lab: Lab, forget: Callable[[], None]
) -> None:
    first = network(CITIES, name="cities")
    lab.add_network(first)
    forget()
    assert lab.show_topology("cities")["spec"] == first.spec
    assert lab.experiment("e", topology="cities", **GRID)["created"] == 2
    lab.ingest("cities", trees=FOREST, schedules=SCHEDULE)
    [tree], [rows] = lab.forests()["id"], lab.schedules()["id"]
    named, named_schedule = (each.replace(first.spec, "cities") for each in (tree, rows))
    assert lab.show(named, kind="forest")["trees"] == 1
    assert lab.forest(named).id == tree
    assert lab.query("trees/heights", forest=named)["tree"] == [0]
    assert lab.schedule_steps(named_schedule).rows == lab.schedule_steps(rows).rows
    assert len(lab.ingest("cities", trees=[named])) == 0
    assert len(lab.verify("cities", named)) == 0
    assert lab.rebuild("cities", method="bolt")["id"] == [first.spec, tree, rows]
    lab.drop(named_schedule)
    lab.drop(named)
    assert lab.forests()["id"] == []
    second = network(CITIES[:4], name="cities")
    lab.add_network(second)
    with refused("2 stored networks are named 'cities'"):
        lab.show_topology("cities")
    with refused("unknown topology 'cites'"):
        lab.show_topology("cites")


def test_network_files_are_accepted_in_place_of_a_topology(
    lab: Lab, edges: Path, tmp_path: Path, forget: Callable[[], None]
) -> None:
    spec = lab.show_topology(edges)["spec"]
    assert lab.show_topology(str(edges))["spec"] == spec
    assert spec.startswith("bells-")
    grid = tmp_path / "grid.toml"
    grid.write_text(
        f'topology = ["{edges}", "S3"]\nalgorithm = "forest(base=breadth-first)"\n'
        "message_bytes = 64\n"
    )
    assert lab.experiment("e", grid=grid)["created"] == 2
    assert lab.run(edges, "broadcast", "forest", base=FOREST, message_bytes=64).run.topology == spec
    assert lab.build_forest(edges, FOREST, out=tmp_path / "f.npz")["id"] == [f"{spec}:{FOREST}:0"]
    assert lab.schedule_rows(edges, "broadcast", "forest", base=FOREST)["step"][0] == 1
    assert lab.constructions(edges)["construction"] == lab.constructions(spec)["construction"]
    assert lab.ingest(edges)["id"] == [spec]
    with connect() as other:
        stored = " ".join(map(str, [*other.runs().rows, other.grid("e"), *other.topologies().rows]))
    assert str(tmp_path) not in stored
    forget()
    # The stored runs can be reproduced without the file.
    edges.unlink()
    assert set(lab.reproduce("e")["agrees"]) == {True}


def test_networks_can_be_added_listed_and_dropped(
    lab: Lab, edges: Path, forget: Callable[[], None]
) -> None:
    spec = lab.add_network(edges, name="mine")["spec"]
    forget()
    [row] = lab.topologies().rows
    assert (row["id"], row["nodes"], row["state"], row["used_by"]) == (spec, 10, "not ingested", "")
    lab.run("mine", "broadcast", "forest", base=FOREST, message_bytes=64)
    assert lab.topologies()["used_by"] == ["1 run"]
    with refused("cannot be dropped because it is in use: 1 run", exit_code=6):
        lab.drop("mine", kind="topology")
    lab.ingest("mine", trees=FOREST)
    assert lab.topologies()["used_by"] == ["1 forest, 1 run"]
    with refused("depend", exit_code=6):
        lab.drop(spec)
    assert lab.drop(spec, cascade=True)["dropped"] == [f"{spec}:{FOREST}:0", spec]
    assert lab.topologies()["state"] == ["not ingested"]
    lab.drop_experiment("adhoc")
    assert lab.drop("mine")["dropped"] == [spec]
    assert lab.topologies().rows == []
    with refused("no topology 'mine' is stored", exit_code=3):
        lab.drop("mine", kind="topology")


def test_a_network_that_another_process_ingests_or_uses_is_not_dropped(
    lab: Lab, edges: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its definition, the ingested network could not be built again."""
    spec = lab.ingest(edges)["id"][0]
    with monkeypatch.context() as before_the_ingest:
        before_the_ingest.setattr(lab, "_is_only_stored", lambda _: True)
        with refused("another process has ingested or dropped the network", exit_code=6):
            lab.drop(spec)
    assert len(lab.verify()) == 0
    with connect() as other, other._writing("a test", wait=False):
        assert lab.drop(spec)["dropped"] == [spec]
    assert lab.topologies()["state"] == ["not ingested"]
    assert lab.drop(spec)["dropped"] == [spec]


def test_a_topology_of_a_family_cannot_be_added_as_a_network(lab: Lab) -> None:
    with refused("S4 belongs to a family"):
        lab.add_network("S4")


def test_an_experiment_file_contains_its_networks(
    lab: Lab, edges: Path, tmp_path: Path, forget: Callable[[], None]
) -> None:
    given = topology(lab.add_network(edges)["spec"])
    lab.experiment("e", topology=edges, **GRID)
    file = tmp_path / "e.json"
    lab.export_experiment("e", out=file)
    lab.drop_experiment("e")
    lab.drop(given.spec)
    forget()
    assert lab.import_experiment(file)["created"] == [2]
    np.testing.assert_array_equal(topology(given.spec).table(), given.table())
    assert set(lab.reproduce("e", jobs=2)["agrees"]) == {True}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"links":[[0,1,1]', '"links":[[0,1,2]', "the ports of the network"),
        ('"links":[[0,1,1]', '"links":[[0,99,1]', "joins a node that does not exist"),
        ('"labels":["0"', '"labels":["expanded"', "the network has a malformed or repeated label"),
        ('"titles":["0",', '"titles":[', "the network has a malformed or repeated label"),
        ('"sha256":"', '"sha256":"0', "does not have the SHA-256"),
        ('"name":"bells"', '"name":"../bells"', "the name '../bells' of the network is malformed"),
    ],
)
def test_a_changed_network_in_an_experiment_file_is_refused(
    lab: Lab, edges: Path, tmp_path: Path, forget: Callable[[], None], old: str, new: str,
    message: str,
) -> None:  # fmt: skip
    lab.experiment("e", topology=edges, **GRID)
    file = tmp_path / "e.json"
    lab.export_experiment("e", out=file)
    content = file.read_text()
    assert old in content
    file.write_text(content.replace(old, new, 1))
    forget()
    with refused(message):
        lab.import_experiment(file)


def test_shard_files_contain_their_networks(
    lab: Lab, edges: Path, tmp_path: Path, forget: Callable[[], None]
) -> None:
    parts = [tmp_path / f"{number}.json" for number in (1, 2)]
    for number, part in enumerate(parts, start=1):
        lab.experiment("e", topology=edges, **GRID, segments=[1, 2], shard=f"{number}/2", out=part)
    forget()
    assert lab.merge_experiment(*parts)["created"] == 4
    assert lab.topologies()["used_by"] == ["4 runs"]


def test_worker_processes_know_the_networks_of_their_tasks(lab: Lab, edges: Path) -> None:
    made = lab.experiment("e", topology=edges, **GRID, segments=[1, 2], jobs=2)
    assert made["created"] == 4


def test_backups_contain_networks(
    lab: Lab, bare: Engine, edges: Path, tmp_path: Path, forget: Callable[[], None]
) -> None:
    spec = lab.add_network(edges)["spec"]
    table = topology(spec).table()
    lab.backup(tmp_path / "b.backup")
    forget()
    backup.restore(bare, tmp_path / "b.backup")
    with open_session(bare) as session:
        restored = load_network(session, "bells")
    assert restored is not None
    np.testing.assert_array_equal(restored.table(), table)
    assert migrations.differences(bare) == []


def test_a_diameter_that_is_too_expensive_to_compute_is_stored_as_null(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(networks, "MAX_SEARCHES", 0)
    given = network(nx.cycle_graph(9), name="ring")
    lab.ingest(given)
    assert lab.topologies()["diameter"] == [None]
    assert len(lab.verify()) == 0
    assert "diameter" not in {*lab.show(given.spec)}
    lines: list[str] = []
    with connect(reporter=lines.append) as talking:
        assert talking.show_topology(given.spec)["diameter"] is None
    assert lines == [f"the diameter of {given.spec} is not known: it is at least 4"]


def test_stored_networks_are_unknown_after_their_lab_is_closed(
    lab: Lab, forget: Callable[[], None]
) -> None:
    spec = lab.add_network(network(CITIES, name="cities"))["spec"]
    lab.close()
    forget()
    with refused(f"unknown topology '{spec}'"):
        topology(spec)


def test_saving_a_network_returns_whether_it_is_new(lab: Lab) -> None:
    given = network(CITIES, name="cities")
    with lab._writing("a test", wait=False) as engine, open_session(engine) as session:
        assert save_network(session, given.spec)
        assert not save_network(session, given.spec)
        assert not save_network(session, "S4")
        assert load_network(session, "cities") is given


def test_unequal_links_are_stored_with_their_capacities_and_latencies(
    lab: Lab, forget: Callable[[], None]
) -> None:
    """If all links of a topology are equal, its links in the graph have neither property."""
    given = network(CITIES, name="cities", capacities=[1, 4, 2, 12, 1], latencies=[0, 70, 1, 1, 5])
    lab.ingest("S3", trees="greedy")
    lab.ingest(given, trees=FOREST, schedules=SCHEDULE)
    forget()
    assert lab.verify(checksums=True).rows == []
    stored = topology(given.spec)
    assert isinstance(stored, Network)
    lower, higher, ports = stored.port_links().T
    capacities, latencies = given.capacities, given.latencies
    assert capacities is not None
    assert latencies is not None
    assert lab.ask(
        "MATCH (a)-[l:LINK]->(b) WHERE l.capacity IS NOT NULL"
        " RETURN a.rank AS a, b.rank AS b, l.capacity AS c, l.latency AS l ORDER BY a, b"
    ).rows == [
        {"a": a, "b": b, "c": capacities[p - 1, a], "l": latencies[p - 1, a]}
        for a, b, p in zip(lower.tolist(), higher.tolist(), ports.tolist(), strict=True)
    ]
    keys = "MATCH ()-[l:LINK {topology: 'S3'}]->() UNWIND keys(l) AS k RETURN DISTINCT k"
    assert set(lab.ask(keys)["k"]) == {"topology", "port"}
    one = "MATCH (:Node {label: 'Bonn'})-[l:LINK]-(:Node {label: 'A_B'}) "
    for change in ("SET l.capacity = 3", "SET l.latency = '70'", "REMOVE l.capacity"):
        lab.graph.write(one + change)
        assert "LINK A_B-Bonn" in "; ".join(lab.verify()["problem"])
        assert len(lab.verify(checksums=True)) > 1
        lab.rebuild(given.spec)
        assert lab.verify(checksums=True).rows == []


def test_experiments_on_networks_with_unequal_links_are_stored_and_exchanged(
    lab: Lab, tmp_path: Path, forget: Callable[[], None]
) -> None:
    """The times of these runs include latencies in addition to start-ups and bytes."""
    given = network(CITIES, name="cities", capacities=[1, 4, 2, 12, 1], latencies=[0, 70, 1, 1, 5])
    grid = {**GRID, "topology": [given.spec], "collective": "broadcast",
            "execution": ["synchronous", "asynchronous"], "t_s": [0, 100]}  # fmt: skip
    assert lab.experiment("far", grid=grid)["created"] == 8
    file = tmp_path / "far.json"
    lab.export_experiment("far", out=file)
    lab.drop_experiment("far")
    lab.drop(given.spec)
    forget()
    changed = re.sub(
        r'("kind":"simulated".*?"time":")(\d+)', r"\g<1>9\g<2>", file.read_text(), count=1
    )
    (tmp_path / "changed.json").write_text(changed)
    with refused("has inconsistent figures", exit_code=6):
        lab.import_experiment(tmp_path / "changed.json")
    assert lab.import_experiment(file)["created"] == [8]
    assert set(lab.reproduce("far")["agrees"]) == {True}


def test_roots_of_runs_are_stored_and_comparisons_match_runs_by_root(
    lab: Lab, edges: Path, tmp_path: Path, forget: Callable[[], None]
) -> None:
    spec = lab.add_network(edges)["spec"]
    names = [spec, "S4", "Mesh4x5"]
    made = lab.experiment("e", topology=names, **GRID, root=["centre", "#0"], jobs=2)
    assert made["created"] == 12
    assert lab.experiment("e", topology=names, **GRID, root=[0, "centre"])["kept"] == 12
    lab.experiment("labels", topology="Mesh4x5", **GRID, root=["12", "00"])
    assert lab.runs(experiment="labels")["root"] == [None, None, "12", "12"]
    single = lab.run("Mesh4x5", "broadcast", GRID["algorithm"], message_bytes=64, root="#7")
    assert single.run.root == "12"
    # Runs with rank 0 as root are compared with each other, and so are runs with root `centre`.
    crossed = lab.compare("e", across="topology", everything=True)
    assert "note" not in crossed.columns
    assert {(row["message_bytes"], row["root"]) for row in crossed.rows} == {
        (size, root) for size in (64, 1024) for root in (None, "centre")
    }
    conditions = ["root=centre", "topology=S4", "topology=bells"]
    chosen = lab.compare("e", across="topology", conditions=conditions)
    assert [side.name for side in chosen.comparison.sides] == [f"e/{spec}", "e/S4"]
    assert {run.root for side in chosen.comparison.sides for run in side.runs} == {"centre"}
    rooted = lab.compare("e", across="root", conditions={"topology": ["bells"]})
    assert set(rooted["verdict"]) == {"better"}
    number = next(row["run"] for row in lab.runs(experiment="e").rows if row["root"] == "centre")
    assert lab.show_run(number)["root_label"]
    file = tmp_path / "e.json"
    lab.export_experiment("e", out=file)
    assert '"root":"centre"' in file.read_text()
    lab.drop_experiment("e")
    forget()
    assert lab.import_experiment(file)["created"] == [12]
    assert set(lab.reproduce("e")["agrees"]) == {True}
    roots = "select distinct root from run_summary where experiment = 'e' order by 1"
    with lab._session() as session:
        assert session.scalars(text(roots)).all() == ["centre", None]


def test_a_default_root_is_omitted_from_an_exported_experiment(lab: Lab, tmp_path: Path) -> None:
    lab.experiment("e", topology="Mesh4x5", **GRID)
    lab.export_experiment("e", out=tmp_path / "e.json")
    assert '"root"' not in (tmp_path / "e.json").read_text()
    lab.drop_experiment("e")
    assert lab.import_experiment(tmp_path / "e.json")["created"] == [2]


def test_shards_of_runs_from_two_roots_are_merged(lab: Lab, edges: Path, tmp_path: Path) -> None:
    parts = [tmp_path / f"{number}.json" for number in (1, 2)]
    for number, part in enumerate(parts, start=1):
        lab.experiment(
            "e", topology=edges, **GRID, root=["0", "centre"], shard=f"{number}/2", out=part
        )
    assert lab.merge_experiment(*parts)["created"] == 4


def test_a_query_parameter_that_lists_topologies_accepts_network_names(
    lab: Lab, edges: Path, tmp_path: Path, forget: Callable[[], None]
) -> None:
    spec = lab.ingest(edges)["id"][0]
    lab.ingest("S3")
    forget()
    file = tmp_path / "pack" / "sizes.cypher"
    file.parent.mkdir()
    file.write_text(
        "// title: Sizes\n// question: How many nodes do topologies have?\n// parameters:\n"
        "//   topologies (list of topology): the topologies\n// columns:\n"
        "//   spec: name of the topology\n//   nodes: number of nodes\n// cost: one row each\n"
        "// revision: 1\n// reference: this test\n\n"
        "MATCH (t:Topology) WHERE t.spec IN $topologies\n"
        "RETURN t.spec AS spec, t.nodes AS nodes ORDER BY spec\n"
    )
    for given in ("S3,bells", ["S3", "bells"], ["S3", spec]):
        assert lab.query(file, topologies=given)["spec"] == ["S3", spec]


@pytest.mark.slow
def test_greedy_schedules_on_networks_with_switches_are_stored_with_all_rows(lab: Lab) -> None:
    """The planned number of rows is larger: it counts sends to switches that no endpoint needs."""
    schedules = [f"{name}:greedy" for name in ("broadcast", "allgather", "reduce-scatter")]
    lab.ingest("DF1,1", trees="breadth-first", schedules=",".join(schedules))
    assert len(lab.verify(checksums=True)) == 0
    rows = lab.query("MATCH ()-[s:SEND]->() RETURN s.schedule AS id, count(*) AS rows ORDER BY id")
    built = [schedule("DF1,1", *name.split(":")) for name in schedules]
    assert dict(zip(rows["id"], rows["rows"], strict=True)) == {
        each.id: len(each) for each in built
    }
