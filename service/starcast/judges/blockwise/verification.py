"""Verify forests given by formulas: examine ranges of blocks and combine the results into a proof.

*Spanning.* The module `judge` shows for every node and tree that the parent's potential is smaller
by 1, except at the nodes that the closed form declares as exceptions. This module follows the
parents of each exception up to the root. Every other node has an ancestor that is an exception or
the root, since potentials are not negative. So every node reaches the root.

*Heights.* Let e be the first exception on the path from a node to the root. Then the node has the
level

    level(e) + potential(node) - potential(e).

The height is thus at most the largest potential plus the largest level(e) - potential(e). This
module follows some nodes with the largest potential to the root, which gives their levels. If one
of these levels equals the bound, so does the height.

*Loads.* The module `judge` counts the trees that use each directed link.

A verification can be divided into *shards*, such as the tasks of a job array.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from math import factorial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from starcast.judges.blockwise import judge, sources
from starcast.judges.blockwise.formulas import GREEDY, build_tables
from starcast.judges.blockwise.sources import Address, Source, closed_form
from starcast.support import parallel
from starcast.support.errors import LimitError, RejectedError
from starcast.support.json_files import Count, Many, StrictRecord
from starcast.support.progress import Reporter, Silent, reporting
from starcast.support.shards import Job, Shard, merge_shards, write_shard
from starcast.topologies import memory

#: Number of tree edges per task, for the greedy formulas and for all others. The greedy formulas
#: are faster, because many nodes are evaluated at once. A task of this size takes some seconds.
_EDGES, _SLOW_EDGES = 3_000_000_000, 60_000_000
#: Below this number of tree edges, starting processes takes longer than the verification.
_MANY_EDGES = 500_000_000
#: Memory that a task needs, in bytes, including the interpreter, numba and the tables.
_TASK_BYTES = 300_000_000
#: Largest n for which the levels of all nodes are computed by following their paths to the root, if
#: no recorded node attains the bound on the height. For larger n, this would take too long.
_FEW = 6

#: A range of blocks, given by its first block and the block after its last one.
Range = tuple[Count, Count]


class Description(StrictRecord):
    """The description of a verification job in a shard file: the id of the forest to verify."""

    id: str


class RangeResult(StrictRecord):
    """Results for a range of blocks.

    Attributes:
        blocks: the first block of the range, and the block after the last one.
        load: at index i, the number of directed links to nodes of the range that i trees use.
        largest: for each tree, the largest potential of a node in the range.
        witnesses: for each tree, up to 16 nodes of the range with this potential, each as (block,
            tree, index in the block).
        exceptions: the nodes without a parent, or whose parent's potential is not smaller by 1,
            each as (block, tree, index in the block). The closed form declares all of them; an
            undeclared exception raises an error.
    """

    blocks: Range
    load: Many[Count]
    largest: Many[Count]
    witnesses: Many[tuple[Count, Count, Count]]
    exceptions: Many[tuple[Count, Count, Count]]


@dataclass(frozen=True)
class BlockVerification:
    """The results of verifying a forest block by block.

    Attributes:
        id: the id of the forest.
        nodes: the number of nodes of each tree.
        trees: the number of trees.
        edges: the number of tree edges, all of which were examined.
        heights: the height of each tree.
        load_histogram: for each load (the number of trees that use a directed link), the number of
            links with this load; loads without links are omitted.
    """

    id: str
    nodes: int
    trees: int
    edges: int
    heights: tuple[int, ...]
    load_histogram: dict[int, int]

    @property
    def congestion(self) -> int:
        """The largest number of trees that use the same directed link."""
        return max(self.load_histogram)


def plan_ranges(source: Source) -> list[Range]:
    """Divide all blocks into ranges whose verification takes some seconds each."""
    per_block = factorial(source.blocks.m) * source.trees
    edges = _EDGES if source.blocks.kind == GREEDY else _SLOW_EDGES
    step = max(1, edges // per_block)
    return [(start, min(start + step, source.count)) for start in range(0, source.count, step)]


def verify_blocks(
    source: Source,
    jobs: int | None = None,
    reporter: Reporter | None = None,
    executor: Executor | None = None,
) -> BlockVerification:
    """Prove that every tree of a forest in closed form is spanning, and compute heights and loads.

    Args:
        source: the forest in closed form.
        jobs: the number of processes; by default one per core, or one if there is little work.
        reporter: the object that shows the progress; by default, progress is not shown.
        executor: the executor that examines the ranges of blocks; by default, worker processes on
            this machine examine them.

    Raises:
        RejectedError: a tree is not a spanning tree; the message names the tree.
        InputError: ``jobs`` is less than 1.
        LimitError: the results prove only bounds on a height, memory is too small for a range of
            blocks, or a worker was killed repeatedly.

    Example:
        >>> verify_blocks(closed_form("S7", "multiple")).congestion
        2
    """
    with run_ranges(source, plan_ranges(source), jobs, reporter or Silent(), executor) as results:
        return combine(source, results)


@contextmanager
def run_ranges(
    source: Source,
    ranges: Sequence[Range],
    jobs: int | None,
    reporter: Reporter,
    executor: Executor | None = None,
) -> Iterator[Iterator[RangeResult]]:
    """Examine ranges of blocks while the context is open; yield an iterator over the results.

    The results come in the order in which the ranges finish.

    Raises:
        RejectedError: a node's port does not lead closer to the root; the message names the node
            and the port.
        InputError: ``jobs`` is less than 1.
        LimitError: memory is too small for a range of blocks, or a worker was killed repeatedly.
    """
    nodes = factorial(source.blocks.m) * sum(stop - start for start, stop in ranges)
    is_large = nodes * source.trees > _MANY_EDGES
    count = parallel.choose_jobs(len(ranges), jobs, worth_it=is_large)
    perform = partial(examine_range, source)
    if executor is None and ranges:
        first = ranges[0][0]
        # Examining one block compiles the code, so that worker processes on this machine load the
        # compiled code instead of compiling it themselves.
        with reporting(reporter):
            perform((first, first + 1))
    work = parallel.Workload(
        perform, _needed, memory.available, _require_free_memory, partial(_name, source.id)
    )
    with (
        reporter.task(f"verifying {source.id}", nodes * source.trees, "tree edges") as progress,
        parallel.run_parallel(ranges, work, executor, count) as results,
    ):

        def report() -> Iterator[RangeResult]:
            per_block = factorial(source.blocks.m) * source.trees
            for (first, stop), result in results:
                progress.advance(per_block * (stop - first))
                yield result

        yield report()


def examine_range(source: Source, blocks: Range) -> RangeResult:
    """Examine, in a range of blocks, the tree edges from all nodes to their parents.

    Raises:
        RejectedError: a node's port does not lead closer to the root; the message names the node
            and the port.
    """
    tables = build_tables(source.blocks.m)
    found = judge.examine(source.blocks, tables, *blocks)
    recorded = found.exceptions[: found.exception_count[0]]
    exceptions = tuple((block, tree, index) for block, tree, index in recorded.tolist())
    for address in exceptions:
        if address not in source.exceptions:
            raise _rejection(source, address)
    witnesses = [
        (block, tree, index)
        for tree, count in enumerate(found.counts)
        for block, index in found.witnesses[tree, :count].tolist()
    ]
    load, largest = tuple(found.load.tolist()), tuple(found.largest.tolist())
    return RangeResult(
        blocks=blocks,
        load=load,
        largest=largest,
        witnesses=tuple(witnesses),
        exceptions=exceptions,
    )


def combine(source: Source, results: Iterable[RangeResult]) -> BlockVerification:
    """Combine the results for all ranges of blocks, and complete the proof for the forest.

    Raises:
        RejectedError: a result belongs to another forest, the ranges do not cover every block
            exactly once, a tree has no root, or the parents of a node do not lead to the root.
        LimitError: the results prove only bounds on a height.
    """
    found = sorted(results, key=lambda result: result.blocks)
    for result in found:
        _check_addresses(source, result)
    # Without gaps and overlaps, each range begins where the previous range ends.
    ends = [0, *(result.blocks[1] for result in found)]
    starts = [*(result.blocks[0] for result in found), source.count]
    if ends != starts:
        raise RejectedError(
            f"the results do not cover each of the {source.count} blocks of {source.id} "
            "exactly once",
            hint="merge the results of all ranges of one job",
        )
    follower = _Follower(source)
    heights = [follower.prove_height(tree, found) for tree in range(source.trees)]
    load = np.sum([result.load for result in found], axis=0).tolist()
    nodes = factorial(source.n)
    return BlockVerification(
        source.id,
        nodes,
        source.trees,
        source.trees * (nodes - 1),
        tuple(heights),
        {trees: links for trees, links in enumerate(load) if links},
    )


def _check_addresses(source: Source, result: RangeResult) -> None:
    """Check that a result, which may come from a file, can belong to a forest.

    Its blocks, trees and nodes must exist, and its arrays must have the right sizes.

    Raises:
        RejectedError: the result cannot belong to the forest.
    """
    first, stop = result.blocks
    size = factorial(source.blocks.m)
    is_valid = (
        0 <= first <= stop <= source.count
        and len(result.load) == source.trees + 1
        and len(result.largest) == source.trees
        and source.exceptions.issuperset(result.exceptions)
        and all(
            first <= block < stop and 0 <= tree < source.trees and 0 <= index < size
            for block, tree, index in (*result.witnesses, *result.exceptions)
        )
    )
    if not is_valid:
        raise RejectedError(
            f"the result of the blocks {first} to {stop - 1} does not belong to {source.id}",
            hint="run the shards again",
        )


class _Follower:
    """Follows the parents of nodes in a forest up to the root."""

    def __init__(self, source: Source) -> None:
        self._source = source
        # Consecutive nodes of a path are often in the same block, so the latest blocks are cached.
        self._read = lru_cache(maxsize=64)(
            partial(judge.read_block, source.blocks, build_tables(source.blocks.m))
        )

    def prove_height(self, tree: int, results: Sequence[RangeResult]) -> int:
        """Return the height of a tree, derived from the results as the module docstring explains.

        Raises:
            RejectedError: the tree has no root, or the parents of a node do not lead to the root.
            LimitError: the results prove only a bound on the height.
        """
        largest = max(result.largest[tree] for result in results)
        exceptions = [address for result in results for address in result.exceptions]
        above = [
            self.level(address, largest) - self._potential(address)
            for address in exceptions
            if address[1] == tree
        ]
        if not above:  # the root is always an exception, since its port is 0
            raise RejectedError(
                f"{self._source.id} is not a forest: tree {tree} has no root",
                hint="set the port of the root to 0",
            )
        bound = largest + max(above)
        attained = 0
        # A single node whose level is the bound proves the height, so the loop usually ends early.
        for node in self._candidates(tree, largest, results):
            attained = max(attained, self.level(node, largest))
            if attained == bound:
                return bound
        if self._source.n <= _FEW:
            return attained  # the maximum is exact, because every node was followed
        raise LimitError(
            f"the height of tree {tree} of {self._source.id} is not known exactly: it is at least"
            f" {attained} and at most {bound}, and none of the recorded nodes has level {bound}",
            hint="this is a defect of starcast: please report it",
        )

    def _candidates(
        self, tree: int, largest: int, results: Sequence[RangeResult]
    ) -> Iterator[Address]:
        for result in results:
            if result.largest[tree] == largest:
                yield from (address for address in result.witnesses if address[1] == tree)
        if self._source.n <= _FEW:
            size = factorial(self._source.blocks.m)
            for block in range(self._source.count):
                yield from ((block, tree, index) for index in range(size))

    def level(self, address: Address, largest: int) -> int:
        """Return the number of links on the tree path from a node to the root.

        The argument ``largest`` is the largest potential in the tree, from which the method
        computes the maximum length of a path without a cycle.

        Raises:
            RejectedError: a port does not exist, or the parents lead into a cycle.
        """
        node, port = self._node(address)
        # Between two exceptions the potential decreases at every hop. A path of more than `most`
        # hops must contain a cycle.
        most = (len(self._source.exceptions) + 1) * (largest + 1)
        for level in range(most):
            # Only the identity, which is the root, has symbols in ascending order.
            if port == 0 and (np.diff(node.astype(np.int64)) == 1).all():
                return level
            if not 2 <= port <= self._source.n:
                raise _rejection(self._source, self._address(node, address[1]))
            node[[0, port - 1]] = node[[port - 1, 0]]
            node, port = self._node(self._address(node, address[1]))
        raise _rejection(self._source, address, "leads into a cycle and never to the root")

    def _address(self, node: NDArray[np.uint8], tree: int) -> Address:
        return sources.locate(node, tree, self._source.blocks.m)

    def _node(self, address: Address) -> tuple[NDArray[np.uint8], int]:
        block, tree, index = address
        nodes, ports, _ = self._read(block)
        return nodes[index].copy(), int(ports[tree, index])

    def _potential(self, address: Address) -> int:
        block, tree, index = address
        return int(self._read(block)[2][tree, index])


def _rejection(source: Source, address: Address, reason: str = "") -> RejectedError:
    block, tree, index = address
    nodes, ports, _ = judge.read_block(source.blocks, build_tables(source.blocks.m), block)
    port = int(ports[tree, index])
    if not reason and not 2 <= port <= source.n:
        reason = f"has the parent port {port}, which does not exist"
    if not reason:
        reason = f"has the port {source.image_port(port)}, which does not lead closer to the root"
    return RejectedError(
        f"{source.id} is not a forest: tree {tree}, node {sources.label(source, nodes[index])}"
        f" {reason}",
        hint="correct the formula: it must give the port towards the parent, and 0 at the root",
    )


def _needed(_: Range) -> int:
    return _TASK_BYTES


def _require_free_memory(_: Range, free: int) -> None:
    if free < _TASK_BYTES:
        raise LimitError(
            f"a range of blocks needs about {_TASK_BYTES / 1e9:.1f} GB of memory, "
            f"but only {free / 1e9:.1f} GB are free",
            hint="use fewer `jobs`",
        )


def _name(forest_id: str, blocks: Range) -> str:
    return f"blocks {blocks[0]} to {blocks[1] - 1} of {forest_id}"


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
        source: the forest in closed form.
        shard: the shard to examine, given by its number and the number of all shards.
        file: the path of the result file; an existing file is replaced only by a complete one.
        jobs: the number of processes; by default one per core, or one if there is little work.
        reporter: the object that shows the progress; by default, progress is not shown.
        executor: the executor that examines the ranges of blocks; by default, worker processes on
            this machine examine them.

    Returns:
        The number of ranges of blocks in the shard.

    Raises:
        RejectedError: a node's port does not lead closer to the root; the message names the node
            and the port.
        InputError: the file cannot be written, or ``jobs`` is less than 1.
        LimitError: memory is too small for a range of blocks, or a worker was killed repeatedly.
    """
    ranges = plan_ranges(source)
    numbered = dict(shard.select(ranges))
    chosen = list(numbered.values())
    with run_ranges(source, chosen, jobs, reporter or Silent(), executor) as results:
        # Results arrive in any order, so they are stored by their ranges of blocks.
        found = {result.blocks: result.model_dump() for result in results}
    parts = {number: found[blocks] for number, blocks in numbered.items()}
    write_shard(file, Job("forest", {"id": source.id}, len(ranges)), shard, parts)
    return len(parts)


def merge_blocks(files: Sequence[Path]) -> BlockVerification:
    """Merge the shards of a verification, and return the results for the entire forest.

    Raises:
        InputError: the files are not exactly the shards of one verification, or a file is damaged.
        RejectedError: the shards were computed by different code, or a tree is not spanning.
        LimitError: the results prove only bounds on a height, or a file is too large.
    """
    job, results = merge_shards(files, "forest", Description, RangeResult)
    spec, _, rest = job.id.partition(":")
    construction, _, root = rest.rpartition(":")
    return combine(closed_form(spec, construction, root), results)
