"""Conversion of evidence to JSON values and back.

Places become lists of pairs, because PostgreSQL does not keep the order of object keys.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from starcast.claims.evidence import Aside, Evidence, Finding


def evidence_to_json(evidence: Evidence) -> dict[str, Any]:
    """Return the findings and asides of evidence; claim, size and seconds are stored separately."""
    return {
        "findings": [_finding_to_json(finding) for finding in evidence.findings],
        "asides": [
            {
                "kind": aside.kind,
                "words": aside.words,
                "findings": [_finding_to_json(finding) for finding in aside.findings],
            }
            for aside in evidence.asides
        ],
        "undefined": evidence.undefined,
    }


def evidence_from_json(
    claim: str, size: str, seconds: float, values: Mapping[str, Any]
) -> Evidence:
    """Return the evidence that `evidence_to_json` converted."""
    asides = tuple(
        Aside(aside["kind"], aside["words"], _findings_from_json(aside["findings"]))
        for aside in values["asides"]
    )
    findings = _findings_from_json(values["findings"])
    return Evidence(claim, size, findings, asides, seconds, values["undefined"])


def _finding_to_json(finding: Finding) -> dict[str, Any]:
    place = None
    if finding.counterexample is not None:
        place = [[name, value] for name, value in finding.counterexample.items()]
    return {
        "what": finding.what,
        "relation": finding.relation,
        "compared": finding.compared,
        "measured": finding.measured,
        "counterexample": place,
        "of": finding.of,
    }


def _findings_from_json(rows: Iterable[Mapping[str, Any]]) -> tuple[Finding, ...]:
    return tuple(_finding_from_json(row) for row in rows)


def _finding_from_json(row: Mapping[str, Any]) -> Finding:
    place = row["counterexample"]
    return Finding(
        row["what"],
        row["relation"],
        row["compared"],
        row["measured"],
        None if place is None else dict(place),
        row["of"],
    )
