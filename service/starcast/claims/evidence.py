"""Evidence recorded by checks, and its form in JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

#: Relations between measured and stated values. ``=``: they are equal. ``<=`` and ``>=``: the
#: stated value is a bound. ``O``: a quotient is bounded by a constant. ``absent``: the papers do
#: not contain the subject of the claim.
Relation = Literal["=", "<=", ">=", "O", "absent"]
Plain = bool | int | str
Place = Mapping[str, Plain]
#: Recorded as the stated value if a claim states an order of growth.
BOUNDED = "bounded"


@dataclass(frozen=True)
class Finding:
    """Measured values compared with what a claim states.

    Attributes:
        what: the compared quantity, in words.
        relation: the stated relation between measured and stated values.
        compared: number of compared pairs of values.
        measured: summary of the measured values; for ``absent``, the reason.
        counterexample: None if the relation holds everywhere. Otherwise the first place where it
            does not, with ``found`` and ``stated``, and ``n``, ``k`` of the size.
        of: id of the forest or schedule that was measured; empty if there is none.
    """

    what: str
    relation: Relation
    compared: int
    measured: str
    counterexample: Place | None = None
    of: str = ""

    @property
    def met(self) -> bool:
        """Whether the relation could be checked and holds everywhere."""
        return self.counterexample is None and self.relation != "absent"


@dataclass(frozen=True)
class Aside:
    """Findings that are reported with a claim but do not affect its verdict.

    Attributes:
        kind: ``reading`` for another reading of a damaged or ambiguous claim; ``instead`` for a
            corrected statement.
        words: the other reading or the corrected statement.
        findings: the findings about the other statement.
    """

    kind: Literal["reading", "instead"]
    words: str
    findings: tuple[Finding, ...]

    @property
    def met(self) -> bool:
        """True if there are findings and all of them are met."""
        return bool(self.findings) and all(finding.met for finding in self.findings)


@dataclass(frozen=True)
class Evidence:
    """Everything that a check recorded at one size.

    Attributes:
        claim: id of the claim.
        size: spec of the topology, such as ``S5``.
        findings: in the order in which they were recorded.
        asides: other readings and corrections.
        seconds: duration of the check, including the creation of shared objects that no earlier
            check has created.
        undefined: why the check is not defined at this size; empty if it is.
    """

    claim: str
    size: str
    findings: tuple[Finding, ...]
    asides: tuple[Aside, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    undefined: str = ""


def by_claim(evidence: Iterable[Evidence]) -> dict[str, list[Evidence]]:
    """Return the evidence of each claim, by claim id."""
    groups: dict[str, list[Evidence]] = {}
    for each in evidence:
        groups.setdefault(each.claim, []).append(each)
    return groups


# JSON
#
# Counterexamples become lists of pairs, because PostgreSQL does not keep the order of keys.


def evidence_to_json(evidence: Evidence) -> dict[str, Any]:
    """Return the findings and asides of evidence; claim, size and seconds are stored separately."""
    return {
        "findings": _findings_to_json(evidence.findings),
        "asides": [
            {**vars(aside), "findings": _findings_to_json(aside.findings)}
            for aside in evidence.asides
        ],
        "undefined": evidence.undefined,
    }


def evidence_from_json(
    claim: str, size: str, seconds: float, values: Mapping[str, Any]
) -> Evidence:
    """Convert the result of `evidence_to_json` back to evidence."""
    asides = tuple(
        Aside(**{**aside, "findings": _findings_from_json(aside["findings"])})
        for aside in values["asides"]
    )
    findings = _findings_from_json(values["findings"])
    return Evidence(claim, size, findings, asides, seconds, values["undefined"])


def _findings_to_json(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    return [
        {**vars(finding), "counterexample": place and [list(pair) for pair in place.items()]}
        for finding in findings
        for place in [finding.counterexample]
    ]


def _findings_from_json(rows: Iterable[Mapping[str, Any]]) -> tuple[Finding, ...]:
    return tuple(
        Finding(**{**row, "counterexample": place if place is None else dict(place)})
        for row in rows
        for place in [row["counterexample"]]
    )
