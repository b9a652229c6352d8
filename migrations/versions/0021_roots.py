"""Store the root of each run; the root of older runs is the node of rank 0."""

from alembic import op
from alembic.util import CommandError

revision: str = "0021"
down_revision: str | None = "0020"


def upgrade() -> None:
    """Add the column ``root`` to the table ``run``, and include it in the unique key of runs."""
    op.execute(
        "alter table run add column root text"
        " constraint ck_run_root check (root ~ '^([A-Za-z0-9_.]{1,40}|#[0-9]{1,18})$'),"
        " drop constraint uq_run_point,"
        " add constraint uq_run_point unique nulls not distinct (experiment, topology, collective,"
        " algorithm, ports, root, execution, base, message_bytes, segments, messages, copies,"
        " faults, seed, t_s, t_c)"
    )


def downgrade() -> None:
    """Raise an error, since there is no downgrade."""
    raise CommandError(
        "the database schema cannot be downgraded; restore an older backup with 'starcast restore'"
    )
