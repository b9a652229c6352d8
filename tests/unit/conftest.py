"""A fixture that prepares Hypothesis before the first property test runs."""

import pytest
from hypothesis import strategies as st


@pytest.fixture(scope="session", autouse=True)
def character_tables() -> None:
    """Compute Hypothesis's character tables, which takes two seconds in a new clone."""
    st.text().validate()
