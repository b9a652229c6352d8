"""The resource that shows the state of the servers and the limits of requests."""

from importlib.metadata import version

from fastapi import APIRouter
from sqlalchemy import text

from starcast.catalogue.origin import ORIGINS
from starcast.stores.database.sessions import open_session
from starcast.support.errors import StarcastError
from starcast.support.text import add_flags
from starcast.web import computations, models
from starcast.web.service import Service, ServiceParameter

router = APIRouter(tags=["health"])


@router.get("/health")
def show_health(service: ServiceParameter) -> models.Health:
    """Show which servers are running, and the limits of requests."""
    settings = service.settings
    return models.Health(
        version=version("starcast"),
        postgres=_check_postgres(service),
        neo4j=_check_neo4j(service),
        plugins=sorted({origin.module for origin in ORIGINS.values()}),
        limits=models.Limits(
            nodes=computations.MAX_NODES,
            rows=computations.MAX_ROWS,
            listed_rows=computations.MAX_LISTED,
            answer_rows=settings.row_limit,
            computation_seconds=service.workers.seconds,
            query_seconds=settings.timeout,
        ),
    )


def _check_postgres(service: Service) -> models.StoreHealth:
    try:
        with service.lab() as lab, open_session(lab.engine) as session:
            found = str(session.scalar(text("SHOW server_version")))
    except StarcastError as error:
        return _unavailable(error, service)
    return models.StoreHealth(available=True, version=found, detail="", hint="")


def _check_neo4j(service: Service) -> models.StoreHealth:
    try:
        with service.lab() as lab:
            graph = lab.graph
            # Only a query shows whether Neo4j has stopped since the connection was opened.
            graph.read("RETURN 1")
            return models.StoreHealth(available=True, version=graph.version, detail="", hint="")
    except StarcastError as error:
        return _unavailable(error, service)


def _unavailable(error: StarcastError, service: Service) -> models.StoreHealth:
    hint = add_flags(error.hint, service.flags)
    return models.StoreHealth(available=False, version=None, detail=error.message, hint=hint)
