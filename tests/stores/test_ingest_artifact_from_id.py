"""Artifacts from their ids: every id of starcast leads back to its artifact, others are refused."""

import pytest
from sqlalchemy import Engine

from starcast.database.sessions import session
from starcast.errors import InputError
from starcast.ingest import plan
from starcast.ingest.artifacts import ForestArtifact, artifact_from_id, stored_artifacts
from starcast.ingest.loading import build_and_save
from starcast.ingest.stores import LoadState, Stores, set_state
from starcast.topologies import topology
from starcast.trees import Forest, forest

PLANS = (
    ("S4", ["all", "dimension-change(base=greedy,i=2)"], ["all"], "3142", "both"),
    ("S5,3", ["all"], ["all"], "425", "both"),
    ("Q3", ["all"], ["all"], "011", "both"),
)


@pytest.mark.parametrize("asked", PLANS, ids=lambda asked: str(asked[0]))
def test_an_id_leads_back_to_its_artifact(
    engine: Engine, asked: tuple[str, list[str], list[str], str, str]
) -> None:
    """Of every construction and algorithm: the same kind, id and size, without stored data."""
    spec, trees, schedules, root, ports = asked
    chosen = plan(spec, trees, schedules, root, ports).artifacts
    with session(engine) as opened:
        for thing in chosen:
            found = artifact_from_id(opened, thing.kind, thing.id)
            assert (found.kind, found.id, found.topology) == (
                thing.kind,
                thing.id,
                thing.topology,
            )
            assert (found.nodes, found.relationships) == (thing.nodes, thing.relationships)
    assert len({thing.kind for thing in chosen}) == 3


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("topology", "S99"),
        ("topology", "S4:multiple:1234"),
        ("forest", "S4"),
        ("forest", "S4:unheard-of:1234"),
        ("forest", "S4:multiple:4321x"),
        ("forest", "S4:multiple():1234"),
        ("forest", "S4:dimension-change(base=greedy,i=2):1234"),
        ("schedule", "S4:broadcast:multiple:all:1234"),
        ("schedule", "S4:broadcast:multiple:all::1234"),
        ("schedule", "S4:broadcast:multiple:some:segments=1:1234"),
        ("schedule", "S4:alltoall:exact:all:messages=1:expanded:1234"),
    ],
)
def test_other_ids_are_refused(engine: Engine, kind: str, key: str) -> None:
    """Also other spellings of valid ids: two spellings would be two artifacts."""
    with session(engine) as opened, pytest.raises(InputError, match=f"is not the id of a {kind}"):
        artifact_from_id(opened, kind, key)


def test_a_stored_forest_is_the_stored_array(engine: Engine, stores: Stores) -> None:
    """Not what its construction would build today."""
    grown, other = forest("S4", "greedy"), forest("S4", "recursive-substar")
    twin = ForestArtifact(
        Forest(topology("S4"), other.parent_port, construction=grown.construction)
    )
    for thing in (*plan("S4").artifacts, twin):
        build_and_save(stores, "bolt", thing, lambda _stage, _thing: None)
    with session(engine) as opened:
        found = artifact_from_id(opened, "forest", grown.id)
        assert isinstance(found, ForestArtifact)
        assert (found.forest.parent_port == other.parent_port).all()


def test_complete_artifacts_come_in_the_order_of_building(engine: Engine, stores: Stores) -> None:
    """Incomplete ones are omitted."""
    chosen = plan("S4", ["multiple"], ["broadcast:multiple"]).artifacts
    for thing in (*plan("S3").artifacts, *chosen):
        build_and_save(stores, "bolt", thing, lambda _stage, _thing: None)
    for thing in chosen:
        with session(engine) as opened:
            set_state(opened, thing.kind, thing.id, LoadState.COMPLETE)
    with session(engine) as opened:
        assert [thing.id for thing in stored_artifacts(opened)] == [thing.id for thing in chosen]
