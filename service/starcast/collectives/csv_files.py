"""Schedules from CSV files that users write.

A file is not trusted: every value is checked when it is read, errors name the file and the line,
and lines, numbers and the count of rows have limits.
"""

import csv
import re
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.columns import REQUIRED, rank_labels, schedule_from_columns
from starcast.collectives.model import MAX_ROWS, Schedule, check_collective, check_ports
from starcast.collectives.rows import DTYPES
from starcast.support.errors import InputError, LimitError, StarcastError
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology, as_topology

#: Columns that a file must have, and may have.
OPTIONAL = ("tree", "receiver", "combine")
COLUMNS = (*REQUIRED, *OPTIONAL)

_NODES = ("sender", "receiver")
#: Bytes of a line; the longest line of valid rows is much shorter.
_MAX_LINE = 4096
_NUMBER = re.compile(r"\d{1,10}", re.ASCII)
_HINT = f"begin the file with a line of column names: {','.join(REQUIRED)}"


def schedule_from_csv(
    path: str | Path,
    topology: Topology | str,
    collective: Collective,
    ports: Ports = "all",
    root: int | str = 0,
) -> Schedule:
    """Return the schedule whose rows are in a CSV file, in any order.

    The first line has the names of the columns: ``step``, ``sender``, ``port`` and ``unit``, in a
    reduction ``combine`` (0 or 1), and optionally ``tree`` and ``receiver``, as in `Schedule`.
    Nodes are labels if all senders in the file are labels of the topology, otherwise ranks; ``#6``
    is rank 6 in any file. Nothing in the schedule is trusted: `starcast.simulate` judges it.

    Args:
        path: the file, in UTF-8.
        topology: the topology or its spec.
        collective: the name of the collective.
        ports: the port model: ``all`` or ``one``.
        root: rank or label of the root.

    Raises:
        InputError: the file cannot be read, is not CSV in UTF-8, or has a value that is not valid;
            the message names the file and the line.
        LimitError: the file has more than `MAX_ROWS` rows.
    """
    topology = as_topology(topology)
    check_collective(collective)
    check_ports(ports)
    origin = topology.node(root)
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a device or a pipe is read as well
            columns = _Reader(str(path), topology, file).read()
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}", hint="check its path and its mode"
        ) from None
    try:
        return schedule_from_columns(columns, topology, collective, ports=ports, root=origin)
    except StarcastError as error:
        raise type(error)(f"{path}: {error.message}", hint=error.hint) from None


class _Reader:
    """Reads the rows of one file; `_fail` reports the line that was read last."""

    def __init__(self, path: str, topology: Topology, file: BinaryIO) -> None:
        self._path = path
        self._topology = topology
        self._file = file
        self._line = 0

    def read(self) -> dict[str, NDArray[Any]]:
        """Return the columns of the file."""
        reader = csv.reader(self._lines(), strict=True)
        try:
            names = self._names(next(reader, []))
            numbers = {name: array("q") for name in names if name not in _NODES}
            nodes: dict[str, list[str]] = {name: [] for name in names if name in _NODES}
            lines = array("q")
            allowed = {name: self._allowed(name) for name in numbers}
            for row in reader:
                if not row:
                    continue
                if len(row) != len(names):
                    raise self._fail(
                        f"has {len(row)} values for {len(names)} columns",
                        "give each row a value in every column",
                    )
                if len(lines) == MAX_ROWS:
                    raise LimitError(
                        f"{self._path} has more than {MAX_ROWS:,} rows",
                        hint="use a smaller topology or fewer units",
                    )
                lines.append(self._line)
                for name, text in zip(names, row, strict=True):
                    if name in _NODES:
                        nodes[name].append(sys.intern(text.strip()))
                    else:
                        numbers[name].append(self._number(name, text.strip(), allowed[name]))
        except csv.Error as error:
            raise self._fail(f"is not CSV: {error}", "separate values by commas") from None
        columns: dict[str, NDArray[Any]] = {
            name: np.asarray(values, dtype=np.int64) for name, values in numbers.items()
        }
        return columns | self._ranks(nodes, lines)

    def _lines(self) -> Iterator[str]:
        while line := self._file.readline(_MAX_LINE + 1):
            self._line += 1
            if len(line) > _MAX_LINE:
                raise self._fail(f"has more than {_MAX_LINE} bytes", _HINT)
            try:
                yield line.decode("utf-8-sig" if self._line == 1 else "utf-8")
            except UnicodeDecodeError:
                raise self._fail("is not UTF-8 text", "convert the file to UTF-8") from None

    def _names(self, header: Sequence[str]) -> list[str]:
        names = [name.strip().lower() for name in header]
        missing = [name for name in REQUIRED if name not in names]
        unknown = [name for name in names if name not in COLUMNS]
        if missing or unknown:
            problem = f"has no column '{missing[0]}'" if missing else f"has '{unknown[0]}'"
            if not header:
                raise InputError(f"{self._path} has no line of column names", hint=_HINT)
            raise self._fail(problem, f"{_HINT}; {' and '.join(OPTIONAL)} are optional")
        if len(set(names)) < len(names):
            raise self._fail("names a column twice", _HINT)
        return names

    def _allowed(self, name: str) -> Sequence[int]:
        if name == "port":
            return self._topology.ports
        if name == "combine":
            return range(2)
        return range(int(name == "step"), int(np.iinfo(DTYPES[name]).max) + 1)

    def _number(self, name: str, text: str, allowed: Sequence[int]) -> int:
        if not _NUMBER.fullmatch(text):
            raise self._fail(f"has the {name} '{text}'", "write a whole number, without a sign")
        number = int(text)
        if number not in allowed:
            hint = f"{name}s go from {allowed[0]} to {allowed[-1]}"
            raise self._fail(f"has the {name} {number}", hint)
        return number

    def _ranks(
        self, nodes: Mapping[str, list[str]], lines: Sequence[int]
    ) -> dict[str, NDArray[np.int64]]:
        """Return columns of nodes as ranks; see `schedule_from_csv` for what is a label."""
        labels = rank_labels(self._topology, set().union(*nodes.values()))
        senders = {text for text in nodes["sender"] if not text.startswith("#")}
        has_labels = senders <= labels.keys() or not any(map(self._is_rank, senders))
        known = labels if has_labels else {}
        columns = {}
        for name, texts in nodes.items():
            for text, line in zip(texts, lines, strict=True):
                if text not in known:
                    known[text] = self._rank(name, text, line, has_labels=has_labels)
            columns[name] = np.asarray([known[text] for text in texts], dtype=np.int64)
        return columns

    def _is_rank(self, text: str) -> bool:
        return bool(_NUMBER.fullmatch(text)) and int(text) < self._topology.nodes

    def _rank(self, name: str, text: str, line: int, *, has_labels: bool) -> int:
        self._line = line
        try:
            number = text.removeprefix("#")
            if _NUMBER.fullmatch(number) and (number != text or not has_labels):
                return self._topology.node(int(number))
            return self._topology.rank(text)
        except InputError as error:
            raise self._fail(f"has the {name} '{text}': {error.message}", error.hint) from None

    def _fail(self, problem: str, hint: str) -> InputError:
        return InputError(f"{self._path}, line {self._line} {problem}", hint=hint)
