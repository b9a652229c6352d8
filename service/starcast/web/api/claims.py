"""Resources for the papers' claims, with their newest stored verdicts and counterexamples."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Query

from starcast.claims import Claim, Verdict, find_claim, report, select_claims, storage
from starcast.claims.report import Stored
from starcast.queries.counterexample import locate, to_cypher
from starcast.stores.database.sessions import open_session
from starcast.support.errors import InputError, NotFoundError, UnavailableError
from starcast.support.table import Row
from starcast.support.vocabulary import Format, VerdictWord
from starcast.web import computations, models
from starcast.web.responses import Page, PagingParameter, explorer_url, with_formats
from starcast.web.service import Service, ServiceParameter

router = APIRouter(tags=["claims"])
IdParameter = Annotated[str, Path(max_length=100, examples=["TS.L5"])]
PaperParameter = Annotated[str | None, Query(description="TS, SLC, FA, EDT or NK", max_length=20)]
VerdictParameter = Annotated[
    VerdictWord | None, Query(description="only claims with this stored verdict")
]


@router.get("/claims", responses=with_formats(Format.CSV))
def list_claims(
    service: ServiceParameter,
    paging: PagingParameter,
    paper: PaperParameter = None,
    verdict: VerdictParameter = None,
) -> Page[models.ClaimResource]:
    """List the claims in the order of the papers. If PostgreSQL is down, verdicts are null."""
    claims = select_claims([paper] if paper else [])
    table = report.list_claims(claims, stored_verdicts(service), verdict)
    return paging.respond(models.ClaimResource, [claim_fields(row) for row in table])


@router.get("/claims/{claim_id}")
def show_claim(claim_id: IdParameter, service: ServiceParameter) -> models.ClaimDetail:
    """Show a claim. If it has no stored verdict, it is verified now, at its quick sizes."""
    claim = find(claim_id)
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


def find(claim_id: str) -> Claim:
    """Return the claim with this id.

    Raises:
        NotFoundError: no claim has this id.
    """
    try:
        return find_claim(claim_id)
    # An unknown id in a path is a missing resource (status 404), not invalid input (status 422).
    except InputError as error:
        raise NotFoundError(error.message, hint=error.hint) from None


def stored_verdicts(service: Service) -> Stored:
    """Return the newest verdicts by claim, omitting stored verdicts if PostgreSQL is down."""
    try:
        with service.lab() as lab, open_session(lab.engine) as session:
            return {**service.verdicts, **storage.newest_verdicts(session)}
    except UnavailableError:
        return service.verdicts


def locate_counterexample(verdict: Verdict) -> str | None:
    """Return the explorer URL that shows a counterexample, or None if it cannot be located."""
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
    """Return the fields of `models.ClaimResource` for a row of a listing."""
    return {
        **{name: row[name] for name in ("id", "paper", "number", "statement", "notation")},
        "verdict": row.get("verdict"),
        "sizes": row.get("sizes") or [],
        "counterexample": row.get("counterexample") or "",
        "url": f"claims/{quote(row['id'])}",
    }
