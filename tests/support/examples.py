"""The number of examples that Hypothesis tries in each property test."""

from math import ceil

from hypothesis import settings

#: The default number of examples in the Hypothesis profile of `make sweep` (tests/conftest.py).
SWEEP_EXAMPLES = 40


def max_examples(number: int) -> settings:
    """Set a test's number of examples in `make sweep`; `make test` tries a quarter of them."""
    share = settings().max_examples / SWEEP_EXAMPLES
    return settings(max_examples=ceil(number * share))
