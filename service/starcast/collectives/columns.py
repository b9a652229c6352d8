"""Build schedules from columns that come from plug-ins, arrays or CSV files.

CSV files are not trusted. Every value is checked when it is read, and errors name the file and, for
a malformed value, the line. The length of lines, the size of numbers and the number of rows are
limited.
"""

import csv
import re
import sys
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import (
    ADDRESSED,
    MAX_ROWS,
    MULTI_SOURCE,
    REDUCTIONS,
    Schedule,
    build_schedule,
    check_collective,
    check_combine,
    check_lengths,
    check_request,
    checked_column,
    checked_units,
    count_separate_messages,
)
from starcast.collectives.rows import DTYPES, Columns
from starcast.support.arrays import Integers
from starcast.support.errors import InputError, LimitError, errors_in, unreadable
from starcast.support.integers import ceil_div
from starcast.support.limited import invalid_utf16, open_lines
from starcast.support.text import pluralize, with_article
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology, as_topology
from starcast.trees import Forest

#: Keys that a mapping of columns must have, and keys that it may have. In reductions, the key
#: ``combine`` is required, too.
REQUIRED = ("step", "sender", "port", "unit")
OPTIONAL = ("receiver", "tree", "combine", "units", "packets", "symmetric", "forest")
_NODES = ("sender", "receiver")
#: The algorithm name of a schedule that is built from its rows.
ALGORITHM = "rows"

#: Labels are converted to ranks one by one, or with a table of all labels, which needs 4 bytes per
#: node and symbol. In topologies with translations, the table is used only for at least `_FEW`
#: labels and at most `_TABLE` nodes.
_FEW, _TABLE = 100, 10_000_000

_NO_ARGUMENTS: Mapping[str, int | str] = MappingProxyType({})


def schedule_from_columns(
    columns: Mapping[str, Any],
    topology: Topology | str,
    collective: Collective,
    algorithm: str = ALGORITHM,
    ports: Ports = "all",
    root: int | str = 0,
    arguments: Mapping[str, int | str] = _NO_ARGUMENTS,
) -> Schedule:
    """Build a schedule from its columns, whose rows may be in any order.

    The rows are not trusted: `starcast.simulate` checks the schedule.

    Args:
        columns: the columns ``step``, ``sender``, ``port`` and ``unit`` of equal length (see
            `Schedule`); nodes are ranks, or labels as strings. If omitted, ``receiver`` is the
            node across the port, and ``tree`` is 0. Reductions also need ``combine`` (bool or 0/1).
            The mapping may also contain ``units``, ``packets``, ``symmetric`` and ``forest``. By
            default, ``units`` is the smallest number of units that the collective can have with
            these rows, and ``packets`` is True if a directed link carries several units in a step.
        topology: the topology or its spec.
        collective: the name of the collective.
        algorithm: the algorithm name to store in the schedule.
        ports: the port model: ``all`` or ``one``.
        root: rank or label of the root.
        arguments: the algorithm arguments to store in the schedule, such as ``segments``.

    Raises:
        InputError: a column is missing or unknown, the columns differ in length, a value is not an
            integer or is out of range, a row names a node, port or unit that does not exist, or
            another argument is invalid.

    Example:
        >>> columns = {"step": [1, 2], "sender": ["12", "21"], "port": [2, 2], "unit": [0, 0]}
        >>> starcast.simulate(starcast.schedule_from_columns(columns, "S2", "broadcast")).complete
        True
    """
    if problem := _wrong_name(columns, (*REQUIRED, *OPTIONAL)):
        raise InputError(
            f"the mapping of columns {problem}",
            hint=f"use {_describe_columns(collective, OPTIONAL)}",
        )
    topology = as_topology(topology)
    check_collective(collective)
    arrays: dict[str, Any] = {
        name: _check_column(topology, name, columns[name]) for name in REQUIRED
    }
    _check_senders(topology, arrays["sender"], arrays["port"])
    derived: dict[str, Any] = {"tree": np.zeros_like(arrays["step"])}
    if "receiver" not in columns:
        derived["receiver"] = _find_receivers(topology, arrays["sender"], arrays["port"])
    columns = derived | dict(columns)
    for name in ("receiver", "tree"):
        arrays[name] = _check_column(topology, name, columns[name])
    if columns.get("combine") is not None:
        arrays["combine"] = _check_column(topology, "combine", columns["combine"])
    check_lengths(arrays)
    _check_nodes(topology, arrays["receiver"])
    forest = columns.get("forest")
    if forest is not None and not isinstance(forest, Forest):
        raise InputError(
            f"forest must be a Forest or None, not {type(forest).__name__}",
            hint="pass a Forest, or omit the forest",
        )
    rows = Columns(**arrays)
    check_combine(collective, rows.combine)
    for name in ("packets", "symmetric"):
        if not isinstance(columns.get(name), bool | np.bool_ | int | np.integer | None):
            raise InputError(
                f"{name} must be true or false, not {columns[name]!r}",
                hint=f"pass True or False, or omit {name}",
            )
    symmetric = bool(columns.get("symmetric", False))
    units = columns.get("units")
    packets = columns.get("packets")
    if units is None:
        units = _least_units(topology, collective, symmetric, rows, topology.node(root))
    elif checked_units(units) < (least := int(rows.unit.max(initial=-1)) + 1):
        raise InputError(
            f"{with_article(collective)} with these rows needs at least {least} units, not {units}",
            hint="pass the number of units, which must exceed the highest unit number",
        )
    return build_schedule(
        rows,
        topology=topology,
        collective=collective,
        algorithm=algorithm,
        ports=ports,
        root=root,
        arguments=arguments,
        units=units,
        packets=_has_packets(rows) if packets is None else bool(packets),
        symmetric=symmetric,
        forest=forest,
    )


