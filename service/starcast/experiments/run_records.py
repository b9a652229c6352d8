"""Runs and their costs as they are written to files; every field is checked when they are read."""

import re
from datetime import UTC, datetime
from fractions import Fraction
from typing import Annotated, Any, Literal

import pydantic

from starcast.database import models
from starcast.experiments.point import Point
from starcast.experiments.reproduction import Steps
from starcast.vocabulary import Collective, ExecutionModel, Ports

#: Keys of a part of a run; every unknown key would become an error with its own text.
MOST_KEYS = 64
_BIGINT = 2**63 - 1
_RATIONAL = re.compile(r"\d{1,200}(/[1-9]\d{0,200})?", re.ASCII)


def _read_rational(text: object) -> Fraction:
    if not isinstance(text, str) or not _RATIONAL.fullmatch(text):
        raise ValueError("not a rational number such as 23/3")
    return Fraction(text)


def _check_keys(value: object) -> object:
    if isinstance(value, dict) and len(value) > MOST_KEYS:
        raise ValueError(f"more than {MOST_KEYS} keys")
    return value


_Count = Annotated[int, pydantic.Field(ge=0, le=_BIGINT)]
_Rational = Annotated[
    Fraction,
    pydantic.PlainValidator(_read_rational),
    pydantic.PlainSerializer(str),
]
#: A moment that every time zone can show.
Moment = Annotated[
    pydantic.AwareDatetime,
    pydantic.Field(ge=datetime(1970, 1, 2, tzinfo=UTC), le=datetime(9000, 1, 1, tzinfo=UTC)),
]


class StrictRecord(pydantic.BaseModel):
    """A part of a file, without unknown fields."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=False)

    _few_keys = pydantic.model_validator(mode="before")(_check_keys)


class CostRecord(StrictRecord):
    """One of the three costs of a run."""

    kind: Literal["closed form", "simulated", "lower bound"]
    steps: _Count | None
    start_ups: _Rational | None
    transmissions: _Count | None
    bytes: _Rational | None
    time: _Rational
    source: str


class RunRecord(StrictRecord):
    """A run with its costs and its profile."""

    topology: str
    collective: Collective
    algorithm: str
    ports: Ports
    execution: ExecutionModel = "synchronous"
    message_bytes: _Rational
    messages: Annotated[int, pydantic.Field(ge=1)]
    t_s: _Rational
    t_c: _Rational
    segments: Annotated[int, pydantic.Field(ge=1)]
    copies: Annotated[int, pydantic.Field(ge=1)]
    base: str | None
    faults: Annotated[list[str], pydantic.FailFast()]
    seed: _Count
    missing: _Count
    status: Literal["complete", "failed"]
    error: str | None
    timings: Annotated[dict[str, float], pydantic.BeforeValidator(_check_keys)]
    provenance: dict[str, Any]
    started_at: Moment
    finished_at: Moment
    costs: Annotated[list[CostRecord], pydantic.FailFast()]
    #: One row per step: links used, packets, units in the largest packet.
    profile: Annotated[list[tuple[_Count, _Count, _Count]], pydantic.FailFast()]

    def as_model(self) -> models.Run:
        """Return the run as a row that is not stored yet."""
        values = {name: getattr(self, name) for name in RUN_COLUMNS}
        costs = [models.Cost(**dict(cost)) for cost in self.costs]
        return models.Run(**values, costs=costs)

    @property
    def point(self) -> Point:
        """The point of the run.

        Raises:
            StarcastError: a name or a number is not valid.
        """
        return Point(
            self.topology, self.collective, self.algorithm, self.ports, self.segments,
            self.message_bytes, self.t_s, self.t_c, self.copies, self.base, tuple(self.faults),
            self.seed, self.execution,
        )  # fmt: skip

    @property
    def steps(self) -> Steps:
        """The profile by step."""
        return dict(enumerate(self.profile, start=1))


RUN_COLUMNS = tuple(name for name in RunRecord.model_fields if name not in {"costs", "profile"})
COST_COLUMNS = tuple(CostRecord.model_fields)
