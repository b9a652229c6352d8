"""Every artifact can be rebuilt from its id; other ids are refused."""

import pytest
from sqlalchemy import Engine

from starcast.ingest.artifacts import artifact_from_id, forest_artifact, stored_artifacts
from starcast.ingest.loading import build_and_save
from starcast.ingest.stores import LoadState, Stores, set_state
from starcast.stores.database.sessions import open_session
from starcast.support.errors import InputError
from starcast.support.vocabulary import LoadMethod
from starcast.topologies import topology
from starcast.trees import Forest, forest
from support.plans import plan

PLANS = (
    ("S4", ["all", "dimension-change(base=greedy,i=2)"], ["all"], "3142", "both"),
    ("S5,3", ["all"], ["all"], "425", "both"),
    ("Q3", ["all"], ["all"], "011", "both"),
)


@pytest.mark.parametrize("requested", PLANS, ids=lambda requested: str(requested[0]))
def test_an_artifact_is_rebuilt_from_its_id(
    engine: Engine, requested: tuple[str, list[str], list[str], str, str]
) -> None:
    """The artifact is built without stored data, and has the same kind, id and size."""
    spec, trees, schedules, root, ports = requested
    chosen = plan(spec, trees, schedules, root, ports).artifacts
    with open_session(engine) as session:
        for artifact in chosen:
            actual = artifact_from_id(session, artifact.kind, artifact.id)
            assert (actual.kind, actual.id, actual.topology) == (
                artifact.kind,
                artifact.id,
                artifact.topology,
            )
            assert (actual.nodes, actual.relationships) == (artifact.nodes, artifact.relationships)
    assert len({artifact.kind for artifact in chosen}) == 3


@pytest.mark.parametrize(
    ("kind", "artifact_id"),
    [
        ("topology", "S99"),
        ("topology", "S4:multiple:1234"),
        ("forest", "S4"),
        ("forest", "S4:unheard-of:1234"),
        ("forest", "S4:multiple:4321x"),
        ("forest", "S4:multiple():1234"),
        ("forest", "S4:dimension-change(i=2,base=greedy):1234"),
        ("schedule", "S4:broadcast:multiple:all:1234"),
        ("schedule", "S4:broadcast:multiple:all::1234"),
        ("schedule", "S4:broadcast:multiple:some:segments=1:1234"),
        ("schedule", "S4:alltoall:exact:all:messages=1:expanded:1234"),
    ],
)
def test_invalid_ids_and_other_spellings_of_ids_are_refused(
    engine: Engine, kind: str, artifact_id: str
) -> None:
    """With a second spelling of a valid id, an artifact would have two ids."""
    with (
        open_session(engine) as session,
        pytest.raises(InputError, match=f"is not the id of a {kind}"),
    ):
        artifact_from_id(session, kind, artifact_id)


def test_a_stored_forest_is_loaded_from_its_stored_array(engine: Engine, stores: Stores) -> None:
    """The trees are loaded, not built again by the current construction."""
    built_forest, other = forest("S4", "greedy"), forest("S4", "recursive-substar")
    twin = forest_artifact(
        Forest(topology("S4"), other.parent_port, construction=built_forest.construction)
    )
    for artifact in (*plan("S4").artifacts, twin):
        build_and_save(stores, LoadMethod.BOLT, artifact, lambda _stage, _thing: None)
    with open_session(engine) as session:
        actual = artifact_from_id(session, "forest", built_forest.id)
        structure = actual.structure()
        assert isinstance(structure, Forest)
        assert (structure.parent_port == other.parent_port).all()


def test_complete_artifacts_are_listed_in_build_order(engine: Engine, stores: Stores) -> None:
    """Incomplete artifacts are omitted."""
    chosen = plan("S4", ["multiple"], ["broadcast:multiple"]).artifacts
    for artifact in (*plan("S3").artifacts, *chosen):
        build_and_save(stores, LoadMethod.BOLT, artifact, lambda _stage, _thing: None)
    for artifact in chosen:
        with open_session(engine) as session:
            set_state(session, artifact.kind, artifact.id, LoadState.COMPLETE)
    with open_session(engine) as session:
        assert [artifact.id for artifact in stored_artifacts(session)] == [
            artifact.id for artifact in chosen
        ]
