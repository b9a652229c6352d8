"""Store the number of units into which a run splits a message."""

from alembic import op
from alembic.util import CommandError

revision: str = "0011"
down_revision: str | None = "0010"

#: SQL condition for algorithms that split a message among n-1 trees.
_SPLIT = (
    "(run.collective, run.algorithm) in (('broadcast', 'multiple'), ('broadcast', 'nk-multiple'),"
    " ('allgather', 'dimension-change'), ('allgather', 'nk-multiple'))"
)


def upgrade() -> None:
    """Add the column ``message_units``, and fill it for runs whose value can be computed.

    These are the complete runs without plug-ins, except runs of the algorithm `forest`.
    """
    op.execute("alter table run add column message_units bigint")
    op.execute(
        "update run set message_units = segments"  # noqa: S608 - a constant
        f" * case when {_SPLIT} then substring(topology from '^S([0-9]+)')::bigint - 1 else 1 end"
        " where status = 'complete' and algorithm !~ '^forest' and not provenance ? 'plugins'"
    )


def downgrade() -> None:
    """Raise an error, since there is no downgrade."""
    raise CommandError(
        "the database schema cannot be downgraded; restore an older backup with 'starcast restore'"
    )
