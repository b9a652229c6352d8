"""The number of examples that Hypothesis tries in each property test."""

from math import ceil

from hypothesis import settings

#: The default number of examples in the Hypothesis profile of `make sweep` (tests/conftest.py).
SWEEP_EXAMPLES = 40


def max_examples(number: int) -> settings:
    """Return settings with this number of examples for `make sweep`, a quarter for `make test`."""
    share = settings().max_examples / SWEEP_EXAMPLES
    return settings(max_examples=ceil(number * share))
