"""Things by the names that a user gives: each with what depends on it."""

from collections.abc import Sequence
from difflib import get_close_matches

from sqlalchemy import select
from sqlalchemy.orm import Session

from starcast.database import models
from starcast.errors import NotFoundError
from starcast.ingest.recovery import Reference, dependents


def named(session: Session, names: Sequence[str]) -> set[Reference]:
    """The things of these names, topologies, forests and schedules, with what depends on them; without names, all.

    Raises:
        NotFoundError: nothing of such a name is stored; the hint names what is near.
    """
    everything = {
        Reference(row.kind, row.id) for row in session.scalars(select(models.Materialization))
    }
    if not names:
        return everything
    by_name = {one.key: one for one in everything}
    for name in names:
        if name not in by_name:
            near = get_close_matches(name, by_name, n=3, cutoff=0.5)
            meant = f"did you mean {' or '.join(near)}? " if near else ""
            raise NotFoundError(
                f"nothing of the name '{name}' is stored",
                hint=f"{meant}see 'starcast topology list'",
            )
    chosen = {by_name[name] for name in names}
    return chosen | {other for one in chosen for other in dependents(session, one)}
