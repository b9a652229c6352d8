"""Store verification runs with evidence and verdicts.

Nothing ever wrote to the table of verdicts that is replaced.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from starcast.database.losses import report_loss

revision: str = "0003"
down_revision: str = "0002"

_VERDICTS = "verdict in ('holds', 'holds as a bound', 'fails', 'not checkable')"


def _of_ledger(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["ledger"], ["ledger.id"], name=op.f(f"fk_{table}_ledger"), ondelete="CASCADE"
    )


def upgrade() -> None:
    op.drop_table("claim_verdict")
    op.create_table(
        "ledger",
        sa.Column("id", sa.Integer(), sa.Identity(always=False), nullable=False),
        sa.Column("names", JSONB, server_default=sa.text("'[]'::jsonb"), nullable=False),
        sa.Column("level", sa.Text(), nullable=True),
        sa.Column("sizes", JSONB, nullable=True),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("revision", sa.Text(), nullable=True),
        sa.Column("dirty", sa.Boolean(), nullable=True),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column(
            "started_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("level in ('quick', 'full', 'deep')", name=op.f("ck_ledger_level")),
        sa.CheckConstraint("(level is null) = (sizes is not null)", name=op.f("ck_ledger_sizes")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger")),
    )
    op.create_index("ix_ledger_fingerprint", "ledger", ["fingerprint"], unique=False)
    op.create_table(
        "claim_evidence",
        sa.Column("ledger", sa.Integer(), nullable=False),
        sa.Column("claim", sa.Text(), nullable=False),
        sa.Column("size", sa.Text(), nullable=False),
        sa.Column("evidence", JSONB, nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        _of_ledger("claim_evidence"),
        sa.PrimaryKeyConstraint("ledger", "claim", "size", name=op.f("pk_claim_evidence")),
    )
    op.create_table(
        "claim_verdict",
        sa.Column("ledger", sa.Integer(), nullable=False),
        sa.Column("claim", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("sizes", JSONB, nullable=False),
        sa.Column("counterexample", JSONB, nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.CheckConstraint(_VERDICTS, name=op.f("ck_claim_verdict_verdict")),
        sa.CheckConstraint(
            "counterexample is null or verdict = 'fails'",
            name=op.f("ck_claim_verdict_counterexample"),
        ),
        _of_ledger("claim_verdict"),
        sa.PrimaryKeyConstraint("ledger", "claim", name=op.f("pk_claim_verdict")),
    )


def downgrade() -> None:
    """Delete all verification runs: 0002 has a different table of verdicts."""
    report_loss("select count(*) from ledger", "verification run")
    op.drop_table("claim_verdict")
    op.drop_table("claim_evidence")
    op.drop_table("ledger")
    op.create_table(
        "claim_verdict",
        sa.Column("claim", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("sizes", JSONB, server_default=sa.text("'[]'::jsonb"), nullable=False),
        sa.Column("counterexample", JSONB, nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column(
            "checked_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(_VERDICTS, name=op.f("ck_claim_verdict_verdict")),
        sa.PrimaryKeyConstraint("claim", "version", name=op.f("pk_claim_verdict")),
    )
