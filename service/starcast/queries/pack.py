"""Query packs: folders of ``<name>.cypher`` files, one question a file.

A `Query` cannot be held before it was checked.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

from starcast.errors import InputError, NotFoundError
from starcast.queries.checks import check_columns, check_parameters, check_reads_only
from starcast.queries.file_errors import fault, meant
from starcast.queries.header import Column, Header, parse
from starcast.queries.parameters import Parameter
from starcast.queries.tokens import Token, tokens
from starcast.resources import folder

SUFFIX = ".cypher"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_NAME_HINT = "names are small letters and digits joined by '-', as shared-links"


@dataclass(frozen=True)
class Query:
    """One question: a header and the Cypher that answers it, which pastes into Neo4j Browser.

    Args:
        path: the file that it was read from.
        text: all of the file; this is what runs, comments included.

    Raises:
        InputError: the header is incomplete, or the Cypher writes or does not do what the header says; names file and line.
    """

    path: Path
    text: str = field(repr=False)

    def __post_init__(self) -> None:
        check_reads_only(self.tokens, self.path)
        check_parameters(self.tokens, self.header, self.path)
        check_columns(self.tokens, self.header, self.path)

    @classmethod
    def read(cls, path: Path) -> Self:
        """The query in this file.

        Raises:
            InputError: the file cannot be read, or its query is refused.
        """
        try:
            return cls(path, path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise fault(path, 1, "the file is not UTF-8 text", "save it as UTF-8") from None
        except OSError as error:
            raise InputError(
                f"{path} cannot be read: {error.strerror}", hint="check its path and its mode"
            ) from None

    @cached_property
    def tokens(self) -> Sequence[Token]:
        """The Cypher as tokens, without comments and without a last ``;``."""
        found = tokens(self.text)
        return found[:-1] if found and found[-1].is_symbol(";") else found

    @cached_property
    def header(self) -> Header:
        """What stands above the Cypher."""
        return parse(self.text, self.path)

    @property
    def pack(self) -> str:
        """Name of the pack: the folder's."""
        return self.path.parent.name

    @property
    def name(self) -> str:
        """Full name: ``overlap/shared-links``."""
        return f"{self.pack}/{self.path.stem}"

    @property
    def cypher(self) -> str:
        """The statement that runs."""
        return self.text.rstrip().removesuffix(";")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the query takes."""
        return self.header.parameters

    @property
    def columns(self) -> tuple[Column, ...]:
        """What it answers with."""
        return self.header.columns


@dataclass(frozen=True)
class Library:
    """The queries that are sound, by full name, and what is wrong with the others.

    Attributes:
        queries: in order.
        faults: by the name that the query would have; ``pack/`` stands for a whole pack, ``/`` for the folder of packs.
    """

    queries: dict[str, Query] = field(default_factory=dict)
    faults: dict[str, InputError] = field(default_factory=dict)

    def find(self, name: str) -> Query:
        """The query of that name: ``pack/name``, or the name alone where only one has it. Others' faults do not matter.

        Raises:
            NotFoundError: there is none.
            InputError: it is refused, or several packs have a query of that name.
        """
        fitting = [
            query for query in self.queries.values() if name in {query.name, query.path.stem}
        ]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise InputError(
                f"several queries are named '{name}'",
                hint=f"write one of {', '.join(query.name for query in fitting)}",
            )
        for key, refused in self.faults.items():
            if name in {key, key.rpartition("/")[2]} or (
                key.endswith("/") and name.startswith(key)
            ):
                raise refused
        words = [*self.queries, *(query.path.stem for query in self.queries.values())]
        raise NotFoundError(
            f"there is no query '{name}'", hint=f"{meant(name, words)}see 'starcast query list'"
        )

    def strict(self) -> dict[str, Query]:
        """The queries, if all are sound.

        Raises:
            InputError: the first that is not.
        """
        for refused in self.faults.values():
            raise refused
        return self.queries


def gather(packs: Path | None = None) -> Library:
    """The shipped queries and those of the user's directory. One that is refused leaves the others as they are."""
    shipped = _collected(folder("queries"))
    own = _collected(packs) if packs is not None else Library()
    known, faults = shipped.queries | own.queries, shipped.faults | own.faults
    for pack in {query.pack for query in shipped.queries.values()} & {
        query.pack for query in own.queries.values()
    }:
        meeting = [
            query
            for shelf in (own, shipped)
            for query in shelf.queries.values()
            if query.pack == pack
        ]
        for query in meeting:
            known.pop(query.name, None)
            faults[query.name] = _meeting(meeting[0], shipped.queries.get(query.name, meeting[-1]))
    return Library(known, faults)


def library(packs: Path | None = None) -> dict[str, Query]:
    """The shipped queries and those of the user's directory, by full name.

    Raises:
        InputError: a query is refused, or a pack of the user has the name of a shipped one.
    """
    return gather(packs).strict()


def load(directory: Path) -> dict[str, Query]:
    """All queries of the packs in a directory, by full name, in order.

    Raises:
        InputError: the directory cannot be read, or one of its queries is refused.
    """
    return _collected(directory).strict()


def find(name: str, packs: Path | None = None) -> Query:
    """The query of that name (``pack/name``, or the name alone where only one has it), or the one in that file.

    Raises:
        NotFoundError: there is none.
        InputError: several packs have a query of that name, or it is refused.
    """
    return Query.read(Path(name).absolute()) if is_file(name) else gather(packs).find(name)


def is_file(name: str) -> bool:
    """Whether these words mean a file and no name."""
    return name.endswith(SUFFIX) or Path(name).is_file()


def _collected(directory: Path) -> Library:
    found = Library()
    with _noting(found, "/"):
        for entry in _entries(directory):
            with _noting(found, entry.stem if entry.suffix == SUFFIX else f"{entry.name}/"):
                if entry.suffix == SUFFIX:
                    raise InputError(
                        f"{entry} is in no pack",
                        hint="move it into a folder, whose name becomes the pack's",
                    )
                if not entry.name.startswith(".") and entry.is_dir():
                    _collect(entry, found)
    return found


def _collect(pack: Path, found: Library) -> None:
    for path in _entries(pack):
        if path.suffix == SUFFIX:
            with _noting(found, f"{pack.name}/{path.stem}"):
                _check_name(path)
                query = Query.read(path)
                found.queries[query.name] = query


@contextmanager
def _noting(found: Library, key: str) -> Iterator[None]:
    """Keep a refusal and go on."""
    try:
        yield
    except InputError as refused:
        found.faults[key] = refused


def _check_name(path: Path) -> None:
    for part in (path.parent.name, path.stem):
        if not _NAME.fullmatch(part):
            raise InputError(f"{path}: '{part}' is no name of a pack or a query", hint=_NAME_HINT)


def _meeting(own: Query, other: Query) -> InputError:
    return InputError(
        f"two packs are named '{own.pack}': {own.path} and {other.path} meet",
        hint=f"give the folder {own.path.parent} another name",
    )


def _entries(directory: Path) -> list[Path]:
    try:
        found = sorted(directory.iterdir())
        for entry in found[:1]:
            entry.lstat()  # fails in a folder that may be listed and not entered
    except OSError as error:
        raise InputError(
            f"the folder of query packs {directory} cannot be read: {error.strerror}",
            hint="check the path and the mode; your own packs are the setting 'packs'",
        ) from None
    return found
