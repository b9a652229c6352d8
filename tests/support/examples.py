"""The number of examples of a property test."""

from math import ceil

from hypothesis import settings

#: What the profile of the sweep tries by default (tests/conftest.py).
SWEEP_EXAMPLES = 40


def max_examples(number: int) -> settings:
    """Try so many examples in the sweep, and as small a part as of all others in `make test`."""
    share = settings().max_examples / SWEEP_EXAMPLES
    return settings(max_examples=ceil(number * share))
