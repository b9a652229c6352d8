"""The verdicts on the claims; run it with pytest."""

from pathlib import Path

import pytest

import starcast
import starcast.claims

starcast.claims.load(Path(__file__).parent)


@pytest.mark.parametrize(
    ("claim_id", "verdict"), [("MYPAPER.diameter", "holds"), ("MYPAPER.children", "fails")]
)
def test_verdict(claim_id: str, verdict: str) -> None:
    """The verdict on a claim is the expected one, and no check changes it unnoticed."""
    assert starcast.check(claim_id).verdict == verdict
