"""Resources for topologies, forests and schedules: listings, arrays, drawings, simulations."""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from starcast.collectives.rows import Columns
from starcast.support.errors import StarcastError
from starcast.support.table import Row, Table
from starcast.support.vocabulary import Format
from starcast.topologies import normalize_id
from starcast.trees import Forest
from starcast.trees.construction import CONSTRUCTIONS
from starcast.web import computations, models
from starcast.web.api import evidence
from starcast.web.api.responses import (
    ARRAY,
    ForestParameter,
    FormatParameter,
    Page,
    PagingParameter,
    ScheduleParameter,
    SpecParameter,
    array_response,
    describe_array,
    resource_url,
    text_response,
    with_formats,
)
from starcast.web.service import Service, ServiceParameter

router = APIRouter()
Result = TypeVar("Result")
TopologyParameter = Annotated[
    str | None, Query(description="list only artifacts on this topology", max_length=50)
]
ExpandParameter = Annotated[
    bool, Query(description="for a symmetric schedule, return the rows of all sources")
]
FaultParameter = Annotated[
    list[str],
    Query(
        description="faulty node (21345) or link (12345-21345); with @3 appended, "
        "the fault begins in step 3"
    ),
]


@router.get("/topologies", tags=["topologies"], responses=with_formats(Format.CSV))
def list_topologies(
    service: ServiceParameter,
    paging: PagingParameter,
) -> Page[models.StoredTopology]:
    """List the stored topologies: those in Neo4j, then networks that are only in PostgreSQL.

    All topologies except networks can be requested by spec even if they are not stored.
    """
    with service.lab() as lab:
        rows = lab.topologies().rows
    return paging.respond(models.StoredTopology, _with_urls("topologies", rows))


@router.get("/topologies/{spec}", tags=["topologies"], responses=with_formats(Format.SVG))
def show_topology(
    spec: SpecParameter, service: ServiceParameter, output: FormatParameter = Format.JSON
) -> models.TopologyResource:
    """Show the counts and distances of a topology, and its constructions and algorithms."""
    if output == Format.SVG:
        picture = service.compute(computations.draw_topology, spec)
        return text_response(picture, Format.SVG)  # type: ignore[return-value]
    facts = service.compute(computations.describe_topology, spec)
    path = f"{quote(facts['spec'])}"
    return models.TopologyResource(
        **facts, labels_url=f"{path}/labels", neighbours_url=f"{path}/neighbours"
    )


@router.get("/topologies/{spec}/labels", tags=["topologies"])
def list_labels(spec: SpecParameter, service: ServiceParameter) -> models.Labels:
    """List the labels of all nodes, by rank."""
    return models.Labels(labels=service.compute(computations.node_labels, spec))


@router.get("/topologies/{spec}/neighbours", tags=["topologies"], **ARRAY)
def get_neighbours(spec: SpecParameter, service: ServiceParameter) -> Response:
    """Return the ranks of the neighbours of all nodes, int32 [nodes, ports].

    A node without a link at a port has its own rank there.
    """
    return array_response(service.compute(computations.neighbour_table, spec))


@router.get("/topologies/{spec}/layout/{name}", tags=["topologies"], **ARRAY)
def get_layout(
    spec: SpecParameter,
    name: Annotated[str, Path(max_length=50, examples=["levels"])],
    service: ServiceParameter,
    root: Annotated[
        str | None,
        Query(description="root of the layout `levels`: a label, or #6 (default: rank 0)"),
    ] = None,
) -> Response:
    """Return the positions of all nodes, float32 [nodes, 2]: x to the right, y downwards."""
    return array_response(service.compute(computations.node_positions, spec, name, root))


@router.get("/topologies/{spec}/forests", tags=["topologies"], responses=with_formats(Format.CSV))
def list_forests_on(
    spec: SpecParameter, service: ServiceParameter, paging: PagingParameter
) -> Page[models.ListedArtifact]:
    """List the stored forests on a topology, and one forest for each construction.

    Constructions that need arguments are omitted.
    """
    computed = service.compute(computations.list_forests, spec)
    return paging.respond(models.ListedArtifact, _with_stored(service, "forests", spec, computed))


