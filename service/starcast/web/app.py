"""The web application: the HTTP API, the pages, and the style sheets, scripts and icons.

The pages link to a style sheet and have no inline scripts or styles. All URLs are relative, so that
the pages can be served below any path.
"""

import re
import shlex
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from html import escape
from importlib.metadata import version
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from starcast.catalogue.entries import FAMILIES
from starcast.claims import claims as all_claims
from starcast.claims import report, select_claims
from starcast.claims.catalogue import papers
from starcast.comparison import presentation
from starcast.comparison.sides import ALLOWED_ACROSS
from starcast.drawing.explorer import EXPLORER
from starcast.queries.parameters import STORED
from starcast.records import PROBLEM_NAMES
from starcast.stores.database.repository import list_newest
from starcast.stores.database.sessions import open_session
from starcast.support import log
from starcast.support.errors import (
    InputError,
    NotFoundError,
    StarcastError,
    UnavailableError,
    check_parameters,
)
from starcast.support.html import STATIC, render_page, to_minutes
from starcast.support.table import Row, Table
from starcast.support.text import format_value
from starcast.web import computations, models
from starcast.web.api import artifacts, evidence, experiments, queries
from starcast.web.api.problems import (
    PROBLEM_RESPONSES,
    ProblemDetails,
    describe_problem,
    problem_response,
)
from starcast.web.api.responses import Paging, artifact_url, check_request, explorer_url
from starcast.web.guard import Guard
from starcast.web.service import Service, ServiceParameter, get_service, show_health
from starcast.web.service import router as health_router

_DESCRIPTION = """\
Topologies, forests and schedules of the star graph and its relatives, computed on request; and
stored artifacts, queries, experiments and verdicts. The API is read-only. Arrays are little-endian,
with dtype and shape in the headers `X-Array-Dtype` and `X-Array-Shape`. Listings have pages: follow
`next`. Successful responses have an ETag. Errors are problem details (RFC 9457)."""
router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

#: The pages in the navigation bar: relative URL and title.
NAVIGATION = (
    ("explore/S4", "Explore"),
    ("queries", "Queries"),
    ("experiments", "Experiments"),
    ("claims", "Claims"),
    ("records", "Records"),
    ("artifacts", "Stored"),
)
_EXAMPLES = (
    ("S3", "the smallest star graph with a cycle: a hexagon"),
    ("S4", "24 nodes, as substars, levels, necklaces, or on a torus"),
    ("S5", "120 nodes; step through schedules, and break links"),
    ("S7", "5,040 nodes, drawn by the graphics card"),
    ("S5,3", "an (n,k)-star of 60 nodes"),
    ("Q4", "a hypercube, for comparison"),
)
#: The URL parameters of a comparison, except the names of the compared experiments or runs.
_COMPARED = ("across", "condition", "baseline", "by")
#: Maximum number of runs listed on the page of an experiment.
_MAX_RUNS = 200
#: Maximum number of newest results per kind (experiments, claims, topologies, ...) on the overview.
_MAX_NEWEST = 4
#: Pattern of suggested names in a hint: ``did you mean 'S5'?`` or ``did you mean TS.L5, TS.L7?``.
_SUGGESTIONS = re.compile(r"did you mean ([^?]*)\?")
_NAME = re.compile(r"[^', ]+")


