"""The operations on runs, experiments and comparisons."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from starcast.lab.connection import Connection
from starcast.lab.results import ComparisonTable, RunTable
from starcast.lab.signature import (
    All,
    CollectiveName,
    ConditionsOption,
    ExperimentName,
    Jobs,
    MessageBytes,
    OptionalOutFile,
    OutFile,
    SeveralValues,
    ShardFiles,
    ShardName,
    Shell,
    SingleValues,
    SomeExperiment,
    TopologyName,
    as_conditions,
    as_list,
    check_suffix,
    plain_axes,
)
from starcast.support.errors import InputError, only_one_of
from starcast.support.table import Facts, Table
from starcast.support.text import pluralize
from starcast.support.vocabulary import PairedBy

if TYPE_CHECKING:
    from starcast.comparison.presentation import Profiles
    from starcast.experiments.running import Outcome

NewName = Annotated[str | None, Shell(flag="--as")]


class Experiments(Connection):
    """Operations on runs (simulated executions of algorithms), experiments, and comparisons."""

    def run(
        self,
        topology: TopologyName,
        collective: CollectiveName,
        algorithm: Annotated[str, Shell(completes="algorithms")],
        *,
        message_bytes: MessageBytes,
        experiment: ExperimentName = "adhoc",
        store: bool = True,
        wait: bool = False,
        **axes: SingleValues,
    ) -> RunTable:
        """Build a schedule, verify it by simulation, and show its costs and the lower bound.

        The run replaces a stored run of ``experiment`` with the same parameters.

        Args:
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            collective: the collective: broadcast, allgather, scatter, gather, alltoall, reduce,
                reduce-scatter or allreduce.
            algorithm: an algorithm, such as multiple or 'edge-disjoint(copies=2,messages=4)';
                ``starcast schedule algorithms`` lists them.
            message_bytes: size of a message in bytes, such as 1024, 2.5 or 23/3.
            experiment: name of the experiment to which the run is added. The experiment must
                consist of single runs, without a grid.
            store: store the run. Otherwise, no server is needed.
            wait: if a backup is being restored, wait for the end of the restore instead of failing.
            axes: values of the other parameters of runs (axes), one value per axis.

        Raises:
            InputError: a value is wrong.
            RejectedError: the schedule violates its port model or leaves units undelivered.
            LimitError: the schedule does not fit into memory.

        Example:
            >>> lab.run("S5", "broadcast", "multiple", message_bytes=1024)["cost"]
            ['simulated', 'closed form', 'lower bound']

            $ starcast run once S5 broadcast multiple -m 1024 --segments best
        """
        from starcast.comparison import listing
        from starcast.experiments.design import Grid
        from starcast.experiments.execution import execute, price_run
        from starcast.experiments.running import run_once

        values = {
            "topology": topology, "collective": collective, "algorithm": algorithm,
            "message_bytes": message_bytes, **axes,
        }  # fmt: skip
        given = plain_axes({axis: value for axis, value in values.items() if value is not None})
        several = next((axis for axis, value in given.items() if isinstance(value, list)), None)
        if several is not None:
            raise InputError(
                f"a run has one value for each axis, but {several} is a list",
                hint="specify one value, or call lab.experiment()",
            )
        (point,) = Grid(given).points()
        if store:
            with self._writing(f"running {algorithm} on {topology}", wait=wait) as engine:
                run = run_once(engine, point, experiment, self.reporter)
            self.reporter.say(f"stored as run {run.id} in '{experiment}'")
        else:
            execution = execute(point)
            run = price_run(point, execution)
            for remark in execution.remarks:
                self.reporter.say(remark)
        listing.require_complete(run)
        rows = listing.cost_rows(run)
        loss = listing.describe_loss(run) if run.faults else ""
        return RunTable(listing.COST_COLUMNS, rows, loss, run=run)

    def runs(self, *, experiment: SomeExperiment = None) -> Table:
        """List the stored runs with their simulated times and gaps (time / lower bound).

        Args:
            experiment: list only the runs of this experiment.

        Raises:
            NotFoundError: no experiment with this name is stored.
        """
        from starcast.comparison import listing

        with self._session() as session:
            return listing.list_runs(session, experiment)

    def show_run(self, number: int) -> Facts:
        """Show a stored run: parameters, costs, building and simulation times, and provenance.

        Args:
            number: the run's number in ``starcast run list``.

        Raises:
            NotFoundError: no run with this number is stored.
        """
        from starcast.comparison import listing
        from starcast.stores.database import repository

        with self._session() as session:
            run = repository.load_run(session, number)
            name = repository.experiment_name(session, run)
            return Facts(listing.run_facts(run, name))

    def run_steps(self, number: int) -> Table:
        """Count the busy links, and the units in the largest packet, in each step of a stored run.

        Args:
            number: the run's number in ``starcast run list``.

        Raises:
            NotFoundError: no run with this number is stored.
        """
        from starcast.comparison import listing
        from starcast.stores.database import repository

        with self._session() as session:
            repository.load_run(session, number)
            return listing.list_profile(repository.load_profile(session, number))

    def experiment(
        self,
        name: ExperimentName,
        *,
        grid: Annotated["str | Path | Mapping[str, Any] | None", Shell(str)] = None,
        replace: bool = False,
        jobs: Jobs = None,
        executor: Executor | None = None,
        shard: ShardName = None,
        out: OptionalOutFile = None,
        wait: bool = False,
        **axes: SeveralValues,
    ) -> Facts:
        """Execute and store the missing runs of an experiment, one per combination of axis values.

        An axis is a parameter of runs, such as the message size, with one or more values. In a
        shell, repeat the option of an axis for several values. An algorithm ignores axes that do
        not apply to it. If the experiment was interrupted, only its missing runs are executed;
        failed runs are executed again.

        Args:
            name: the experiment's name.
            grid: TOML file with the values of each axis, or the name of an example that ``starcast
                experiment examples`` lists. The values of an axis in the file are
                replaced if the option of this axis is given. In Python, a mapping is also accepted.
            replace: delete the stored experiment with this name and its runs when the first new run
                is stored.
            jobs: number of processes. In Python, an algorithm that is defined in a notebook can
                only run in the notebook's process.
            executor: a `concurrent.futures.Executor` that executes the runs (default: processes on
                this machine).
            shard: divide the runs into N parts, execute only part I, and write the runs to ``out``
                instead of storing them; ``starcast experiment merge`` stores the N files.
            out: output file of ``shard``, such as part.json or part.json.gz.
            wait: if a backup is being restored, wait for the end of the restore instead of failing.
            axes: a value or a list of values for each axis.

        Returns:
            The numbers of new runs (``created``) and of runs that were already stored (``kept``);
            for a shard, its number of ``runs`` and its ``file``.

        Raises:
            InputError: the name, an axis or a value is wrong, or the stored experiment with this
                name has a different grid.
            RejectedError: some runs failed. They are stored without results, so comparisons cannot
                use them, and the next call with this name executes them again.
            BusyError: another process is using the experiment, or restoring a backup.
            LimitError: a run does not fit into memory; earlier runs are stored.

        Example:
            >>> lab.experiment("e1", topology="S5", algorithm="multiple", message_bytes=[64, 4096])
            {'experiment': 'e1', 'created': 2, 'kept': 0}

            $ starcast experiment run e1 --topology S5 --algorithm multiple -m 64 -m 4096
            $ starcast experiment run crossovers --grid crossovers-in-m --jobs 2
        """
        from starcast.experiments.design import Design, read_design
        from starcast.experiments.running import run_experiment
        from starcast.experiments.sharding import run_shard
        from starcast.support.shards import parse_shard

        only_one_of("run the shards under a new name", replace=replace, shard=shard)
        given = plain_axes(axes)
        if isinstance(grid, Mapping):
            design = Design.from_json(plain_axes(grid), given)
        else:
            design = read_design(None if grid is None else str(grid), given, plain_axes)
        part = parse_shard(shard, out)
        processes = _processes(jobs)
        if part is not None and out is not None:
            runs = run_shard(name, design, part, Path(out), self.reporter, processes, executor)
            return Facts(
                {"experiment": name, "shard": str(part), "runs": runs, "file": str(out)},
                f"shard {part} of '{name}': {pluralize(runs, 'run')} written to {out}",
            )
        with self._writing(f"running the experiment '{name}'", wait=wait) as engine:
            outcome = run_experiment(
                engine, name, design, self.reporter,
                replace=replace, jobs=processes, executor=executor,
            )  # fmt: skip
        outcome.require_success()
        return _count_runs(outcome, "executed and stored")

    def merge_experiment(
        self, *files: ShardFiles, name: NewName = None, wait: bool = False
    ) -> Facts:
        """Store an experiment from the shards that ``starcast experiment run --shard`` wrote.

        Incomplete, overlapping or damaged shards, and shards from another version of starcast, are
        refused.

        Args:
            files: the files of all N shards, in any order.
            name: name under which the experiment is stored (default: the name in the files).
            wait: if a backup is being restored, wait for the end of the restore instead of failing.

        Raises:
            InputError: the files are not all shards of one experiment, or are damaged.
            RejectedError: the shards were computed by another version of the code, a stored run
                with the same parameters has different results, or the results of a run contradict
                each other.

        Example:
            $ starcast experiment merge part-*.json
        """
        from starcast.experiments.exchange import merge_experiment

        with self._writing("merging an experiment", wait=wait) as engine:
            merged = merge_experiment(engine, [Path(file) for file in files], name)
        return _count_runs(merged, "stored")

    def reproduce(
        self,
        name: Annotated["str | int", Shell(str, completes="experiments")],
        *,
        jobs: Jobs = None,
        executor: Executor | None = None,
    ) -> Table:
        """Execute every stored run of an experiment again and compare the results.

        Random faults are not drawn again: each run is repeated with its stored faults. Nothing is
        stored. Runs of a plug-in that is not loaded are listed, but not repeated. In a shell, the
        exit code is 6 if a result differs.

        Args:
            name: name of an experiment, or number of a single run.
            jobs: number of processes.
            executor: a `concurrent.futures.Executor` that executes the runs (default: processes on
                this machine).

        Returns:
            A row per run. The cell of a result is ``same``, or contains the stored and the new
            value. ``agrees`` is true if all results are the same, and None if the run was not
            repeated. ``failure`` is the error if results differ or a plug-in is missing, else None.

        Raises:
            NotFoundError: no experiment with this name, or run with this number, is stored.
        """
        from starcast.comparison import listing
        from starcast.experiments.running import reproduce

        repetitions = reproduce(self.engine, str(name), self.reporter, _processes(jobs), executor)
        return listing.list_repetitions(repetitions, str(name))

    def examples(self) -> Table:
        """List the example experiments that come with starcast.

        To run an example, use ``starcast experiment run NAME --grid EXAMPLE``.
        """
        from starcast.comparison import listing

        return listing.list_examples()

    def experiments(self) -> Table:
        """List the stored experiments with their grids and their numbers of stored runs."""
        from starcast.comparison import listing

        with self._session() as session:
            return listing.list_experiments(session)

    def show_experiment(self, name: ExperimentName) -> Table:
        """List the stored runs of an experiment in the order of its grid.

        Messages list the commands that execute the experiment. The table's note states how many
        runs are missing.

        Args:
            name: the experiment's name.

        Raises:
            NotFoundError: no experiment with this name is stored.
        """
        from starcast.comparison import listing
        from starcast.comparison.sides import experiment_side

        with self._session() as session:
            side = experiment_side(session, name)
            for command in side.commands:
                self.reporter.say(command)
            return listing.list_grid(side)

    def grid(self, name: ExperimentName) -> str:
        """Show the grids of an experiment as TOML, for ``experiment run --grid``.

        Args:
            name: the experiment's name.

        Raises:
            NotFoundError: no experiment with this name is stored.
            InputError: the experiment consists of single runs, without a grid.

        Example:
            $ starcast experiment grid crossovers > crossovers.toml
        """
        from starcast.experiments.design import as_toml
        from starcast.stores.database import repository

        with self._session() as session:
            stored = repository.load_experiment(session, name)
            if not stored.grid:
                raise InputError(
                    f"the experiment '{name}' has no grid, only single runs",
                    hint=f"list the runs with 'starcast experiment show {name}'",
                )
            return as_toml(stored.grid)

    def export_experiment(
        self, *names: Annotated[str, Shell(completes="experiments", required=True)], out: OutFile
    ) -> Facts:
        """Write experiments with all runs, results and provenance to a file.

        ``starcast experiment import`` reads the file into another store.

        Args:
            names: names of experiments.
            out: output file, such as crossovers.json, or crossovers.json.gz for a compressed file.

        Raises:
            NotFoundError: an experiment is not stored.
            InputError: the file cannot be written, or has a suffix other than .json and .gz.

        Example:
            $ starcast experiment export crossovers --out crossovers.json.gz
        """
        from starcast.experiments.exchange import export_experiments

        check_suffix(out, ".json", ".gz")
        runs = export_experiments(self.engine, names, Path(out))
        return Facts({"file": str(out), "runs": runs}, f"{out}: {pluralize(runs, 'run')}")

    def import_experiment(
        self, file: Annotated["str | Path", Shell(Path)], *,
        name: NewName = None, wait: bool = False,
    ) -> Table:  # fmt: skip
        """Store the experiments from a file. Complete runs that are already stored are not changed.

        If a run in the file and a stored run have the same parameters but different results,
        nothing is stored. In a shell, the exit code is then 6.

        Args:
            file: a file that ``starcast experiment export`` wrote.
            name: name under which the experiment is stored, if the file contains a single
                experiment (default: the name in the file).
            wait: if a backup is being restored, wait for the end of the restore instead of failing.

        Raises:
            InputError: the file is invalid, or the stored experiment with the same name has a
                different grid.
            RejectedError: a run in the file and a stored run have the same parameters but different
                results, or the results of a run in the file contradict each other.
        """
        from starcast.experiments.exchange import import_experiments

        with self._writing("importing experiments", wait=wait) as engine:
            imported = import_experiments(engine, Path(file), name)
        rows = [_count_runs(each, "stored") for each in imported]
        return Table.of(rows, ("experiment", "created", "kept"))

    def drop_experiment(self, name: ExperimentName, *, wait: bool = False) -> Facts:
        """Delete an experiment with its runs.

        Args:
            name: the experiment's name.
            wait: if a backup is being restored, wait for the end of the restore instead of failing.

        Raises:
            NotFoundError: no experiment with this name is stored.
            BusyError: another process is running the experiment, or restoring a backup.
        """
        from starcast.experiments.running import drop_experiment

        with self._writing(f"deleting the experiment '{name}'", wait=wait) as engine:
            runs = drop_experiment(engine, name)
        sentence = f"deleted the experiment '{name}' with {pluralize(runs, 'run')}"
        return Facts({"experiment": name, "runs": runs}, sentence)

    def compare(
        self,
        *names: Annotated["str | int", Shell(str, completes="experiments", required=True)],
        across: Annotated[str | Sequence[str], Shell(list[str], metavar="AXIS")] = (),
        conditions: ConditionsOption = (),
        baseline: Annotated[str | None, Shell(default="the first")] = None,
        by: PairedBy = "message_units",
        everything: All = False,
        sort: Annotated[str | None, Shell(metavar="COLUMN")] = None,
    ) -> ComparisonTable:
        """Compare experiments, or single runs: pair runs with the same parameters.

        The compared experiments or runs are called sides. If only one experiment is given, its runs
        are split into sides by algorithm, base and copies. Each row is one combination of
        parameters, with the simulated results and the gap (time / lower bound) of each side, and
        the change in time from the baseline. Rows in which all sides have the same results are
        hidden; the shortest time is bold. If the runs in a row are not comparable, the row shows
        the reason. In json and csv, a parameter that differs between the sides has a column per
        side. With ``across`` topology, the sides may have different networks; the sizes of the
        networks are listed, but results are not scaled by these sizes.

        In a shell, --runs lists the paired runs, one run per row, in columns that do not depend on
        the comparison. --plot FILE.svg also writes the plots of the HTML page to a file: time
        against message size, and busy links in each step. Plots need matplotlib.

        Args:
            names: names of experiments, or numbers of runs.
            across: also pair runs that differ in this axis: topology, ports, root, execution, t_s
                or t_c. Can be repeated.
            conditions: compare only runs that meet this condition, such as topology=S5. Can be
                repeated: values of the same axis are alternatives, and conditions on different axes
                must all hold.
            baseline: experiment or run with which the times of all others are compared.
            by: pair runs with equal 'message_units' (pieces of a message), or with equal 'segments'
                (pieces per tree). Of each side's other runs, the fastest is used.
            everything: show all parameters, results and rows, even if they are equal on all sides.
            sort: sort the rows by this column; -COLUMN sorts in descending order. 'time' sorts by
                the shortest time in each row.

        Raises:
            NotFoundError: an experiment, a run or the baseline does not exist, or no run meets the
                conditions.
            InputError: an axis, a condition or a column is wrong, or fewer than two sides have
                runs.

        Example:
            >>> rows = lab.compare("substar", "multiple").to_polars()

            $ starcast compare substar multiple --format html --out page.html
            $ starcast compare substar multiple --format latex --plot figure.pdf > table.tex
            $ starcast compare substar multiple --runs --format csv > runs.csv
            $ starcast compare sizes --across topology --where topology=S5 --where topology=Q7
        """
        from starcast.comparison.compare import compare
        from starcast.comparison.curves import load_profiles
        from starcast.comparison.presentation import tabulate
        from starcast.comparison.sides import check_across, load_sides, read_conditions

        axes = check_across(as_list("across", across, (str,), "the name of an axis"))
        # An invalid condition is an error even without a server.
        selection = read_conditions(as_conditions(conditions))
        with self._session() as session:
            sides = load_sides(session, map(str, names), selection, self.reporter)
            comparison = compare(sides, baseline, axes, by)
            if sort is not None:
                comparison = comparison.sorted_by(sort)
            if everything:
                comparison = comparison.complete
            table = tabulate(comparison)

        # Only pages and plots need the step profiles, so the profiles are loaded on demand.
        def profiles() -> "Profiles":
            with self._session() as session:
                return load_profiles(session, comparison)

        return ComparisonTable(
            table.columns, table.rows, table.note, comparison=comparison, _load_profiles=profiles
        )


def _count_runs(outcome: "Outcome", done: str) -> Facts:
    name, created, kept = outcome.name, outcome.created, outcome.kept
    before = pluralize(kept, "was", "were")
    return Facts(
        {"experiment": name, "created": created, "kept": kept},
        f"experiment '{name}': {pluralize(created, 'run')} {done}, {before} stored before",
    )


def _processes(jobs: int | None) -> int | None:
    """Return the given number of processes, or None for the default number.

    If no number is given and a notebook defines a plug-in, the result is 1, because other processes
    cannot import definitions from a notebook.
    """
    from starcast.catalogue.plugins import ORIGINS

    is_interactive = any(origin.module == "__main__" for origin in ORIGINS.values())
    return 1 if jobs is None and is_interactive else jobs
