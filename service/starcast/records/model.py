"""A record: what is known of one problem on one topology."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal

from numpy.typing import NDArray

#: Version of the file format.
FORMAT = 1

#: Whether a problem asks for the least or the greatest value.
Sense = Literal["least", "greatest"]
#: The problems by name, with their sense.
PROBLEMS: Mapping[str, Sense] = MappingProxyType(
    {
        "one-port-broadcast": "least",
        "hamiltonian-decomposition": "greatest",
        "edge-disjoint-trees": "least",
        "congestion-trees": "least",
        "independent-trees": "greatest",
        "fault-diameter": "greatest",
        "bisection-width": "least",
    }
)

#: The names of the arguments of each problem.
ARGUMENTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: ("congestion",) if name == "congestion-trees" else () for name in PROBLEMS}
)

Witness = Mapping[str, NDArray[Any]]
#: Arrays next to a witness from which the bound follows: paths, or a certificate of inequalities.
CERTIFICATE = ("automorphisms", "vectors", "multipliers", "denominator")
EVIDENCE = ("paths", *CERTIFICATE)

#: LRAT is what starcast writes now; records of older versions have DRAT.
ProofFormat = Literal["LRAT", "DRAT", "second solver"]


@dataclass(frozen=True)
class Proof:
    """Evidence that no better value than the bound exists.

    Attributes:
        statement: what does not exist: ``no 3 arc-disjoint spanning trees of height 5``.
        format: ``LRAT`` or ``DRAT``, or ``second solver`` if another solver repeated the search
            instead, which nothing can check.
        formula_sha256: SHA-256 of the formula in DIMACS, which the problem writes again.
        proof_sha256: SHA-256 of the proof; empty without one.
        proof_bytes: the length of the proof.
        checker: the programs that accepted the proof, or the second solver.
        command: the command that makes formula and proof again.
        seconds: the time to make and check the proof; 0 if it was not measured.
    """

    statement: str
    format: ProofFormat
    formula_sha256: str
    proof_sha256: str
    proof_bytes: int
    checker: str
    command: str
    seconds: float = 0.0


@dataclass(frozen=True)
class Attempt:
    """One search that contributed to a record, or that ended without an answer.

    Attributes:
        method: how the search works.
        target: the value that was looked for.
        result: ``witness``, ``none`` or ``open``.
        seconds: how long it took.
        value: the value of the object that it found, if that was better than what was known; it
            need not reach the target.
    """

    method: str
    target: int
    result: Literal["witness", "none", "open"]
    seconds: float
    value: int | None = None


@dataclass(frozen=True, eq=False)
class Record:
    """The best known object of a problem on a topology.

    Attributes:
        problem: name of the problem.
        topology: spec of the topology.
        value: the value of the witness.
        bound: no object has a better value than this.
        reason: why the bound holds.
        witness: arrays by name; `starcast.records.checks` says what they mean.
        arguments: arguments of the problem, by name.
        proof: evidence for the bound, if it does not follow from theory.
        solver: the programs that found the witness, with their versions.
        version: the version of starcast.
        seconds: the time of all searches.
        command: the command that searches again.
        tried: the searches, in their order.
    """

    problem: str
    topology: str
    value: int
    bound: int
    reason: str
    witness: Witness
    arguments: Mapping[str, int] = field(default_factory=dict)
    proof: Proof | None = None
    solver: str = ""
    version: str = ""
    seconds: float = 0.0
    command: str = ""
    tried: tuple[Attempt, ...] = ()

    @property
    def optimal(self) -> bool:
        """Whether the value is proven to be the best possible."""
        return self.value == self.bound

    @property
    def id(self) -> str:
        """The id, such as ``one-port-broadcast:S5`` or ``congestion-trees:S4:congestion=3``."""
        parts = [self.problem, self.topology]
        parts += [f"{name}={value}" for name, value in sorted(self.arguments.items())]
        return ":".join(parts)

    def fields(self) -> dict[str, Any]:
        """Return all fields but the witness, as they are written to JSON."""
        values = {name: getattr(self, name) for name in FIELDS}
        values["arguments"] = dict(self.arguments)
        values["proof"] = None if self.proof is None else asdict(self.proof)
        values["tried"] = [asdict(attempt) for attempt in self.tried]
        return {"format": FORMAT, **values, "optimal": self.optimal}


#: The fields of a record but the witness.
FIELDS = tuple(each.name for each in fields(Record) if each.name != "witness")
