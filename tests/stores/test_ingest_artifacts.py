"""Artifacts rebuilt from their ids, and their load states in the table `materialization`."""

import itertools

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from starcast.ingest.artifacts import artifact_from_id, forest_artifact, stored_artifacts
from starcast.ingest.both_stores import TRANSITIONS, LoadState, Stores, read_state, set_state
from starcast.ingest.loading import build_and_save
from starcast.stores.database import models
from starcast.stores.database.sessions import open_session
from starcast.support.errors import BusyError, InputError
from starcast.support.vocabulary import LoadMethod
from starcast.topologies import topology
from starcast.trees import Forest, forest
from support.plans import plan


@pytest.mark.parametrize(
    ("spec", "trees", "root"),
    [
        ("S4", "all,dimension-change(base=greedy,i=2)", "3142"),
        ("S5,3", "all", "425"),
        ("Q3", "all", "011"),
    ],
)
def test_an_artifact_is_rebuilt_from_its_id(
    engine: Engine, spec: str, trees: str, root: str
) -> None:
    """The artifact is built without stored data, and has the planned kind, id and size."""
    chosen = plan(spec, trees, "all", root, "both").artifacts
    with open_session(engine) as session:
        for artifact in chosen:
            actual = artifact_from_id(session, artifact.kind, artifact.id)
            assert (actual.kind, actual.id) == (artifact.kind, artifact.id)
            assert (actual.nodes, actual.relationships) == (artifact.nodes, artifact.relationships)
    assert {artifact.kind for artifact in chosen} == set(models.KINDS)


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
    """If a second spelling were accepted, an artifact would have two ids."""
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


EXPECTED = {"method": "bolt", "expected_nodes": 1, "expected_relationships": 2}
#: For each load state, the sequence of states by which a new artifact reaches it.
PATHS: dict[LoadState | None, tuple[LoadState, ...]] = {
    None: (),
    LoadState.PLANNED: (LoadState.PLANNED,),
    LoadState.LOADING: (LoadState.PLANNED, LoadState.LOADING),
    LoadState.COMPLETE: (LoadState.PLANNED, LoadState.LOADING, LoadState.COMPLETE),
    LoadState.FAILED: (LoadState.PLANNED, LoadState.FAILED),
}


def traverse(session: Session, states: tuple[LoadState | None, ...]) -> None:
    """Set the load state of a forest to each of the given states in turn."""
    for state in states:
        values = EXPECTED if state is LoadState.PLANNED else {}
        set_state(session, "forest", "S4:greedy:1234", state, **values)


@pytest.mark.parametrize(
    ("start", "end"), list(itertools.product([None, *LoadState], [*LoadState, None])), ids=str
)
def test_only_declared_transitions_of_the_load_state_are_allowed(
    engine: Engine, start: LoadState | None, end: LoadState | None
) -> None:
    """Other transitions are refused and leave the state unchanged. None means no row."""
    with open_session(engine) as session:
        traverse(session, PATHS[start])
        if end in TRANSITIONS[start] or start is end is None:
            traverse(session, (end,))
            assert read_state(session, "forest", "S4:greedy:1234") is end
        else:
            with pytest.raises(
                BusyError, match="another process has changed forest S4:greedy:1234"
            ):
                traverse(session, (end,))
            assert read_state(session, "forest", "S4:greedy:1234") is start


def test_the_only_state_before_and_after_complete_is_loading() -> None:
    """A drop first sets the state to `loading`, so an interrupted drop is detected."""
    before = [state for state, later in TRANSITIONS.items() if LoadState.COMPLETE in later]
    assert before == [LoadState.LOADING]
    assert TRANSITIONS[LoadState.COMPLETE] == {LoadState.LOADING}


def test_a_new_attempt_to_store_an_artifact_clears_the_recorded_error(engine: Engine) -> None:
    """Error, counts and times are those of the latest attempt."""
    with open_session(engine) as session:
        traverse(session, (LoadState.PLANNED, LoadState.LOADING))
        set_state(session, "forest", "S4:greedy:1234", LoadState.FAILED, error="no", found_nodes=1)
        first = session.scalars(select(models.Materialization)).one()
        assert (first.error, first.finished_at is None) == ("no", False)
        traverse(session, (LoadState.PLANNED,))
        assert (first.error, first.found_nodes, first.finished_at) == (None, None, None)
