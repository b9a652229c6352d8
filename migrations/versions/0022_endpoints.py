"""Store the number of endpoints of ingested topologies."""

from alembic import op
from alembic.util import CommandError

revision: str = "0022"
down_revision: str | None = "0021"


def upgrade() -> None:
    """Add the column ``endpoints``; its value for stored topologies is their number of nodes."""
    op.execute(
        """
        alter table topology add endpoints bigint;
        update topology set endpoints = nodes;
        alter table topology
            alter endpoints set not null,
            drop constraint ck_topology_counts,
            add constraint ck_topology_counts check (
                nodes > 0 and links > 0 and degree > 0 and diameter > 0
                and endpoints > 0 and endpoints <= nodes
            )
        """
    )


def downgrade() -> None:
    """Raise an error, since there is no downgrade."""
    raise CommandError(
        "the database schema cannot be downgraded; restore an older backup with 'starcast restore'"
    )
