"""Claims of papers, verified by computation.

Each paper has a pack, a folder with a ``claims.toml`` and with modules of checks. The entries of
``claims.toml`` are the claims of the paper. A check is a function that records measured values next
to the values that the paper states. One rule (`starcast.claims.verdict`) derives the verdict from
the recorded evidence; a check itself never decides whether its claim holds. docs/claim-rules.md has
the rules for ids, sizes and verdicts; docs/your-paper.md explains how to write your own pack, which
`load` reads.
"""

from starcast.claims.catalogue import Claim, claims, find_claim, load, select_claims
from starcast.claims.verdict import Verdict

__all__ = ["Claim", "Verdict", "claims", "find_claim", "load", "select_claims"]
