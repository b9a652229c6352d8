"""``starcast claims report``, ``changed`` and ``ledgers``: stored verification runs."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.cli.db import store
from starcast.cli.output import Format, FormatOption, emit, say
from starcast.errors import InputError
from starcast.support.text import pluralize

if TYPE_CHECKING:
    from starcast.claims import Verdict
    from starcast.database import models


class Page(StrEnum):
    """Formats of a report."""

    MARKDOWN = "markdown"
    HTML = "html"


class Word(StrEnum):
    """Verdicts: `starcast.claims.evidence.Word`."""

    HOLDS = "holds"
    BOUND = "holds as a bound"
    FAILS = "fails"
    NOT_CHECKABLE = "not checkable"


LedgerOption = Annotated[
    int | None,
    typer.Option(
        metavar="ID",
        help="Number of the verification run in 'claims ledgers'.",
        show_default="the newest finished one",
    ),
]


def report(
    ctx: typer.Context,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Output file.", show_default="stdout")
    ] = None,
    page: Annotated[
        Page | None,
        typer.Option(
            "--format", "-f", help="Format; html is a self-contained page.", show_default="by FILE"
        ),
    ] = None,
    ledger: LedgerOption = None,
    against: Annotated[
        bool, typer.Option("--changed", help="List the differences from the previous run instead.")
    ] = False,
) -> None:
    """Write a report on a stored verification run.

    The report has a summary for each paper, the claims that fail with what is true instead, and one
    row for each claim.

    \b
    starcast claims report --out ledger.html
    starcast claims report --ledger 3 --format markdown
    """
    from starcast.claims import report as pages
    from starcast.claims import storage
    from starcast.database.sessions import session

    if against:
        if out is not None or page is not None:
            raise InputError(
                "--changed prints a listing, not a report",
                hint="remove --out and --format, or use 'claims changed'",
            )
        changed(ctx, None, ledger)
        return
    with store(ctx) as engine, session(engine) as opened:
        one = (
            storage.load_newest(opened) if ledger is None else storage.load_finished(opened, ledger)
        )
        verdicts = storage.load_verdicts(opened, one.id)
    say(f"verification run {one.id}: {storage.question(one)}, {pluralize(len(verdicts), 'claim')}")
    chosen = page or (
        Page.HTML if out is not None and out.suffix.lower() in (".html", ".htm") else Page.MARKDOWN
    )
    if chosen is Page.HTML:
        _write(pages.html(verdicts, _provenance(one)), out)
    else:
        _write(f"# Claims\n\n{pages.markdown(verdicts, _provenance(one))}", out)


def changed(
    ctx: typer.Context,
    before: Annotated[
        int | None,
        typer.Argument(help="Number of the first run.", show_default="the run before AFTER"),
    ] = None,
    after: Annotated[
        int | None,
        typer.Argument(help="Number of the second run.", show_default="the newest finished one"),
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the differences between two stored verification runs.

    These are verdicts, counterexamples, sizes, and claims that appeared or are gone.

    \b
    starcast claims changed
    starcast claims changed 3 7
    """
    from starcast.claims import storage
    from starcast.claims.diff import COLUMNS, changes, is_requested
    from starcast.database.sessions import session

    with store(ctx) as engine, session(engine) as opened:
        new = storage.load_newest(opened) if after is None else storage.load_finished(opened, after)
        old = (
            storage.load_newest(opened, before=new.id)
            if before is None
            else storage.load_finished(opened, before)
        )
        one, other = (storage.load_verdicts(opened, ledger.id) for ledger in (old, new))
    found = changes(_in_order(one), _in_order(other), new.names)
    emit([change.row() for change in found], COLUMNS, output)
    say(
        f"verification run {old.id} ({storage.question(old)})"
        f" against run {new.id} ({storage.question(new)})"
    )
    unasked = sum(not is_requested(verdict.claim, new.names) for verdict in one)
    if unasked:
        say(f"{pluralize(unasked, 'claim')} of run {old.id} were not requested in run {new.id}")
    if not found:
        say("no differences")


def list_ledgers(ctx: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """List the stored verification runs: requested claims, code, and number of verdicts.

    An interrupted run has no verdicts; repeat its 'claims check' to continue it.
    """
    from starcast.claims import storage
    from starcast.database.sessions import session

    with store(ctx) as engine, session(engine) as opened:
        counts = storage.count_verdicts(opened)
        rows = [_ledger_row(one, counts.get(one.id, {})) for one in storage.list_claim_runs(opened)]
    verdicts = [word.value for word in Word]
    code = ("version", "revision", "dirty", *(() if output is Format.TABLE else ("fingerprint",)))
    emit(rows, ["ledger", "asked", "at", *verdicts, *code, "started", "finished"], output)


def _in_order(verdicts: "Iterable[Verdict]") -> "list[Verdict]":
    """Return verdicts in the order of the papers, those on claims that no longer exist last."""
    from starcast.claims import claims

    places = {name: place for place, name in enumerate(claims())}
    return sorted(
        verdicts, key=lambda verdict: (places.get(verdict.claim, len(places)), verdict.claim)
    )


def _ledger_row(ledger: "models.ClaimRun", counts: dict[str, int]) -> dict[str, Any]:
    from starcast.claims.storage import question

    asked = question(ledger)
    return {
        "ledger": ledger.id,
        "asked": " ".join(asked.names) or "all",
        "at": asked.level or " ".join(asked.sizes or ()),
        **{
            word.value: None if ledger.finished_at is None else counts.get(word.value, 0)
            for word in Word
        },
        "version": ledger.version,
        "revision": ledger.revision and ledger.revision[:12],
        "dirty": ledger.dirty,
        "fingerprint": ledger.fingerprint,
        "started": ledger.started_at.astimezone(),
        "finished": ledger.finished_at and ledger.finished_at.astimezone(),
    }


def _provenance(ledger: "models.ClaimRun") -> dict[str, str]:
    from starcast.claims.storage import question

    revision = (
        ""
        if ledger.revision is None
        else f", revision {ledger.revision[:12]}{' with changes' if ledger.dirty else ''}"
    )
    finished = ledger.finished_at
    return {
        "Verification run": f"{ledger.id} ({question(ledger)})",
        "Code": f"starcast {ledger.version}{revision}",
        "Finished": ""
        if finished is None
        else finished.astimezone().isoformat(sep=" ", timespec="seconds"),
    }


def _write(page: str, out: Path | None) -> None:
    from starcast.support.atomic import atomic_write

    if out is None:
        print(page, end="")
        return
    with atomic_write(out) as file:
        file.write(page.encode())
    say(f"written to {out}")
