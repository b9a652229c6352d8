"""The states of a thing in `materialization`, and the only ways from one to another."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy.orm import Session

from starcast.database import models
from starcast.errors import BusyError


class State(StrEnum):
    """How far a thing is.

    ``planned``: being built; ``loading``: being written to the stores, or taken out of them; ``complete``: counted, compared
    and usable; ``failed``: an attempt was given up, and ``error`` says why.
    """

    PLANNED = "planned"
    LOADING = "loading"
    COMPLETE = "complete"
    FAILED = "failed"


#: None stands for a thing that is not there. Nothing becomes complete but what was loading, and what is complete cannot be
#: forgotten before it is loading again, so that a drop which is broken off is found.
TRANSITIONS: dict[State | None, frozenset[State | None]] = {
    None: frozenset({State.PLANNED}),
    State.PLANNED: frozenset({State.LOADING, State.FAILED, None}),
    State.LOADING: frozenset({State.COMPLETE, State.FAILED, None}),
    State.COMPLETE: frozenset({State.LOADING}),
    State.FAILED: frozenset({State.PLANNED, None}),
}


def state_of(session: Session, kind: str, key: str) -> State | None:
    """The state of a thing; None where nothing is known of it."""
    row = session.get(models.Materialization, (kind, key), with_for_update=True)
    return None if row is None else State(row.state)


def move(session: Session, kind: str, key: str, to: State, **values: Any) -> None:
    """Take a thing to another state, and set other columns of its row.

    Raises:
        BusyError: that is no way from the state it is in: somebody else has changed it meanwhile.
    """
    _allow(session, kind, key, to)
    row = session.get(models.Materialization, (kind, key))
    if row is None:
        row = models.Materialization(kind=kind, id=key)
    if to is State.PLANNED:
        values = {
            "error": None,
            "started_at": _now(),
            "finished_at": None,
            "expected_checksum": "",
            **_UNKNOWN,
            **values,
        }
    if to is State.COMPLETE:
        values = {"error": None, **values}
    if to in {State.COMPLETE, State.FAILED}:
        values = {"finished_at": _now(), **values}
    for name, value in values.items():
        setattr(row, name, value)
    row.state = to.value
    session.add(row)
    session.flush()


def note(session: Session, kind: str, key: str, **values: Any) -> None:
    """Set columns of a thing's row; its state stays."""
    row = session.get_one(models.Materialization, (kind, key))
    for name, value in values.items():
        setattr(row, name, value)
    session.flush()


def forget(session: Session, kind: str, key: str) -> None:
    """Take a thing's row away.

    Raises:
        BusyError: it is complete.
    """
    _allow(session, kind, key, None)
    row = session.get(models.Materialization, (kind, key))
    if row is not None:
        session.delete(row)
        session.flush()


_UNKNOWN = {"found_nodes": None, "found_relationships": None, "found_checksum": None}


def _allow(session: Session, kind: str, key: str, to: State | None) -> None:
    state = state_of(session, kind, key)
    if state is to is None:
        return
    if to not in TRANSITIONS[state]:
        raise BusyError(
            f"{kind} {key} is {state or 'not there'} and cannot become {to or 'forgotten'}: another process changed it",
            hint="look at 'starcast topology list', then try again",
        )


def _now() -> datetime:
    return datetime.now(UTC)
