"""Record with each artifact the plug-ins that built it."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from starcast.database.losses import report_loss

revision: str = "0006"
down_revision: str = "0005"


def upgrade() -> None:
    op.add_column(
        "materialization",
        sa.Column("plugins", JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
    )
    op.create_check_constraint(
        op.f("ck_materialization_plugins"), "materialization", "jsonb_typeof(plugins) = 'object'"
    )


def downgrade() -> None:
    """Remove the column; the artifacts stay."""
    report_loss(
        "select count(*) from materialization where plugins <> '{}'",
        "record of plug-ins that built an artifact",
        "records of plug-ins that built artifacts",
    )
    op.drop_column("materialization", "plugins")
