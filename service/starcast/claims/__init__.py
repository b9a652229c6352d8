"""Claims of five papers, verified by computation.

Every claim is one entry of a paper's ``claims.toml`` and has one check, a function that records
measured values against the values that the paper states. One rule (`starcast.claims.verdict`)
derives the verdict from the recorded evidence; a check itself never decides whether its claim
holds. docs/claim-rules.md has the rules for ids, sizes and verdicts; docs/claims-how-to.md shows
how to add a claim.
"""

from starcast.claims.catalogue import Claim, claims, find_claim, select_claims
from starcast.claims.verdict import Verdict

__all__ = ["Claim", "Verdict", "claims", "find_claim", "select_claims"]
