"""``starcast forest verify --blocks`` and ``starcast forest merge``."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from starcast.cli import distribution
from starcast.cli.output import reporter
from starcast.errors import InputError
from starcast.support.signals import sigterm_as_interrupt

if TYPE_CHECKING:
    from starcast.blockwise import BlockVerification, Source
    from starcast.support.shards import Job


@dataclass(frozen=True)
class BlockOptions:
    """The options of ``--blocks``, as they were given."""

    blocks: bool
    jobs: int | None
    workers: str | None
    shard: str | None
    out: Path | None

    def check_absent(self) -> None:
        """Check that nothing is given that needs ``--blocks``.

        Raises:
            InputError: something is.
        """
        for name in ("jobs", "workers", "shard", "out"):
            if getattr(self, name) is not None:
                raise InputError(
                    f"--{name} is for the verification by blocks", hint="add --blocks, or remove it"
                )


def verify(
    spec: str,
    construction: str | None,
    root: str | None,
    arguments: Mapping[str, int | str],
    options: BlockOptions,
) -> dict[str, Any]:
    """Verify a construction by blocks, or one shard of it; return the row to print.

    Raises:
        InputError: the construction has no closed form, or the options are not valid.
        RejectedError: a tree is not a spanning tree.
    """
    from starcast import blockwise
    from starcast.support.shards import parse_shard, write_shard
    from starcast.trees.spec_syntax import parse_spec

    shard = parse_shard(options.shard, options.out)
    if construction is None:
        raise InputError(
            f"no construction is given after '{spec}'",
            hint="--blocks verifies closed forms: add a construction, such as 'S13 multiple'",
        )
    name, own = parse_spec(construction)
    given: dict[str, Any] = {**own, **arguments}
    source = blockwise.closed_form(spec, name, root, **given)
    ranges = blockwise.plan_ranges(source)
    numbered = dict(enumerate(ranges) if shard is None else shard.select(ranges))
    start = perf_counter()
    with (
        sigterm_as_interrupt(),
        distribution.open_executor(options.workers, options.jobs) as executor,
        blockwise.run_ranges(
            source, list(numbered.values()), options.jobs, reporter(), executor
        ) as results,
    ):
        found = {result.blocks: result for result in results}
    if shard is None:
        return _row(blockwise.combine(source, found.values()), perf_counter() - start)
    parts = {number: found[blocks].as_json() for number, blocks in numbered.items()}
    out = options.out
    assert out is not None  # noqa: S101 - parse_shard
    write_shard(out, _job(source, len(ranges)), shard, parts)
    seconds = perf_counter() - start
    return {
        "id": source.id,
        "shard": str(shard),
        "tasks": len(parts),
        "file": str(out),
        "seconds": seconds,
    }


def merge(files: list[Path]) -> dict[str, Any]:
    """Return the row of a verification whose shards are in files.

    Raises:
        InputError: the files are not all shards of one verification, or are damaged.
        RejectedError: they were computed by other code, or do not prove the forest.
    """
    from starcast import blockwise
    from starcast.blockwise.verification import RangeResult
    from starcast.support.shards import merge_shards

    start = perf_counter()
    description = {"topology": str, "construction": str, "root": str, "arguments": dict}
    job, results = merge_shards(files, "forest", description, RangeResult.SHAPE)
    arguments = job.description["arguments"]
    if arguments.keys() & {"spec", "construction", "root", "m"}:
        raise InputError(
            f"the shards are of {job.description['construction']} with invalid arguments",
            hint="run the shards again",
        )
    source = blockwise.closed_form(
        job.description["topology"],
        job.description["construction"],
        job.description["root"],
        **arguments,
    )
    try:
        found = [RangeResult.from_json(result) for result in results]
    except ValueError as error:
        raise InputError(
            f"a result of the shards is damaged: {error}", hint="run the shards again"
        ) from None
    return _row(blockwise.combine(source, found), perf_counter() - start)


def _job(source: "Source", tasks: int) -> "Job":
    from starcast.support.shards import Job
    from starcast.trees.spec_syntax import parse_spec

    topology, construction, root = source.id.split(":")
    name, arguments = parse_spec(construction)
    description = {
        "topology": topology,
        "construction": name,
        "arguments": dict(arguments),
        "root": root,
    }
    return Job("forest", description, tasks)


def _row(found: "BlockVerification", seconds: float) -> dict[str, Any]:
    return {
        "id": found.id,
        "trees": found.trees,
        "nodes": found.nodes,
        "edges": found.edges,
        "spanning": True,
        "heights": list(found.heights),
        "congestion": found.congestion,
        "load_histogram": found.load_histogram,
        "seconds": seconds,
    }
