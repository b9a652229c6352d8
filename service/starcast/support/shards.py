"""Shards: parts of a job that run independently, for example in a job array, and their files.

A job consists of numbered tasks whose results are JSON values. Shard i of N computes every N-th
task, beginning with the i-th, and writes the results to a file. `merge_shards` reads the files of
all shards. The files are accepted only if together they contain each result of one job exactly
once, and if the code that computed the results has the same version as the code that merges the
files.
"""

import gzip
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeVar

import pydantic

from starcast.support.atomic import atomic_write
from starcast.support.errors import InputError, RejectedError, unreadable
from starcast.support.installation import source_digest
from starcast.support.json_files import (
    Count,
    StrictRecord,
    describe_error,
    parse_json,
)
from starcast.support.limited import MB, read_bytes

Item = TypeVar("Item")
DescriptionModel = TypeVar("DescriptionModel", bound=pydantic.BaseModel)
ResultModel = TypeVar("ResultModel", bound=pydantic.BaseModel)

#: The kinds of jobs that can be divided into shards.
ShardKind = Literal["forest", "experiment", "search"]

_FORMAT = "starcast shard 1"
_HINT = "specify the files that were written with `out`"
_SHARD = re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})", re.ASCII)
#: Maximum size of a shard's file after decompression, in bytes.
_MAX_BYTES = 100 * MB
#: A task number with this many digits or more is certainly too large.
_DIGITS = 20
#: Maximum number of missing shards named in a message.
_SHOWN = 8


