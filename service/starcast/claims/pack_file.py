"""The file ``claims.toml`` of a paper pack: the entries of the paper and its claims.

Users write such files for their own papers, so keys and types are checked. Errors name the file and
the line.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import pydantic

from starcast.catalogue import packs
from starcast.records import PROBLEM_NAMES
from starcast.support.errors import InputError, unreadable, unwritable
from starcast.support.installation import data_folder
from starcast.support.limited import parse_toml, read_text
from starcast.support.text import as_sentence, did_you_mean


def _check_record(problem: str) -> str:
    if problem and problem not in PROBLEM_NAMES:
        known = ", ".join(PROBLEM_NAMES)
        raise ValueError(f"unknown problem '{problem}'; the problems are {known}")
    return problem


#: A string whose line breaks and repeated spaces are replaced by single spaces.
_Text = Annotated[str, pydantic.AfterValidator(lambda text: " ".join(text.split()))]
_Words = Annotated[_Text, pydantic.Field(min_length=1)]
_Sentence = Annotated[_Text, pydantic.AfterValidator(as_sentence)]
_Record = Annotated[str, pydantic.AfterValidator(_check_record)]
#: The key of a paper is the prefix of its claim ids. The database checks the form of ids too.
_Key = Annotated[str, pydantic.Field(pattern="^[A-Z]+$")]
_Id = Annotated[str, pydantic.Field(pattern=r"^[A-Z]+\.[\w.-]+$")]
#: The sizes of a claim at one level: the largest n of a family, or the specs of topologies.
_Level = Annotated[int, pydantic.Field(ge=1, le=100)] | tuple[str, ...] | None


class _Table(pydantic.BaseModel):
    """A table of ``claims.toml``. Undeclared keys are rejected."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class PaperEntry(_Table):
    """The table ``[paper]`` of ``claims.toml``; its keys are attributes of ``catalogue.Paper``."""

    key: _Key | None = None
    citation: _Words
    authors: tuple[_Words, ...] = ()
    title: _Text = ""
    year: int
    venue: _Text = ""
    doi: _Text = ""


class SizesEntry(_Table):
    """The sizes of a claim in ``claims.toml``, in one of three forms.

    The forms are one list of topologies, one list per level, and a family with a maximum n per
    level.
    """

    only: tuple[str, ...] | None = None
    family: str | None = None
    quick: _Level = None
    full: _Level = None
    deep: _Level = None
    least: int | None = None
    beyond: tuple[str, ...] | None = None
    omit: tuple[str, ...] = ()


class ClaimEntry(_Table):
    """A table ``[[claim]]`` of ``claims.toml``; most keys are attributes of ``catalogue.Claim``.

    A conjunction has no sizes.
    """

    id: _Id
    number: _Words
    statement: _Words
    notation: _Sentence = ""
    sizes: SizesEntry | None = None
    conjunction: bool = False
    reading: _Sentence = ""
    correction: _Text = ""
    record: _Record = ""


class _Document(_Table):
    paper: PaperEntry
    claim: tuple[ClaimEntry, ...] = pydantic.Field(min_length=1)


@dataclass(frozen=True)
class PackFile:
    """The path and the parsed content of a file ``claims.toml``.

    Attributes:
        path: the path of the file.
        text: the text of the file, from which `error` determines the line number of a key.
        key: the key of the paper, which is the prefix of its claim ids.
        paper: the table of the paper.
        claims: the tables of the paper's claims.
    """

    path: Path
    text: str
    key: str
    paper: PaperEntry
    claims: tuple[ClaimEntry, ...]

    def error(self, message: str, *place: str | int, hint: str = "correct the file") -> InputError:
        """Return an error whose message begins with the file and the line of a key.

        The argument ``place`` is the path to the key, such as ``"claim", 3, "id"``.
        """
        return _error(self.path, self.text, message, place, hint)


def read_pack_file(path: Path) -> PackFile:
    """Read the file ``claims.toml`` of a paper pack.

    If the file contains no key for the paper, the letters of the folder's name, in capitals, form
    the key.

    Raises:
        InputError: the file cannot be read or is invalid; the message names the file and the line.
        LimitError: the file is too large.
    """
    try:
        text = read_text(path)
        content = parse_toml(text)
        document = _Document.model_validate(content)
    except OSError as error:
        raise unreadable(path, error) from None
    except pydantic.ValidationError as invalid:
        # A misspelt key causes two errors, an unknown key and a missing key. The error about the
        # unknown key is more helpful.
        errors = invalid.errors(include_url=False, include_input=False)
        raise _explain(path, text, content, max(errors, key=_is_unknown_key)) from None
    except ValueError as error:
        number = re.search(r"line (\d+)", str(error))
        raise InputError(
            f"{path}:{number[1] if number else 1}: {error}", hint="correct the TOML syntax"
        ) from None
    key = document.paper.key or _key_of(path.parent)
    file = PackFile(path, text, key, document.paper, document.claim)
    if not key:
        message = "the paper has no key, and the folder's name has no letters to form a key"
        raise file.error(message, "paper", hint='write a key, such as key = "MINE"')
    return file


