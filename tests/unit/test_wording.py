"""Numbers in sentences."""

import pytest

from starcast.wording import counted


@pytest.mark.parametrize(
    ("number", "words", "said"),
    [
        (0, ("run",), "0 runs"),
        (1, ("run",), "1 run"),
        (2, ("run",), "2 runs"),
        (1234567, ("run",), "1,234,567 runs"),
        (0, ("unit is", "units are"), "0 units are"),
        (1, ("unit is", "units are"), "1 unit is"),
        (1001, ("unit is", "units are"), "1,001 units are"),
    ],
)
def test_one_is_singular(number: int, words: tuple[str, ...], said: str) -> None:
    assert counted(number, *words) == said
