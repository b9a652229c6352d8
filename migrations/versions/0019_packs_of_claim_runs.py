"""Store the paper packs of each verification run: folder and SHA-256 of each pack."""

from alembic import op
from alembic.util import CommandError

revision: str = "0019"
down_revision: str | None = "0018"


def upgrade() -> None:
    """Add the column ``packs``; it is empty for older runs, whose packs are unknown."""
    op.execute(
        "alter table claim_run add column packs jsonb not null default '{}'"
        " constraint ck_claim_run_packs check (jsonb_typeof(packs) = 'object')"
    )


def downgrade() -> None:
    """Raise an error, since there is no downgrade."""
    raise CommandError(
        "the database schema cannot be downgraded; restore an older backup with 'starcast restore'"
    )
