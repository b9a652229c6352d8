"""``starcast claims``: the claims of the papers, and their verdicts."""

from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from starcast.cli import claim_runs, completion, context, distribution
from starcast.cli.db import store
from starcast.cli.output import FormatOption, emit, emit_outcome, emit_properties, reporter, say
from starcast.errors import InputError, NotFoundError, RejectedError, UnavailableError
from starcast.support.text import pluralize
from starcast.vocabulary import Format, Level, VerdictWord

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from starcast.claims import Claim, Verdict
    from starcast.database import models

app = typer.Typer(no_args_is_help=True, help="Verify the claims of the five papers by computation.")


NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        help="Ids, or beginnings of ids: TS.L5, NK.Tab1, TS (default: all claims).",
        show_default=False,
        autocompletion=completion.claims,
    ),
]
IdArgument = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="Id of the claim, such as TS.L5.", autocompletion=completion.claims
    ),
]
#: Up to this many claims, details are printed below the table.
_FEW = 3


@app.command("list")
def list_claims(
    ctx: typer.Context,
    paper: Annotated[
        str | None, typer.Option(help="Only the claims of a paper: TS, SLC, FA, EDT or NK.")
    ] = None,
    verdict: Annotated[
        VerdictWord | None,
        typer.Option(help="Only the claims with this stored verdict.", show_default=False),
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the claims with their newest stored verdicts and verification runs.

    Without a running server the verdicts are omitted.

    \b
    starcast claims list --paper TS
    starcast claims list --verdict fails
    """
    from starcast.claims import listing

    listing.check_paper(paper)
    listed = listing.list_claims(_stored(ctx, demanded=verdict is not None), paper, verdict)
    short = ("id", "number", "verdict", "statement")
    emit(listed.rows, short if output is Format.TABLE else listed.columns, output)


@app.command("show")
def show(
    ctx: typer.Context,
    name: IdArgument,
    cypher: Annotated[
        bool,
        typer.Option(
            "--cypher",
            help="Print its counterexample as a query for the graph of an ingested topology.",
        ),
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print a claim, its sizes, and its newest stored verdict.

    With --cypher its counterexample is printed as Cypher for 'starcast query ask' or Neo4j Browser,
    below the command that ingests the topology. If no verdict is stored, the claim is verified
    first, at quick sizes.

    \b
    starcast claims show TS.L5
    starcast claims show TS.L5 --cypher | starcast query ask -
    """
    from starcast.claims import find_claim
    from starcast.claims.listing import claim_facts

    claim = find_claim(name)
    stored = _stored(ctx)
    if cypher:
        print(_cypher(claim, stored[claim.id][1] if claim.id in stored else None))
        return
    emit_properties(claim_facts(claim, stored), output)
    if claim.id not in stored:
        say(f"no verdict is stored; 'starcast claims check {claim.id}' verifies it")


@app.command("check")
def check(
    ctx: typer.Context,
    names: NamesArgument = None,
    level: Annotated[
        Level | None, typer.Option(help="Sizes to verify.", show_default="quick")
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="S4,S5", help="Topologies to verify instead of a level; (n,k)-stars as S4,2."
        ),
    ] = None,
    jobs: distribution.JobsOption = None,
    workers: distribution.WorkersOption = None,
    stored: Annotated[
        bool,
        typer.Option(
            "--store/--no-store", help="Store evidence and verdicts; --no-store needs no server."
        ),
    ] = True,
    again: Annotated[
        bool, typer.Option("--again", help="Verify again what is stored for the same code.")
    ] = False,
    shard: distribution.ShardOption = None,
    out: distribution.ShardFileOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Verify claims by computation, and print their verdicts.

    A claim holds, holds as a bound, fails, or is not checkable. Evidence is stored as it is
    recorded: an interrupted run continues where it stopped, and evidence of the same code is not
    computed again. The level deep omits sizes that exceed the memory.

    The exit code is 0 even if claims fail.

    \b
    starcast claims check
    starcast claims check TS.L5 NK.Tab1 --level full
    starcast claims check TS.L5 --sizes S4,S5 --no-store
    """
    from starcast.claims import select_claims
    from starcast.support.shards import parse_shard

    if level is not None and sizes is not None:
        raise InputError("--level and --sizes cannot be combined", hint="remove one")
    part = parse_shard(shard, out)
    specs = _specs(sizes)
    with distribution.open_executor(workers, jobs) as executor:
        if part is not None and out is not None:
            from starcast.claims.sharding import check_shard

            done = check_shard(
                names or [], level or "quick", specs, part, out, reporter(), jobs, executor
            )
            sentence = f"shard {shard}: {pluralize(done, 'check')} written to {out}"
            emit_outcome({"shard": shard, "checks": done, "file": str(out)}, output, sentence)
            return
        verdicts = _checked(
            ctx,
            names or [],
            level or "quick",
            specs,
            jobs,
            executor,
            stored=stored,
            again=again,
        )
    listed = _emit_verdicts(verdicts, output)
    if sizes is not None and (silent := len(select_claims(names or [])) - listed):
        left = pluralize(
            silent,
            "claim is omitted: it, or one of its parts,",
            "claims are omitted: they, or some parts,",
        )
        say(f"{left} {'is' if silent == 1 else 'are'} not about these sizes")


@app.command("merge")
def merge(
    ctx: typer.Context,
    files: distribution.ShardFilesArgument,
    stored: Annotated[
        bool,
        typer.Option(
            "--store/--no-store", help="Store evidence and verdicts; --no-store needs no server."
        ),
    ] = True,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print the verdicts from the evidence that 'claims check --shard' has written; store both.

    Refused are incomplete, overlapping and damaged shards, and those of other versions.

    \b
    starcast claims merge part-*.json
    """
    from starcast.claims import parallel, select_claims
    from starcast.claims.sharding import merge_claims

    merged = merge_claims(files)
    verdicts: Sequence[Verdict] = parallel.judge_claims(
        select_claims(merged.names), merged.evidence
    )
    with ExitStack() as stack:
        engine = _engine(ctx, stack, "nothing is stored") if stored else None
        if engine is not None:
            from starcast.claims.claim_run import store_evidence

            outcome = store_evidence(
                engine, merged.names, merged.level, merged.sizes, merged.evidence
            )
            verdicts = outcome.verdicts
            say(
                f"verification run {outcome.claim_run}: {pluralize(outcome.found, 'check')} new,"
                f" {outcome.known:,} known"
            )
    _emit_verdicts(verdicts, output)


def _emit_verdicts(verdicts: "Sequence[Verdict]", output: Format) -> int:
    """Print verdicts and their summary; return the number of claims."""
    from starcast.claims import listing, report

    listed = report.rows(verdicts)
    table = listing.list_verdicts(verdicts)
    short = ("id", "verdict", "sizes", "counterexample")
    few = [f"{row.claim.id}: {row.detail}" for row in listed] if len(listed) <= _FEW else []
    if output is Format.TABLE:
        emit(
            [{**row, "sizes": one.sizes} for row, one in zip(table, listed, strict=True)],
            short,
            output,
            below=few,
        )
    else:
        emit(table.rows, table.columns, output)
    for line in report.summary(verdicts):
        say(line)
    return len(listed)


app.command("report")(claim_runs.report)
app.command("changed")(claim_runs.changed)
app.command("runs")(claim_runs.list_runs)


def _checked(
    ctx: typer.Context,
    names: list[str],
    level: Level,
    sizes: list[str] | None,
    jobs: int | None,
    executor: Executor | None,
    *,
    stored: bool,
    again: bool,
) -> "Sequence[Verdict]":
    from starcast.claims import parallel, select_claims

    with ExitStack() as stack:
        engine = _engine(ctx, stack, "nothing is stored") if stored else None
        if engine is None:
            return parallel.verify_claims(
                select_claims(names), level, sizes, jobs, reporter(), executor
            )
        from starcast.claims.claim_run import verify_claims

        try:
            outcome = verify_claims(
                engine,
                names,
                level,
                sizes,
                reporter=reporter(),
                jobs=jobs,
                again=again,
                executor=executor,
            )
        except KeyboardInterrupt:
            say("the evidence so far is stored; repeat the command without --again to continue")
            raise
        say(
            f"verification run {outcome.claim_run}: {pluralize(outcome.found, 'check')} new,"
            f" {outcome.known:,} known"
        )
        return outcome.verdicts


def _engine(ctx: typer.Context, stack: ExitStack, otherwise: str) -> "Engine | None":
    """Return the database; None, after a message, if no embedded server is running.

    Raises:
        UnavailableError: the settings name a server, and it cannot be reached.
    """
    try:
        return stack.enter_context(store(ctx))
    except UnavailableError as error:
        if context.settings(ctx).postgres_uri is not None:
            raise
        if otherwise:
            say(
                f"{otherwise}: {error.message}"
                " ('starcast up' starts a server, --no-store needs none)"
            )
        return None


def _stored(
    ctx: typer.Context, *, demanded: bool = False
) -> "dict[str, tuple[models.ClaimRun, Verdict]]":
    """Return the newest stored verdict of each claim with its run; none if no server is running.

    Raises:
        UnavailableError: verdicts are demanded, and no server is running; or the settings name a
            server, and it cannot be reached.
        NotFoundError: they are demanded, and none is stored.
    """
    from starcast.claims.storage import newest_verdicts
    from starcast.database.sessions import session

    try:
        with store(ctx) as engine, session(engine) as opened:
            found = newest_verdicts(opened)
    except (UnavailableError, RejectedError) as error:
        if demanded:
            raise
        if isinstance(error, UnavailableError) and context.settings(ctx).postgres_uri is not None:
            raise
        if isinstance(error, RejectedError):
            say(f"no verdicts are shown: {error.message}; {error.hint}")
        return {}
    if demanded and not found:
        raise NotFoundError(
            "no verdict is stored", hint="'starcast claims check' computes and stores them"
        )
    return found


def _cypher(claim: "Claim", found: "Verdict | None") -> str:
    from starcast.claims.verify import check as verify_claim
    from starcast.queries.counterexample import to_cypher

    return to_cypher(verify_claim(claim.id) if found is None else found)


def _specs(text: str | None) -> list[str] | None:
    """Return the topologies of a list separated by commas; S4,2 is one topology.

    Raises:
        InputError: the list is empty.
    """
    if text is None:
        return None
    words: list[str] = []
    for word in filter(None, (part.strip() for part in text.replace(" ", ",").split(","))):
        if word.isdigit() and words:
            words[-1] += f",{word}"
        else:
            words.append(word)
    if not words:
        raise InputError("--sizes is empty", hint="list topologies: --sizes S4,S5")
    return words
