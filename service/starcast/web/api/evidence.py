"""Resources for evidence: the papers' claims with verdicts, and records with witnesses.

A record is the best known solution of a search problem on a topology; its witness is the solution.
"""

import pathlib
from functools import lru_cache
from typing import Annotated
from urllib.parse import quote

import numpy as np
from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from starcast.claims import Claim, Verdict, find_claim, report, select_claims, storage
from starcast.claims.report import StoredVerdicts
from starcast.queries.counterexample import locate, to_cypher
from starcast.records import PROBLEM_NAMES, Record, known_folders, verify
from starcast.records.files import load_files, missing_reason, record_row
from starcast.stores.database.sessions import open_session
from starcast.support.errors import InputError, NotFoundError, StarcastError, UnavailableError
from starcast.support.table import Row
from starcast.support.vocabulary import Format, VerdictWord, format_spec, parse_spec
from starcast.topologies import topology
from starcast.trees import Forest
from starcast.web import computations, models
from starcast.web.api.responses import (
    ARRAY,
    Page,
    PagingParameter,
    array_response,
    explorer_url,
    resource_url,
    with_formats,
)
from starcast.web.service import Service, ServiceParameter

router = APIRouter()
ClaimParameter = Annotated[str, Path(max_length=100, examples=["TS.L5"])]
PaperParameter = Annotated[str | None, Query(description="paper key, such as TS", max_length=20)]
VerdictParameter = Annotated[
    VerdictWord | None, Query(description="list only claims with this stored verdict")
]
RecordParameter = Annotated[
    str,
    Path(max_length=200, examples=["edge-disjoint-trees:S4"], description="id of a record"),
]
ProblemParameter = Annotated[
    str | None, Query(description="list only the records of this problem", max_length=50)
]
#: The construction name in the ids of witness forests.
CONSTRUCTION = "record"
#: Algorithms by problem: each witness of the problem defines a schedule of the algorithm.
_SCHEDULES = {
    "one-port-broadcast": "broadcast:optimal",
    "hamiltonian-decomposition": "allgather:hamiltonian-decomposition",
}


@router.get("/claims", tags=["claims"], responses=with_formats(Format.CSV))
def list_claims(
    service: ServiceParameter,
    paging: PagingParameter,
    paper: PaperParameter = None,
    verdict: VerdictParameter = None,
) -> Page[models.ClaimResource]:
    """List the claims in the order of the papers. Without PostgreSQL, verdicts are null."""
    claims = select_claims([paper] if paper else [])
    table = report.list_claims(claims, stored_verdicts(service), verdict)
    return paging.respond(models.ClaimResource, [claim_fields(row) for row in table])


@router.get("/claims/{claim_id}", tags=["claims"])
def show_claim(claim_id: ClaimParameter, service: ServiceParameter) -> models.ClaimDetail:
    """Show a claim. If no verdict is stored, a server first checks the claim on small topologies.

    A conjunction of claims is not checked.
    """
    claim = find_known_claim(claim_id)
    run, verdict = stored_verdicts(service).get(claim.id, (None, None))
    # A published site never verifies claims here: `publish --check-claims` does so in advance.
    if verdict is None and claim.check is not None and not service.published:
        verdict = service.workers.run(computations.verify_claim, claim.id)
    row = {**report.claim_row(claim), **report.verdict_row(verdict)}
    facts = report.claim_facts(
        claim, {} if run is None or verdict is None else {claim.id: (run, verdict)}
    )
    return models.ClaimDetail(
        **claim_fields(row),
        reading=claim.reading,
        record=claim.record,
        parts=list(claim.parts),
        detail="" if verdict is None else verdict.detail,
        run=None if run is None else run.id,
        verified_by=facts.get("verified_by", ""),
        explorer=None if verdict is None else locate_counterexample(verdict),
        cypher=None if verdict is None else _cypher(verdict),
    )


def find_known_claim(claim_id: str) -> Claim:
    """Return the claim with the given id.

    Raises:
        NotFoundError: no claim has this id.
    """
    try:
        return find_claim(claim_id)
    # An unknown id in a URL path is a missing resource (status 404), not invalid input (422).
    except InputError as error:
        raise NotFoundError(error.message, hint=error.hint) from None


def stored_verdicts(service: Service) -> StoredVerdicts:
    """Return, by claim id, the newest stored verification run of a claim and the run's verdict.

    Only claims of loaded packs are included. The verdict is None if the claim's pack has changed
    since the run. For a published site, the result has the verdicts that were read or computed for
    its pages.
    """
    return service.verdicts if service.published else read_verdicts(service)


def read_verdicts(service: Service) -> StoredVerdicts:
    """Read the newest verdicts by claim from PostgreSQL; return {} if it is not running."""
    try:
        with service.lab() as lab, open_session(lab.engine) as session:
            return storage.newest_verdicts(session)
    except UnavailableError:
        return {}


def describe_missing_packs(service: Service) -> str:
    """Return a sentence that names the paper packs that have stored verdicts but are not loaded.

    The sentence is "" if all packs are loaded, or PostgreSQL is not running.
    """
    try:
        with service.lab() as lab, open_session(lab.engine) as session:
            return storage.describe_missing_packs(session)
    except UnavailableError:
        return ""


