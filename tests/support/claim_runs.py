"""Verification runs for tests, stored as by `starcast claims check`."""

from collections.abc import Sequence

from sqlalchemy import Engine

from starcast.claims import Verdict, select_claims, storage, verify
from starcast.stores.database.sessions import open_session


def check_and_store(
    engine: Engine, names: Sequence[str], sizes: Sequence[str] | None = None
) -> tuple[int, tuple[Verdict, ...]]:
    """Verify claims in this process and store the run; return the run's number and verdicts."""
    verdicts = verify.verify_claims(select_claims(names), sizes=sizes, jobs=1)
    with open_session(engine) as session:
        return storage.save_claim_run(session, names, "quick", sizes, verdicts).id, verdicts
