"""The identity of the installed code, which parallel workers and shards must share."""

import hashlib
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


@cache
def source_digest(package: Path = _PACKAGE) -> str:
    """Return the SHA-256 of the names and contents of all Python files of the package."""
    total = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        total.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()
