"""The ledger at its quick sizes, looked at once for all tests."""

import pytest

from starcast.claims import report
from starcast.claims.verdict import Verdict


@pytest.fixture(scope="session")
def ledger() -> dict[str, Verdict]:
    """Every verdict at quick sizes, by id."""
    return {one.claim: one for one in report.quick()}
