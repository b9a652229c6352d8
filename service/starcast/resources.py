"""Where the files lie that starcast ships beside its code: in the wheel inside the package, in a checkout beside it."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """The shipped folder of that name: ``migrations``, ``queries`` or ``examples``."""
    shipped = _PACKAGE / "_shipped" / name
    return shipped if shipped.is_dir() else _PACKAGE.parents[1] / name
