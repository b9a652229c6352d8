"""The web application: the API, the pages, and their files."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from starcast.support import log
from starcast.support.errors import StarcastError
from starcast.support.html import STATIC
from starcast.web import pages, problems
from starcast.web.api import artifacts, claims, experiments, health, queries, records
from starcast.web.guard import Guard
from starcast.web.responses import check_format
from starcast.web.service import Service, get_service

_DESCRIPTION = """\
Topologies, forests and schedules of the star graph and its relatives, computed on request; and what
is stored: artifacts, queries, experiments and verdicts. The API only reads. Arrays are
little-endian, with dtype and shape in the headers `X-Array-Dtype` and `X-Array-Shape`. Listings
have pages: follow `next`. Every response has an ETag. Errors are problem details (RFC 9457)."""


def create_app(service: Service, host: str = "127.0.0.1") -> ASGIApp:
    """Return the ASGI application.

    Args:
        service: the state that the requests share; it is closed when the server stops.
        host: the address or name that the server listens on; see `Guard`.
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
    for module in (artifacts, queries, experiments, claims, records, health):
        app.include_router(
            module.router,
            prefix="/api/v1",
            responses=problems.RESPONSES,
            dependencies=[Depends(check_format)],
        )
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for kind in (StarcastError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _handle_error)
    # `Guard` wraps the entire application, so that errors have the security headers too.
    return Guard(app, host)


def _handle_error(request: Request, error: Exception) -> Response:
    """Return an error as problem details for the API, and otherwise as an HTML page."""
    problem = problems.describe(error, request.url.path, get_service(request).flags)
    if problem.status == 500:
        log.error_event("request failed", error, path=request.url.path)
    headers = dict(getattr(error, "headers", None) or {})
    if problems.is_api(request):
        return problems.respond(problem, headers)
    return pages.render_problem(request, problem)
