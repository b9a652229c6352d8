"""Every algorithm of the catalogue is stored in both stores and read back unchanged."""

import numpy as np
import pytest

from starcast.collectives import Schedule, schedule
from starcast.collectives.algorithm import algorithms_on
from starcast.ingest import Stores, ingest
from starcast.judges.simulator import simulate
from starcast.stores.database import artifact_rows
from starcast.stores.database.sessions import open_session
from starcast.topologies import topology
from support import readback
from support.checks import assert_stored
from support.plans import plan


def stored_profile(stores: Stores, artifact_id: str) -> list[tuple[int, int, int, int]]:
    """Return the step profile that PostgreSQL stores for a schedule."""
    with open_session(stores.engine) as session:
        rows = artifact_rows.load_schedule_profile(session, artifact_id)
        return [(row.step, row.links_used, row.packets, row.largest_packet) for row in rows]


def profile(original: Schedule) -> list[tuple[int, int, int, int]]:
    """Return the step profile of a new simulation, with one packet per link and step."""
    result = simulate(original)
    pairs = zip(result.links_used.tolist(), result.packet_sizes.tolist(), strict=True)
    return [(step, used, used, size) for step, (used, size) in enumerate(pairs, start=1)]


@pytest.mark.parametrize("spec", [pytest.param("S4", marks=pytest.mark.slow), "S4,2", "Q3"])
def test_a_schedule_is_stored_and_reads_back_equal(stores: Stores, spec: str) -> None:
    """All port models and a root other than the identity are covered, with step profiles."""
    network = topology(spec)
    root = network.nodes // 2 + 1
    rules = algorithms_on(network)
    stored_plan = plan(
        spec,
        schedules=[f"{algorithm.collective}:{algorithm.name}" for algorithm in rules],
        root=root,
        ports="both",
    )
    ingest(stores, stored_plan)
    assert_stored(stores, stored_plan)
    for algorithm in rules:
        for ports in algorithm.ports:
            original = schedule(spec, algorithm.collective, algorithm.name, ports, root)
            actual = readback.read_schedule(stores.graph, original.id)
            for column, values in original.columns.present().items():
                assert np.array_equal(getattr(actual, column), values)
            assert simulate(actual).complete
            assert stored_profile(stores, original.id) == profile(original)


def test_a_schedule_with_its_own_trees_has_no_forest(stores: Stores) -> None:
    """The trees DC(i, T) are not a stored forest, so the schedule depends only on the topology."""
    stored_plan = plan("S4", schedules="allgather:dimension-change(base=balanced)")
    ingest(stores, stored_plan)
    assert [artifact.kind for artifact in stored_plan.artifacts] == ["topology", "schedule"]
    assert_stored(stores, stored_plan)
    assert stores.graph.read("MATCH (:Schedule)-[u:USES]->() RETURN count(u) AS n") == [{"n": 0}]
