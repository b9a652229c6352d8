"""Records of the best known value and bound of a problem on a topology, and their combination.

Record files are treated as user input, because they can come from untrusted sources. Reading a
record checks only its form; `starcast.records.checks` and `starcast.search.proofs` check whether
its content is true.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import reduce
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

import numpy as np
import pydantic
from numpy.typing import NDArray

from starcast.support.errors import InputError, StarcastError
from starcast.support.integers import MAX_INTEGER
from starcast.support.json_files import describe_error
from starcast.support.vocabulary import SPEC, VERIFICATIONS, Verification
from starcast.topologies.network_records import NetworkRecord

#: The hint of errors about a damaged or wrong record file.
RESTORE = "restore the files, or remove them and search again"
#: Version of the file format.
FORMAT = 1

#: The sense of a problem: whether it asks for the smallest or for the largest value.
Sense = Literal["least", "greatest"]
#: The sense of each problem, by name.
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
#: Names of the arrays that prove a lower bound on the bisection width
#: (`starcast.records.cut_bounds`).
CERTIFICATE = ("automorphisms", "vectors", "multipliers", "denominator")
#: Names of all arrays that can prove a record's bound. They are stored together with the witness.
EVIDENCE = ("paths", *CERTIFICATE)

#: Maximum number of attempts in a record; older attempts are dropped.
MAX_ATTEMPTS = 100_000
#: Maximum length of a string, such as a reason or a command.
_MAX_LENGTH = 2_000


def _require_printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("the string has unprintable characters")
    return text


_Text = Annotated[
    str, pydantic.Field(max_length=_MAX_LENGTH), pydantic.AfterValidator(_require_printable)
]
_Count = Annotated[int, pydantic.Field(strict=True, ge=0, le=MAX_INTEGER)]
_Seconds = Annotated[float, pydantic.Field(strict=True, ge=0, le=1e12, allow_inf_nan=False)]
_Digest = Annotated[str, pydantic.Field(pattern="^[0-9a-f]{64}$")]
#: Configuration that rejects undeclared fields.
_STRICT = pydantic.ConfigDict(extra="forbid", frozen=True)

#: The kinds of evidence in a `Proof`. The proofs that starcast writes are in LRAT; records of older
#: versions have proofs in DRAT.
ProofFormat = Literal["LRAT", "DRAT", "second solver"]


@dataclass(frozen=True)
class Proof:
    """Evidence that no better value than the bound exists.

    Attributes:
        statement: the proven statement, such as ``no one-port broadcast in 4 rounds``.
        format: ``LRAT`` or ``DRAT``, or ``second solver`` if there is no proof, but another solver
            refuted the formula too; the answer of this solver cannot be checked.
        formula_sha256: SHA-256 of the formula in DIMACS; the formula itself can be rebuilt.
        proof_sha256: SHA-256 of the proof; empty if there is no proof.
        proof_bytes: the length of the proof in bytes.
        checker: the programs that accepted the proof, or the second solver.
        command: the command that regenerates the formula and the proof.
        seconds: the time for generating and checking the proof; 0 if unknown.
    """

    __pydantic_config__ = _STRICT

    statement: _Text
    format: ProofFormat
    formula_sha256: _Digest
    proof_sha256: _Digest | Literal[""]
    proof_bytes: Annotated[int, pydantic.Field(strict=True, ge=0, le=2**53)]
    checker: _Text
    command: _Text
    seconds: _Seconds = 0.0

    def __post_init__(self) -> None:
        # A second solver leaves no proof that could be checked again.
        needs_proof = self.format != "second solver"
        if (bool(self.proof_sha256), self.proof_bytes > 0) != (needs_proof, needs_proof):
            needed = "a SHA-256 and a length" if needs_proof else "neither a SHA-256 nor a length"
            raise ValueError(f"a proof in the format '{self.format}' must have {needed}")


@dataclass(frozen=True)
class Attempt:
    """One attempt to reach a target value with one search method.

    Attributes:
        method: a short description of the search method.
        target: the value that the attempt had to reach.
        result: ``witness`` if the target was reached, ``none`` if the target was proven impossible,
            and ``open`` otherwise.
        seconds: the duration of the attempt.
        value: the value of the object that was found; None if no object was found, or if its value
            is not better than the known value. A better value may still miss the target.
        seed: the random seed; None in records of older versions.
    """

    __pydantic_config__ = _STRICT

    method: _Text
    target: _Count
    result: Literal["witness", "none", "open"]
    seconds: _Seconds
    value: _Count | None = None
    seed: _Count | None = None


@dataclass(frozen=True, eq=False)
class Record:
    """The best known object of a problem on a topology.

    Attributes:
        problem: name of the problem.
        topology: spec of the topology.
        value: the value of the witness.
        bound: a proven bound: no object has a better value.
        reason: the reason why the bound holds.
        witness: the arrays that describe the object, and any arrays that prove the bound, by name;
            the docstring of `starcast.records.checks` explains the arrays.
        arguments: arguments of the problem, by name.
        proof: evidence for the bound; None if the bound follows from theory or inequalities.
        solver: the SAT solver, with its version, whose answer last improved the value or the bound;
            empty if no solver's answer did.
        version: the version of starcast that wrote the record.
        seconds: the total time of all attempts.
        command: the command that repeats the search.
        tried: the attempts of all searches that contributed, at most the last `MAX_ATTEMPTS`.
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
        """True if the value is proven to be the best possible."""
        return self.value == self.bound

    @property
    def sign(self) -> Literal[1, -1]:
        """1 if the problem asks for the smallest value, -1 if it asks for the largest."""
        return 1 if PROBLEMS[self.problem] == "least" else -1

    @property
    def evidence(self) -> Witness:
        """The arrays of the witness that prove the bound."""
        return {name: array for name, array in self.witness.items() if name in EVIDENCE}

    @property
    def solution(self) -> Witness:
        """The arrays of the witness that describe the object itself, without `evidence`."""
        return {name: array for name, array in self.witness.items() if name not in EVIDENCE}

    @property
    def digest(self) -> str:
        """SHA-256 of all fields and arrays. Records with equal digests are the same record."""
        digest = hashlib.sha256(json.dumps(self.fields(), sort_keys=True).encode())
        for name, array in sorted(self.witness.items()):
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()

    @property
    def id(self) -> str:
        """The id, such as ``one-port-broadcast:S5`` or ``congestion-trees:S4:congestion=3``."""
        parts = [self.problem, self.topology]
        parts += [f"{name}={value}" for name, value in sorted(self.arguments.items())]
        return ":".join(parts)

    def as_json(self) -> dict[str, Any]:
        """Return the record without its witness as a JSON object.

        If the topology is a network, the object contains the network.
        """
        values = self.fields()
        for network in NetworkRecord.of_topologies([self.topology]):
            values["network"] = network.model_dump(mode="json")
        return values

    def fields(self) -> dict[str, Any]:
        """Return the record's fields except the witness as JSON values, by name."""
        values = {name: getattr(self, name) for name in FIELDS}
        values["arguments"] = dict(self.arguments)
        values["proof"] = None if self.proof is None else asdict(self.proof)
        values["tried"] = [asdict(attempt) for attempt in self.tried]
        return {"format": FORMAT, **values, "optimal": self.optimal}


