"""Create the tables."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from starcast.database.losses import report_loss

revision: str = "0001"
down_revision: str | None = None


def _exact(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=nullable)


def _double(exact: str) -> sa.Column[float]:
    numerator, denominator = (f"split_part(\"{exact}\", '/'::text, {part})" for part in (1, 2))
    denominator = f"COALESCE(NULLIF({denominator}, ''::text), '1'::text)"
    value = f"({numerator})::double precision / ({denominator})::double precision"
    return sa.Column(
        f"{exact}_value", sa.Double(), sa.Computed(value, persisted=True), nullable=True
    )


def _rational(table: str, column: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(
        f"\"{column}\" ~ '^\\d+(/[1-9]\\d*)?$'", name=op.f(f"ck_{table}_{column}")
    )


def upgrade() -> None:
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
        sa.CheckConstraint(
            "verdict in ('holds', 'holds as a bound', 'fails', 'not checkable')",
            name=op.f("ck_claim_verdict_verdict"),
        ),
        sa.PrimaryKeyConstraint("claim", "version", name=op.f("pk_claim_verdict")),
    )
    op.create_table(
        "experiment",
        sa.Column("id", sa.Integer(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("grid", JSONB, server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiment")),
        sa.UniqueConstraint("name", name=op.f("uq_experiment_name")),
    )
    op.create_table(
        "materialization",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("way", sa.Text(), nullable=False),
        sa.Column("expected_nodes", sa.BigInteger(), nullable=False),
        sa.Column("expected_relationships", sa.BigInteger(), nullable=False),
        sa.Column("found_nodes", sa.BigInteger(), nullable=True),
        sa.Column("found_relationships", sa.BigInteger(), nullable=True),
        sa.Column("expected_checksum", sa.Text(), nullable=False),
        sa.Column("found_checksum", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column(
            "started_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "kind in ('topology', 'forest', 'schedule')", name=op.f("ck_materialization_kind")
        ),
        sa.CheckConstraint(
            "state in ('planned', 'loading', 'complete', 'failed')",
            name=op.f("ck_materialization_state"),
        ),
        sa.CheckConstraint("way in ('bolt', 'import')", name=op.f("ck_materialization_way")),
        sa.PrimaryKeyConstraint("kind", "key", name=op.f("pk_materialization")),
    )
    op.create_table(
        "store",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_store")),
    )
    op.create_index("ix_store_one_row", "store", [sa.text("(true)")], unique=True)
    op.execute("insert into store default values")
    op.create_table(
        "topology",
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("family", sa.Text(), nullable=False),
        sa.Column("n", sa.SmallInteger(), nullable=False),
        sa.Column("k", sa.SmallInteger(), nullable=True),
        sa.Column("nodes", sa.BigInteger(), nullable=False),
        sa.Column("links", sa.BigInteger(), nullable=False),
        sa.Column("degree", sa.SmallInteger(), nullable=False),
        sa.Column("diameter", sa.SmallInteger(), nullable=False),
        sa.CheckConstraint(
            "nodes > 0 and links > 0 and degree > 0 and diameter > 0",
            name=op.f("ck_topology_counts"),
        ),
        sa.PrimaryKeyConstraint("spec", name=op.f("pk_topology")),
    )
    op.create_table(
        "forest",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("topology", sa.Text(), nullable=False),
        sa.Column("construction", sa.Text(), nullable=False),
        sa.Column("arguments", JSONB, server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("root", sa.BigInteger(), nullable=False),
        sa.Column("root_label", sa.Text(), nullable=False),
        sa.Column("trees", sa.SmallInteger(), nullable=False),
        sa.Column("height", sa.SmallInteger(), nullable=False),
        sa.Column("congestion", sa.SmallInteger(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "root >= 0 and trees > 0 and height > 0 and congestion > 0",
            name=op.f("ck_forest_counts"),
        ),
        sa.ForeignKeyConstraint(["topology"], ["topology.spec"], name=op.f("fk_forest_topology")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_forest")),
    )
    op.create_index(op.f("ix_forest_topology"), "forest", ["topology"], unique=False)
    op.create_table(
        "run",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("experiment", sa.Integer(), nullable=False),
        sa.Column("topology", sa.Text(), nullable=False),
        sa.Column("collective", sa.Text(), nullable=False),
        sa.Column("algorithm", sa.Text(), nullable=False),
        sa.Column("ports", sa.Text(), nullable=False),
        _exact("m"),
        sa.Column("M", sa.Integer(), nullable=False),
        _exact("T_s"),
        _exact("T_c"),
        _double("m"),
        _double("T_s"),
        _double("T_c"),
        sa.Column("p", sa.Integer(), nullable=False),
        sa.Column("copies", sa.SmallInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("faults", JSONB, server_default=sa.text("'[]'::jsonb"), nullable=False),
        sa.Column("seed", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("timings", JSONB, server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("provenance", JSONB, server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("(status = 'failed') = (error is not null)", name=op.f("ck_run_error")),
        sa.CheckConstraint("ports in ('all', 'one')", name=op.f("ck_run_ports")),
        sa.CheckConstraint("status in ('complete', 'failed')", name=op.f("ck_run_status")),
        _rational("run", "T_c"),
        _rational("run", "T_s"),
        _rational("run", "m"),
        sa.CheckConstraint('p >= 1 and "M" >= 1 and copies >= 1', name=op.f("ck_run_counts")),
        sa.ForeignKeyConstraint(
            ["experiment"], ["experiment.id"], name=op.f("fk_run_experiment"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint(
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
            "faults",
            "seed",
            name="uq_run_point",
        ),
    )
    op.create_table(
        "cost",
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("steps", sa.BigInteger(), nullable=True),
        _exact("start_ups", nullable=True),
        sa.Column("transmissions", sa.BigInteger(), nullable=True),
        _exact("bytes", nullable=True),
        _exact("time"),
        sa.Column("source", sa.Text(), nullable=False),
        _double("bytes"),
        _double("time"),
        sa.CheckConstraint(
            "kind in ('closed form', 'simulated', 'lower bound')", name=op.f("ck_cost_kind")
        ),
        _rational("cost", "bytes"),
        _rational("cost", "start_ups"),
        _rational("cost", "time"),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name=op.f("fk_cost_run"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "kind", name=op.f("pk_cost")),
    )
    op.create_table(
        "schedule",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("topology", sa.Text(), nullable=False),
        sa.Column("forest", sa.Text(), nullable=True),
        sa.Column("collective", sa.Text(), nullable=False),
        sa.Column("algorithm", sa.Text(), nullable=False),
        sa.Column("ports", sa.Text(), nullable=False),
        sa.Column("arguments", JSONB, server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("root", sa.BigInteger(), nullable=False),
        sa.Column("symmetric", sa.Boolean(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("transmissions", sa.BigInteger(), nullable=False),
        sa.Column("largest_packet", sa.BigInteger(), nullable=False),
        sa.Column("units", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("ports in ('all', 'one')", name=op.f("ck_schedule_ports")),
        sa.CheckConstraint(
            "steps > 0 and transmissions > 0 and largest_packet > 0 and units > 0",
            name=op.f("ck_schedule_counts"),
        ),
        sa.ForeignKeyConstraint(["forest"], ["forest.id"], name=op.f("fk_schedule_forest")),
        sa.ForeignKeyConstraint(["topology"], ["topology.spec"], name=op.f("fk_schedule_topology")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedule")),
    )
    op.create_index(op.f("ix_schedule_forest"), "schedule", ["forest"], unique=False)
    op.create_index(op.f("ix_schedule_topology"), "schedule", ["topology"], unique=False)
    op.create_table(
        "step_profile",
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("links_used", sa.BigInteger(), nullable=False),
        sa.Column("packets", sa.BigInteger(), nullable=False),
        sa.Column("largest_packet", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run"], ["run.id"], name=op.f("fk_step_profile_run"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run", "step", name=op.f("pk_step_profile")),
    )
    op.create_table(
        "tree",
        sa.Column("forest", sa.Text(), nullable=False),
        sa.Column("number", sa.SmallInteger(), nullable=False),
        sa.Column("height", sa.SmallInteger(), nullable=False),
        sa.Column("leaves", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("parent_port", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint(
            "number >= 0 and height > 0 and leaves > 0 and size > 1", name=op.f("ck_tree_counts")
        ),
        sa.ForeignKeyConstraint(
            ["forest"], ["forest.id"], name=op.f("fk_tree_forest"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("forest", "number", name=op.f("pk_tree")),
    )


def downgrade() -> None:
    """Drop all tables."""
    for table in ("topology", "forest", "schedule", "experiment", "run"):
        plural = "topologies" if table == "topology" else f"{table}s"
        report_loss(f"select count(*) from {table}", table, plural)  # noqa: S608 - constants
    op.drop_table("tree")
    op.drop_table("step_profile")
    op.drop_table("schedule")
    op.drop_table("cost")
    op.drop_table("run")
    op.drop_table("forest")
    op.drop_table("topology")
    op.drop_table("store")
    op.drop_table("materialization")
    op.drop_table("experiment")
    op.drop_table("claim_verdict")
