"""Rename columns, tables and stored ids to plain lower-case names that need no quotes.

The argument ``tree`` of label-change and dimension-change becomes ``base``. It is part of the ids
of forests and schedules, of stored arguments, and of the grids of experiments.
"""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0004"
down_revision: str = "0003"

_RUN_COLUMNS = {
    "m": "message_bytes",
    "M": "messages",
    "T_s": "t_s",
    "T_c": "t_c",
    "m_value": "message_bytes_value",
    "T_s_value": "t_s_value",
    "T_c_value": "t_c_value",
    "p": "segments",
    "tree": "base",
}
_RATIONAL = ("m", "T_s", "T_c")
_GRID_AXES = {"m": "message_bytes", "T_s": "t_s", "T_c": "t_c", "tree": "base"}

#: The columns that hold ids of forests or schedules.
_ID_COLUMNS = (
    ("forest", "id"),
    ("tree", "forest"),
    ("schedule", "id"),
    ("schedule", "forest"),
    ("schedule_step", "schedule"),
    ("claim_verdict", "subject"),
    ("materialization", "id"),
)
#: Foreign keys between them: name, table, column, referenced table, action on delete.
_ID_KEYS = (
    ("fk_tree_forest", "tree", "forest", "forest", "CASCADE"),
    ("fk_schedule_forest", "schedule", "forest", "forest", None),
    ("fk_schedule_step_schedule", "schedule_step", "schedule", "schedule", "CASCADE"),
)
#: Arguments are sorted by name, so that a renamed one moves.
_NEW_IDS = (
    (r"dimension-change\(i=(\d+),tree=([^(),=]+)\)", r"dimension-change(base=\2,i=\1)"),
    (r"(label|dimension)-change\(tree=", r"\1-change(base="),
    (r"(dimension-change:(all|one)):tree=", r"\1:base="),
)
_OLD_IDS = (
    (r"dimension-change\(base=([^(),=]+),i=(\d+)\)", r"dimension-change(i=\2,tree=\1)"),
    (r"(label|dimension)-change\(base=", r"\1-change(tree="),
    (r"(dimension-change:(all|one)):base=", r"\1:tree="),
)


def upgrade() -> None:
    for old, new in _RUN_COLUMNS.items():
        op.alter_column("run", old, new_column_name=new)
    for column in _RATIONAL:
        _rename_constraint("run", f"ck_run_{column}", f"ck_run_{_RUN_COLUMNS[column]}")
    op.alter_column("materialization", "key", new_column_name="id")
    op.alter_column("materialization", "way", new_column_name="method")
    _rename_constraint("materialization", "ck_materialization_way", "ck_materialization_method")
    _rename_claim_table("ledger", "claim_run")
    _rename_ids(_NEW_IDS)
    _rename_arguments("tree", "base")
    _rename_axes(_GRID_AXES)


def downgrade() -> None:
    _rename_axes({new: old for old, new in _GRID_AXES.items()})
    _rename_arguments("base", "tree")
    _rename_ids(_OLD_IDS)
    _rename_claim_table("claim_run", "ledger")
    _rename_constraint("materialization", "ck_materialization_method", "ck_materialization_way")
    op.alter_column("materialization", "method", new_column_name="way")
    op.alter_column("materialization", "id", new_column_name="key")
    for column in _RATIONAL:
        _rename_constraint("run", f"ck_run_{_RUN_COLUMNS[column]}", f"ck_run_{column}")
    for old, new in _RUN_COLUMNS.items():
        op.alter_column("run", new, new_column_name=old)


def _rename_constraint(table: str, old: str, new: str) -> None:
    op.execute(f'alter table {table} rename constraint "{old}" to "{new}"')


def _rename_claim_table(old: str, new: str) -> None:
    """Rename the table of verification runs, with the columns and constraints that name it."""
    op.rename_table(old, new)
    op.execute(f"alter sequence {old}_id_seq rename to {new}_id_seq")
    op.execute(f"alter index ix_{old}_fingerprint rename to ix_{new}_fingerprint")
    for suffix in ("pk_{}", "ck_{}_level", "ck_{}_sizes"):
        _rename_constraint(new, suffix.format(old), suffix.format(new))
    for table in ("claim_evidence", "claim_verdict"):
        op.alter_column(table, old, new_column_name=new)
        _rename_constraint(table, f"fk_{table}_{old}", f"fk_{table}_{new}")


def _rename_ids(patterns: tuple[tuple[str, str], ...]) -> None:
    for name, table, *_ in _ID_KEYS:
        op.drop_constraint(name, table)
    for table, column in _ID_COLUMNS:
        for pattern, replacement in patterns:
            identifier = sa.column(column, sa.Text())
            changed = sa.func.regexp_replace(identifier, pattern, replacement)
            matching = identifier.op("~")(pattern)
            op.execute(
                sa.table(table, identifier).update().where(matching).values({column: changed})
            )
    for name, table, column, referred, action in _ID_KEYS:
        op.create_foreign_key(name, table, referred, [column], ["id"], ondelete=action)


def _rename_arguments(old: str, new: str) -> None:
    for table in ("forest", "schedule"):
        op.execute(
            f"update {table} set arguments ="  # noqa: S608 - all names are constants
            f" arguments - '{old}' || jsonb_build_object('{new}', arguments -> '{old}')"
            f" where arguments ? '{old}'"
        )


def _rename_axes(names: Mapping[str, str]) -> None:
    """Rename the axes in the grids of all experiments: one grid, or a list under ``grid``."""
    experiment = sa.table("experiment", sa.column("id", sa.Integer()), sa.column("grid", JSONB))
    connection = op.get_bind()
    for row in connection.execute(sa.select(experiment)).all():
        grid = _renamed(row.grid, names)
        if "grid" in grid:
            grid["grid"] = [_renamed(table, names) for table in grid["grid"]]
        connection.execute(experiment.update().where(experiment.c.id == row.id).values(grid=grid))


def _renamed(table: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(axis, axis): values for axis, values in table.items()}
