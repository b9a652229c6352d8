"""Files for a Neo4j that is not starcast's own to stop: everything stored, and what is asked for beside it.

Only PostgreSQL is asked: it knows what is stored. ``neo4j-admin database import full`` makes a store of the files, and
`starcast.ingest.adoption` compares it afterwards and takes it over. What is written beside the files tells how to do that.
"""

import errno
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from starcast.database import models, sessions
from starcast.errors import InputError, LimitError
from starcast.graph import bulk
from starcast.ingest.artifact_from_id import things
from starcast.ingest.guide import GUIDE, SCRIPT, guide, script
from starcast.ingest.load_methods import Estimate
from starcast.ingest.planning import Plan, Size, Wish
from starcast.ingest.states import State
from starcast.progress import Reporter, Silent

_MB = 1_000_000
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_ELSEWHERE = "name a folder that does not exist yet, in one that you may write"


@dataclass(frozen=True)
class Export:
    """What was written: the files, the names of the things in them, and how to import them."""

    files: bulk.BulkFiles
    things: tuple[str, ...]
    guide: str


def export(
    engine: Engine,
    folder: Path,
    what: Wish | Plan | None = None,
    name: str = "neo4j",
    reporter: Reporter | None = None,
) -> Export:
    """Write the files of everything that is stored and of what is asked for, with a script and a guide to import them.

    Args:
        engine: the relational store.
        folder: new or empty. It is there whole, or as it was before.
        what: what to add; see `starcast.ingest.planning`.
        name: the database on the Neo4j server.
        reporter: hears of progress.

    Raises:
        InputError: the folder is neither new nor empty, or cannot be written.
        LimitError: the disk is too small; nothing was written.
        RejectedError: a checker does not accept a thing.
    """
    listener, there = reporter or Silent(), folder.resolve()
    _check_free(there)
    with sessions.session(engine) as session:
        store, sizes, stored = (
            session.scalars(select(models.Store.id)).one(),
            _stored(session),
            things(session),
        )
    new = _new(what, sizes)
    _check_space(there, [*sizes, *new], listener)
    chosen = stored if what is None else [*stored, *what.plan({one.key for one in new}).things]
    with _beside(there) as folder_beside:
        written = bulk.write(folder_beside, store, (thing.build() for thing in chosen), listener)
        text = guide(there, name, [thing.key for thing in chosen], written)
        (folder_beside / SCRIPT).write_text(script(written), encoding="utf-8")
        (folder_beside / GUIDE).write_text(text, encoding="utf-8")
    return Export(replace(written, folder=there), tuple(thing.key for thing in chosen), text)


def _stored(session: Session) -> list[Size]:
    rows = session.scalars(
        select(models.Materialization).where(models.Materialization.state == State.COMPLETE.value)
    )
    return [Size(row.kind, row.id, row.expected_nodes, row.expected_relationships) for row in rows]


def _new(what: Wish | Plan | None, stored: Sequence[Size]) -> list[Size]:
    known = {(one.kind, one.key) for one in stored}
    return [] if what is None else [one for one in what.sizes() if (one.kind, one.key) not in known]


def _check_free(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file", hint=_ELSEWHERE)
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty", hint=_ELSEWHERE)
    if not folder.parent.is_dir():
        raise InputError(
            f"the folder {folder.parent} does not exist", hint="make it, or name another"
        )


def _check_space(folder: Path, sizes: Sequence[Size], reporter: Reporter) -> None:
    """Refuse what the disk has no room for, and say how much it is."""
    size = Estimate.of(sizes)
    much = f"{size.nodes:,} nodes and {size.relationships:,} relationships, about {size.filed_bytes / _MB:,.0f} MB of files"
    free = shutil.disk_usage(folder.parent).free
    if free < size.filed_bytes:
        raise LimitError(
            f"an export of {much}, does not fit on the disk of {folder}, which has {free / _MB:,.0f} MB free",
            hint="free some space, or name a folder on another disk",
        )
    reporter.say(f"writing {much}")


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """A folder that gets the name when all is written, and is gone if something goes wrong."""
    beside = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    try:
        beside.mkdir()
        try:
            yield beside
            # The server's user reads them, whatever the mask of ours.
            beside.chmod(0o755)
            for file in beside.iterdir():
                file.chmod(0o644)
            beside.rename(folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        if error.errno in _FULL:
            raise LimitError(
                f"{folder} cannot be written: {reason}", hint="free some space, or write elsewhere"
            ) from None
        raise InputError(f"{folder} cannot be written: {reason}", hint=_ELSEWHERE) from None
