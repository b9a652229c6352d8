"""Store, for each topology of a plug-in, the number from which its node keys are computed.

Before this revision, the number was computed from 20 bits of a CRC of the spec, so two topologies
could have the same number. Stored topologies keep their number.
"""

from zlib import crc32

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

revision: str = "0017"
down_revision: str | None = "0016"

_STORED = (
    "select spec from topology where family not in ('star', 'nk-star', 'hypercube') order by spec"
)


def upgrade() -> None:
    """Create the table ``node_key``, and fill it with the numbers of the stored topologies."""
    table = op.create_table(
        "node_key",
        sa.Column("topology", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("topology", name="pk_node_key"),
        sa.UniqueConstraint("number", name="uq_node_key_number"),
        sa.CheckConstraint(
            "topology ~ '^[A-Za-z0-9][A-Za-z0-9,._+-]{0,49}$'", name=op.f("ck_node_key_topology")
        ),
    )
    specs = op.get_bind().scalars(sa.text(_STORED)).all()
    # The graph has a constraint on keys, so no two stored topologies share a number.
    rows = [{"topology": spec, "number": 2**20 + (crc32(spec.encode()) >> 12)} for spec in specs]
    op.bulk_insert(table, rows)


def downgrade() -> None:
    """Raise an error, since there is no downgrade."""
    raise CommandError(
        "the database schema cannot be downgraded; restore an older backup with 'starcast restore'"
    )
