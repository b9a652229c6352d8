"""A fixture that prepares Hypothesis before the first property test runs."""

import pytest
from hypothesis import strategies as st


@pytest.fixture(scope="session", autouse=True)
def character_tables() -> None:
    """Compute Hypothesis's character tables before the tests.

    In a new clone of the repository, this takes two seconds.
    """
    st.text().validate()
