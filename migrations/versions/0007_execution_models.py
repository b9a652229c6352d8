"""Record the execution model of each run."""

import sqlalchemy as sa
from alembic import op

from starcast.database.losses import report_loss

revision: str = "0007"
down_revision: str = "0006"

_POINT = [
    "experiment", "topology", "collective", "algorithm", "ports", "message_bytes", "messages",
    "t_s", "t_c", "segments", "copies", "base", "faults", "seed",
]  # fmt: skip


def upgrade() -> None:
    op.add_column(
        "run", sa.Column("execution", sa.Text(), server_default="synchronous", nullable=False)
    )
    op.create_check_constraint(
        op.f("ck_run_execution"), "run", "execution in ('synchronous', 'asynchronous')"
    )
    _identify_runs_by([*_POINT, "execution"])


def downgrade() -> None:
    """Delete asynchronous runs, which an earlier starcast would take for synchronous ones."""
    report_loss(
        "select count(*) from run where execution = 'asynchronous'",
        "asynchronous run",
        "asynchronous runs",
    )
    op.execute("drop view if exists comparison, run_summary")
    op.execute("delete from run where execution = 'asynchronous'")
    _identify_runs_by(_POINT)
    op.drop_column("run", "execution")


def _identify_runs_by(columns: list[str]) -> None:
    op.drop_constraint("uq_run_point", "run")
    op.create_unique_constraint("uq_run_point", "run", columns, postgresql_nulls_not_distinct=True)
