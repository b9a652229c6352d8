"""${message}."""

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError
${imports if imports else ""}

revision: str = ${repr(up_revision)}
down_revision: str | None = ${repr(down_revision)}


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    raise CommandError(
        "there is no downgrade: restore a backup from before the upgrade with 'starcast restore'"
    )
