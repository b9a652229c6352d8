"""The schema of record files: the fields of a record and their valid values.

Record files are treated as user input, because they can come from anywhere. A record that matches
the schema is only well formed; `starcast.records.checks` and `starcast.search.verification` check
whether it is true.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

import numpy as np
import pydantic

from starcast.records.model import (
    ARGUMENTS,
    FIELDS,
    FORMAT,
    PROBLEMS,
    Attempt,
    Proof,
    ProofFormat,
    Record,
    Witness,
)
from starcast.support.errors import InputError

#: Largest value of the type ``integer`` in PostgreSQL.
_MAX_INTEGER = 2**31 - 1
#: Maximum length of a text, such as a reason or a command.
_MAX_LENGTH = 2_000


def _require_printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("the text has control characters")
    return text


_Text = Annotated[
    str, pydantic.Field(max_length=_MAX_LENGTH), pydantic.AfterValidator(_require_printable)
]
_Count = Annotated[int, pydantic.Field(strict=True, ge=0, le=_MAX_INTEGER)]
_Seconds = Annotated[float, pydantic.Field(strict=True, ge=0, le=1e12, allow_inf_nan=False)]
_Digest = Annotated[str, pydantic.Field(pattern="^[0-9a-f]{64}$")]


class _Part(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class _Proof(_Part):
    statement: _Text
    format: ProofFormat
    formula_sha256: _Digest
    proof_sha256: _Digest | Literal[""]
    proof_bytes: Annotated[int, pydantic.Field(strict=True, ge=0, le=2**53)]
    checker: _Text
    command: _Text
    seconds: _Seconds = 0.0

    @pydantic.model_validator(mode="after")
    def _require_proof(self) -> Self:
        # A second solver leaves no proof that could be checked again.
        has_proof = bool(self.proof_sha256) and self.proof_bytes > 0
        if has_proof == (self.format == "second solver"):
            raise ValueError(
                f"the SHA-256 or the length is not possible for the format {self.format}"
            )
        return self


class _Attempt(_Part):
    method: _Text
    target: _Count
    result: Literal["witness", "none", "open"]
    seconds: _Seconds
    value: _Count | None = None
    seed: _Count | None = None


class WitnessFile(_Part):
    """The name and digest of the witness file, which is in the same folder as the record."""

    file: Annotated[str, pydantic.Field(pattern=r"^[A-Za-z0-9,._=-]{1,200}\.npz$")]
    sha256: _Digest


class _Fields(_Part):
    format: Literal[FORMAT]  # type: ignore[valid-type]
    problem: str
    topology: Annotated[
        str, pydantic.Field(pattern=r"^[A-Z][A-Za-z_-]*[0-9]+([,x][0-9]+)*$", max_length=100)
    ]
    value: _Count
    bound: _Count
    reason: _Text
    arguments: dict[str, Annotated[int, pydantic.Field(strict=True, ge=1, le=_MAX_INTEGER)]]
    proof: _Proof | None
    solver: _Text
    version: _Text
    seconds: _Seconds
    command: _Text
    tried: Annotated[list[_Attempt], pydantic.Field(max_length=100_000)]
    optimal: Annotated[bool, pydantic.Field(strict=True)]
    witness: WitnessFile | None = None

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
                f"optimal is {self.optimal}, but the value is {self.value} and the bound"
                f" {self.bound}"
            )
        return self


def as_record(fields: object, witness: Witness, source: str) -> Record:
    """Build a record from fields that were read from JSON or PostgreSQL.

    Args:
        fields: the mapping that `Record.fields` returned; it may also name the witness file.
        witness: the arrays.
        source: the name of the file or row, for messages.

    Raises:
        InputError: a field is missing, unknown, or has an invalid value.
    """
    checked = _validate(fields, source)
    values = {name: getattr(checked, name) for name in FIELDS}
    values["arguments"] = dict(checked.arguments)
    values["proof"] = None if checked.proof is None else Proof(**checked.proof.model_dump())
    values["tried"] = tuple(Attempt(**attempt.model_dump()) for attempt in checked.tried)
    return Record(witness={name: np.asarray(each) for name, each in witness.items()}, **values)


def witness_file(fields: object, source: str) -> WitnessFile:
    """Return the witness file that the fields of a record name.

    Raises:
        InputError: the fields are malformed, or name no file.
    """
    found = _validate(fields, source).witness
    if found is None:
        raise not_a_record(source, "witness: Field required")
    return found


def _validate(fields: object, source: str) -> _Fields:
    if isinstance(fields, Mapping) and fields.get("format", FORMAT) != FORMAT:
        raise InputError(
            f"{source} has the format {fields['format']!r}, not {FORMAT}",
            hint="write it again with this version of starcast",
        )
    try:
        return _Fields.model_validate(fields)
    except pydantic.ValidationError as error:
        # Only the first error is reported: programs write these files, so further errors usually
        # have the same cause.
        details = error.errors(include_url=False)[0]
        place = ".".join(map(str, details["loc"]))
        reason = details["msg"].removeprefix("Value error, ")
        raise not_a_record(source, f"{place}: {reason}" if place else reason) from None


def not_a_record(source: str, reason: object) -> InputError:
    """Return an error with the reason why a file or row is not a record."""
    return InputError(
        f"{source} is not a record: {reason}", hint="restore the file, or search again"
    )
