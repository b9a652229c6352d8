"""Verification by blocks in shards, such as the tasks of a job array."""

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

from starcast.judges.blockwise.sources import Source, closed_form
from starcast.judges.blockwise.verification import (
    BlockVerification,
    RangeResult,
    combine,
    plan_ranges,
    run_ranges,
)
from starcast.support.errors import InputError
from starcast.support.progress import Reporter, Silent
from starcast.support.shards import Job, Shard, merge_shards, write_shard


def verify_shard(
    source: Source,
    shard: Shard,
    file: Path,
    jobs: int | None = None,
    reporter: Reporter | None = None,
    executor: Executor | None = None,
) -> int:
    """Examine one shard of the blocks of a forest, and write the results to a file.

    Args:
        source: the forest.
        file: it is replaced only when complete.
        jobs: the number of processes, as in `verify_blocks`.
        reporter: receives the progress.
        executor: runs the ranges of blocks instead of processes on this machine.

    Returns:
        The number of ranges of blocks in the shard.

    Raises:
        RejectedError: a node's parent is not closer to the root, with tree, node and port.
        InputError: the file cannot be written.
    """
    ranges = plan_ranges(source)
    numbered = dict(shard.select(ranges))
    chosen = list(numbered.values())
    with run_ranges(source, chosen, jobs, reporter or Silent(), executor) as results:
        # Results come in the order in which they are ready; their blocks tell the range.
        found = {result.blocks: result.as_json() for result in results}
    parts = {number: found[blocks] for number, blocks in numbered.items()}
    write_shard(file, Job("forest", {"id": source.id}, len(ranges)), shard, parts)
    return len(parts)


def merge_blocks(files: Sequence[Path]) -> BlockVerification:
    """Merge the shards of a verification, and return the verified forest.

    Raises:
        InputError: the files are not all shards of one verification, or are damaged.
        RejectedError: they were computed by other code, or do not prove the forest.
        LimitError: the heights are not proved.
    """
    job, results = merge_shards(files, "forest", {"id": str}, RangeResult.SHAPE)
    spec, _, rest = job.description["id"].partition(":")
    construction, _, root = rest.rpartition(":")
    source = closed_form(spec, construction, root)
    try:
        found = [RangeResult.from_json(result) for result in results]
    except ValueError as error:
        raise InputError(
            f"a result of the shards is damaged: {error}", hint="run the shards again"
        ) from None
    return combine(source, found)
