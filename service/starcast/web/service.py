"""The state of the server: settings, worker processes, connections to PostgreSQL and Neo4j."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Annotated, Concatenate, cast

from fastapi import APIRouter, Depends, Request
from fastapi.responses import PlainTextResponse
from sqlalchemy import text

from starcast.catalogue.plugins import ORIGINS
from starcast.claims.report import StoredVerdicts
from starcast.lab import Lab
from starcast.queries import Library, load_library
from starcast.stores.database.networks import load_network
from starcast.stores.database.sessions import open_session
from starcast.support.errors import InputError, StarcastError, UnavailableError
from starcast.support.settings import Settings
from starcast.support.text import add_flags
from starcast.topologies.families import is_family_spec
from starcast.topologies.networks import NAME, Network, is_network_spec
from starcast.web import computations, models
from starcast.web.guard import RequestCounts
from starcast.web.workers import P, Pool, Result, Workers

#: Number of requests that can use PostgreSQL and Neo4j at the same time.
LABS = 4
#: Maximum time in seconds for which a request waits while all `LABS` labs are in use.
WAIT_SECONDS = 4.0
#: Maximum number of requests that use a lab or wait for a lab.
MAX_STORE_REQUESTS = 12

router = APIRouter(tags=["health"])


@dataclass
class Service:
    """The state that all requests share.

    Args:
        settings: the settings that name the servers.
        workers: the worker processes for computations.
        published: for a site that ``starcast publish`` writes, the address and title of each page
            in the navigation; empty for a server. A published site has no forms, each listing is on
            one page, and rendering the page of a claim does not check the claim.
        verdicts: for a published site, the verdicts on its pages; a server reads verdicts from
            PostgreSQL instead.
        flags: the flags --home and --plugin of this server, which are added to commands in hints
            and on pages.
        counts: counts of the requests.
        labs: the pool of labs, each of which connects one request at a time to the stores.
    """

    settings: Settings
    workers: Workers = field(default_factory=Workers)
    published: Sequence[tuple[str, str]] = ()
    verdicts: StoredVerdicts = field(default_factory=dict)
    flags: str = ""
    counts: RequestCounts = field(default_factory=RequestCounts)
    labs: Pool[Lab] = field(
        default_factory=lambda: Pool(
            LABS, MAX_STORE_REQUESTS, f"{LABS} requests are using the stores"
        )
    )

    @contextmanager
    def lab(self) -> Iterator[Lab]:
        """Lend a lab to one request; the lab connects to the stores when it first needs them.

        Raises:
            UnavailableError: the request uses a store that is not running.
            BusyError: all labs are in use, or too many requests are waiting.
        """
        with self.labs.borrow(WAIT_SECONDS) as slot:
            lab = slot.item = slot.item or Lab(self.settings)
            try:
                yield lab
            except UnavailableError:
                # The servers may have restarted on other ports, so the next request opens a new
                # lab.
                lab.close()
                slot.item = None
                raise

    def read_id(self, artifact_id: str) -> str:
        """Replace the name of a stored network at the beginning of an id by the network's spec.

        Any other id is returned unchanged; if PostgreSQL is not running, every id is. Unlike
        `starcast.lab.signature.read_id`, this method builds no topology to recognize a spec,
        because only worker processes have limits on time and memory.

        Raises:
            InputError: several stored networks have the name.
            BusyError: all labs are in use, or too many requests are waiting.
        """
        name, colon, rest = artifact_id.partition(":")
        if not NAME.fullmatch(name) or is_family_spec(name):
            return artifact_id
        try:
            found = self._load_network(name)
        except UnavailableError:
            return artifact_id
        return artifact_id if found is None else f"{found.spec}{colon}{rest}"

    def find_network(self, artifact_id: str) -> Network | None:
        """Return the stored network to which an id belongs; None if its topology is not a network.

        Raises:
            InputError: no such network is stored.
            UnavailableError: PostgreSQL is not running.
            BusyError: all connections are in use, or too many requests are waiting.
        """
        spec = artifact_id.partition(":")[0]
        if not is_network_spec(spec):
            return None
        # PostgreSQL is always queried, because a network in this process's memory may have been
        # dropped from the store.
        found = self._load_network(spec)
        if found is None:
            raise InputError(
                f"unknown topology '{spec}'",
                hint="run 'starcast topology list' to see the stored networks",
            )
        return found

    def _load_network(self, spec_or_name: str) -> Network | None:
        with self.lab() as lab, open_session(lab.engine) as session:
            return load_network(session, spec_or_name)

    def compute(
        self,
        function: Callable[Concatenate[str, P], Result],
        artifact_id: str,
        *arguments: P.args,
        **options: P.kwargs,
    ) -> Result:
        """Call a function of `starcast.web.computations` in a worker, and return its result.

        Args:
            function: the function; its first argument is a spec or an id.
            artifact_id: the spec of a topology, or the id of a forest or schedule. It may begin
                with the name of a stored network instead of the network's spec.
            arguments: further arguments of the function.
            options: keyword arguments of the function.

        Raises:
            StarcastError: an error of the function, of `read_id`, `find_network` or `Workers.run`.
        """
        artifact_id = self.read_id(artifact_id)
        network = self.find_network(artifact_id)
        return self.workers.run(
            computations.compute_on, network, partial(function, artifact_id, *arguments, **options)
        )

    def library(self) -> Library:
        """Load the query packs from disk."""
        return load_library(*self.settings.packs)

    def find_problem(self) -> StarcastError | None:
        """Return the error that prevents the use of PostgreSQL, or None if it can be used."""
        try:
            with self.lab() as lab:
                _ = lab.engine
        except StarcastError as error:
            return error
        return None

    def close(self) -> None:
        """End the worker processes and close all connections."""
        self.workers.close()
        self.close_labs()

    def close_labs(self) -> None:
        """Close all connections to the stores. Later requests open new connections."""
        for slot in self.labs.slots:
            lab, slot.item = slot.item, None
            if lab is not None:
                lab.close()


def get_service(request: Request) -> Service:
    """Return the service of the application that handles this request."""
    return cast("Service", request.app.state.service)


#: The type of an endpoint parameter to which FastAPI passes the service.
ServiceParameter = Annotated[Service, Depends(get_service)]


@router.get("/health")
def show_health(service: ServiceParameter) -> models.Health:
    """Show which servers are running, and the limits on requests."""
    settings = service.settings
    return models.Health(
        version=version("starcast"),
        postgres=_check_store(service, _postgres_version),
        neo4j=_check_store(service, _neo4j_version),
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


@router.get("/metrics", response_class=PlainTextResponse)
def show_metrics(service: ServiceParameter) -> PlainTextResponse:
    """Show the server's counters in the format of Prometheus."""
    counts = service.counts
    lines = []
    for name, kind, meaning, values in (
        ("requests_total", "counter", "finished requests by HTTP status",
         {f'{{status="{status}"}}': number for status, number in sorted(counts.finished.items())}),
        ("request_seconds_total", "counter", "duration of the finished requests",
         {"": round(counts.seconds, 3)}),
        ("requests_running", "gauge", "requests that are being handled", {"": counts.running}),
        ("workers", "gauge", "worker processes for computations",
         {'{state="used"}': service.workers.used, '{state="all"}': len(service.workers.slots)}),
        ("store_connections", "gauge", "connections to the stores, each for one request at a time",
         {'{state="used"}': service.labs.used, '{state="all"}': len(service.labs.slots)}),
    ):  # fmt: skip
        lines += [f"# HELP starcast_{name} {meaning}", f"# TYPE starcast_{name} {kind}"]
        lines += [f"starcast_{name}{labels} {value}" for labels, value in values.items()]
    return PlainTextResponse("\n".join([*lines, ""]), media_type="text/plain; version=0.0.4")


def _check_store(service: Service, find_version: Callable[[Lab], str]) -> models.StoreHealth:
    try:
        with service.lab() as lab:
            found = find_version(lab)
    except StarcastError as error:
        hint = add_flags(error.hint, service.flags)
        return models.StoreHealth(available=False, version=None, detail=error.message, hint=hint)
    return models.StoreHealth(available=True, version=found, detail="", hint="")


def _postgres_version(lab: Lab) -> str:
    with open_session(lab.engine) as session:
        return str(session.scalar(text("SHOW server_version")))


def _neo4j_version(lab: Lab) -> str:
    # Only a query shows whether Neo4j has stopped since the connection was opened.
    lab.graph.read("RETURN 1")
    return lab.graph.version
