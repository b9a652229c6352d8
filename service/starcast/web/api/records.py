"""Resources for records: the best known objects of the search problems, with their witnesses."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from starcast.records import PROBLEM_NAMES, Record, known_folders
from starcast.records.listing import load_files, record_row
from starcast.support.errors import InputError, NotFoundError
from starcast.support.table import Row
from starcast.support.vocabulary import Format
from starcast.web import models, witnesses
from starcast.web.responses import (
    ARRAY,
    Page,
    PagingParameter,
    array_response,
    with_formats,
)
from starcast.web.service import Service, ServiceParameter

router = APIRouter(tags=["records"])
IdParameter = Annotated[
    str, Path(max_length=200, examples=["edge-disjoint-trees:S4"], description="id of a record")
]
ProblemParameter = Annotated[
    str | None, Query(description="only the records of a problem", max_length=50)
]


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
    record = witnesses.find_known_record(service.settings.home, record_id)
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
    name: Annotated[str, Path(max_length=50, examples=["parent_port"])],
    service: ServiceParameter,
) -> Response:
    """Return an array of a record's witness."""
    record = witnesses.find_known_record(service.settings.home, record_id)
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
        "explorer": witnesses.locate_witness(record),
        "url": f"records/{quote(record.id)}",
    }