def rank_labels(topology: Topology, texts: Collection[str]) -> dict[str, int]:
    """Return the rank of each text that is a node's label, as a dict; other texts are omitted."""
    if not topology.has_translations:
        # Without translations, labels may differ in length and need not be in the order of ranks.
        ranks_of = {label: rank for rank, label in enumerate(topology.labels().tolist())}
        return {text: ranks_of[text] for text in texts if text in ranks_of}
    length = len(topology.label(0))
    candidates = [text for text in texts if len(text) == length and text.isascii()]
    if len(candidates) < _FEW or topology.nodes > _TABLE:
        return {text: rank for text in candidates if (rank := _rank(topology, text)) is not None}
    # Ranks are the positions of labels in lexicographic order.
    labels = topology.labels()
    lower = np.array([text.lower() for text in candidates])
    ranks = np.minimum(np.searchsorted(labels, lower), topology.nodes - 1)
    found = zip(candidates, ranks.tolist(), (labels[ranks] == lower).tolist(), strict=True)
    return {text: rank for text, rank, is_label in found if is_label}


def _rank(topology: Topology, text: str) -> int | None:
    try:
        return topology.rank(text)
    except InputError:
        return None


def _check_column(topology: Topology, name: str, values: Any) -> NDArray[np.int64]:
    """Check a column's type, shape and range, and return it as int64, with labels as ranks."""
    array = np.asarray(values)
    # Data frames return labels as Python objects.
    if array.dtype.kind == "O" and all(isinstance(value, str) for value in array.flat):
        array = array.astype(np.str_)
    if array.dtype.kind == "U" and array.ndim == 1 and name in _NODES:
        # The same label occurs in many rows, so each distinct label is converted only once.
        labels, label_of = np.unique(array, return_inverse=True)
        texts = labels.tolist()
        known = rank_labels(topology, texts)
        ranks = [known[text] if text in known else topology.rank(text) for text in texts]
        return np.asarray(ranks, dtype=np.int64)[label_of]
    if name == "combine" and array.dtype.kind == "b":
        array = array.astype(np.int64)
    # NumPy converts an empty list to an array of dtype float64.
    array = checked_column(name, array if array.size else array.astype(np.int64))
    least = 1 if name == "step" else 0
    most = 1 if name == "combine" else int(np.iinfo(DTYPES[name]).max)
    if array.size and (int(array.min()) < least or int(array.max()) > most):
        wrong = int(array.min()) if int(array.min()) < least else int(array.max())
        raise InputError(
            f"the column '{name}' of a schedule has the invalid value {wrong}",
            hint=f"use integers from {least} to {most}",
        )
    return array.astype(np.int64)


def _check_nodes(topology: Topology, ranks: Integers) -> None:
    if len(ranks):
        topology.node(int(ranks.min()))
        topology.node(int(ranks.max()))


def _check_senders(topology: Topology, sender: Integers, port: Integers) -> None:
    check_lengths({"sender": sender, "port": port})
    _check_nodes(topology, sender)
    wrong = np.flatnonzero(~np.isin(port, topology.ports))
    if len(wrong):
        raise InputError(
            f"row {int(wrong[0])} of the schedule uses port {int(port[wrong[0]])}, which "
            f"{topology.spec} does not have",
            hint=f"use ports from {topology.ports[0]} to {topology.ports[-1]}",
        )


def _find_receivers(topology: Topology, sender: Integers, port: Integers) -> NDArray[np.int32]:
    receiver = topology.step(port.astype(np.uint8), sender)
    alone = np.flatnonzero(receiver == sender)
    if len(alone):
        row = int(alone[0])
        label = topology.label(int(sender[row]))
        linked = ", ".join(map(topology.label, topology.linked(int(sender[row]))))
        raise InputError(
            f"row {row} of the schedule uses port {int(port[row])}, at which {label} has no link",
            hint=f"{label} is adjacent to {linked}",
        )
    return receiver


