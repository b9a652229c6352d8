"""Errors as problem details (RFC 9457), with the same hints as on the command line."""

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from starcast.support.errors import (
    BusyError,
    InputError,
    LimitError,
    NotFoundError,
    RejectedError,
    StarcastError,
    UnavailableError,
    UncheckedError,
    clean_message,
)
from starcast.support.text import add_flags

MEDIA_TYPE = "application/problem+json"
#: HTTP status and name of each class of errors. The ``type`` of a problem ends with the name.
KINDS: dict[type[StarcastError], tuple[int, str]] = {
    InputError: (422, "input"),
    NotFoundError: (404, "not-found"),
    UnavailableError: (503, "unavailable"),
    BusyError: (503, "busy"),
    RejectedError: (409, "rejected"),
    # The status is 422 here too, because a smaller request would succeed
    # (docs/decisions/0017-http-api.md).
    LimitError: (422, "limit"),
    UncheckedError: (409, "unchecked"),
    StarcastError: (500, "internal"),
}
_TITLES = {
    "input": "Invalid input",
    "not-found": "Not found",
    "unavailable": "A server is not available",
    "busy": "Busy",
    "rejected": "A check failed",
    "limit": "A limit was reached",
    "unchecked": "A part was not checked",
    "internal": "starcast itself failed",
    "http": "The request is not supported",
}
_PREFIX = "urn:starcast:problem:"


class ProblemDetails(BaseModel):
    """An error as problem details (RFC 9457), with a hint."""

    type: str = Field(description="urn:starcast:problem:KIND", examples=[f"{_PREFIX}input"])
    title: str = Field(description="the kind of error, for people")
    status: int = Field(description="HTTP status")
    detail: str = Field(description="one sentence: what is wrong, with which value")
    hint: str = Field(description="what to do about it; may be empty")
    instance: str = Field(description="path of the request")


#: Responses that every operation may have, for the OpenAPI document.
RESPONSES: dict[int | str, dict[str, object]] = {
    status: {
        "description": description,
        "content": {MEDIA_TYPE: {"schema": ProblemDetails.model_json_schema()}},
    }
    for status, description in (
        (400, "the request names a host that is not served here, or its URL contains NUL"),
        (403, "the request comes from a page of another site"),
        (404, "no resource has this name"),
        (409, "a check failed"),
        (414, "the URL is too long"),
        (422, "invalid input, or a limit was reached"),
        (500, "a defect of starcast"),
        (503, "a server is not running, or too many requests are running"),
    )
}


def as_starcast_error(error: Exception) -> StarcastError:
    """Convert an exception of FastAPI, Starlette or Python to an error with a hint."""
    match error:
        case StarcastError():
            return error
        case RequestValidationError():
            return _invalid_parameter(error)
        case MemoryError():
            return LimitError("memory ran out", hint="ask for a smaller topology")
    first_line = next(iter(str(error).strip().splitlines()), "no message")
    return StarcastError(
        f"starcast itself failed: {type(error).__name__}: {first_line}",
        hint="please report it, with the lines of the log that 'starcast config' names",
    )


def describe(error: Exception, path: str, flags: str = "") -> ProblemDetails:
    """Describe an exception as problem details.

    Args:
        error: the exception.
        path: the path of the request.
        flags: flags that are added to the commands in the hint; see `Service`.
    """
    if isinstance(error, HTTPException):
        detail, hint = _describe_status(error, path)
        return _problem("http", error.status_code, detail, hint, path)
    known = as_starcast_error(error)
    # An error whose class is not in `KINDS` has the status of its nearest base class.
    status, kind = next(KINDS[each] for each in type(known).__mro__ if each in KINDS)
    return _problem(kind, status, known.message, add_flags(known.hint, flags), path)


def refuse(status: int, detail: str, hint: str, path: str) -> Response:
    """Return the response to a request that is refused before it reaches an endpoint."""
    return respond(_problem("http", status, detail, hint, path))


def respond(problem: ProblemDetails, headers: dict[str, str] | None = None) -> Response:
    """Return a response with these problem details."""
    return Response(
        problem.model_dump_json(),
        problem.status,
        {**({"Retry-After": "5"} if problem.status == 503 else {}), **(headers or {})},
        MEDIA_TYPE,
    )


def is_api(request: Request) -> bool:
    """Return whether a request is for the API rather than for a page."""
    return request.url.path.startswith("/api")


def _describe_status(error: HTTPException, path: str) -> tuple[str, str]:
    """Return the message and the hint for an error that Starlette raised."""
    if error.status_code == 405:
        return f"{clean_message(path)} can only be read", "use GET"
    if error.status_code == 404:
        return f"the address {clean_message(path)} does not exist", "begin at the page /"
    return str(error.detail), "see /api/v1/openapi.json for what exists"


def _problem(kind: str, status: int, detail: str, hint: str, path: str) -> ProblemDetails:
    return ProblemDetails(
        type=f"{_PREFIX}{kind}",
        title=_TITLES[kind],
        status=status,
        detail=detail,
        hint=hint,
        instance=path,
    )


def _invalid_parameter(error: RequestValidationError) -> InputError:
    first = error.errors()[0]
    name = first["loc"][-1] if first["loc"] else "request"
    if first["type"] == "missing":
        return InputError(f"the parameter '{name}' is missing", hint=f"add ?{name}=VALUE")
    given = first.get("input")
    return InputError(
        f"the parameter '{name}' is {given!r}: {first['msg'].lower()}",
        hint="see /api/v1/openapi.json for the parameters",
    )
