"""Store what was checked of each record."""

import sqlalchemy as sa
from alembic import op

revision: str = "0009"
down_revision: str = "0008"


def upgrade() -> None:
    """Call the stored records unchecked: earlier versions accepted forged certificates."""
    op.add_column(
        "record",
        sa.Column("verification", sa.Text(), server_default="not checked", nullable=False),
    )
    op.alter_column("record", "verification", server_default=None)
    op.create_check_constraint(
        op.f("ck_record_verification"),
        "record",
        "verification in ('verified', 'not made again', 'not checked')",
    )


def downgrade() -> None:
    op.drop_column("record", "verification")
