"""Types, constraints and columns that several tables of `starcast.stores.database.models` use.

No CHECK constraint refers to another table, so a backup can be restored table by table.
"""

import inspect
import json
import re
from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Computed,
    DateTime,
    Double,
    ForeignKey,
    LargeBinary,
    MetaData,
    SmallInteger,
    Text,
    TypeDecorator,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedColumn, mapped_column

from starcast.support import vocabulary
from starcast.support.axes import AXES, Axis, Parameters

#: Constraint names are derived from table and column, so that migrations can refer to them.
NAMING = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "ix": "ix_%(table_name)s_%(column_0_name)s",
}
# Column checks: SQL conditions in which {} stands for the name of the column.
#: The check of a topology's spec, such as ``S5``.
SPEC = f"{{}} ~ '^{vocabulary.SPEC}$'"
#: The check of the name of a construction or algorithm with optional arguments, such as
#: ``forest(base=greedy)``.
NAME = f"{{}} ~ '^{vocabulary.STORED_NAME}$'"
#: The check of a non-negative rational number.
RATIONAL = r"{} ~ '^\d+(/[1-9]\d*)?$'"
OBJECT = "jsonb_typeof({}) = 'object'"
ARRAY = "jsonb_typeof({}) = 'array'"
#: Column checks for axes, keyed by the name of an axis or by the type of its values.
_CHECKS: dict[Any, str] = {
    "topology": SPEC,
    "algorithm": NAME,
    "root": f"{{}} ~ '^({vocabulary.LABEL}|#[0-9]{{1,18}})$'",
    Fraction: RATIONAL,
    Sequence[str]: ARRAY,
}
#: Types of 16-bit and 64-bit integers; all other integers have 32 bits.
Small = Annotated[int, 16]
Big = Annotated[int, 64]
_INTEGERS: dict[int, Any] = {16: Small, 32: int, 64: Big}


# Parsed fractions are cached: many runs have the same message sizes and times, and parsing a
# fraction takes longer than reading the rest of a row.
_read_fraction = lru_cache(maxsize=65536)(Fraction)


