"""A record: what is known of one problem on one topology."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from starcast.errors import InputError

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

Witness = Mapping[str, NDArray[Any]]
#: Arrays next to a witness from which the bound follows: paths, or a certificate of inequalities.
CERTIFICATE = ("automorphisms", "vectors", "multipliers", "denominator")
EVIDENCE = ("paths", *CERTIFICATE)

ProofFormat = Literal["DRAT", "second solver"]


@dataclass(frozen=True)
class Proof:
    """Evidence that no better value than the bound exists.

    Attributes:
        statement: what does not exist: ``no 3 arc-disjoint spanning trees of height 5``.
        format: ``DRAT``, or ``second solver`` if another solver repeated the search instead.
        formula_sha256: SHA-256 of the formula in DIMACS, which the problem writes again.
        proof_sha256: SHA-256 of the DRAT proof; empty without one.
        proof_bytes: the length of the DRAT proof.
        checker: the program that accepted the proof, with its version.
        command: the command that makes formula and proof again.
    """

    statement: str
    format: ProofFormat
    formula_sha256: str
    proof_sha256: str
    proof_bytes: int
    checker: str
    command: str


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

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any], witness: Witness, source: str) -> Self:
        """Return a record from the fields of a file.

        Args:
            fields: what `fields` returned.
            witness: the arrays.
            source: what was read, for messages.

        Raises:
            InputError: a field is missing, unknown, or has a wrong type.
        """
        if fields.get("format") != FORMAT:
            raise InputError(
                f"{source} has the format {fields.get('format')!r}, not {FORMAT}",
                hint="write it again with this version of starcast",
            )
        _check_types(fields, source)
        try:
            values = {name: fields[name] for name in FIELDS}
            values["proof"] = None if fields["proof"] is None else _as_proof(fields["proof"])
            values["tried"] = tuple(Attempt(**attempt) for attempt in fields["tried"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{source} is not a record: {error}", hint="restore the file, or search again"
            ) from None
        record = cls(witness={name: np.asarray(each) for name, each in witness.items()}, **values)
        if fields.get("optimal") is not record.optimal:
            raise InputError(
                f"{source} says optimal: {fields.get('optimal')}, but its value is {record.value}"
                f" and its bound {record.bound}",
                hint="restore the file, or search again",
            )
        return record


def _as_proof(fields: Mapping[str, Any]) -> Proof:
    proof = Proof(**fields)
    if proof.format not in get_args(ProofFormat):
        raise ValueError(f"its proof has the format {proof.format!r}")
    return proof


_TYPES: dict[str, tuple[type, ...]] = {
    "problem": (str,),
    "topology": (str,),
    "value": (int,),
    "bound": (int,),
    "reason": (str,),
    "arguments": (dict,),
    "proof": (dict, type(None)),
    "solver": (str,),
    "version": (str,),
    "seconds": (int, float),
    "command": (str,),
    "tried": (list,),
}
#: The fields of a record but the witness.
FIELDS = tuple(_TYPES)


def _check_types(fields: Mapping[str, Any], source: str) -> None:
    for name, types in _TYPES.items():
        value = fields.get(name)
        if name not in fields or not isinstance(value, types) or isinstance(value, bool):
            raise InputError(
                f"{source} has {name} = {value!r}",
                hint="restore the file, or search again",
            )
    if fields["problem"] not in PROBLEMS:
        raise InputError(
            f"{source} is about the unknown problem '{fields['problem']}'",
            hint=f"the problems are {', '.join(PROBLEMS)}",
        )
