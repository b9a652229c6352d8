"""Stored verification runs for tests, like those of `starcast claims check`."""

from collections.abc import Sequence

from sqlalchemy import Engine

from starcast.claims import Verdict, select_claims, storage, verify
from starcast.stores.database.sessions import open_session


def check_and_store(
    engine: Engine, names: Sequence[str], sizes: Sequence[str] | None = None
) -> tuple[int, tuple[Verdict, ...]]:
    """Verify claims in this process; return the stored run's number and its verdicts."""
    verdicts = verify.verify_claims(select_claims(names), sizes=sizes, jobs=1)
    with open_session(engine) as session:
        asked = storage.question_of(names, "quick", sizes)
        return storage.save_claim_run(session, asked, verdicts).id, verdicts