@dataclass(frozen=True, order=True)
class Shard:
    """Shard number ``index`` of ``count`` shards; the first shard has index 1.

    Example:
        >>> list(Shard.parse("2/3").select("abcdefg"))
        [(1, 'b'), (4, 'e')]
    """

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Parse a shard such as ``2/8``.

        Raises:
            InputError: the text is not a shard, or the shard is out of range.
        """
        parsed = _SHARD.fullmatch(text)
        if parsed is None:
            raise InputError(
                f"'{text}' is not a shard",
                hint="write the shard's number and the number of shards, such as 2/8",
            )
        shard = cls(int(parsed[1]), int(parsed[2]))
        if shard.index > shard.count:
            raise InputError(
                f"the shard {text} is out of range",
                hint=f"use 1/{shard.count} to {shard.count}/{shard.count}",
            )
        return shard

    def select(self, tasks: Sequence[Item]) -> Iterator[tuple[int, Item]]:
        """Yield this shard's tasks, which are every ``count``-th task, as pairs (number, task).

        The tasks of a job are numbered from 0.
        """
        return iter(list(enumerate(tasks))[self.index - 1 :: self.count])

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def parse_shard(text: str | None, out: str | Path | None) -> Shard | None:
    """Return the shard to compute, or None to compute the entire job.

    Args:
        text: the shard, such as ``2/8``.
        out: the output file of the shard.

    Raises:
        InputError: the text is not a valid shard, or only one of shard and output file is given.
    """
    if (text is None) != (out is None):
        given, other = ("`out`", "`shard` I/N") if text is None else ("`shard`", "`out` FILE")
        raise InputError(f"{given} is given without {other}", hint=f"add {other}")
    return None if text is None else Shard.parse(text)


@dataclass(frozen=True)
class Job:
    """A job that can be divided into shards.

    Attributes:
        kind: ``forest`` (a forest verification), ``experiment`` or ``search``.
        description: the parameters that determine the tasks and their results, as a JSON value.
        tasks: the number of tasks.
    """

    kind: ShardKind
    description: Mapping[str, Any]
    tasks: int


class _ShardFile(StrictRecord):
    """The content of a shard's file, without its checksum.

    Attributes:
        sources: the SHA-256 of the code that computed the results; see `source_digest`.
        job: the description of the job.
        results: the result of every task of the shard, by task number.
    """

    format: str
    kind: ShardKind
    version: str
    sources: str
    job: dict[str, Any]
    tasks: Count
    shard: str
    results: dict[str, Any]


def write_shard(file: Path, job: Job, shard: Shard, results: Mapping[int, Any]) -> None:
    """Write the results of a shard to a file, compressed if its name ends with ``.gz``.

    Args:
        file: the path; an existing file is replaced only when the new file is complete.
        results: the result of every task of the shard, by task number.

    Raises:
        LimitError: the disk is full.
        InputError: the file cannot be written for another reason.
    """
    content = {
        "format": _FORMAT,
        "kind": job.kind,
        "version": version("starcast"),
        "sources": source_digest(),
        "job": dict(job.description),
        "tasks": job.tasks,
        "shard": str(shard),
        "results": {str(number): results[number] for number in sorted(results)},
    }
    content["sha256"] = _checksum(content)
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
    # The file has no time stamp, so that equal results give identical files.
    with atomic_write(file) as output:
        output.write(gzip.compress(text, mtime=0) if file.suffix == ".gz" else text)


def merge_shards(
    files: Sequence[Path],
    kind: ShardKind,
    description: type[DescriptionModel],
    result: type[ResultModel],
) -> tuple[DescriptionModel, list[ResultModel]]:
    """Merge the files of a job's shards; return the job's description and its results, by task.

    Args:
        files: the files of all shards.
        kind: the expected kind of the job.
        description: the pydantic model of the job's description.
        result: the pydantic model of a task's result.

    Raises:
        InputError: a file cannot be read, is damaged or is a shard of another kind of job, or
            the files are not exactly the shards of one job.
        LimitError: a file exceeds the size limit for shards.
        RejectedError: the code that computed a shard differs from the code of this process.
    """
    parts = [(file, _read(file, kind)) for file in files]
    if not parts:
        raise InputError("no shard is given", hint=_HINT)
    first_file, first = parts[0]
    for file, part in parts:
        _check_code(file, part)
        if (part.job, part.tasks) != (first.job, first.tasks):
            raise InputError(
                f"{first_file} and {file} are shards of different jobs",
                hint="merge the shards of one command, run with the same arguments",
            )
    _check_complete([(file, Shard.parse(part.shard)) for file, part in parts])
    job = _convert(first_file, description, first.job, "its job")
    results: dict[int, ResultModel] = {}
    for file, part in parts:
        for number, values in part.results.items():
            # Parsing a very long number is slow, so its length is checked first.
            is_task = number.isdecimal() and len(number) < _DIGITS and int(number) < first.tasks
            if not is_task or int(number) in results:
                raise _damaged(file, f"it has an unexpected result of task {number}")
            results[int(number)] = _convert(file, result, values, f"the result of task {number}")
    if len(results) != first.tasks:
        missing = next(number for number in range(first.tasks) if number not in results)
        raise InputError(
            f"no file contains the result of task {missing}",
            hint="run the shards again, with the same arguments",
        )
    return job, [results[number] for number in range(first.tasks)]


def _convert(file: Path, kind: type[ResultModel], value: object, name: str) -> ResultModel:
    """Convert a JSON value of a shard file to a pydantic model.

    The argument ``name`` is the name of the value in error messages.
    """
    try:
        return kind.model_validate(value)
    except ValueError as error:
        raise _damaged(file, f"{name} is invalid: {describe_error(error)}") from None


def _check_code(file: Path, part: _ShardFile) -> None:
    """Check that a shard was computed by the same code that this process runs."""
    if (part.version, part.sources) == (version("starcast"), source_digest()):
        return
    code = "other code" if part.version == version("starcast") else f"starcast {part.version}"
    raise RejectedError(
        f"{file} was computed by {code}, not by the installed starcast {version('starcast')}",
        hint="run and merge all shards with the same installation",
    )


def _check_complete(shards: Sequence[tuple[Path, Shard]]) -> None:
    """Check that the files are the shards 1/N to N/N, each exactly once."""
    files: dict[Shard, Path] = {}
    for file, shard in shards:
        if shard in files:
            raise InputError(
                f"{files[shard]} and {file} overlap: both are shard {shard}",
                hint="omit one of them",
            )
        files[shard] = file
    counts = sorted({shard.count for shard in files})
    if len(counts) > 1:
        raise InputError(
            "the files do not belong together: the job was divided into"
            f" {' and '.join(map(str, counts))} shards",
            hint="merge files with the same number of shards",
        )
    missing = [
        f"{index}/{counts[0]}"
        for index in range(1, counts[0] + 1)
        if Shard(index, counts[0]) not in files
    ]
    if missing:
        shown = ", ".join(missing[:_SHOWN]) + (", .." if len(missing) > _SHOWN else "")
        verb = "shard is" if len(missing) == 1 else "shards are"
        raise InputError(
            f"{len(missing)} {verb} missing: {shown}",
            hint="run the missing shards, then merge all files; nothing was stored",
        )


def _read(file: Path, kind: ShardKind) -> _ShardFile:
    try:
        content = parse_json(read_bytes(file, _MAX_BYTES), file)
        stated = content.pop("sha256", None) if isinstance(content, dict) else None
        checksum = _checksum(content)
    except (ValueError, RecursionError):
        raise _damaged(file, "it is incomplete, or not a shard file") from None
    except OSError as error:
        raise unreadable(file, error, _HINT) from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise InputError(f"{file} is not a shard file", hint=_HINT)
    if stated != checksum:
        raise _damaged(file, "its checksum is wrong")
    part = _convert(file, _ShardFile, content, "its content")
    if part.kind != kind:
        other, command = _KINDS[part.kind]
        raise InputError(
            f"{file} is a shard of {other}, not of {_KINDS[kind][0]}",
            hint=f"use 'starcast {command} merge'",
        )
    return part


#: For each kind of job, a description, and the command group that merges its shards.
_KINDS: dict[ShardKind, tuple[str, str]] = {
    "forest": ("a verification of a forest", "forest"),
    "experiment": ("an experiment", "experiment"),
    "search": ("a search", "records"),
}


def _checksum(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _damaged(file: Path, reason: str) -> InputError:
    return InputError(f"{file} is damaged: {reason}", hint="run this shard again")
