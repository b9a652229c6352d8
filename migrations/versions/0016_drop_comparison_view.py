"""Drop the view ``comparison``, because it also compared runs that are not comparable.

`starcast compare` compares runs; the view ``run_summary`` has the parameters and times of runs.
"""

from alembic import op
from alembic.util import CommandError

revision: str = "0016"
down_revision: str | None = "0015"


def upgrade() -> None:
    """Drop the view ``comparison``; this fails if a view of another program uses it."""
    op.execute("drop view if exists comparison")


def downgrade() -> None:
    """Raise an error, since there is no downgrade."""
    raise CommandError(
        "the database schema cannot be downgraded; restore an older backup with 'starcast restore'"
    )
