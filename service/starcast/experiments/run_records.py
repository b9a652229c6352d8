"""Schemas of runs and costs in files; every field is checked when a file is read."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pydantic

from starcast.catalogue.origin import find_missing
from starcast.collectives.algorithm import REGISTRIES
from starcast.experiments.point import Point
from starcast.stores.database import models
from starcast.support.axes import AXES, POINT_AXES, Axis
from starcast.support.errors import InputError
from starcast.support.spec_syntax import parse_spec
from starcast.topologies import count_nodes
from starcast.trees.construction import CONSTRUCTIONS

#: Maximum number of keys in a JSON object, because pydantic reports every unknown key.
MAX_KEYS = 64
_BIGINT = 2**63 - 1
_RATIONAL = re.compile(r"\d{1,200}(/[1-9]\d{0,200})?", re.ASCII)


def _read_rational(value: object) -> Fraction:
    # A stored run has fractions; a file has texts.
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, str) or not _RATIONAL.fullmatch(value):
        raise ValueError("not a rational number such as 23/3")
    return Fraction(value)


def _check_keys(value: object) -> object:
    if isinstance(value, dict) and len(value) > MAX_KEYS:
        raise ValueError(f"more than {MAX_KEYS} keys")
    return value


def _check_plugins(provenance: dict[str, Any]) -> dict[str, Any]:
    _PLUGINS.validate_python(provenance.get("plugins", {}))
    return provenance


_Count = Annotated[int, pydantic.Field(ge=0, le=_BIGINT)]
_Rational = Annotated[
    Fraction,
    pydantic.PlainValidator(_read_rational),
    pydantic.PlainSerializer(str),
]
#: A time that `datetime` can convert to every time zone.
Moment = Annotated[
    pydantic.AwareDatetime,
    pydantic.Field(ge=datetime(1970, 1, 2, tzinfo=UTC), le=datetime(9000, 1, 1, tzinfo=UTC)),
]


class StrictRecord(pydantic.BaseModel):
    """Base class of the objects in a file, which must not have unknown fields."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=False)

    _few_keys = pydantic.model_validator(mode="before")(_check_keys)


class _Plugin(StrictRecord):
    """A plug-in that was used to execute a run."""

    module: str
    version: str
    sha256: Annotated[str, pydantic.Field(pattern=r"^([0-9a-f]{64})?$")]


class CostRecord(StrictRecord):
    """A cost of a run: closed form, simulated cost, or lower bound."""

    kind: Literal["closed form", "simulated", "lower bound"]
    steps: _Count | None
    start_ups: _Rational | None
    transmissions: _Count | None
    bytes: _Rational | None
    time: _Rational
    source: str


_PLUGINS = pydantic.TypeAdapter(
    Annotated[dict[str, _Plugin], pydantic.BeforeValidator(_check_keys)]
)


def _axis_field(axis: Axis) -> tuple[Any, Any]:
    """Return the type and default of an axis; the default is used if an older file lacks it."""
    kinds: dict[Any, Any] = {
        Fraction: _Rational,
        int: Annotated[int, pydantic.Field(ge=axis.least, le=2 ** (axis.bits - 1) - 1)],
        # With FailFast, validation stops at the first invalid element; otherwise a long list could
        # cause as many errors as it has elements.
        Sequence[str]: Annotated[list[str], pydantic.FailFast()],
    }
    kind = Literal[axis.words] if axis.words else kinds.get(axis.type, axis.type)
    return kind, axis.usual if axis.has_usual else ...


if TYPE_CHECKING:
    _Axes = StrictRecord
else:
    # The class has a field for each axis that is declared in `AXES`, so it is created dynamically.
    _Axes = pydantic.create_model(
        "_Axes",
        __base__=StrictRecord,
        **{name: _axis_field(axis) for name, axis in AXES.items()},
    )


class RunRecord(_Axes):
    """A run as it is written to a file, with its costs and its load in each step."""

    message_units: Annotated[int, pydantic.Field(ge=1, le=_BIGINT)] | None = None
    missing: _Count
    status: Literal["complete", "failed"]
    error: str | None
    timings: Annotated[dict[str, float], pydantic.BeforeValidator(_check_keys)]
    provenance: Annotated[dict[str, Any], pydantic.AfterValidator(_check_plugins)]
    started_at: Moment
    finished_at: Moment
    costs: Annotated[list[CostRecord], pydantic.FailFast()]
    #: One row per step: links used, packets sent, and units in the largest packet.
    profile: Annotated[list[tuple[_Count, _Count, _Count]], pydantic.FailFast()]

    def as_model(self) -> models.Run:
        """Return the run as a new database row, without storing it."""
        values = {name: getattr(self, name) for name in RUN_COLUMNS}
        costs = [models.Cost(**dict(cost)) for cost in self.costs]
        return models.Run(**values, costs=costs)

    @property
    def point(self) -> Point:
        """The point of the run (unchecked if `needs_plugin` is true).

        Raises:
            StarcastError: a name or a number in the point is not valid.
        """
        if self.needs_plugin:
            return Point.of(self)
        point = Point(**{axis: getattr(self, axis) for axis in POINT_AXES})
        for axis in AXES.keys() - set(POINT_AXES):
            value = getattr(self, axis)
            if value != getattr(point, axis):
                raise InputError(
                    f"a run of {point.algorithm} has {axis} = {value}, which contradicts the rest"
                )
        return point

    @property
    def needs_plugin(self) -> bool:
        """Whether the run has an unknown name and was executed with a plug-in that is not loaded.

        Raises:
            StarcastError: the algorithm is not a name with optional arguments in parentheses.
        """
        point = Point.of(self)
        is_known = (
            count_nodes(point.topology) > 0
            and parse_spec(point.algorithm, "algorithm")[0] in REGISTRIES[point.collective]
            and (point.base is None or point.base in CONSTRUCTIONS)
        )
        return not is_known and bool(find_missing(self.provenance.get("plugins", {})))


RUN_COLUMNS = tuple(name for name in RunRecord.model_fields if name not in {"costs", "profile"})
