"""Allgather algorithms that send one message at a time (Fragopoulou & Akl 1993).

A0 to A4 are sections of docs/definitions/fragopoulou-akl.md; its last section lists pitfalls.
"""

from math import factorial

import pytest

from oracles import allgather as page
from starcast.judges.simulator import simulate
from support.allgather_checks import allgather, hops_of

ALL_PORT = ("rotated-hamiltonian", "necklace")
ALGORITHMS = (*ALL_PORT, "hamiltonian-cycle")
PAGES = {
    "rotated-hamiltonian": page.rotated_hamiltonian,
    "necklace": page.mbst_copies,
    "hamiltonian-cycle": page.cycle,
}

every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


def numbers_of_messages(n: int) -> list[int]:
    """Return numbers M of messages to test: small numbers, and numbers near multiples of n-1.

    For n > 2, the bound ceil(M(n!-1)/(n-1)) is below M ceil((n!-1)/(n-1)) exactly if M >= n-1.
    """
    return sorted({1, 2, 3, n - 1, n, 2 * (n - 1), 2 * n - 1} - {0})


def least_steps(n: int, messages: int) -> int:
    """Return the lower bound on steps, ceil(M(n!-1)/(n-1)) for M messages."""
    return -(-messages * (factorial(n) - 1) // (n - 1))


@every_algorithm
@pytest.mark.parametrize("n", range(3, 6))
def test_rows_equal_those_of_the_oracle(n: int, algorithm: str) -> None:
    for messages in numbers_of_messages(n):
        schedule = allgather(f"S{n}", algorithm, messages=messages)
        expected = PAGES[algorithm](n, messages)
        assert set(hops_of(schedule)) == expected
        assert len(schedule) == len(expected)


def test_rows_on_s6_equal_those_of_the_oracle() -> None:
    for algorithm in ALGORITHMS:
        schedule = allgather("S6", algorithm, messages=1)
        assert set(hops_of(schedule)) == PAGES[algorithm](6, 1)


@every_algorithm
@pytest.mark.parametrize("n", range(2, 8))
def test_steps_are_minimal_for_every_number_of_messages(n: int, algorithm: str) -> None:
    """M messages take ceil(M(n!-1)/(n-1)) steps, the minimum.

    If M >= n-1, sending one message after the other takes more steps (pitfall 16). The n! sources
    send without a conflict if and only if the links of each step have different dimensions (A0).
    All sources together make M n! (n!-1) transmissions.
    """
    for messages in numbers_of_messages(n):
        schedule = allgather(f"S{n}", algorithm, messages=messages)
        if algorithm in ALL_PORT:
            assert schedule.steps == least_steps(n, messages)
            repeated = messages * least_steps(n, 1)
            assert (schedule.steps < repeated) == (n > 2 and messages >= n - 1)
        cells = {*zip(schedule.step.tolist(), schedule.port.tolist(), strict=True)}
        assert len(cells) == len(schedule)
        run = simulate(schedule)
        assert run.violation is None
        assert run.complete
        assert (run.steps, run.largest_packet) == (schedule.steps, 1)
        assert run.transmissions == messages * factorial(n) * (factorial(n) - 1)
