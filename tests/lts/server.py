"""A Neo4j 5.26 LTS server with its own lock file, run by an installed Java 17 or 21.

starcast embeds the version pinned in `starcast.embedded.programs`, but users may run this version.
``make test-lts`` runs all queries on it.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from starcast.embedded import programs
from starcast.embedded.neo4j import CONFIGURATION, Neo4j
from starcast.embedded.programs import JarSet
from starcast.support.errors import UnavailableError
from starcast.support.settings import Settings

#: For a new version, ``python tools/lockfile.py VERSION tests/lts/jars.lock`` writes the lock file.
VERSION = "5.26.30"
LOCK = Path(__file__).with_name("jars.lock")

#: The Java versions that Neo4j 5.26 supports; it may also start with others.
JAVAS = (17, 21)
#: The folder where Linux distributions install Java.
INSTALLED = Path("/usr/lib/jvm")
#: Prefixes of settings that Neo4j 5.26 does not know and would refuse.
_NEWER_SETTINGS = (
    "server.fleet_discovery.",
    "internal.dbms.bolt.netty_server_shutdown_quiet_period_duration",
)


class Lts(Neo4j):
    """The Neo4j LTS server of one home folder."""

    title = f"Neo4j {VERSION}"
    main = "org.neo4j.server.CommunityEntryPoint"
    options = ("--add-opens=java.base/java.nio=ALL-UNNAMED",)
    configuration = "".join(
        line for line in CONFIGURATION.splitlines(True) if not line.startswith(_NEWER_SETTINGS)
    )

    def jars(self, settings: Settings) -> JarSet:
        """Return the jars listed in this server's lock file."""
        cache = programs.readable_folder(settings.cache, self._account)
        return JarSet(cache, LOCK, VERSION)

    def java(self) -> str:
        """Return the path of the first suitable Java program on this machine.

        Raises:
            UnavailableError: no suitable Java is installed.
        """
        rejected = []
        for path in _candidates():
            version = _major_version(path)
            if version in JAVAS:
                return str(path)
            found = "has an unknown version" if version is None else f"is Java {version}"
            rejected.append(f"{path} {found}")
        wanted = " or ".join(map(str, JAVAS))
        raise UnavailableError(
            f"Neo4j {VERSION} needs Java {wanted}, but {'; '.join(rejected) or 'none was found'}",
            hint=f"install Java {wanted} (Debian: openjdk-17-jre-headless), or set JAVA_HOME",
        )


def _candidates() -> Iterator[Path]:
    """Yield Java programs: in JAVA_HOME, on the search path, in the distribution's folder."""
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if program := shutil.which("java"):
        yield Path(program)
    yield from sorted(INSTALLED.glob("*/bin/java"))


def _major_version(java: Path) -> int | None:
    try:
        output = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(\d+)', output)
    return int(version[1]) if version else None
