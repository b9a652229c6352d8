"""The ledger at its quick sizes, looked at once for all tests."""

import pytest

from starcast.claims import claims
from starcast.claims.checking import asked, look, verdicts
from starcast.claims.lab import Lab
from starcast.claims.verdict import Verdict


@pytest.fixture(scope="session")
def ledger() -> dict[str, Verdict]:
    """Every verdict at quick sizes, by id."""
    chosen = list(claims().values())
    return verdicts(chosen, [look(one, spec, Lab()) for one in chosen if one.check for spec in asked(one, "quick")])
