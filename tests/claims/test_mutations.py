"""Every check can fail: mutated claims or mutated objects change its verdict."""

import pytest

from claims.mutations import (
    AgreeingCheck,
    CompletePapersCache,
    ContradictingCheck,
    mutations,
    smallest_sizes,
    verdict_word,
)
from starcast.claims import claims
from starcast.claims.catalogue import Claim

CLAIMS = [claim for claim in claims().values() if claim.check is not None]
SIZES = 3


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_changing_the_stated_values_changes_the_verdict(claim: Claim) -> None:
    """If the check uses contradicting values, a claim that holds fails at some size.

    If the check uses the measured values instead of the stated ones, a claim that fails holds.
    """
    for spec in claim.sizes.quick:
        original = verdict_word(claim, spec)
        recorder = AgreeingCheck if original == "fails" else ContradictingCheck
        objects = CompletePapersCache() if original == "not checkable" else None
        changed = verdict_word(claim, spec, objects, recorder)
        if changed not in (original, "rejected"):
            return
    pytest.fail("other stated values leave the verdict unchanged at every size")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_broken_object_changes_the_verdict(claim: Claim) -> None:
    """At least one mutation of the objects that a check uses changes the verdict."""
    tried = 0
    for spec in smallest_sizes(claim, SIZES):
        original = verdict_word(claim, spec)
        if original == "fails":
            continue  # the test above covers failing claims
        for mutation in mutations(claim, spec):
            tried += 1
            if verdict_word(claim, spec, mutation.objects()) != original:
                return
    assert tried == 0, f"none of {tried} mutations changes the verdict"
