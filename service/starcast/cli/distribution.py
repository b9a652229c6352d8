"""Options that say on which processes a command computes: jobs, Dask workers, shards."""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcast.errors import InputError

if TYPE_CHECKING:
    from starcast.support.shards import Shard

_DASK = "dask:"

JobsOption = Annotated[
    int | None, typer.Option(help="Number of processes.", show_default="one per core")
]
WorkersOption = Annotated[
    str | None,
    typer.Option(
        metavar="dask:ADDRESS",
        help="Compute on the workers of a Dask cluster, such as dask:tcp://HOST:8786.",
    ),
]
#: What ``executor`` of an operation is in a shell.
WORKERS = Parameter("workers", Parameter.KEYWORD_ONLY, default=None, annotation=WorkersOption)
ShardOption = Annotated[
    str | None,
    typer.Option(
        metavar="I/N", help="Compute only part I of N and write it to --out; store nothing."
    ),
]
ShardFileOption = Annotated[
    Path | None,
    typer.Option(help="Output file of --shard, such as part.json or part.json.gz."),
]
ShardFilesArgument = Annotated[
    list[Path], typer.Argument(metavar="FILES", help="The files of all shards.", show_default=False)
]


@contextmanager
def open_executor(workers: str | None, jobs: int | None) -> Iterator[Executor | None]:
    """Open the executor that ``--workers`` names; None if it is not given.

    Raises:
        InputError: it is not an address, is combined with ``--jobs``, or Dask is not installed.
        UnavailableError: no scheduler answers, or it has no workers.
        RejectedError: a worker has another version.
    """
    if workers is None:
        yield None
        return
    if jobs is not None:
        raise InputError(
            "--jobs and --workers cannot be combined",
            hint="the workers of a cluster decide how many tasks they run; remove --jobs",
        )
    if not workers.startswith(_DASK):
        raise InputError(
            f"'{workers}' does not name workers", hint="give --workers dask:tcp://HOST:PORT"
        )
    from starcast.plugins.shipping import pack
    from starcast.support.dask_cluster import connect

    with connect(workers.removeprefix(_DASK), pack()) as executor:
        yield executor


def parse_shard(text: str | None, out: Path | None) -> "Shard | None":
    """Return the shard that a command computes, or None for all of the job.

    Raises:
        InputError: the text is not a shard, or the shard or its file is given without the other.
    """
    if (text is None) != (out is None):
        given, other = ("--out", "--shard I/N") if text is None else ("--shard", "--out FILE")
        raise InputError(f"{given} is given without {other}", hint=f"add {other}")
    if text is None:
        return None
    from starcast.support.shards import Shard

    return Shard.parse(text)
