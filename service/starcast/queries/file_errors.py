"""How a fault of a query file is told: with its file and line."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from starcast.errors import InputError


def fault(path: Path, line: int, message: str, hint: str) -> InputError:
    """The error that something is wrong in this line of this file."""
    return InputError(f"{path}:{line}: {message}", hint=hint)


def meant(word: str, known: Iterable[str]) -> str:
    """``did you mean 'x'? `` when something known is near, else nothing."""
    near = get_close_matches(word, list(known), n=1)
    return f"did you mean '{near[0]}'? " if near else ""