@router.get("/topologies/{spec}/schedules", tags=["topologies"], responses=with_formats(Format.CSV))
def list_schedules_on(
    spec: SpecParameter, service: ServiceParameter, paging: PagingParameter
) -> Page[models.ListedArtifact]:
    """List the stored schedules on a topology, and one schedule for each algorithm.

    Algorithms without valid default arguments are omitted.
    """
    computed = service.compute(computations.list_schedules, spec)
    return paging.respond(models.ListedArtifact, _with_stored(service, "schedules", spec, computed))


def _with_stored(
    service: Service, kind: str, spec: SpecParameter, computed: list[tuple[str, str]]
) -> list[Row]:
    """Return a row for each artifact that is in ``computed`` or completely stored.

    If PostgreSQL cannot be read, only the artifacts in ``computed`` have rows.

    Args:
        service: the service that reads the stored ids.
        kind: ``forests`` or ``schedules``.
        spec: the spec of the topology.
        computed: ids and short names of artifacts that are listed even if they are not stored.
    """
    try:
        with service.lab() as lab:
            table = lab.forests(spec) if kind == "forests" else lab.schedules(spec)
        stored = {row["id"] for row in table if row["state"] == "complete"}
    except StarcastError:  # without PostgreSQL, no artifact counts as stored
        stored = set()
    names = dict(computed)
    names |= {each: each.partition(":")[2] for each in sorted(stored - names.keys())}
    return [{"id": each, "name": name, "stored": each in stored} for each, name in names.items()]


def _with_urls(kind: str, rows: Sequence[Row]) -> list[Row]:
    return [{**row, "url": resource_url(kind, row["id"])} for row in rows]


@router.get("/forests", tags=["forests"], responses=with_formats(Format.CSV))
def list_forests(
    service: ServiceParameter,
    paging: PagingParameter,
    topology: TopologyParameter = None,
) -> Page[models.StoredForest]:
    """List the stored forests, sorted by id.

    A forest that a construction builds can be requested by its id even if it is not stored.
    """
    with service.lab() as lab:
        rows = lab.forests(topology).rows
    return paging.respond(models.StoredForest, _with_urls("forests", rows))


@router.get("/forests/{forest_id}", tags=["forests"], responses=with_formats(Format.SVG))
def show_forest(
    forest_id: ForestParameter, service: ServiceParameter, output: FormatParameter = Format.JSON
) -> models.ForestResource:
    """Show the properties of a forest, such as S5:multiple:12345.

    If the id has no root, as in S5:multiple, the root is the node with rank 0.
    """
    if output == Format.SVG:
        picture = compute_forest(service, computations.draw_forest, forest_id)
        return text_response(picture, Format.SVG)  # type: ignore[return-value]
    facts = compute_forest(service, computations.describe_forest, forest_id)
    path = quote(facts["id"])
    return models.ForestResource(
        **facts, parent_ports_url=f"{path}/parent-ports", load_url=f"{path}/load"
    )


@router.get("/forests/{forest_id}/parent-ports", tags=["forests"], **ARRAY)
def get_parent_ports(forest_id: ForestParameter, service: ServiceParameter) -> Response:
    """Return the port from each node to its parent, uint8 [trees, nodes]; 0 for no parent."""
    return array_response(compute_forest(service, computations.parent_ports, forest_id))


@router.get("/forests/{forest_id}/load", tags=["forests"], **ARRAY)
def get_load(forest_id: ForestParameter, service: ServiceParameter) -> Response:
    """Return the number of trees that use each directed link, int32 [nodes, ports]."""
    return array_response(compute_forest(service, computations.link_loads, forest_id))


@router.get("/schedules", tags=["schedules"], responses=with_formats(Format.CSV))
def list_schedules(
    service: ServiceParameter,
    paging: PagingParameter,
    topology: TopologyParameter = None,
) -> Page[models.StoredSchedule]:
    """List the stored schedules, sorted by id.

    A schedule that an algorithm builds can be requested by its id even if it is not stored.
    """
    with service.lab() as lab:
        rows = lab.schedules(topology).rows
    return paging.respond(models.StoredSchedule, _with_urls("schedules", rows))


