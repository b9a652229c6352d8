"""The ledger: every statement of the five papers, looked at by computation.

A `Claim` is declared in `starcast.claims.papers` with its sizes and a check. The check gets a `See` at one size, builds what
it looks at in a `Lab`, and says what it found against what is stated. One rule (`starcast.claims.verdict`) makes a verdict of
that: no check says of itself whether its statement holds. What checks look with stands in `starcast.claims.instruments`: the
papers' definitions written out anew, counts, searches and exact arithmetic, which share nothing with the code that is judged.
"""

from starcast.claims.catalogue import chosen, claim, claims
from starcast.claims.checking import check
from starcast.claims.declaration import Claim
from starcast.claims.verdict import Verdict

__all__ = ["Claim", "Verdict", "check", "chosen", "claim", "claims"]
