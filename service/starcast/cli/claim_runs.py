"""``starcast claims report``, ``changed`` and ``runs``: stored verification runs."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.cli.db import store
from starcast.cli.output import Format, FormatOption, check_suffix, emit, say, write_text
from starcast.errors import InputError
from starcast.support.text import pluralize
from starcast.vocabulary import VERDICT_WORDS

if TYPE_CHECKING:
    from starcast.claims import Verdict
    from starcast.database import models


class Page(StrEnum):
    """Formats of a report."""

    MARKDOWN = "markdown"
    HTML = "html"


_HTML = (".html", ".htm")

RunOption = Annotated[
    int | None,
    typer.Option(
        metavar="ID",
        help="Number of the verification run in 'claims runs'.",
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
    run: RunOption = None,
    against: Annotated[
        bool, typer.Option("--changed", help="List the differences from the previous run instead.")
    ] = False,
) -> None:
    """Write a report on a stored verification run.

    The report has a summary for each paper, the claims that fail with what is true instead, and one
    row for each claim.

    \b
    starcast claims report --out claims.html
    starcast claims report --run 3 --format markdown
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
        changed(ctx, None, run)
        return
    named_html = out is not None and out.suffix.lower() in _HTML
    chosen = page or (Page.HTML if named_html else Page.MARKDOWN)
    if out is not None:
        check_suffix(out, *(_HTML if chosen is Page.HTML else (".md", ".markdown")))
    with store(ctx) as engine, session(engine) as opened:
        one = storage.load_newest(opened) if run is None else storage.load_finished(opened, run)
        verdicts = storage.load_verdicts(opened, one.id)
    say(f"verification run {one.id}: {storage.question(one)}, {pluralize(len(verdicts), 'claim')}")
    if chosen is Page.HTML:
        write_text(pages.html(verdicts, _provenance(one)), out)
    else:
        write_text(f"# Claims\n\n{pages.markdown(verdicts, _provenance(one))}", out)


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
        one, other = (storage.load_verdicts(opened, run.id) for run in (old, new))
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


def list_runs(ctx: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """List the stored verification runs: requested claims, code, and number of verdicts.

    An interrupted run has no verdicts; repeat its 'claims check' to continue it.
    """
    from starcast.claims import storage
    from starcast.database.sessions import session

    with store(ctx) as engine, session(engine) as opened:
        counts = storage.count_verdicts(opened)
        rows = [_run_row(one, counts.get(one.id, {})) for one in storage.list_claim_runs(opened)]
    code = ("version", "revision", "dirty", *(() if output is Format.TABLE else ("fingerprint",)))
    emit(
        rows,
        ["run", "claims", "at", *map(_column, VERDICT_WORDS), *code, "started", "finished"],
        output,
    )


def _in_order(verdicts: "Iterable[Verdict]") -> "list[Verdict]":
    """Return verdicts in the order of the papers, those on claims that no longer exist last."""
    from starcast.claims import claims

    places = {name: place for place, name in enumerate(claims())}
    return sorted(
        verdicts, key=lambda verdict: (places.get(verdict.claim, len(places)), verdict.claim)
    )


def _run_row(run: "models.ClaimRun", counts: dict[str, int]) -> dict[str, Any]:
    from starcast.claims.storage import question

    asked = question(run)
    finished = run.finished_at and run.finished_at.astimezone()
    return {
        "run": run.id,
        "claims": " ".join(asked.names) or "all",
        "at": asked.level or " ".join(asked.sizes or ()),
        **{_column(word): counts.get(word, 0) if finished else None for word in VERDICT_WORDS},
        "version": run.version,
        "revision": run.revision and run.revision[:12],
        "dirty": run.dirty,
        "fingerprint": run.fingerprint,
        "started": run.started_at.astimezone(),
        "finished": finished,
    }


def _column(verdict: str) -> str:
    """Return the column that counts a verdict; column names have no blanks."""
    return verdict.replace(" ", "_")


def _provenance(run: "models.ClaimRun") -> dict[str, str]:
    from starcast.claims.storage import question

    revision = (
        ""
        if run.revision is None
        else f", revision {run.revision[:12]}{' with changes' if run.dirty else ''}"
    )
    finished = run.finished_at
    return {
        "Verification run": f"{run.id} ({question(run)})",
        "Code": f"starcast {run.version}{revision}",
        "Finished": ""
        if finished is None
        else finished.astimezone().isoformat(sep=" ", timespec="seconds"),
    }
