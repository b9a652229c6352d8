"""Paths of the data files of starcast: in the installed package, or in the source tree."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def folder(name: str) -> Path:
    """Return the folder ``migrations``, ``queries``, ``records`` or ``examples``."""
    shipped = _PACKAGE / "_shipped" / name
    return shipped if shipped.is_dir() else _PACKAGE.parents[1] / name
