"""Types and constraints that the tables of `starcast.database.models` share.

Checks are written as PostgreSQL reads them and need no other table, so that a dump can be restored
in any order.
"""

import inspect
import re
from datetime import datetime
from fractions import Fraction
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Computed,
    DateTime,
    Double,
    LargeBinary,
    MetaData,
    Text,
    TypeDecorator,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

#: Constraint names follow from table and column, so that a migration can refer to them.
NAMING = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "ix": "ix_%(table_name)s_%(column_0_name)s",
}
#: A topology's spec: the letters of a family, then its sizes. The families of plug-ins fit as well.
SPEC = r"^[A-Z][A-Za-z_-]*[0-9]+([,x][0-9]+)*$"
#: Names of constructions and algorithms, perhaps with arguments: ``forest(base=greedy)``.
NAME = r"^[a-z][a-z0-9-]*(\([^()]+\))?$"


class Exact(TypeDecorator[Fraction]):
    """A rational number, stored as the text of a `Fraction`: ``1024``, ``23/3``."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Fraction | int | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Write the number in lowest terms."""
        return None if value is None else str(Fraction(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Fraction | None:  # noqa: ARG002
        """Read the number."""
        return None if value is None else Fraction(value)


class Base(DeclarativeBase):
    """The base class of all tables; their docstrings become comments in PostgreSQL."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy's declarative names are class attributes
        str: Text,
        bytes: LargeBinary,
        float: Double,
        datetime: DateTime(timezone=True),
        Fraction: Exact,
        dict[str, Any]: JSONB,
        list[Any]: JSONB,
    }

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        plain = re.sub(r"`+", "", inspect.cleandoc(cls.__doc__ or ""))
        cls.metadata.tables[cls.__tablename__].comment = " ".join(plain.split())


def one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    """Return the check that a column has one of these values."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} in ({listed})", name=column)


def matches(column: str, pattern: str) -> CheckConstraint:
    """Return the check that a column matches a regular expression."""
    return CheckConstraint(f"{column} ~ '{pattern}'", name=column)


def rational(column: str) -> CheckConstraint:
    """Return the check that a column holds a rational number that is not negative."""
    return matches(column, r"^\d+(/[1-9]\d*)?$")


def json_type(column: str, kind: str) -> CheckConstraint:
    """Return the check that a column holds a JSON ``array`` or ``object``."""
    return CheckConstraint(f"jsonb_typeof({column}) = '{kind}'", name=column)


def belongs_to_topology() -> CheckConstraint:
    """Return the check that an artifact's id begins with the spec of its topology."""
    return CheckConstraint("starts_with(id, topology || ':')", name="id")


def double_of(column: str) -> Mapped[float | None]:
    """Return the double of an exact column.

    The expression is written as PostgreSQL prints it, because alembic compares the two texts.
    """
    numerator = f"split_part({column}, '/'::text, 1)"
    denominator = f"COALESCE(NULLIF(split_part({column}, '/'::text, 2), ''::text), '1'::text)"
    ratio = f"({numerator})::double precision / ({denominator})::double precision"
    comment = f"{column} as a double, for sorting and for SQL written by hand"
    return mapped_column(Double, Computed(ratio, persisted=True), comment=comment)
