"""Constrain the columns that took any text, and index what views and commands select by.

Families of topologies become a table, because plug-ins add families. Comments, views and rights
are not part of a revision: every upgrade to the newest revision writes them from the declaration
(starcast.database.declaration).
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0005"
down_revision: str = "0004"

_SPEC = r"^[A-Z][A-Za-z_-]*[0-9]+([,x][0-9]+)*$"
_NAME = r"^[a-z][a-z0-9-]*(\([^()]+\))?$"
_COLLECTIVES = "'broadcast', 'allgather', 'scatter', 'gather', 'alltoall'"

#: Table, name of the constraint, condition.
_CHECKS = (
    ("topology", "spec", f"spec ~ '{_SPEC}'"),
    ("forest", "id", "starts_with(id, topology || ':')"),
    ("forest", "construction", f"construction ~ '{_NAME}'"),
    ("forest", "arguments", "jsonb_typeof(arguments) = 'object'"),
    ("schedule", "id", "starts_with(id, topology || ':')"),
    ("schedule", "collective", f"collective in ({_COLLECTIVES})"),
    ("schedule", "algorithm", f"algorithm ~ '{_NAME}'"),
    ("schedule", "arguments", "jsonb_typeof(arguments) = 'object'"),
    ("materialization", "id", f"split_part(id, ':', 1) ~ '{_SPEC}'"),
    ("materialization", "counts", "expected_nodes >= 0 and expected_relationships >= 0"),
    ("experiment", "name", "name ~ '^[A-Za-z0-9][A-Za-z0-9._-]*$'"),
    ("experiment", "grid", "jsonb_typeof(grid) = 'object'"),
    ("experiment", "points", "points > 0"),
    ("run", "topology", f"topology ~ '{_SPEC}'"),
    ("run", "collective", f"collective in ({_COLLECTIVES})"),
    ("run", "algorithm", f"algorithm ~ '{_NAME}'"),
    ("run", "faults", "jsonb_typeof(faults) = 'array'"),
    ("run", "timings", "jsonb_typeof(timings) = 'object'"),
    ("run", "provenance", "jsonb_typeof(provenance) = 'object'"),
    ("cost", "counts", "steps >= 0 and transmissions >= 0"),
    ("claim_run", "names", "jsonb_typeof(names) = 'array'"),
    ("claim_evidence", "claim", "claim ~ '^[A-Z]+[.]'"),
    ("claim_evidence", "evidence", "jsonb_typeof(evidence) = 'object'"),
    ("claim_evidence", "seconds", "seconds >= 0"),
    ("claim_verdict", "claim", "claim ~ '^[A-Z]+[.]'"),
    ("claim_verdict", "sizes", "jsonb_typeof(sizes) = 'array'"),
)
_INDEXES: tuple[tuple[str, str, list[str | sa.TextClause]], ...] = (
    ("ix_run_question", "run", ["topology", "collective", "message_bytes", "ports"]),
    ("ix_run_algorithm", "run", ["algorithm", "collective"]),
    ("ix_claim_verdict_claim", "claim_verdict", ["claim", "claim_run"]),
    ("ix_materialization_topology", "materialization", [sa.text("split_part(id, ':', 1)")]),
)
_FAMILIES = {"star": "star graphs", "nk-star": "(n,k)-stars", "hypercube": "hypercubes"}


def upgrade() -> None:
    family = op.create_table(
        "family",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("noun", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_family")),
    )
    op.bulk_insert(family, [{"name": name, "noun": noun} for name, noun in _FAMILIES.items()])
    op.create_foreign_key(op.f("fk_topology_family"), "topology", "family", ["family"], ["name"])
    for table, name, condition in _CHECKS:
        op.create_check_constraint(op.f(f"ck_{table}_{name}"), table, sa.text(condition))
    for name, table, columns in _INDEXES:
        op.create_index(name, table, columns)


def downgrade() -> None:
    """Remove the constraints and the views; every row stays."""
    op.execute("drop view if exists artifact, claim_summary, comparison, run_summary")
    for name, table, _ in _INDEXES:
        op.drop_index(name, table)
    for table, name, _ in _CHECKS:
        op.drop_constraint(op.f(f"ck_{table}_{name}"), table)
    op.drop_constraint(op.f("fk_topology_family"), "topology")
    op.drop_table("family")
