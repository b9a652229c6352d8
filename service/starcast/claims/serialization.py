"""Conversion of evidence to JSON values and back.

Places become lists of pairs, because PostgreSQL does not keep the order of object keys.
"""

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from starcast.claims.evidence import Aside, Evidence, Finding, Relation
from starcast.support.shapes import check_shape, is_count, one_of


def _is_place(value: object) -> bool:
    """Return whether a value is a list of pairs of a name and a value; n and k are counts."""
    try:
        check_shape(value, [list], "the place")
    except ValueError:
        return False
    pairs: list[list[Any]] = value  # type: ignore[assignment]
    return all(
        len(pair) == 2
        and type(pair[0]) is str
        and (is_count(pair[1]) if pair[0] in ("n", "k") else type(pair[1]) in (bool, int, str))
        for pair in pairs
    )


_FINDING_SHAPE = {
    "what": str,
    "relation": one_of(*get_args(Relation)),
    "compared": is_count,
    "measured": str,
    "counterexample": (None, _is_place),
    "of": str,
}
#: The shape of what `evidence_to_json` returns.
EVIDENCE_SHAPE = {
    "findings": [_FINDING_SHAPE],
    "asides": [{"kind": one_of("reading", "instead"), "words": str, "findings": [_FINDING_SHAPE]}],
    "undefined": str,
}


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
