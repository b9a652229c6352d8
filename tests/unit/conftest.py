"""Work that the first property test would otherwise have to do."""

import pytest
from hypothesis import strategies as st


@pytest.fixture(scope="session", autouse=True)
def character_tables() -> None:
    """Compute Hypothesis's character tables, which takes two seconds in a new clone."""
    st.text().validate()
