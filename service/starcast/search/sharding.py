"""Run many searches (problems on topologies with several random seeds), in shards or on executors.

A task is one search. It is not divided further, because its methods build on each other's results.
Searches for the same problem and topology differ in their random seeds; `combine_records` merges
their records into one with the best value and the best bound.
"""

import base64
import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from starcast.records import Record
from starcast.records.files import pack_witness, unpack_witness
from starcast.records.model import combine_records, improve_record, not_a_record, read_fields
from starcast.search.catalogue import find_problem
from starcast.search.engines import Budget
from starcast.search.running import search
from starcast.search.verification import check_record
from starcast.support import parallel
from starcast.support.errors import InputError, LimitError
from starcast.support.progress import Silent
from starcast.support.shards import Job, Shard, merge_shards, write_shard
from starcast.topologies import Topology, as_topology, memory


@dataclass(frozen=True)
class SearchTask:
    """One search of a list, given by its problem, topology, arguments and random seed.

    Attributes:
        problem: the name of the problem.
        topology: the spec of the topology.
        arguments: all arguments of the problem, by name.
        seed: the random seed of the search's first process.
    """

    problem: str
    topology: str
    arguments: tuple[tuple[str, int], ...]
    seed: int

    @property
    def subject(self) -> tuple[str, str, tuple[tuple[str, int], ...]]:
        """The problem, topology and arguments; records of the same subject can be combined."""
        return self.problem, self.topology, self.arguments

    def run(self, budget: Budget, known: Record | None, keep: Callable[[Record], None]) -> Record:
        """Run the search with this random seed; the arguments are those of `search`."""
        limits = replace(budget, seed=self.seed)
        return search(self.problem, self.topology, limits, known, keep, **dict(self.arguments))

    def __str__(self) -> str:
        return f"the search {self.problem} on {self.topology} with seed {self.seed}"


#: A function that returns the best known record for a task's subject, or None.
FindKnown = Callable[[SearchTask], Record | None]


def plan_searches(
    problems: Sequence[str],
    topologies: Sequence[str | Topology],
    arguments: Mapping[str, int],
    seeds: Sequence[int],
) -> list[SearchTask]:
    """Return one search for each problem, topology and seed, in the order of seeds.

    Raises:
        InputError: a problem, topology or argument is unknown, a problem is not defined on a
            topology, or no problem or topology is given.
    """
    # A dictionary keeps the order and removes duplicates.
    tasks: dict[SearchTask, None] = {}
    for seed in seeds:
        for name in problems:
            problem = find_problem(name)
            values = tuple(sorted(problem.resolve_arguments(arguments).items()))
            for each in topologies:
                graph = as_topology(each)
                problem.check_topology(graph)
                tasks[SearchTask(name, graph.spec, values, seed)] = None
    if not tasks:
        raise InputError("there is nothing to search", hint="name a problem and a topology")
    return list(tasks)


def run_searches(
    tasks: Sequence[SearchTask],
    budget: Budget,
    find_known: FindKnown,
    keep: Callable[[Record], None] = lambda _record: None,
    executor: Executor | None = None,
) -> Iterator[tuple[SearchTask, Record]]:
    """Run searches, and yield each finished search with the best record after it.

    Args:
        tasks: the searches.
        budget: the limits of each search; its seed is not used.
        find_known: returns the record from which a search starts.
        keep: receives each improved record.
        executor: runs the searches. By default they run one after another in this process, and each
            search starts from the records of the previous searches.

    Raises:
        LimitError: a worker of the executor does not have enough memory, or was killed repeatedly.
    """
    if executor is None:
        yield from _run_in_turn(tasks, budget, find_known, keep)
        return
    items = [(task, find_known(task)) for task in tasks]
    # Tasks with the same subject run at the same time, so all start from the known record.
    best = {task.subject: known for task, known in items if known is not None}
    work = parallel.Workload(
        partial(_search_in_worker, replace(budget, reporter=Silent())),
        lambda _: budget.memory * budget.jobs * 10**6,
        memory.available,
        partial(_require_memory, budget.memory * budget.jobs),
        lambda item: str(item[0]),
    )
    with (
        budget.reporter.task("searching", len(tasks), "searches") as progress,
        parallel.run_parallel(items, work, executor) as results,
    ):
        for (task, _), found in results:
            progress.advance()
            best[task.subject] = improve_record(best.get(task.subject), found, keep)
            yield task, best[task.subject]


