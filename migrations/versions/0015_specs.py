"""Allow the specs of all families, such as net-5, in the tables."""

from alembic import op
from alembic.util import CommandError

revision: str = "0015"
down_revision: str | None = "0014"

_SPEC = "~ '^[A-Za-z0-9][A-Za-z0-9,._+-]{0,49}$'"
#: The columns that contain specs, and the expressions that their constraints check.
_COLUMNS = {
    ("topology", "spec"): "spec",
    ("materialization", "id"): "split_part(id, ':', 1)",
    ("run", "topology"): "topology",
    ("record", "topology"): "topology",
}


def upgrade() -> None:
    """Replace the check constraints on columns that contain specs."""
    for (table, column), checked in _COLUMNS.items():
        name = f"ck_{table}_{column}"
        op.execute(
            f"alter table {table} drop constraint {name},"
            f" add constraint {name} check ({checked} {_SPEC})"
        )


def downgrade() -> None:
    """Raise an error, since there is no downgrade."""
    raise CommandError(
        "the database schema cannot be downgraded; restore an older backup with 'starcast restore'"
    )
