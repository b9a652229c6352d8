"""Shards of experiments: parts that are executed on separate machines, without a database.

Points with the same `Point.structure` are always in the same shard, because they share a single
execution. The function `starcast.experiments.exchange.merge_experiment` reads all shards of an
experiment and stores their runs.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import pydantic
from pydantic import RootModel

from starcast.experiments.design import Design, check_name
from starcast.experiments.exchange_file import ExperimentRecord, RunRecord
from starcast.experiments.execution import execute_all, price_run
from starcast.support.errors import InputError
from starcast.support.json_files import Many, StrictRecord
from starcast.support.progress import Reporter
from starcast.support.shards import Job, Shard, merge_shards, write_shard
from starcast.topologies.network_records import NetworkRecord


class _Description(StrictRecord):
    """The description of the whole experiment in a shard file: name, design and networks."""

    name: str
    grid: dict[str, Any]
    networks: list[NetworkRecord] = pydantic.Field(default_factory=list)


class _Runs(RootModel[Many[RunRecord]]):
    """The runs of one group in a shard file; all points of a group share one execution."""


def run_shard(
    name: str,
    design: Design,
    shard: Shard,
    file: Path,
    reporter: Reporter,
    jobs: int | None = None,
    executor: Executor | None = None,
) -> int:
    """Execute the points of a shard, and write their runs to a file instead of storing them.

    Args:
        name: the name of the experiment.
        design: the design of the whole experiment.
        shard: the part of the experiment that is executed, such as 3/8.
        file: the path of the output file.
        reporter: receives the progress.
        jobs: the number of processes; by default one per core, or only this process if the work is
            small.
        executor: executes the points instead of processes on this machine.

    Returns:
        The number of executed points.

    Raises:
        InputError: the name is invalid, ``jobs`` is less than 1, several processes are requested
            but a plug-in is defined in a script, or the file cannot be written.
        LimitError: a point does not fit into memory, a process cannot be started, or the processes
            that executed a point were killed; no file is written.
    """
    description: dict[str, Any] = {"name": check_name(name), "grid": design.as_json()}
    networks = NetworkRecord.of_topologies(point.topology for point in design.points())
    if networks:
        description["networks"] = [network.model_dump(mode="json") for network in networks]
    job = Job("experiment", description, len(design.groups))
    numbers = {point: number for number, group in shard.select(design.groups) for point in group}
    results: dict[int, list[dict[str, Any]]] = {}
    with (
        reporter.task(f"running {name}, shard {shard}", len(numbers), "runs") as task,
        execute_all(numbers, jobs, executor) as (executions, processes),
    ):
        for point, execution in executions:
            run = price_run(point, execution, jobs=processes, shard=str(shard))
            record = RunRecord.of(run, execution.profile)
            results.setdefault(numbers[point], []).append(record.model_dump(mode="json"))
            task.advance()
    write_shard(file, job, shard, results)
    return len(numbers)


def read_shards(files: Sequence[Path], name: str | None = None) -> ExperimentRecord:
    """Read the files with all shards of an experiment, check them, and return the experiment.

    Raises:
        InputError: the files are not all shards of one experiment, or are damaged, or ``name`` is
            invalid.
        LimitError: a file, or the grid of the experiment, is too large.
        RejectedError: a shard was computed with a different version of starcast's code, or a run
            with another version of a loaded plug-in; or the results of a run contradict formulas,
            bounds or each other.
    """
    job, results = merge_shards(files, "experiment", _Description, _Runs)
    for network in job.networks:
        network.restore()
    design = Design.from_json(job.grid)
    name = check_name(name or job.name)
    runs = [run for result in results for run in result.root]
    if not runs:
        raise InputError("the shards contain no runs", hint="run the shards again")
    experiment = ExperimentRecord(
        name=name,
        grid=design.as_json(),
        points=len(design.points()),
        created_at=min(run.started_at for run in runs),
        runs=runs,
    )
    try:
        experiment.check()
    except InputError as error:
        raise InputError(
            f"the shards of '{name}' are invalid: {error.message}", hint="run the shards again"
        ) from None
    return experiment
