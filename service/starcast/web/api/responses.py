"""Parameters and responses that resources share: pages of listings, arrays, CSV, drawings."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, TypeVar
from urllib.parse import quote, urlencode

import numpy as np
from fastapi import Depends, Path, Query, Request
from numpy.typing import NDArray
from pydantic import BaseModel, Field
from starlette.responses import Response

from starcast.collectives.model import COLLECTIVES
from starcast.support.errors import InputError, NotFoundError, check_parameters
from starcast.support.table import Row, Table
from starcast.support.text import dump_json
from starcast.support.vocabulary import Format

Item = TypeVar("Item")
Model = TypeVar("Model", bound=BaseModel)

#: The format of a response, given as a URL parameter or as a suffix of the path, such as ``.csv``.
FormatParameter = Annotated[
    Literal[Format.JSON, Format.CSV, Format.SVG],
    Query(
        alias="format",
        description="format of the response; a path suffix has the same effect: .json, .csv, .svg",
    ),
]
#: Maximum number of items on a page of a listing. This number is also the default.
MAX_ITEMS = 1_000
SpecParameter = Annotated[
    str,
    Path(
        max_length=50,
        description="spec of a topology, such as S5 or Q4, or name of a stored network",
        examples=["S4"],
    ),
]
ForestParameter = Annotated[
    str, Path(max_length=500, description="id of a forest", examples=["S4:multiple:1234"])
]
ScheduleParameter = Annotated[
    str, Path(max_length=500, description="id of a schedule", examples=["S4:broadcast:multiple"])
]
_MEDIA_TYPES = {
    Format.JSON: "application/json",
    Format.CSV: "text/csv",
    Format.SVG: "image/svg+xml",
}
_BINARY = "application/octet-stream"
_Responses = dict[int | str, dict[str, Any]]


def describe_array(**others: object) -> _Responses:
    """Return the OpenAPI description of an endpoint that returns an array.

    Args:
        others: the schemas of other formats that the endpoint can return; responses in these
            formats have no array headers.
    """
    schemas = {_MEDIA_TYPES[Format(name)]: {"schema": schema} for name, schema in others.items()}
    return {
        200: {
            "description": "little-endian values; the headers give dtype and shape",
            "content": {_BINARY: {"schema": {"type": "string", "format": "binary"}}, **schemas},
            "headers": {
                name: {"required": not others, "schema": {"type": "string"}}
                for name in ("X-Array-Dtype", "X-Array-Shape")
            },
        }
    }


#: Arguments of `router.get` for endpoints that always return an array.
ARRAY: dict[str, Any] = {"responses": describe_array(), "response_class": Response}


def with_formats(*formats: Format) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of an endpoint that returns JSON or a given format."""
    content = {_MEDIA_TYPES[name]: {"schema": {"type": "string"}} for name in formats}
    return {200: {"description": "the resource", "content": content}}


class Page(BaseModel, Generic[Item]):
    """The items on one page of a listing, and the URL of the next page."""

    items: list[Item]
    next: str | None = Field(description="relative URL of the next page; null on the last page")


class Paging:
    """The parameters by which a request selects one page of a listing.

    Args:
        request: the request, whose other parameters are repeated in the URL of the next page.
        after: the key of the last item on the previous page; None for the first page.
        limit: the maximum number of items on a page; by default `MAX_ITEMS` or, in CSV, all items,
            because a CSV file has no URL of a next page.
        output: the format of the response.
    """

    def __init__(
        self,
        request: Request,
        after: Annotated[
            str | None,
            Query(max_length=500, description="key of the last item on the previous page"),
        ] = None,
        limit: Annotated[
            int | None,
            Query(
                ge=1,
                le=MAX_ITEMS,
                description=f"maximum number of items on a page (default: {MAX_ITEMS:,}; CSV: all)",
            ),
        ] = None,
        output: FormatParameter = Format.JSON,
    ) -> None:
        self._request = request
        self._after = after
        self._limit = limit
        self.output = output

    def page(self, rows: Sequence[Row], key: str) -> Page[Row]:
        """Return the requested page of a listing; ``key`` is a column with unique values.

        Raises:
            NotFoundError: no row has the key ``after``.
        """
        start = 0
        if self._after is not None:
            keys = [str(row[key]) for row in rows]
            if self._after not in keys:
                raise NotFoundError(
                    f"no item of this listing has the key '{self._after}'",
                    hint="begin again without the parameter 'after'",
                )
            # A page begins after a key, not at an offset, so that no item is skipped or repeated if
            # other items are stored or dropped between two requests.
            start = keys.index(self._after) + 1
        # On a static site a listing is a single file, so all items are on one page.
        is_published = bool(self._request.app.state.service.published)
        is_whole = is_published or (self.output == Format.CSV and self._limit is None)
        end = len(rows) if is_whole else start + (self._limit or MAX_ITEMS)
        shown = list(rows[start:end])
        following = None
        if end < len(rows):
            parameters = self._request.query_params.multi_items()
            others = [pair for pair in parameters if pair[0] != "after"]
            name = self._request.url.path.rpartition("/")[2]
            if _ends_like_format(name):
                # The suffix is appended, because the end of a name such as e1.csv would be read as
                # the format.
                name = f"{name}.{self.output}"
                others = [pair for pair in others if pair[0] != "format"]
            following = f"{name}?{urlencode([*others, ('after', shown[-1][key])])}"
        return Page(items=shown, next=following)

    def respond(self, model: type[Model], rows: Sequence[Row]) -> Page[Model]:
        """Return the requested page of a listing, as JSON or as CSV with one column per field.

        The first field of the model is the key for `page`. For CSV the result is a `Response`,
        although the annotation, from which FastAPI creates the OpenAPI document, is `Page`.
        """
        columns = tuple(model.model_fields)
        page = self.page(rows, columns[0])
        items = [model(**row) for row in page.items]
        if self.output != Format.CSV:
            return Page(items=items, next=page.next)
        table = Table.of((item.model_dump() for item in items), columns if items else ())
        return text_response(table.to_csv(), Format.CSV)  # type: ignore[return-value]


