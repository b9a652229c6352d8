"""Resources for the queries in the packs and for their results."""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request

from starcast.lab import Answer
from starcast.queries import Query as PackQuery
from starcast.queries.parameters import Parameter
from starcast.queries.picture import check_drawable
from starcast.support.errors import InputError, StarcastError
from starcast.support.table import Row
from starcast.support.vocabulary import Format, Layout
from starcast.web import models
from starcast.web.api.responses import (
    FormatParameter,
    Page,
    PagingParameter,
    as_json_rows,
    text_response,
    with_formats,
)
from starcast.web.service import Service, ServiceParameter

router = APIRouter(tags=["queries"])
SearchParameter = Annotated[
    str | None,
    Query(description="name of a pack, or a word in the name, title or question", max_length=200),
]
PackParameter = Annotated[str, Path(max_length=100, examples=["overlap"])]
QueryNameParameter = Annotated[str, Path(max_length=100, examples=["load-histogram"])]
#: Names of URL parameters that are not parameters of a Cypher query.
_RESERVED = ("format", "picture_layout")
_FREE = {
    "name": "parameters",
    "in": "query",
    "description": "the parameters of the query, each by its own name",
    "style": "form",
    "explode": True,
    "schema": {"type": "object", "additionalProperties": {"type": "string"}},
}


@router.get("/queries", responses=with_formats(Format.CSV))
def list_queries(
    service: ServiceParameter,
    paging: PagingParameter,
    search: SearchParameter = None,
) -> Page[models.QueryName]:
    """List the valid queries of all packs, or those that match a search."""
    rows = [query_row(query) for query in service.library().search(search)]
    return paging.respond(models.QueryName, rows)


@router.get("/queries/{pack}/{name}")
def show_query(
    pack: PackParameter, name: QueryNameParameter, service: ServiceParameter
) -> models.QueryResource:
    """Show the parameters, columns and Cypher of a query."""
    return describe(service.library().find(f"{pack}/{name}"))


@router.get(
    "/queries/{pack}/{name}/answer",
    responses=with_formats(Format.CSV, Format.SVG),
    openapi_extra={"parameters": [_FREE]},
)
def get_answer(
    request: Request,
    pack: PackParameter,
    name: QueryNameParameter,
    service: ServiceParameter,
    output: FormatParameter = Format.JSON,
    picture_layout: Annotated[
        Layout | None, Query(description="arrangement of the nodes in a drawing")
    ] = None,
) -> models.AnswerResource:
    """Run a query and return its rows. The settings limit the number of rows and the time."""
    answer = ask(service, f"{pack}/{name}", read_parameters(request), drawable=output == Format.SVG)
    if output == Format.CSV:
        return text_response(answer.to_csv(), Format.CSV)  # type: ignore[return-value]
    if output == Format.SVG:
        return text_response(answer.svg(picture_layout), Format.SVG)  # type: ignore[return-value]
    return models.AnswerResource(
        query=f"{pack}/{name}",
        parameters=dict(answer.parameters),
        columns=list(answer.columns),
        rows=as_json_rows(answer.rows),
        more=answer.more,
        note=answer.note,
        cypher=answer.cypher,
    )


def read_parameters(request: Request) -> dict[str, str]:
    """Read the parameter values of a query from the URL; empty values are treated as omitted.

    Raises:
        InputError: a parameter is given twice.
    """
    values: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in _RESERVED or not value:
            continue
        # Without this check, all values but the last would be ignored silently.
        if name in values:
            raise InputError(f"the parameter '{name}' is given twice", hint="remove one value")
        values[name] = value
    return values


def ask(
    service: Service, query: str, values: Mapping[str, Any], *, drawable: bool = False
) -> Answer:
    """Run a query of a pack, and return its result.

    With ``drawable``, an InputError is raised before the run if the result cannot be drawn.
    """
    # `Lab.query` would also accept files and Cypher statements; `find` raises an error for these.
    service.library().find(query)
    with service.lab() as lab:
        return lab.query(query, values, drawable=drawable)


def describe(query: PackQuery) -> models.QueryResource:
    """Return a query as a resource of the API, with the fields of the query's header."""
    row = query_row(query)
    header = query.header
    # pydantic converts the parameters and columns to models.
    return models.QueryResource(
        **row,
        parameters=query.parameters,  # type: ignore[arg-type]
        columns=query.columns,  # type: ignore[arg-type]
        cost=header.cost,
        revision=header.revision,
        reference=header.reference,
        cypher=query.cypher,
        drawable=any(each.type is not None and each.type.name == "node" for each in query.columns),
        answer_url=f"{row['url']}/answer",
    )


def is_drawable(query: PackQuery, values: Mapping[str, Any]) -> bool:
    """Return whether the result of a query with these parameter values can be drawn."""
    try:
        check_drawable(query, values)
    except StarcastError:
        return False
    return True


def default_text(parameter: Parameter) -> str:
    """Return the default value of a parameter as the text of a form field."""
    if parameter.required or parameter.default is None:
        return ""
    default = parameter.default
    return ",".join(map(str, default)) if isinstance(default, list) else str(default)


def query_row(query: PackQuery) -> Row:
    """Return the fields of `models.QueryName` for a query."""
    return {
        "query": query.name,
        "title": query.header.title,
        "question": query.header.question,
        "url": f"queries/{quote(query.name)}",
    }
