"""Load query packs (folders of ``<name>.cypher`` files), and read their measured times.

The measured times of the queries that come with starcast are in `queries/measured.json`, which
`benchmarks/packs.py` writes and which is never edited by hand. The file contains the machine, the
version of Neo4j and, for each query, the measured revision and the times in seconds. There is one
time per topology, measured with the slowest parameter values; it is null if the query did not
finish within ``timeout`` seconds. For the largest topology, there are also the times of other
systems, such as DuckDB or NumPy, for the same question.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pydantic

from starcast.queries.query import Query
from starcast.support.atomic import write_new
from starcast.support.errors import (
    InputError,
    LimitError,
    NotFoundError,
    RejectedError,
    StarcastError,
    unreadable,
)
from starcast.support.installation import data_folder
from starcast.support.table import Table
from starcast.support.text import did_you_mean

SUFFIX = ".cypher"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_NAME_HINT = "names consist of lower-case letters and digits joined by '-', such as shared-links"
#: The file that `write_template` copies; the title of the copy is replaced.
_TEMPLATE = Path(__file__).with_name("template.cypher")


@dataclass(frozen=True)
class Library:
    """The valid queries of several packs, and the errors of invalid queries.

    Attributes:
        queries: the valid queries by full name; starcast's queries come first.
        faults: the errors of invalid queries by full name. The error of an unreadable pack has the
            key ``pack/``, the error of an unreadable folder of packs has the key ``FOLDER/``, and
            the key for a query file outside packs is the file's name without suffix.
    """

    queries: dict[str, Query] = field(default_factory=dict)
    faults: dict[str, StarcastError] = field(default_factory=dict)

    def find(self, name: str) -> Query:
        """Return a query by name, even if other queries are invalid.

        Args:
            name: ``pack/name``, or only ``name`` if it is unique.

        Raises:
            NotFoundError: no query has this name.
            InputError: the query is invalid, or several packs have a query with this name.
        """
        matches = [each for each in self.queries.values() if name in {each.name, each.path.stem}]
        if len(matches) == 1:
            return matches[0]
        if matches:
            full_names = ", ".join(query.name for query in matches)
            raise InputError(
                f"several queries are named '{name}'", hint=f"write one of {full_names}"
            )
        # If the query could not be loaded, its error is raised.
        for key, fault in self.faults.items():
            in_pack = key.endswith("/") and name.startswith(key)
            if in_pack or name in {key, key.rpartition("/")[2]}:
                raise fault
        names = [*self.queries, *(query.path.stem for query in self.queries.values())]
        raise NotFoundError(
            f"unknown query '{name}'", hint=f"{did_you_mean(name, names)}see 'starcast query list'"
        )

    def search(self, text: str | None) -> list[Query]:
        """Return the queries in a pack, or those whose name, title or question contains a text.

        Args:
            text: the name of the pack, or the text to find; None for all queries.

        Raises:
            NotFoundError: no query matches.
        """
        queries = list(self.queries.values())
        packs = sorted({query.pack for query in queries})
        if text is None:
            return queries
        if text in packs:
            return [query for query in queries if query.pack == text]
        matches = [query for query in queries if text.casefold() in query.summary]
        if not matches:
            raise NotFoundError(
                f"no query matches '{text}'",
                hint=f"{did_you_mean(text, packs)}use another word, or one of the packs"
                f" {', '.join(packs)}",
            )
        return matches

    def require_valid(self) -> dict[str, Query]:
        """Return the queries by full name, if all of them are valid.

        Raises:
            InputError: a query is invalid; the error is the first one in `faults`.
        """
        for fault in self.faults.values():
            raise fault
        return self.queries


def load_library(*packs: Path, stem: str | None = None, shipped: bool = True) -> Library:
    """Load starcast's packs and the user's packs; collect errors in `Library.faults`.

    If several packs have the same name, an error is recorded for each of their queries.

    Args:
        packs: the user's folders of packs.
        stem: load only queries with this file name, without pack and suffix (default: all).
        shipped: whether to load starcast's packs.
    """
    library = Library()
    named: dict[str, list[Path]] = {}
    for root in (*[data_folder("queries")] * shipped, *dict.fromkeys(packs)):
        with _record_fault(library, f"{root}/"):
            for entry in _entries(root):
                if entry.suffix == SUFFIX:
                    library.faults[entry.stem] = InputError(
                        f"the query file {entry} is not in a pack",
                        hint="move the file into a subfolder, whose name is the name of the pack",
                    )
                elif _is_pack(entry):
                    named.setdefault(entry.name, []).append(entry)
    for name, folders in named.items():
        with _record_fault(library, f"{name}/"):
            _load_pack(folders, library, stem)
    return library


def load_queries(*packs: Path) -> dict[str, Query]:
    """Return starcast's queries and the user's queries by full name.

    Raises:
        InputError: a query is invalid, or two packs have the same name.
    """
    return load_library(*packs).require_valid()


def load_folder(directory: Path) -> dict[str, Query]:
    """Return the queries in a folder by full name. The folder is a pack, or contains packs.

    Raises:
        InputError: the folder cannot be read, or a query is invalid.
    """
    entries = _entries(directory)
    has_packs = any(map(_is_pack, entries))
    if has_packs or not any(entry.suffix == SUFFIX for entry in entries):
        return load_library(directory, shipped=False).require_valid()
    library = Library()
    _load_pack([directory], library)
    return library.require_valid()


def find(name: str, *packs: Path) -> Query:
    """Return a query, given by name or by the path of its file.

    The name is ``pack/name``, or only the last part if it is unique.

    Raises:
        NotFoundError: no query has this name.
        InputError: several packs have a query with this name, or the query is invalid.
    """
    if is_file(name):
        return Query.read(Path(name).absolute())
    # Usually the name is right, and only the files with this name need to be read.
    with suppress(NotFoundError):
        return load_library(*packs, stem=name.rpartition("/")[2]).find(name)
    # Load all queries, so that the error can suggest similar names.
    return load_library(*packs).find(name)


def is_file(name: str) -> bool:
    """Return whether an argument is the path of a query file rather than a name."""
    return name.endswith(SUFFIX) or os.path.isfile(name)  # noqa: PTH113 - never raises


def write_template(name: str, directory: Path) -> Path:
    """Write a small valid query to a new file, for the user to edit, and return its path.

    Args:
        name: ``pack/name``.
        directory: the parent folder of packs; this folder and the pack's folder are created if
            missing.

    Raises:
        InputError: the name is invalid, or the file exists or cannot be written.
    """
    pack, slash, query = name.partition("/")
    if not slash:
        raise InputError(
            f"the query name '{name}' does not contain a pack",
            hint=f"write PACK/NAME, such as mine/{name}",
        )
    path = directory / pack / f"{query}{SUFFIX}"
    _check_names(pack, query, path)
    text = _TEMPLATE.read_text(encoding="utf-8")
    return write_new(path, text.replace("TITLE", query.replace("-", " ").capitalize()))


def _load_pack(folders: Sequence[Path], library: Library, stem: str | None = None) -> None:
    """Add the queries of a pack to a library, or errors if several folders have the pack's name.

    Args:
        folders: the folders with the name of the pack, usually one.
        library: the library to which the queries and errors are added.
        stem: load only queries with this file name, without suffix (default: all).
    """
    files = [path for each in folders for path in _entries(each) if path.suffix == SUFFIX]
    for path in files:
        if stem not in {None, path.stem}:
            continue
        pack = path.parent.name
        with _record_fault(library, f"{pack}/{path.stem}"):
            _check_names(pack, path.stem, path)
            first, last = files[0].parent, files[-1].parent
            if first != last:
                raise InputError(
                    f"two packs are named '{pack}': {last} and {first}",
                    hint=f"rename the folder {last}",
                )
            query = Query.read(path)
            library.queries[query.name] = query


@contextmanager
def _record_fault(library: Library, key: str) -> Iterator[None]:
    """Catch an error of a query file, and store it under the key in `Library.faults`."""
    try:
        yield
    # A LimitError means that a query is too long, or that its brackets are nested too deeply.
    except (InputError, LimitError) as error:
        library.faults[key] = error


def _check_names(pack: str, query: str, path: Path) -> None:
    for name in (pack, query):
        if not _NAME.fullmatch(name):
            message = f"{path}: '{name}' is not a valid pack or query name"
            raise InputError(message, hint=_NAME_HINT)


def _is_pack(entry: Path) -> bool:
    return not entry.name.startswith(".") and entry.is_dir()


def _entries(directory: Path) -> list[Path]:
    try:
        entries = sorted(directory.iterdir())
        for entry in entries[:1]:
            # A folder may be readable, although its files are not accessible.
            entry.lstat()
    except OSError as error:
        raise unreadable(
            f"the folder of query packs {directory}",
            error,
            "check path and permissions; the setting 'packs' names the folder of your own packs",
        ) from None
    return entries


SIZES = ("S6", "S7", "S8")
LARGEST = SIZES[-1]


class Figures(pydantic.BaseModel):
    """Measured times of one query.

    Attributes:
        revision: the revision of the query that was measured.
        seconds: the query's time in seconds by topology; None if the time limit was reached.
        others: the seconds that other systems, such as DuckDB or NumPy, took for the same question
            on `LARGEST`, by system.
    """

    model_config = pydantic.ConfigDict(frozen=True)

    revision: int
    seconds: dict[str, float | None]
    others: dict[str, float]


class Measurements(pydantic.BaseModel):
    """The content of the measurement file: the measured times, and where they were measured.

    Attributes:
        machine: a description of the machine; empty if there is no measurement file.
        neo4j: the version of Neo4j.
        timeout: the time limit of the measured queries in seconds.
        queries: the times of each query, by full name.
    """

    model_config = pydantic.ConfigDict(frozen=True)

    machine: str = ""
    neo4j: str = ""
    timeout: float = 30.0
    queries: dict[str, Figures] = {}

    def find(self, query: Query) -> Figures | None:
        """Return a query's measured times, or None if its current revision was not measured."""
        figures = self.queries.get(query.name)
        # A query of the user may have the same name as a query that comes with starcast.
        is_shipped = query.path.is_relative_to(data_folder("queries"))
        if figures is None or not is_shipped or figures.revision != query.header.revision:
            return None
        return figures

    def format_seconds(self, figures: Figures | None, spec: str) -> str:
        """Return a query's seconds on a topology as text, such as ``0.012`` or ``> 30``.

        The text is "" if the time was not measured.
        """
        if figures is None or spec not in figures.seconds:
            return ""
        seconds = figures.seconds[spec]
        return f"> {self.timeout:g}" if seconds is None else f"{seconds:.2g}"

    def describe(self, query: Query) -> str:
        """Return a query's measured times as text, or "" if its revision was not measured."""
        figures = self.find(query)
        if figures is None:
            return ""
        measured = [spec for spec in SIZES if spec in figures.seconds]
        seconds = ", ".join(f"{spec} {self.format_seconds(figures, spec)} s" for spec in measured)
        others = ", ".join(f"{name} {value:.2g} s" for name, value in figures.others.items())
        comparison = f"; for comparison, on {LARGEST}: {others}" if others else ""
        return f"measured time: {seconds}{comparison}"


