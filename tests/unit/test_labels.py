"""Node labels with symbols from 0 or from 1 can be read and printed, without changing ids."""

from itertools import permutations as all_permutations

import pytest

from starcast import forest, schedule, simulate, topology
from starcast.drawing import draw_topology, draw_tree
from starcast.judges.simulator import Fault
from starcast.support.errors import InputError
from starcast.topologies import permutations
from starcast.topologies.permutations import labels_from
from support.meeting import refused

SPECS = ("S2", "S4", "S5,2", "S5,1", "S12", "S30,2", "Q3")


@pytest.mark.parametrize("spec", SPECS)
def test_labels_with_symbols_from_0_and_from_1_name_the_same_nodes(spec: str) -> None:
    t = topology(spec)
    ranks = [0, 1, t.nodes // 2, t.nodes - 1]
    ones = [t.label(rank) for rank in ranks]
    with labels_from(0):
        zeros = [t.label(rank) for rank in ranks]
        assert [t.rank(label) for label in zeros] == ranks
        assert [t.stored_label(rank) for rank in ranks] == ones
    assert [t.label(rank) for rank in ranks] == ones
    if t.family == "hypercube":
        assert zeros == ones
        return
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    for one, zero in zip(ones, zeros, strict=True):
        assert [digits.index(a) - digits.index(b) for a, b in zip(one, zero, strict=True)] == (
            [1] * len(one)
        )


def test_labels_of_s4_with_symbols_from_0_are_all_permutations_in_lexicographic_order() -> None:
    with labels_from(0):
        labels = topology("S4").labels().tolist()
    assert labels == ["".join(each) for each in all_permutations("0123")]


def test_the_error_for_a_label_in_the_other_numbering_suggests_the_option_labels() -> None:
    for first, label in [(1, "01234"), (0, "12345"), (0, "54321")]:
        with (
            labels_from(first),
            pytest.raises(InputError, match="which is not one of the 5 symbols") as refusal,
        ):
            topology("S5").rank(label)
        assert f"use `labels` {1 - first}" in (refusal.value.hint or "")


def test_the_error_for_other_invalid_labels_does_not_suggest_the_option_labels() -> None:
    for first, label in [(1, "11345"), (0, "0x234"), (1, "0x234"), (0, "0")]:
        with labels_from(first), pytest.raises(InputError) as refusal:
            topology("S5").rank(label)
        assert "labels" not in (refusal.value.hint or "")


def test_the_error_for_an_invalid_label_names_the_wrong_symbol_or_length() -> None:
    for label, culprit in [("12344", "'4'"), ("12346", "'6'"), ("1234A", "'A'"), ("123", " 3 ")]:
        with refused(label, culprit):
            topology("S5").rank(label)
    with refused("repeats the symbol 'a'"):
        topology("S11,2").rank("Aa")


@pytest.mark.parametrize("first", [2, -1])
def test_labels_whose_symbols_start_from_neither_0_nor_1_are_refused(first: int) -> None:
    with pytest.raises(InputError, match=f"labels cannot be {first}"), labels_from(first):
        pass


def test_symbols_of_labels_start_from_1_again_after_an_error() -> None:
    with pytest.raises(RuntimeError), labels_from(0):
        raise RuntimeError
    assert str(permutations.labels(permutations.unrank(3, [0]))[0]) == "123"


def test_symbols_start_from_1_in_ids_even_if_they_start_from_0_in_reports() -> None:
    with labels_from(0):
        assert forest("S4", "multiple", "3210").id == "S4:multiple:4321"
        built = schedule("S4", "broadcast", "greedy", "all", "3210")
        assert built.id.endswith(":4321")
        result = simulate(built, [Fault.parse("1023")])
        assert result.undelivered or result.complete
        cut = simulate(built, [Fault("2310")])
        assert {label for label, _ in cut.undelivered} <= set(topology("S4").labels().tolist())


def test_symbols_in_the_labels_of_drawings_start_from_0_if_requested() -> None:
    with labels_from(0):
        drawings = [draw_tree(forest("S3", "greedy"), 0), draw_topology(topology("S3"))]
    for drawing in drawings:
        assert "210" in drawing
        assert "321" not in drawing