#: A record with the verification state of its bound.
VerifiedRecord = tuple[Record, Verification]
#: The fields of a record except the witness.
FIELDS = tuple(each.name for each in fields(Record) if each.name != "witness")


def combine_records(records: Iterable[Record]) -> Record:
    """Combine records with the same id into a record with the best value and the best bound.

    Args:
        records: one or more records. Their bounds, and the values of their witnesses, must be
            verified.
    """
    verified = ((record, VERIFICATIONS[0]) for record in records)
    return reduce(combine_verified, verified)[0]


def combine_verified(first: VerifiedRecord, second: VerifiedRecord) -> VerifiedRecord:
    """Combine two records with the same id, and the verification states of their bounds.

    The result has the better of the two values, and one of the two bounds. A bound that the other
    record's witness contradicts is false, and is dropped. If neither bound is false, the bounds are
    compared by three criteria, in this order: the stronger verification state, the better bound,
    the stronger evidence. If all three are equal, the first record's bound is kept.

    Args:
        first: a record, and the verification state of its bound. The value of its witness must be
            verified. If the values are equal, the witness of this record is kept.
        second: another record, and the verification state of its bound, with the same condition.
    """
    (one, _), (other, _) = first, second
    holder = other if one.sign * (one.value - other.value) > 0 else one
    possible = [each for each in (first, second) if not _contradicts(holder, each[0])]
    bounding, state = max(
        possible,
        key=lambda each: (
            -VERIFICATIONS.index(each[1]),
            each[0].sign * each[0].bound,
            _rank_evidence(each[0]),
        ),
    )
    # Each attempt is listed only once: if two searches started from the same record, or records
    # were merged before, the records have attempts in common.
    known = set(one.tried)
    added = tuple(attempt for attempt in other.tried if attempt not in known)
    combined = replace(
        holder,
        witness={**holder.solution, **bounding.evidence},
        bound=bounding.bound,
        reason=bounding.reason,
        proof=bounding.proof,
        tried=(*one.tried, *added)[-MAX_ATTEMPTS:],
        seconds=round(one.seconds + sum(attempt.seconds for attempt in added), 1),
    )
    return combined, state