def _describe_columns(collective: str, optional: Sequence[str]) -> str:
    """Return a text for hints that lists the required and the optional columns of a schedule."""
    required = (*REQUIRED, "combine") if collective in REDUCTIONS else REQUIRED
    others = [name for name in optional if name != "combine"]
    return f"{','.join(required)}; {', '.join(others)} are optional"


def _wrong_name(names: Collection[str], allowed: Collection[str]) -> str | None:
    """Return a clause about a missing or unknown column name, or None if all names are valid."""
    for name in REQUIRED:
        if name not in names:
            return f"has no column '{name}'"
    return next((f"has the unknown column '{each}'" for each in names if each not in allowed), None)


def _least_units(
    topology: Topology, collective: str, symmetric: bool, rows: Columns, root: int
) -> int:
    """Return the smallest number of units that the collective can have with the given rows.

    All messages have the same number of units: at least 1, so that an empty schedule does not count
    as complete. A message from a node to itself has numbered units but no rows. So if the last
    message is of this kind, the rows are assumed to belong to the earlier messages, unless some row
    would then send a unit from a node to itself.
    """
    messages = count_separate_messages(topology, collective, symmetric)
    count = int(rows.unit.max(initial=0)) + 1
    least = ceil_div(count, messages)
    if collective in ADDRESSED and not symmetric:
        # The numbers of the messages from a node to itself. With M units per message, unit u is in
        # message u // M.
        is_alltoall = collective in MULTI_SOURCE
        own = np.arange(0, messages, topology.endpoints + 1) if is_alltoall else np.array([root])
        without_last = ceil_div(count, messages - 1)
        if own[-1] == messages - 1 and not np.isin(rows.unit // without_last, own).any():
            least = without_last
    return least * messages


def _has_packets(rows: Columns) -> bool:
    """Return whether, in any step, the rows send several units over the same directed link."""
    keys = np.stack([rows.step, rows.sender, rows.port])
    return bool(len(rows.step) > np.unique(keys, axis=1).shape[1])


#: Columns that a CSV file may have besides `REQUIRED`, and all columns that it may have.
CSV_OPTIONAL = ("tree", "receiver", "combine")
CSV_COLUMNS = (*REQUIRED, *CSV_OPTIONAL)

#: The maximum number of characters in a line; valid lines are much shorter.
_MAX_LINE = 4096
_NUMBER = re.compile(r"\d{1,10}", re.ASCII)
#: Matches the decimals of an integer that is written as 1.0. Data frames with empty cells write
#: integers in this form.
_DECIMALS = re.compile(r"(?<=[0-9])\.0*\Z")
#: Booleans as spreadsheet programs and data frames write them.
_TRUTH_VALUES = {"true": "1", "false": "0"}


def schedule_from_csv(
    path: str | Path,
    topology: Topology | str,
    collective: Collective,
    ports: Ports = "all",
    root: int | str = 0,
) -> Schedule:
    """Read a schedule from a CSV file, whose rows may be in any order.

    The first line that is not blank has the column names ``step``, ``sender``, ``port`` and
    ``unit``, in a reduction also ``combine`` (0 or 1, or true or false), and optionally ``tree``
    and ``receiver``; see `Schedule`. Values are separated by commas, semicolons or tabs; columns
    without a name are ignored. Nodes are read as labels if all senders in the file are labels of
    the topology, and otherwise as ranks. The text ``#6`` always means rank 6. The rows are not
    trusted: `starcast.simulate` checks the schedule.

    Args:
        path: the file, in UTF-8 or UTF-16.
        topology: the topology or its spec.
        collective: the name of the collective.
        ports: the port model: ``all`` or ``one``.
        root: rank or label of the root.

    Raises:
        InputError: a parameter is invalid, or the file cannot be read, is not CSV in UTF-8 or
            UTF-16, or has an invalid value; for a value, the message names the file and the line.
        LimitError: the file has more than `MAX_ROWS` rows.
    """
    topology, origin = check_request(topology, collective, ports, root)
    try:
        with open_lines(path) as file:
            columns = _Reader(str(path), topology, collective, file).read()
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeError:
        raise invalid_utf16(path) from None
    with errors_in(path):
        return schedule_from_columns(columns, topology, collective, ports=ports, root=origin)


class _Reader:
    """Reader of a schedule in a CSV file; its error messages name the file and the line."""

    def __init__(self, path: str, topology: Topology, collective: str, file: TextIO) -> None:
        self._path = path
        self._topology = topology
        names = _describe_columns(collective, CSV_OPTIONAL)
        self._hint = f"begin the file with a header line of column names: {names}"
        self._file = file
        self._line = 0

    def read(self) -> dict[str, NDArray[Any]]:
        """Read the rows of the file, and return them as columns."""
        lines_read = self._lines()
        head = next((line for line in lines_read if line.strip()), "")
        reader = csv.reader(
            chain([head], lines_read),
            # Spreadsheet programs separate values by commas or semicolons, depending on the locale.
            delimiter=max(",;\t", key=head.count),
            skipinitialspace=True,
            strict=True,
        )
        try:
            names = self._names(next(reader, []))
            # Values are collected in arrays, which need 8 bytes per number; lists of integers would
            # need several times as much.
            numbers = {name: array("q") for name in names if name and name not in _NODES}
            nodes: dict[str, list[str]] = {name: [] for name in names if name in _NODES}
            lines = array("q")
            allowed = {name: self._allowed(name) for name in numbers}
            for row in reader:
                if not any(row):
                    continue
                if len(row) == len(names) + 1 and not row[-1]:
                    del row[-1]  # the empty value after a separator at the end of the line
                if len(row) != len(names):
                    raise self._fail(
                        f"has {pluralize(len(row), 'value')} for {len(names)} columns",
                        "write a value in every column of each row",
                    )
                if len(lines) == MAX_ROWS:
                    raise LimitError(
                        f"{self._path} has more than {MAX_ROWS:,} rows",
                        hint="use a smaller topology or fewer units",
                    )
                lines.append(self._line)
                for name, text in zip(names, row, strict=True):
                    if name in _NODES:
                        # Millions of rows repeat the same labels, so each label is stored once.
                        nodes[name].append(sys.intern(text.strip()))
                    elif name:
                        numbers[name].append(self._number(name, text.strip(), allowed[name]))
        except csv.Error as error:
            raise self._fail(f"is not CSV: {error}", "separate values by commas") from None
        columns: dict[str, NDArray[Any]] = {
            name: np.asarray(values, dtype=np.int64) for name, values in numbers.items()
        }
        return columns | self._ranks(nodes, lines)

    def _lines(self) -> Iterator[str]:
        # The length is limited, because a file without line ends would be read as one line.
        while line := self._file.readline(_MAX_LINE + 1):
            self._line += 1
            if len(line) > _MAX_LINE:
                raise self._fail(f"has more than {_MAX_LINE} characters", self._hint)
            try:
                line.encode()
            except UnicodeEncodeError:
                raise self._fail("is not UTF-8 text", "convert the file to UTF-8") from None
            yield line

    def _names(self, header: Sequence[str]) -> list[str]:
        # A column without a name, such as the index of a data frame, is not read.
        names = [name.strip().lower() for name in header]
        named = [name for name in names if name]
        if problem := _wrong_name(named, CSV_COLUMNS):
            if not header:
                raise InputError(f"{self._path} has no header line", hint=self._hint)
            raise self._fail(problem, self._hint)
        if len(set(named)) < len(named):
            raise self._fail("names a column twice", self._hint)
        return names

    def _allowed(self, name: str) -> Sequence[int]:
        if name == "port":
            return self._topology.ports
        if name == "combine":
            return range(2)
        return range(int(name == "step"), int(np.iinfo(DTYPES[name]).max) + 1)

    def _number(self, name: str, text: str, allowed: Sequence[int]) -> int:
        if name == "combine":
            text = _TRUTH_VALUES.get(text.lower(), text)
        text = _DECIMALS.sub("", text)
        hint = f"write an integer from {allowed[0]} to {allowed[-1]}"
        if not _NUMBER.fullmatch(text):
            raise self._fail(f"has the invalid {name} '{text}'", hint)
        number = int(text)
        if number not in allowed:
            raise self._fail(f"has the {name} {number}, which is out of range", hint)
        return number

    def _ranks(
        self, nodes: Mapping[str, list[str]], lines: Sequence[int]
    ) -> dict[str, NDArray[np.int64]]:
        """Convert the file's nodes (labels or ranks) to ranks, as `schedule_from_csv` describes."""
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
            if not has_labels and not self._topology.has_translations:
                raise InputError(  # noqa: TRY301 - the handler adds the line
                    f"other nodes are given as ranks, but '{text}' is not a rank",
                    hint="write all nodes as labels, or all as ranks",
                )
            return self._topology.rank(text)
        except InputError as error:
            raise self._fail(
                f"has the invalid {name} '{text}': {error.message}", error.hint
            ) from None

    def _fail(self, problem: str, hint: str) -> InputError:
        return InputError(f"{self._path}, line {self._line} {problem}", hint=hint)
