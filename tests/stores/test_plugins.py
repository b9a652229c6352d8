"""Artifacts of plug-ins are stored, verified, and executed by worker processes."""

from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock
from zlib import crc32

import numpy as np
import pytest
from sqlalchemy import Engine, select

from starcast.catalogue import plugins
from starcast.catalogue.plugins import ORIGINS, PluginMissingError
from starcast.experiments.design import Grid
from starcast.experiments.running import run_experiment
from starcast.ingest import (
    LoadMethod,
    Stores,
    drop,
    ingest,
    loaders,
    offline,
    parse_request,
)
from starcast.ingest.artifacts import artifact_from_id
from starcast.ingest.both_stores import lock_stores
from starcast.ingest.rebuilding import rebuild
from starcast.ingest.verification import verify
from starcast.stores.database import models
from starcast.stores.database.sessions import open_session
from starcast.stores.graph import schema
from starcast.support.errors import InputError, LimitError, RejectedError, UnavailableError
from starcast.support.progress import Silent
from starcast.support.settings import Settings
from starcast.topologies import topology
from starcast.trees import Forest, forest
from support import readback
from support.break_off import Countdown
from support.checks import assert_stored, described
from support.experiments import runs
from support.fix_graph import PowerCut
from support.fix_plugins import load_examples
from support.irregular import SPECS
from support.plans import plan
from support.recorder import Recorder

pytestmark = pytest.mark.usefixtures("registries")


@pytest.mark.parametrize("spec", ["R4", "S4", "S4,2", "BP3", "AG4", "T3x4"])
def test_artifacts_of_plug_ins_are_stored_and_read_back(stores: Stores, spec: str) -> None:
    load_examples()
    request = plan(spec, ["highest-ports"], ["forest(base=highest-ports)"], root=3)
    ingest(stores, request)
    assert_stored(stores, request)
    with open_session(stores.engine) as session:
        row = session.scalars(select(models.Topology)).one()
        assert (row.spec, row.family) == (spec, topology(spec).family)


@pytest.mark.parametrize(
    ("pattern", "spec"), [(r"net-(\d+)", "net-2"), (r"R\.(\d+)x", "R.2x"), (r"1net(\d+)", "1net2")]
)
def test_specs_with_punctuation_or_a_leading_digit_can_be_stored(
    stores: Stores, load: Callable[[str], None], pattern: str, spec: str
) -> None:
    """The decorator `family`, the database tables and experiments accept the same specs."""
    load(f"@starcast.family('f', pattern=r'{pattern}', source='x')\ndef f(n): return [[2, 1]]")
    request = plan(spec, ["breadth-first"])
    ingest(stores, request)
    assert_stored(stores, request)
    grid = Grid({"topology": spec, "algorithm": "forest(base=breadth-first)", "message_bytes": 8})
    assert [point.topology for point in grid.points()] == [spec]


ROUND = """
import numpy as np
import starcast

@starcast.algorithm("broadcast", "one-by-one", source="this test")
def one_by_one(topology, root, ports):
    tree = starcast.forest(topology, "greedy", root)
    node = np.argsort(tree.levels()[0], kind="stable")[1:]
    return {
        "step": np.arange(1, len(node) + 1)ORDER,
        "sender": tree.parents()[0][node],
        "port": topology.reverse_ports()[tree.parent_port[0][node]],
        "unit": np.zeros_like(node),
    }
"""
SENDS = "S4:broadcast:one-by-one:all::1234"


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    """The path of a loaded plug-in that defines an algorithm."""
    file = tmp_path / "ring.py"
    file.write_text(ROUND.replace("ORDER", ""))
    plugins.load([str(file)])
    return file


def test_artifacts_record_the_plug_ins_that_built_them(stores: Stores) -> None:
    load_examples()
    ingest(stores, plan("R4", ["highest-ports"], ["forest(base=highest-ports)"]))
    with open_session(stores.engine) as session:
        rows = session.scalars(select(models.Materialization))
        found = {row.id: row.plugins for row in rows}
    bi_rotator = {"bi-rotator": ORIGINS["family", "bi-rotator"].describe()}
    trees = {"highest-ports": ORIGINS["construction", "highest-ports"].describe()}
    assert found.pop("R4") == bi_rotator
    assert len(found) == 2
    assert all(used == {**bi_rotator, **trees} for used in found.values())


