"""Exporting files for a Neo4j that starcast cannot stop: everything stored, and what is requested.

Only PostgreSQL is needed, which records what is stored. ``neo4j-admin database import full``
creates a store from the files, and `starcast.ingest.offline.adopt` then compares and accepts it. A
script and a guide next to the files explain how.
"""

import errno
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Engine, select

from starcast.database import models, sessions
from starcast.errors import InputError, LimitError
from starcast.graph import bulk_files
from starcast.ingest.artifacts import stored_artifacts
from starcast.ingest.load_methods import Estimate
from starcast.ingest.planning import ArtifactSize, IngestRequest, Plan
from starcast.progress import Reporter, Silent
from starcast.support.atomic import temporary_folder

SCRIPT = "import.sh"
GUIDE = "README.md"

_MB = 1_000_000
_DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_CHOOSE_FOLDER = "name a folder that does not exist yet, in a folder that you can write to"

#: Without the memory limit the tool would take most of the machine's memory besides its heap.
_OPTIONS = ("--overwrite-destination", "--max-off-heap-memory=1g")

#: Greatest number of artifacts that the guide names.
_NAMED = 20

# The tool takes a comma in a path for the end of the path, so it runs in the folder of the files.
# Its report goes elsewhere, because the folder may belong to another user.
_SCRIPT = """\
#!/bin/sh
# Recreates a database of a stopped Neo4j from the files in this folder: sh import.sh [DATABASE]
# NEO4J_ADMIN names the tool if it is not on the path.
set -eu
cd "$(dirname "$0")"
report=$(mktemp)
trap 'rm -f "$report"' EXIT
"${{NEO4J_ADMIN:-neo4j-admin}}" database import full "${{1:-neo4j}}" --report-file="$report" \\
    {arguments}
"""

_GUIDE = """\
# Files for Neo4j, by starcast

{nodes:,} nodes and {relationships:,} relationships, {megabytes:,.0f} MB, of {artifacts}.

`{script}` recreates Neo4j's database from these files and replaces its present content. The files
include everything that was stored when they were written. Neo4j must be stopped during the import.
Afterwards `starcast graph adopt` creates the indexes, compares the imported data with their
generators, and marks them complete; until then no query uses them. Do not ingest or drop anything
between the export and the adoption.

## docker compose

Run in the folder of `docker-compose.yml`. If this folder has another path on the host, change the
path:

```sh
docker compose stop neo4j
docker compose run --rm --no-deps -T -v {mount} neo4j sh /export/{script}{database}
docker compose up --wait
docker compose run --rm starcast graph adopt
```

## A Neo4j server of your own

Run as the user of the server, with `neo4j-admin` of the same installation on the path:

```sh
neo4j stop
sh {path}{database}
neo4j start
starcast graph adopt
```
"""


@dataclass(frozen=True)
class Export:
    """Exported files, the ids of their artifacts, and the guide to importing them."""

    files: bulk_files.BulkFiles
    artifacts: tuple[str, ...]
    guide: str


def export(
    engine: Engine,
    folder: Path,
    request: IngestRequest | Plan | None = None,
    database: str = "neo4j",
    reporter: Reporter | None = None,
) -> Export:
    """Write files of everything stored and requested, with a script and a guide for the import.

    Args:
        engine: the relational store.
        folder: a new or empty folder. After an error it is as before.
        request: artifacts to add to those stored.
        database: name of the database on the Neo4j server.
        reporter: receives progress messages.

    Raises:
        InputError: the folder is neither new nor empty, or cannot be written.
        LimitError: the disk is too small.
        RejectedError: the verification of an artifact failed.
    """
    listener = reporter or Silent()
    target = folder.resolve()
    _check_free(target)
    with sessions.session(engine) as session:
        store = session.scalars(select(models.Store.id)).one()
        artifacts = stored_artifacts(session)
    sizes = [
        ArtifactSize(artifact.kind, artifact.id, artifact.nodes, artifact.relationships)
        for artifact in artifacts
    ]
    new: list[ArtifactSize] = []
    if request is not None:
        stored = {artifact.id for artifact in artifacts}
        new = [size for size in request.sizes() if size.id not in stored]
    _check_space(target, [*sizes, *new], listener)
    if request is not None:
        artifacts += request.plan({size.id for size in new}).artifacts
    ids = tuple(artifact.id for artifact in artifacts)
    with _create_folder(target) as temporary:
        built = (artifact.build() for artifact in artifacts)
        written = bulk_files.write(temporary, store, built, listener)
        guide = format_guide(target, database, ids, written)
        (temporary / SCRIPT).write_text(format_script(written), encoding="utf-8")
        (temporary / GUIDE).write_text(guide, encoding="utf-8")
    return Export(replace(written, folder=target), ids, guide)


def format_script(files: bulk_files.BulkFiles) -> str:
    """Return the script that imports files, wherever their folder is."""
    options = (*_OPTIONS, *bulk_files.OPTIONS, *files.arguments)
    return _SCRIPT.format(arguments=" \\\n    ".join(map(shlex.quote, options)))


def format_guide(
    folder: Path, database: str, ids: Sequence[str], files: bulk_files.BulkFiles
) -> str:
    """Return the guide to importing the files of these artifacts from this folder."""
    artifacts = ", ".join(f"`{artifact_id}`" for artifact_id in ids[:_NAMED]) or "no artifacts"
    if len(ids) > _NAMED:
        artifacts += f" and {len(ids) - _NAMED} more"
    return _GUIDE.format(
        nodes=files.nodes,
        relationships=files.relationships,
        megabytes=files.bytes / _MB,
        artifacts=artifacts,
        script=SCRIPT,
        mount=shlex.quote(f"{folder}:/export:ro"),
        path=shlex.quote(str(folder / SCRIPT)),
        database="" if database == "neo4j" else f" {shlex.quote(database)}",
    )


def _check_free(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file", hint=_CHOOSE_FOLDER)
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty", hint=_CHOOSE_FOLDER)
    if not folder.parent.is_dir():
        raise InputError(
            f"the folder {folder.parent} does not exist", hint="create it, or name another folder"
        )


def _check_space(folder: Path, sizes: Sequence[ArtifactSize], reporter: Reporter) -> None:
    """Report the size of the files, and refuse those for which the disk is too small."""
    size = Estimate.of(sizes)
    text = (
        f"{size.nodes:,} nodes and {size.relationships:,} relationships, about "
        f"{size.file_bytes / _MB:,.0f} MB of files"
    )
    free = shutil.disk_usage(folder.parent).free
    if free < size.file_bytes:
        raise LimitError(
            f"an export of {text}, does not fit on the disk of {folder}, which has "
            f"{free / _MB:,.0f} MB free",
            hint="free some space, or name a folder on another disk",
        )
    reporter.say(f"writing {text}")


@contextmanager
def _create_folder(folder: Path) -> Iterator[Path]:
    """Provide a temporary folder that becomes ``folder`` at the end, or is deleted on an error."""
    try:
        with temporary_folder(folder) as temporary:
            yield temporary
            # The server's user must be able to read the files, whatever this process's umask is.
            temporary.chmod(0o755)
            for file in temporary.iterdir():
                file.chmod(0o644)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        if error.errno in _DISK_FULL:
            raise LimitError(
                f"{folder} cannot be written: {reason}", hint="free some space, or write elsewhere"
            ) from None
        raise InputError(f"{folder} cannot be written: {reason}", hint=_CHOOSE_FOLDER) from None
