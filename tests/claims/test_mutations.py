"""Every check notices when what it looks at is broken: a check that cannot fail proves nothing."""

import pytest

from claims.mutants import Found, Right, Wrong, mutants, smallest, word
from starcast.claims import claims
from starcast.claims.declaration import Claim
from starcast.claims.lab import Lab

CLAIMS = [claim for claim in claims().values() if claim.check is not None]
SIZES = 3


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_another_stated_value_makes_another_verdict(claim: Claim) -> None:
    """What holds fails if something else is stated, what fails holds if what is found is, and what is absent can be found."""
    for spec in claim.sizes.quick:
        as_it_is = word(claim, spec)
        other = word(
            claim,
            spec,
            see=Right if as_it_is == "fails" else Wrong,
            lab=Found() if as_it_is == "not checkable" else None,
        )
        if other not in (as_it_is, "rejected"):
            return
    pytest.fail("no size at which another stated value is noticed")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_broken_material_makes_another_verdict(claim: Claim) -> None:
    """Of all that a check looks at, broken in every way, one at least changes what it says, if it looks at anything."""
    tried = 0
    for spec in smallest(claim, SIZES):
        as_it_is = word(claim, spec)
        if as_it_is == "fails":
            continue  # broken once more, it fails once more: the test above is the one that counts
        for mutant in mutants(claim, spec):
            tried += 1
            if word(claim, spec, mutant.lab()) != as_it_is:
                return
    assert tried == 0, f"{tried} mutants, and none is noticed"


def test_nothing_is_broken_without_a_mutant() -> None:
    """The comparison above is fair: the same check, looked at twice, says the same."""
    for claim in CLAIMS[:20]:
        spec = claim.sizes.quick[0]
        assert word(claim, spec, Lab()) == word(claim, spec, Lab())
