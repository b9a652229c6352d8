"""The page of the conjecture: its bounds, its construction, and the rounds of its Lean file."""

import ast
import re
from itertools import permutations
from math import ceil, factorial, log2
from pathlib import Path

import pytest

from starcast import schedule, simulate
from starcast.lab import Lab
from starcast.support.settings import Settings

LEAN = Path(__file__).parents[2] / "docs" / "one-port-broadcast.lean"


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("root", [0, 1])
def test_symbol_doubling_takes_the_rounds_of_the_theorem(n: int, root: int) -> None:
    result = simulate(schedule(f"S{n}", "broadcast", "symbol-doubling", root=root))
    assert (result.violation, result.complete) == (None, True)
    assert result.steps == sum(1 + ceil(log2(i - 1)) for i in range(2, n + 1))


def test_the_counting_bound_is_the_logarithm_but_on_s5() -> None:
    table = Lab(Settings.load).bound_broadcasts()
    assert list(table["n"]) == list(range(3, 121))
    for n, lower, logarithm, upper, _ in map(dict.values, table):
        assert 2 ** (logarithm - 1) < factorial(n) <= 2**logarithm
        assert lower == (8 if n == 5 else logarithm)
        assert lower <= upper
    assert table["upper_bound"][:9] == [3, 5, 8, 10, 13, 16, 19, 24, 29]


@pytest.mark.parametrize("n", [3, 4])
def test_the_rounds_of_the_lean_file_inform_all_nodes(n: int) -> None:
    source = re.search(rf"def rounds{n} : List Round :=\n(.*?)\n\n", LEAN.read_text(), re.DOTALL)
    assert source
    rounds = ast.literal_eval(source[1].strip())
    assert 2 ** (len(rounds) - 1) < factorial(n)
    informed = {tuple(range(n))}
    for each in rounds:
        senders = [tuple(node) for node, _ in each]
        assert len(set(senders)) == len(senders)
        assert set(senders) <= informed
        for node, port in each:
            receiver = list(node)
            receiver[0], receiver[port] = receiver[port], receiver[0]
            assert tuple(receiver) not in informed
            informed.add(tuple(receiver))
    assert informed == set(permutations(range(n)))
