"""Import schedules from files; the beginning or the suffix of a file determines its format."""

import re
from collections.abc import Callable
from pathlib import Path

from starcast.collectives import Schedule, schedule_from_csv
from starcast.formats.goal_reader import schedule_from_goal
from starcast.formats.msccl_reader import schedule_from_msccl
from starcast.formats.mscclpp_reader import schedule_from_mscclpp
from starcast.support.errors import InputError, LimitError, unreadable
from starcast.support.limited import open_lines
from starcast.support.vocabulary import Collective, Ports, RowsFormat
from starcast.topologies import Topology

#: The readers of schedule files, by format.
READERS: dict[RowsFormat, Callable[..., Schedule]] = {
    "csv": schedule_from_csv,
    "goal": schedule_from_goal,
    "msccl-xml": schedule_from_msccl,
    "mscclpp-json": schedule_from_mscclpp,
}
_SUFFIXES: dict[str, RowsFormat] = {
    ".goal": "goal",
    ".xml": "msccl-xml",
    ".json": "mscclpp-json",
}
#: Patterns for the beginnings of schedule files, and of files that users may mistake for schedules.
_BEGINNINGS: dict[str, RowsFormat] = {
    r"(?s)<.*<algo\b|<algo\b": "msccl-xml",
    r'(?s)\{.*"gpus"': "mscclpp-json",
    r"//|/\*|num_ranks\s": "goal",
    r"[^\n]*\bstep\b[^\n]*\bsender\b|[^\n]*\bsender\b[^\n]*\bstep\b": "csv",
}
_OTHERS = {
    r"(?s)<.*<graphml\b|<graphml\b": "GraphML",
    r"<": "XML",
    r"[{\[]": "JSON",
    r"PAR1": "Parquet",
    r"PK\x03\x04": "a spreadsheet or zip archive",
    r"\x1f?\udc8b": "a compressed file",
}


def read_schedule(
    path: str | Path,
    topology: Topology | str,
    collective: Collective,
    ports: Ports = "all",
    root: int | str = 0,
    file_format: RowsFormat | None = None,
) -> Schedule:
    """Read a schedule from a CSV, GOAL or MSCCL XML file, or from an MSCCL++ plan.

    `starcast.schedule_from_csv`, `starcast.schedule_from_goal`, `starcast.schedule_from_msccl` and
    `starcast.schedule_from_mscclpp` describe how each format is read, and the errors it can cause.

    Args:
        path: the path of the file to read.
        topology: the topology or its spec.
        collective: the collective of the schedule, such as ``broadcast`` or ``allreduce``.
        ports: the port model: ``all`` or ``one``.
        root: rank or label of the root.
        file_format: ``csv``, ``goal``, ``msccl-xml`` or ``mscclpp-json`` (default: detected from
            the beginning of the file or else from the suffix: ``.goal``, ``.xml``, ``.json``; CSV
            for other suffixes).

    Raises:
        InputError: the format is unknown, or the file cannot be read in this format.
    """
    recognized = file_format or _recognize(path)
    name = recognized or _SUFFIXES.get(Path(path).suffix.lower(), "csv")
    if name not in READERS:
        raise InputError(f"unknown schedule file format '{name}'", hint=f"use {', '.join(READERS)}")
    try:
        return READERS[name](path, topology, collective, ports, root)
    except (InputError, LimitError) as error:
        if recognized or Path(path).is_dir() or not Path(path).exists():
            raise
        hint = f"{error.hint}; the file was read as {name}: {_FROM}"
        raise type(error)(error.message, hint=hint) from None


def _recognize(path: str | Path) -> RowsFormat | None:
    """Return the format of a schedule file, recognized by its beginning, or None if it is unknown.

    Raises:
        InputError: the file cannot be read, or begins like a file of an unsupported format.
    """
    if not Path(path).is_file():
        # The format of a pipe is not detected, because its beginning can be read only once.
        return None
    try:
        with open_lines(path) as file:
            # Comments are removed first: a licence in a comment may be longer than `_BEGINNING`.
            text = _COMMENT.sub("", file.read(16 * _BEGINNING))
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeError:
        return None
    beginning = text.lstrip()[:_BEGINNING]
    for pattern, name in _BEGINNINGS.items():
        if re.match(pattern, beginning):
            return name
    for pattern, noun in _OTHERS.items():
        if re.match(pattern, beginning):
            raise InputError(f"{path} seems to be {noun}; {_READABLE}", hint=_FROM)
    return None


_READABLE = "schedules are read from CSV, GOAL, MSCCL XML and MSCCL++ plans"
_FROM = "if the file has another format, specify `file_format` csv, goal, msccl-xml or mscclpp-json"
#: Number of characters at the beginning of a file by which its format is recognized.
_BEGINNING = 4096
_COMMENT = re.compile(r"<!--(?:[^-]|-(?!-))*+-->")
