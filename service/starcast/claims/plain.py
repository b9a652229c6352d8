"""Evidence as plain values, as JSON keeps them, and back.

Places become lists of pairs, in the order in which a check named them: PostgreSQL keeps no order of names.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from starcast.claims.evidence import Aside, Evidence, Finding


def written(evidence: Evidence) -> dict[str, Any]:
    """What was found at a size, without the seconds; its statement and size stand elsewhere."""
    return {
        "findings": [_finding(finding) for finding in evidence.findings],
        "asides": [
            {
                "kind": aside.kind,
                "words": aside.words,
                "findings": [_finding(finding) for finding in aside.findings],
            }
            for aside in evidence.asides
        ],
        "undefined": evidence.undefined,
    }


def read(claim: str, size: str, seconds: float, values: Mapping[str, Any]) -> Evidence:
    """The evidence that `written` wrote."""
    asides = tuple(
        Aside(aside["kind"], aside["words"], _findings(aside["findings"]))
        for aside in values["asides"]
    )
    return Evidence(
        claim, size, _findings(values["findings"]), asides, seconds, values["undefined"]
    )


def _finding(finding: Finding) -> dict[str, Any]:
    place = (
        None
        if finding.counterexample is None
        else [[name, value] for name, value in finding.counterexample.items()]
    )
    return {
        "what": finding.what,
        "relation": finding.relation,
        "compared": finding.compared,
        "measured": finding.measured,
        "counterexample": place,
        "of": finding.of,
    }


def _findings(values: Iterable[Mapping[str, Any]]) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            one["what"],
            one["relation"],
            one["compared"],
            one["measured"],
            None if one["counterexample"] is None else dict(one["counterexample"]),
            one["of"],
        )
        for one in values
    )
