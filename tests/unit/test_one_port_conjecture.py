"""The page on the one-port conjecture: its bounds, its two theorems, and its Lean file."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from math import ceil, factorial, log2
from pathlib import Path

import pytest

from oracles import star_graph
from starcast import schedule, simulate
from starcast.collectives import doubling
from starcast.lab import Lab
from starcast.records import shipped_record
from starcast.records.files import missing_reason
from starcast.support.errors import RejectedError
from starcast.support.settings import Settings
from support.record_files import put_record

LEAN = Path(__file__).parents[2] / "docs" / "one-port-broadcast.lean"


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("root", [0, 1])
def test_the_symbol_doubling_broadcast_takes_the_number_of_rounds_in_its_theorem(
    n: int, root: int
) -> None:
    result = simulate(schedule(f"S{n}", "broadcast", "symbol-doubling", root=root))
    assert (result.violation, result.complete) == (None, True)
    assert result.steps == sum(1 + ceil(log2(i - 1)) for i in range(2, n + 1))


@pytest.mark.parametrize(("n", "substar"), [(4, 3), (5, 3), (6, 4), (6, 5), (7, 5)])
@pytest.mark.parametrize("root", [0, 1])
def test_the_optimal_substars_broadcast_adds_a_known_number_of_rounds_to_a_record(
    monkeypatch: pytest.MonkeyPatch, n: int, substar: int, root: int
) -> None:
    """An optimal broadcast informs a smaller star graph. Further rounds inform all other nodes."""
    monkeypatch.setattr(doubling, "LARGEST_OPTIMAL", substar)
    result = simulate(schedule(f"S{n}", "broadcast", "optimal-substars", root=root))
    assert (result.violation, result.complete) == (None, True)
    record = ceil(log2(factorial(substar))) + (substar == 5)
    assert result.steps == record + sum(1 + ceil(log2(i - 1)) for i in range(substar + 1, n + 1))


def test_the_optimal_substars_broadcast_uses_the_largest_record_that_is_proven_optimal() -> None:
    optimal = [
        n
        for n in range(3, 13)
        if missing_reason("one-port-broadcast", f"S{n}", optimal=True) is None
    ]
    assert max(optimal) == doubling.LARGEST_OPTIMAL


@pytest.mark.slow
def test_the_optimal_substars_broadcast_takes_24_rounds_on_s10_one_fewer_than_published() -> None:
    result = simulate(schedule("S10", "broadcast", "optimal-substars"))
    assert (result.violation, result.complete, result.steps) == (None, True, 24)


def growth_rounds(n: int) -> Iterator[list[tuple[star_graph.Node, int]]]:
    """Yield the rounds in which an informed substar informs S_n by the second theorem on the page.

    The informed substar has the nodes that end with symbol n. A round is a list of senders, each
    with the port over which it sends.
    """
    nodes = star_graph.nodes(n)
    yield [(node, n) for node in nodes if node[-1] == n]
    informed = 0
    while informed < n - 2:
        sends = []
        for node in nodes:
            # Nodes with the same first and the same last symbol form a class. The nodes with first
            # symbol n, called P_1 on the page, inform the first class that is added in the round.
            classes = [symbol for symbol in range(1, n) if symbol != node[-1]]
            if node[-1] == n:
                continue
            if node[0] == n:
                sends.append((node, node.index(classes[informed]) + 1))
            elif (place := classes.index(node[0])) < informed:
                target = informed + 1 + place
                if target < len(classes):
                    sends.append((node, node.index(classes[target]) + 1))
        yield sends
        informed = 2 * informed + 1


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, pytest.param(8, marks=pytest.mark.slow)])
def test_an_informed_substar_informs_all_nodes_in_the_rounds_of_the_second_theorem(n: int) -> None:
    informed = {node for node in star_graph.nodes(n) if node[-1] == n}
    rounds = list(growth_rounds(n))
    assert len(rounds) == 1 + ceil(log2(n - 1))
    for sends in rounds:
        senders = [node for node, _ in sends]
        assert len(set(senders)) == len(senders)
        assert informed >= set(senders)
        receivers = {star_graph.swap(node, port) for node, port in sends}
        assert len(receivers) == len(sends)
        assert not receivers & informed
        informed |= receivers
    assert len(informed) == factorial(n)


def test_the_bounds_on_broadcast_rounds_use_the_records_in_a_given_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record of 8 rounds on S5 also lowers the upper bound for S6. A false record is refused."""
    monkeypatch.setattr("starcast.records.shipped_folder", lambda: tmp_path / "nothing")
    put_record(tmp_path, shipped_record("one-port-broadcast", "S5"))
    lab = Lab(Settings.load)
    assert lab.bound_broadcasts(most=6, folder=tmp_path)["upper_bound"] == [3, 6, 8, 12]
    record = shipped_record("one-port-broadcast", "S4")
    put_record(tmp_path, replace(record, topology="S6", value=10, bound=10))
    with pytest.raises(RejectedError, match=r"one-port-broadcast:S6 in .* is wrong"):
        lab.bound_broadcasts(most=6, folder=tmp_path)


def test_the_lower_bound_on_rounds_is_a_rounded_up_logarithm_except_on_s5() -> None:
    """The logarithm is that of the n! nodes, to base 2. On S5, the bound is 8 instead of 7."""
    table = Lab(Settings.load).bound_broadcasts()
    assert list(table["n"]) == list(range(3, 121))
    for n, lower, logarithm, upper, _ in map(dict.values, table):
        assert 2 ** (logarithm - 1) < factorial(n) <= 2**logarithm
        assert lower == (8 if n == 5 else logarithm)
        assert lower <= upper
    assert table["upper_bound"][:9] == [3, 5, 8, 10, 13, 16, 19, 24, 29]


@pytest.mark.parametrize("n", [3, 4])
def test_the_broadcast_rounds_in_the_lean_file_inform_all_nodes(n: int) -> None:
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
            receiver = star_graph.swap(node, port + 1)  # the file counts positions from 0
            assert receiver not in informed
            informed.add(receiver)
    assert informed == set(permutations(range(n)))
