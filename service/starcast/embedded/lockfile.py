"""Makes ``jars.lock``: ``python -m starcast.embedded.lockfile``, once for each version of Neo4j.

With a version and a file, ``python -m starcast.embedded.lockfile 5.26.30 tests/lts/jars.lock``, it makes another lock.

jgo resolves the coordinates below with all that they need and writes the SHA-256 of every file; we keep those, and
the sizes, for the progress bar and the check of the disk.
"""

import logging
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from starcast.embedded import packages
from starcast.embedded.jars import LOCK, NEO4J_VERSION
from starcast.support.atomic import write_text


def coordinates(version: str) -> tuple[str, ...]:
    """The server, its Bolt door and the offline import."""
    return tuple(
        f"org.neo4j:{name}:{version}" for name in ("neo4j", "neo4j-bolt", "neo4j-import-tool")
    )


COORDINATES = coordinates(NEO4J_VERSION)


def lock_text(environment: Path, wanted: Sequence[str] = COORDINATES) -> str:
    """The lock file's text for an environment folder of jgo's, which it made for these coordinates."""
    resolved = tomllib.loads((environment / "jgo.lock.toml").read_text(encoding="utf-8"))
    sizes = {path.name: path.stat().st_size for path in environment.glob("*/*.jar")}
    lines = sorted(_line(entry, sizes) for entry in resolved["dependencies"])
    head = [
        f"# Made by 'python -m starcast.embedded.lockfile' from {' + '.join(wanted)}",
        "# SHA-256 bytes coordinate",
    ]
    return "\n".join([*head, *(line for _, line in lines), ""])


def _line(entry: dict[str, Any], sizes: dict[str, int]) -> tuple[str, str]:
    parts = [entry["artifactId"], entry["version"], entry.get("classifier", "")]
    coordinate = ":".join(filter(None, [entry["groupId"], *parts]))
    size = sizes["-".join(filter(None, parts)) + ".jar"]
    return coordinate, f"{entry['sha256']} {size} {coordinate}"


def main(version: str = NEO4J_VERSION, lock: str = str(LOCK)) -> None:
    """Resolve, fetch and write the lock file beside this module, or another."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    jgo = packages.load("jgo")
    with tempfile.TemporaryDirectory() as folder:
        environment = jgo.build("+".join(coordinates(version)), cache_dir=Path(folder), update=True)
        write_text(Path(lock), lock_text(environment.path, coordinates(version)))
    sys.stderr.write(f"wrote {lock}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
