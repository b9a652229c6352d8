"""JVM options for a short-lived Neo4j; ``quick_java.py FOLDER`` writes better ones for many starts.

Java stores the classes of one start in an archive, which later starts load, and does not use its
optimising compiler: a start needs a third of the processor time.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from starcast.embedded import accounts, processes, stack
from starcast.embedded.home import Home
from starcast.embedded.neo4j import Neo4j
from starcast.support.progress import Silent
from starcast.support.settings import Settings

_DUMP_SECONDS = 300.0
#: Options of every Neo4j of the tests: their servers run briefly, so that optimising compilation
#: does not pay. With TLS, Neo4j encrypts its private key in memory for every new connection.
#: Deriving the key takes 10,000 rounds by default, a fifth of the time of the tests' servers.
QUICK_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dkeystore.pkcs12.keyPbeIterationCount=1"


def main(folder: Path) -> None:
    """Create archives of the classes of Java and Neo4j, and write the options that use them."""
    folder.mkdir(parents=True, exist_ok=True)
    # For root, the system user that runs Neo4j reads the archives, and writes the second one.
    archives = accounts.readable_folder(folder, accounts.server_account())
    base = archives / "java.jsa"
    top = archives / "neo4j.jsa"
    with tempfile.TemporaryDirectory(prefix="starcast-java-") as home:
        neo4j = Neo4j(Home(Path(home)))
        dump = [neo4j.java(), "-Xshare:dump", f"-XX:SharedArchiveFile={base}"]
        subprocess.run(dump, check=True, capture_output=True)
        recording = f"-XX:SharedArchiveFile={base} -XX:ArchiveClassesAtExit=run/{top.name}"
        settings = Settings.load(home=Path(home), neo4j_java_options=f"{QUICK_OPTIONS} {recording}")
        stack.up(settings, Silent())
        # Writing the archive may take longer than 'down' waits.
        writing = neo4j.find_processes()
        processes.send_signal(writing, neo4j.stop_signal)
        processes.wait_or_kill(writing, _DUMP_SECONDS)
        stack.down(settings.home, Silent())
        shutil.copyfile(neo4j.home.neo4j / "run" / top.name, top)
    for archive in (base, top):
        archive.chmod(0o644)
    (folder / "options").write_text(
        f"{QUICK_OPTIONS} -XX:SharedArchiveFile={base}:{top}\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
