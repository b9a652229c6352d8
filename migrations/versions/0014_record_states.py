"""Reset the verification states of stored proofs; `starcast records store` verifies them again.

Earlier versions could store the verification state of one record for another record. Bounds without
a proof are not affected: they are checked whenever a record is stored.
"""

from alembic import op
from alembic.util import CommandError

revision: str = "0014"
down_revision: str | None = "0013"


def upgrade() -> None:
    """Reset the verification state of every proof.

    The new state is ``not checked`` if only a second solver supports the bound, and otherwise ``not
    made again`` (the proof was not regenerated).
    """
    op.execute(
        "update record set verification = case proof ->> 'format'"
        " when 'second solver' then 'not checked' else 'not made again' end"
        " where proof ->> 'format' is not null"
    )


def downgrade() -> None:
    """Raise an error, since there is no downgrade."""
    raise CommandError(
        "the database schema cannot be downgraded; restore an older backup with 'starcast restore'"
    )