def search_shard(
    tasks: Sequence[SearchTask],
    shard: Shard,
    file: Path,
    budget: Budget,
    find_known: FindKnown,
    executor: Executor | None = None,
) -> list[Record]:
    """Run the searches of a shard, and write their records only to a file.

    Args:
        tasks: all searches.
        shard: the shard whose searches run.
        file: the path of the output file.
        budget: as in `run_searches`.
        find_known: as in `run_searches`.
        executor: as in `run_searches`.

    Returns:
        The record of each search.

    Raises:
        InputError: the file cannot be written.
        LimitError: a formula does not fit into the memory limit; no file is written.
    """
    numbers = {task: number for number, task in shard.select(tasks)}
    found = dict(run_searches(list(numbers), budget, find_known, executor=executor))
    results = {numbers[task]: _to_json(record) for task, record in found.items()}
    searches = [[task.problem, task.topology, dict(task.arguments), task.seed] for task in tasks]
    description = {"searches": searches, "seconds": budget.seconds, "engine": budget.engine}
    write_shard(file, Job("search", description, len(tasks)), shard, results)
    return list(found.values())


def merge_searches(files: Sequence[Path]) -> list[Record]:
    """Merge shards into one verified record, the best, for each problem and topology.

    Raises:
        InputError: the files are not all shards of one list of searches, or are damaged.
        RejectedError: the shards were computed by other code, or a witness or bound is wrong.
    """
    description = {"searches": list, "seconds": (int, float), "engine": str}
    _, results = merge_shards(files, "search", description, {"record": dict, "witness": str})
    groups: dict[str, list[Record]] = {}
    for number, values in enumerate(results):
        record = _from_json(values, f"the record of search {number}")
        groups.setdefault(record.id, []).append(record)
    merged = [combine_records(records) for records in groups.values()]
    for record in merged:
        check_record(record)
    return merged


def _run_in_turn(
    tasks: Sequence[SearchTask],
    budget: Budget,
    find_known: FindKnown,
    keep: Callable[[Record], None],
) -> Iterator[tuple[SearchTask, Record]]:
    best: dict[object, Record] = {}
    for task in tasks:
        known = best.get(task.subject) or find_known(task)
        best[task.subject] = task.run(budget, known, keep)
        yield task, best[task.subject]


def _search_in_worker(budget: Budget, item: tuple[SearchTask, Record | None]) -> Record:
    """Run one search in a worker process."""
    # Workers are daemonic, and Python does not allow daemonic processes to start other processes
    # such as the solvers. So the flag is cleared; the solver processes end with their parent
    # anyway.
    multiprocessing.current_process().daemon = False
    task, known = item
    # Improved records are ignored here, because the client keeps the final result.
    return task.run(budget, known, lambda _record: None)


def _require_memory(needed: int, item: tuple[SearchTask, Record | None], free: int) -> None:
    if free < needed * 10**6:
        raise LimitError(
            f"{item[0]} may use {needed:,} MB of memory, but only {free / 1e6:,.0f} MB are free",
            hint="lower --memory, or give the workers more",
        )


def _to_json(record: Record) -> dict[str, Any]:
    packed = base64.b64encode(pack_witness(record.witness)).decode("ascii")
    return {"record": record.fields(), "witness": packed}


def _from_json(values: Any, source: str) -> Record:
    if not isinstance(values, Mapping) or values.keys() != {"record", "witness"}:
        raise not_a_record(source, "it has no record and witness")
    try:
        packed = base64.b64decode(values["witness"], validate=True)
    except (ValueError, TypeError) as error:
        raise not_a_record(source, error) from None
    witness = unpack_witness(packed, source)
    return read_fields(values["record"], source).record(witness)
