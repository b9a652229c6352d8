"""The number of examples of a property test."""

from math import ceil

from hypothesis import settings

#: What the profile of the sweep tries by default (tests/conftest.py).
SWEEP_EXAMPLES = 40


def max_examples(number: int) -> settings:
    """Limit the examples of a test in the sweep; `make test` tries a quarter of them."""
    share = settings().max_examples / SWEEP_EXAMPLES
    return settings(max_examples=ceil(number * share))
