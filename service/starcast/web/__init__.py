"""starcast in a browser: pages, and an HTTP API that only reads.

This package needs the extra ``starcast[web]``; only ``starcast serve`` and ``starcast publish``
import it. Its endpoints call the same functions as `starcast.lab` and the command line.
docs/http-api.md describes the API, and docs/decisions/0017-http-api.md explains its security.
"""

from starcast.support.errors import UnavailableError

#: Packages of the extra ``starcast[web]``, any of which may be missing.
_PACKAGES = {"fastapi", "starlette", "uvicorn"}


def explain_missing_package(error: ModuleNotFoundError) -> Exception:
    """Return an error that names the extra if its package is missing, else the error itself."""
    # Any other missing module is a defect of starcast.
    if (error.name or "").partition(".")[0] not in _PACKAGES:
        return error
    return UnavailableError(
        f"the pages need {error.name}, which is not installed",
        hint="install it with: pip install 'starcast[web]'",
    )
