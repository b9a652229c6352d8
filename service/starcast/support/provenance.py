"""Where a run's figures come from: which code, on which machine."""

import platform
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

_CHECKOUT = Path(__file__).resolve().parents[3]
#: The part of a checkout that decides figures.
_CODE = "service"
_GIT_SECONDS = 10


@cache
def provenance() -> dict[str, Any]:
    """Version, git revision and dirty flag (None outside a checkout), host, versions of Python, numpy and psycopg.

    Dirty is a checkout whose code is not that of its revision: a file of it is changed, gone or new.

    Whoever stores a run adds the version of PostgreSQL. Neo4j takes no part in a run.
    """
    return {
        "version": version("starcast"),
        **_revision(_CHECKOUT),
        "host": platform.node(),
        "machine": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "psycopg": version("psycopg"),
    }


def _revision(checkout: Path) -> dict[str, Any]:
    # An installed package may lie inside somebody else's repository, whose revision says nothing about it.
    if not (checkout / ".git").exists():
        return {"revision": None, "dirty": None}
    revision = _git(checkout, "rev-parse", "HEAD")
    changed = _git(checkout, "status", "--porcelain", "--untracked-files=all", "--", _CODE)
    return {"revision": revision, "dirty": None if changed is None else bool(changed)}


def _git(checkout: Path, *words: str) -> str | None:
    command = ["git", "-C", str(checkout), *words]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=_GIT_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
