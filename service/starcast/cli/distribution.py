"""The option --workers, which lets a command compute on Dask workers instead of local processes."""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from inspect import Parameter
from typing import Annotated

import typer

from starcast.support.errors import InputError
from starcast.support.signals import sigterm_as_interrupt

_DASK = "dask:"

WorkersOption = Annotated[
    str | None,
    typer.Option(
        metavar="dask:ADDRESS",
        help="Compute on the workers of a Dask cluster, such as dask:tcp://HOST:8786.",
    ),
]
#: The option --workers, which replaces the parameter ``executor`` of an operation.
WORKERS = Parameter("workers", Parameter.KEYWORD_ONLY, default=None, annotation=WorkersOption)


@contextmanager
def open_executor(workers: str | None, jobs: int | None) -> Iterator[Executor | None]:
    """Connect to the workers that ``--workers`` names, and yield an executor; else yield None.

    Meanwhile, SIGTERM interrupts the command like Ctrl-C, so it can clean up.

    Raises:
        InputError: ``--workers`` is not an address or is combined with ``--jobs``, or Dask is not
            installed.
        UnavailableError: no scheduler answers, or it has no workers.
        RejectedError: a worker has another version.
    """
    if workers is None:
        with sigterm_as_interrupt():
            yield None
        return
    if jobs is not None:
        raise InputError(
            "--jobs and --workers cannot be combined",
            hint="remove --jobs: the workers of a cluster decide how many tasks they run",
        )
    if not workers.startswith(_DASK):
        raise InputError(
            f"'{workers}' is not the address of a Dask scheduler",
            hint="give --workers dask:tcp://HOST:PORT",
        )
    from starcast.catalogue.plugins import pack
    from starcast.support.dask_cluster import connect

    with sigterm_as_interrupt(), connect(workers.removeprefix(_DASK), pack()) as executor:
        yield executor