@router.get("/schedules/{schedule_id}", tags=["schedules"], responses=with_formats(Format.SVG))
def show_schedule(
    schedule_id: ScheduleParameter, service: ServiceParameter, output: FormatParameter = Format.JSON
) -> models.ScheduleResource:
    """Show a schedule, given by its id or a short form such as S5:broadcast:multiple."""
    if output == Format.SVG:
        picture = service.compute(computations.draw_schedule, schedule_id)
        return text_response(picture, Format.SVG)  # type: ignore[return-value]
    facts = service.compute(computations.describe_schedule, schedule_id)
    path = quote(facts["id"])
    return models.ScheduleResource(**facts, rows_url=f"{path}/rows", steps_url=f"{path}/steps")


@router.get(
    "/schedules/{schedule_id}/rows",
    tags=["schedules"],
    response_class=Response,
    responses=describe_array(
        csv={"type": "string"}, json={"type": "array", "items": {"type": "object"}}
    ),
)
def get_rows(
    schedule_id: ScheduleParameter,
    service: ServiceParameter,
    expand: ExpandParameter = False,
    output: Annotated[
        str | None,
        Query(alias="format", pattern="^(json|csv)$", description="json or csv (default: binary)"),
    ] = None,
) -> Response:
    """Return a schedule's rows as int32 [columns, rows] or, with node labels, as JSON or CSV.

    The columns are step, sender, port, receiver, tree, unit and, in reductions, combine.
    """
    if output is None:
        rows = service.compute(computations.schedule_rows, schedule_id, expand=expand)
        return array_response(rows, Columns._fields[: len(rows)])
    form = Format(output)
    listed = service.compute(computations.list_schedule_rows, schedule_id, form, expand=expand)
    return text_response(listed, form)


@router.get(
    "/schedules/{schedule_id}/steps", tags=["schedules"], responses=with_formats(Format.CSV)
)
def list_steps(
    schedule_id: ScheduleParameter, service: ServiceParameter, output: FormatParameter = Format.JSON
) -> list[models.Step]:
    """List, for each step of the simulation, the number of links used and the largest packet."""
    listed = service.compute(computations.list_steps, schedule_id, output)
    return text_response(listed, output)  # type: ignore[return-value]


@router.get("/simulate", tags=["schedules"])
def simulate(
    service: ServiceParameter,
    schedule: Annotated[str, Query(description="id of the schedule", max_length=500)],
    fault: FaultParameter = [],  # noqa: B006 - FastAPI copies it
) -> models.SimulationResource:
    """Execute a schedule, possibly with faults; return how many units each node received."""
    facts = service.compute(computations.simulate_schedule, schedule, fault)
    return models.SimulationResource(**facts)


def list_stored(service: Service) -> dict[str, Table]:
    """Return tables of the stored topologies, forests and schedules, by kind."""
    with service.lab() as lab:
        return {
            "topologies": lab.topologies(),
            "forests": lab.forests(),
            "schedules": lab.schedules(),
        }


def compute_forest(
    service: Service, function: Callable[[str | Forest], Result], forest_id: str
) -> Result:
    """Call a function with a forest, and return the result.

    If starcast or a loaded plug-in defines the forest's construction, a worker process builds the
    forest and calls the function. Otherwise the forest is read: from the file of a record if its
    construction is ``record``, else from PostgreSQL.

    Raises:
        NotFoundError: no construction builds the forest, and the forest is not stored.
        UnavailableError: PostgreSQL, which stores the forest or its network, is not running.
        StarcastError: another error of the function, `Service.compute` or `build_witness_forest`.
    """
    forest_id = service.read_id(forest_id)
    construction = (*forest_id.split(":"), "")[1].partition("(")[0]
    if construction == evidence.CONSTRUCTION:
        service.find_network(forest_id)
        return function(evidence.build_witness_forest(service.settings.home, forest_id))
    if construction in CONSTRUCTIONS or forest_id.count(":") != 2:
        return service.compute(function, forest_id)
    with service.lab() as lab:
        stored = lab.forest(normalize_id(forest_id))
    # No worker is needed, because reading a stored forest is fast and runs no code of a plug-in.
    return function(stored)