def create_app(service: Service, host: str = "127.0.0.1") -> ASGIApp:
    """Return the ASGI application that serves the HTTP API and the pages.

    Args:
        service: the state that the requests share; it is closed when the server stops.
        host: the address or name that the server listens on, for the check of the Host header.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.workers.start()
        yield
        service.close()

    app = FastAPI(
        title="starcast",
        version=version("starcast"),
        summary="A laboratory for collective communication on star graphs.",
        description=_DESCRIPTION,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # FastAPI's documentation page would load scripts from another host
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.service = service
    modules = (artifacts, queries, experiments, evidence)
    for each in (*(module.router for module in modules), health_router):
        app.include_router(
            each,
            prefix="/api/v1",
            responses=PROBLEM_RESPONSES,
            dependencies=[Depends(check_request)],
        )
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for kind in (StarcastError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _handle_error)
    # `Guard` wraps the entire application, so that errors have the security headers too.
    return Guard(app, host, service.counts)


def _handle_error(request: Request, error: Exception) -> Response:
    """Describe an error as problem details if the API was called, else as an HTML page."""
    problem = describe_problem(error, request.url.path, get_service(request).flags)
    if problem.status == 500:
        log.error_event("request failed", error, path=request.url.path)
    headers = dict(getattr(error, "headers", None) or {})
    if request.url.path.startswith("/api"):
        return problem_response(problem, headers)
    return render_problem(request, problem)


@router.get("/")
def show_overview(request: Request, service: ServiceParameter) -> Response:
    """Show the newest stored results, and whether PostgreSQL and Neo4j are running."""
    state = show_health(service)
    # A published site does not show which servers were running when it was written.
    stores = {} if service.published else {"PostgreSQL": state.postgres, "Neo4j": state.neo4j}
    library = service.library()
    return _render(
        request,
        "overview.html.j2",
        examples=_EXAMPLES,
        queries=len(library.queries),
        packs=len({query.pack for query in library.queries.values()}),
        claims=len(all_claims()),
        papers=len(papers()),
        newest=_list_newest(service),
        spellings=[family.spelling for family in FAMILIES.values()],
        stores=stores,
        version=version("starcast"),
    )


@router.get("/explore")
def redirect_to_explorer(service: ServiceParameter, spec: str = "") -> Response:
    """Redirect to the explorer of the topology that was entered in a form, by default S4."""
    return RedirectResponse(explorer_url(service.read_id(spec.strip() or "S4"), {}))


@router.get("/explore/{spec}")
def show_explorer(request: Request, spec: str, service: ServiceParameter) -> Response:
    """Show the explorer, whose script reads the forest and schedule from the URL."""
    try:
        found = service.read_id(spec)
        service.compute(computations.check_spec, found)
    except InputError as error:
        # For an unknown spec, the API has status 422 (invalid input), but a page has 404 (not
        # found).
        missing = NotFoundError(error.message, hint=error.hint)
        return render_problem(request, describe_problem(missing, request.url.path, service.flags))
    if found != spec:
        url = explorer_url(found, dict(request.query_params))
        return RedirectResponse(url.removeprefix("explore/"))  # relative to this page
    return FileResponse(EXPLORER, media_type="text/html")


@router.get("/favicon.ico")
def show_icon() -> Response:
    """Return the icon that browsers request for pages without an icon of their own."""
    return FileResponse(STATIC / "icon.svg", media_type="image/svg+xml")


@router.get("/queries")
def list_queries(request: Request, service: ServiceParameter, search: str = "") -> Response:
    """List the queries by pack."""
    library = service.library()
    problem = None
    packs = defaultdict[str, list[Row]](list)
    try:
        for query in library.search(search or None):
            packs[query.pack].append(queries.query_row(query))
    except NotFoundError as error:
        problem = error
    return _render(
        request,
        "queries.html.j2",
        search=search,
        packs=packs,
        faults=library.faults,
        problem=problem,
    )


@router.get("/queries/{pack}/{name}")
def show_query(request: Request, pack: str, name: str, service: ServiceParameter) -> Response:
    """Show a query with a form for its parameters, and its result if the form was submitted."""
    query = service.library().find(f"{pack}/{name}")
    values = queries.read_parameters(request)
    problem: ProblemDetails | None = None
    answer = None
    if values or (not query.parameters and request.query_params):
        try:
            answer = queries.ask(service, query.name, values)
        except StarcastError as error:
            problem = describe_problem(error, request.url.path, service.flags)
    shown = None if answer is None else answer.readable()
    given = [f"{key}={value}" for key, value in values.items()]
    return _render(
        request,
        "query.html.j2",
        200 if problem is None else problem.status,
        query=queries.describe(query),
        fields=_fields(service, query.parameters, values),
        problem=problem,
        answer=shown,
        numeric=() if shown is None else _numeric(shown),
        drawn=answer is not None and queries.is_drawable(query, answer.parameters),
        state=urlencode(values),
        command=shlex.join(["starcast", "query", "run", query.name, *given]),
    )


@router.get("/experiments")
def list_experiments(request: Request, service: ServiceParameter) -> Response:
    """List the stored experiments, with links to open and compare them."""
    listed = experiments.list_experiments(service, Paging(request))
    return _render(request, "experiments.html.j2", experiments=listed.items)


@router.get("/experiments/{name}")
def show_experiment(request: Request, name: str, service: ServiceParameter) -> Response:
    """Show an experiment: its runs, and curves of their times against message size."""
    detail = experiments.show_experiment(name, service, Paging(request))
    panels = experiments.describe_experiment(service, name)
    rows = [
        run.model_dump() | {"finished": to_minutes(run.finished)} for run in detail.runs[:_MAX_RUNS]
    ]
    columns = [
        column
        for column in models.RunResource.model_fields
        if column != "error" and any(row[column] for row in rows)
    ]
    return _render(
        request,
        "experiment.html.j2",
        name=name,
        panels=panels,
        note=detail.note,
        rows=rows,
        failed=[row for row in rows if row["error"]],
        is_complete=len(rows) == len(detail.runs),
        has_parts=len({curve["label"] for panel in panels for curve in panel["curves"]}) > 1,
        columns=columns,
        numeric=_numeric(Table(tuple(columns), rows)),
    )


@router.get("/compare")
def compare(request: Request, service: ServiceParameter) -> Response:
    """Show a comparison: interactive curves, a table, and message sizes at which curves cross."""
    given = request.query_params
    check_parameters("this resource", given, ("name", *_COMPARED))
    names = given.getlist("name")
    if not names:
        return _render(request, "compare.html.j2", title="Comparison", remarks=(), sides=())
    chosen = {name: list(filter(None, given.getlist(name))) for name in _COMPARED}
    baseline = next(iter(chosen["baseline"]), None)
    by: Any = next(iter(chosen["by"]), "message_units")
    table, profiles = experiments.build_comparison(
        service, names, chosen["across"], chosen["condition"], baseline, by
    )
    options = [f"--across={axis}" for axis in chosen["across"]]
    options += [f"--where={condition}" for condition in chosen["condition"]]
    options += [f"--baseline={baseline}"] if baseline else []
    options += [f"--by={by}"] if chosen["by"] else []
    return _render(
        request,
        "compare.html.j2",
        **presentation.page_values(table.comparison, profiles),
        command=shlex.join(["starcast", "compare", *names, *options, "--format", "html"]),
        names=names,
        # The form has one field per value, because a single field per parameter would lose all
        # conditions but one.
        chosen={name: values or [""] for name, values in chosen.items()},
        allowed_across=ALLOWED_ACROSS,
        state=urlencode([(name, value) for name, value in given.multi_items() if value]),
    )


@router.get("/claims")
def list_claims(
    request: Request,
    service: ServiceParameter,
    paper: str = "",
    verdict: str = "",
    words: str = "",
) -> Response:
    """List the claims with their verdicts."""
    stored = evidence.stored_verdicts(service)
    selected = select_claims([paper] if paper else [])
    table = report.list_claims(selected, stored, verdict or None)
    wanted = words.casefold().split()
    found = [row["id"] for row in table if all(word in _text_of(row) for word in wanted)]
    rows = [
        report.ReportRow(all_claims()[name], stored[name][1] if name in stored else None)
        for name in found
    ]
    failure = None if stored or service.published else service.find_problem()
    problem = failure and describe_problem(failure, request.url.path, service.flags)
    return _render(
        request,
        "claims.html.j2",
        **report.page_values(rows) | {"problem": problem},
        paper=paper,
        verdict=verdict,
        words=words,
    )


@router.get("/claims/{claim_id}")
def show_claim(request: Request, claim_id: str, service: ServiceParameter) -> Response:
    """Show a claim: its verdict and, if any, its counterexample with a link to the explorer."""
    detail = evidence.show_claim(claim_id, service)
    return _render(request, "claim.html.j2", claim=detail, signs=report.SIGNS)


@router.get("/records")
def list_records(request: Request, service: ServiceParameter, problem: str = "") -> Response:
    """List the records, with links to their witnesses in the explorer."""
    known = evidence.load_records(service, problem or None)
    return _render(
        request,
        "records.html.j2",
        records=[evidence.record_fields(each) for each in known],
        problems=PROBLEM_NAMES,
        problem=problem,
    )


@router.get("/records/{record_id}")
def show_record(request: Request, record_id: str, service: ServiceParameter) -> Response:
    """Show a record: its bound, its proof, and its searches."""
    detail = evidence.show_record(record_id, service)
    searches = [search.model_dump() for search in detail.searches]
    return _render(request, "record.html.j2", record=detail, searches=searches)


@router.get("/artifacts")
def list_artifacts(request: Request, service: ServiceParameter) -> Response:
    """List the stored artifacts, with links to the explorer."""
    tables = artifacts.list_stored(service)
    root = _root(request)

    def find_link(column: str, row: Row) -> str | None:
        return root + artifact_url(str(row["id"])) if column == "id" else None

    return _render(
        request,
        "artifacts.html.j2",
        tables=tables,
        numeric={kind: _numeric(table) for kind, table in tables.items()},
        link=find_link,
    )


def render_problem(request: Request, problem: ProblemDetails) -> Response:
    """Return a page that describes an error; names that its hint suggests become links."""
    section = request.url.path.split("/")[1]
    suggested = _SUGGESTIONS.search(problem.hint)
    names = _NAME.findall(suggested[1]) if suggested else []
    return _render(
        request,
        "problem.html.j2",
        status=problem.status,
        problem=problem,
        links={name: f"{section}/{quote(name, safe='/,')}" for name in names},
        examples=_EXAMPLES if section == "explore" else (),
    )


def _list_newest(service: Service) -> dict[str, list[Row]]:
    """Return the newest stored experiments, claims and artifacts, by kind.

    Each row has a name, the URL of a page, and a time. The result is {} if PostgreSQL cannot be
    used.
    """
    paths = {"experiment": "experiments/", "claim": "claims/"}
    try:
        with service.lab() as lab, open_session(lab.engine) as session:
            newest = list_newest(session, _MAX_NEWEST)
    except StarcastError:
        return {}
    return {
        kind: [
            {
                "name": name,
                "url": paths[kind] + quote(name) if kind in paths else artifact_url(name),
                "time": to_minutes(time.astimezone().isoformat()),
            }
            for name, time in found
        ]
        for kind, found in newest.items()
    }


def _render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    service = get_service(request)
    published = service.published
    text = render_page(
        template,
        root=_root(request),
        # The navigation has no entry for comparisons, so the entry for experiments is highlighted.
        section=request.url.path.split("/")[1].replace("compare", "experiments"),
        navigation=published or NAVIGATION,
        has_forms=not published,
        **values,
    )
    # Commands on a page must use the home and plug-ins of this server. A command that a record
    # contains is shown unchanged, because its `code` element has an attribute.
    if service.flags:
        flags = f"starcast {escape(service.flags)} "
        text = text.replace("<code>starcast ", f"<code>{flags}")
    return HTMLResponse(text, status)


def _root(request: Request) -> str:
    """Return the URL of the server's root, relative to the requested page."""
    # A reverse proxy may serve these pages below another path, so no URL is absolute.
    return "../" * (request.url.path.count("/") - 1)