PagingParameter = Annotated[Paging, Depends()]


def as_json_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Convert the values of rows to values that JSON can represent, as the command line does."""
    plain: list[dict[str, Any]] = json.loads(dump_json(list(rows)))
    return plain


def resource_url(kind: str, name: str) -> str:
    """Return the URL of a resource, such as ``forests/S4:greedy:1234``, relative to the API.

    If the name ends with a format suffix, as in ``e1.csv``, ``.json`` is appended to the URL.
    """
    return f"{kind}/{quote(name)}{'.json' if _ends_like_format(name) else ''}"


def _ends_like_format(name: str) -> bool:
    return name.endswith(tuple(f".{each}" for each in _MEDIA_TYPES))


def explorer_url(spec: str, state: Mapping[str, str]) -> str:
    """Return the explorer URL of a topology; ``state`` becomes the parameters of the URL.

    The URL is relative to the root of the server.
    """
    query = f"?{urlencode(state, safe=':,()=')}" if state else ""
    return f"explore/{quote(spec, safe=',')}{query}"


def artifact_url(artifact: str) -> str:
    """Return the explorer URL of a topology, a forest or a schedule, given its id."""
    spec, _, rest = artifact.partition(":")
    kind = "schedule" if rest.partition(":")[0] in COLLECTIVES else "forest"
    return explorer_url(spec, {kind: rest} if rest else {})


def text_response(text: str, output: Format) -> Response:
    """Return a response that contains the given text, such as a CSV listing or an SVG drawing."""
    return Response(text, media_type=_MEDIA_TYPES[output])


def array_response(array: NDArray[Any], columns: Sequence[str] = ()) -> Response:
    """Return a response with the binary data of an array, little-endian and in C order.

    The headers contain dtype, shape and, if ``columns`` is not empty, the names of the columns.
    """
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    headers = {
        "X-Array-Dtype": array.dtype.name,
        "X-Array-Shape": ",".join(map(str, array.shape)),
    }
    if columns:
        headers["X-Array-Columns"] = ",".join(columns)
    content = little.reshape(-1).view(np.uint8).data  # a view, because a copy may be large
    return Response(content, headers=headers, media_type="application/octet-stream")


def check_request(request: Request) -> None:
    """Check that the endpoint of a request declares the URL parameters and the requested format.

    Raises:
        InputError: the URL has a parameter that the endpoint does not declare, or the resource is
            not available in this format.
    """
    route = request.scope["route"]
    # Some versions of FastAPI omit the prefix of the router in the path of a route.
    path = f"/api/v1{route.path.removeprefix('/api/v1')}"
    parameters = request.app.openapi()["paths"][path]["get"].get("parameters", ())
    known = {each["name"]: each for each in parameters if each["in"] == "query"}
    # A declared parameter of type object permits parameters with any names, such as those of a
    # Cypher query.
    is_free = any(each["schema"].get("type") == "object" for each in known.values())
    if not is_free:
        names = (name for name in request.query_params if name != "format")
        check_parameters("this resource", names, known)
    if "format" in request.query_params:
        _check_format(request.query_params["format"], route)


def _check_format(name: str, route: Any) -> None:
    declared = route.responses.get(200, {}).get("content", {})
    known = [each for each, media_type in _MEDIA_TYPES.items() if media_type in declared]
    if _BINARY not in declared and Format.JSON not in known:
        known.insert(0, Format.JSON)
    if name not in known:
        raise InputError(
            f"this resource has no format '{name}'",
            hint=f"choose {' or '.join(known)}" if known else "request it without a format",
        )
