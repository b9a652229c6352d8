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


def traverse(session: Session, states: tuple[LoadState | None, ...]) -> None:
    """Set a forest to these states, one after the other."""
    for state in states:
        values = EXPECTED if state is LoadState.PLANNED else {}
        set_state(session, "forest", "S4:greedy:1234", state, **values)


@pytest.mark.parametrize(
    ("start", "end"), itertools.product([None, *LoadState], [*LoadState, None]), ids=str
)
def test_only_declared_transitions_are_allowed(
    engine: Engine, start: LoadState | None, end: LoadState | None
) -> None:
    """Other transitions are refused and leave the state unchanged; None deletes the row."""
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


def test_complete_artifacts_were_compared_and_are_not_deleted_at_once() -> None:
    """An interrupted drop is detected, because the state must first become `loading`."""
    before = [state for state, later in TRANSITIONS.items() if LoadState.COMPLETE in later]
    assert before == [LoadState.LOADING]
    assert TRANSITIONS[LoadState.COMPLETE] == {LoadState.LOADING}


def test_a_new_attempt_clears_the_old_error(engine: Engine) -> None:
    """Error, counts and times are those of the latest attempt."""
    with open_session(engine) as session:
        traverse(session, (LoadState.PLANNED, LoadState.LOADING))
        set_state(session, "forest", "S4:greedy:1234", LoadState.FAILED, error="no", found_nodes=1)
        first = session.scalars(select(models.Materialization)).one()
        assert (first.error, first.finished_at is None) == ("no", False)
        traverse(session, (LoadState.PLANNED,))
        assert (first.error, first.found_nodes, first.finished_at) == (None, None, None)