@pytest.mark.slow
def test_a_schedule_whose_plug_in_is_missing_is_compared_with_its_recorded_checksum(
    stores: Stores, ring: Path, registries: Callable[[], None]
) -> None:
    ingest(stores, plan("S4", schedules=["one-by-one"]))
    assert verify(stores) == []
    registries()
    listener = Recorder()
    assert verify(stores, reporter=listener) == []
    assert any("'one-by-one' of the plug-in ring" in line for line in listener.lines)
    rows = stores.graph.read("MATCH ()-[s:SEND]->() RETURN count(s) AS sends")
    assert rows == [{"sends": 23}]
    stores.graph.write("MATCH ()-[s:SEND {step: 5}]->() SET s.step = 6")
    assert described(verify(stores)) == [
        f"{SENDS}: the counts or the checksum of its rows differ from those recorded in PostgreSQL"
    ]
    with pytest.raises(
        PluginMissingError, match=r"not loaded: 'one-by-one' of the plug-in ring \("
    ):
        rebuild(stores, method=LoadMethod.BOLT)
    plugins.load([str(ring)])
    rebuild(stores, method=LoadMethod.BOLT)
    assert verify(stores) == []


@pytest.mark.slow
def test_a_topology_whose_plug_in_is_missing_is_not_verified_and_not_deleted(
    stores: Stores, registries: Callable[[], None]
) -> None:
    load_examples()
    ingest(stores, plan("R4", ["highest-ports"]))
    registries()
    listener = Recorder()
    assert verify(stores, reporter=listener) == []
    assert sum("skipped R4" in line for line in listener.lines) == 2
    ingest(stores, plan("S4"))
    nodes = stores.graph.read("MATCH (v:Node {topology: 'R4'}) RETURN count(v) AS nodes")
    assert nodes == [{"nodes": 24}]
    with pytest.raises(InputError, match="'bi-rotator'"):
        drop(stores, "topology", "R4", cascade=True)
    load_examples()
    drop(stores, "topology", "R4", cascade=True)
    assert verify(stores) == []


@pytest.mark.slow
def test_a_changed_plug_in_is_reported(stores: Stores, ring: Path) -> None:
    ingest(stores, plan("S4", schedules=["one-by-one"]))
    ring.write_text(ROUND.replace("ORDER", " + 0"))
    plugins.load([str(ring)])
    listener = Recorder()
    assert verify(stores, reporter=listener) == []
    assert f"{SENDS}: the plug-in of 'one-by-one' has changed since the artifact was built" in (
        listener.lines
    )
    ring.write_text(ROUND.replace("ORDER", " + 1"))
    plugins.load([str(ring)])
    assert any(line.startswith(SENDS) for line in described(verify(stores)))
    rebuild(stores, method=LoadMethod.BOLT)
    listener = Recorder()
    assert verify(stores, reporter=listener) == []
    assert not any("changed" in line for line in listener.lines)


def test_an_ingest_names_artifacts_built_by_another_version_of_a_plug_in(
    stores: Stores, ring: Path
) -> None:
    request = plan("S4", schedules=["one-by-one"])
    ingest(stores, request)
    assert str(ingest(stores, request)) == "nothing to create: 2 of 2 are already stored"
    ring.write_text(ROUND.replace("ORDER", " + 1"))
    plugins.load([str(ring)])
    listener = Recorder()
    summary = ingest(stores, request, reporter=listener)
    assert summary.outdated == [SENDS]
    assert str(summary) == (
        "nothing to create: 2 of 2 are already stored, 1 of them built by another version of a "
        "plug-in"
    )
    assert (
        f"{SENDS} was built by another version of the plug-in of 'one-by-one'; to compare it, run: "
        f"starcast graph verify {SENDS}; to build it again, run: starcast graph rebuild {SENDS}"
    ) in listener.lines
    rebuild(stores, ids=[SENDS], method=LoadMethod.BOLT)
    assert ingest(stores, request).outdated == []
    assert verify(stores) == []


