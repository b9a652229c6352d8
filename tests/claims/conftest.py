"""A fixture with the verdicts on all claims at the sizes of level quick, computed once."""

import pytest

from starcast.claims import report
from starcast.claims.verdict import Verdict


@pytest.fixture(scope="session")
def verdicts() -> dict[str, Verdict]:
    """The verdict on each claim at the sizes of level quick, by claim id."""
    return {verdict.claim: verdict for verdict in report.quick_verdicts()}
