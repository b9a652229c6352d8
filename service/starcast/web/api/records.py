"""Resources for records: the best known objects of the search problems, with their witnesses."""

from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import numpy as np
from fastapi import APIRouter, Query
from fastapi import Path as PathParameter
from starlette.responses import Response

from starcast.records import PROBLEM_NAMES, Record, known_folders, verify
from starcast.records.files import load_files, missing_reason, record_row
from starcast.support.errors import InputError, NotFoundError, StarcastError
from starcast.support.table import Row
from starcast.support.vocabulary import Format, format_spec, parse_spec
from starcast.topologies import topology
from starcast.trees import Forest
from starcast.web import models
from starcast.web.computations import require_drawable
from starcast.web.responses import (
    ARRAY,
    Page,
    PagingParameter,
    array_response,
    explorer_url,
    with_formats,
)
from starcast.web.service import Service, ServiceParameter

router = APIRouter(tags=["records"])
IdParameter = Annotated[
    str,
    PathParameter(
        max_length=200, examples=["edge-disjoint-trees:S4"], description="id of a record"
    ),
]
ProblemParameter = Annotated[
    str | None, Query(description="only the records of a problem", max_length=50)
]
#: The construction name in the ids of witness forests.
CONSTRUCTION = "record"
#: For some problems, the algorithm whose schedule executes the witness that comes with starcast.
_SCHEDULES = {
    "one-port-broadcast": "broadcast:optimal",
    "hamiltonian-decomposition": "allgather:hamiltonian-decomposition",
}


@router.get("/records", responses=with_formats(Format.CSV))
def list_records(
    service: ServiceParameter,
    paging: PagingParameter,
    problem: ProblemParameter = None,
) -> Page[models.RecordResource]:
    """List the best known object of each problem and topology. No server is needed."""
    rows = [record_fields(each) for each in load(service, problem)]
    return paging.respond(models.RecordResource, rows)


@router.get("/records/{record_id}")
def show_record(record_id: IdParameter, service: ServiceParameter) -> models.RecordDetail:
    """Show a record: why its bound holds, its proof, and the searches for it."""
    record = find_known_record(service.settings.home, record_id)
    fields = record.fields()
    return models.RecordDetail(
        **record_fields(record),
        statement=None if record.proof is None else record.proof.statement,
        checker=None if record.proof is None else record.proof.checker,
        proof_command=None if record.proof is None else record.proof.command,
        searches=fields["tried"],
        witness={
            name: f"{quote(record.id)}/witness/{quote(name)}" for name in sorted(record.witness)
        },
    )


@router.get("/records/{record_id}/witness/{name}", **ARRAY)
def get_witness(
    record_id: IdParameter,
    name: Annotated[str, PathParameter(max_length=50, examples=["parent_port"])],
    service: ServiceParameter,
) -> Response:
    """Return an array of a record's witness."""
    record = find_known_record(service.settings.home, record_id)
    if name not in record.witness:
        raise NotFoundError(
            f"the witness of {record.id} has no array '{name}'",
            hint=f"choose {' or '.join(sorted(record.witness))}",
        )
    return array_response(record.witness[name])


def load(service: Service, problem: str | None) -> list[Record]:
    """Return the best known records, in the order of the problems.

    Raises:
        InputError: the problem is unknown, or a file is damaged.
    """
    if problem is not None and problem not in PROBLEM_NAMES:
        raise InputError(
            f"unknown problem '{problem}'", hint=f"choose one of {', '.join(PROBLEM_NAMES)}"
        )
    records = load_files(known_folders(service.settings.home))
    return [record for record in records if problem in (None, record.problem)]


def record_fields(record: Record) -> Row:
    """Return the fields of `models.RecordResource` for a record."""
    return {
        **record_row(record),
        "id": record.id,
        "explorer": locate_witness(record),
        "url": f"records/{quote(record.id)}",
    }


def find_known_record(home: Path, record_id: str) -> Record:
    """Return the best known record with an id such as ``congestion-trees:S4:congestion=2``.

    Args:
        home: the user's home directory of starcast, which may contain better records.
        record_id: the id; it is compared with known records, and never used as a path.

    Raises:
        NotFoundError: no such record is known.
        InputError: the file of a record is damaged.
    """
    for record in load_files(known_folders(home)):
        if record.id == record_id:
            return record
    raise NotFoundError(f"no record has the id '{record_id}'", hint="see 'starcast records list'")


def build_witness_forest(home: Path, forest_id: str) -> Forest:
    """Verify a record and return the trees of its witness.

    Args:
        home: the user's home directory of starcast, which may contain better records.
        forest_id: ``S4:record(problem=congestion-trees,congestion=2)``, with or without the root.

    Raises:
        NotFoundError: no such record is known, or its witness is not a forest.
        InputError: the id or the file of a record is malformed.
        RejectedError: the record is wrong.
    """
    spec, text, *root = forest_id.split(":")
    graph = topology(spec)
    if root and graph.rank(root[0]) != 0:
        raise NotFoundError(
            f"the trees of a record have the root {graph.stored_label(0)}, not {root[0]}",
            hint=f"request {spec}:{text}, without a root",
        )
    arguments = dict(parse_spec(text)[1])
    problem = str(arguments.pop("problem", ""))
    values = [f"{name}={value}" for name, value in sorted(arguments.items())]
    record = find_known_record(home, ":".join([problem, graph.spec, *values]))
    if "parent_port" not in record.witness:
        raise NotFoundError(
            f"the witness of {record.id} is not a forest", hint="see 'starcast records show'"
        )
    # The file of a record may come from anywhere, so its trees are verified before they are shown.
    verify(record)
    rows = np.atleast_2d(record.witness["parent_port"])
    return Forest(graph, rows, 0, CONSTRUCTION, {"problem": problem, **record.arguments})


def locate_witness(record: Record) -> str | None:
    """Return the URL at which the explorer shows a record's witness, or None if there is none."""
    try:
        graph = require_drawable(topology(record.topology))
    except StarcastError:  # the topology is too large, or its plug-in is not loaded
        return None
    state: dict[str, str] = {}
    scheduled = _SCHEDULES.get(record.problem)
    needs_proof = record.problem == "one-port-broadcast"
    if scheduled and missing_reason(record.problem, graph.spec, optimal=needs_proof) is None:
        state["schedule"] = scheduled
    elif "parent_port" in record.witness:
        values: dict[str, str | int] = {"problem": record.problem, **record.arguments}
        state["forest"] = format_spec(CONSTRUCTION, values)
    elif "faults" in record.witness:
        state["faults"] = ",".join(graph.label(int(node)) for node in record.witness["faults"])
        state["node"] = graph.label(int(record.witness["pair"][0]))
    else:
        return None
    return explorer_url(graph.spec, state)