def locate_counterexample(verdict: Verdict) -> str | None:
    """Return the explorer URL that shows a verdict's counterexample; None if it cannot be shown."""
    try:
        at = locate(verdict)
    except NotFoundError:
        return None
    kinds = ("forest", "schedule")
    state = {kind: at[kind].partition(":")[2] for kind in kinds if kind in at}
    state |= {name: str(at[name]) for name in ("tree", "step") if name in at}
    if node := at.get("sender", at.get("node")):
        state["node"] = node
    return explorer_url(at["topology"], state)


def _cypher(verdict: Verdict) -> str | None:
    try:
        return to_cypher(verdict)
    except NotFoundError:
        return None


def claim_fields(row: Row) -> Row:
    """Return the fields of `models.ClaimResource` for a row of the claim listing."""
    return {
        **{name: row[name] for name in ("id", "paper", "number", "statement", "notation")},
        "verdict": row.get("verdict"),
        "sizes": row.get("sizes") or [],
        "counterexample": row.get("counterexample") or "",
        "url": resource_url("claims", row["id"]),
    }


@router.get("/records", tags=["records"], responses=with_formats(Format.CSV))
def list_records(
    service: ServiceParameter,
    paging: PagingParameter,
    problem: ProblemParameter = None,
) -> Page[models.RecordResource]:
    """List the best known solution of each problem on each topology, as read from record files."""
    rows = [record_fields(each) for each in load_records(service, problem)]
    return paging.respond(models.RecordResource, rows)


@router.get("/records/{record_id}", tags=["records"])
def show_record(record_id: RecordParameter, service: ServiceParameter) -> models.RecordDetail:
    """Show a record: value, bound, the reason for the bound, proof, searches and witness."""
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


@router.get("/records/{record_id}/witness/{name}", tags=["records"], **ARRAY)
def get_witness(
    record_id: RecordParameter,
    name: Annotated[str, Path(max_length=50, examples=["parent_port"])],
    service: ServiceParameter,
) -> Response:
    """Return an array of a record's witness, such as parent_port."""
    record = find_known_record(service.settings.home, record_id)
    if name not in record.witness:
        raise NotFoundError(
            f"the witness of {record.id} has no array '{name}'",
            hint=f"choose {' or '.join(sorted(record.witness))}",
        )
    return array_response(record.witness[name])


def load_records(service: Service, problem: str | None) -> list[Record]:
    """Return the best known records of a problem, or of all problems if ``problem`` is None.

    Raises:
        InputError: the problem is unknown, or the file of a record is damaged.
    """
    if problem is not None and problem not in PROBLEM_NAMES:
        raise InputError(
            f"unknown problem '{problem}'", hint=f"choose one of {', '.join(PROBLEM_NAMES)}"
        )
    records = _load_known(service.settings.home)
    return [record for record in records if problem in (None, record.problem)]


def record_fields(record: Record) -> Row:
    """Return the fields of `models.RecordResource` for a record."""
    return {
        **record_row(record),
        "id": record.id,
        "explorer": locate_witness(record),
        "url": f"records/{quote(record.id)}",
    }


def find_known_record(home: pathlib.Path, record_id: str) -> Record:
    """Return the best known record with the given id.

    Args:
        home: starcast's home, which may contain better records than those that come with starcast.
        record_id: the id, such as ``congestion-trees:S4:congestion=2``. It is compared with the ids
            of all records, and never used as a path.

    Raises:
        NotFoundError: no record has this id.
        InputError: the file of a record is damaged.
    """
    for record in _load_known(home):
        if record.id == record_id:
            return record
    raise NotFoundError(f"no record has the id '{record_id}'", hint="see 'starcast records list'")


def _load_known(home: pathlib.Path) -> list[Record]:
    """Return the best known records. The records are cached until a record file changes."""
    folders = tuple(known_folders(home))
    stats = [file.stat() for folder in folders for file in sorted(folder.rglob("*.*"))]
    return _load_records(folders, tuple((each.st_ino, each.st_mtime_ns) for each in stats))


@lru_cache(maxsize=1)
def _load_records(
    folders: tuple[pathlib.Path, ...], _stamps: tuple[tuple[int, int], ...]
) -> list[Record]:
    return load_files(folders)


def build_witness_forest(home: pathlib.Path, forest_id: str) -> Forest:
    """Verify a record and return the trees of its witness.

    Args:
        home: starcast's home, which may contain better records than those that come with starcast.
        forest_id: such as ``S4:record(problem=congestion-trees,congestion=2)``, optionally followed
            by a colon and the root.

    Raises:
        NotFoundError: the record does not exist, its witness is not a forest, or the id has a root
            other than the node of rank 0.
        InputError: the id is malformed, its topology is unknown, or a record file is damaged.
        RejectedError: the verification of the record failed.
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
    """Return the explorer URL of a record's witness; None if the explorer cannot show it."""
    try:
        graph = computations.require_drawable(topology(record.topology))
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