RING = """
import starcast

@starcast.family("changing", pattern=r"Cy(\\d+)", source="this test")
def ring(n):
    return [(node, (node + 1) % n) for node in range(n)]CHORDS
"""
TREE = "Cy6:breadth-first:0"


def test_new_artifacts_on_a_topology_that_a_changed_plug_in_builds_differently_are_refused(
    stores: Stores, tmp_path: Path
) -> None:
    """Otherwise, the ports of the trees would contradict the stored links."""
    file = tmp_path / "ring.py"

    def load(chords: str) -> None:
        file.write_text(RING.replace("CHORDS", chords))
        plugins.load([str(file)])

    load("")
    ingest(stores, plan("Cy6"))
    load(" + [(0, 2), (1, 3)]")
    with pytest.raises(RejectedError, match="Cy6 that the plug-in now builds differs") as refusal:
        ingest(stores, plan("Cy6", ["breadth-first"]))
    assert refusal.value.hint.endswith("starcast graph rebuild Cy6")
    rebuild(stores, ids=["Cy6"], method=LoadMethod.BOLT)
    load(" + [(1, 3), (0, 2)]  # an equal topology")
    assert [each.id for each in ingest(stores, plan("Cy6", ["breadth-first"])).created] == [TREE]
    ingest(stores, plan("S3"))
    for chords in ("[:-1]", " + [(0, n)]"):  # the latter adds a node
        load(chords)
        with pytest.raises(RejectedError, match=f"the stored forest {TREE} is no longer") as error:
            rebuild(stores, method=LoadMethod.BOLT)
        assert error.value.hint.endswith(f"starcast forest drop {TREE}")
        assert TREE in [problem.artifact for problem in verify(stores)]
    drop(stores, "forest", TREE, method=LoadMethod.BOLT)
    rebuild(stores, method=LoadMethod.BOLT)
    assert verify(stores, checksums=True) == []


def test_a_topology_that_a_changed_plug_in_no_longer_defines_can_only_be_dropped(
    stores: Stores, tmp_path: Path
) -> None:
    """Commands that are refused leave the state unchanged: the old plug-in still builds it."""
    file = tmp_path / "ring.py"
    old = RING.replace("CHORDS", "").replace("source", "sizes=range(3, 9), source")
    new = old.replace("9", "6")
    file.write_text(old)
    plugins.load([str(file)])
    ingest(stores, plan("Cy6", ["breadth-first"]))
    file.write_text(new)
    plugins.load([str(file)])
    with pytest.raises(RejectedError, match="is no longer valid") as error:
        rebuild(stores, method=LoadMethod.BOLT)
    assert error.value.hint.split("starcast ")[1] in (
        f"forest drop {TREE}",
        "topology drop Cy6 --cascade",
    )
    ingest(stores, plan("S3"))
    file.write_text(old)
    plugins.load([str(file)])
    assert verify(stores, checksums=True) == []
    file.write_text(new)
    plugins.load([str(file)])
    drop(stores, "forest", TREE, method=LoadMethod.BOLT)
    drop(stores, "topology", "Cy6", method=LoadMethod.BOLT)
    found = stores.graph.read("MATCH (n:Node) RETURN DISTINCT n.topology AS topology")
    assert found == [{"topology": "S3"}]
    rebuild(stores, method=LoadMethod.BOLT)
    assert verify(stores, checksums=True) == []


TREES = """
import numpy as np
import starcast

@starcast.construction("changing-tree", source="this test")
def tree(topology, root):
    first = starcast.forest(topology, "multiple", root).parent_port
    return first[TREE]
"""


def test_a_new_schedule_on_a_forest_that_a_changed_plug_in_builds_differently_is_refused(
    stores: Stores, tmp_path: Path
) -> None:
    file = tmp_path / "trees.py"
    for tree in ("0:1", "1:2"):
        file.write_text(TREES.replace("TREE", tree))
        plugins.load([str(file)])
        if tree == "0:1":
            ingest(stores, plan("S4", ["changing-tree"]))
    with pytest.raises(RejectedError, match=r"S4:changing-tree.* now builds differs") as error:
        ingest(stores, plan("S4", schedules=["forest(base=changing-tree)"]))
    drop_command = "starcast forest drop S4:changing-tree:1234"
    assert error.value.hint.endswith(f"{drop_command}; then ingest the forest again")
    assert ingest(stores, plan("S4", ["changing-tree"], ["greedy"])).created != []


