"""Create the table of records of searches."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from starcast.database.losses import report_loss

revision: str = "0008"
down_revision: str = "0007"

_SPEC = r"^[A-Z][A-Za-z_-]*[0-9]+([,x][0-9]+)*$"


def upgrade() -> None:
    op.create_table(
        "record",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("topology", sa.Text(), nullable=False),
        sa.Column("arguments", JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("value", sa.Integer(), nullable=False),
        sa.Column("bound", sa.Integer(), nullable=False),
        sa.Column("optimal", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("proof", JSONB(none_as_null=True), nullable=True),
        sa.Column("witness", sa.LargeBinary(), nullable=False),
        sa.Column("solver", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("tried", JSONB(), server_default=sa.text("'[]'::jsonb"), nullable=False),
        sa.Column(
            "stored_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(f"topology ~ '{_SPEC}'", name=op.f("ck_record_topology")),
        sa.CheckConstraint("jsonb_typeof(arguments) = 'object'", name=op.f("ck_record_arguments")),
        sa.CheckConstraint("jsonb_typeof(tried) = 'array'", name=op.f("ck_record_tried")),
        sa.CheckConstraint("optimal = (value = bound)", name=op.f("ck_record_optimal")),
        sa.CheckConstraint("seconds >= 0", name=op.f("ck_record_seconds")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_record")),
    )


def downgrade() -> None:
    """Remove the table; records in files stay."""
    report_loss("select count(*) from record", "record of a search", "records of searches")
    op.drop_table("record")
