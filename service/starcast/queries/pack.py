"""Query packs: folders of ``<name>.cypher`` files, one query per file."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from starcast.errors import InputError, NotFoundError
from starcast.queries.checks import check_columns, check_parameters, check_reads_only
from starcast.queries.header import Column, Header, file_error, parse_header
from starcast.queries.parameters import Parameter
from starcast.queries.tokens import Token, tokenize
from starcast.resources import folder
from starcast.support.limited import read_text
from starcast.support.text import did_you_mean

SUFFIX = ".cypher"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_NAME_HINT = "names consist of lower-case letters and digits joined by '-', such as shared-links"


@dataclass(frozen=True)
class Query:
    """A query: a header and a Cypher statement, checked when the object is created.

    Args:
        path: the file that it was read from.
        text: the text of the file; it runs completely, including the comments.

    Raises:
        InputError: the header is not valid, or the Cypher writes or does not agree with the header;
            the message names file and line.
    """

    path: Path
    text: str = field(repr=False)

    def __post_init__(self) -> None:
        check_reads_only(self.tokens, self.path)
        check_parameters(self.tokens, self.header, self.path)
        check_columns(self.tokens, self.header, self.path)

    @staticmethod
    def read(path: Path) -> "Query":
        """Read a query file.

        Raises:
            InputError: the file cannot be read, or its query is not valid.
        """
        try:
            return _checked(path, read_text(path))
        except UnicodeDecodeError:
            raise file_error(path, 1, "the file is not UTF-8 text", "save it as UTF-8") from None
        except OSError as error:
            raise InputError(
                f"{path} cannot be read: {error.strerror}", hint="check its path and its mode"
            ) from None

    @cached_property
    def tokens(self) -> Sequence[Token]:
        """The tokens of the Cypher, without comments and a final ``;``."""
        tokens = tokenize(self.text)
        return tokens[:-1] if tokens and tokens[-1].is_symbol(";") else tokens

    @cached_property
    def header(self) -> Header:
        """The parsed header."""
        return parse_header(self.text, self.path)

    @property
    def pack(self) -> str:
        """The name of its pack, which is that of the folder."""
        return self.path.parent.name

    @property
    def name(self) -> str:
        """Its full name, such as ``overlap/shared-links``."""
        return f"{self.pack}/{self.path.stem}"

    @property
    def summary(self) -> str:
        """Its name, title and question in lower case, to search in."""
        return f"{self.name} {self.header.title} {self.header.question}".casefold()

    @property
    def cypher(self) -> str:
        """The statement that is sent to the server."""
        return self.text.rstrip().removesuffix(";")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters."""
        return self.header.parameters

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of its result."""
        return self.header.columns


@lru_cache(maxsize=1_000)
def _checked(path: Path, text: str) -> Query:
    """Return a query, which is checked again only if its file has changed."""
    return Query(path, text)


@dataclass(frozen=True)
class Library:
    """The valid queries of some packs, and the errors of the others.

    Attributes:
        queries: the valid queries by full name, in order.
        faults: the errors by the full name of the query; ``pack/`` is a pack that cannot be read,
            ``FOLDER/`` a folder of packs.
    """

    queries: dict[str, Query] = field(default_factory=dict)
    faults: dict[str, InputError] = field(default_factory=dict)

    def find(self, name: str) -> Query:
        """Return a query by name; faults of other queries do not matter.

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
        for key, fault in self.faults.items():
            in_pack = key.endswith("/") and name.startswith(key)
            if in_pack or name in {key, key.rpartition("/")[2]}:
                raise fault
        names = [*self.queries, *(query.path.stem for query in self.queries.values())]
        raise NotFoundError(
            f"unknown query '{name}'", hint=f"{did_you_mean(name, names)}see 'starcast query list'"
        )

    def search(self, text: str | None) -> list[Query]:
        """Return the queries of a pack, or those with a word in their name, title or question.

        Args:
            text: the pack or the word; None for all queries.

        Raises:
            NotFoundError: no query matches.
        """
        if text is None:
            return list(self.queries.values())
        packs = {query.pack for query in self.queries.values()}
        matches = [
            query
            for query in self.queries.values()
            if (query.pack == text if text in packs else text.casefold() in query.summary)
        ]
        if not matches:
            raise NotFoundError(
                f"no query matches '{text}'",
                hint=f"{did_you_mean(text, packs)}the packs are {', '.join(sorted(packs))}",
            )
        return matches

    def require_valid(self) -> dict[str, Query]:
        """Return the queries if all of them are valid.

        Raises:
            InputError: the first fault.
        """
        for fault in self.faults.values():
            raise fault
        return self.queries


