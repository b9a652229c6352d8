"""Convert errors to the JSON objects of RFC 9457, which are called problem details."""

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from starcast.stores.failures import LOG_LINES, translate
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
#: HTTP status, kind and title of each class of errors. A problem's ``type`` ends with the kind.
KINDS: dict[type[StarcastError], tuple[int, str, str]] = {
    InputError: (422, "input", "Invalid input"),
    NotFoundError: (404, "not-found", "Not found"),
    UnavailableError: (503, "unavailable", "A server is not available"),
    BusyError: (503, "busy", "Busy"),
    RejectedError: (409, "rejected", "A check failed"),
    # The status is 422 here too, because a smaller request would succeed
    # (docs/decisions/0017-http-api.md).
    LimitError: (422, "limit", "A limit was reached"),
    UncheckedError: (409, "unchecked", "A part was not checked"),
    StarcastError: (500, "internal", "starcast itself failed"),
}
_PREFIX = "urn:starcast:problem:"


class ProblemDetails(BaseModel):
    """An error as problem details (RFC 9457), with a hint."""

    type: str = Field(description="kind of error, as a URN", examples=[f"{_PREFIX}input"])
    title: str = Field(description="kind of error, in words")
    status: int = Field(description="HTTP status")
    detail: str = Field(description="sentence that names the problem and the invalid value")
    hint: str = Field(description="suggested action; may be empty")
    instance: str = Field(description="path of the request")


#: Error responses that every operation may return, for the OpenAPI document.
PROBLEM_RESPONSES: dict[int | str, dict[str, object]] = {
    status: {
        "description": description,
        "content": {MEDIA_TYPE: {"schema": ProblemDetails.model_json_schema()}},
    }
    for status, description in (
        (
            400,
            "the request names a host that is not served here, or its URL contains NUL",
        ),
        (403, "the request comes from a page of another origin"),
        (404, "no resource has this name"),
        (409, "a check failed"),
        (414, "the URL is too long"),
        (422, "invalid input, or a limit was reached"),
        (500, "a defect of starcast"),
        (503, "a server is not running, or too many requests are running"),
    )
}


def describe_problem(error: Exception, path: str, flags: str = "") -> ProblemDetails:
    """Describe an exception as problem details (RFC 9457).

    Args:
        error: the exception.
        path: the path of the request.
        flags: the flags --home and --plugin of the server, which are added to commands in the hint.
    """
    if isinstance(error, HTTPException):
        return refusal(error.status_code, *_describe_status(error, path), path)
    if isinstance(error, RequestValidationError):
        known: StarcastError = _invalid_parameter(error)
    else:
        known = translate(error, report=LOG_LINES)
    # An error whose class is not in `KINDS` has the status of its nearest base class in `KINDS`.
    status, kind, title = next(KINDS[each] for each in type(known).__mro__ if each in KINDS)
    return ProblemDetails(
        type=f"{_PREFIX}{kind}",
        title=title,
        status=status,
        detail=known.message,
        hint=add_flags(known.hint, flags),
        instance=path,
    )


def refusal(status: int, detail: str, hint: str, path: str) -> ProblemDetails:
    """Return the problem details of a request that is refused before it reaches an endpoint."""
    return ProblemDetails(
        type=f"{_PREFIX}http",
        title="The request is not supported",
        status=status,
        detail=detail,
        hint=hint,
        instance=path,
    )


def problem_response(problem: ProblemDetails, headers: dict[str, str] | None = None) -> Response:
    """Return an HTTP response that contains the given problem details."""
    return Response(
        problem.model_dump_json(),
        problem.status,
        {**({"Retry-After": "5"} if problem.status == 503 else {}), **(headers or {})},
        MEDIA_TYPE,
    )


def _describe_status(error: HTTPException, path: str) -> tuple[str, str]:
    """Return the message and the hint for an error that Starlette raised."""
    if error.status_code == 405:
        return f"{clean_message(path)} can only be read", "use GET"
    if error.status_code == 404:
        return f"the address {clean_message(path)} does not exist", "begin at the page /"
    return str(error.detail), "see the paths in /api/v1/openapi.json"


def _invalid_parameter(error: RequestValidationError) -> InputError:
    first = error.errors()[0]
    name = first["loc"][-1] if first["loc"] else "request"
    if first["type"] == "missing":
        return InputError(f"the parameter '{name}' is missing", hint=f"add ?{name}=VALUE")
    given = first.get("input")
    return InputError(
        f"the parameter '{name}' has the invalid value {given!r}: {first['msg'].lower()}",
        hint="see /api/v1/openapi.json for the parameters",
    )
