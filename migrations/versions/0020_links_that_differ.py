"""Store the number of endpoints of networks, and the capacities and latencies of their links."""

from alembic import op
from alembic.util import CommandError

revision: str = "0020"
down_revision: str | None = "0019"


def upgrade() -> None:
    """Add columns for endpoints, capacities, their unit and latencies to the table ``network``."""
    op.execute(
        """
        alter table network
            add endpoints integer,
            add capacities jsonb not null default '[]'
                constraint ck_network_capacities check (jsonb_typeof(capacities) = 'array'),
            add latencies jsonb not null default '[]'
                constraint ck_network_latencies check (jsonb_typeof(latencies) = 'array'),
            add capacity_unit double precision not null default 1
        """
    )


def downgrade() -> None:
    """Raise an error, since there is no downgrade."""
    raise CommandError(
        "the database schema cannot be downgraded; restore an older backup with 'starcast restore'"
    )
