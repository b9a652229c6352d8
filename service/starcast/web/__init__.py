"""The laboratory in a browser: an HTTP API that only reads, and pages.

The package is the extra ``starcast[web]``; only ``starcast serve`` and ``starcast publish`` import
it. Its endpoints call the functions that `starcast.lab` and the command line call. docs/http-api.md
describes the API, and docs/decisions/0017-http-api.md the reasons for its security.
"""

from starcast.support.errors import UnavailableError

#: The packages of the extra; any of them may be missing.
_PACKAGES = {"fastapi", "starlette", "uvicorn"}


def explain_missing_package(error: ModuleNotFoundError) -> Exception:
    """Return the error for a package of the extra that is not installed, or the error itself."""
    # Any other missing module is a defect of starcast, not a missing extra.
    if (error.name or "").partition(".")[0] not in _PACKAGES:
        return error
    return UnavailableError(
        f"the pages need {error.name}, which is not installed",
        hint="install it with: pip install 'starcast[web]'",
    )