def write_template(folder: Path) -> str:
    """Write a pack with two claims to a new folder, and return the key of its paper.

    Raises:
        InputError: the folder exists or cannot be written, its name has no letters, or the letters
            form the key of a built-in paper pack.
    """
    template = data_folder("examples") / "papers" / "mypaper"
    key = _key_of(folder)
    if not key:
        raise InputError(
            f"the name of {folder} has no letters to form the paper's key",
            hint="choose another name",
        )
    if key in {read_pack_file(pack.folder / packs.CLAIMS).key for pack in packs.shipped()}:
        raise InputError(
            f"the name of {folder} gives the key {key}, which a built-in paper pack has",
            hint="choose another name",
        )
    try:
        folder.mkdir(parents=True)
        for name in ("claims.toml", "checks.py", "test_claims.py"):
            text = (template / name).read_text(encoding="utf-8")
            (folder / name).write_text(text.replace("MYPAPER", key), encoding="utf-8")
    except FileExistsError:
        raise InputError(f"{folder} already exists", hint="choose another name") from None
    except OSError as error:
        raise unwritable(f"the folder {folder}", error) from None
    return key


def _key_of(folder: Path) -> str:
    return re.sub("[^A-Z]", "", folder.name.upper())


def _is_unknown_key(details: Mapping[str, Any]) -> bool:
    return bool(details["type"] == "extra_forbidden")


def _explain(path: Path, text: str, content: Any, details: Mapping[str, Any]) -> InputError:
    # Pydantic's location may end with alternatives of a type or positions in a list, which are
    # omitted here.
    *place, key = details["loc"][: 4 if details["loc"][0] == "claim" else 2]
    if isinstance(key, int):
        # The error is about a claim that is not a table.
        key = place.pop()
    noun, table = "the file", cast("type[_Table]", _Document)
    match place:
        case ["paper"]:
            noun, table = "the paper", PaperEntry
        case ["claim", int(index), *inner]:
            claim_id = content["claim"][index].get("id", f"number {index + 1}")
            noun, table = f"claim {claim_id}", ClaimEntry
            if inner:
                noun, table = f"the table of sizes of {noun}", SizesEntry
    if _is_unknown_key(details):
        known = table.model_fields
        hint = f"{did_you_mean(key, known)}the keys are {', '.join(known)}"
        return _error(path, text, f"{noun} has the unknown key '{key}'", (*place, key), hint)
    if details["type"] == "missing":
        return _error(path, text, f"{noun} has no '{key}'", place)
    message = details["msg"].removeprefix("Value error, ")
    message = _MESSAGES.get(key) or _MESSAGES.get(details["type"], message)
    return _error(path, text, f"'{key}' of {noun}: {message}", (*place, key))


_LEVEL_MESSAGE = "write the largest n, from 1 to 100, or a list of topologies"
#: Replacements of pydantic's messages that mention Python objects or patterns, by the key or by
#: pydantic's error type.
_MESSAGES = {
    "quick": _LEVEL_MESSAGE,
    "full": _LEVEL_MESSAGE,
    "deep": _LEVEL_MESSAGE,
    "claim": "begin each claim with [[claim]]",
    "id": "write the paper's key, a dot, and letters, digits, dots, hyphens or underscores",
    "key": "write only capital letters from A to Z",
    "tuple_type": "write a list",
    "model_type": "write a table",
    "too_short": "it is empty",
}


def _error(
    path: Path,
    text: str,
    message: str,
    place: Sequence[str | int],
    hint: str = "correct the file",
) -> InputError:
    return InputError(f"{path}:{_find_line(text, place)}: {message}", hint=hint)


def _find_line(text: str, place: Sequence[str | int]) -> int:
    """Return the line number of a key in ``claims.toml``.

    If the key is missing, the result is the line number of the table that should contain the key,
    or 1 if there is no such table.
    """
    table, *inner = map(str, [*place, "", ""])
    index = int(inner.pop(0)) if inner[0].isdecimal() else 0
    lines = text.splitlines()
    starts = [
        number
        for number, line in enumerate(lines, start=1)
        if re.match(rf"\s*(\[+\s*{re.escape(table)}\s*\]|{re.escape(table)}\s*=)", line)
    ]
    if not table or len(starts) <= index:
        return 1
    for number, line in enumerate(lines[starts[index] :], start=starts[index] + 1):
        if line.startswith("["):
            break
        if inner[0] and re.match(rf"\s*{re.escape(inner[0])}\s*=", line):
            return number
    return starts[index]
