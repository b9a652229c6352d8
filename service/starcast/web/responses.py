"""Forms of responses: pages of listings, arrays, CSV and pictures."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Generic, Literal, TypeVar
from urllib.parse import urlencode

from fastapi import Depends, Path, Query, Request
from numpy.typing import NDArray
from pydantic import BaseModel, Field
from starlette.responses import Response

from starcast.errors import InputError, NotFoundError
from starcast.support.table import Row, Table
from starcast.support.text import to_json
from starcast.vocabulary import Format

Item = TypeVar("Item")
Key = TypeVar("Key", str, int)

#: Format of a response; a suffix of the path, ``.csv``, sets it too.
FormatParameter = Annotated[
    Literal[Format.JSON, Format.CSV, Format.SVG],
    Query(alias="format", description="also as a suffix of the path: .json, .csv, .svg"),
]
LimitParameter = Annotated[int, Query(ge=1, le=1_000, description="items of a page")]
AfterParameter = Annotated[
    str | None, Query(max_length=500, description="key of the last item of the page before")
]
SpecParameter = Annotated[
    str, Path(max_length=50, description="spec: S5, S6,3, Q4", examples=["S4"])
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
    """Return the response with an array, for the OpenAPI document.

    Args:
        others: the schemas of other media types of the operation, by format; responses of these
            types have no headers.
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


#: The response of operations that always return an array.
ARRAY_RESPONSE = describe_array()


def with_formats(*formats: Format) -> dict[int | str, dict[str, Any]]:
    """Return the media types besides JSON that an operation has, for the OpenAPI document."""
    content = {_MEDIA_TYPES[name]: {"schema": {"type": "string"}} for name in formats}
    return {200: {"description": "the resource", "content": content}}


class Page(BaseModel, Generic[Item]):
    """A part of a listing."""

    items: list[Item]
    next: str | None = Field(description="relative URL of the next page; null on the last one")


class Paging:
    """The parameters of a listing, of which a response shows one page.

    Args:
        request: the request, whose other parameters the next page has too.
        after: the key of the last item of the page before; None for the first page.
        limit: the number of items of a page.
    """

    def __init__(
        self, request: Request, after: AfterParameter = None, limit: LimitParameter = 100
    ) -> None:
        self._request = request
        self._after = after
        self._limit = limit

    def page(self, items: Iterable[Item], key: Callable[[Item], str]) -> Page[Item]:
        """Return the page of a listing.

        Args:
            items: all items in their order.
            key: returns the key of an item, which is unique.

        Raises:
            NotFoundError: no item has the key ``after``.
        """
        listed = list(items)
        start = 0
        if self._after is not None:
            keys = [key(item) for item in listed]
            if self._after not in keys:
                raise NotFoundError(
                    f"no item of this listing has the key '{self._after}'",
                    hint="begin again without the parameter 'after'",
                )
            start = keys.index(self._after) + 1
        end = start + self._limit
        shown = listed[start:end]
        following = None
        if end < len(listed):
            parameters = self._request.query_params.multi_items()
            others = [pair for pair in parameters if pair[0] != "after"]
            name = self._request.url.path.rpartition("/")[2]
            following = f"{name}?{urlencode([*others, ('after', key(shown[-1]))])}"
        return Page(items=shown, next=following)


PagingParameter = Annotated[Paging, Depends()]


def as_json_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return rows with values that JSON has, as the command line prints them."""
    plain: list[dict[str, Any]] = json.loads(
        json.dumps(list(rows), default=to_json, ensure_ascii=False)
    )
    return plain


def csv_response(table: Table) -> Response:
    """Return a table as CSV."""
    return Response(table.to_csv(), media_type="text/csv")


def csv_of(models: Sequence[BaseModel]) -> Response:
    """Return models of one class as CSV, a column per field."""
    columns = tuple(type(models[0]).model_fields) if models else ()
    return csv_response(Table.of((model.model_dump() for model in models), columns))


def listing_response(text: str, output: Format) -> Response:
    """Return a listing that a worker has written."""
    return Response(text, media_type=_MEDIA_TYPES[output])


def svg_response(document: str) -> Response:
    """Return a picture."""
    return Response(document, media_type="image/svg+xml")


def array_response(array: NDArray[Any], columns: Sequence[str] = ()) -> Response:
    """Return an array in binary, little-endian, in C order."""
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    headers = {
        "X-Array-Dtype": array.dtype.name,
        "X-Array-Shape": ",".join(map(str, array.shape)),
    }
    if columns:
        headers["X-Array-Columns"] = ",".join(columns)
    return Response(little.tobytes(), headers=headers, media_type="application/octet-stream")


def check_format(request: Request) -> None:
    """Refuse a format that the operation of a request does not declare.

    Raises:
        InputError: the resource has no such format.
    """
    name = request.query_params.get("format")
    if name is None:
        return
    declared = request.scope["route"].responses.get(200, {}).get("content", {})
    known = [each for each, media_type in _MEDIA_TYPES.items() if media_type in declared]
    if _BINARY not in declared and Format.JSON not in known:
        known.insert(0, Format.JSON)
    if name not in known:
        raise InputError(
            f"this resource has no format '{name}'",
            hint=f"choose {' or '.join(known)}" if known else "ask for it without a format",
        )
