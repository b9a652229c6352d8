"""Allow the collectives reduce, reduce-scatter and allreduce."""

from alembic import op
from alembic.util import CommandError

revision: str = "0012"
down_revision: str | None = "0011"

_COLLECTIVES = (
    "'broadcast', 'allgather', 'scatter', 'gather', 'alltoall', 'reduce', 'reduce-scatter',"
    " 'allreduce'"
)


def upgrade() -> None:
    """Add the new collectives to the check constraints that list the collectives."""
    for table in ("schedule", "run"):
        op.execute(
            f"alter table {table} drop constraint ck_{table}_collective,"
            f" add constraint ck_{table}_collective check (collective in ({_COLLECTIVES}))"
        )


def downgrade() -> None:
    """Raise an error, since there is no downgrade."""
    raise CommandError(
        "the database schema cannot be downgraded; restore an older backup with 'starcast restore'"
    )
