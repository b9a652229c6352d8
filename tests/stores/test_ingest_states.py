"""The state machine of `materialization`: every allowed way works, every other is refused."""

import itertools

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from starcast.database import models
from starcast.database.sessions import session
from starcast.errors import BusyError
from starcast.ingest.states import TRANSITIONS, State, forget, move, state_of

EXPECTED = {"method": "bolt", "expected_nodes": 1, "expected_relationships": 2}
#: A way to each state that begins where nothing is known.
PATHS: dict[State | None, tuple[State, ...]] = {
    None: (),
    State.PLANNED: (State.PLANNED,),
    State.LOADING: (State.PLANNED, State.LOADING),
    State.COMPLETE: (State.PLANNED, State.LOADING, State.COMPLETE),
    State.FAILED: (State.PLANNED, State.FAILED),
}


def walk(opened: Session, states: tuple[State, ...]) -> None:
    """Take a forest through these states."""
    for state in states:
        move(
            opened,
            "forest",
            "S4:greedy:1234",
            state,
            **(EXPECTED if state is State.PLANNED else {}),
        )


@pytest.mark.parametrize(("start", "end"), list(itertools.product([None, *State], State)), ids=str)
def test_only_the_declared_ways_are_open(engine: Engine, start: State | None, end: State) -> None:
    """The others are refused and leave the state as it was."""
    with session(engine) as opened:
        walk(opened, PATHS[start])
        if end in TRANSITIONS[start]:
            walk(opened, (end,))
            assert state_of(opened, "forest", "S4:greedy:1234") is end
        else:
            with pytest.raises(BusyError, match="another process changed it"):
                walk(opened, (end,))
            assert state_of(opened, "forest", "S4:greedy:1234") is start


@pytest.mark.parametrize("start", [None, *State], ids=str)
def test_what_is_complete_cannot_be_forgotten(engine: Engine, start: State | None) -> None:
    """It has to be loading first, so that a drop which is broken off is found."""
    with session(engine) as opened:
        walk(opened, PATHS[start])
        if start is State.COMPLETE:
            with pytest.raises(BusyError):
                forget(opened, "forest", "S4:greedy:1234")
            assert state_of(opened, "forest", "S4:greedy:1234") is State.COMPLETE
        else:
            forget(opened, "forest", "S4:greedy:1234")
            assert state_of(opened, "forest", "S4:greedy:1234") is None


def test_complete_is_only_reached_from_loading() -> None:
    """Nothing skips the comparison."""
    assert [state for state, ways in TRANSITIONS.items() if State.COMPLETE in ways] == [
        State.LOADING
    ]


def test_a_new_attempt_forgets_the_old_one_s_error(engine: Engine) -> None:
    """Error, counts and times belong to one attempt."""
    with session(engine) as opened:
        walk(opened, (State.PLANNED, State.LOADING))
        move(opened, "forest", "S4:greedy:1234", State.FAILED, error="no", found_nodes=1)
        first = opened.scalars(select(models.Materialization)).one()
        assert (first.error, first.finished_at is None) == ("no", False)
        walk(opened, (State.PLANNED,))
        assert (first.error, first.found_nodes, first.finished_at) == (None, None, None)