def is_better(record: Record, other: Record) -> bool:
    """Return whether a record is better than another record with the same id.

    A record is better if its value contradicts the other record's bound, that is, if the value is
    better than this bound allows. Otherwise, a record is better if its value or bound is better and
    neither is worse. If values and bounds are equal, the record with the stronger evidence for its
    bound is better. If the evidence is equally strong, the record with more attempts is better.
    """
    if _contradicts(record, other) or _contradicts(other, record):
        return _contradicts(record, other)
    value = record.sign * (other.value - record.value)
    bound = record.sign * (record.bound - other.bound)
    # A record with a better value but a worse bound is not better. To combine two such records,
    # `combine_verified` takes the value of one and the bound of the other.
    if value < 0 or bound < 0:
        return False
    if value > 0 or bound > 0:
        return True
    evidence = _rank_evidence(record) - _rank_evidence(other)
    return evidence > 0 or (evidence == 0 and len(record.tried) > len(other.tried))


def improve_record(known: Record | None, found: Record, keep: Callable[[Record], object]) -> Record:
    """Combine a known record with a newly found record, and return the result.

    Args:
        known: the record before the search; None if there was no record.
        found: the record that the search found.
        keep: a function that is called with the result if it is better than the known record, or if
            there was no known record.
    """
    record = found if known is None else combine_records([known, found])
    if known is None or is_better(record, known):
        keep(record)
    return record


def _contradicts(record: Record, other: Record) -> bool:
    """Return whether a record's value contradicts another record's bound."""
    return record.sign * (other.bound - record.value) > 0


def _rank_evidence(record: Record) -> int:
    """Return the rank of the evidence for a record's bound; stronger evidence has a higher rank.

    A second solver's answer has the lowest rank, followed by DRAT and LRAT proofs. Theory and
    inequalities have the highest rank, because they are checked whenever the record is verified.
    """
    if record.proof is None:
        return 3
    return {"second solver": 0, "DRAT": 1, "LRAT": 2}[record.proof.format]


class WitnessFile(pydantic.BaseModel):
    """The name and SHA-256 of the witness file, which is in the same folder as the record."""

    model_config = _STRICT

    file: Annotated[str, pydantic.Field(pattern=r"^[A-Za-z0-9,._+=-]{1,200}\.npz$")]
    sha256: _Digest


class RecordFields(pydantic.BaseModel):
    """The fields of a record as they are stored in JSON or PostgreSQL, without its arrays.

    In JSON, the field ``network`` contains the complete network if the topology is a network.
    """

    model_config = _STRICT

    format: Literal[FORMAT]  # type: ignore[valid-type]
    problem: str
    topology: Annotated[str, pydantic.Field(pattern=f"^{SPEC}$")]
    value: _Count
    bound: _Count
    reason: _Text
    arguments: dict[str, Annotated[int, pydantic.Field(strict=True, ge=1, le=MAX_INTEGER)]]
    proof: Proof | None
    solver: _Text
    version: _Text
    seconds: _Seconds
    command: _Text
    tried: Annotated[list[Attempt], pydantic.Field(max_length=MAX_ATTEMPTS)]
    optimal: Annotated[bool, pydantic.Field(strict=True)]
    witness: WitnessFile | None = None
    network: NetworkRecord | None = None

    @pydantic.model_validator(mode="after")
    def _require_consistency(self) -> Self:
        if self.problem not in PROBLEMS:
            names = ", ".join(PROBLEMS)
            raise ValueError(f"unknown problem '{self.problem}'; the problems are {names}")
        if self.arguments.keys() != set(ARGUMENTS[self.problem]):
            names = ", ".join(ARGUMENTS[self.problem]) or "none"
            raise ValueError(f"the arguments of {self.problem} must be: {names}")
        if self.optimal != (self.value == self.bound):
            raise ValueError(
                f"the field 'optimal' is {self.optimal}, but the value is {self.value} and the"
                f" bound is {self.bound}"
            )
        return self

    def record(self, witness: Witness) -> Record:
        """Return the record with these fields and the given witness."""
        values = {name: getattr(self, name) for name in FIELDS}
        values["tried"] = tuple(self.tried)
        return Record(witness={name: np.asarray(each) for name, each in witness.items()}, **values)


def read_fields(fields: object, source: str) -> RecordFields:
    """Check the fields of a record that were read from JSON or PostgreSQL.

    A network among the fields is registered in this process.

    Args:
        fields: a mapping like the result of `Record.as_json`, optionally with the witness file.
        source: the name of the file or row, for messages.

    Raises:
        InputError: a field is missing, unknown, or has an invalid value.
    """
    if isinstance(fields, Mapping) and fields.get("format", FORMAT) != FORMAT:
        raise InputError(
            f"{source} has the format {fields['format']!r}, not {FORMAT}",
            hint="write the record again with this version of starcast",
        )
    try:
        valid = RecordFields.model_validate(fields)
        network = valid.network and valid.network.restore()
    except pydantic.ValidationError as error:
        raise not_a_record(source, describe_error(error)) from None
    except StarcastError as error:
        raise not_a_record(source, error.message) from None
    if network and network.spec != valid.topology:
        raise not_a_record(source, f"its network is {network.spec}, not {valid.topology}")
    return valid


def not_a_record(source: str, reason: object) -> InputError:
    """Return an error with the reason why a file or row is not a record."""
    return InputError(f"{source} is not a record: {reason}", hint=RESTORE)
