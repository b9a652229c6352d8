"""Dumps of stores that earlier revisions of starcast have written."""

import os
import subprocess
from pathlib import Path

from sqlalchemy import Engine

from starcast.embedded.packages import find_client_programs

DUMPS = Path(__file__).parents[1] / "stores" / "dumps"


def load_dump(engine: Engine, revision: str) -> None:
    """Restore the dump of a revision, as the owner of the database."""
    url = engine.url
    command: list[str | Path] = [
        find_client_programs(18).pg_restore,
        "--exit-on-error",
        "--no-owner",
    ]
    command += [f"--host={url.host}", f"--port={url.port}", f"--username={url.username}"]
    command += [f"--dbname={url.database}", DUMPS / f"revision-{revision}.dump"]
    environment = os.environ | {"PGPASSWORD": str(url.password)}
    subprocess.run(command, check=True, env=environment)
