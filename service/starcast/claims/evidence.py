"""Evidence recorded by checks, and the possible verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

#: Relations between measured and stated values. ``=``: they are equal; ``<=`` and ``>=``: the
#: stated value is a bound; ``O``: a quotient stays below a constant; ``absent``: the papers do not
#: contain the subject of the claim.
Relation = Literal["=", "<=", ">=", "O", "absent"]
Plain = bool | int | str
Place = Mapping[str, Plain]
#: The stated value of a quotient that is claimed to be of an order.
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
        """Whether the relation was compared and holds everywhere."""
        return self.counterexample is None and self.relation != "absent"


@dataclass(frozen=True)
class Aside:
    """Findings that are reported next to a claim and do not decide its verdict.

    Attributes:
        kind: ``reading``: another reading of a damaged or ambiguous claim; ``instead``: a true
            statement in its place.
        words: the other statement.
        findings: the findings about the other statement.
    """

    kind: Literal["reading", "instead"]
    words: str
    findings: tuple[Finding, ...]

    @property
    def met(self) -> bool:
        """True if at least one value was compared and all comparisons hold."""
        return bool(self.findings) and all(finding.met for finding in self.findings)


@dataclass(frozen=True)
class Evidence:
    """Everything that a check recorded at one size.

    Attributes:
        claim: id of the claim.
        size: spec of the topology, such as ``S5``.
        findings: in the order in which they were recorded.
        asides: other readings and corrections.
        seconds: duration; shared objects count for the check that needed them first.
        undefined: why the check is not defined at this size; empty if it is.
    """

    claim: str
    size: str
    findings: tuple[Finding, ...]
    asides: tuple[Aside, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    undefined: str = ""
