"""What the first property test would otherwise compute."""

import pytest
from hypothesis import strategies as st


@pytest.fixture(scope="session", autouse=True)
def character_tables() -> None:
    """Hypothesis's tables of characters: computing them takes two seconds in a new clone."""
    st.text().validate()
