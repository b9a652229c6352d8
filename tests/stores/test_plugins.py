"""What plug-ins define is stored, compared with its generator, and executed by worker processes."""

import numpy as np
import pytest
from sqlalchemy import Engine, select

from starcast.database import models, repository
from starcast.database.sessions import session
from starcast.errors import StarcastError
from starcast.experiments.grid import Grid
from starcast.experiments.running import run_experiment
from starcast.graph import reader
from starcast.ingest import Stores, ingest
from starcast.ingest.listing import check_artifact
from starcast.plugins import ORIGINS
from starcast.progress import Silent
from starcast.topologies import topology
from starcast.trees import forest
from support.checks import assert_stored
from support.experiments import runs
from support.fix_plugins import load_examples
from support.plans import plan

pytestmark = pytest.mark.usefixtures("registries")


@pytest.mark.parametrize("spec", ["P4", "B4", "S4", "S4,2"])
def test_artifacts_of_plug_ins_are_stored_and_read_back(stores: Stores, spec: str) -> None:
    load_examples()
    network = topology(spec)
    request = plan(spec, ["breadth-first"], ["forest(base=breadth-first)"], root=3)
    ingest(stores, request)
    assert_stored(stores, request)
    built = forest(network, "breadth-first", root=3)
    with session(stores.engine) as opened:
        row = opened.scalars(select(models.Topology)).one()
        assert (row.spec, row.family) == (spec, network.family)
        kept = repository.load_forest(opened, built.id)
    in_graph = reader.read_forest(stores.graph, built.id)
    for stored in (kept, in_graph):
        assert np.array_equal(stored.parent_port, built.parent_port)
    check_artifact(stores, "topology", spec)
    check_artifact(stores, "forest", built.id)


def test_two_families_of_plug_ins_do_not_share_keys(stores: Stores) -> None:
    load_examples()
    for spec in ("P4", "B4", "S4", "Q4"):
        ingest(stores, plan(spec))
    counts = stores.graph.read("MATCH (v:Node) RETURN v.topology AS spec, count(*) AS nodes")
    assert {row["spec"]: row["nodes"] for row in counts} == {"P4": 24, "B4": 24, "S4": 24, "Q4": 16}


def test_what_its_checker_rejects_is_not_stored(stores: Stores) -> None:
    from starcast import construction

    @construction("cyclic", source="this test")
    def cyclic(topology: object, root: int) -> list[int]:
        return [0] + [2] * 23

    with pytest.raises(StarcastError):
        ingest(stores, plan("S4", ["cyclic"]))
    with session(stores.engine) as opened:
        assert opened.scalars(select(models.Forest)).all() == []


def test_worker_processes_execute_plug_ins_and_runs_name_them(engine: Engine) -> None:
    load_examples()
    grid = Grid.from_json(
        {
            "topology": ["P4", "S4"],
            "algorithm": ["forest(base=breadth-first)"],
            "segments": [1, 4],
            "message_bytes": ["64"],
        }
    )
    run_experiment(engine, "alone", grid, Silent(), jobs=1)
    run_experiment(engine, "parallel", grid, Silent(), jobs=2)
    alone, parallel = runs(engine, "alone"), runs(engine, "parallel")
    assert len(alone) == len(parallel) == 4
    sha256 = ORIGINS["construction", "breadth-first"].sha256
    for run in (*alone, *parallel):
        assert run.status == "complete"
        assert {cost.kind for cost in run.costs} == {"simulated", "lower bound"}
        assert run.provenance["plugins"]["breadth-first"]["sha256"] == sha256
        assert ("pancake" in run.provenance["plugins"]) == (run.topology == "P4")
