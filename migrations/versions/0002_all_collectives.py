"""Store all collectives: tree and missing units of runs, points of experiments, schedule steps."""

import sqlalchemy as sa
from alembic import op

from starcast.database.losses import report_loss

revision: str = "0002"
down_revision: str = "0001"

_POINT = [
    "experiment",
    "topology",
    "collective",
    "algorithm",
    "ports",
    "m",
    "M",
    "T_s",
    "T_c",
    "p",
    "copies",
]
_COUNTS = 'p >= 1 and "M" >= 1 and copies >= 1'


def upgrade() -> None:
    op.add_column("experiment", sa.Column("points", sa.Integer(), nullable=True))
    op.add_column("run", sa.Column("tree", sa.Text(), nullable=True))
    op.add_column(
        "run", sa.Column("missing", sa.BigInteger(), server_default=sa.text("0"), nullable=False)
    )
    op.drop_constraint("uq_run_point", "run")
    # By default nulls are distinct, but two runs without a tree are at the same point.
    op.create_unique_constraint(
        "uq_run_point",
        "run",
        [*_POINT, "tree", "faults", "seed"],
        postgresql_nulls_not_distinct=True,
    )
    op.drop_constraint(op.f("ck_run_counts"), "run")
    op.create_check_constraint(
        op.f("ck_run_counts"), "run", f"{_COUNTS} and seed >= 0 and missing >= 0"
    )
    op.create_table(
        "schedule_step",
        sa.Column("schedule", sa.Text(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("links_used", sa.BigInteger(), nullable=False),
        sa.Column("packets", sa.BigInteger(), nullable=False),
        sa.Column("largest_packet", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["schedule"],
            ["schedule.id"],
            name=op.f("fk_schedule_step_schedule"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("schedule", "step", name=op.f("pk_schedule_step")),
    )


def downgrade() -> None:
    """Delete the runs of algorithms that take a tree, which 0001 cannot distinguish.

    The missing units of other runs and the step profiles of schedules are lost.
    """
    report_loss(
        "select count(*) from run where tree is not null", "run with a base", "runs with a base"
    )
    report_loss(
        "select count(*) from run where missing > 0 and tree is null",
        "number of missing units",
        "numbers of missing units",
    )
    report_loss(
        "select count(distinct schedule) from schedule_step",
        "step profile of a schedule",
        "step profiles of schedules",
    )
    op.drop_table("schedule_step")
    op.execute("delete from run where tree is not null")
    op.drop_constraint(op.f("ck_run_counts"), "run")
    op.create_check_constraint(op.f("ck_run_counts"), "run", _COUNTS)
    op.drop_constraint("uq_run_point", "run")
    op.create_unique_constraint("uq_run_point", "run", [*_POINT, "faults", "seed"])
    op.drop_column("run", "missing")
    op.drop_column("run", "tree")
    op.drop_column("experiment", "points")
