"""Store networks, which are topologies given by their links; the diameter can be unknown."""

from alembic import op
from alembic.util import CommandError

revision: str = "0018"
down_revision: str | None = "0017"

_TABLE = r"""
    create table network (
        spec text constraint pk_network primary key
            constraint ck_network_spec check (spec ~ '^[A-Za-z0-9][A-Za-z0-9,._+-]{0,49}$'),
        name text not null,
        sha256 text not null constraint ck_network_sha256 check (sha256 ~ '^[0-9a-f]{64}$'),
        labels jsonb not null constraint ck_network_labels check (jsonb_typeof(labels) = 'array'),
        titles jsonb not null constraint ck_network_titles check (jsonb_typeof(titles) = 'array'),
        links bytea not null,
        positions jsonb not null default '[]'
            constraint ck_network_positions check (jsonb_typeof(positions) = 'array'),
        source text not null default '',
        licence text not null default '',
        created_at timestamptz not null default now()
    )
"""


def upgrade() -> None:
    """Create the table ``network``, and allow topologies without a known diameter."""
    op.execute(_TABLE)
    op.execute("create index ix_network_name on network (name)")
    op.execute("alter table topology alter column diameter drop not null")


def downgrade() -> None:
    """Raise an error, since there is no downgrade."""
    raise CommandError(
        "the database schema cannot be downgraded; restore an older backup with 'starcast restore'"
    )
