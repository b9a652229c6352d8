"""Every claim has a verdict, and every failing claim a second, independent implementation."""

from importlib import import_module
from pathlib import Path

import generate
import pytest

from claims.second_implementation import SECOND_IMPLEMENTATIONS, find_counterexample
from starcast.claims import claims, report
from starcast.claims.catalogue import claim_entries
from starcast.claims.verdict import Verdict
from starcast.queries.counterexample import to_cypher

for module in sorted(Path(__file__).parent.glob("second_implementation_*.py")):
    import_module(f"claims.{module.stem}")


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    """The verdict on each claim at the sizes of level quick, by claim id."""
    return {verdict.claim: verdict for verdict in report.quick_verdicts()}


def single_verdicts(verdicts: dict[str, Verdict]) -> list[Verdict]:
    """Return the verdicts on all claims that do not consist of several parts."""
    return [verdict for verdict in verdicts.values() if not verdict.parts]


def test_the_claims_page_is_up_to_date(verdicts: dict[str, Verdict]) -> None:
    page = (generate.HERE / "claims.md").read_text(encoding="utf-8")
    assert page == generate.claims_page(verdicts.values()), "run 'make docs'"


def test_claims_have_texts_and_larger_levels_include_the_sizes_of_smaller_ones() -> None:
    for claim in claims().values():
        assert all(text.strip() for text in (claim.number, claim.statement, claim.notation)), claim
        assert set(claim.sizes.quick) <= set(claim.sizes.full) <= set(claim.sizes.deep), claim.id


def test_every_claim_has_a_verdict_with_an_explanation(verdicts: dict[str, Verdict]) -> None:
    assert list(verdicts) == list(claim_entries())
    for verdict in verdicts.values():
        assert verdict.sizes, verdict.claim
        assert verdict.detail.strip(), verdict.claim
        # A claim that is not checkable must have a reason.
        assert "Nothing was compared" not in verdict.detail, verdict.claim


def test_exactly_the_claims_that_fail_have_a_counterexample(verdicts: dict[str, Verdict]) -> None:
    """Every counterexample has a query, with the command that ingests the data it needs."""
    for verdict in verdicts.values():
        counterexample = verdict.counterexample
        assert (counterexample is not None) == (verdict.verdict == "fails"), verdict.claim
        if counterexample is not None:
            assert {"found", "stated"} <= counterexample.keys(), verdict.claim
            assert "// starcast ingest " in to_cypher(verdict), verdict.claim


def test_exactly_the_claims_that_fail_have_a_verified_correction(
    verdicts: dict[str, Verdict],
) -> None:
    for verdict in single_verdicts(verdicts):
        if verdict.verdict != "fails":
            assert "Correct statement" not in verdict.detail, verdict.claim
            continue
        deciding = [found for found in verdict.evidence if found.size in verdict.sizes]
        asides = [aside for found in deciding for aside in found.asides]
        correction = claims()[verdict.claim].correction
        assert correction not in ("", *(aside.words for aside in asides if not aside.met))
        assert f"Correct statement: {correction} (" in verdict.detail, verdict.claim


def test_exactly_the_failing_claims_have_a_second_implementation(
    verdicts: dict[str, Verdict],
) -> None:
    failing = {verdict.claim for verdict in single_verdicts(verdicts) if verdict.verdict == "fails"}
    assert failing == SECOND_IMPLEMENTATIONS.keys()


@pytest.mark.parametrize("claim_id", sorted(SECOND_IMPLEMENTATIONS))
def test_the_second_implementation_finds_the_same_counterexample(
    claim_id: str, verdicts: dict[str, Verdict]
) -> None:
    found = (find_counterexample(claim_id, spec) for spec in verdicts[claim_id].sizes)
    assert next(filter(None, found), None) == verdicts[claim_id].counterexample


def test_the_query_of_a_counterexample_numbers_trees_from_0_unlike_the_papers(
    verdicts: dict[str, Verdict],
) -> None:
    assert "tree: 1}" in to_cypher(verdicts["TS.L5"]), "tree i = 2 of the lemma has number 1"
