"""Verification runs for tests, as `starcast claims check` stores them."""

from collections.abc import Sequence

from sqlalchemy import Engine

from starcast.claims import Verdict, parallel, select_claims, storage
from starcast.database.sessions import session


def check_and_store(
    engine: Engine, names: Sequence[str], sizes: Sequence[str] | None = None
) -> tuple[int, tuple[Verdict, ...]]:
    """Verify claims in this process; return the number of the stored run, and its verdicts."""
    verdicts = parallel.verify_claims(select_claims(names), sizes=sizes, jobs=1)
    with session(engine) as opened:
        asked = storage.question_of(names, "quick", sizes)
        return storage.save_claim_run(opened, asked, verdicts).id, verdicts