def changed_trees(name: str = "mine") -> Forest:
    """Return the "highest-ports" tree of S4 under another name."""
    load_examples()
    return Forest(topology("S4"), forest("S4", "highest-ports").parent_port, construction=name)


def test_a_forest_given_as_an_array_is_stored_verified_and_rebuilt(stores: Stores) -> None:
    own = changed_trees()
    request = parse_request("S4", forests=[own])
    assert [loaded.id for loaded in ingest(stores, request).created] == ["S4", "S4:mine:1234"]
    assert ingest(stores, request).created == []
    assert verify(stores, checksums=True) == []
    rebuild(stores, method=LoadMethod.BOLT)
    assert verify(stores, checksums=True) == []
    stored = readback.read_forest(stores.graph, own.id)
    assert np.array_equal(stored.parent_port, own.parent_port)
    with open_session(stores.engine) as session:
        found = session.get_one(models.Materialization, ("forest", own.id))
        assert found.plugins == {}


@pytest.mark.parametrize(
    ("advances", "error"),
    [
        (1, PowerCut("the process is killed")),
        (3, KeyboardInterrupt()),
        (3, UnavailableError("the server stopped")),
        (4, LimitError("the disk became full")),
        (5, PowerCut("the process is killed")),
    ],
    ids=str,
)
def test_an_interrupted_rebuild_does_not_lose_a_users_own_forest(
    stores: Stores, advances: int, error: BaseException
) -> None:
    """Only PostgreSQL has the trees; the next commands keep them until a rebuild succeeds."""
    own = changed_trees()
    ingest(stores, parse_request("S4", forests=[own]))
    with pytest.raises(type(error)):
        rebuild(
            stores,
            method=LoadMethod.BOLT,
            reporter=Countdown(advances, Mock(side_effect=error)),
        )
    ingest(stores, plan("S3"))
    rebuild(stores, method=LoadMethod.BOLT)
    assert verify(stores, checksums=True) == []
    stored = readback.read_forest(stores.graph, own.id)
    assert np.array_equal(stored.parent_port, own.parent_port)


