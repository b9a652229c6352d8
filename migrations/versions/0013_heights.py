"""Store sizes of topologies and heights of trees as 32-bit integers.

A Hamiltonian path in S8 has height 40 319, and a plug-in's ring can have an equally large n.
"""

from alembic import op
from alembic.util import CommandError

revision: str = "0013"
down_revision: str | None = "0012"

_COLUMNS = {"topology": ("n", "k", "diameter"), "forest": ("height",), "tree": ("height",)}


def upgrade() -> None:
    """Change columns to 32-bit integers; a view that uses them is recreated after the upgrade."""
    op.execute("drop view if exists artifact")
    for table, columns in _COLUMNS.items():
        changes = ", ".join(f"alter column {name} type integer" for name in columns)
        op.execute(f"alter table {table} {changes}")


def downgrade() -> None:
    """Raise an error, since there is no downgrade."""
    raise CommandError(
        "the database schema cannot be downgraded; restore an older backup with 'starcast restore'"
    )
