"""Query packs: folders of ``<name>.cypher`` files, one query per file."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from starcast.queries.checks import check_reads_only, find_parameters
from starcast.queries.header import Column, Header, parse_header
from starcast.queries.parameters import COMPUTED, Parameter
from starcast.support.atomic import atomic_write
from starcast.support.errors import InputError, NotFoundError, unreadable
from starcast.support.limited import read_text
from starcast.support.paths import data_folder
from starcast.support.text import did_you_mean

SUFFIX = ".cypher"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_NAME_HINT = "names consist of lower-case letters and digits joined by '-', such as shared-links"
#: The file that `write_template` copies; its title is replaced.
_TEMPLATE = Path(__file__).with_name("template.cypher")


@dataclass(frozen=True)
class Query:
    """A query: a header and a Cypher statement, checked when the object is created.

    Args:
        path: the file from which the query was read.
        text: the text of the file, which is sent to the server with its comments.

    Raises:
        InputError: the header is not valid, the Cypher statement writes, or its parameters are not
            those declared in the header; the message names the file.
    """

    path: Path
    text: str = field(repr=False)

    def __post_init__(self) -> None:
        check_reads_only(self.text, self.path)
        declared = [parameter.name for parameter in self.parameters]
        # The server reports a missing parameter only when the query runs, and never an unused one.
        used = find_parameters(self.text)
        add = "add it to the header's parameters"
        for name in self.computed:
            message = f"${name} needs the parameter '{{}}', which is not declared"
            self._require(COMPUTED[name][0], declared, message, add)
        known = [*declared, *self.computed]
        self._require(used, known, "the parameter ${} is not declared", add)
        unused = "the parameter '{}' is declared but not used"
        self._require(declared, used, unused, "use it or remove the declaration")

    def check_columns(self, returned: Sequence[str]) -> None:
        """Check that the columns returned by the server are those declared in the header.

        Raises:
            InputError: the columns have other names or another order.
        """
        declared = [column.name for column in self.columns]
        if not returned:
            hint = f"end with RETURN {', '.join(declared)}"
            raise self._error("the query has no RETURN clause", hint)
        missing = "the column '{}' is declared but not returned"
        self._require(declared, returned, missing, "add it to RETURN")
        surplus = "the column '{}' is returned but not declared"
        self._require(returned, declared, surplus, "add it to the header's columns")
        if list(returned) != declared:
            message = "the columns of RETURN and of the header are in a different order"
            raise self._error(message, f"declare them in the order {', '.join(returned)}")

    def _require(self, names: Iterable[str], known: Sequence[str], message: str, hint: str) -> None:
        """Raise an error about the first name that is not known."""
        for name in names:
            if name not in known:
                raise self._error(message.format(name), hint)

    def _error(self, message: str, hint: str) -> InputError:
        return InputError(f"{self.path}: {message}", hint=hint)

    @staticmethod
    def read(path: Path) -> "Query":
        """Read a query file.

        Raises:
            InputError: the file cannot be read, or its query is not valid.
        """
        try:
            return _checked(path, read_text(path))
        except UnicodeDecodeError:
            raise InputError(
                f"{path}: the file is not UTF-8 text", hint="save it as UTF-8"
            ) from None
        except OSError as error:
            raise unreadable(path, error) from None

    @cached_property
    def header(self) -> Header:
        """The parsed header of the query."""
        try:
            return parse_header(self.text)
        except InputError as error:
            raise self._error(error.message, error.hint) from None

    @property
    def pack(self) -> str:
        """The name of the query's pack, which is the name of its folder."""
        return self.path.parent.name

    @property
    def name(self) -> str:
        """The full name of the query, such as ``overlap/shared-links``."""
        return f"{self.pack}/{self.path.stem}"

    @property
    def summary(self) -> str:
        """The query's name, title and question in lower case, for searching."""
        return f"{self.name} {self.header.title} {self.header.question}".casefold()

    @property
    def cypher(self) -> str:
        """The statement that is sent to the server."""
        return self.text.rstrip().removesuffix(";")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters declared in the header."""
        return self.header.parameters

    @property
    def computed(self) -> list[str]:
        """The names of the values in `COMPUTED` that the query uses."""
        declared = {parameter.name for parameter in self.parameters}
        used = find_parameters(self.text)
        return [name for name in used if name in COMPUTED and name not in declared]

    def compute(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Add the computed values that the statement needs to the parameter values.

        Raises:
            InputError: a value cannot be computed from the parameter values.
        """
        functions = {name: COMPUTED[name] for name in self.computed}
        return {
            **values,
            **{name: make(*map(values.get, needs)) for name, (needs, make) in functions.items()},
        }

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the result, as declared in the header."""
        return self.header.columns


@lru_cache(maxsize=1_000)
def _checked(path: Path, text: str) -> Query:
    """Create and check a query, or return the cached one if the file has not changed."""
    return Query(path, text)


@dataclass(frozen=True)
class Library:
    """The valid queries of several packs, and the errors of the other queries.

    Attributes:
        queries: the valid queries by full name, in order.
        faults: the errors by full query name; by ``pack/`` for a pack that cannot be read, or by
            ``FOLDER/`` for a folder of packs that cannot be read.
    """

    queries: dict[str, Query] = field(default_factory=dict)
    faults: dict[str, InputError] = field(default_factory=dict)

    def find(self, name: str) -> Query:
        """Return a query by name, regardless of faults in other queries.

        Args:
            name: ``pack/name``, or only the name if it is unique.

        Raises:
            NotFoundError: there is no such query.
            InputError: the query is not valid, or several packs have a query of that name.
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
        """Return the queries of a pack, or those whose name, title or question contains a word.

        Args:
            text: the name of the pack, or the word; None for all queries.

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
                hint=f"{did_you_mean(text, packs)}the packs are {', '.join(packs)}",
            )
        return matches

    def require_valid(self) -> dict[str, Query]:
        """Return the queries if all of them are valid.

        Raises:
            InputError: a query is not valid; the error is the first one in `faults`.
        """
        for fault in self.faults.values():
            raise fault
        return self.queries


def load_library(*packs: Path, stem: str | None = None) -> Library:
    """Load starcast's packs and those in the user's folders; errors are stored as `Library.faults`.

    If several folders contain packs of the same name, the queries of these packs count as errors.

    Args:
        packs: the user's folders of packs.
        stem: load only queries with this name, which does not include the pack.
    """
    return _load_packs((data_folder("queries"), *dict.fromkeys(packs)), stem)


def load_queries(*packs: Path) -> dict[str, Query]:
    """Return starcast's queries and the user's queries by full name.

    Raises:
        InputError: a query is not valid, or two packs have the same name.
    """
    return load_library(*packs).require_valid()


def load_folder(directory: Path) -> dict[str, Query]:
    """Return the queries in the folder of a pack, or in a folder of packs, by full name in order.

    Raises:
        InputError: the folder cannot be read, or a query is not valid.
    """
    entries = _entries(directory)
    has_packs = any(map(_is_pack, entries))
    if has_packs or not any(entry.suffix == SUFFIX for entry in entries):
        return _load_packs([directory]).require_valid()
    library = Library()
    _load_pack([directory], library)
    return library.require_valid()


def find(name: str, *packs: Path) -> Query:
    """Return a query by name (``pack/name``, or only the name if it is unique) or by file.

    Raises:
        NotFoundError: there is no such query.
        InputError: several packs have a query of that name, or the query is not valid.
    """
    if is_file(name):
        return Query.read(Path(name).absolute())
    # If the name is right, which is usual, only the files with this name need to be read.
    with suppress(NotFoundError):
        return load_library(*packs, stem=name.rpartition("/")[2]).find(name)
    # Load all queries, so that the error can suggest similar names.
    return load_library(*packs).find(name)


def is_file(name: str) -> bool:
    """Return whether an argument is the path of a query file rather than a name."""
    return name.endswith(SUFFIX) or os.path.isfile(name)  # noqa: PTH113 - never raises


def write_template(name: str, directory: Path) -> Path:
    """Write a small valid query to a new file as a template, and return its path.

    Args:
        name: ``pack/name``.
        directory: the folder of packs; it and the pack's folder are created if missing.

    Raises:
        InputError: the name is not valid, or the file exists or cannot be written.
    """
    pack, slash, query = name.partition("/")
    if not slash:
        raise InputError(
            f"'{name}' does not name a pack", hint=f"write PACK/NAME, such as mine/{name}"
        )
    path = directory / pack / f"{query}{SUFFIX}"
    _check_names(pack, query, path)
    if path.exists():
        raise InputError(f"{path} already exists", hint="choose another name, or remove the file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder {path.parent} cannot be created: {error.strerror}",
            hint="check its path and permissions, or name another folder with --folder",
        ) from None
    text = _TEMPLATE.read_text(encoding="utf-8")
    with atomic_write(path) as file:
        file.write(text.replace("TITLE", query.replace("-", " ").capitalize()).encode())
    return path


def _load_packs(roots: Iterable[Path], stem: str | None = None) -> Library:
    library = Library()
    packs: dict[str, list[Path]] = {}
    for root in roots:
        with _record_fault(library, f"{root}/"):
            for entry in _entries(root):
                if entry.suffix == SUFFIX:
                    library.faults[entry.stem] = InputError(
                        f"{entry} is not in a pack",
                        hint="move it into a folder whose name is the name of the pack",
                    )
                elif _is_pack(entry):
                    packs.setdefault(entry.name, []).append(entry)
    for name, folders in packs.items():
        with _record_fault(library, f"{name}/"):
            _load_pack(folders, library, stem)
    return library


def _load_pack(folders: Sequence[Path], library: Library, stem: str | None = None) -> None:
    """Load the queries of a pack; record errors instead if several folders contain the pack."""
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
    """Record an InputError raised in the context as a fault of the library, and continue."""
    try:
        yield
    except InputError as error:
        library.faults[key] = error


def _check_names(pack: str, query: str, path: Path) -> None:
    for name in (pack, query):
        if not _NAME.fullmatch(name):
            message = f"{path}: '{name}' is not a valid name of a pack or query"
            raise InputError(message, hint=_NAME_HINT)


def _is_pack(entry: Path) -> bool:
    return not entry.name.startswith(".") and entry.is_dir()


def _entries(directory: Path) -> list[Path]:
    try:
        entries = sorted(directory.iterdir())
        for entry in entries[:1]:
            entry.lstat()  # raises an error if the folder may be listed but not entered
    except OSError as error:
        raise InputError(
            f"the folder of query packs {directory} cannot be read: {error.strerror}",
            hint="check its path and permissions; the setting 'packs' names the folder of your own "
            "packs",
        ) from None
    return entries
