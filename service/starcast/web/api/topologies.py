"""Resources for topologies: counts, labels, neighbours, layouts, drawings, forests, schedules."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path
from starlette.responses import Response

from starcast.support.errors import StarcastError
from starcast.support.vocabulary import Format
from starcast.web import computations, models
from starcast.web.responses import (
    ARRAY_RESPONSE,
    FormatParameter,
    Page,
    PagingParameter,
    SpecParameter,
    array_response,
    text_response,
    with_formats,
)
from starcast.web.service import Service, ServiceParameter

router = APIRouter(tags=["topologies"])


@router.get("/topologies", responses=with_formats(Format.CSV))
def list_topologies(
    service: ServiceParameter,
    paging: PagingParameter,
) -> Page[models.StoredTopology]:
    """List the stored topologies, sorted by spec. Any topology can be requested by its spec."""
    with service.lab() as lab:
        rows = lab.topologies().rows
    items = [models.StoredTopology(**row, url=f"topologies/{quote(row['id'])}") for row in rows]
    return paging.respond(items, lambda item: item.id)


@router.get("/topologies/{spec}", responses=with_formats(Format.SVG))
def show_topology(
    spec: SpecParameter, service: ServiceParameter, output: FormatParameter = Format.JSON
) -> models.TopologyResource:
    """Show the counts and distances of a topology, and its constructions and algorithms."""
    if output == Format.SVG:
        picture = service.workers.run(computations.draw_topology, spec)
        return text_response(picture, Format.SVG)  # type: ignore[return-value]
    facts = service.workers.run(computations.describe_topology, spec)
    path = f"{quote(facts['spec'])}"
    return models.TopologyResource(
        **facts, labels_url=f"{path}/labels", neighbors_url=f"{path}/neighbors"
    )


@router.get("/topologies/{spec}/labels")
def list_labels(spec: SpecParameter, service: ServiceParameter) -> models.Labels:
    """List the labels of all nodes, by rank."""
    return models.Labels(labels=service.workers.run(computations.node_labels, spec))


@router.get("/topologies/{spec}/neighbors", responses=ARRAY_RESPONSE, response_class=Response)
def get_neighbors(spec: SpecParameter, service: ServiceParameter) -> Response:
    """Return the ranks of the neighbours of all nodes, int32 [nodes, ports]."""
    return array_response(service.workers.run(computations.neighbour_table, spec))


@router.get("/topologies/{spec}/layout/{name}", responses=ARRAY_RESPONSE, response_class=Response)
def get_layout(
    spec: SpecParameter,
    name: Annotated[str, Path(max_length=50, examples=["levels"])],
    service: ServiceParameter,
) -> Response:
    """Return the positions of all nodes, float32 [nodes, 2]: x to the right, y downwards."""
    return array_response(service.workers.run(computations.node_positions, spec, name))


@router.get("/topologies/{spec}/forests", responses=with_formats(Format.CSV))
def list_forests_on(
    spec: SpecParameter, service: ServiceParameter, paging: PagingParameter
) -> Page[models.ListedArtifact]:
    """List the forests on a topology: one for each construction, and other stored forests."""
    computed = service.workers.run(computations.list_forests, spec)
    items = _with_stored(service, "forests", spec, computed)
    return paging.respond(items, lambda item: item.id)


@router.get("/topologies/{spec}/schedules", responses=with_formats(Format.CSV))
def list_schedules_on(
    spec: SpecParameter, service: ServiceParameter, paging: PagingParameter
) -> Page[models.ListedArtifact]:
    """List the schedules on a topology: one for each algorithm, and other stored schedules."""
    computed = service.workers.run(computations.list_schedules, spec)
    items = _with_stored(service, "schedules", spec, computed)
    return paging.respond(items, lambda item: item.id)


def _with_stored(
    service: Service, kind: str, spec: SpecParameter, computed: list[tuple[str, str]]
) -> list[models.ListedArtifact]:
    """Return the computed artifacts and, if PostgreSQL is running, all others that are stored."""
    stored: set[str] = set()
    try:
        with service.lab() as lab:
            table = lab.forests(spec) if kind == "forests" else lab.schedules(spec)
        stored = {row["id"] for row in table if row["state"] == "complete"}
    except StarcastError:  # without PostgreSQL, only the computed artifacts are listed
        stored = set()
    names = dict(computed)
    names |= {each: each.partition(":")[2] for each in sorted(stored - names.keys())}
    return [
        models.ListedArtifact(id=each, name=name, stored=each in stored)
        for each, name in names.items()
    ]
