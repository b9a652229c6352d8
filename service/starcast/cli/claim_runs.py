"""``starcast claims report``, ``changed`` and ``runs``: stored verification runs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from starcast.cli.db import store
from starcast.cli.output import FormatOption, emit, say, write_text
from starcast.errors import InputError
from starcast.lab.files import check_suffix
from starcast.support.text import pluralize
from starcast.vocabulary import Format

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
        Literal[Format.MARKDOWN, Format.HTML] | None,
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
    from starcast.claims.listing import run_provenance
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
    chosen = page or (Format.HTML if named_html else Format.MARKDOWN)
    if out is not None:
        check_suffix(out, *(_HTML if chosen is Format.HTML else (".md", ".markdown")))
    with store(ctx) as engine, session(engine) as opened:
        one = storage.load_newest(opened) if run is None else storage.load_finished(opened, run)
        verdicts = storage.load_verdicts(opened, one.id)
    say(f"verification run {one.id}: {storage.question(one)}, {pluralize(len(verdicts), 'claim')}")
    if chosen is Format.HTML:
        write_text(pages.html(verdicts, run_provenance(one)), out)
    else:
        write_text(f"# Claims\n\n{pages.markdown(verdicts, run_provenance(one))}", out)


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
    from starcast.claims.listing import list_changes
    from starcast.database.sessions import session

    with store(ctx) as engine, session(engine) as opened:
        found = list_changes(opened, before, after)
    emit(found.rows, found.columns, output)
    for line in found.note.splitlines():
        say(line)


def list_runs(ctx: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """List the stored verification runs: requested claims, code, and number of verdicts.

    An interrupted run has no verdicts; repeat its 'claims check' to continue it.
    """
    from starcast.claims.listing import list_claim_runs
    from starcast.database.sessions import session

    with store(ctx) as engine, session(engine) as opened:
        runs = list_claim_runs(opened)
    columns = list(runs.columns)
    if output is Format.TABLE:
        columns.remove("fingerprint")
    emit(runs.rows, columns, output)