@pytest.mark.parametrize(
    "error",
    [PowerCut(), KeyboardInterrupt(), UnavailableError("stopped"), LimitError("the disk is full")],
    ids=repr,
)
def test_an_interrupted_rebuild_by_import_is_finished_by_the_next_rebuild(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """The next rebuild also recreates artifacts that a killed rebuild left in state `loading`."""
    own = changed_trees()
    ingest(stores, parse_request("S4", forests=[own]))
    with pytest.raises(PowerCut):
        rebuild(
            stores,
            method=LoadMethod.BOLT,
            reporter=Countdown(4, Mock(side_effect=PowerCut())),
        )
    monkeypatch.setattr(offline, "_import", Mock(side_effect=error))
    monkeypatch.setattr(loaders, "check_space", Mock())
    with open_session(stores.engine) as session:
        artifacts = [
            artifact_from_id(session, row.kind, row.id)
            for row in session.scalars(select(models.Materialization))
        ]
    artifacts.sort(key=lambda artifact: artifact.build_order)
    loader = loaders.ImportLoader(stores, Silent(), "", Settings())
    with pytest.raises(type(error)):
        loader.rebuild(artifacts, is_outdated=False)
    rebuilt = rebuild(stores, method=LoadMethod.BOLT)
    assert [one.id for one in rebuilt] == ["S4", own.id]
    assert verify(stores, checksums=True) == []
    stored = readback.read_forest(stores.graph, own.id)
    assert np.array_equal(stored.parent_port, own.parent_port)


def test_a_users_own_forest_is_not_lost_together_with_the_graph(stores: Stores) -> None:
    """The forest can also be dropped before the graph is rebuilt."""
    own, other = changed_trees(), changed_trees("other")
    ingest(stores, parse_request("S4", forests=[own, other]))
    stores.graph.write("MATCH (n) DETACH DELETE n")
    ingest(stores, plan("S3"))
    drop(stores, "forest", other.id)
    rebuild(stores, method=LoadMethod.BOLT)
    assert verify(stores, checksums=True) == []
    stored = readback.read_forest(stores.graph, own.id)
    assert np.array_equal(stored.parent_port, own.parent_port)
    with open_session(stores.engine) as session:
        assert session.get(models.Forest, other.id) is None
        assert session.get(models.Materialization, ("forest", other.id)) is None


def test_forests_that_conflict_with_their_name_or_topology_are_refused(stores: Stores) -> None:
    ingest(stores, parse_request("S4", forests=[changed_trees()]))
    other = Forest(topology("S4"), forest("S4", "greedy").parent_port, construction="mine")
    with pytest.raises(RejectedError, match="S4:mine:1234 but different trees is") as stored:
        ingest(stores, parse_request("S4", forests=[other]))
    assert "forest drop" in stored.value.hint
    with pytest.raises(RejectedError, match="builds different trees") as refusal:
        parse_request("S4", forests=[changed_trees("greedy")])
    assert "construction='mine'" in refusal.value.hint
    with pytest.raises(InputError, match="on S4, not on S5"):
        parse_request("S5", forests=[other])
    with pytest.raises(InputError, match="two forests"):
        parse_request("S4", forests=[other, other])
    assert verify(stores) == []


@pytest.mark.slow
def test_worker_processes_execute_plug_ins_and_the_runs_record_them(engine: Engine) -> None:
    load_examples()
    grid = Grid(
        {
            "topology": ["R4", "S4"],
            "algorithm": ["forest(base=highest-ports)"],
            "segments": [1, 4],
            "message_bytes": ["64"],
        }
    )
    run_experiment(engine, "alone", grid, Silent(), jobs=1)
    run_experiment(engine, "parallel", grid, Silent(), jobs=2)
    alone, parallel = runs(engine, "alone"), runs(engine, "parallel")
    assert len(alone) == len(parallel) == 4
    sha256 = ORIGINS["construction", "highest-ports"].sha256
    for run in (*alone, *parallel):
        assert run.status == "complete"
        assert {cost.kind for cost in run.costs} == {"simulated", "lower bound"}
        assert run.provenance["plugins"]["highest-ports"]["sha256"] == sha256
        assert ("bi-rotator" in run.provenance["plugins"]) == (run.topology == "R4")


@pytest.mark.whole
@pytest.mark.usefixtures("irregular")
@pytest.mark.parametrize("spec", SPECS)
def test_topologies_without_translations_are_stored_and_read_back(
    stores: Stores, spec: str
) -> None:
    request = plan(spec, ["breadth-first"], ["broadcast:forest(base=breadth-first)"], root=1)
    ingest(stores, request)
    assert_stored(stores, request)
    assert verify(stores, checksums=True) == []


def test_topologies_with_the_same_default_key_number_get_different_keys(
    stores: Stores, load: Callable[[str], None]
) -> None:
    """The default number is a part of the name's CRC-32, so two names can have the same number."""
    load("@starcast.family('f', pattern=r'net(\\d+)', source='x')\ndef f(n): return [[2, 1]]")
    numbers: dict[int, str] = {}
    for spec in (f"net{number}" for number in range(10**6)):
        other = numbers.setdefault(crc32(spec.encode()) >> 12, spec)
        if other != spec:
            break
    requests = [plan(other, ["breadth-first"]), plan(spec, ["breadth-first"])]
    for request in requests:
        ingest(stores, request)
    with open_session(stores.engine) as session:
        kept = session.execute(select(models.NodeKey.topology, models.NodeKey.number)).all()
    usual = 2**20 + (crc32(spec.encode()) >> 12)
    assert sorted(kept, key=lambda row: row.number) == [(other, usual), (spec, usual + 1)]
    # A process with an empty cache uses the stored numbers.
    schema.KEY_NUMBERS.clear()
    with lock_stores(stores, wait=False, reporter=Silent()):
        assert schema.first_key(topology(spec)) == (usual + 1) << schema.RANK_BITS