@cache
def measurements(file: Path | None = None) -> Measurements:
    """Read a measurement file, by default `queries/measured.json`.

    If the file does not exist, the result contains no queries.

    Raises:
        InputError: the operating system cannot read the file.
        RejectedError: the file is invalid.
    """
    path = file or data_folder("queries") / "measured.json"
    try:
        return Measurements.model_validate_json(path.read_bytes())
    # The query packs can still be used if they were copied without this file.
    except FileNotFoundError:
        return Measurements()
    except OSError as error:
        raise unreadable(path, error) from None
    except pydantic.ValidationError:
        raise RejectedError(
            f"{path} is not a valid measurement file",
            hint="run 'python -m benchmarks packs --write'",
        ) from None


def list_queries(queries: Iterable[Query], note: str = "") -> Table:
    """Return a table of queries with their parameters and measured seconds on S6, S7 and S8."""
    seconds_columns = {f"seconds_{spec.lower()}": spec for spec in SIZES}
    known = measurements()
    rows = []
    for query in queries:
        figures = known.find(query)
        row = {
            "query": query.name,
            "question": query.header.question,
            "parameters": "; ".join(f"{p.name} ({p.declaration})" for p in query.parameters),
            "cost": query.header.cost,
        }
        for column, spec in seconds_columns.items():
            row[column] = known.format_seconds(figures, spec)
        rows.append(row)
    columns = ["query", "question", "parameters", "cost", *seconds_columns]
    return Table.of(rows, columns, note, spare=("cost",))
