"""What a check found out, before anybody calls it a verdict, and the words that there are for one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

#: ``=``: two values are the same; ``<=`` and ``>=``: one is a bound on the other; ``O``: a quotient stays below a constant;
#: ``absent``: what the statement is about is not in the papers.
Relation = Literal["=", "<=", ">=", "O", "absent"]
Plain = bool | int | str
Place = Mapping[str, Plain]
#: What is stated of a quotient that is said to be of an order.
BOUNDED = "bounded"
#: A verdict.
Word = Literal["holds", "holds as a bound", "fails", "not checkable"]
WORDS: tuple[Word, ...] = get_args(Word)


@dataclass(frozen=True)
class Finding:
    """Values that were found, held against what is stated.

    Attributes:
        what: what was compared, in words.
        relation: how found and stated are said to stand to one another.
        compared: how many pairs of values were compared.
        measured: the values found, in short; of ``absent``, the reason.
        counterexample: None if the relation is met everywhere. Else the first place where it is not, with ``found`` and
            ``stated``, and ``n``, ``k`` of the size.
        of: the id of the forest or schedule that was looked at; empty if it was none.
    """

    what: str
    relation: Relation
    compared: int
    measured: str
    counterexample: Place | None = None
    of: str = ""

    @property
    def met(self) -> bool:
        """Whether nothing speaks against it."""
        return self.counterexample is None and self.relation != "absent"


@dataclass(frozen=True)
class Aside:
    """What was looked at beside the statement, and does not decide.

    Attributes:
        kind: ``reading``: another reading of a damaged or ambiguous statement; ``instead``: what is true in its place.
        words: the other statement.
        findings: what was found about it.
    """

    kind: Literal["reading", "instead"]
    words: str
    findings: tuple[Finding, ...]

    @property
    def met(self) -> bool:
        """Whether it was looked at, and holds."""
        return bool(self.findings) and all(finding.met for finding in self.findings)


@dataclass(frozen=True)
class Evidence:
    """What a check found at one size.

    Attributes:
        claim: its id.
        size: the topology, such as ``S5``.
        findings: in the order in which they were looked at.
        asides: what was looked at beside.
        seconds: how long it took; what is shared is counted where it was first needed.
        undefined: why the check cannot be made at this size; empty if it was made.
    """

    claim: str
    size: str
    findings: tuple[Finding, ...]
    asides: tuple[Aside, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    undefined: str = ""
