"""The states of `materialization`: every declared transition works, every other is refused."""

import itertools

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from starcast.ingest.stores import TRANSITIONS, LoadState, read_state, set_state
from starcast.stores.database import models
from starcast.stores.database.sessions import open_session
from starcast.support.errors import BusyError

EXPECTED = {"method": "bolt", "expected_nodes": 1, "expected_relationships": 2}
#: For each state, a path of transitions to it from an unknown artifact.
PATHS: dict[LoadState | None, tuple[LoadState, ...]] = {
    None: (),
    LoadState.PLANNED: (LoadState.PLANNED,),
    LoadState.LOADING: (LoadState.PLANNED, LoadState.LOADING),
    LoadState.COMPLETE: (LoadState.PLANNED, LoadState.LOADING, LoadState.COMPLETE),
    LoadState.FAILED: (LoadState.PLANNED, LoadState.FAILED),
}


def traverse(session: Session, states: tuple[LoadState, ...]) -> None:
    """Set a forest to these states, one after the other."""
    for state in states:
        set_state(
            session,
            "forest",
            "S4:greedy:1234",
            state,
            **(EXPECTED if state is LoadState.PLANNED else {}),
        )


@pytest.mark.parametrize(
    ("start", "end"), list(itertools.product([None, *LoadState], LoadState)), ids=str
)
def test_only_declared_transitions_are_allowed(
    engine: Engine, start: LoadState | None, end: LoadState
) -> None:
    """Other transitions are refused and leave the state unchanged."""
    with open_session(engine) as session:
        traverse(session, PATHS[start])
        if end in TRANSITIONS[start]:
            traverse(session, (end,))
            assert read_state(session, "forest", "S4:greedy:1234") is end
        else:
            with pytest.raises(
                BusyError, match="another process has changed forest S4:greedy:1234"
            ):
                traverse(session, (end,))
            assert read_state(session, "forest", "S4:greedy:1234") is start


@pytest.mark.parametrize("start", [None, *LoadState], ids=str)
def test_a_complete_row_cannot_be_deleted(engine: Engine, start: LoadState | None) -> None:
    """The state must first become `loading`, so that an interrupted drop is detected."""
    with open_session(engine) as session:
        traverse(session, PATHS[start])
        if start is LoadState.COMPLETE:
            with pytest.raises(BusyError):
                set_state(session, "forest", "S4:greedy:1234", None)
            assert read_state(session, "forest", "S4:greedy:1234") is LoadState.COMPLETE
        else:
            set_state(session, "forest", "S4:greedy:1234", None)
            assert read_state(session, "forest", "S4:greedy:1234") is None


def test_an_artifact_becomes_complete_only_from_the_state_loading() -> None:
    """An artifact becomes complete only after the comparison that ends the loading."""
    assert [state for state, ways in TRANSITIONS.items() if LoadState.COMPLETE in ways] == [
        LoadState.LOADING
    ]


def test_a_new_attempt_clears_the_old_error(engine: Engine) -> None:
    """Error, counts and times are those of the latest attempt."""
    with open_session(engine) as session:
        traverse(session, (LoadState.PLANNED, LoadState.LOADING))
        set_state(session, "forest", "S4:greedy:1234", LoadState.FAILED, error="no", found_nodes=1)
        first = session.scalars(select(models.Materialization)).one()
        assert (first.error, first.finished_at is None) == ("no", False)
        traverse(session, (LoadState.PLANNED,))
        assert (first.error, first.found_nodes, first.finished_at) == (None, None, None)
