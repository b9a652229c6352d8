"""Write the lock files ``jars.lock`` and ``browser.lock`` of `starcast.embedded.programs`.

Run ``make lock`` once for each new version of Neo4j or Neo4j Browser. The command ``python
tools/lockfile.py 5.26.30 tests/lts/jars.lock`` writes a lock file for another version of Neo4j. The
package jgo resolves the dependencies and computes the SHA-256 of every file.

Lock files whose first line names the module ``starcast.embedded.lockfile`` were written before this
tool was moved here. They were not changed, because a changed lock file makes every installation
download the jars again.
"""

import logging
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from starcast.embedded import programs
from starcast.embedded.programs import BROWSER_LOCK, BROWSER_VERSION, LOCK, NEO4J_VERSION
from starcast.support.atomic import write_text


def coordinates(version: str) -> tuple[str, ...]:
    """Return the Maven coordinates of the server, its Bolt connector and the offline import."""
    artifacts = ("neo4j", "neo4j-bolt", "neo4j-import-tool")
    return tuple(f"org.neo4j:{artifact}:{version}" for artifact in artifacts)


COORDINATES = coordinates(NEO4J_VERSION)
BROWSER_COORDINATES = (f"org.neo4j.client:neo4j-browser:{BROWSER_VERSION}",)


def lock_text(environment: Path, requested: Sequence[str] = COORDINATES) -> str:
    """Return the text of a lock file.

    Args:
        environment: the folder to which jgo has downloaded the jars.
        requested: the Maven coordinates for the comment at the top of the lock file.
    """
    resolved = tomllib.loads((environment / "jgo.lock.toml").read_text(encoding="utf-8"))
    sizes = {path.name: path.stat().st_size for path in environment.glob("*/*.jar")}
    lines = sorted(_line(entry, sizes) for entry in resolved["dependencies"])
    head = [
        f"# Made by 'python tools/lockfile.py' from {' + '.join(requested)}",
        "# SHA-256 bytes coordinate",
    ]
    return "\n".join([*head, *(line for _, line in lines), ""])


def _line(entry: dict[str, Any], sizes: dict[str, int]) -> tuple[str, str]:
    """Return the Maven coordinate of a jar, and its line in the lock file."""
    parts = [entry["artifactId"], entry["version"], entry.get("classifier", "")]
    coordinate = ":".join(filter(None, [entry["groupId"], *parts]))
    size = sizes["-".join(filter(None, parts)) + ".jar"]
    return coordinate, f"{entry['sha256']} {size} {coordinate}"


def write_lock(requested: Sequence[str], lock: Path) -> None:
    """Download the jars for the given Maven coordinates, and write their lock file."""
    jgo = programs.load("jgo")
    with tempfile.TemporaryDirectory() as folder:
        environment = jgo.build("+".join(requested), cache_dir=Path(folder), update=True)
        write_text(lock, lock_text(environment.path, requested))
    sys.stderr.write(f"wrote {lock}\n")


def main(version: str = NEO4J_VERSION, lock: str | None = None) -> None:
    """Write the lock file of one Neo4j version, or by default both lock files of the package."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    write_lock(coordinates(version), LOCK if lock is None else Path(lock))
    if lock is None:
        write_lock(BROWSER_COORDINATES, BROWSER_LOCK)


if __name__ == "__main__":
    main(*sys.argv[1:])
