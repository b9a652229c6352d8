"""``starcast claims``: the statements of the papers, and what becomes of them when they are looked at."""

from collections.abc import Sequence
from contextlib import ExitStack
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.cli import claim_runs
from starcast.cli.claim_runs import Word
from starcast.cli.db import store
from starcast.cli.experiment import JobsOption
from starcast.cli.output import Format, FormatOption, emit, reporter, say
from starcast.errors import InputError, NotFoundError, RejectedError, UnavailableError
from starcast.support.signals import sigterm_as_interrupt
from starcast.support.text import pluralize

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from starcast.claims import Claim, Verdict
    from starcast.database import models

app = typer.Typer(
    no_args_is_help=True,
    help="The ledger: every statement of the five papers, checked by computation; verdicts are results.",
)


class Level(StrEnum):
    """Up to which sizes: `starcast.claims.declaration.Level`, which is not imported for the sake of a flag."""

    QUICK = "quick"
    FULL = "full"
    DEEP = "deep"


NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        help="Ids, or beginnings of ids: TS.L5, NK.Tab1, TS; all, if none is given.",
        show_default=False,
    ),
]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The statement's id, such as TS.L5.")]
#: As many statements are told in full below a table.
_FEW = 3


@app.command("list")
def list_claims(
    ctx: typer.Context,
    paper: Annotated[
        str | None, typer.Option(help="Only those of a paper: TS, SLC, FA, EDT or NK.")
    ] = None,
    verdict: Annotated[
        Word | None, typer.Option(help="Only those with this stored verdict.", show_default=False)
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the statements, each with the newest verdict that is stored, and the ledger that has it.

    Without a running server there are no verdicts.

    \b
    starcast claims list --paper TS
    starcast claims list --verdict fails
    """
    from starcast.claims import chosen
    from starcast.claims.statements import PAPERS

    if paper is not None and paper not in PAPERS:
        raise InputError(f"there is no paper '{paper}'", hint=f"there are {', '.join(PAPERS)}")
    stored = _stored(ctx, demanded=verdict is not None)
    rows = []
    for claim in chosen([] if paper is None else [paper]):
        ledger, found = stored.get(claim.id, (None, None))
        if verdict is None or (found is not None and found.verdict == verdict):
            rows.append({**_about(claim), **_became(found), "ledger": ledger and ledger.id})
    short = ("id", "number", "verdict", "statement")
    long = (
        "id",
        "paper",
        "number",
        "statement",
        "notation",
        "verdict",
        "sizes",
        "counterexample",
        "detail",
        "ledger",
    )
    emit(rows, short if output is Format.TABLE else long, output)


@app.command("show")
def show(
    ctx: typer.Context,
    name: IdArgument,
    cypher: Annotated[
        bool,
        typer.Option(
            "--cypher",
            help="Its counterexample instead, as a query for the graph of an ingested topology.",
        ),
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print what a statement says, where it is looked at, and the newest verdict that is stored of it.

    With --cypher its counterexample is printed as Cypher that pastes into Neo4j Browser, below the ingest that brings the
    place into the graph. Where no verdict is stored, it is computed first, at quick sizes.

    \b
    starcast claims show TS.L5
    starcast claims show TS.L5 --cypher
    """
    from starcast.claims import claim
    from starcast.claims.statements import parts

    one = claim(name)
    ledger, found = _stored(ctx).get(one.id, (None, None))
    if cypher:
        print(_cypher(one, found))
        return
    sizes = {f"sizes, {level}": list(one.sizes.at(level)) for level in ("quick", "full", "deep")}
    facts = {
        **_about(one),
        "reading": one.reading,
        **sizes,
        "beyond": list(one.sizes.beyond),
        "parts": list(parts(one.id)),
        "looked at with": one.family,
        "verdict": "" if found is None else found.verdict,
        "looked at on": [] if found is None else list(found.sizes),
        "counterexample": _became(found).get("counterexample", ""),
        "of": "" if found is None else found.of,
        "detail": "" if found is None else found.detail,
        "ledger": ledger and ledger.id,
        "found by": "" if ledger is None else _code(ledger),
    }
    emit(
        [
            {"property": key, "value": value}
            for key, value in facts.items()
            if value not in ("", [], None)
        ],
        ["property", "value"],
        output,
    )
    if found is None:
        say(f"no verdict is stored; 'starcast claims check {one.id}' looks at it")


@app.command("check")
def check(
    ctx: typer.Context,
    names: NamesArgument = None,
    level: Annotated[
        Level | None, typer.Option(help="Up to which sizes.", show_default="quick")
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="S4,S5", help="Instead, these topologies; those of two numbers as S4,2."
        ),
    ] = None,
    jobs: JobsOption = None,
    stored: Annotated[
        bool, typer.Option("--store/--no-store", help="Store it; without, no server is needed.")
    ] = True,
    again: Annotated[
        bool,
        typer.Option("--again", help="Compute all anew, also what is stored of the same code."),
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Look at statements by computation, and print what becomes of each: it holds, as a bound, fails, or is not checkable.

    What is found is stored as it is found, so that a broken-off run goes on where it stopped, and what the same code has found
    before is not computed again. Of the level deep, sizes that exceed the memory are left out.

    Verdicts are results: the exit code is 0 also where statements fail.

    \b
    starcast claims check
    starcast claims check TS.L5 NK.Tab1 --level full
    starcast claims check TS.L5 --sizes S4,S5 --no-store
    """
    from starcast.claims import chosen, report

    if level is not None and sizes is not None:
        raise InputError("--level and --sizes are both given", hint="leave one of them")
    verdicts = _checked(
        ctx,
        names or [],
        (level or Level.QUICK).value,
        _specs(sizes),
        jobs,
        stored=stored,
        again=again,
    )
    listed = report.rows(verdicts)
    rows = [{**_about(row.claim), **_became(row.verdict)} for row in listed]
    short = ("id", "verdict", "sizes", "counterexample")
    few = [f"{row.claim.id}: {row.verdict.detail}" for row in listed] if len(listed) <= _FEW else []
    if output is Format.TABLE:
        emit(
            [{**row, "sizes": one.sizes} for row, one in zip(rows, listed, strict=True)],
            short,
            output,
            below=few,
        )
    else:
        emit(rows, (*short, "number", "statement", "detail", "of"), output)
    for line in report.summary(verdicts):
        say(line)
    if sizes is not None and (silent := len(chosen(names or [])) - len(listed)):
        left = pluralize(
            silent,
            "statement is left out: it, or one of its parts,",
            "statements are left out: they, or some parts,",
        )
        say(f"{left} {'says' if silent == 1 else 'say'} nothing about these sizes")


app.command("report")(claim_runs.report)
app.command("changed")(claim_runs.changed)
app.command("runs")(claim_runs.list_ledgers)


def _checked(
    ctx: typer.Context,
    names: list[str],
    level: Any,
    sizes: list[str] | None,
    jobs: int | None,
    *,
    stored: bool,
    again: bool,
) -> "Sequence[Verdict]":
    from starcast.claims import chosen, running

    with sigterm_as_interrupt(), ExitStack() as stack:
        engine = _engine(ctx, stack, "nothing is stored") if stored else None
        if engine is None:
            return running.ledger(chosen(names), level, sizes, jobs, reporter())
        from starcast.claims.claim_run import look

        try:
            outcome = look(engine, names, level, sizes, reporter=reporter(), jobs=jobs, again=again)
        except KeyboardInterrupt:
            say("what was found is stored; the same command goes on with it, without --again")
            raise
        say(
            f"ledger {outcome.ledger}: {pluralize(outcome.found, 'finding')} new, {outcome.known:,} known"
        )
        return outcome.verdicts


def _engine(ctx: typer.Context, stack: ExitStack, otherwise: str) -> "Engine | None":
    """The database in force; None where no server runs, which is said with what follows from it."""
    try:
        return stack.enter_context(store(ctx))
    except UnavailableError as error:
        if otherwise:
            say(
                f"{otherwise}: {error.message} ('starcast up' starts a server, --no-store asks for none)"
            )
        return None


def _stored(
    ctx: typer.Context, *, demanded: bool = False
) -> "dict[str, tuple[models.Ledger, Verdict]]":
    """The newest stored verdict of each statement, with its ledger; none where no server runs.

    Raises:
        UnavailableError: verdicts are demanded, and no server runs.
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
        if isinstance(error, RejectedError):
            say(f"no verdicts are shown: {error.message}; {error.hint}")
        return {}
    if demanded and not found:
        raise NotFoundError(
            "no verdict is stored", hint="'starcast claims check' computes and stores them"
        )
    return found


def _code(ledger: "models.Ledger") -> str:
    from starcast.claims.fingerprint import fingerprint

    return f"starcast {ledger.version}, {'this code' if ledger.fingerprint == fingerprint() else 'other code than this'}"


def _cypher(claim: "Claim", found: "Verdict | None") -> str:
    from starcast.claims import check as look
    from starcast.queries.counterexample import cypher

    return cypher(look(claim.id) if found is None else found)


def _about(claim: "Claim") -> dict[str, Any]:
    return {
        "id": claim.id,
        "paper": claim.paper,
        "number": claim.number,
        "statement": claim.words,
        "notation": claim.notation,
    }


def _became(verdict: "Verdict | None") -> dict[str, Any]:
    from starcast.claims.telling import place

    if verdict is None:
        return {}
    counterexample = "" if verdict.counterexample is None else place(verdict.counterexample)
    found = {
        "verdict": verdict.verdict,
        "sizes": list(verdict.sizes),
        "counterexample": counterexample,
    }
    return {**found, "detail": verdict.detail, "of": verdict.of}


def _specs(text: str | None) -> list[str] | None:
    """Topologies out of a list by commas, in which S4,2 is one.

    Raises:
        InputError: there is none.
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
        raise InputError("there are no sizes", hint="name topologies by commas: --sizes S4,S5")
    return words
