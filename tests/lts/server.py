"""Neo4j 5.26 LTS as a server of its own, from jars with a lock of their own, on a Java 17 or 21 of this machine.

The product runs the version that `starcast.embedded.jars` pins; users may have this one. ``make test-lts`` asks it all queries.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from starcast.embedded.jars import JarSet
from starcast.embedded.neo4j import CONFIGURATION, Neo4j
from starcast.errors import UnavailableError
from starcast.settings import Settings

#: ``python -m starcast.embedded.lockfile VERSION tests/lts/jars.lock`` makes the lock of another one.
VERSION = "5.26.30"
LOCK = Path(__file__).with_name("jars.lock")

#: The versions of Java that it is made for; with others it may start, but nobody promises it.
JAVAS = (17, 21)
#: Where Linux distributions install it.
INSTALLED = Path("/usr/lib/jvm")
#: Settings that this version does not know, and refuses.
_LATER = (
    "server.fleet_discovery.",
    "internal.dbms.bolt.netty_server_shutdown_quiet_period_duration",
)


class Lts(Neo4j):
    """The server of one home, of the LTS version."""

    title = f"Neo4j {VERSION}"
    main = "org.neo4j.server.CommunityEntryPoint"
    options = ("--add-opens=java.base/java.nio=ALL-UNNAMED",)
    configuration = "\n".join(
        line for line in CONFIGURATION.splitlines() if not line.startswith(_LATER)
    )

    def jars(self, settings: Settings) -> JarSet:
        """Those of its own lock."""
        return JarSet.of(settings.cache, LOCK, VERSION)

    def java(self) -> str:
        """The first fitting Java of this machine.

        Raises:
            UnavailableError: there is none.
        """
        tried = []
        for path in _javas():
            found = _major(path)
            if found in JAVAS:
                return str(path)
            tried.append(f"{path} is {'of no version' if found is None else f'Java {found}'}")
        raise UnavailableError(
            f"Neo4j {VERSION} needs a Java {' or '.join(map(str, JAVAS))}, and there is none: {'; '.join(tried) or 'no java'}",
            hint="install one (Debian: openjdk-17-jre-headless), or name its folder in JAVA_HOME",
        )


def _javas() -> Iterator[Path]:
    """Where a Java may be: what the user says, what the shell finds, what is installed."""
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if found := shutil.which("java"):
        yield Path(found)
    yield from sorted(INSTALLED.glob("*/bin/java"))


def _major(java: Path) -> int | None:
    try:
        said = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(\d+)', said)
    return int(version[1]) if version else None
