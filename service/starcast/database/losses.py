"""Data that a downgrade deletes. The migrations report it; `sessions` and alembic refuse it."""

from alembic import context, op
from alembic.util import CommandError
from sqlalchemy import text

from starcast.support.text import pluralize

#: The option of the command ``alembic`` that allows a loss: ``-x allow-data-loss=yes``.
OPTION = "allow-data-loss"


def report_loss(query: str, singular: str, plural: str = "") -> None:
    """Report rows that the running downgrade deletes.

    Args:
        query: a statement that counts them.
        singular: a noun for one.
        plural: a noun for several; by default ``singular`` with an s.

    Raises:
        CommandError: the command ``alembic`` runs the downgrade, and its user has not allowed it.
    """
    count = op.get_bind().scalar(text(query))
    if not count:
        return
    loss = pluralize(count, singular, plural)
    collected: list[str] | None = context.config.attributes.get("losses")
    if collected is not None:
        collected.append(loss)
    elif context.get_x_argument(as_dictionary=True).get(OPTION) != "yes":
        raise CommandError(
            f"the downgrade would delete {loss}; nothing was changed. Keep them with"
            f" 'starcast backup FILE' first, then allow the loss with -x {OPTION}=yes"
        )