class Exact(TypeDecorator[Fraction]):
    """Column type of a rational number, stored as text such as ``1024`` or ``23/3``."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Fraction | int | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Convert a number to a string in lowest terms; None stays None."""
        return None if value is None else str(Fraction(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Fraction | None:  # noqa: ARG002
        """Convert the stored string to a number; None stays None."""
        return None if value is None else _read_fraction(value)


class Base(DeclarativeBase):
    """The base class of all table models; a model's docstring becomes the comment of its table."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy's declarative names are class attributes
        str: Text,
        Small: SmallInteger,
        Big: BigInteger,
        bytes: LargeBinary,
        float: Double,
        datetime: DateTime(timezone=True),
        Fraction: Exact,
        dict[str, Any]: JSONB(none_as_null=True),
        list[Any]: JSONB(none_as_null=True),
        Sequence[str]: JSONB(none_as_null=True),
    }

    def __init_subclass__(cls, **options: Any) -> None:
        if "__tablename__" not in vars(cls):
            # For example, the class ScheduleStep gets the table name schedule_step.
            cls.__tablename__ = re.sub("(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        super().__init_subclass__(**options)
        # Comments in PostgreSQL are plain text, so the markup of the docstring is removed.
        plain = re.sub(r"`+", "", inspect.cleandoc(cls.__doc__ or ""))
        table = cls.metadata.tables[cls.__tablename__]
        table.comment = " ".join(plain.split())
        for column in table.columns:
            if check := column.info["check"]:
                condition = check.replace("{}", column.name)
                table.append_constraint(CheckConstraint(condition, name=column.name))


def field(
    comment: str, *arguments: Any, check: str = "", words: Sequence[str] = (), **options: Any
) -> MappedColumn[Any]:
    """Return a column with a comment, which docs/schema.md also shows.

    Args:
        comment: the comment.
        arguments: positional arguments of SQLAlchemy's ``mapped_column``.
        check: an SQL condition on the column's values; {} stands for the name of the column.
        words: the allowed values of a text column; if given, ``check`` is ignored.
        options: keyword arguments of ``mapped_column``.
    """
    if words:
        listed = ", ".join(f"'{word}'" for word in words)
        check = f"{{}} in ({listed})"
    return mapped_column(*arguments, comment=comment, info={"check": check}, **options)


def key(comment: str, *arguments: Any, **options: Any) -> MappedColumn[Any]:
    """Return a column that belongs to the primary key."""
    return field(comment, *arguments, primary_key=True, **options)


def counts(condition: str) -> CheckConstraint:
    """Return a CHECK constraint named "counts", which may refer to several columns of a table."""
    return CheckConstraint(condition, name="counts")


def part_of(target: str, comment: str, **options: Any) -> MappedColumn[Any]:
    """Return a primary-key column that refers to the column ``target`` of a parent table.

    Deleting a row of the parent table also deletes the rows that refer to it.
    """
    return key(comment, ForeignKey(target, ondelete="CASCADE"), **options)


def empty_object(comment: str) -> MappedColumn[Any]:
    """Return a column of JSON objects, empty by default."""
    return field(comment, server_default=text("'{}'::jsonb"), check=OBJECT)


def empty_array(comment: str) -> MappedColumn[Any]:
    """Return a column of JSON arrays, empty by default."""
    return field(comment, server_default=text("'[]'::jsonb"), check=ARRAY)


def moment(comment: str) -> MappedColumn[Any]:
    """Return a timestamp column that defaults to the start of the transaction."""
    return field(comment, server_default=func.now())


def double_of(column: str) -> Mapped[float | None]:
    """Return a generated column with the value of an `Exact` column as a double.

    The expression is written exactly as PostgreSQL prints it, because alembic compares this
    expression with the expression in the database as strings.
    """
    numerator = f"split_part({column}, '/'::text, 1)"
    denominator = f"COALESCE(NULLIF(split_part({column}, '/'::text, 2), ''::text), '1'::text)"
    ratio = f"({numerator})::double precision / ({denominator})::double precision"
    comment = f"{column} as a double, for sorting and for SQL written by hand"
    return field(comment, Double, Computed(ratio, persisted=True))


def _axis_column(name: str, axis: Axis) -> MappedColumn[Any]:
    """Return the column for an axis (a parameter of runs).

    If the axis has a usual value, this value is the column's default, which also applies to runs
    that were stored before the axis existed.
    """
    usual = json.dumps(axis.usual) if isinstance(axis.usual, tuple) else str(axis.usual)
    return field(
        f"{axis.meaning}, exact" if axis.type is Fraction else axis.meaning,
        sort_order=-1,
        server_default=None if axis.usual is None else usual,
        check=_CHECKS.get(name, _CHECKS.get(axis.type, "")),
        words=axis.words,
    )


#: SQL condition that the value of every integer axis of a run is at least the axis's minimum.
COUNTS = " and ".join(f"{name} >= {axis.least}" for name, axis in AXES.items() if axis.type is int)
#: The columns of the table ``run`` that contain the values of the axes.
if TYPE_CHECKING:
    AxisColumns = Parameters
else:
    # These columns are generated from the declared axes, so a static class cannot list them.
    AxisColumns = type(
        "AxisColumns",
        (),
        # `Base.type_annotation_map` maps each Python type to an SQL type.
        {
            "__annotations__": {
                name: Mapped[_INTEGERS[axis.bits] if axis.type is int else axis.type]
                for name, axis in AXES.items()
            }
        }
        | {name: _axis_column(name, axis) for name, axis in AXES.items()}
        | {f"{name}_value": double_of(name) for name in AXES if AXES[name].type is Fraction},
    )
