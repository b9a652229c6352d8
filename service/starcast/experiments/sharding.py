"""Experiments in shards: points executed without a database, and stored when all are merged.

A task of the job is a group of points with the same schedule.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from starcast.experiments.design import Design, check_name
from starcast.experiments.exchange import Imported, import_experiment, record_run
from starcast.experiments.exchange_file import IncomingExperiment, read_records
from starcast.experiments.execution import count_processes, execute_all, price_run
from starcast.support.parallel import count_slots
from starcast.support.progress import Reporter
from starcast.support.shards import Job, Shard, merge_shards, write_shard


def run_shard(
    name: str,
    design: Design,
    shard: Shard,
    file: Path,
    reporter: Reporter,
    jobs: int | None = None,
    executor: Executor | None = None,
) -> int:
    """Execute the points of a shard and write their runs to a file; nothing is stored.

    Args:
        name: the name of the experiment.
        design: all points of the experiment.
        shard: the part of the points to execute.
        file: output file.
        reporter: receives the progress.
        jobs: the number of processes; by default one per core, or only this process if the work is
            small.
        executor: executes the points instead of processes on this machine.

    Returns:
        The number of runs.

    Raises:
        InputError: the name is not valid, ``jobs`` is less than 1, or the file cannot be written.
        LimitError: a point does not fit into memory; no file is written.
    """
    job = Job(
        "experiment", {"name": check_name(name), "grid": design.as_json()}, len(design.groups)
    )
    numbers = {group[0]: number for number, group in shard.select(design.groups)}
    first_points = list(numbers)
    points = sum(len(design.groups[number]) for number in numbers.values())
    jobs = count_slots(executor) if executor else count_processes(first_points, jobs)
    results: dict[int, list[dict[str, Any]]] = {}
    with (
        reporter.task(f"running {name}, shard {shard}", points, "runs") as task,
        execute_all(first_points, jobs, executor) as executions,
    ):
        for first, execution in executions:
            records = results.setdefault(numbers[first], [])
            for point in design.groups[numbers[first]]:
                run = price_run(point, execution)
                run.provenance = {**run.provenance, "jobs": jobs, "shard": str(shard)}
                records.append(record_run(run, execution.profile))
                task.advance()
    write_shard(file, job, shard, results)
    return points


def merge_experiment(engine: Engine, files: Sequence[Path], name: str | None = None) -> Imported:
    """Store the experiment whose shards are in files, in one transaction.

    Args:
        engine: a database with a checked schema.
        files: the files of all shards.
        name: the name of the experiment; by default that given to the shards.

    Raises:
        InputError: the files are not all shards of one experiment, or are damaged; or a stored
            experiment of this name has another grid.
        RejectedError: they were computed by other code, or a run differs from a stored one.
        BusyError: another process is using the experiment.
    """
    return import_experiment(engine, read_shards(files, name))


def read_shards(files: Sequence[Path], name: str | None = None) -> IncomingExperiment:
    """Return the experiment whose shards are in files, after checking everything in them.

    Raises:
        InputError: the files are not all shards of one experiment, or are damaged.
        RejectedError: they were computed by other code than this.
    """
    job, results = merge_shards(files, "experiment", {"name": str, "grid": dict}, [dict])
    design = Design.from_json(job.description["grid"])
    records = [record for result in results for record in result]
    return read_records(name or job.description["name"], design, records)