def _numeric(table: Table) -> set[str]:
    return {name for name in table.columns if table.is_numeric(name)}


def _text_of(row: Row) -> str:
    return " ".join(format_value(value) for value in row.values()).casefold()


def _fields(
    service: Service, parameters: Sequence[Any], values: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the properties of a form field for each parameter of a query.

    Args:
        service: lists the ids of stored artifacts, which are suggested in the fields for ids.
        parameters: the parameters of the query.
        values: the values given in the URL, by parameter name.
    """
    stored = _stored_ids(service) if parameters else {}
    fields = []
    for each in parameters:
        name = each.type.name
        fields.append({
            "name": each.name,
            "meaning": each.meaning,
            "type": str(each.type),
            "required": each.required,
            "value": values.get(each.name, queries.default_text(each)),
            "number": name in {"int", "float", "tree"},
            "options": stored.get(name, ()),
            "width": 30 if name in STORED else 14,
        })  # fmt: skip
    return fields


def _stored_ids(service: Service) -> dict[str, list[str]]:
    """Return the ids of all complete artifacts by kind; {} if PostgreSQL is not running."""
    try:
        tables = artifacts.list_stored(service)
    except UnavailableError:
        return {}
    kinds = dict(zip(STORED, tables.values(), strict=True))
    return {
        kind: [row["id"] for row in table if row["state"] == "complete"]
        for kind, table in kinds.items()
    }
