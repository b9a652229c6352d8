"""The ledger as a whole: every statement is in it, and what fails is accounted for, twice."""

from importlib import import_module
from pathlib import Path

import pytest

from claims.again import AGAIN
from starcast.claims import claims
from starcast.claims.statements import statements
from starcast.claims.verdict import Verdict

for module in sorted(Path(__file__).parent.glob("again_*.py")):
    import_module(f"claims.{module.stem}")


def own(ledger: dict[str, Verdict]) -> list[Verdict]:
    """The verdicts of statements that say something themselves."""
    return [one for one in ledger.values() if not one.parts]


def test_every_statement_is_declared_once() -> None:
    assert list(claims()) == list(statements())


def test_every_declaration_says_what_it_looks_at() -> None:
    unsaid = [
        one.id for one in claims().values() if not (one.number.strip() and one.notation.strip())
    ]
    assert unsaid == []


def test_levels_go_up_and_sizes_are_in_order() -> None:
    for one in claims().values():
        assert set(one.sizes.quick) <= set(one.sizes.full) <= set(one.sizes.deep), one.id


def test_every_statement_has_a_verdict_with_its_reason(ledger: dict[str, Verdict]) -> None:
    assert list(ledger) == list(statements())
    assert [one.claim for one in ledger.values() if not one.sizes or not one.detail.strip()] == []


def test_what_is_not_checkable_says_why(ledger: dict[str, Verdict]) -> None:
    assert [
        one.claim
        for one in own(ledger)
        if one.verdict == "not checkable" and "Nothing was compared" in one.detail
    ] == []


def test_what_fails_has_a_counterexample_and_nothing_else_has(ledger: dict[str, Verdict]) -> None:
    for one in ledger.values():
        assert (one.counterexample is not None) == (one.verdict == "fails"), one.claim
        assert one.counterexample is None or {"found", "stated"} <= one.counterexample.keys(), (
            one.claim
        )


def test_what_fails_has_an_account_of_what_is_true_instead(ledger: dict[str, Verdict]) -> None:
    """Found by computation over the checked sizes, and met at all of them."""
    without = []
    for one in own(ledger):
        if one.verdict != "fails":
            continue
        deciding = [seen for seen in one.evidence if seen.size in one.sizes]
        words = {
            aside.words for seen in deciding for aside in seen.asides if aside.kind == "instead"
        }
        met = [
            said
            for said in words
            if all(aside.met for seen in deciding for aside in seen.asides if aside.words == said)
        ]
        if not met or "True instead" not in one.detail:
            without.append(one.claim)
    assert without == []


def test_nothing_else_is_said_to_be_wrong(ledger: dict[str, Verdict]) -> None:
    """An account of what is true instead belongs to what fails; where one is declared for what holds, it is not told."""
    assert [
        one.claim for one in own(ledger) if one.verdict != "fails" and "True instead" in one.detail
    ] == []


def failing() -> list[str]:
    """The ids with a second implementation; a test below demands that they are those that fail."""
    return sorted(AGAIN)


def test_exactly_what_fails_is_looked_at_twice(ledger: dict[str, Verdict]) -> None:
    assert {one.claim for one in own(ledger) if one.verdict == "fails"} == AGAIN.keys()


@pytest.mark.parametrize("name", failing())
def test_a_second_implementation_finds_the_same_counterexample(
    name: str, ledger: dict[str, Verdict]
) -> None:
    for spec in ledger[name].sizes:
        found = AGAIN[name](spec)
        if found is not None:
            break
    assert found == ledger[name].counterexample
