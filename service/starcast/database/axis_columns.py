"""The columns of the table ``run`` that follow from the axes, and their checks."""

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, CheckConstraint, Integer, SmallInteger, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import MappedColumn, mapped_column

from starcast.axes.parameters import AXES, Axis, Parameters
from starcast.database.columns import Exact, double_of, json_type, one_of, rational

#: The axes in the order in which migrations added their columns; those of later ones follow.
_ADDED = (
    "topology", "collective", "algorithm", "ports", "message_bytes", "messages", "t_s", "t_c",
    "segments", "copies", "base", "faults", "seed", "execution",
)  # fmt: skip
AXIS_COLUMNS = (*_ADDED, *(axis for axis in AXES if axis not in _ADDED))
_INTEGERS = {16: SmallInteger, 32: Integer, 64: BigInteger}


def _axis_column(axis: Axis) -> MappedColumn[Any]:
    """Return the column of an axis; rows that are older than the axis have its usual value."""
    kinds: dict[Any, Any] = {
        str: Text, str | None: Text, int: _INTEGERS[axis.bits],
        Fraction: Exact, Sequence[str]: JSONB,
    }  # fmt: skip
    usual = json.dumps(axis.usual) if isinstance(axis.usual, tuple) else str(axis.usual)
    return mapped_column(
        kinds[axis.type],
        nullable=axis.type == str | None,
        sort_order=-1,
        server_default=None if axis.usual is None else usual,
        comment=f"{axis.meaning}, exact" if axis.type is Fraction else axis.meaning,
    )


def axis_checks() -> Iterator[CheckConstraint]:
    """Yield the checks of all axes, and that no units are missing a negative number of times."""
    for name, axis in AXES.items():
        if axis.words:
            yield one_of(name, axis.words)
        elif axis.type is Fraction:
            yield rational(name)
        elif axis.type == Sequence[str]:
            yield json_type(name, "array")
    counts = [f"{name} >= {axis.least}" for name, axis in AXES.items() if axis.type is int]
    yield CheckConstraint(" and ".join([*counts, "missing >= 0"]), name="counts")


if TYPE_CHECKING:
    AxisColumns = Parameters
else:
    AxisColumns = type(
        "AxisColumns",
        (),
        {name: _axis_column(AXES[name]) for name in AXIS_COLUMNS}
        | {f"{name}_value": double_of(name) for name in AXES if AXES[name].type is Fraction},
    )
