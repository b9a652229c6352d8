"""Store a verification run only when it is finished."""

from alembic import op
from alembic.util import CommandError

revision: str = "0010"
down_revision: str | None = "0009"


def upgrade() -> None:
    """Delete interrupted runs, and the columns that were needed to continue such runs."""
    op.execute("delete from claim_run where finished_at is null")
    op.execute(
        "alter table claim_run drop column fingerprint, drop column started_at,"
        " alter column finished_at set not null, alter column finished_at set default now()"
    )


def downgrade() -> None:
    """Raise an error, since there is no downgrade."""
    raise CommandError(
        "the database schema cannot be downgraded; restore an older backup with 'starcast restore'"
    )
