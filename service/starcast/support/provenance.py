"""Provenance of results: the code and the machine that computed them.

All workers and shards of a job must run the same code.
"""

import hashlib
import platform
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parents[1]
_CHECKOUT = _PACKAGE.parents[1]
#: The folder in a checkout with the code on which results depend.
_CODE = "service"
_GIT_SECONDS = 10


@cache
def source_digest() -> str:
    """Return the SHA-256 of the names and contents of all Python files of the package."""
    total = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        name = path.relative_to(_PACKAGE).as_posix()
        total.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


@cache
def provenance() -> dict[str, Any]:
    """Return the versions of starcast, Python, numpy and psycopg, the git revision, and the host.

    The value of ``dirty`` says whether a code file in the checkout is changed, deleted or new. The
    values of ``revision`` and ``dirty`` are None outside a checkout. The version of PostgreSQL is
    added when a run is stored.
    """
    return {
        "version": version("starcast"),
        **_revision(_CHECKOUT),
        "host": platform.node(),
        "machine": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "psycopg": version("psycopg"),
    }


def _revision(checkout: Path) -> dict[str, Any]:
    # An installed package may be inside another repository, whose revision is unrelated.
    if not (checkout / ".git").exists():
        return {"revision": None, "dirty": None}
    revision = _git(checkout, "rev-parse", "HEAD")
    # Untracked files count too, because an uncommitted module can change results.
    changed = _git(checkout, "status", "--porcelain", "--untracked-files=all", "--", _CODE)
    return {"revision": revision, "dirty": None if changed is None else bool(changed)}


def _git(checkout: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(checkout), *arguments]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=_GIT_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