def load_library(*packs: Path) -> Library:
    """Load the shipped packs and those in folders of the user; invalid queries become faults.

    If several folders have a pack of the same name, all its queries are faults.
    """
    merged = Library()
    packs_by_name: dict[str, list[Query]] = {}
    for directory in _roots(packs):
        library = _load_packs(directory)
        merged.faults.update(library.faults)
        for query in library.queries.values():
            packs_by_name.setdefault(query.pack, []).append(query)
    for queries in packs_by_name.values():
        if len({query.path.parent for query in queries}) == 1:
            merged.queries.update((query.name, query) for query in queries)
        else:
            merged.faults.update(
                (query.name, _name_conflict(query, queries)) for query in reversed(queries)
            )
    return merged


def _roots(packs: Sequence[Path]) -> Sequence[Path]:
    return (folder("queries"), *dict.fromkeys(packs))


def load_queries(*packs: Path) -> dict[str, Query]:
    """Return the shipped queries and those of the user by full name.

    Raises:
        InputError: a query is not valid, or two packs have the same name.
    """
    return load_library(*packs).require_valid()


def load_folder(directory: Path) -> dict[str, Query]:
    """Return all queries of a pack, or of the packs in a folder, by full name, in order.

    Raises:
        InputError: the folder cannot be read, or a query is not valid.
    """
    entries = _entries(directory)
    has_packs = any(entry.is_dir() and not entry.name.startswith(".") for entry in entries)
    if has_packs or not any(entry.suffix == SUFFIX for entry in entries):
        return _load_packs(directory).require_valid()
    library = Library()
    _load_pack(directory, library)
    return library.require_valid()


def find(name: str, *packs: Path) -> Query:
    """Return a query by name (``pack/name``, or only the name if it is unique) or by file.

    Raises:
        NotFoundError: there is no such query.
        InputError: several packs have a query of that name, or the query is not valid.
    """
    if is_file(name):
        return Query.read(Path(name).absolute())
    path = _only_file(name, packs)
    return load_library(*packs).find(name) if path is None else Query.read(path)


def _only_file(name: str, packs: Sequence[Path]) -> Path | None:
    """Return the file of a query, so that no other is read; None if its name needs all of them."""
    pack, _, stem = name.rpartition("/")
    with suppress(OSError):
        folders = [each for root in _roots(packs) for each in root.iterdir() if each.is_dir()]
        names = [each.name for each in folders]
        found = [
            each
            for each in folders
            if pack in {"", each.name} and (each / f"{stem}{SUFFIX}").is_file()
        ]
        is_valid = all(_NAME.fullmatch(part) for part in (stem, *(each.name for each in found)))
        if len(found) == 1 and is_valid and names.count(found[0].name) == 1:
            return found[0] / f"{stem}{SUFFIX}"
    return None


def is_file(name: str) -> bool:
    """Return whether an argument is the path of a query file rather than a name."""
    return name.endswith(SUFFIX) or os.path.isfile(name)  # noqa: PTH113 - never raises


def _load_packs(directory: Path) -> Library:
    library = Library()
    with _record_fault(library, f"{directory}/"):
        for entry in _entries(directory):
            key = entry.stem if entry.suffix == SUFFIX else f"{entry.name}/"
            with _record_fault(library, key):
                if entry.suffix == SUFFIX:
                    raise InputError(
                        f"{entry} is not in a pack",
                        hint="move it into a folder, which gives the pack its name",
                    )
                if not entry.name.startswith(".") and entry.is_dir():
                    _load_pack(entry, library)
    return library


def _load_pack(pack: Path, library: Library) -> None:
    for path in _entries(pack):
        if path.suffix == SUFFIX:
            with _record_fault(library, f"{pack.name}/{path.stem}"):
                for part in (pack.name, path.stem):
                    check_name(part, path)
                query = Query.read(path)
                library.queries[query.name] = query


@contextmanager
def _record_fault(library: Library, key: str) -> Iterator[None]:
    """Record an InputError as a fault and continue."""
    try:
        yield
    except InputError as error:
        library.faults[key] = error


def check_name(name: str, path: Path) -> None:
    """Check the name of a pack or query.

    Raises:
        InputError: it is not valid; the message names the file.
    """
    if not _NAME.fullmatch(name):
        message = f"{path}: '{name}' is not a valid name of a pack or query"
        raise InputError(message, hint=_NAME_HINT)


def _name_conflict(query: Query, queries: Sequence[Query]) -> InputError:
    """Return the error for a query of a pack whose queries are in several folders."""
    last = queries[-1].path.parent
    own = next(each for each in queries if each.path.parent == last)
    others = [each for each in queries if each.path.parent != last]
    other = next((each for each in others if each.name == query.name), others[0])
    return InputError(
        f"two packs are named '{query.pack}': that of {own.path} and that of {other.path}",
        hint=f"rename the folder {last}",
    )


def _entries(directory: Path) -> list[Path]:
    try:
        entries = sorted(directory.iterdir())
        for entry in entries[:1]:
            entry.lstat()  # fails in a folder that may be listed but not entered
    except OSError as error:
        raise InputError(
            f"the folder of query packs {directory} cannot be read: {error.strerror}",
            hint="check its path and mode; the setting 'packs' names the folder of your own packs",
        ) from None
    return entries
