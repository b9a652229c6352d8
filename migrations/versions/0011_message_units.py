"""Store into how many pieces a run cuts a message."""

from alembic import op
from alembic.util import CommandError

revision: str = "0011"
down_revision: str | None = "0010"

#: Algorithms that split a message among as many trees as a node has ports to other leading symbols.
_SPLIT = (
    "(run.collective, run.algorithm) in (('broadcast', 'multiple'), ('broadcast', 'nk-multiple'),"
    " ('allgather', 'dimension-change'), ('allgather', 'nk-multiple'))"
)


def upgrade() -> None:
    """Add the column; fill it where segments and algorithm determine it."""
    op.execute("alter table run add column message_units bigint")
    op.execute(
        "update run set message_units = segments"  # noqa: S608 - a constant
        f" * case when {_SPLIT} then substring(topology from '^S([0-9]+)')::bigint - 1 else 1 end"
        " where status = 'complete' and algorithm !~ '^forest' and not provenance ? 'plugins'"
    )


def downgrade() -> None:
    """Refuse."""
    raise CommandError("there is no downgrade; 'starcast restore' restores an older backup")
