"""`connect`: open a `Lab` on the servers that the settings name, or on the embedded stack."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from starcast.lab.claims import Claims
from starcast.lab.connection import Administration, Progress, as_reporter
from starcast.lab.costs import Costs
from starcast.lab.experiments import Experiments
from starcast.lab.forests import Forests
from starcast.lab.networks import Networks, Schedules
from starcast.lab.queries import Queries
from starcast.lab.records import Records
from starcast.lab.signature import as_list
from starcast.lab.simulations import Simulations
from starcast.support.errors import InputError, UnavailableError


class Lab(
    Networks,
    Forests,
    Schedules,
    Simulations,
    Costs,
    Queries,
    Claims,
    Records,
    Experiments,
    Administration,
):
    """The Python interface to starcast, with a method for each operation.

    `starcast.connect` opens a lab. The command line and the HTTP API call the same methods. The
    methods raise subclasses of `starcast.StarcastError`, whose attribute ``hint`` suggests what to
    do.

    Example:
        >>> with starcast.connect() as lab:
        ...     lab.ingest("S5", trees=["greedy", "multiple"])
        ...     lab.query("overlap/load-histogram", forest="S5:multiple:12345").to_polars()
    """


def connect(
    home: str | Path | None = None,
    *,
    start: bool = False,
    plugins: Iterable[str | Path] = (),
    reporter: Progress | None = None,
    **settings: Any,
) -> Lab:
    """Connect to the servers that the settings name, or else to the embedded stack.

    The embedded stack consists of the Neo4j and PostgreSQL servers that starcast itself runs.

    Args:
        home: the folder of the embedded stack (default: the folder that the settings name).
        start: start the embedded stack if it is not running, and create or upgrade the tables. The
            stack keeps running when the lab is closed; `Lab.stop` stops it.
        plugins: plug-ins to load in addition to the plug-ins that the settings name: modules, .py
            files, or folders of paper packs.
        reporter: receives messages and progress: a `starcast.support.progress.Reporter`, or a
            function that takes a string, such as ``print`` (default: none are shown).
        settings: other settings, such as ``neo4j_uri``; ``starcast config`` lists all settings.

    Returns:
        The lab, which is a context manager.

    Raises:
        InputError: a setting or a plug-in is invalid; or ``start`` is True, but the settings name
            both servers.
        UnavailableError: a server cannot be reached, or the embedded stack is not running and
            ``start`` is False.

    Example:
        >>> lab = starcast.connect(start=True)
        >>> lab.topologies()["id"]
        ['S5']
        >>> lab.close()
    """
    from starcast.catalogue import packs
    from starcast.catalogue import plugins as plug_ins
    from starcast.support.settings import Settings

    if home is not None:
        settings["home"] = Path(home)
    loaded = Settings.load(**settings)
    named = map(str, as_list("plugins", plugins, (str, Path), "a module, file or folder"))
    plug_ins.load([*loaded.plugins, *named])
    if packs.loaded():
        from starcast.claims.catalogue import claim_entries

        claim_entries()  # raises an error for an invalid paper pack
    progress = as_reporter(reporter)
    if start:
        from starcast.embedded import stack

        # If the settings name only one of the two servers, the other server is the embedded one.
        if loaded.neo4j_uri is not None and loaded.postgres_uri is not None:
            raise InputError(
                "start=True starts the embedded stack, but the settings name other servers: "
                f"{loaded.neo4j_uri} and {loaded.postgres_uri}",
                hint="omit start=True, or unset neo4j_uri and postgres_uri",
            )
        stack.up(loaded, progress)
    lab = Lab(loaded, progress)
    try:
        lab.database  # noqa: B018 - connects, so that a stopped server is noticed here
    except UnavailableError as error:
        # The hint below suggests start=True, which does not help if the settings name the server,
        # or if the stack has just been started.
        if loaded.postgres_uri is not None or start:
            raise
        hint = f"call starcast.connect(start=True), or {error.hint}"
        raise UnavailableError(error.message, hint=hint) from None
    return lab
